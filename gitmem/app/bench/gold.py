"""Sessions that a person labelled.

A gold file has one JSON object a line, for one session:

    {"session": "one.jsonl",
     "labels": [{"message": "<uuid>", "type": "feedback", "asked": false, "key": ["mocks"]}],
     "excluded": [{"message": "<uuid>", "key": ["token"]}]}

`session` is a recording, its path relative to the gold file, or the messages themselves: a list of
`{"uuid", "role", "text", "time", "source", "context"}`, of which only `text` has no default. A label with
`"plain": false` could only be read between the lines. A `message` may be cut to the first six characters of
its uuid or more. Other keys are ignored.

A find is right where a label of its message has all key words in the find's name, description or body.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, get_args

from gitmem.app.bench.lines import bad_line, objects
from gitmem.core.change import TYPES
from gitmem.core.errors import UsageError
from gitmem.transcripts import discover
from gitmem.transcripts.model import Message, Session, Source

PREFIX = 6
"""Characters of a uuid by which a label names its message, at least."""


@dataclass(frozen=True)
class Label:
    """A statement that a careful reader would keep, or (without a type) one that must not be kept.

    Attributes:
        message: uuid of the message that says it.
        keys: words that a find of it holds, in lower case.
        type: of the memory; empty for what is excluded.
        asked: the person plainly asked to remember it.
        plain: it was said in so many words.
    """

    message: str
    keys: tuple[str, ...]
    type: str = ""
    asked: bool = False
    plain: bool = True

    def holds(self, messages: Sequence[str], text: str) -> bool:
        """Whether what stems from these messages and reads so is this statement.

        Args:
            text: in lower case.
        """
        return self.message in messages and all(key in text for key in self.keys)


@dataclass(frozen=True)
class Gold:
    """A session with its labels."""

    name: str
    session: Session
    labels: tuple[Label, ...]
    excluded: tuple[Label, ...]


def read_gold(path: Path) -> tuple[Gold, ...]:
    """Reads a gold file and the sessions it names.

    Raises:
        UsageError: the file cannot be read, or a line is of another form.
    """
    return tuple(_gold(value, number, path) for number, value in objects(path, "labelled sessions"))


def _gold(value: Mapping[str, Any], number: int, path: Path) -> Gold:
    def wrong(what: str) -> UsageError:
        return bad_line(path, number, what)

    given = value.get("session")
    if isinstance(given, str):
        file = path.parent / given
        if not file.is_file():
            raise wrong(f"there is no session {file}")
        session = discover.read(file)
    elif isinstance(given, list):
        session = Session(f"line-{number}", "", path, "", tuple(_messages(given)), 0)
    else:
        raise wrong("`session` is no path and no list of messages")
    uuids = [message.uuid for message in session.messages]
    try:
        labels = tuple(_labels(value.get("labels"), uuids, TYPES))
        excluded = tuple(_labels(value.get("excluded"), uuids))
    except ValueError as error:
        raise wrong(str(error)) from error
    return Gold(given if isinstance(given, str) else session.id, session, labels, excluded)


def _labels(given: object, uuids: Sequence[str], types: Sequence[str] = ()) -> Iterator[Label]:
    for value in given if isinstance(given, list) else ():
        fields: Mapping[str, Any] = value if isinstance(value, dict) else {}
        keys, kind = fields.get("key", []), fields.get("type", "")
        if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
            raise ValueError("a label's key is no list of words")
        if types and (kind not in types or not keys):
            raise ValueError(f"a label has no key words, or no type of {', '.join(types)}")
        yield Label(
            _uuid(str(fields.get("message", "")), uuids),
            tuple(key.casefold() for key in keys),
            kind if types else "",
            asked=fields.get("asked") is True,
            plain=fields.get("plain") is not False,
        )


def _uuid(given: str, uuids: Sequence[str]) -> str:
    if given in uuids:
        return given
    fitting = {uuid for uuid in uuids if uuid.startswith(given)} if len(given) >= PREFIX else set()
    if len(fitting) != 1:
        raise ValueError(f"{given or 'a label'} names no one message of the session")
    return fitting.pop()


def _messages(given: Sequence[object]) -> Iterator[Message]:
    for number, value in enumerate(given, 1):
        fields: Mapping[str, Any] = value if isinstance(value, dict) else {"text": value}
        role = "agent" if fields.get("role") == "agent" else "person"
        source = fields.get("source")
        if source not in get_args(Source):
            source = "reply" if role == "agent" else "prompt"
        yield Message(
            str(fields.get("uuid", f"m{number}")),
            role,  # type: ignore[arg-type]
            str(fields.get("text", "")),
            _time(fields.get("time")),
            source,  # type: ignore[arg-type]
            context=str(fields.get("context", "")),
        )


def _time(stamp: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(stamp) if isinstance(stamp, str) else None
    except ValueError:
        return None
    return moment if moment is None or moment.tzinfo else moment.astimezone()
