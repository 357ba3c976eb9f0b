"""A throw-away repository with the spaces of a corpus, each line a blob, each time a commit."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from gitmem.app.bench.corpus import Line, Space
from gitmem.git.by_command import GitRepository
from gitmem.git.command import GitCommand, layout
from gitmem.search.text import Fields, read_memory

REF = "refs/heads/space"
"""The ref under which a catalog knows a space: each has a catalog of its own."""

FOLDER = 256
"""Lines in one folder of a tree: a new time rewrites one folder, not the list of all lines."""


@dataclass(frozen=True)
class Grown:
    """A space's history.

    Attributes:
        commits: oldest first; each holds what existed by its time.
        times: of the commits, epoch seconds, ascending.
    """

    commits: tuple[str, ...]
    times: tuple[int, ...]

    @property
    def tip(self) -> str | None:
        """The last commit; None for a space without lines."""
        return self.commits[-1] if self.commits else None

    def by(self, time: int) -> str | None:
        """The commit that holds what existed by a time; None where nothing did."""
        place = bisect_right(self.times, time)
        return self.commits[place - 1] if place else None


def path_of(number: int) -> str:
    """Where the line of that number stands in its space's tree."""
    # Lines of one thread have one time: their paths tell which comes first.
    return f"main/{number // FOLDER:06}/{number % FOLDER:03}.md"


def number_of(path: str) -> int:
    """The line that stands at a path."""
    _, folder, file = path.split("/")
    return int(folder) * FOLDER + int(file.removesuffix(".md"))


def read_line(path: str, data: bytes) -> Fields:
    """Reads the fields of a line's blob; see `catalog.Read`."""
    head, _, text = data.decode("utf-8", "replace").partition("\n")
    given = json.loads(head)
    fields = read_memory(path, text.encode("utf-8"))
    named = text.startswith("---\n")
    name = given["name"] or (fields.name if named else "")
    return replace(fields, name=name, session=given.get("session") or fields.session)


def build(
    git: GitCommand, folder: Path, spaces: Sequence[Space]
) -> tuple[GitRepository, tuple[Grown, ...]]:
    """Makes the repository, with one process for all objects.

    Args:
        folder: empty, or not there yet.

    Raises:
        RepositoryError: git failed.
    """
    git.run(["init", "--bare", "--quiet", "--template=", str(folder)])
    marks = folder / "marks"
    words = ["fast-import", "--quiet", "--force", "--date-format=raw", f"--export-marks={marks}"]
    # Deltas are not worth their time in what is read once.
    git.run([*words, "--depth=0"], git_dir=folder, input=b"".join(_stream(spaces)))
    rows = (row.split() for row in marks.read_text("ascii").splitlines())
    names = {int(mark[1:]): oid for mark, oid in rows}
    grown, last = [], 0
    for space in spaces:
        times = tuple(time for time, _ in _by_time(space.lines))
        grown.append(Grown(tuple(names[last + place] for place in range(1, len(times) + 1)), times))
        last += len(times)
    return GitRepository(git, layout(git, folder, git_dir=folder)), tuple(grown)


def _by_time(lines: Sequence[Line]) -> Iterator[tuple[int, list[int]]]:
    """Numbers of the lines by time, oldest first; one without a time has always been there."""
    order = sorted(range(len(lines)), key=lambda number: lines[number].time or 0)
    for time, numbers in groupby(order, key=lambda number: lines[number].time or 0):
        yield time, list(numbers)


def _stream(spaces: Sequence[Space]) -> Iterator[bytes]:
    """What `git fast-import` reads: the commits of all spaces, marked from 1 on."""
    mark = 0
    for space in spaces:
        yield b"reset %s\n" % REF.encode()
        sessions = _sessions(space.lines)
        for time, numbers in _by_time(space.lines):
            mark += 1
            yield f"commit {REF}\nmark :{mark}\ncommitter bench <bench@localhost> {time} +0000\n".encode()
            yield b"data 0\n"
            for number in numbers:
                data = _blob(space.lines[number], sessions[number])
                yield f"M 100644 inline {path_of(number)}\ndata {len(data)}\n".encode() + data + b"\n"
            yield b"\n"


def follows(lines: Sequence[Line]) -> list[bool]:
    """Says of each line whether it follows the one before: its context holds what that says."""
    before = ["", *(line.text for line in lines)]
    return [bool(text) and text in line.near for text, line in zip(before, lines, strict=False)]


def _sessions(lines: Sequence[Line]) -> list[str]:
    """The session of each line, for a catalog: the id of the first in its run; alone it has none."""
    following = follows(lines)
    found: list[str] = []
    for place, line in enumerate(lines):
        followed = place + 1 < len(lines) and following[place + 1]
        found.append(found[-1] if following[place] else line.id if followed else "")
    return found


def _blob(line: Line, session: str) -> bytes:
    # With its id, a line is a content of its own, whatever others say.
    head = json.dumps({"id": line.id, "name": line.name, "session": session})
    return f"{head}\n{line.text}".encode("utf-8", "replace")
