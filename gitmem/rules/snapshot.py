"""What a snapshot as a whole must be: what its `snapshot.json` says, and whether its files are those."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from gitmem.core.errors import UsageError
from gitmem.core.names import INDEX, agent_name, is_memory_file
from gitmem.rules.rule import EMPTY, Finding, RuleContext, Side, new_ones, quote

ROOT_FOLDER = "snapshots"
"""Also searched, so that a repository can show its snapshots at its top."""

STATE_FILE = "snapshot.json"
FORMAT = 1
STATE_BYTES = 65_536
"""Largest `snapshot.json` that is read."""

MOST_FILES = 2_000
"""Files of one snapshot that are read: ten times the hot set."""

FUTURE_SECONDS = 86_400
"""How far a snapshot may be ahead of what holds it: one from a far future would outrank all later ones."""


def digest(files: Mapping[str, bytes]) -> str:
    """SHA-256 over the sorted (path, SHA-256 of content), hexadecimal (docs/formats.md, Snapshots)."""
    whole = hashlib.sha256()
    for name, data in sorted(files.items()):
        whole.update(name.encode() + b"\0" + hashlib.sha256(data).hexdigest().encode() + b"\n")
    return whole.hexdigest()


def judge_snapshots(before: Side | None, after: Side, _context: RuleContext) -> Iterator[Finding]:
    """Judges the snapshots that changed."""
    past = before or EMPTY
    for folder in after.folders if after.snapshots else ():
        if past.folders.get(folder) != after.folders[folder]:
            former = _judge_state(past, folder) if folder in past.folders else ()
            yield from new_ones(_judge_state(after, folder), former)


def _judge_state(side: Side, folder: str) -> Iterator[Finding]:
    """Judges one snapshot."""
    files = side.folders[folder]
    path, state = f"{folder}/{STATE_FILE}", files.get(STATE_FILE)
    try:
        agent_name(folder.rpartition("/")[2])
    except UsageError as error:
        yield Finding(path, 1, "path", error.message)
    if len(files) > MOST_FILES:
        yield Finding(path, 1, "limit", f"has more than {MOST_FILES:,} files, so it is not taken in")
    value = (
        parse_state(state.data) if state is not None and state.data and state.size <= STATE_BYTES else None
    )
    if value is None:
        yield Finding(path, 1, "snapshot", "is missing or cannot be read, so this snapshot is not taken in")
        return
    number, moment = value.get("format", FORMAT), updated_at(value)
    if not isinstance(number, int) or isinstance(number, bool) or number > FORMAT:
        yield Finding(
            path, 1, "snapshot", f"is in format {quote(str(number))}, which this gitmem does not know"
        )
    if moment is None:
        yield Finding(path, 1, "snapshot", "has no updatedAt that is a time")
    elif moment > side.time + FUTURE_SECONDS:
        yield Finding(
            path, 1, "snapshot", "has an updatedAt in the future, which would outrank all later ones"
        )
    said = value.get("digest")
    read = {n: f.data for n, f in files.items() if (n == INDEX or is_memory_file(n)) and f.data is not None}
    if isinstance(said, str) and said and said != digest(read):
        what = "digest is not that of the files: they were edited by hand or merged"
        yield Finding(path, 1, "snapshot", what, "notice")


def parse_state(data: bytes) -> dict[str, object] | None:
    """What a `snapshot.json` holds; None where it is no object of JSON."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def updated_at(value: Mapping[str, object]) -> float | None:
    """When a snapshot says that it was made, epoch seconds; None where it says no time."""
    text = value.get("updatedAt")
    try:
        moment = datetime.fromisoformat(text.strip()) if isinstance(text, str) and len(text) <= 64 else None
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() if moment else None
    except (ValueError, OverflowError):
        return None
