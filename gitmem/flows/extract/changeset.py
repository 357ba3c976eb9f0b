"""What an extraction is about to write, on disk before its first commit, for recovery to replay.

One JSON file a session, `<job id>.json`, in `<common git dir>/gitmem/spool/changesets/`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from gitmem.ledger.apply import Placed
from gitmem.ledger.suggestions import (
    Suggestion,
    change_from_json,
    change_to_json,
    suggestion_from_json,
    to_bytes,
)
from gitmem.ledger.workspace import ScopeName

VERSION = 1
JOB_DIGITS = 12


@dataclass(frozen=True)
class ChangeSet:
    """One session's extraction.

    Attributes:
        job: id; the n-th stored memory is the job `<id>.<n>`, counted from 1.
        session: id of the recorded session.
        engine: value of the `Gitmem-Engine` trailer.
        code_commit: commit of the code at that time; empty on an unborn branch.
        bases: scope to the tip it was planned on; empty for a ref that did not exist.
        handled: uuids of the messages that were looked at.
        cursor: name and byte offset of the cursor to be saved; an empty name saves none.
        usage: what asking a model for it cost, as the `Gitmem-Usage` trailer says it; empty for none.
    """

    job: str
    session: str
    engine: str
    code_commit: str
    bases: Mapping[str, str] = field(default_factory=dict)
    stored: tuple[Placed, ...] = ()
    suggested: tuple[Suggestion, ...] = ()
    handled: tuple[str, ...] = ()
    cursor: tuple[str, int] = ("", 0)
    usage: str = ""


def job_id(session: str, start: int, end: int, now: float) -> str:
    """Names a job, another one for each attempt to plan.

    Args:
        start, end: bytes of the transcript that it covers.
        now: epoch seconds.
    """
    text = f"{session}\0{start}\0{end}\0{now!r}"
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:JOB_DIGITS]


def to_json(changes: ChangeSet) -> bytes:
    """The file's bytes."""
    data = {
        "version": VERSION,
        "job": changes.job,
        "session": changes.session,
        "engine": changes.engine,
        "code_commit": changes.code_commit,
        "bases": dict(changes.bases),
        "stored": [{"scope": p.scope, "change": change_to_json(p.change)} for p in changes.stored],
        "suggested": [json.loads(to_bytes(one)) for one in changes.suggested],
        "handled": list(changes.handled),
        "cursor": list(changes.cursor),
        "usage": changes.usage,
    }
    return (json.dumps(data, indent=1) + "\n").encode("ascii")


def from_json(data: bytes) -> ChangeSet | None:
    """Reads a file; None where it is damaged: nothing of it is carried out then."""
    try:
        value = json.loads(data)
        if value["version"] != VERSION:
            return None
        name, offset = value["cursor"]
        return ChangeSet(
            job=_text(value["job"]),
            session=_text(value["session"]),
            engine=_text(value["engine"]),
            code_commit=_text(value["code_commit"]),
            bases={_text(scope): _text(tip) for scope, tip in value["bases"].items()},
            stored=tuple(_placed(entry) for entry in value["stored"]),
            suggested=tuple(_suggestion(entry) for entry in value["suggested"]),
            handled=tuple(map(_text, value["handled"])),
            cursor=(_text(name), int(offset)),
            usage=_text(value.get("usage", "")),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a string")
    return value


def _placed(entry: Any) -> Placed:
    change = change_from_json(entry["change"])
    if change is None or entry["scope"] not in get_args(ScopeName):
        raise ValueError("not a placed change")
    return Placed(entry["scope"], change)


def _suggestion(entry: Any) -> Suggestion:
    one = suggestion_from_json(entry)
    if one is None:
        raise ValueError("not a suggestion")
    return one
