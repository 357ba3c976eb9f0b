"""Real memory folders, grown again by two people at once: nothing of them is lost, made up or cut.

Each folder's files and index lines arrive bit by bit, half from each person, who also change, take out and
add claims, write into the index, and sync whenever it suits them. What must stand at the end is known from
what was written alone. The table is printed by

    GITMEM_TEST_DATA=… python -m pytest -n 0 -s -m "long or not long" tests/flows/test_replayed_folders.py
"""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from handwritten import REAL, Files, handwritten, world
from machines import Machine
from sync_ground import live, team

from gitmem.core import index
from gitmem.core.claim import with_dispute
from gitmem.core.memory import parse

__all__ = ["team"]

FOLDER = ".claude/agent-memory/reviewer"
OWN = Path(__file__).parents[2] / "snapshots"
REAL_FOLDERS = sorted(path for path in REAL.iterdir() if path.is_dir()) if REAL.is_dir() else []
MARKS = (b"quokka wombat numbat", b"bandicoot bilby potoroo", b"cassowary kookaburra lyrebird")
"""Words of what is private, moved away or forgotten before anything is shared."""


def folder_of(name: str) -> Files:
    """A folder of memory as `main/<file>` to bytes: a real one, this repository's own, or a made one."""
    if name.startswith("made"):
        return world(int(name.removeprefix("made ")))[0]
    path = OWN / "main" if name == "own" else REAL / name
    return {f"main/{one.name}": one.read_bytes() for one in sorted(path.glob("*.md"))}


def claims(files: Files) -> Counter[tuple[str, str]]:
    """Body claims with the file that holds them, without dispute marks."""
    found: Counter[tuple[str, str]] = Counter()
    for path, data in files.items():
        if not path.endswith("MEMORY.md"):
            for one in parse(path, data).parsed.claims:
                found[path, " ".join(with_dispute(one.text, "").lstrip("-* ").split())] += 1
    return found


class Story:
    """What two people do to a folder, and what they may expect of it afterwards."""

    def __init__(self, people: list[Machine], files: Files, rng: Random) -> None:
        self.people, self.rng = people, rng
        self.files = {path.removeprefix("main/"): data for path, data in files.items()}
        text = self.files.pop("MEMORY.md", b"").decode()
        self.lines = [unit.text for unit in index.parse(text)]
        self.written: Counter[tuple[str, str]] = Counter()
        self.removed: set[tuple[str, str]] = set()
        self.versions: list[Files] = []
        self.hand: set[str] = set()

    def read(self, one: Machine) -> Files:
        return {f"main/{name}": text.encode() for name, text in live(one).items()}

    def put(self, one: Machine, name: str, data: bytes) -> None:
        """Writes a file as an agent does, and notes what that adds and takes out."""
        path = one.code / FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        before = claims({f"main/{name}": path.read_bytes()}) if path.exists() else Counter()
        after = claims({f"main/{name}": data})
        self.written |= after
        self.removed |= set(before - after)
        self.removed -= set(after - before)
        self.versions.append({f"main/{name}": data})
        path.write_bytes(data)

    def line(self, one: Machine, text: str) -> None:
        """Writes a line at the end of the index."""
        path = one.code / FOLDER / "MEMORY.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        old = path.read_text() if path.exists() else ""
        path.write_text(old + ("" if not old or old.endswith("\n") else "\n") + text.rstrip("\n") + "\n")
        self.hand |= set(handwritten({"main/MEMORY.md": text.encode()}, *self.versions))

    def arrive(self, one: Machine, name: str) -> None:
        """A file of the folder, with the lines of its index that name it for the first time."""
        self.put(one, name, self.files[name])
        for text in [text for text in self.lines if name in text]:
            self.lines.remove(text)
            self.line(one, text)

    def edit(self, one: Machine, step: int) -> None:
        """Changes, adds or takes out a claim of some memory that this person has."""
        here = sorted(path.name for path in (one.code / FOLDER).glob("*.md") if path.name != "MEMORY.md")
        if not here:
            return
        path = one.code / FOLDER / self.rng.choice(here)
        text = path.read_text()
        bodies = [claim.text for claim in parse(path.name, text.encode()).parsed.claims]
        plain = [body for body in bodies if "\n" not in body and text.count(body) == 1 and len(body) > 20]
        how = self.rng.choice(["add", "change", "take out"])
        if how == "add" or not plain:
            text = text.rstrip("\n") + f"\n\nAdded in step {step} by {one.home.name}.\n"
        elif how == "change":
            old = self.rng.choice(plain)
            text = text.replace(old, f"{old.rstrip('.')}, as of step {step}.")
        elif len(plain) > 2:
            text = text.replace(self.rng.choice(plain), "")
        self.put(one, path.name, text.encode())

    def run(self) -> None:
        """Lets every file arrive, with edits and syncs in between."""
        names = sorted(self.files)
        self.rng.shuffle(names)
        loose = [text for text in self.lines if not any(name in text for name in names)]
        self.lines = [text for text in self.lines if text not in loose]
        for step, name in enumerate(names):
            one = self.rng.choice(self.people)
            self.arrive(one, name)
            if loose:
                self.line(self.rng.choice(self.people), loose.pop(0))
            for _ in range(self.rng.randint(0, 2)):
                self.edit(self.rng.choice(self.people), step)
            if self.rng.random() < 0.3:
                self.rng.choice(self.people).run("sync", "-y")
        for text in loose:
            self.line(self.rng.choice(self.people), text)
        for one in [*self.people, *self.people]:
            one.run("sync", "-y")

    def judged(self) -> dict[str, int]:
        """How many claims and lines were kept, lost, made up or cut, seen by the last who synced."""
        end = self.read(self.people[-1])
        have = set(claims(end))
        # A text that one person took out while another one changed it may stand or not: either is right.
        lost = {claim for claim in set(self.written) - self.removed if claim not in have}
        lines = set(handwritten(end, *self.versions))
        return {
            "claims": len(have),
            "claims lost": len(lost),
            "claims made up": len(have - set(self.written)),
            "lines": len(lines),
            "lines lost": len(self.hand - lines),
            "lines made up or cut": len(lines - self.hand),
        }


def plant_private(one: Machine) -> None:
    """What is never to leave: forgotten, moved away, and private from the start."""
    folder = one.code / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, mark in zip(("gone", "moved"), MARKS, strict=False):
        said = mark.decode()
        head = f"---\nname: {name}\ndescription: On {said}\ntype: project\n---\n"
        (folder / f"{name}.md").write_text(f"{head}\nThe {said}.\n")
    one.run("save")
    words = ("--scope", "project", "--agent", "reviewer")
    one.run("forget", "gone", *words)
    one.run("move", "moved", *words, "--to", "local")
    one.run("remember", f"I keep the {MARKS[2].decode()} to myself.", "--type", "user")


@pytest.mark.parametrize(
    "name",
    [
        "made 3",
        pytest.param("own", marks=pytest.mark.long),
        *(pytest.param(f"made {seed}", marks=pytest.mark.long) for seed in range(11, 19)),
        *(pytest.param(path.name, marks=pytest.mark.long) for path in REAL_FOLDERS),
    ],
)
def test_a_folder_that_two_people_grow_keeps_every_claim_and_line(team, name: str, capsys) -> None:
    (ann,) = team.people(ann="")
    plant_private(ann)
    ann.run("share", "--mode", "direct", "-y")
    ann.run("sync", "-y")
    (ben,) = team.people(ben="direct")
    story = Story([ann, ben], folder_of(name), Random(name))
    story.run()
    table = story.judged()
    with capsys.disabled():
        print(f"\n{name:28}" + "".join(f" {what} {count};" for what, count in table.items()), end="")
    assert live(ann) == live(ben)
    assert {what: count for what, count in table.items() if what not in ("claims", "lines")} == {
        "claims lost": 0,
        "claims made up": 0,
        "lines lost": 0,
        "lines made up or cut": 0,
    }
    fresh = team.folder / "fresh.git"
    subprocess.run(["git", "clone", "-q", "--mirror", team.bare, fresh], check=True)
    for bare in (team.bare, fresh):
        held = subprocess.run(
            ["git", "-C", bare, "cat-file", "--batch-all-objects", "--batch"],
            capture_output=True,
            check=True,
        ).stdout.lower()
        assert [mark for mark in MARKS if mark in held] == []
