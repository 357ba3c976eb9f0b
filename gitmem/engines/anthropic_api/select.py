"""The selection: one short question, an answer in JSON that is never trusted to be what was asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from gitmem.core.change import Header
from gitmem.core.limits import CANDIDATES
from gitmem.core.text import one_line
from gitmem.engines.anthropic_api import errors
from gitmem.engines.anthropic_api.client import Client
from gitmem.engines.anthropic_api.models import brief
from gitmem.engines.anthropic_api.settings import ApiSettings
from gitmem.engines.offline import OfflineEngine
from gitmem.engines.prompts import clean, text

OUTPUT_TOKENS = 256
_QUERY_CHARS = 4_000
_LINE_CHARS = 240
_FENCE = re.compile(r"\A\s*```[A-Za-z]*\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)
_SCHEMA = {
    "type": "object",
    "properties": {"chosen": {"type": "array", "items": {"type": "integer"}}},
    "required": ["chosen"],
    "additionalProperties": False,
}


class _Unusable(Exception):
    """An answer is not what was asked for; the text says what is wrong."""


def select(
    client: Client, settings: ApiSettings, query: str, headers: Sequence[Header], limit: int
) -> tuple[int, ...]:
    """Asks which memories are certainly useful for a request.

    Args:
        query: what the person asked.
        headers: candidates; of more than `CANDIDATES` the best by words are shown, then the newest.
        limit: how many at most, at least 1.

    Returns:
        indices into `headers`, best first.

    Raises:
        EngineError: no answer, or twice one that cannot be used.
    """
    shown = candidates(query, headers)
    request: dict[str, Any] = {"system": text("select.v1"), **brief(settings.model, OUTPUT_TOKENS)}
    wanted = {"format": {"type": "json_schema", "schema": _SCHEMA}}
    request["output_config"] = {**request.get("output_config", {}), **wanted}
    messages: list[dict[str, Any]] = [_user(_question(query, [headers[at] for at in shown], limit))]
    reply = client.ask(whole=False, messages=messages, **request)
    try:
        return tuple(shown[number - 1] for number in chosen(reply.text, len(shown), limit))
    except _Unusable as problem:
        repair = text("select-repair.v1").replace("{problem}", str(problem)).replace("{limit}", str(limit))
    if reply.blocks:
        messages.append({"role": "assistant", "content": list(reply.blocks)})
    reply = client.ask(whole=False, messages=[*messages, _user(repair)], **request)
    try:
        return tuple(shown[number - 1] for number in chosen(reply.text, len(shown), limit))
    except _Unusable as problem:
        raise errors.bad_answer(settings, f"asked for a choice of memories, {problem}") from None


def candidates(query: str, headers: Sequence[Header]) -> tuple[int, ...]:
    """Returns the indices of the headers that a model is shown, in their order in `headers`."""
    if len(headers) <= CANDIDATES:
        return tuple(range(len(headers)))
    best = OfflineEngine().select(query, headers, CANDIDATES)
    newest = sorted(set(range(len(headers))) - set(best), key=lambda at: (-headers[at].time, at))
    return tuple(sorted([*best, *newest[: CANDIDATES - len(best)]]))


def chosen(answer: str, count: int, limit: int) -> tuple[int, ...]:
    """Reads a choice out of an answer.

    Args:
        answer: JSON, perhaps in a code fence.
        count: numbers go from 1 to this.
        limit: how many at most.

    Raises:
        _Unusable: it is something else.
    """
    fenced = _FENCE.match(answer)
    try:
        value = json.loads(fenced[1] if fenced else answer)
    except (ValueError, RecursionError):
        raise _Unusable("it is not JSON") from None
    numbers = value.get("chosen") if isinstance(value, dict) else None
    if not isinstance(numbers, list) or not all(type(number) is int for number in numbers):
        raise _Unusable("it holds no list of numbers called chosen")
    if any(not 1 <= number <= count for number in numbers):
        raise _Unusable(f"it holds a number that is not between 1 and {count}")
    if len(set(numbers)) < len(numbers):
        raise _Unusable("it holds a number twice")
    if len(numbers) > limit:
        raise _Unusable(f"it holds more than {limit} numbers")
    return tuple(numbers)


def _question(query: str, headers: Sequence[Header], limit: int) -> str:
    lines = clean([f"[{header.type}] {header.name}: {header.description}" for header in headers])
    listed = "\n".join(f"{number}. {one_line(line, _LINE_CHARS)}" for number, line in enumerate(lines, 1))
    asked = one_line(clean([query])[0], _QUERY_CHARS)
    return f"The memories:\n{listed}\n\nThe request:\n{asked}\n\nChoose at most {limit}.\n"


def _user(content: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": content}]}
