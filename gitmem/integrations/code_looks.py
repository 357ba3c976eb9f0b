"""Questions to git about the code at a commit: short, bounded in time and size, and never fetching.

Names come from memories and are hostile: each is an argument of its own behind `--` or `-e`, and none is a
pattern. What cannot be answered within the limits is told apart from a no.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gitmem.store.git import GitCommand
from gitmem.store.glimpse import Glimpse, peek

LISTING = 16 << 20
"""Bytes of a listing of all files, at most: some 200,000 of them."""

HITS = 1 << 18
"""Bytes of hits after which those words are struck out that were found, and the rest is sought again."""

ANSWER = 1 << 20
"""Bytes of any other answer."""

PROSE = ("md", "markdown", "rst", "txt", "adoc")
"""Suffixes of files that tell of code and are none, memories among them."""

_NO_PROSE = tuple(f":(exclude,icase,glob)**/*.{suffix}" for suffix in PROSE)


@dataclass(frozen=True)
class Entry:
    """What stands at a path: `kind` is `blob`, `tree`, `commit` (a submodule) or `link`."""

    kind: str
    oid: str


class Looker:
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
        """Runs one git command within what is left of the time; see `glimpse.peek`."""
        return peek(
            self._git, words, cwd=self._top, seconds=self.left, size=size, input=input, enough=enough
        )

    def head(self) -> str:
        """The commit that HEAD stands on; empty where there is none."""
        seen = self.ask(["rev-parse", "--verify", "--quiet", "--end-of-options", "HEAD^{commit}"])
        return "" if seen.returncode else seen.text.strip()

    def entries(self, commit: str, paths: Iterable[str]) -> dict[str, Entry] | None:
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
                found[path] = Entry("link" if mode == "120000" else kind, oid)
        return found

    def base_names(self, commit: str, names: Collection[str]) -> frozenset[str] | None:
        """Which of some file names any folder has; None where that cannot be said."""
        seen = self.ask(["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit], LISTING)
        if seen.returncode != 0:
            return None
        return frozenset(path.rpartition("/")[2] for path in seen.text.split("\0")) & frozenset(names)

    def words(self, commit: str, words: Collection[str]) -> tuple[dict[str, str], bool]:
        """Seeks whole words in a commit's code.

        Returns:
            Each word that was found, to a file that has it; and whether the others surely are nowhere.
        """
        found: dict[str, str] = {}
        while remaining := sorted(set(words) - found.keys()):
            options = ["-I", "-F", "-w", "-o", "-z", "--no-color", "--no-line-number", "--no-column"]
            sought = [word for each in remaining for word in ("-e", each)]
            files = ["--full-name", "--no-recurse-submodules", commit, "--", *_NO_PROSE]
            seen = self.ask(["grep", *options, *sought, *files], HITS)
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

    def commit_at(self, head: str, moment: int) -> str:
        """The newest commit up to HEAD that was made no later than a moment; empty where none is known."""
        seen = self.ask(["rev-list", "-1", f"--min-age={moment}", head, "--"])
        return "" if seen.returncode else seen.text.strip()


def upwards(path: str) -> Iterator[str]:
    """A path and the folders above it."""
    while path:
        yield path
        path = path.rpartition("/")[0]
