"""Requests as git stores them: the commits of one, or of a whole table, by one `git fast-import`."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gitmem.cli.check import prove_dream
from gitmem.flows.check import CheckReport, CheckRequest, check
from gitmem.rules.rule import Finding

NOW = 1_795_000_000

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
        others: branches that it merges besides.
    """

    files: Mapping[str, Content]
    message: str | bytes = "Learn"
    who: str | tuple[str, str] = "Ann <ann@example.com>"
    parents: tuple[int, ...] = ()
    others: tuple[str, ...] = ()


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


class Requests:
    """A repository whose branch `base` holds some files, and requests that leave it.

    Attributes:
        path: of the repository, which has no work tree to speak of.
    """

    def __init__(self, path: Path, base: Mapping[str, str | bytes]) -> None:
        self.path, self._count = path, 0
        write(path, base, ())

    def put(self, *commits: Made, onto: str = "base") -> str:
        """Writes a request that leaves a branch; returns its own."""
        self._count += 1
        branch = f"request-{self._count}"
        stream: list[bytes] = []
        for place, made in enumerate(commits):
            parents = [f":{one + 1}" if one != BASE else onto for one in made.parents or (place - 1,)]
            _commit(stream, f"refs/heads/{branch}", place + 1, made, [*parents, *made.others])
        _import(self.path, stream)
        return branch

    def judged(self, *commits: Made, onto: str = "base", allow: Sequence[str] = ()) -> tuple[Finding, ...]:
        """What a check finds in a request that is made so."""
        return self.report(
            CheckRequest(self.put(*commits, onto=onto), onto, allow=frozenset(allow))
        ).findings

    def report(self, asked: CheckRequest, **environ: str) -> CheckReport:
        """A check of what is there, as the command makes it."""
        return check({**os.environ, **environ}, self.path, replace(asked, now=NOW), prove_dream)


def write(path: Path, base: Mapping[str, str | bytes], rows: Sequence[Row]) -> list[str]:
    """Makes a repository whose branch `base` holds these files; returns the branch of each row."""
    subprocess.run(["git", "init", "-q", "-b", "start", path], check=True)
    stream: list[bytes] = []
    _commit(stream, "refs/heads/base", 1, Made(base, "Base"), ())
    mark, branches = 1, []
    for number, row in enumerate(rows):
        branch = row.branch or f"request-{number}"
        branches.append(branch)
        marks = {BASE: 1}
        for place, made in enumerate(row.commits):
            mark += 1
            marks[place] = mark
            parents = [f":{marks[one]}" for one in made.parents or (place - 1,)]
            _commit(stream, f"refs/heads/{branch}", mark, made, parents)
    _import(path, stream)
    return branches


def _import(path: Path, stream: Sequence[bytes]) -> None:
    words = ["git", "-C", str(path), "fast-import", "--quiet", "--force"]
    subprocess.run(words, input=b"".join(stream), check=True)


def _commit(stream: list[bytes], ref: str, mark: int, made: Made, parents: Sequence[str]) -> None:
    author, committer = (made.who, made.who) if isinstance(made.who, str) else made.who
    when = 1_794_000_000 + mark
    stream.append(f"commit {ref}\nmark :{mark}\nauthor {author} {when} +0000\n".encode())
    stream.append(f"committer {committer} {when} +0000\n".encode())
    stream.append(_data(made.message))
    # A branch that is written again goes on from where it is, unless told.
    stream.append(f"from {parents[0]}\n".encode() if parents else b"")
    stream += [f"merge {parent}\n".encode() for parent in parents[1:]]
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
