"""One file that has no place in memory keeps nothing else from being shared: it is set aside, and named."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from machines import MEMORY
from slices import often
from sync_ground import PROJECT, Team, live, teach

from gitmem.core.limits import OTHER_BYTES

BAD = {
    "device": ("nul.md", "is a device name on Windows"),
    "colon": ("a:b.md", "holds a colon"),
    "latin": ("caf\udce9.md", "is not UTF-8"),
    "large": ("large.md", "are the most"),
    "deep": ("d/" * 21 + "deep.md", "has more than 20 parts"),
    "twin": ("\ufb01le.md", "reads as"),
}


@pytest.fixture
def people(
    place: Path, git: Callable[..., str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> Team:
    """Ann and Ben, who share a memory of one fact."""
    return Team(place, git, monkeypatch, capsys)


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
def test_the_rest_is_merged_and_the_file_is_named(people: Team, kinds: tuple[str, ...]) -> None:
    ann, ben = people.people(ann="direct", ben="direct")
    teach(ann, "file", "The first fact.")
    ann.run("sync", "-y")
    ben.run("sync", "-y")
    bad = {BAD[kind][0]: odd(kind) for kind in kinds}
    planted(people, {**bad, "good.md": MEMORY.format("good", "A good fact.")})
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
        assert "Odd " in people.git("-C", people.bare, "cat-file", "blob", f"{PROJECT}:reviewer/{name}")


def test_it_gets_another_name_by_hand(people: Team) -> None:
    (ann,) = people.people(ann="direct")
    teach(ann, "file", "The first fact.")
    ann.run("sync", "-y")
    planted(people, {"nul.md": MEMORY.format("nul", "Odd.")})
    ann.run("sync", "-y")
    assert "Odd." in ann.run("show", "nul").out
    ann.run("forget", "nul")
    assert "set aside" not in ann.run("status").out


@pytest.mark.parametrize("mode", often(["direct", "review"], "direct"))
def test_what_git_itself_would_not_write_keeps_nothing_back(people: Team, mode: str) -> None:
    """No plain git can check such a tree out: it is named, and the first merge is without it."""
    ann, ben = people.people(ann="direct", ben=mode)
    teach(ann, "file", "The first fact.")
    ann.run("sync", "-y")
    ben.run("sync", "-y")
    planted(people, {"good.md": MEMORY.format("good", "A good fact.")})
    within = f"--git-dir={people.bare}"
    folder = people.git(within, "rev-parse", f"{PROJECT}:reviewer")
    hidden = people.git(within, "ls-tree", folder) + f"\n040000 tree {folder}\t.git\n"
    bad = people.git(within, "mktree", input=hidden)
    rows = people.git(within, "ls-tree", PROJECT).replace(folder, bad)
    tree = people.git(within, "mktree", input=rows + "\n")
    made = people.git(within, "commit-tree", "-p", PROJECT, "-m", "Harm", tree)
    people.git(within, "update-ref", PROJECT, made)
    assert "reviewer/.git/good.md" in people.files()
    teach(ben, "ports", "The port is 8080.")
    for one in (ben, ann):
        told = one.run("sync", "-y", "--json").json
        if one is ben or mode == "review":
            assert "is taken for a part of git" in told["set_aside"]["reviewer/.git/good.md"]
        assert "good.md" in live(one) and ".git" not in live(one)
    if mode == "direct":
        assert "ports.md" in live(ann) and "reviewer/.git/good.md" not in people.files()
    teach(ann, "hosts", "The host is db1.")
    ann.run("sync", "-y")
    assert "reviewer/.git/good.md" not in people.files() and "reviewer/hosts.md" in people.files()


@kinds("device", "large", "twin")
def test_what_forgetting_it_prints_brings_it_back(people: Team, kinds: tuple[str, ...]) -> None:
    """Its own name is none that a memory may have; what is too large goes into a folder."""
    (ann,) = people.people(ann="direct")
    teach(ann, "file", "The first fact.")
    ann.run("sync", "-y")
    planted(people, {BAD[kind][0]: odd(kind) for kind in kinds})
    ann.run("sync", "-y")
    for kind in kinds:
        told = ann.run("forget", kind).err
        printed = re.search(r"git mem ((?:undo|restore) .*)", told)
        assert printed, told
        words = shlex.split(printed[1].replace("FOLDER", str(people.folder / "out")))
        ann.run(*words)
        if kind == "large":
            assert "Odd large." in (people.folder / "out" / "large.md").read_text()
            continue
        assert f"Odd {kind}." in ann.run("show", kind).out
        assert BAD[kind][0] not in ann.run("status").out or kind == "twin"
        # A second time there is nothing left to be done.
        ann.run(*words, code=1)


def test_what_is_too_large_is_not_told_to_be_renamed(people: Team) -> None:
    (ann,) = people.people(ann="direct")
    teach(ann, "file", "The first fact.")
    ann.run("sync", "-y")
    planted(people, {"large.md": odd("large"), "nul.md": MEMORY.format("nul", "Odd.")})
    told = ann.run("sync", "-y").err + ann.run("status").out
    lines = [line for line in told.splitlines() if "set aside" in line]
    assert len(lines) == 4
    for line in lines:
        assert ("is too large" in line) == ("large.md" in line) == ("rename" not in line)


def test_restore_brings_it_back_under_a_name_that_it_may_have(people: Team) -> None:
    (ann,) = people.people(ann="direct")
    teach(ann, "file", "The first fact.")
    ann.run("sync", "-y")
    planted(people, {"nul.md": MEMORY.format("odd", "Odd.")})
    ann.run("sync", "-y")
    ann.run("forget", "odd")
    ann.run("restore", "nul")
    assert "Odd." in live(ann)["odd.md"]
