"""Corpus and query files of `bench recall`.

A corpus has one memory a line, a query file one question:

    {"id": "a", "text": "Deploys go through the blue queue.", "name": "deploys", "time": "2026-03-01",
     "context": "what was said around it", "space": "team"}
    {"id": "q1", "query": "how do we deploy?", "relevant": ["a"], "at": "2026-04-01", "space": "team"}

Only `id` and `text`, `id`, `query` and `relevant` are needed; other keys are ignored. A text that begins
with frontmatter is read as a memory file. A query is asked of its own space alone and, with `at`, of the
lines that existed by then; a line without a time always did. Where nothing is relevant, silence is right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gitmem.app.bench.lines import bad_line, objects
from gitmem.app.bench.moments import moment


@dataclass(frozen=True)
class Line:
    """One memory of a corpus.

    Attributes:
        near: what stands around it, and is no part of it.
        time: epoch seconds; None where it has none that can be read.
    """

    id: str
    text: str
    name: str = ""
    near: str = ""
    time: int | None = None


@dataclass(frozen=True)
class Query:
    """One question.

    Attributes:
        relevant: ids of the lines that answer it.
        at: asked as of then, epoch seconds; None for the present.
    """

    id: str
    text: str
    relevant: tuple[str, ...]
    at: int | None = None


@dataclass(frozen=True)
class Space:
    """Lines that are searched together, in the file's order, and what is asked of them."""

    name: str
    lines: tuple[Line, ...]
    queries: tuple[Query, ...]


@dataclass(frozen=True)
class Given:
    """What two files hold.

    Attributes:
        spaces: in the order in which the corpus names them, then those that only queries name.
        unread_times: lines with a `time` that means no one moment.
    """

    spaces: tuple[Space, ...]
    unread_times: int


def read_given(corpus: Path, queries: Path) -> Given:
    """Reads a corpus and its queries.

    Raises:
        UsageError: a file cannot be read, a line is of another form, or an id is there twice.
    """
    lines: dict[str, dict[str, Line]] = {}
    unread = 0
    for number, value in objects(corpus, "memories"):
        line = Line(
            _text(value, "id", corpus, number),
            _text(value, "text", corpus, number),
            _text(value, "name", corpus, number, ""),
            _text(value, "context", corpus, number, ""),
            moment(value.get("time")),
        )
        unread += line.time is None and value.get("time") not in (None, "")
        space = lines.setdefault(_text(value, "space", corpus, number, ""), {})
        if line.id in space:
            raise bad_line(corpus, number, f"the id {line.id!r} is in its space twice")
        space[line.id] = line
    asked: dict[str, dict[str, Query]] = {}
    for number, value in objects(queries, "questions"):
        query = _query(value, queries, number)
        of = asked.setdefault(_text(value, "space", queries, number, ""), {})
        if query.id in of:
            raise bad_line(queries, number, f"the id {query.id!r} is in its space twice")
        of[query.id] = query
    names = dict.fromkeys((*lines, *asked))
    spaces = (
        Space(name, tuple(lines.get(name, {}).values()), tuple(asked.get(name, {}).values()))
        for name in names
    )
    return Given(tuple(spaces), unread)


def _query(value: Mapping[str, Any], path: Path, number: int) -> Query:
    relevant = value.get("relevant")
    if not isinstance(relevant, list) or not all(isinstance(one, str | int) for one in relevant):
        raise bad_line(path, number, "`relevant` is no list of ids")
    at = None
    if value.get("at") not in (None, ""):
        at = moment(value["at"], end=True)
        if at is None:
            raise bad_line(path, number, f"`at` is no clear time: {value['at']!r}")
    return Query(
        _text(value, "id", path, number),
        _text(value, "query", path, number),
        tuple(dict.fromkeys(map(str, relevant))),
        at,
    )


def _text(value: Mapping[str, Any], key: str, path: Path, number: int, default: str | None = None) -> str:
    """A key's text; numbers serve as ids, and null as a key that is not there."""
    found = value.get(key)
    if found is None:
        if default is None:
            raise bad_line(path, number, f"no `{key}`")
        return default
    if key in ("id", "space") and isinstance(found, int):
        found = str(found)
    if not isinstance(found, str):
        raise bad_line(path, number, f"`{key}` is no text")
    if key == "id" and not found:
        raise bad_line(path, number, "`id` is empty")
    return found
