"""A recall in words: for a model's context, and as a value for programs."""

from __future__ import annotations

import re
from dataclasses import asdict

from gitmem.core.limits import PROMPT_CONTEXT_CHARS
from gitmem.core.text import fence_for_model, one_line
from gitmem.search.recall import Recall, RecallItem

PLACE_CHARS = 100
"""Characters of a place that are shown."""

KNOWN_CHARS = 500
"""Characters of the facts that are shown of one memory."""

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


def plain_place(place: str, chars: int = 200) -> str:
    """Where a memory stands, as no more than a path: it is shown outside any fence.

    Args:
        chars: characters at most.
    """
    return re.sub(r"[^A-Za-z0-9._/^-]+", "_", place)[:chars]


def told_by(description: str, text: str) -> bool:
    """Whether a text begins with its description, which is then not worth saying twice."""
    said = " ".join(description.split()).rstrip(" .!…")
    begun = " ".join(text[: 4 * len(description) + 100].split())
    return bool(said) and begun.startswith(said) and not begun[len(said) : len(said) + 1].isalnum()


def _block(item: RecallItem, text: str) -> str:
    place = _place(item)
    facts = [item.type, *item.facts[: item.stale]]
    if item.commit:
        facts.append(f"as of {item.commit[:12]}")
    about = "" if told_by(item.description, item.text) else item.description
    name = "" if item.file == f"{item.name}.md" and not about else item.name  # its place says it
    head = one_line(": ".join(filter(None, (name, about))), 300)
    whole = f"{head}\n\n{text}" if head else text
    block = fence_for_model(whole, source=f"{place} ({one_line('; '.join(facts), 300)})")
    # What is said beside the fence is gitmem's own: names in it are cut down to what a name can be.
    known = one_line("; ".join(item.facts[item.stale :]).replace("`", "'"), KNOWN_CHARS)
    return f"{block}Known of it: {known}\n" if known else block


def _place(item: RecallItem) -> str:
    return plain_place(f"{item.scope}/{item.agent}/{item.file}", PLACE_CHARS)


def _plain(item: RecallItem) -> dict[str, object]:
    value: dict[str, object] = {}
    for key, one in asdict(item).items():
        texts = isinstance(one, tuple)
        value[key] = (
            [_sound(each) for each in one] if texts else _sound(one) if isinstance(one, str) else one
        )
    return value


def _sound(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
