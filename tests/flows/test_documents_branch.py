"""Changes to living documents stand on a branch of their own: made on the code, and for git to take."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from docs_ground import LAYERS, TEXT, Git, Ground, Writer, ground
from once import Once

from gitmem.app import steps
from gitmem.app.spool import Job
from gitmem.core.errors import EngineError
from gitmem.core.trailers import parse
from gitmem.flows import document_branch, engines
from gitmem.flows.document_branch import read_notes
from gitmem.flows.documents import NotNow
from gitmem.ledger.job_record import read_runs
from gitmem.ledger.workspace import DOCS_REF

NEW = TEXT.replace("src/parser.py", "src/reading.py")


@pytest.fixture
def here(repo: Path, git: Git, monkeypatch: pytest.MonkeyPatch, once: Once[None]) -> Ground:
    monkeypatch.setenv("GITMEM_NOW", "1795000000")
    monkeypatch.setattr(engines, "engine_for", lambda *_: Writer())
    once("begun", lambda: ground(repo, git) and None)
    return Ground(repo, git)


@pytest.fixture
def proposed(here: Ground, once: Once[None]) -> Ground:
    """The same after a file moved that the document names: a change to it waits."""

    def make() -> None:
        here.move("src/parser.py", "src/reading.py")
        here.work()

    once("proposed", make)
    return here


def test_a_rename_is_proposed_on_top_of_the_commit_and_nothing_of_the_person_s_is_touched(here) -> None:
    here.write("odd.txt", "in the work")
    head = here.git("rev-parse", "HEAD")
    here.git("mv", "src/parser.py", "src/reading.py")
    here.git("commit", "-q", "-m", "Rename", "--", "src")
    before = here.untouched()
    (line,) = here.work()
    assert LAYERS in line and "git mem review (m-" in line
    assert here.untouched() == before
    assert here.text() == NEW.strip()
    assert here.git("rev-parse", f"{DOCS_REF}~1") == here.git("rev-parse", "HEAD") != head
    assert here.git("diff", "--name-only", "HEAD", DOCS_REF) == LAYERS
    told = parse(here.git("log", "-1", "--format=%B", DOCS_REF))
    assert (told.op, told.writer, told.engine) == ("update", "extract", "offline")
    assert told.code_commit == here.git("rev-parse", "HEAD") and told.job in line
    said = here.git("log", "-1", "--format=%an %ae %s", DOCS_REF)
    assert said == f"Ann ann@example.com Keep {LAYERS} true"
    assert "src/parser.py" in here.git("log", "-1", "--format=%b", DOCS_REF)


def test_commits_that_touch_nothing_it_names_ask_nobody_nor_any_if_so_set(here, monkeypatch) -> None:
    monkeypatch.setattr(engines, "engine_for", lambda *_: pytest.fail("asked"))
    here.commit("other", **{"lib/odd.py": "changed"})
    assert here.work() == [] and not here.tip
    here.git("config", "gitmem.docs", "false")
    here.move("src/parser.py", "src/reading.py")
    assert here.work() == [] and not here.tip


def test_a_hooks_job_does_it_in_each_work_tree_that_it_names(here, tmp_path, home, monkeypatch) -> None:
    monkeypatch.delenv("GITMEM_DISABLE")
    (home / ".claude").mkdir()
    here.git("worktree", "add", "-q", "-b", "topic", tmp_path / "topic")
    linked = Ground(tmp_path / "topic", here._git)
    linked.move("src/parser.py", "src/reading.py")
    steps.run(here.repo / ".git", Job("commit", str(linked.repo)), dict(os.environ))
    assert here.text() == NEW.strip()
    (ran,) = read_runs(here.workspace.state)
    assert any("git mem review" in line for line in ran["log"]) and ran["error"] is None
    here.git("merge", "-q", "gitmem/docs")
    steps.run(here.repo / ".git", Job("merge", str(here.repo), args=("0",)), dict(os.environ))
    assert not here.tip


def test_the_branch_follows_the_code_and_the_engine_is_asked_once(here, monkeypatch) -> None:
    engine = Writer()
    monkeypatch.setattr(engines, "engine_for", lambda *_: engine)
    here.move("src/parser.py", "src/reading.py")
    here.work()
    first = here.tip
    assert here.work() == [] and here.tip == first
    here.commit("other", **{"lib/odd.py": "changed"})
    assert here.work() == []
    assert here.git("rev-parse", f"{DOCS_REF}~1") == here.git("rev-parse", "HEAD")
    assert (here.text(), engine.asked) == (NEW.strip(), 1)
    body = here.git("log", "-1", "--format=%b", DOCS_REF)
    assert "src/parser.py" in body and "the names are those of today" in body
    here.move("src/printer.py", "src/writing.py")
    here.work()
    assert here.text() == NEW.replace("printer", "writing").strip() and engine.asked == 2


@pytest.mark.parametrize("how", ["merge", "no-ff", "squash", "cherry-pick", "by hand", "taken back"])
def test_what_was_taken_by_any_way_or_is_no_longer_so_goes_from_the_branch(proposed, how: str) -> None:
    if how == "merge":
        proposed.git("merge", "-q", "--ff-only", "gitmem/docs")
    elif how == "no-ff":
        proposed.commit("other", **{"lib/odd.py": "changed"})
        proposed.git("merge", "-q", "--no-ff", "-m", "Take it", "gitmem/docs")
    elif how == "squash":
        proposed.git("merge", "-q", "--squash", "gitmem/docs")
        proposed.commit("Take it")
    elif how == "cherry-pick":
        proposed.git("cherry-pick", "gitmem/docs")
    elif how == "by hand":
        proposed.commit("Mend it", **{LAYERS: NEW})
    else:
        proposed.git("revert", "--no-edit", "HEAD")
    assert proposed.work() == ["gitmem/docs is deleted: nothing is proposed any more"]
    assert not proposed.tip
    assert proposed.text(at="HEAD") == (TEXT if how == "taken back" else NEW).strip()


def test_of_two_documents_each_has_its_commit_and_one_can_be_taken_alone(here) -> None:
    here.commit("more", **{"ABOUT.md": "# MAGIC DOC: About\n\nSee `src/parser.py`.\n"})
    here.work()
    here.move("src/parser.py", "src/reading.py")
    assert len(here.work()) == 2
    assert here.git("rev-list", "--count", f"HEAD..{DOCS_REF}") == "2"
    here.git("cherry-pick", f"{DOCS_REF}~1")
    assert here.work() == []
    assert here.git("rev-list", "--count", f"HEAD..{DOCS_REF}") == "1"
    assert here.git("diff", "--name-only", "HEAD", DOCS_REF) == LAYERS


def test_what_somebody_else_put_on_the_branch_is_left_alone_with_a_word(proposed) -> None:
    proposed.git("checkout", "-q", "gitmem/docs")
    proposed.commit("Mine", **{LAYERS: NEW + "\nMore.\n"})
    assert proposed.work() == ["living documents: gitmem/docs is checked out"]
    proposed.git("checkout", "-q", "main")
    theirs = proposed.tip
    proposed.move("src/printer.py", "src/writing.py")
    (line,) = proposed.work()
    assert "left alone" in line and "by someone else" in line
    assert proposed.tip == theirs
    proposed.git("merge", "-q", "--no-edit", "gitmem/docs")
    proposed.work()
    assert proposed.text() == proposed.text(at="HEAD").replace("printer", "writing")


@pytest.mark.parametrize("change", ["amended", "another's", "more than the document", "moved"])
def test_a_commit_that_looks_like_gitmem_s_and_is_not_is_not_moved(proposed, change: str) -> None:
    proposed.git("checkout", "-q", "gitmem/docs")
    if change == "amended":
        proposed.write(LAYERS, NEW + "\nMore.\n")
    elif change == "more than the document":
        (proposed.repo / "link").symlink_to("/etc")
    proposed.git("add", "-A")
    who = ("--reset-author",) if change != "another's" else ("--author", "Ben <ben@example.com>")
    proposed.git("commit", "-q", "--amend", "--allow-empty", "--no-edit", *who)
    proposed.git("checkout", "-q", "main")
    proposed.commit("other", **{"lib/odd.py": "changed"})
    if change == "moved":
        proposed.git("rebase", "-q", "main", "gitmem/docs")
        proposed.git("checkout", "-q", "main")
    tip = proposed.tip
    (line,) = proposed.work()
    assert "left alone" in line and proposed.tip == tip


def test_a_branch_checked_out_elsewhere_is_not_moved_under_its_work_tree(proposed, tmp_path) -> None:
    proposed.git("worktree", "add", "-q", tmp_path / "docs", "gitmem/docs")
    tip = proposed.tip
    proposed.commit("other", **{"lib/odd.py": "changed"})
    (line,) = proposed.work()
    assert "checked out at" in line and proposed.tip == tip
    proposed.git("worktree", "remove", tmp_path / "docs")
    proposed.work()
    assert proposed.git("rev-parse", f"{DOCS_REF}~1") == proposed.git("rev-parse", "HEAD")


@pytest.mark.parametrize("how", ["detached", "rebase", "memory"])
def test_nothing_is_built_on_code_on_no_branch(here, how: str) -> None:
    here.move("src/parser.py", "src/reading.py")
    if how == "detached":
        here.git("checkout", "-q", "--detach")
    elif how == "memory":
        here.git("checkout", "-q", "-b", "gitmem/project")
    else:
        here.git("checkout", "-q", "-b", "topic", "HEAD~1")
        here.commit("theirs", **{"src/main.py": "theirs"})
        here.git("checkout", "-q", "main")
        here.commit("ours", **{"src/main.py": "ours"})
        here.git("rebase", "topic", check=False)
    (line,) = here.work()
    assert line.startswith("living documents: ") and not here.tip
    with pytest.raises(NotNow):
        here.update(Writer(), all=True)


def test_a_fresh_branch_without_a_commit_and_a_repository_without_documents_are_fine(here) -> None:
    here.git("checkout", "-q", "--orphan", "empty")
    assert here.work() == ["living documents: empty has no commit yet"]
    here.git("rm", "-rqf", ".")
    here.commit("code alone", **{"a.py": "x"})
    assert here.work() == [] and not here.tip


def test_another_branch_neither_takes_proposals_away_nor_shows_them_as_its_own(here) -> None:
    here.git("branch", "old")
    here.move("src/parser.py", "src/reading.py")
    here.work()
    tip = here.tip
    here.git("checkout", "-q", "old")
    here.commit("touches it", **{"src/parser.py": "changed"})
    assert here.work() == ["living documents: gitmem/docs is left alone: it is for main"]
    assert here.tip == tip
    here.move("src/printer.py", "src/writing.py")
    here.work()
    assert here.text() == TEXT.replace("printer", "writing").strip()
    here.git("checkout", "-q", "main")
    here.commit("other", **{"lib/odd.py": "changed"})
    here.work()
    assert here.text() == NEW.strip()


def test_who_loses_a_race_says_so_and_does_it_with_the_next_commit(here, monkeypatch) -> None:
    """Both saw the rename; one of them, slower, wakes up on a branch that has moved on."""
    real, raced = document_branch.move_ref, []

    def slow(repo, name, new, old, message):
        if name == DOCS_REF and not raced:
            raced.append(new)
            here.move("src/printer.py", "src/writing.py")
            here.update(Writer())
        return real(repo, name, new, old, message)

    monkeypatch.setattr(document_branch, "move_ref", slow)
    here.move("src/parser.py", "src/reading.py")
    (line,) = here.work()
    assert raced and line.startswith("living documents: ") and here.tip != raced[0]
    assert here.text() == NEW.replace("printer", "writing").strip()
    here.commit("other", **{"lib/odd.py": "changed"})
    assert here.work() == []
    assert here.git("rev-parse", f"{DOCS_REF}~1") == here.git("rev-parse", "HEAD")


def test_an_engine_that_fails_is_asked_again_with_the_next_commit(here, monkeypatch) -> None:
    def fail(_):
        raise EngineError("no answer")

    monkeypatch.setattr(engines, "engine_for", lambda *_: Writer(write=fail))
    here.move("src/parser.py", "src/reading.py")
    assert here.work() == [f"{LAYERS}: no answer"]
    monkeypatch.setattr(engines, "engine_for", lambda *_: Writer())
    here.commit("other", **{"lib/odd.py": "changed"})
    here.work()
    assert here.text() == NEW.strip()


def test_a_model_is_told_what_changed_in_the_files_it_names_and_a_persons_prompt(here, home) -> None:
    (home / ".config/gitmem").mkdir(parents=True)
    (home / ".config/gitmem/docs-prompt.md").write_text("Be brief.\n")
    here.commit("work", **{"src/main.py": "def begin():\n", "lib/odd.py": "unnamed"})
    engine = Writer("anthropic:some", lambda given: given.text + "\nAnd more.\n")
    done = here.update(engine)
    (given,) = engine.given
    assert given.prompt == "Be brief." and given.instructions == "Terse." and given.worktree == here.repo
    assert set(given.changed) == {"src/main.py"} and "+def begin():" in given.changed["src/main.py"]
    assert done.outcome == "proposed" and here.text().endswith("And more.")
    assert parse(here.git("log", "-1", "--format=%B", DOCS_REF)).engine == "anthropic:some"


def test_a_proposal_that_was_turned_down_stays_down_until_it_changes(proposed, gitmem) -> None:
    (item,) = gitmem("review", "--json").json
    gitmem("review", "reject", item["id"], "-m", "no")
    assert not proposed.tip and gitmem("review", "--json").json == []
    proposed.commit("touches it", **{"src/reading.py": "changed"})
    assert proposed.work() == [] and not proposed.tip
    assert [one.result for one in proposed.update(Writer(), all=True).told] == ["rejected"]
    proposed.move("src/printer.py", "src/writing.py")
    proposed.work()
    assert proposed.text() == NEW.replace("printer", "writing").strip()
    proposed.git("branch", "-qD", "gitmem/docs")
    proposed.git("revert", "--no-edit", "HEAD")
    done = proposed.update(Writer(), LAYERS)
    assert done.outcome == "proposed" and proposed.text() == NEW.strip()
    assert read_notes(proposed.workspace.state).rejected == {}


def test_modes_links_submodules_and_what_is_not_checked_out_stay_as_they_are(here, tmp_path: Path) -> None:
    here.git("init", "-q", tmp_path / "sub")
    here._git("-C", tmp_path / "sub", "commit", "-q", "--allow-empty", "-m", "x")
    here.git("submodule", "--quiet", "add", tmp_path / "sub", "vendor/sub")
    (here.repo / "docs/link.md").symlink_to("/etc/passwd")
    (here.repo / LAYERS).chmod(0o755)
    here.commit("odd", **{"docs/deep/er/x.txt": "x"})
    here.git("mv", "src/parser.py", "src/reading.py")
    here.commit("Move")
    here.git("sparse-checkout", "set", "--no-cone", "/src/")
    assert not (here.repo / "docs").exists()
    before = here.untouched()
    here.work()
    assert here.untouched() == before
    listed = [here.git("ls-tree", "-r", "-t", at).splitlines() for at in ("HEAD", DOCS_REF)]
    assert sorted(set(listed[0]) ^ set(listed[1]))[-1].startswith("100755 blob")
    assert {row.split("\t")[1] for row in set(listed[0]) ^ set(listed[1])} == {"docs", LAYERS}
    assert here.git("fsck", "--strict", check=False) == ""


def test_a_repository_of_sha_256_and_its_linked_work_trees_do_the_same(git, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("GITMEM_NOW", "1795000000")
    monkeypatch.setattr(engines, "engine_for", lambda *_: Writer())
    git("init", "-q", "--object-format=sha256", tmp_path / "long")
    there = ground(tmp_path / "long", git)
    there.git("worktree", "add", "-q", "-b", "topic", tmp_path / "topic")
    linked = Ground(tmp_path / "topic", git)
    linked.move("src/parser.py", "src/reading.py")
    linked.work()
    assert len(linked.tip) == 64 and linked.text() == NEW.strip()
    assert linked.git("rev-parse", f"{DOCS_REF}~1") == linked.git("rev-parse", "topic")


def test_who_signs_has_it_signed_and_hooks_do_not_run(here, tmp_path: Path) -> None:
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    for name, value in (("gpg.format", "ssh"), ("user.signingKey", key), ("commit.gpgSign", "true")):
        here.git("config", name, value)
    hook = here.repo / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    here.move("src/parser.py", "src/reading.py")
    here.work()
    assert "gpgsig" in here.git("cat-file", "commit", DOCS_REF) and here.text() == NEW.strip()
    here.commit("other", **{"lib/odd.py": "changed"})
    here.git("config", "user.signingKey", tmp_path / "gone")
    assert here.work() == [], (
        "nobody is asked, and nothing waits for it: `doctor` says why it is not signed"
    )
    assert "gpgsig" not in here.git("cat-file", "commit", DOCS_REF)
