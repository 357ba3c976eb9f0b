"""Three-way merge of one memory: its frontmatter and the claims of its body.

Reads three values and nothing else; the result is the same whichever side is called ours.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from gitmem.memory import frontmatter
from gitmem.memory.claim import (
    DISPUTE_LENGTH,
    Body,
    Claim,
    dispute_of,
    normal_form,
    parse_body,
    with_dispute,
)
from gitmem.memory.frontmatter import Frontmatter
from gitmem.memory.memory import Memory
from gitmem.memory.merge_front import merge_front
from gitmem.memory.sequence import Order, merge_keys, pair_edits
from gitmem.values import dataclass

Buried = Callable[[str], bool]
"""Whether a side's tombstones cover a claim's normal form."""


def nothing_buried(_key: str) -> bool:
    """No tombstones."""
    return False


@dataclass(frozen=True)
class MergedMemory:
    """One merged memory.

    Attributes:
        memory: the result; None where the bodies cannot be put into one without losing a claim.
        buried: texts that a tombstone took, for the person to see.
    """

    memory: Memory | None
    buried: tuple[str, ...] = ()


def merge_memory(
    base: Memory,
    ours: Memory,
    theirs: Memory,
    path: str,
    buried: tuple[Buried, Buried] = (nothing_buried, nothing_buried),
) -> MergedMemory:
    """Merges two edits of one memory.

    Args:
        base: what both started from; an empty memory where the path was added twice.
        ours, theirs: the two sides.
        path: path of the result.
        buried: the tombstones of ours and of theirs. A side that forgot a claim wins over one that kept
            or edited it.
    """
    front, losers = merge_front(base.front, ours.front, theirs.front)
    bodies = [parse_body(memory.body) for memory in (base, ours, theirs)]
    by_id = [{claim.id: claim for claim in body.claims} for body in bodies]
    keys = {id: claim.key for side in by_id for id, claim in side.items()}
    order = merge_keys([tuple(side) for side in by_id], lambda id: frozenset(keys[id].split()))
    gone = _buried(order, by_id, keys, buried)
    kept = tuple(id for id in order.keys if id not in gone)
    lost = tuple(side[id].text for id in sorted(gone) for side in by_id[1:] if id in side)
    if not losers and not gone and not _new_disputes(order, kept):
        # Where one side left the body alone, the other's bytes are the merge.
        if ours.body == theirs.body or base.body == theirs.body:
            return MergedMemory(_memory(path, front, ours.body))
        if base.body == ours.body:
            return MergedMemory(_memory(path, front, theirs.body))
    marks = _new_disputes(order, kept)
    claims = [_merged_claim([side.get(id) for side in by_id], marks.get(id, "")) for id in kept]
    present = {claim.key for claim in claims}
    claims += [
        Claim(text, "\n\n", key) for text in losers if (key := normal_form(text, item=False)) not in present
    ]
    body = _assemble(claims, bodies)
    memory = None if body is None else _memory(path, front, body)
    return MergedMemory(memory, tuple(dict.fromkeys(lost)))


def _memory(path: str, front: Frontmatter | None, body: str) -> Memory:
    """Front and body in one file that reads as just these two."""
    if front and body and not front.closing.endswith("\n"):
        front = replace(front, closing=front.closing + ("\r\n" if front.opening.endswith("\r\n") else "\n"))
    if front is None and frontmatter.split(body)[0] is not None:
        body = "\n" + body
    return Memory(path, front, body)


def _buried(
    order: Order, by_id: list[dict[str, Claim]], keys: dict[str, str], buried: tuple[Buried, Buried]
) -> frozenset[str]:
    gone = set()
    for number, is_buried in enumerate(buried):
        here = by_id[number + 1]
        gone |= {id for id in order.keys if id not in here and is_buried(keys[id])}
        edits = order.edits[1 - number]
        gone |= {new for old, new in edits.items() if old not in here and is_buried(keys[old])}
    return frozenset(gone)


def forgotten(base: Sequence[Claim], side: Sequence[Claim], is_buried: Buried) -> frozenset[str]:
    """Ids of the claims of a side that are buried, or that replaced one which is."""
    keys = {claim.id: claim.key for claim in (*base, *side)}
    here = {claim.id: None for claim in side}
    gone = {id for id in here if is_buried(keys[id])}
    edits = pair_edits([claim.id for claim in base], list(here), lambda id: frozenset(keys[id].split()))
    gone |= {new for old, new in edits.items() if is_buried(keys[old])}
    return frozenset(gone)


def without(memory: Memory, gone: frozenset[str]) -> Memory:
    """The memory less these claims; neighbours that cannot stand together as they are may become one."""
    body = memory.parsed
    kept = [claim for claim in body.claims if claim.id not in gone]
    written = _assemble(kept, [body, body, body])
    if written is None:
        written = "".join(claim.lead + claim.text for claim in kept) + body.tail
    return Memory(memory.path, memory.front, written)


def _new_disputes(order: Order, kept: Sequence[str]) -> dict[str, str]:
    """Claims that stand twice because both sides changed one base claim differently: id to mark."""
    marks: dict[str, str] = {}
    alive = frozenset(kept)
    ours, theirs = order.edits
    for old in sorted(ours.keys() & theirs.keys()):
        pair = {ours[old], theirs[old]}
        if len(pair) == 2 and pair <= alive:
            marks.update(dict.fromkeys(pair, old[:DISPUTE_LENGTH]))
    return marks


def _merged_claim(versions: list[Claim | None], mark: str) -> Claim:
    """One claim from its versions (base, ours, theirs), which differ in wrapping, marker or mark only."""
    base, *sides = versions
    present = [claim for claim in sides if claim]
    was = with_dispute(base.text, "") if base else None
    changed = [claim for claim in present if with_dispute(claim.text, "") != was]
    chosen = min(changed or present, key=lambda claim: (with_dispute(claim.text, ""), claim.text))
    if not mark:
        old = base.dispute if base else ""
        marks = {claim.dispute for claim in present if base is None or claim.dispute != old}
        mark = max(marks, default=old)
    if chosen.dispute == mark:
        return chosen
    return Claim(with_dispute(chosen.text, mark), chosen.lead, chosen.key, chosen.ordinal, chosen.item)


def _assemble(claims: list[Claim], bodies: list[Body]) -> str | None:
    """Writes claims one after the other so that the parser finds just these again, or gives up."""
    tail = _tail(bodies, bool(claims))
    expected = Counter(claim.key for claim in claims)
    newline = "\r\n" if all("\r\n" in body.render() for body in bodies[1:]) else "\n"
    for order in (claims, sorted(claims, key=_reach)):
        leads = _leads(order, bodies, newline)
        apart = [lead if number == 0 else newline * 2 for number, lead in enumerate(leads)]
        texts = [claim.text for claim in order]
        for joints, pieces in (
            (leads, texts),
            (apart, texts),
            (apart, [_self_contained(t) for t in texts]),
        ):
            body = "".join(joint + piece for joint, piece in zip(joints, pieces, strict=True)) + tail
            if Counter(claim.key for claim in parse_body(body).claims) == expected:
                return body
    return None


def _reach(claim: Claim) -> int:
    """Where a block can stand at all: indented code after no list item, what nothing closes at the end."""
    if claim.text.startswith(("    ", "\t")):
        return 0
    return 2 if claim.text.lstrip().startswith(("<", "```", "~~~")) else 1


def _leads(claims: list[Claim], bodies: list[Body], newline: str) -> list[str]:
    """What stands before each claim: as it stood where the same two were neighbours, else a blank line."""
    neighbours = [_neighbours(body.claims) for body in bodies]
    leads: list[str] = []
    before: Claim | None = None
    for claim in claims:
        pair = (before.key if before else None, claim.key)
        known = [side[pair] for side in neighbours[1:] if pair in side]
        was = neighbours[0].get(pair)
        if known:
            leads.append(min([lead for lead in known if lead != was] or known))
        elif before is None:
            first = [body.claims[0].lead for body in bodies[1:] if body.claims]
            leads.append(min(first, default=""))
        else:
            leads.append(newline if before.item and claim.item else newline * 2)
        before = claim
    return leads


def _neighbours(claims: Iterable[Claim]) -> dict[tuple[str | None, str], str]:
    found: dict[tuple[str | None, str], str] = {}
    before = None
    for claim in claims:
        found.setdefault((before, claim.key), claim.lead)
        before = claim.key
    return found


def _tail(bodies: list[Body], any_claim: bool) -> str:
    base, ours, theirs = (body.tail if body.claims else "\n" for body in bodies)
    if not any_claim:
        return ""
    return min({ours, theirs} - {base} or {ours})


def _self_contained(text: str) -> str:
    """The block without indentation that a neighbour could claim, its fence closed."""
    indent = len(text) - len(text.lstrip(" "))
    if 0 < indent < 4:
        depths = ((line, len(line) - len(line.lstrip(" "))) for line in text.split("\n"))
        text = "\n".join(line[min(indent, depth) :] for line, depth in depths)
    fence = re.match(r"(`{3,}|~{3,})", text)
    if fence and not dispute_of(text) and text.rsplit("\n", 1)[-1].strip() != fence.group(1):
        text += "\n" + fence.group(1)
    return text
