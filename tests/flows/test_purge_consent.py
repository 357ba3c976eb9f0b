"""A purge that somebody else made: nothing of it is done here before a person has agreed to it by name."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from machines import Begin, Machine
from purge_ground import PROJECT, SECRET, holding, is_gone, live, memory, objects, tip
from slices import often

from gitmem.app import steps, upkeep
from gitmem.app.context import real_edges
from gitmem.app.spool import Job
from gitmem.flows.exchange import after_merge
from gitmem.ledger.epochs import FORMER, epoch_of

DAY = 86_400


def forge(
    team: Path, files: dict[str, str], branch: str = PROJECT, mark: str = "9 abcd1234", parent: str = ""
) -> str:
    """Force-pushes a commit of a new epoch, as whoever may push can; returns its name."""
    form = "format = 1\n" + (f"epoch = {mark}\n" if mark else "")
    rows = [
        f"commit {branch}-forged",
        "committer Eve <eve@example.com> 1795000000 +0000",
        "data 7",
        "All new",
    ]
    rows += [f"from {parent}"] if parent else []
    rows += ["deleteall"]
    for path, text in {**files, ".gitmem": form}.items():
        rows += [f"M 100644 inline {path}", f"data {len(text.encode())}", text]
    git = ["git", "--git-dir", str(team)]
    done = [*git, "fast-import", "--quiet", "--force"]
    subprocess.run(done, input="\n".join(rows) + "\n", text=True, check=True)
    made = subprocess.check_output([*git, "rev-parse", f"{branch}-forged"], text=True).strip()
    moves = f"update {branch} {made}\ndelete {branch}-forged\n"
    subprocess.run([*git, "update-ref", "--stdin"], input=moves, text=True, check=True)
    return made


def waiting(machine: Machine) -> str:
    """The id of the purge that waits."""
    found = [item for item in machine.run("review", "--json").json if item["kind"] == "purge"]
    assert len(found) <= 1
    return found[0]["id"] if found else ""


def former(machine: Machine) -> list[str]:
    """Names of the refs under which replaced history is kept."""
    return machine.git("for-each-ref", "--format=%(refname)", FORMER).splitlines()


@pytest.fixture
def survivor() -> str:
    """What the team knew before, as it stands in the forged history, too."""
    return memory("ports", "Ports start at 4000.")


@pytest.fixture
def replaced(ann: Machine, ben: Machine, team: Path, starting: Begin, survivor: str) -> Machine:
    """Ben, on whose machine a dream waits, and who has accepted a forged purge."""

    def make() -> list[Machine]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("GIT_INDEX_FILE", str(ben.home / "dreamt-index"))
            (ben.home / "dreamt").write_text(memory("dreamt", "A dream."))
            blob = ben.git("hash-object", "-w", ben.home / "dreamt")
            ben.git("read-tree", PROJECT)
            ben.git("update-index", "--add", "--cacheinfo", f"100644,{blob},reviewer/dreamt.md")
            dream = ben.git("commit-tree", "-p", PROJECT, "-m", "Dream", ben.git("write-tree"))
        ben.git("update-ref", "refs/heads/gitmem/dream/d-7", dream)
        forge(team, {"reviewer/ports.md": survivor})
        ben.run("sync", "-y", code=1)
        ben.run("review", "accept", waiting(ben))
        return [ben]

    return starting("ben-replaced", make)[0]


def test_a_forged_purge_takes_nothing_before_somebody_agrees(ann, ben, team, survivor) -> None:
    before, known = tip(ben), ben.memories("project")
    forged = forge(team, {"reviewer/ports.md": survivor})
    # A hook that meets one says so, and takes nothing.
    ben.git("fetch", "-q", "origin")
    ben.enter()
    steps.run(ben.code / ".git", Job("merge", str(ben.code), args=("0",)), dict(os.environ))
    assert tip(ben) == before
    id = waiting(ben)
    assert id == f"e-{forged[:8]}"
    ran = ben.run("sync", "-y", code=1)
    assert f"git mem review accept {id}" in ran.err and f"git mem review reject {id}" in ran.err
    assert tip(ben) == before and ben.memories("project") == known
    assert ben.git("rev-parse", "origin/gitmem/project") == forged
    status = ben.run("status").out
    assert id in status and "origin" in status
    told = ben.run("review", "show", id).out
    assert "reviewer/login.md" in told and "Eve" in told
    assert SECRET not in told
    ran = ben.run("sync", "-y", "--json", code=1)
    assert json.loads(ran.out or "null") in (None, {}) or "error" in ran.out
    (item,) = [one for one in ben.run("review", "--json").json if one["kind"] == "purge"]
    assert item["remote"] == "origin" and item["commit"] == forged and item["proved"] is False
    assert "reviewer/login.md" in item["gone"]


@pytest.mark.parametrize("alone", often([True, False], False))
def test_what_an_accepted_purge_replaced_comes_back(ann, ben, team, git, survivor, alone: bool) -> None:
    """By an undo everybody has it again, what came since stays, and who taught it is told."""
    old, before = tip(ben), ben.memories("project")
    ben.learn("names", "Names are short.", scope="project", agent="reviewer")
    mine = tip(ben)
    parent = "" if alone else ben.git("rev-list", "--max-parents=0", PROJECT)
    eve = memory("eve", "Eve is right.")
    forge(team, {"reviewer/ports.md": survivor, "reviewer/eve.md": eve}, parent=parent)
    ben.run("sync", "-y", code=1)
    id = waiting(ben)
    ben.run("undo", id, code=2)
    accepted = ben.run("review", "accept", id).err
    found = ben.memories("project")
    assert "reviewer/login.md" not in found and "Eve is right." in found["reviewer/eve.md"]
    assert "Names are short." in found["reviewer/names.md"]
    (ref,) = former(ben)
    assert ben.git("rev-parse", ref) == mine
    ben.git("merge-base", "--is-ancestor", old, ref)
    assert not live(ben, "login").exists() and "ports" in live(ben, "ports").read_text()
    ben.git("fsck", "--strict", "--no-dangling")
    assert "login" in ben.run("log", "login").out

    assert f"git mem undo {id}" in accepted
    ben.learn("since", "Learned since.", scope="project", agent="reviewer")
    assert "reviewer/login.md" in ben.run("undo", id, "-n", "--json").json["paths"]
    assert "reviewer/login.md" not in ben.memories("project")
    done = ben.run("undo", id)
    found = {path: text for path, text in ben.memories("project").items() if "MEMORY" not in path}
    known = {path: text for path, text in before.items() if "MEMORY" not in path}
    assert found.keys() == known.keys() | {"reviewer/names.md", "reviewer/since.md"}
    assert known.items() <= found.items()
    assert live(ben, "login").exists()
    (line, *_) = ben.run("blame", "login", "--json").json
    assert line["origins"][0]["told"][0]["author"].startswith("Ann") and not line["origins"][0]["beyond"]
    ben.run("undo", id, code=1)
    ben.run("sync", "-y")
    assert "login.md" in git("--git-dir", team, "ls-tree", "-r", "--name-only", PROJECT)
    # The undo can be undone as any.
    ben.run(*done.err.rpartition("git mem ")[2].split())
    assert "reviewer/login.md" not in ben.memories("project")

    ben.run("restore", "login")
    assert SECRET in ben.memories("project")["reviewer/login.md"]
    ben.run("restore", "hosts", "--at", ref)
    assert "Hosts have names." in ben.memories("project")["reviewer/hosts.md"]
    ben.run("restore", "--all", "--scope", "project", "--at", mine[:12])
    assert "reviewer/eve.md" not in ben.memories("project")


def test_nothing_of_it_reaches_the_team_and_it_is_gone_after_thirty_days(replaced, team, git) -> None:
    ben, id = replaced, f"e-{replaced.git('rev-parse', 'origin/gitmem/project')[:8]}"
    # A dream hangs on the old history, and may go to the team one day: it comes along without that.
    dream = ben.git("rev-parse", "refs/heads/gitmem/dream/d-7")
    assert "A dream." in ben.git("show", f"{dream}:reviewer/dreamt.md")
    ben.git("merge-base", "--is-ancestor", PROJECT, dream)
    assert SECRET not in ben.git("log", "-p", dream)
    ben.run("sync", "-y")
    assert "former" not in git("--git-dir", team, "for-each-ref")
    refs = git("--git-dir", team, "rev-list", "--objects", "--glob=refs/heads/gitmem/*").split("\n")
    assert "login.md" not in "".join(refs) and "hosts.md" not in "".join(refs)
    theirs = objects(team)
    bodies = b"".join(theirs[row.split()[0]][1] for row in refs)
    assert SECRET.encode() not in bodies and b"Hosts have names." not in bodies
    assert SECRET in ben.git("log", "-p", former(ben)[0])
    assert "Hosts have names" not in ben.run("recall", "which hosts have names", "--json").out
    ben.now += 29 * DAY
    keep_house(ben)
    assert len(former(ben)) == 1
    ben.now += 2 * DAY
    keep_house(ben)
    assert former(ben) == [] and holding(ben.code / ".git") == []
    assert "30 days" in ben.run("undo", id, code=1).err


def keep_house(machine: Machine) -> None:
    """What the worker does after a job."""
    machine.enter()
    machine.patch.setenv("GITMEM_NOW", str(machine.now))
    assert upkeep.keep_house(machine.workspace, real_edges(machine.code)) == ()


def test_a_purge_here_reaches_what_is_kept(replaced: Machine) -> None:
    ben = replaced
    ben.run("sync", "-y")
    assert SECRET in ben.git("log", "-p", former(ben)[0])
    ben.run("purge", SECRET, "-y")
    assert is_gone(ben)
    assert "Hosts have names." in ben.git("log", "-p", former(ben)[0])


def test_turning_it_down_puts_the_history_back_for_everybody(ann, ben, team, git, survivor) -> None:
    before = ann.memories("project")
    ben.learn("names", "Names are short.", scope="project", agent="reviewer")
    ann.learn("late", "Ann had not sent this.", scope="project", agent="reviewer")
    forge(team, {"reviewer/ports.md": survivor, "reviewer/eve.md": memory("eve", "Eve is right.")})
    ben.run("sync", "-y", code=1)
    ben.run("review", "reject", waiting(ben))
    assert waiting(ben) == ""
    # What ben had not sent yet is not sent by that: nobody was asked for it.
    assert "reviewer/names.md" not in git("--git-dir", team, "ls-tree", "-r", "--name-only", PROJECT)
    assert "Names are short." in ben.memories("project")["reviewer/names.md"]
    ann.run("sync", "-y")
    ben.run("sync", "-y")
    ann.run("sync", "-y")
    assert tip(ann) == tip(ben)
    found = ann.memories("project")
    assert found.keys() == before.keys() | {"reviewer/names.md", "reviewer/late.md"}
    assert former(ann) == former(ben) == []


def test_who_had_followed_is_asked_to_come_back(ann, ben, team, survivor) -> None:
    forge(team, {"reviewer/ports.md": survivor})
    for clone in (ann, ben):
        clone.run("sync", "-y", code=1)
    ann.run("review", "accept", waiting(ann))
    ben.run("review", "reject", waiting(ben))
    ann.run("sync", "-y", code=1)
    ann.run("review", "accept", waiting(ann))
    ann.run("sync", "-y")
    ben.run("sync", "-y")
    assert tip(ann) == tip(ben)
    assert SECRET in ann.memories("project")["reviewer/login.md"]


def test_a_person_at_a_terminal_is_asked(ann: Machine, ben: Machine) -> None:
    import sys

    class Terminal:
        def __init__(self, answer: str) -> None:
            self.answer = answer

        def isatty(self) -> bool:
            return True

        def readline(self) -> str:
            return f"{self.answer}\n"

        def fileno(self) -> int:
            return 0

    ann.run("purge", SECRET, "-y")
    before = tip(ben)
    ann.patch.setattr(sys, "stdin", Terminal("n"))
    ben.run("sync", code=1)
    assert tip(ben) == before
    ann.patch.setattr(sys, "stdin", Terminal("y"))
    ran = ben.run("sync")
    assert "reviewer/login.md" in ran.err
    assert tip(ben) == tip(ann) and is_gone(ben) and former(ben) == []


def test_an_own_purge_goes_on_while_somebody_elses_waits(ann, ben, team, git, survivor) -> None:
    forge(team, {"reviewer/ports.md": survivor})
    ran = ben.run("purge", "Ask Ben for access.", "-y")
    assert "was not rewritten" in ran.err
    assert holding(ben.code / ".git", "Ask Ben for access.") == []
    # One's own is the newer one now, and the other proves nothing that it took out.
    ben.run("sync", "-y")
    assert "The password is" in ben.memories("project")["reviewer/login.md"]
    assert git("--git-dir", team, "rev-parse", PROJECT) == tip(ben)


def test_a_lower_epoch_that_lacks_a_text_takes_it_no_more_unasked(ann: Machine, ben: Machine) -> None:
    """Whoever purged last has the higher number; a forged history may bear any."""
    ann.run("purge", "Ports start at 4000.", "-y")
    for text in ("Ask Ben for access.", "About login"):
        ben.run("purge", text, "-y", "--no-push")
    before = tip(ben)
    assert epoch_of(ben.workspace.code, before).number == 2
    ben.run("sync", "-y", code=1)
    assert tip(ben) == before and waiting(ben)
    ben.run("review", "accept", waiting(ben))
    assert "Ports start at 4000." not in ben.memories("project")["reviewer/ports.md"]


@pytest.mark.parametrize("hook", often([False, True], False))
def test_a_forgery_of_no_epoch_takes_nothing_in_review(ann, ben, team, survivor, hook: bool) -> None:
    """In review mode the branch counts whatever its number: it has to be asked about all the same."""
    ann.run("purge", "Hosts have names.", "-y")
    ben.run("sync", "-y", code=1)
    ben.run("review", "accept", waiting(ben))
    ben.run("share", "--mode", "review", "-y")
    ben.run("sync", "-y")
    before, known = tip(ben), ben.memories("project")
    assert epoch_of(ben.workspace.code, before).number > 0
    forge(team, {"reviewer/ports.md": survivor}, mark="")
    if hook:
        ben.git("fetch", "-q", "origin", "+refs/heads/gitmem/project:refs/remotes/origin/gitmem/project")
        assert any("purged memory" in line for line in after_merge(ben.workspace, real_edges(ben.code)))
    else:
        ben.run("sync", "-y", code=1)
    assert tip(ben) == before and ben.memories("project") == known and waiting(ben)
    ben.run("review", "accept", waiting(ben))
    assert "reviewer/login.md" not in ben.memories("project")
    (ref,) = former(ben)
    assert "1970" not in ref and ben.git("rev-parse", ref) == before
    keep_house(ben)
    ben.run("restore", "login")
    assert "reviewer/login.md" in ben.memories("project")


@pytest.mark.long
def test_a_forgery_of_no_epoch_is_told_as_theirs_where_it_is_carried_over(ann, ben, team, survivor) -> None:
    """What is replayed is what somebody pushed there: nothing of one's own went over anything."""
    ann.run("purge", "Hosts have names.", "-y")
    ben.run("sync", "-y", code=1)
    ben.run("review", "accept", waiting(ben))
    known = ben.memories("project")
    text = memory("gate", "The gate opens at nine.")
    forge(team, {"reviewer/ports.md": survivor, "reviewer/gate.md": text}, mark="")
    said = ben.run("sync", "-y").err
    assert "had a history from before a purge here: 1 commit of it carried over" in said
    assert "of yours" not in said and "followed a purge" not in said
    assert known.items() <= ben.memories("project").items()


def test_a_forged_inbox_takes_nothing_and_stops_nothing(ann, ben, team, git, survivor) -> None:
    """Also one's own: whoever may push may move it."""
    forge(team, {"reviewer/ports.md": survivor}, "refs/heads/gitmem/inbox/eve-example-com")
    forge(team, {"reviewer/ports.md": survivor}, "refs/heads/gitmem/dream/d-1")
    before = ben.memories("project")
    ben.run("sync", "-y")
    assert ben.memories("project") == before and former(ben) == [] and waiting(ben) == ""
    ben.run("share", "--mode", "review", "-y")
    ben.learn("names", "Names are short.", scope="project", agent="reviewer")
    ben.run("sync", "-y")
    forge(team, {"reviewer/ports.md": survivor}, "refs/heads/gitmem/inbox/ann-example-com")
    ben.run("forget", "names")  # Nothing is asked for any more, so only the forgery is looked at.
    ben.run("sync", "-y")
    ben.learn("more", "And plain.", scope="project", agent="reviewer")
    ben.run("sync", "-y")
    assert ben.memories("project").keys() >= before.keys()
    waits = git("--git-dir", team, "show", "refs/heads/gitmem/inbox/ann-example-com:reviewer/more.md")
    assert "And plain." in waits


@pytest.mark.long
def test_another_machine_of_ones_own_follows_unasked(ann, machine, tmp_path, git) -> None:
    """Nobody else writes to the backup; what has no counterpart there is carried over whole."""
    safe = tmp_path / "safe.git"
    git("init", "-q", "--bare", safe)
    ann.learn("mine", f"Mine: {SECRET}.")
    ann.learn("kept", "This stays.")
    ann.run("backup", safe, "-y")
    laptop = machine("laptop")
    laptop.run("init", "-y", "--backup", safe)
    ann.run("purge", SECRET, "-y")
    laptop.run("backup")
    assert holding(laptop.private) == [] and "This stays." in laptop.memories()["main/kept.md"]
    ref = next(row for row in git("--git-dir", safe, "for-each-ref", "--format=%(refname)",
                                  "refs/heads/local").splitlines())  # fmt: skip
    forge(safe, {"main/other.md": memory("other", "Another.")}, ref)
    laptop.run("backup", code=3)
    assert "This stays." in laptop.memories()["main/kept.md"]


@pytest.mark.long
def test_a_clone_that_joins_late_has_nothing_of_what_was_purged(ann, ben, team, machine, git) -> None:
    ben.learn("names", f"Names are short, {SECRET} is long.", scope="project", agent="reviewer")
    ann.run("purge", SECRET, "-y")
    ben.run("sync", "-y", code=1)
    # Who joins while another one has not decided yet has nothing to decide.
    cem = machine("cem")
    cem.run("init", "-y")
    cem.run("share", "--mode", "direct", "-y")
    cem.run("sync", "-y")
    assert waiting(cem) == "" and "Ports start at 4000." in cem.memories("project")["reviewer/ports.md"]
    cem.learn("cem", "Cem was here.", scope="project", agent="reviewer")
    cem.run("sync", "-y")
    ben.run("sync", "-y", code=1)
    ben.run("review", "accept", waiting(ben))
    for clone in (ben, ann, cem):
        clone.run("sync", "-y")
    assert len({tip(clone) for clone in (ann, ben, cem)}) == 1
    assert all(is_gone(clone) for clone in (ann, ben, cem))
    assert "Names are short, [purged] is long." in cem.memories("project")["reviewer/names.md"]
    fresh = machine("dan")
    assert fresh.git("log", "--oneline", "origin/gitmem/project") and holding(fresh.code / ".git") == []


@pytest.mark.long
def test_a_memory_that_was_rebuilt_before_it_was_shared_follows_a_purge(machine, ann) -> None:
    """What never left is in a history of its own here, which a foreign purge must reach as well."""
    cem = machine("cem")
    cem.run("init", "-y")
    cem.learn("draft", f"A draft with {SECRET}.", scope="project", agent="reviewer")
    cem.run("forget", "draft")
    cem.learn("cem", "Cem was here.", scope="project", agent="reviewer")
    cem.run("share", "--mode", "direct", "-y")
    cem.run("sync", "-y")
    assert holding(cem.code / ".git")
    ann.run("purge", SECRET, "-y")
    cem.run("sync", "-y", code=1)
    cem.run("review", "accept", waiting(cem))
    cem.run("sync", "-y")
    assert is_gone(cem)
    assert "Cem was here." in cem.memories("project")["reviewer/cem.md"]
