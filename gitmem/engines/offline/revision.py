"""A memory with some claims taken out, put in or reworded, proved by reading it again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gitmem.core.claim import Claim, normal_form, parse_body
from gitmem.core.memory import Memory


def without(memory: Memory, gone: Sequence[int]) -> Memory | None:
    """The memory less these claims of its body (by position); None where others would change by it."""
    claims = memory.parsed.claims
    kept: list[Claim] = []
    lead = ""
    for number, claim in enumerate(claims):
        if number in gone:
            # The first of a run gives its place, with the blank lines before it, to what follows.
            lead = lead or claim.lead
            continue
        kept.append(replace(claim, lead=lead) if lead and not kept else claim)
        lead = ""
    return _assembled(memory, kept)


def with_after(memory: Memory, position: int, added: Sequence[Claim]) -> Memory | None:
    """The memory with claims put in behind the one at a position (at the end for -1); None as above."""
    claims = list(memory.parsed.claims)
    at = len(claims) if position < 0 else position + 1
    before = claims[at - 1] if at else None
    new = []
    for claim in added:
        tight = before is not None and before.item and claim.item
        lead = "" if before is None and not memory.front else "\n" if tight else "\n\n"
        new.append(replace(claim, lead=lead))
        before = claim
    if at < len(claims) and claims[at].lead.count("\n") < 2 and not (new[-1].item and claims[at].item):
        claims[at] = replace(claims[at], lead="\n\n")
    return _assembled(memory, [*claims[:at], *new, *claims[at:]])


def reworded(memory: Memory, texts: Mapping[int, str]) -> Memory | None:
    """The memory with other texts for some claims of its body (by position); None as above."""
    claims = []
    for number, claim in enumerate(memory.parsed.claims):
        text = texts.get(number, claim.text)
        claims.append(replace(claim, text=text, key=normal_form(text, claim.item)))
    return _assembled(memory, claims)


def described(memory: Memory, description: str) -> Memory | None:
    """The memory with another description; None where it would not be read back."""
    if memory.front is None:
        return None
    changed = Memory(memory.path, memory.front.with_value("description", description), memory.body)
    return changed if changed.description == description else None


def _assembled(memory: Memory, claims: Sequence[Claim]) -> Memory | None:
    body = "".join(claim.lead + claim.text for claim in claims) + (memory.parsed.tail or "\n")
    found = Counter(claim.key for claim in parse_body(body).claims)
    if found != Counter(claim.key for claim in claims):
        return None
    return Memory(memory.path, memory.front, body)
