"""Questions to git about the code at a commit: short, bounded in time and size, and never fetching.

Names come from texts and are hostile: each is an argument of its own behind `--` or `-e`, and none is a
pattern. What cannot be answered within the limits is told apart from a no.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gitmem.git.command import GitCommand, Glimpse, peek

NAMES = 1_500
"""Names in one question: git takes them as arguments."""

LISTING = 16 << 20
"""Bytes of a listing of all files, at most: some 200,000 of them."""

HITS = 1 << 18
"""Bytes of hits after which those words are struck out that were found, and the rest is sought again."""

ANSWER = 1 << 20
"""Bytes of any other answer."""

PROSE = ("md", "markdown", "rst", "txt", "adoc")
"""Suffixes of files that tell of code and are none, memories among them."""

NO_PROSE = tuple(f":(top,exclude,icase,glob)**/*.{suffix}" for suffix in PROSE)

_FLAG = re.compile(r"--[a-z][a-z0-9-]*")


@dataclass(frozen=True)
class CodeEntry:
    """What stands at a path: `kind` is `blob`, `tree`, `commit` (a submodule) or `link`."""

    kind: str
    oid: str


class CodeReader:
    """Asks git about one work tree until its time is up.

    Args:
        top: folder in which git is run: the top of the work tree, or a bare repository.
        seconds: for all questions together.
    """

    def __init__(self, git: GitCommand, top: Path, seconds: float) -> None:
        self._git = git
        self._top = top
        self._until = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds that are left; zero or less where none are."""
        return self._until - time.monotonic()

    def ask(
        self,
        words: Sequence[str],
        size: int = ANSWER,
        input: bytes = b"",
        enough: Callable[[bytes], bool] | None = None,
    ) -> Glimpse:
        """Runs one git command within what is left of the time; see `command.peek`."""
        return peek(
            self._git,
            words,
            cwd=self._top,
            seconds=self.left,
            size=size,
            input=input,
            enough=enough,
        )

    def head(self) -> str:
        """The commit that HEAD stands on; empty where there is none."""
        seen = self.ask(["rev-parse", "--verify", "--quiet", "--end-of-options", "HEAD^{commit}"])
        return "" if seen.returncode else seen.text.strip()

    def entries(self, commit: str, paths: Iterable[str]) -> dict[str, CodeEntry] | None:
        """What stands at some paths and in the folders above them; None where that cannot be said."""
        asked = {above for path in paths for above in upwards(path)}
        if not asked:
            return {}
        words = ["--literal-pathspecs", "ls-tree", "-z", "-t", "--full-tree", commit, "--", *sorted(asked)]
        seen = self.ask(words, LISTING)
        if seen.returncode != 0:
            return None
        found = {}
        for line in seen.text.split("\0"):
            about, _, path = line.partition("\t")
            if path in asked:
                mode, kind, oid = about.split(" ")
                found[path] = CodeEntry("link" if mode == "120000" else kind, oid)
        return found

    def ends(self, commit: str, paths: Iterable[str]) -> frozenset[str] | None:
        """Which of some paths a file or folder of a commit ends with; None where that cannot be said."""
        seen = self.ask(["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit], LISTING)
        if seen.returncode != 0:
            return None
        listed = f"\0{seen.text}"
        return frozenset(
            path for path in paths if any(f"{a}{path}{z}" in listed for a in "/\0" for z in "\0/")
        )

    def words(self, commit: str, words: Collection[str]) -> tuple[dict[str, str], bool]:
        """Seeks whole identifiers and flags in the code of a commit.

        Returns:
            Each word that was found, to a file that has it; and whether the others surely are nowhere.
        """
        flags = {word for word in words if word.startswith("--")}
        found: dict[str, str] = {}
        complete = True
        for some, plain in ((set(words) - flags, True), (set(filter(_FLAG.fullmatch, flags)), False)):
            order = sorted(some)
            for at in range(0, len(order), NAMES):
                new, whole = self._words(commit, order[at : at + NAMES], plain)
                found |= new
                complete &= whole
        return found, complete

    def _words(self, commit: str, words: Collection[str], plain: bool) -> tuple[dict[str, str], bool]:
        # Of a flag all that could belong to it is taken with it: `--force` is not in `--force-push`.
        kind, more = ("-F", "") if plain else ("-E", "[[:alnum:]_-]*")
        options = [kind, "-I", "-w", "-o", "-z", "--full-name", *NO_NUMBERS]
        found: dict[str, str] = {}
        while remaining := sorted(set(words) - found.keys()):
            sought = [word for each in remaining for word in ("-e", each + more)]
            seen = self.ask(["grep", *options, *sought, commit, "--", *NO_PROSE], HITS)
            # The last line may be cut off, and a file's name may hold a line break: no word does.
            new: dict[str, str] = {}
            for line in seen.text.split("\n")[:-1]:
                place, _, hit = line.rpartition("\0")
                if hit in remaining:
                    new.setdefault(hit, place.partition(":")[2])
            found |= new
            ended = seen.returncode is None or seen.returncode > 1
            if not new or (ended and seen.returncode is not None):
                return found, not ended
        return found, True

    def commits_at(self, head: str, moments: Collection[int]) -> dict[int, str]:
        """The newest commits up to HEAD that were made no later than some moments.

        Returns:
            Moment to commit; without those that history does not reach back to.
        """
        pending = sorted(moments)

        def enough(said: bytes) -> bool:
            made = re.match(rb"\d+", said.rpartition(b"\n")[0].rpartition(b"\n")[2])
            return made is not None and int(made[0]) <= min(moments)

        # Not by `--min-age` for each: one walk tells of all, and ends at the oldest.
        seen = self.ask(["rev-list", "--timestamp", head, "--"], LISTING, enough=enough)
        found: dict[int, str] = {}
        for line in seen.text.split("\n")[:-1]:
            made, _, commit = line.partition(" ")
            while pending and int(made) <= pending[-1]:
                found[pending.pop()] = commit
        return found


NO_NUMBERS = ("--no-color", "--no-line-number", "--no-column", "--no-recurse-submodules")


def upwards(path: str) -> Iterator[str]:
    """A path and the folders above it."""
    while path:
        yield path
        path = path.rpartition("/")[0]
