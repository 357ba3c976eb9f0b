"""The text of a rule, made of a memory's body: the rule first, why in short, how to apply it."""

from __future__ import annotations

import re
from collections.abc import Collection

from gitmem.core.claim import HASH_LENGTH, Claim, parse_body
from gitmem.core.memory import Memory
from gitmem.core.pointer import pointers, without_pointer
from gitmem.core.trailers import one_line
from gitmem.rules.redaction import no_scan, shown

WHY_CHARS = 200
HOW_CHARS = 400

_TAGGED = re.compile(r"\s*\*\*(Why|How(?: to apply)?)\b[^*\n]{0,40}\*\*:?\s*", re.IGNORECASE)
_BLOCK = re.compile(r"[-+*#>|`~]|\d+[.)]")
_MARKER = re.compile(r"\s*[-+*][ \t]+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


def rule_text(memory: Memory) -> str:
    """The lines of the rule that a memory becomes, with `\\n` between them.

    Nothing in it can close or open a comment; control characters and tags that a client takes for its own
    are written out, for models read it in every session.
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
    return _harmless(shown("\n".join(lines), no_scan))


def with_more(rule: str, more: Collection[Claim]) -> str:
    """A rule as a person left it, with claims that its memory was taught since, a line each."""
    lines = []
    for claim in more:
        match = _TAGGED.match(claim.text)
        tag = f"{match[1].capitalize()}: " if match else ""
        said = claim.text[match.end() :] if match else _MARKER.sub("", claim.text, count=1)
        lines.append(_harmless(f"- {tag}{shown(one_line(said), no_scan)}"))
    return "\n".join([rule, *lines])


def claim_ids(memory: Memory) -> tuple[str, ...]:
    """Ids of what a memory says besides its pointer, 12 hexadecimal digits each."""
    return tuple(claim.id[:HASH_LENGTH] for claim in _said(memory))


def taken_over(memory: Memory, rule: str) -> tuple[str, ...]:
    """Ids of the claims that a rule took over, as far as its words tell.

    Where it has none of them to the letter a person worded it anew, and it took over all.
    """
    if not quotes(memory, rule):
        return claim_ids(memory)
    missing = {claim.id for claim in _missing(memory, rule)}
    return tuple(claim.id[:HASH_LENGTH] for claim in _said(memory) if claim.id not in missing)


def quotes(memory: Memory, rule: str) -> bool:
    """Whether a rule has at least one claim of a memory, word by word."""
    told = [claim for claim in _said(memory) if not _TAGGED.match(claim.text)]
    return says_the_same(memory, rule) or len(_missing(memory, rule)) < len(told)


def is_worded_anew(memory: Memory, rule: str, more: Collection[Claim]) -> bool:
    """Whether a person worded in the rule what it took over from a memory.

    Args:
        more: what the memory was taught since.
    """
    since = {claim.id for claim in more}
    return not says_the_same(memory, rule) and any(c.id not in since for c in _missing(memory, rule))


def unsaid(memory: Memory, taken: Collection[str]) -> tuple[Claim, ...]:
    """The claims that a memory was taught after it became a rule; none where nothing is known of that.

    Args:
        taken: ids of those that the rule took over.
    """
    return tuple(claim for claim in _said(memory) if taken and claim.id[:HASH_LENGTH] not in taken)


def says_the_same(memory: Memory, rule: str) -> bool:
    """Whether a rule's text is what this memory becomes, white space aside."""
    return meaning(rule_text(memory)) == meaning(rule)


def meaning(rule: str) -> tuple[str, ...]:
    """The normal forms of what a rule says, equal for rules that differ in white space alone."""
    return tuple(claim.key for claim in parse_body(rule).claims)


def _said(memory: Memory) -> tuple[Claim, ...]:
    pointing = {claim.id for claim in pointers(memory)}
    return tuple(claim for claim in memory.parsed.claims if claim.id not in pointing)


def _missing(memory: Memory, rule: str) -> list[Claim]:
    """The claims, Why and How aside, that do not stand in a rule word by word."""
    words = " ".join(rule.split())
    return [
        claim
        for claim in _said(memory)
        if not _TAGGED.match(claim.text)
        and " ".join(_harmless(shown(_MARKER.sub("", claim.text, count=1), no_scan)).split()) not in words
    ]


def _harmless(text: str) -> str:
    return text.replace("<!--", "&lt;!--").replace("-->", "--&gt;")


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"
