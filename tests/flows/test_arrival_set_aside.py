"""One file that has no place in memory keeps nothing else from being shared: it is set aside, and named."""

from __future__ import annotations

import re
import shlex

import pytest
from machines import MEMORY, Machine, begin
from slices import often
from sync_ground import PROJECT, Team, live, teach, team

from gitmem.core.limits import OTHER_BYTES

__all__ = ["team"]
BAD = {
    "device": ("nul.md", "is a device name on Windows"),
    "colon": ("a:b.md", "holds a colon"),
    "latin": ("caf\udce9.md", "is not UTF-8"),
    "large": ("large.md", "are the most"),
    "deep": ("d/" * 21 + "deep.md", "has more than 20 parts"),
    "twin": ("\ufb01le.md", "reads as"),
}


def ann_and_ben(team: Team, mode: str = "direct") -> tuple[Machine, Machine]:
    """Ann, who taught one fact, and Ben, who has it, by his mode of sharing; a test's first step."""

    def make() -> list[Machine]:
        ann, ben = team.people(ann="direct", ben=mode)
        teach(ann, "file", "The first fact.")
        ann.run("sync", "-y")
        ben.run("sync", "-y")
        return [ann, ben]

    ann, ben = begin(team.folder, f"ann-and-ben-{mode}", make, team.patch, team.capture)
    return ann, ben


def kinds(*chosen: str) -> pytest.MarkDecorator:
    """Some of `BAD` in one memory, and by the marker `long` each alone."""
    alone = [pytest.param((kind,), id=kind, marks=pytest.mark.long) for kind in BAD]
    return pytest.mark.parametrize("kinds", [pytest.param(chosen, id="together"), *alone])


def odd(kind: str) -> str:
    """A memory of the kind's name."""
    return MEMORY.format(kind, f"Odd {kind}. " + "x" * OTHER_BYTES * (kind == "large"))


def planted(team: Team, files: dict[str, str]) -> None:
    """Pushes files to the memory branch as somebody with plain git does."""
    folder = team.folder / "plain"
    if not folder.exists():
        team.git("clone", "-q", "-b", "gitmem/project", team.bare, folder)
    team.git("-C", folder, "pull", "-q")
    for path, text in files.items():
        at = folder / "reviewer" / path
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_text(text)
    team.git("-C", folder, "add", "-A")
    team.git("-C", folder, "commit", "-q", "-m", "By hand")
    team.git("-C", folder, "push", "-q")


@kinds("latin", "large")
def test_the_rest_is_merged_and_the_file_is_named(team: Team, kinds: tuple[str, ...]) -> None:
    ann, ben = ann_and_ben(team)
    bad = {BAD[kind][0]: odd(kind) for kind in kinds}
    planted(team, {**bad, "good.md": MEMORY.format("good", "A good fact.")})
    teach(ben, "ports", "The port is 8080.")
    for one in (ann, ben):
        told = one.run("sync", "-y", "--json").json["set_aside"]
        for kind in kinds:
            assert [reason for reason in told.values() if BAD[kind][1] in reason], told
        assert "good.md" in live(one) and not bad.keys() & live(one).keys()
        assert "set aside" in one.run("status").out
        waits = [row for row in one.run("review", "--json").json if row["kind"] == "set-aside"]
        assert len(waits) == len(kinds)
        assert "set_aside" in one.run("sync", "-y", "--json").json
    ann.run("sync", "-y")
    assert "ports.md" in live(ann) and "ports.md" in live(ben)
    # It stays on the branch, as it was.
    for name in bad:
        assert "Odd " in team.git("-C", team.bare, "cat-file", "blob", f"{PROJECT}:reviewer/{name}")


@pytest.mark.parametrize("mode", often(["direct", "review"], "direct"))
def test_what_git_itself_would_not_write_keeps_nothing_back(team: Team, mode: str) -> None:
    """No plain git can check such a tree out: it is named, and the first merge is without it."""
    ann, ben = ann_and_ben(team, mode)
    planted(team, {"good.md": MEMORY.format("good", "A good fact.")})
    within = f"--git-dir={team.bare}"
    folder = team.git(within, "rev-parse", f"{PROJECT}:reviewer")
    hidden = team.git(within, "ls-tree", folder) + f"\n040000 tree {folder}\t.git\n"
    bad = team.git(within, "mktree", input=hidden)
    rows = team.git(within, "ls-tree", PROJECT).replace(folder, bad)
    tree = team.git(within, "mktree", input=rows + "\n")
    made = team.git(within, "commit-tree", "-p", PROJECT, "-m", "Harm", tree)
    team.git(within, "update-ref", PROJECT, made)
    assert "reviewer/.git/good.md" in team.files()
    teach(ben, "ports", "The port is 8080.")
    for one in (ben, ann):
        told = one.run("sync", "-y", "--json").json
        if one is ben or mode == "review":
            assert "is taken for a part of git" in told["set_aside"]["reviewer/.git/good.md"]
        assert "good.md" in live(one) and ".git" not in live(one)
    if mode == "direct":
        assert "ports.md" in live(ann) and "reviewer/.git/good.md" not in team.files()
    teach(ann, "hosts", "The host is db1.")
    ann.run("sync", "-y")
    assert "reviewer/.git/good.md" not in team.files() and "reviewer/hosts.md" in team.files()


@kinds("device", "large", "twin")
def test_what_forgetting_it_prints_brings_it_back(team: Team, kinds: tuple[str, ...]) -> None:
    """Its own name is none that a memory may have; what is too large goes into a folder."""
    ann, _ = ann_and_ben(team)
    planted(team, {BAD[kind][0]: odd(kind) for kind in kinds})
    told = ann.run("sync", "-y").err + ann.run("status").out
    lines = [line for line in told.splitlines() if "set aside" in line]
    assert len(lines) == 2 * len(kinds)
    for line in lines:
        assert ("is too large" in line) == ("large.md" in line) == ("rename" not in line)
    for kind in kinds:
        assert f"Odd {kind}." in ann.run("show", kind).out
        told = ann.run("forget", kind).err
        printed = re.search(r"git mem ((?:undo|restore) .*)", told)
        assert printed, told
        words = shlex.split(printed[1].replace("FOLDER", str(team.folder / "out")))
        ann.run(*words)
        if kind == "large":
            assert "Odd large." in (team.folder / "out" / "large.md").read_text()
            continue
        assert f"Odd {kind}." in ann.run("show", kind).out
        assert BAD[kind][0] not in ann.run("status").out or kind == "twin"
        # A second time there is nothing left to be done.
        ann.run(*words, code=1)


def test_it_comes_back_under_a_name_that_it_may_have(team: Team) -> None:
    ann, _ = ann_and_ben(team)
    planted(team, {"nul.md": MEMORY.format("odd", "Odd.")})
    ann.run("sync", "-y")
    assert "Odd." in ann.run("show", "nul").out
    ann.run("forget", "nul")
    assert "set aside" not in ann.run("status").out
    ann.run("restore", "nul")
    assert "Odd." in live(ann)["odd.md"]
