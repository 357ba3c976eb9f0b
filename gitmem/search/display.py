"""A recall in words: for a model's context, and as a value for programs."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict

from gitmem.core.limits import (
    PROMPT_BODY_CHARS,
    PROMPT_CONTEXT_CHARS,
    PROMPT_RECALL_CHARS,
    PROMPT_WHOLE,
)
from gitmem.core.text import fence_for_model, one_line
from gitmem.search.recall import Recall, RecallItem, plain_place
from gitmem.search.words import words

PLACE_CHARS = 100
"""Characters of a place that are shown."""

LINE_CHARS = 160
"""Characters of a memory that is told in one line."""

KNOWN_CHARS = 500
"""Characters of the facts that are shown of one memory."""

OPENS = "`git mem show NAME` prints all of one"

_STEM = 5
"""Letters by which words are compared where a paragraph is chosen."""

_SHORTEST = 200
"""Characters of a memory below which showing its beginning is of no use."""


def as_context(recall: Recall, limit: int = PROMPT_CONTEXT_CHARS) -> str:
    """States the memories as facts for a model that asked; empty where nothing was recalled.

    Every memory is fenced as data: project memory is anyone's who may push, and even a person's own may
    hold text that was pasted from elsewhere.

    Args:
        limit: the result has fewer characters than this; what finds no room is named.
    """
    if not recall.items:
        return ""
    parts = [_opening(len(recall.items))]
    left_out: list[str] = []
    closing = 120 * len(recall.items)  # room to name each one that finds none
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


def for_prompt(recall: Recall, limit: int = PROMPT_RECALL_CHARS) -> tuple[str, tuple[RecallItem, ...]]:
    """States what bears on a prompt for a model that did not ask: few texts, and of the rest a line each.

    Args:
        limit: characters of the result at most; what finds no room is left out.

    Returns:
        The text, empty where nothing was recalled; and the memories whose text is in it.
    """
    whole = [item for item in recall.items if not item.amended][:PROMPT_WHOLE]
    parts = [_opening(len(recall.items))]
    told: list[RecallItem] = []
    for item in whole:
        block = _block(item, excerpt(item.text, recall.query, PROMPT_BODY_CHARS))
        if sum(map(len, parts)) + len(block) + len(parts) <= limit:
            parts.append(block)
            told.append(item)
    lines = [_line(item) for item in recall.items if item not in told]
    while lines:
        block = fence_for_model("\n".join(lines), source=f"more that may bear on it ({OPENS})")
        if sum(map(len, parts)) + len(block) + len(parts) <= limit:
            parts.append(block)
            break
        lines.pop()
    return ("\n".join(parts), tuple(told)) if len(parts) > 1 else ("", ())


def excerpt(text: str, query: str, chars: int) -> str:
    """Cuts a text to the paragraphs that share most words with a question, in their order.

    Args:
        chars: of the result, at most; but for a line that says what was left out.
    """
    if len(text) <= chars:
        return text
    asked = {word[:_STEM] for word in words(query)}
    blocks = [block.strip() for block in re.split(r"\n\s*\n", text) if block.strip()]
    having = [asked & {word[:_STEM] for word in words(block)} for block in blocks]
    common = Counter(word for some in having for word in some)
    worth = [sum([1 / common[word] for word in sorted(some)]) for some in having]
    chosen: set[int] = set()
    room = chars
    for at in sorted(range(len(blocks)), key=lambda at: (-worth[at], at)):
        if len(blocks[at]) + 6 <= room:
            chosen.add(at)
            room -= len(blocks[at]) + 6
    if not chosen:  # one long paragraph: its beginning
        kept = blocks[0][:chars]
        return f"{kept[: kept.rfind(' ') if kept.rfind(' ') > chars // 2 else chars]} […]\n[{OPENS}]"
    parts = []
    for at in sorted(chosen):
        parts += ["[…]"] if at and at - 1 not in chosen else []
        parts.append(blocks[at])
    return "\n\n".join(parts) + f"\n\n[of {len(blocks)} paragraphs {len(chosen)}; {OPENS}]"


def as_json(recall: Recall) -> dict[str, object]:
    """Gives `{"query", "items": [RecallItem…]}`, ready for `json.dumps`."""
    return {"query": _sound(recall.query), "items": [_plain(item) for item in recall.items]}


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


def _opening(count: int) -> str:
    return (
        f"gitmem found {count} recorded {'memory' if count == 1 else 'memories'} that may bear on this.\n"
    )


def _line(item: RecallItem) -> str:
    about = item.description or item.text
    since = f" (amended since by {plain_place(item.amended)})" if item.amended else ""
    return f"- {_place(item)}: {one_line(about, LINE_CHARS)}{since}"


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
