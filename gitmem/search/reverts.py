"""Whether a later commit undid one: it says so, or took out most of what that one brought to a file.

Only what can be shown is said: a name in a message, or lines that one commit added and another removed.
What that commit moved elsewhere is not gone.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from gitmem.git.command import GitCommand, peek
from gitmem.search.commits import CommitIndex, CommitText
from gitmem.search.reach import Lines, read_lines
from gitmem.values import dataclass

MOST_LATER = 200
"""Later commits on the same paths that are looked at, the oldest first."""

MOST_PATHS = 20
"""Files of a commit that are looked at: what touches more decides nothing on each."""

SUSPECTS = 3
"""Later commits that are looked at as a whole, for lines that they moved elsewhere."""

PATCH_BYTES = 2 << 20

FEWEST_LINES = 2
"""Lines that a commit brought to a file, below which their end tells nothing."""

PROSE = (".md", ".rst", ".txt", ".adoc")

SHORTEST = 4
"""Characters of a line that counts: brackets and blank lines come and go."""


@dataclass(frozen=True)
class UndoneBy:
    """What undid a commit, wholly or in part.

    Attributes:
        path: the file that lost lines; empty where the commit says that it reverts.
        taken, brought: lines that it took out there, of so many.
    """

    oid: str
    path: str = ""
    taken: int = 0
    brought: int = 0


def undoing(
    index: CommitIndex, git: GitCommand, top: Path, message: CommitText, seconds: float
) -> UndoneBy | None:
    """The first commit that undid another, as far as is known; nothing is fetched to find out.

    Args:
        seconds: for git.
    """
    if reverts := index.reverts(message.oid, message.subject):
        return UndoneBy(reverts[0])
    later = index.later(message.oid, MOST_LATER)
    if not later:
        return None
    until = time.monotonic() + seconds
    own = _patches(git, top, [message.oid], seconds)
    if not own or len(own[0]) > MOST_PATHS:
        return None
    paths = [_path(header) for header in own[0]]
    on_them = _patches(git, top, later, until - time.monotonic(), paths)
    for suspect in list(_lost(own[0], zip(later, on_them, strict=False)))[:SUSPECTS]:
        whole = _patches(git, top, [suspect.oid], until - time.monotonic())
        found = next(_lost(own[0], [(suspect.oid, whole[0])]), None) if whole else None
        if found is not None and not _stands(git, top, own[0], found, until - time.monotonic()):
            return found
    return None


def _stands(git: GitCommand, top: Path, own: Lines, found: UndoneBy, seconds: float) -> bool:
    """Whether HEAD has most of the lines again, or it cannot be told."""
    words = ["cat-file", "blob", f"HEAD:{found.path}"]
    seen = peek(git, words, cwd=top, seconds=seconds, size=PATCH_BYTES)
    if seen.returncode is None:
        return True
    now = Counter(seen.text.split("\n"))
    brought = next(lines for header, lines in _brought(own).items() if _path(header) == found.path)
    return 2 * (brought & now).total() > brought.total()


def _patches(
    git: GitCommand, top: Path, commits: Sequence[str], seconds: float, paths: Sequence[str] = ()
) -> Sequence[Lines]:
    """What commits change in some files, or in all; nothing where it is not there, or too much."""
    words = [
        "--literal-pathspecs",
        "diff-tree",
        "--stdin",
        "--root",
        "--always",
        "--no-renames",
        "-p",
        "-U0",
    ]
    words += ["--no-ext-diff", "--no-textconv", "--", *paths]
    listed = "".join(f"{oid}\n" for oid in commits).encode()
    seen = peek(git, words, cwd=top, seconds=seconds, size=PATCH_BYTES, input=listed)
    return read_lines(seen.stdout) if seen.returncode == 0 else []


def _lost(own: Lines, later: Iterable[tuple[str, Lines]]) -> Iterator[UndoneBy]:
    """Commits that took out most of what one brought to a file, one after another."""
    brought = _brought(own)
    for oid, patch in later:
        moved = Counter(line[1:] for lines in patch.values() for line in lines if line[0] == "+")
        for header, lines in brought.items():
            gone = Counter(line[1:] for line in patch.get(header, ()) if line[0] == "-")
            taken = (lines & (gone - moved)).total()
            if lines.total() >= FEWEST_LINES and 2 * taken >= lines.total():
                yield UndoneBy(oid, _path(header), taken, lines.total())
                break


def _brought(own: Lines) -> dict[str, Counter[str]]:
    """Lines of code that a commit adds, by the header of the file's patch; prose is often reworded."""
    return {
        header: Counter(line[1:] for line in lines if line[0] == "+" and len(line.strip()) > SHORTEST)
        for header, lines in own.items()
        if not _path(header).lower().endswith(PROSE)
    }


def _path(header: str) -> str:
    """The path of `diff --git a/<path> b/<path>`: both are the same, without renames."""
    both = header.removeprefix("diff --git a/")
    return both[: (len(both) - len(" b/")) // 2]
