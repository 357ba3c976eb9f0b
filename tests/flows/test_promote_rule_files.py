"""A memory that becomes a rule and a memory again: the person's commits, and the worker after each."""

from __future__ import annotations

import json
import os

import pytest
from machines import MEMORY, Machine
from once import home_folder, place, tmp_path
from promotion_ground import FACT, HOT, POINTER, alone, archived, commit_proposed, machine, ruled, work

from gitmem.app import steps
from gitmem.app.session_context import user_prompt
from gitmem.app.session_start import session_start
from gitmem.app.spool import Job
from gitmem.flows.rule_files import MESSAGE

__all__ = ["alone", "home_folder", "machine", "place", "ruled", "tmp_path"]

RULED = "now a rule in CLAUDE.md"


def test_a_promoted_memory_follows_its_commit_and_an_undo_brings_it_back(machine: Machine) -> None:
    done = machine.run("promote", "no-mocks", "-y")
    text = (machine.code / "CLAUDE.md").read_text()
    assert (
        "- Use the real database in tests, never mocks.\n  - Why: Mocks hid a broken migration.\n" in text
    )
    assert machine.git("status", "--porcelain") == "?? CLAUDE.md"
    work(machine)
    assert HOT in machine.memories()
    commit_proposed(machine, done.err)
    said = machine.git("log", "-1", "--format=%B")
    assert said.startswith("Add the rule no-mocks:")
    assert "taught by Ann" in said
    assert "Gitmem-Memory: local/main/no-mocks" in said
    work(machine)
    assert HOT not in machine.memories()
    assert "no-mocks" not in machine.memories()["main/MEMORY.md"]
    assert not (machine.auto / "no-mocks.md").exists()
    (kept,) = archived(machine).values()
    assert kept.endswith(f"{POINTER}\n")
    tip = machine.git("log", "-1", "--format=%B", machine.workspace.scope("local").ref, private=True)
    assert f"Gitmem-Code-Commit: {machine.git('rev-parse', 'HEAD')}" in tip
    assert not (machine.code / ".git/gitmem" / MESSAGE).exists()
    before = machine.git("rev-parse", machine.workspace.scope("local").ref, private=True)
    work(machine)
    assert machine.git("rev-parse", machine.workspace.scope("local").ref, private=True) == before
    machine.run("undo")
    assert POINTER not in machine.memories()[HOT]
    work(machine)
    assert HOT in machine.memories(), "an undo is not undone by the next commit"


def test_a_promoted_memory_is_told_to_who_asks_alone_where_its_rule_stands(ruled: Machine) -> None:
    said = ruled.run("remember", FACT.split("\n")[0]).out
    assert said == "local/main/no-mocks.md says so already, as a rule of CLAUDE.md\n"
    ruled.git("branch", "old", "HEAD~1")
    question = "use the real database in tests, or mocks?"
    asked = ("recall", question, "--json")
    (item,) = json.loads(ruled.run(*asked).out)["items"]
    assert (item["name"], item["facts"][0]) == ("no-mocks", RULED)
    assert user_prompt({"cwd": str(ruled.code), "prompt": question}) == "", "agents read the rule anyway"
    ruled.git("checkout", "-q", "old")
    work(ruled)
    assert not (ruled.code / "CLAUDE.md").exists()
    (item,) = json.loads(ruled.run(*asked).out)["items"]
    assert item["name"] == "no-mocks" and RULED not in item["facts"]
    assert "no-mocks" in user_prompt({"cwd": str(ruled.code), "prompt": question})
    assert HOT not in ruled.memories(), "a branch that never had the rule changes nothing"


@pytest.mark.parametrize("amended", [False, True])
def test_a_commit_that_takes_the_rule_out_by_hand_brings_the_memory_back(machine, amended: bool) -> None:
    (machine.code / "CLAUDE.md").write_text("# Team\n")
    machine.git("add", ".")
    commit_proposed(machine, machine.run("promote", "no-mocks", "-y").err)
    work(machine)
    old = machine.git("rev-parse", "HEAD")
    (machine.code / "CLAUDE.md").write_text("# Team\n")
    machine.git("commit", "-qam", "no rules", *(["--amend"] if amended else []))
    work(machine, rewritten=((old, machine.git("rev-parse", "HEAD")),) if amended else ())
    assert machine.memories()[HOT].endswith("migration.\n")
    assert "no-mocks" in machine.memories()["main/MEMORY.md"]
    assert (machine.auto / "no-mocks.md").exists()
    said = machine.git("log", "-1", "--format=%B", machine.workspace.scope("local").ref, private=True)
    assert "Gitmem-Claim: dropped main/archive/" in said
    assert archived(machine) == {}


def test_a_demoted_rule_leaves_the_file_as_it_was_and_comes_back_at_once(machine: Machine) -> None:
    before = b"# Team\r\nNo line end"
    (machine.code / "CLAUDE.md").write_bytes(before)
    machine.git("add", ".")
    machine.git("commit", "-qm", "rules")
    commit_proposed(machine, machine.run("promote", "no-mocks", "-y").err)
    work(machine)
    done = machine.run("demote", "no-mocks")
    assert (machine.code / "CLAUDE.md").read_bytes() == before
    assert POINTER not in machine.memories()[HOT]
    (machine.code / "other").write_text("x")
    machine.git("add", "other")
    machine.git("commit", "-qm", "something else", "other")
    work(machine)
    assert HOT in machine.memories(), "HEAD has the rule until the person commits"
    (machine.code / "CLAUDE.md").write_bytes(b"\xff")
    assert work(machine) == (), "a file that cannot be read now stops nothing"
    (machine.code / "CLAUDE.md").write_bytes(before)
    work(machine)
    commit_proposed(machine, done.err)
    assert machine.git("log", "-1", "--format=%s").startswith("Take out the rule no-mocks")
    work(machine)
    assert HOT in machine.memories()
    assert "is no rule" in machine.run("demote", "no-mocks", code=2).err


def test_a_rule_that_a_person_words_anew_stays_promoted_and_show_says_so(ruled: Machine) -> None:
    file = ruled.code / "CLAUDE.md"
    file.write_text(file.read_text().replace("never mocks", "no mocks at all"))
    ruled.git("commit", "-qam", "reword")
    work(ruled)
    assert HOT not in ruled.memories()
    commit = ruled.git("rev-parse", "HEAD~1")
    shown = ruled.run("show", "no-mocks").err
    assert f"promoted to CLAUDE.md in {commit[:12]}" in shown
    assert "no mocks at all" in shown
    assert json.loads(ruled.run("show", "no-mocks", "--json").out)["promoted"]["file"] == "CLAUDE.md"
    assert f"promoted to CLAUDE.md in {commit[:12]}" in ruled.run("list", "-a").out
    assert f"promoted to CLAUDE.md in {commit[:12]}" in ruled.run("blame", "no-mocks").err
    told = user_prompt(
        {"cwd": str(ruled.code), "prompt": "how do tests use the real database, with mocks?"}
    )
    assert "never mocks" in told, "the rule may leave out what the memory says"
    assert "in other words" in ruled.run("promote", "no-mocks", "-y", code=2).err
    assert "no mocks at all" in file.read_text(), "what a person worded is not written over"
    assert "no mocks at all" in ruled.run("demote", "no-mocks").out


def test_several_promotions_wait_for_one_commit_from_a_subfolder(machine: Machine) -> None:
    machine.run("remember", "We deploy on Fridays only.", "--name", "deploys", "--scope", "project")
    sub = machine.code / "src"
    sub.mkdir()
    machine.run("promote", "no-mocks", "-y", cwd=sub)
    done = machine.run("promote", "deploys", "--to", "../AGENTS.md", "-y", cwd=sub)
    assert "../AGENTS.md" in done.err
    commit_proposed(machine, done.err, cwd=sub)
    assert machine.git("log", "-1", "--format=%s") == "Add 2 rules learned while working"
    assert machine.git("show", "--format=", "--name-only", "HEAD") == "AGENTS.md\nCLAUDE.md"
    work(machine)
    assert HOT not in machine.memories()
    (kept,) = archived(machine, "project").values()
    assert "[AGENTS.md](AGENTS.md)" in kept


def test_a_linked_work_tree_promotes_and_settles_by_itself(machine: Machine) -> None:
    other = machine.home / "linked"
    machine.git("worktree", "add", "-q", other, "-b", "side")
    done = machine.run("-C", other, "promote", "no-mocks", "-y")
    assert f"git -C {other} commit" in done.err
    assert not (machine.code / "CLAUDE.md").exists()
    commit_proposed(machine, done.err)
    work(machine)
    assert HOT in machine.memories()
    work(machine, at=other)
    assert HOT not in machine.memories()


def test_a_memory_renamed_before_the_commit_is_found_by_what_it_says(machine: Machine) -> None:
    done = machine.run("promote", "no-mocks", "-y")
    (machine.auto / "no-mocks.md").rename(machine.auto / "real-database.md")
    machine.run("save")
    commit_proposed(machine, done.err)
    work(machine)
    (path,) = archived(machine)
    assert path.endswith("/real-database.md")


def test_a_memory_of_all_projects_stays_hot_and_out_of_this_ones_sessions(machine: Machine) -> None:
    machine.run("remember", "I like short answers.", "--name", "short", "--type", "user", "--scope", "user")
    done = machine.run("promote", "short", code=1)
    assert "about a person" in done.err
    assert not (machine.code / "CLAUDE.md").exists()
    commit_proposed(machine, machine.run("promote", "short", "-y").err)
    assert "short.md" in session_start({"cwd": str(machine.code)})
    work(machine)
    assert "[CLAUDE.md](CLAUDE.md)" in machine.memories("user")["main/short.md"]
    assert "short.md" not in session_start({"cwd": str(machine.code)})
    (item,) = json.loads(machine.run("recall", "short answers", "--json").out)["items"]
    assert RULED in item["facts"]
    machine.run("demote", "short")
    assert "short.md" in session_start({"cwd": str(machine.code)})


UNFIT = {
    "../x.md": "not inside", ".git/x.md": "git's own", "rules.txt": "no Markdown",
    "link.md": "symbolic link", "folder.md": "no regular file", "latin.md": "not UTF-8",
    "ignored.md": "ignored", ".claude/agent-memory/x/y.md": "a memory",
    "sub/x.md": "repository of its own", "odd.md": "does not fit",
}  # fmt: skip


def test_a_file_that_cannot_hold_rules_is_refused(machine: Machine) -> None:
    code = machine.code
    (code / "link.md").symlink_to("README.md")
    (code / "folder.md").mkdir()
    (code / "latin.md").write_bytes(b"\xff\n")
    (code / ".gitignore").write_text("ignored.md\n")
    (code / "odd.md").write_text("<!-- /gitmem -->\n")
    (code / "sub/.git").mkdir(parents=True)
    before = machine.git("status", "--porcelain")
    for file, why in UNFIT.items():
        done = machine.run("promote", "no-mocks", "-y", "--to", file, code=2)
        assert why in done.err and "hint" in done.err, file
    assert machine.git("status", "--porcelain") == before


def test_a_link_to_the_other_file_means_that_one(machine: Machine) -> None:
    (machine.code / "AGENTS.md").write_text("# Agents\n")
    (machine.code / "CLAUDE.md").symlink_to("AGENTS.md")
    done = machine.run("promote", "no-mocks", "-y", "--dry-run")
    assert "into AGENTS.md" in done.out
    assert "would propose to commit it so:\n    Add the rule no-mocks" in done.err
    assert "refs/heads/local" not in done.err, "where a private memory is kept is not for a public commit"
    assert (machine.code / "AGENTS.md").read_text() == "# Agents\n"


def test_a_memory_text_alone_is_enough_for_no_teammates_promotion(ruled: Machine) -> None:
    """A clone that lost its record reads HEAD anew, and undoes nothing."""
    (ruled.code / ".git/gitmem/promotions.json").unlink()
    work(ruled)
    assert HOT not in ruled.memories()
    (ruled.code / ".git/gitmem/promotions.json").write_text('{"version": 0}')
    (ruled.code / "CLAUDE.md").unlink()
    ruled.git("commit", "-qam", "no rules")
    work(ruled)
    assert HOT in ruled.memories()


@pytest.mark.parametrize("amends", [0, 2])
def test_a_rule_whose_commit_was_given_up_is_a_memory_again(ruled: Machine, amends: int) -> None:
    """A reset runs no hook that names commits, and of several amends only the last is new."""
    if amends:
        ruled.git("rm", "-q", "CLAUDE.md")
        for number in range(amends):
            ruled.git("commit", "-q", "--amend", "--allow-empty", "-m", f"again {number}")
    else:
        ruled.git("reset", "-q", "--hard", "HEAD~1")
    work(ruled)
    assert HOT in ruled.memories()


def test_what_a_memory_was_taught_since_is_recalled_until_the_rule_says_it(ruled: Machine) -> None:
    again = MEMORY.format("no-mocks", "Start containers with make up.")
    same = again.replace("About no-mocks", "Use the real database in tests, never mocks")
    (ruled.auto / "no-mocks.md").write_text(same)
    ruled.run("save")
    work(ruled)
    asked = ("recall", "how to start containers", "--json")
    (item,) = json.loads(ruled.run(*asked).out)["items"]
    assert item["name"] == "no-mocks" and RULED not in item["facts"]
    assert "something else there" in ruled.run("show", "no-mocks").err
    done = ruled.run("promote", "no-mocks", "-y")
    text = (ruled.code / "CLAUDE.md").read_text()
    assert text.count("<!-- gitmem local") == 1 and text.count("never mocks") == 1
    assert "Start containers with make up." in text
    ruled.git("commit", "-q", "--allow-empty", "-m", "something else")
    work(ruled)
    (item,) = json.loads(ruled.run(*asked).out)["items"]
    assert RULED not in item["facts"], "it is not committed yet"
    commit_proposed(ruled, done.err)
    work(ruled)
    (item,) = json.loads(ruled.run(*asked).out)["items"]
    assert RULED in item["facts"]
    assert "undo" not in ruled.run("promote", "no-mocks", "-y").err


def test_a_purge_leaves_nothing_of_a_memory_in_the_proposed_message(machine: Machine) -> None:
    machine.run("promote", "no-mocks", "-y")
    machine.run("purge", "--memory", "no-mocks", "-y")
    for file in (machine.code / ".git/gitmem").rglob("*"):
        assert not file.is_file() or b"real database" not in file.read_bytes(), file


def test_marks_of_strangers_move_nothing(machine: Machine) -> None:
    """Nor does a teammate's, of a private memory of theirs that has the same name."""
    marks = [f"<!-- gitmem local/main/m{n} -->\n- x\n<!-- /gitmem -->\n" for n in range(500)]
    marks.append("<!-- gitmem local/main/no-mocks -->\n- Something of Ben's own.\n<!-- /gitmem -->\n")
    (machine.code / "CLAUDE.md").write_text("".join(marks))
    machine.git("add", ".")
    machine.git("commit", "-qm", "marks")
    assert work(machine) == ()
    assert HOT in machine.memories()


def test_what_head_cannot_tell_moves_nothing(ruled: Machine) -> None:
    """That the rule is not seen does not mean that it was taken out."""
    file = ruled.code / "CLAUDE.md"
    text = file.read_bytes()
    for what, data in {
        "no UTF-8": text + b"\xff",
        "too large": text + b"x" * 300_000,
        "an odd mark": text.replace(b"<!-- /gitmem -->\n", b""),
    }.items():
        file.write_bytes(data)
        ruled.git("commit", "-qam", what)
        told = work(ruled)
        assert HOT not in ruled.memories(), what
    assert any("left alone" in line for line in told)


def test_the_workers_job_after_a_commit_moves_the_memory(machine: Machine) -> None:
    commit_proposed(machine, machine.run("promote", "no-mocks", "-y").err)
    machine.enter()
    steps.run(machine.code / ".git", Job("commit", str(machine.code)), dict(os.environ))
    assert HOT not in machine.memories()
    assert "is a rule of CLAUDE.md now" in (machine.code / ".git/gitmem/log").read_text()
