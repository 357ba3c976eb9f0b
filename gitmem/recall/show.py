"""A recall in words: for a model's context, and as a value for programs."""

from __future__ import annotations

import re
from dataclasses import asdict

from gitmem.guard.text import fence_for_model, one_line
from gitmem.memory.limits import PROMPT_CONTEXT_CHARS
from gitmem.recall.recall import Recall, RecallItem

PLACE_CHARS = 100
"""Characters of a place that are shown."""

_SHORTEST = 200
"""Characters of a memory below which showing its beginning is of no use."""


def as_context(recall: Recall, limit: int = PROMPT_CONTEXT_CHARS) -> str:
    """States the memories as facts for a model; empty where nothing was recalled.

    Every memory is fenced as data: project memory is anyone's who may push, and even a person's own may
    hold text that was pasted from elsewhere.

    Args:
        limit: the result has fewer characters than this; what finds no room is named.
    """
    if not recall.items:
        return ""
    count = len(recall.items)
    parts = [
        f"gitmem found {count} recorded {'memory' if count == 1 else 'memories'} that may bear on this.\n"
    ]
    left_out: list[str] = []
    closing = 120 * count  # room to name each one that finds none
    for item in recall.items:
        room = limit - closing - sum(map(len, parts)) - len(parts)
        block = _block(item, item.text)
        if len(block) > room:
            shorter = item.text[: max(0, room - len(_block(item, "")) - 100)]
            block = _block(item, f"{shorter.rstrip()}\n[cut here for length; the whole is in {item.file}]")
            if len(shorter) < _SHORTEST or len(block) > room:
                left_out.append(_place(item))
                continue
        parts.append(block)
    if left_out:
        parts.append(f"Not shown for length: {', '.join(left_out)}\n")
    return "\n".join(parts)


def as_json(recall: Recall) -> dict[str, object]:
    """Gives `{"query", "items": [RecallItem…]}`, ready for `json.dumps`."""
    return {"query": _sound(recall.query), "items": [_plain(item) for item in recall.items]}


def _block(item: RecallItem, text: str) -> str:
    place = _place(item)
    facts = [item.type, *([item.note] if item.note else [])]
    if item.commit:
        facts.append(f"as of {item.commit[:12]}")
    head = one_line(f"{item.name}: {item.description}" if item.description else item.name, 300)
    return fence_for_model(f"{head}\n\n{text}", source=f"{place} ({one_line('; '.join(facts), 300)})")


def _place(item: RecallItem) -> str:
    """Where a memory stands, as no more than a path: it is shown outside the fence."""
    return re.sub(r"[^A-Za-z0-9._/^-]+", "_", f"{item.scope}/{item.agent}/{item.file}")[:PLACE_CHARS]


def _plain(item: RecallItem) -> dict[str, object]:
    return {key: _sound(value) if isinstance(value, str) else value for key, value in asdict(item).items()}


def _sound(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
