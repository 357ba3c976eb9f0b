"""A model's last words on a dream: one JSON array of changes, read leniently, believed little.

[{"subject": "Keep one memory on mocks", "reason": "both say it", "files": ["main/a.md", "main/b.md"],
  "gone": [{"file": "main/a.md", "claim": "Mocks hid a", "fate": "merged", "into_file": "main/b.md",
            "into_claim": "Never mock", "reason": "says it in other words"}]},
 {"subject": "Learn how releases are tagged", "reason": "said twice", "files": ["main/tags.md"],
  "lines": ["L2", "L5", {"line": "L1", "fate": "superseded", "reason": "L5 corrects it"}]}]
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gitmem.core.text import one_line

ANSWER_CHARS = 400_000
"""Of an answer, at most: several times what the output tokens of one answer can hold."""

ENTRIES = 100
"""Changes of one dream: more than a person looks through one by one."""

GONE = 1_000
"""Claims that one answer accounts for."""

REASON_CHARS = 300
_SUBJECT_CHARS = 120
_PATH_CHARS = 400


class Unreadable(ValueError):
    """An answer is not what was asked for; the text says what is wrong, for the model."""


@dataclass(frozen=True)
class Told:
    """What a model says of one claim that goes.

    Attributes:
        file: path as the model wrote it.
        claim: its first words.
        fate: `merged`, `superseded` or `dropped`; anything else says nothing.
        into_file, into_claim: where it went; empty for none.
    """

    file: str
    claim: str
    fate: str
    into_file: str
    into_claim: str
    reason: str


@dataclass(frozen=True)
class Source:
    """A line of a daily log that a model names as what a memory was made of.

    Attributes:
        line: as the model was told to call it.
        fate: `superseded` where another line overtook it; anything else means that the memory says it.
    """

    line: str
    fate: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Entry:
    """One change as a model tells it.

    Attributes:
        files: paths as the model wrote them; none for a remark to a person.
        lines: lines of daily logs that its claims were made of.
    """

    subject: str
    reason: str
    files: tuple[str, ...]
    gone: tuple[Told, ...]
    lines: tuple[Source, ...] = ()

    @property
    def named(self) -> tuple[str, ...]:
        """All paths that it names, where claims go to apart."""
        return tuple(dict.fromkeys([*self.files, *(told.file for told in self.gone if told.file)]))


def entries(answer: str) -> tuple[Entry, ...]:
    """Reads an answer.

    Args:
        answer: text with one array in a fence; a lone array or object without one is read, too.

    Raises:
        Unreadable: there is no such array, or it holds too much.
    """
    if len(answer) > ANSWER_CHARS:
        raise Unreadable(f"the answer is longer than {ANSWER_CHARS:,} characters")
    found = next(_arrays(answer), None)
    if found is None:
        raise Unreadable("the answer holds no JSON array of changes")
    if len(found) > ENTRIES:
        raise Unreadable(f"the answer holds {len(found):,} changes; {ENTRIES} are the most")
    read = tuple(_entry(one) for one in found if isinstance(one, Mapping))
    told = sum(len(entry.gone) + len(entry.lines) for entry in read)
    if told > GONE:
        raise Unreadable(f"the answer accounts for {told:,} claims; {GONE:,} are the most")
    return read


def _arrays(answer: str) -> Iterator[list[Any]]:
    """What may be the array, likeliest first: the last fence that holds one."""
    bare = answer[answer.find("[") : answer.rfind("]") + 1]
    for text in (*reversed(_fenced(answer)), answer, bare):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, Mapping):
            value = value["changes"] if isinstance(value.get("changes"), list) else [value]
        if isinstance(value, list):
            yield value


def _fenced(answer: str) -> list[str]:
    """What stands in fences; by lines, since a pattern would take for ever on some answers."""
    found: list[str] = []
    block: list[str] | None = None
    for line in answer.split("\n"):
        bare = line.strip()
        if block is None:
            block = [] if bare.startswith("```") else None
        elif bare.startswith("```"):
            found.append("\n".join(block))
            block = None
        else:
            block.append(line)
    return found


def _entry(given: Mapping[str, Any]) -> Entry:
    files = given.get("files")
    named = [files] if isinstance(files, str) else files if isinstance(files, list) else []
    gone = given.get("gone")
    listed = gone[: GONE + 1] if isinstance(gone, list) else []
    return Entry(
        _text(given, "subject", _SUBJECT_CHARS),
        _text(given, "reason", REASON_CHARS),
        tuple(path[:_PATH_CHARS] for path in named[:GONE] if isinstance(path, str) and path.strip()),
        tuple(_told(one) for one in listed if isinstance(one, Mapping)),
        tuple(_sources(given.get("lines"))),
    )


def _sources(given: Any) -> Iterator[Source]:
    named = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    for one in named[:GONE]:
        if isinstance(one, str) and one.strip():
            yield Source(one_line(one, _PATH_CHARS))
        elif isinstance(one, Mapping):
            fate, reason = _text(one, "fate", 20).lower(), _text(one, "reason", REASON_CHARS)
            yield Source(_text(one, "line", _PATH_CHARS), fate, reason)


def _told(given: Mapping[str, Any]) -> Told:
    return Told(
        _text(given, "file", _PATH_CHARS),
        _raw(given, "claim"),
        _text(given, "fate", 20).lower(),
        _text(given, "into_file", _PATH_CHARS),
        _raw(given, "into_claim"),
        _text(given, "reason", REASON_CHARS),
    )


def _text(given: Mapping[str, Any], key: str, width: int) -> str:
    return one_line(_raw(given, key), width)


def _raw(given: Mapping[str, Any], key: str) -> str:
    value = given.get(key)
    return value[:4_000] if isinstance(value, str) else ""
