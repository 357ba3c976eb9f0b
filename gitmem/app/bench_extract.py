"""`gitmem bench extract`: what an engine finds in sessions that a person labelled.

A gold file has one JSON object a line, for one session:

    {"session": "one.jsonl",
     "labels": [{"message": "<uuid>", "type": "feedback", "asked": false, "key": ["mocks"]}],
     "excluded": [{"message": "<uuid>", "key": ["token"]}]}

`session` is a recording, its path relative to the gold file, or the messages themselves: a list of
`{"uuid", "role", "text", "time", "source", "context"}`, of which only `text` has no default. A label with
`"plain": false` could only be read between the lines. A `message` may be cut to the first six characters of
its uuid or more. Other keys are ignored. A find is right where a label of its message has all key words in
the find's name, description or body.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, get_args

from gitmem.core.change import TYPES, Change
from gitmem.core.errors import UsageError
from gitmem.engines.engine import Engine
from gitmem.engines.offline import OfflineEngine
from gitmem.flows.extract.plan import Rules, plan_extraction
from gitmem.ledger.knowledge import KnownMemory
from gitmem.transcripts import discover
from gitmem.transcripts.model import Message, Session, Source


def bad_line(path: Path, number: int, what: str) -> UsageError:
    """The error that names a line which is not as it should be."""
    return UsageError(f"{path}, line {number}: {what}", "See: git mem bench -h")


def objects(path: Path, what: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields line number and value of each line that is not blank.

    Args:
        what: what the file should hold, for the hint.

    Raises:
        UsageError: the file cannot be read, or a line is no JSON object.
    """
    try:
        # Not splitlines: a JSON string may hold other line separators as they are.
        lines = path.read_text("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise UsageError(f"{path} cannot be read: {why}", f"Name a file of {what}.") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError as error:
            raise bad_line(path, number, f"no JSON ({error})") from error
        if not isinstance(value, dict):
            raise bad_line(path, number, "no JSON object")
        yield number, value


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


@dataclass(frozen=True)
class FoundChange:
    """What an engine would make of a session.

    Attributes:
        messages: uuids of the messages that it stems from.
        stored: it goes into memory without review.
    """

    change: Change
    messages: tuple[str, ...]
    stored: bool

    @property
    def text(self) -> str:
        """Where key words are looked for, in lower case."""
        change = self.change
        return f"{change.name}\n{change.description}\n{change.body}".casefold()


@dataclass(frozen=True)
class Scored:
    """One session's score.

    Attributes:
        right: finds with a label each that they match.
        wrong: finds that match none.
        missed: labels that nothing matches.
        violations: finds of what must not be kept.
        wide: candidates, of an engine that gives such; None of another.
        spoken: messages of a person.
    """

    name: str
    right: tuple[tuple[FoundChange, Label], ...]
    wrong: tuple[FoundChange, ...]
    missed: tuple[Label, ...]
    labels: tuple[Label, ...]
    violations: tuple[FoundChange, ...]
    spoken: int
    wide: tuple[FoundChange, ...] | None = None


def score(gold: Gold, engine: Engine) -> Scored:
    """Runs an engine over one session and compares.

    Raises:
        EngineError: the engine failed.
    """
    finds, wide = _finds(gold.session, engine)
    right: list[tuple[FoundChange, Label]] = []
    wrong: list[FoundChange] = []
    for find in finds:
        fitting = [label for label in gold.labels if label.holds(find.messages, find.text)]
        taken = [label for _, label in right]
        label = next((one for one in fitting if one not in taken), fitting[0] if fitting else None)
        if label is None:
            wrong.append(find)
        else:
            right.append((find, label))
    found = {label for _, label in right}
    return Scored(
        gold.name,
        tuple(right),
        tuple(wrong),
        tuple(label for label in gold.labels if label not in found),
        gold.labels,
        tuple(find for find in finds if any(one.holds(find.messages, find.text) for one in gold.excluded)),
        sum(message.role == "person" for message in gold.session.messages),
        wide,
    )


def figures(scored: Sequence[Scored]) -> dict[str, Any]:
    """Adds scores up; rates are None where they would divide by nothing."""
    right = [pair for one in scored for pair in one.right]
    wrong = [find for one in scored for find in one.wrong]
    labels = [label for one in scored for label in one.labels]
    missed = [label for one in scored for label in one.missed]
    stored = sum(find.stored for find, _ in right)
    asked = [label for label in labels if label.asked]
    asked_stored = sum(
        label.asked and any(find.stored and by is label for one in scored for find, by in one.right)
        for label in labels
    )
    plain = [label for label in labels if label.plain]
    suggested = sum(not find.stored for find, _ in right)
    unasked = suggested + sum(not find.stored for find in wrong)
    wide = [one for one in scored if one.wide is not None]
    spread = [label for one in wide for label in one.labels if label.plain]
    reached = sum(
        any(label.holds(find.messages, find.text) for find in one.wide or ())
        for one in wide
        for label in one.labels
        if label.plain
    )
    return {
        "sessions": len(scored),
        "messages": sum(one.spoken for one in scored),
        "labels": len(labels),
        "stored": _rate(stored, stored + sum(find.stored for find in wrong)),
        "suggested": _rate(suggested, unasked),
        "suggested_a_session": round(unasked / max(1, len(scored)), 2),
        "stored_and_suggested": _rate(len(right), len(right) + len(wrong)),
        "recall_asked_stored": _rate(asked_stored, len(asked)),
        "recall_plain": _rate(len(plain) - sum(label.plain for label in missed), len(plain)),
        "recall_plain_wide": _rate(reached, len(spread)),
        "candidates_a_session": round(sum(len(one.wide or ()) for one in wide) / max(1, len(wide)), 2),
        "recall": _rate(len(labels) - len(missed), len(labels)),
        "types": _rate(sum(find.change.type == label.type for find, label in right), len(right)),
        "exclusion_violations": sum(len(one.violations) for one in scored),
        "finds_where_nothing_is_to_keep": sum(len(one.wrong) for one in scored if not one.labels),
    }


Z = 1.959964
"""Standard normal quantile of a two-sided interval of 95 %."""


def wilson(right: int, of: int) -> tuple[float, float]:
    """The interval of 95 % for a share (E. B. Wilson, 1927), from 0 to 1."""
    if not of:
        return 0.0, 1.0
    share = right / of
    middle = (share + Z * Z / (2 * of)) / (1 + Z * Z / of)
    half = Z * (share * (1 - share) / of + Z * Z / (4 * of * of)) ** 0.5 / (1 + Z * Z / of)
    return max(0.0, middle - half), min(1.0, middle + half)


def _rate(right: int, of: int) -> dict[str, Any]:
    low, high = wilson(right, of)
    share = round(right / of, 3) if of else None
    return {"right": right, "of": of, "share": share, "low": round(low, 3), "high": round(high, 3)}


def _finds(
    session: Session, engine: Engine
) -> tuple[tuple[FoundChange, ...], tuple[FoundChange, ...] | None]:
    """What would be stored, then what would wait in review, as the flow decides; and the candidates."""
    plan = plan_extraction(session, (), KnownMemory(), engine, Rules())
    order = {message.uuid: place for place, message in enumerate(session.messages)}
    uuids = [message.uuid for message in session.messages]

    def find(change: Change, stored: bool) -> FoundChange:
        first, last = change.origin.first, change.origin.last
        span = uuids[order.get(first, 0) : order.get(last, -1) + 1]
        return FoundChange(change, tuple(span) or (first, last), stored)

    finds = tuple(find(one.change, one in plan.stored) for one in (*plan.stored, *plan.suggested))
    if not isinstance(engine, OfflineEngine):
        return finds, None
    return finds, tuple(find(one.change, False) for one in engine.candidates(plan.given))
