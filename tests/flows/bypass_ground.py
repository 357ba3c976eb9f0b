"""Requests as git stores them: those of a whole table are written by one `git fast-import`."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

BASE = -1
"""Stands for the commit that all requests leave."""

Content = str | bytes | tuple[str, str | bytes] | None
"""What a file becomes: text, bytes, a mode and one of them; None deletes it."""


@dataclass(frozen=True)
class Made:
    """One commit of a request.

    Attributes:
        files: what it changes, against its first parent.
        who: author and committer, as `Name <address>`.
        parents: places of its parents in the request; the one before where there are none.
    """

    files: Mapping[str, Content]
    message: str | bytes = "Learn"
    who: str | tuple[str, str] = "Ann <ann@example.com>"
    parents: tuple[int, ...] = ()


@dataclass(frozen=True)
class Row:
    """One request, and what must be found in it.

    Attributes:
        group: its class.
        commits: parents first; the last one is its head.
        rules: one of these must be found, as an error or in a listed notice; none: it must pass.
        listed: whether a notice is enough, since a person decides.
        branch: its name; made from its number where it is empty.
    """

    group: str
    name: str
    commits: Sequence[Made]
    rules: frozenset[str] = frozenset()
    listed: bool = False
    branch: str = ""

    @property
    def honest(self) -> bool:
        """Whether it must pass."""
        return not self.rules


def write(path: Path, base: Mapping[str, str | bytes], rows: Sequence[Row]) -> list[str]:
    """Makes a repository whose branch `base` holds these files; returns the branch of each row."""
    subprocess.run(["git", "init", "-q", "-b", "start", path], check=True)
    stream: list[bytes] = []
    _commit(stream, "refs/heads/base", 1, Made(base, "Base"), [])
    mark, branches = 1, []
    for number, row in enumerate(rows):
        branch = row.branch or f"request-{number}"
        branches.append(branch)
        marks = {BASE: 1}
        for place, made in enumerate(row.commits):
            mark += 1
            marks[place] = mark
            parents = [marks[one] for one in made.parents or (place - 1,)]
            _commit(stream, f"refs/heads/{branch}", mark, made, parents)
    words = ["git", "-C", str(path), "fast-import", "--quiet", "--force"]
    subprocess.run(words, input=b"".join(stream), check=True)
    return branches


def _commit(stream: list[bytes], ref: str, mark: int, made: Made, parents: Sequence[int]) -> None:
    author, committer = (made.who, made.who) if isinstance(made.who, str) else made.who
    when = 1_794_000_000 + mark
    stream.append(f"commit {ref}\nmark :{mark}\nauthor {author} {when} +0000\n".encode())
    stream.append(f"committer {committer} {when} +0000\n".encode())
    stream.append(_data(made.message))
    # A branch that is written again goes on from where it is, unless told.
    stream.append(f"from :{parents[0]}\n".encode() if parents else b"")
    stream += [f"merge :{parent}\n".encode() for parent in parents[1:]]
    for path, content in made.files.items():
        name = b'"' + path.encode("utf-8", "surrogateescape").replace(b'"', b'\\"') + b'"'
        if content is None:
            stream.append(b"D " + name + b"\n")
            continue
        mode, data = content if isinstance(content, tuple) else ("100644", content)
        if mode == "160000":
            stream.append(f"M {mode} {data!s} ".encode() + name + b"\n")
            continue
        stream.append(f"M {mode} inline ".encode() + name + b"\n" + _data(data))


def _data(data: str | bytes) -> bytes:
    raw = data if isinstance(data, bytes) else data.encode("utf-8", "surrogateescape")
    return f"data {len(raw)}\n".encode() + raw + b"\n"
