"""Makes a recording the same on every machine: paths, ids, times, and the client's own texts."""

from __future__ import annotations

import json
import re
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

START = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)
"""Time of a recording's first moment; each later one is a second on."""
_UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_SHORT = re.compile(r"\b((?:msg|toolu|req)_)[0-9a-z]{8,}\b|\b(a)[0-9a-f]{16}\b")
_LENGTH = re.compile(r"\bduration_ms: \d+")
_TIME = re.compile(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z\b")
_COUNTS = {"durationMs", "totalDurationMs", "messageCount"}
_OWN_TEXT = {"skill_listing", "agent_listing_delta", "deferred_tools_delta", "mcp_instructions_delta"}


class Normaliser:
    """Rewrites the records of sessions that belong together, each id the same way throughout.

    Args:
        places: real paths and what they become, e.g. the repository and `/home/dev/app`.
    """

    def __init__(self, places: dict[Path, str]) -> None:
        # The longest first, since one can hold another; slugs of paths are paths too.
        ordered = sorted(places.items(), key=lambda place: -len(str(place[0])))
        self._places = [(str(path), name) for path, name in ordered]
        self._places += [(_slug(path), _slug(name)) for path, name in self._places]
        self._ids: dict[str, str] = {}
        self._times: dict[str, str] = {}
        self._now = ""

    def file(self, source: Path) -> str:
        """Returns a transcript, rewritten; call it in the order of recording."""
        records = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]
        return "".join(json.dumps(self._record(record), ensure_ascii=False) + "\n" for record in records)

    def _record(self, record: dict[str, Any]) -> Any:
        # A record copied by a fork keeps its time. Real times cannot tell: two can share a millisecond.
        key = record.get("uuid") or f"{record.get('timestamp')} {len(self._times)}"
        moment = START + timedelta(seconds=len(self._times))
        self._now = self._times.setdefault(key, moment.strftime("%Y-%m-%dT%H:%M:%S.000Z"))
        return self._value(_without_own_text(record))

    def _text(self, text: str) -> str:
        for path, name in self._places:
            text = text.replace(path, name)
        text = _UUID.sub(lambda found: self._id(found[0]), text)
        text = _SHORT.sub(lambda found: f"{found[1] or found[2]}{self._short(found[0])}", text)
        text = _LENGTH.sub("duration_ms: 0", text)
        return _TIME.sub(self._now, text)

    def _value(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {k: 0 if k in _COUNTS else self._value(v) for k, v in value.items()}
        if isinstance(value, list):
            return [self._value(item) for item in value]
        return self._text(value) if isinstance(value, str) else value

    def _id(self, recorded: str) -> str:
        return self._ids.setdefault(
            recorded, str(uuid.UUID(int=0xD << 124 | 4 << 76 | 8 << 60 | len(self._ids)))
        )

    def _short(self, recorded: str) -> str:
        return self._ids.setdefault(recorded, f"{len(self._ids):08d}")


def _slug(path: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "-", path)


def _without_own_text(record: dict[str, Any]) -> dict[str, Any]:
    attachment = record.get("attachment")
    if isinstance(attachment, dict) and attachment.get("type") in _OWN_TEXT:
        return {**record, "attachment": {"type": attachment["type"]}}
    return record
