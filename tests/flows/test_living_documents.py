"""Changes to living documents stand on a branch of their own: made on the code, and for git to take."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from docs_ground import LAYERS, TEXT, Git, Ground, Writer, ground, start

from gitmem.app import steps
from gitmem.app.spool import Job
from gitmem.core.errors import EngineError, RepositoryError
from gitmem.core.trailers import parse
from gitmem.flows import documents, engines
from gitmem.flows.document_branch import change_kept, read_kept
from gitmem.flows.documents import NotNow
from gitmem.git.repository import RefMoved
from gitmem.ledger.job_record import read_runs
from gitmem.ledger.workspace import DOCS_REF

NEW = TEXT.replace("src/parser.py", "src/reading.py")


@pytest.fixture
def here(
    repo: Path,
    git: Git,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> Ground:
    monkeypatch.setenv("GITMEM_NOW", "1795000000")
    monkeypatch.setattr(engines, "engine_for", lambda *_: Writer())
    return start(repo, git, tmp_path_factory)


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


def test_commits_that_touch_nothing_it_names_ask_nobody(here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "engine_for", lambda *_: pytest.fail("asked"))
    here.commit("other", **{"lib/odd.py": "changed"})
    assert here.work() == [] and not here.tip


def test_the_job_of_a_hook_does_it_in_each_work_tree_that_it_tells_of(
    here, tmp_path: Path, home: Path
) -> None:
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


def test_documents_are_left_alone_where_that_is_set(here) -> None:
    here.git("config", "gitmem.docs", "false")
    here.move("src/parser.py", "src/reading.py")
    assert here.work() == [] and not here.tip


def test_the_branch_follows_the_code_and_the_engine_is_asked_once(
    here, monkeypatch: pytest.MonkeyPatch
) -> None:
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


@pytest.mark.parametrize("how", ["merge", "no-ff", "squash", "cherry-pick", "by hand"])
def test_what_was_taken_by_any_way_goes_from_the_branch(here, how: str) -> None:
    here.move("src/parser.py", "src/reading.py")
    here.work()
    if how == "merge":
        here.git("merge", "-q", "--ff-only", "gitmem/docs")
    elif how == "no-ff":
        here.commit("other", **{"lib/odd.py": "changed"})
        here.git("merge", "-q", "--no-ff", "-m", "Take it", "gitmem/docs")
    elif how == "squash":
        here.git("merge", "-q", "--squash", "gitmem/docs")
        here.commit("Take it")
    elif how == "cherry-pick":
        here.git("cherry-pick", "gitmem/docs")
    else:
        here.commit("Mend it", **{LAYERS: NEW})
    assert here.work() == ["gitmem/docs is deleted: nothing is proposed any more"]
    assert not here.tip and here.text(at="HEAD") == NEW.strip()


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


def test_a_rename_that_is_taken_back_is_no_longer_answered(here) -> None:
    here.move("src/parser.py", "src/reading.py")
    here.work()
    here.git("revert", "--no-edit", "HEAD")
    assert here.work() == ["gitmem/docs is deleted: nothing is proposed any more"]


def test_what_somebody_else_put_on_the_branch_is_left_alone_with_a_word(here) -> None:
    here.move("src/parser.py", "src/reading.py")
    here.work()
    here.git("checkout", "-q", "gitmem/docs")
    here.commit("Mine", **{LAYERS: NEW + "\nMore.\n"})
    assert here.work() == ["living documents: gitmem/docs is checked out"]
    here.git("checkout", "-q", "main")
    theirs = here.tip
    here.move("src/printer.py", "src/writing.py")
    (line,) = here.work()
    assert "left alone" in line and "by someone else" in line
    assert here.tip == theirs
    here.git("merge", "-q", "--no-edit", "gitmem/docs")
    here.work()
    assert here.text() == here.text(at="HEAD").replace("printer", "writing")


@pytest.mark.parametrize("change", ["amended", "another's", "more than the document", "moved"])
def test_a_commit_that_looks_like_gitmem_s_and_is_not_is_not_moved(here, change: str) -> None:
    here.move("src/parser.py", "src/reading.py")
    here.work()
    here.git("checkout", "-q", "gitmem/docs")
    if change == "amended":
        here.write(LAYERS, NEW + "\nMore.\n")
    elif change == "more than the document":
        (here.repo / "link").symlink_to("/etc")
    here.git("add", "-A")
    who = ("--reset-author",) if change != "another's" else ("--author", "Ben <ben@example.com>")
    here.git("commit", "-q", "--amend", "--allow-empty", "--no-edit", *who)
    here.git("checkout", "-q", "main")
    here.commit("other", **{"lib/odd.py": "changed"})
    if change == "moved":
        here.git("rebase", "-q", "main", "gitmem/docs")
        here.git("checkout", "-q", "main")
    tip = here.tip
    (line,) = here.work()
    assert "left alone" in line and here.tip == tip


def test_a_branch_that_is_checked_out_elsewhere_is_not_moved_under_its_work_tree(here, tmp_path) -> None:
    here.move("src/parser.py", "src/reading.py")
    here.work()
    here.git("worktree", "add", "-q", tmp_path / "docs", "gitmem/docs")
    tip = here.tip
    here.commit("other", **{"lib/odd.py": "changed"})
    (line,) = here.work()
    assert "checked out at" in line and here.tip == tip
    here.git("worktree", "remove", tmp_path / "docs")
    here.work()
    assert here.git("rev-parse", f"{DOCS_REF}~1") == here.git("rev-parse", "HEAD")


@pytest.mark.parametrize("how", ["detached", "rebase", "merge", "bisect", "memory"])
def test_nothing_is_built_on_code_on_no_branch_or_in_the_middle_of_something(here, how: str) -> None:
    here.move("src/parser.py", "src/reading.py")
    if how == "detached":
        here.git("checkout", "-q", "--detach")
    elif how == "memory":
        here.git("checkout", "-q", "-b", "gitmem/project")
    elif how == "bisect":
        here.git("bisect", "start")
        here.git("bisect", "bad")
    else:
        here.git("checkout", "-q", "-b", "topic", "HEAD~1")
        here.commit("theirs", **{"src/main.py": "theirs"})
        here.git("checkout", "-q", "main")
        here.commit("ours", **{"src/main.py": "ours"})
        here.git(how, "topic", check=False)
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


def test_a_lost_race_is_planned_again_on_what_the_other_made(here, monkeypatch) -> None:
    """Both workers saw the rename; one of them, slower, wakes up on code that has moved on."""
    here.move("src/parser.py", "src/reading.py")
    engine, real = Writer(), documents.move_ref
    raced = []

    def slow(self, name, new, old, message):
        if name == DOCS_REF and not raced:
            raced.append(new)
            here.move("src/printer.py", "src/writing.py")
            here.update(Writer())
        return real(self, name, new, old, message)

    monkeypatch.setattr(documents, "move_ref", slow)
    done = here.update(engine, all=True)
    assert raced and done.outcome == "unchanged" and done.tip == here.tip
    assert here.text() == NEW.replace("printer", "writing").strip()
    assert here.git("rev-parse", f"{DOCS_REF}~1") == here.git("rev-parse", "HEAD")


def test_of_many_at_once_all_end_with_one_branch(here) -> None:
    here.move("src/parser.py", "src/reading.py")
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda _: here.update(Writer(), all=True), range(4)))
    assert {one.tip for one in done} == {here.tip}
    assert here.git("rev-list", "--count", f"HEAD..{DOCS_REF}") == "1" and here.text() == NEW.strip()


def test_who_loses_every_race_gives_up(here, monkeypatch: pytest.MonkeyPatch) -> None:
    def lose(*_):
        raise RefMoved("moved")

    here.move("src/parser.py", "src/reading.py")
    monkeypatch.setattr(documents, "move_ref", lose)
    engine = Writer()
    with pytest.raises(RepositoryError, match="all the time"):
        here.update(engine, all=True)
    assert engine.asked == 1


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


def test_a_model_is_told_what_changed_in_the_files_that_it_names_and_of_the_person_s_prompt(
    here, home: Path
) -> None:
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


def test_a_proposal_that_was_turned_down_stays_down_until_it_changes(here, gitmem) -> None:
    here.move("src/parser.py", "src/reading.py")
    here.work()
    (item,) = gitmem("review", "--json").json
    gitmem("review", "reject", item["id"], "-m", "no")
    assert not here.tip and gitmem("review", "--json").json == []
    here.commit("touches it", **{"src/reading.py": "changed"})
    assert here.work() == [] and not here.tip
    assert [one.result for one in here.update(Writer(), all=True).told] == ["rejected"]
    here.move("src/printer.py", "src/writing.py")
    here.work()
    assert here.text() == NEW.replace("printer", "writing").strip()
    here.git("branch", "-qD", "gitmem/docs")
    here.git("revert", "--no-edit", "HEAD")
    done = here.update(Writer(), LAYERS)
    assert done.outcome == "proposed" and here.text() == NEW.strip()
    assert read_kept(here.workspace.state).rejected == ()


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


def test_a_repository_of_sha_256_and_its_linked_work_trees_do_the_same(
    git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    (line,) = here.work()
    assert "could not sign" in line


def test_what_an_older_version_noted_in_a_file_is_taken_over_and_is_kept_on(repo: Path) -> None:
    state = repo / ".git/gitmem"
    state.mkdir()
    noted = {
        "version": 1,
        "tip": "a" * 40,
        "branch": "refs/heads/main",
        "checked": {"refs/heads/main": "b" * 40},
        "due": {"refs/heads/main": ["LAYERS.md"]},
        "rejected": [{"path": "LAYERS.md", "before": "c", "after": "d", "stale": "e"}],
        "pushed": {"origin": "f" * 40},
    }
    (state / "docs.json").write_text(json.dumps(noted))
    known = read_kept(state)
    assert known.turned_down("LAYERS.md", "d") and known.due == {"refs/heads/main": ("LAYERS.md",)}
    assert not (state / "docs.json").exists()
    assert change_kept(state, lambda kept: replace(kept, tip="")) == replace(known, tip="")
    with closing(sqlite3.connect(state / "state.db")) as db:
        ((value,),) = db.execute("SELECT value FROM kv WHERE space = 'documents'").fetchall()
    assert json.loads(value) == noted | {"tip": ""}
