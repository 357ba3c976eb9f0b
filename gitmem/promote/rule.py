"""The text of a rule, made of a memory's body: the rule first, why in short, how to apply it."""

from __future__ import annotations

import re

from gitmem.guard.text import printable
from gitmem.memory.claim import parse_body
from gitmem.memory.memory import Memory
from gitmem.memory.pointer import without_pointer
from gitmem.memory.trailers import one_line

WHY_CHARS = 200
HOW_CHARS = 400

_TAGGED = re.compile(r"\s*\*\*(Why|How(?: to apply)?)\b[^*\n]{0,40}\*\*:?\s*", re.IGNORECASE)
_BLOCK = re.compile(r"[-+*#>|`~]|\d+[.)]")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


def rule_text(memory: Memory) -> str:
    """The lines of the rule that a memory becomes, with `\\n` between them.

    Nothing in it can close or open a comment, and control characters are written out.
    """
    said = without_pointer(memory)
    parts: dict[str, list[str]] = {"why": [], "how": []}
    kept = []
    for claim in said.parsed.claims:
        match = _TAGGED.match(claim.text)
        if match:
            parts[match[1][:3].lower()].append(one_line(claim.text[match.end() :]))
        else:
            kept.append(claim)
    body = "".join((claim.lead if kept and at else "") + claim.text for at, claim in enumerate(kept))
    body = body.replace("\r\n", "\n").replace("\r", "\n").strip() or one_line(memory.description)
    lines = [line.rstrip() for line in body.split("\n")]
    why = _cut(_SENTENCE.split(" ".join(parts["why"]))[0], WHY_CHARS)
    how = _cut(" ".join(parts["how"]), HOW_CHARS)
    notes = [f"- {tag}: {text}" for tag, text in (("Why", why), ("How to apply", how)) if text]
    if _BLOCK.match(body):
        lines += ["", *notes] if notes else []
    else:
        lines = [f"- {lines[0]}", *(f"  {line}" if line else "" for line in lines[1:])]
        lines += [f"  {note}" for note in notes]
    return "\n".join(printable(line) for line in lines).replace("<!--", "&lt;!--").replace("-->", "--&gt;")


def says_the_same(memory: Memory, rule: str) -> bool:
    """Whether a rule's text is what this memory becomes, white space aside."""
    return meaning(rule_text(memory)) == meaning(rule)


def meaning(rule: str) -> tuple[str, ...]:
    """The normal forms of what a rule says, equal for rules that differ in white space alone."""
    return tuple(claim.key for claim in parse_body(rule).claims)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"
