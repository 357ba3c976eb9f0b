"""What a merge by git or a host leaves behind in single files, and how it is put right.

Such a merge knows lines, not claims: it leaves conflict marks that somebody commits, a claim twice that
both sides had added, an index with two lines for one memory. All here is pure and takes no claim away.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial, reduce

from gitmem.core import index, tombstone
from gitmem.core.claim import DISPUTE_LENGTH, claim_id, with_dispute
from gitmem.core.daily_log import in_order, merge_lines
from gitmem.core.memory import Memory, parse
from gitmem.core.merge import merge_memory, without
from gitmem.core.names import kind
from gitmem.core.text import decode, encode
from gitmem.values import dataclass

_MARK = re.compile(r"(<{7}|\|{7}|={7}|>{7})(?: .*)?")
_ANY_MARK = re.compile(r"^(?:<{7}|>{7})(?: |\r?$)", re.MULTILINE)


MOST_SIDES = 16
"""Sides that conflicts inside one another may have together; more are left to a person."""


@dataclass(frozen=True)
class Repeat:
    """A claim that stood more often than any side had it: `again` was taken out, `first` stays."""

    again: str
    first: str


def has_marks(path: str, data: bytes) -> bool:
    """Whether a file holds conflict marks that are not part of a fence, which would only tell of them."""
    text = decode(data)
    if _ANY_MARK.search(text) is None:
        return False
    if kind(path) != "memory":
        return True
    fenced = [c.text for c in parse(path, data).parsed.claims if c.text.lstrip().startswith(("```", "~~~"))]
    shown = sum(len(_ANY_MARK.findall(one)) for one in fenced)
    return len(_ANY_MARK.findall(text)) > shown


def without_marks(path: str, data: bytes) -> bytes | None:
    """Resolves committed conflict marks so that all sides stay; claims against each other are disputed.

    Returns:
        The file; None where its marks do not belong together, which is for a person.
    """
    parts = _parts(decode(data))
    if parts is None:
        return None
    texts = [_side(parts, number) for number in range(max(len(part) for part in parts))]
    what = kind(path)
    if what == "memory":
        return _united(path, parts, texts)
    merge = {"index": index.merge, "tombstones": tombstone.merge, "log": merge_lines}.get(what)
    return encode(reduce(partial(merge, ""), texts)) if merge else None


def _parts(text: str) -> list[list[str]] | None:
    """The text cut at its conflicts: what all sides say is a list of one, a conflict one of its sides.

    A conflict inside a side of another, as two merges in a row leave them, gives that one more sides. What
    the ancestor said between `|||||||` and `=======` is no side.
    """
    parts: list[list[str]] = [[""]]
    open_: list[tuple[list[list[str]], str]] = []
    for line in text.splitlines(keepends=True):
        match = _MARK.fullmatch(line.rstrip("\r\n"))
        mark = match[1][0] if match else ""
        if mark == "<":
            open_.append(([[""]], "ours"))
        elif mark == "|" and open_ and open_[-1][1] == "ours":
            open_[-1] = (open_[-1][0], "base")
        elif mark == "=" and open_ and open_[-1][1] in ("ours", "base"):
            open_[-1] = ([*open_[-1][0], [""]], "theirs")
        elif mark == ">" and open_ and open_[-1][1] == "theirs":
            variants = [one for side in open_.pop()[0] for one in side]
            if not open_:
                parts += [variants, [""]]
            elif open_[-1][1] != "base":
                side = open_[-1][0][-1]
                open_[-1][0][-1] = [one + other for one in side for other in variants]
        elif not open_:
            parts[-1][0] += line
        elif open_[-1][1] != "base":
            open_[-1][0][-1] = [one + line for one in open_[-1][0][-1]]
        if mark and open_ and sum(len(one) for sides, _ in open_ for one in sides) > MOST_SIDES:
            return None
    return None if open_ or len(parts) == 1 or any(_ANY_MARK.search(one) for one in parts[-1]) else parts


def _united(path: str, parts: Sequence[Sequence[str]], texts: Sequence[str]) -> bytes | None:
    marks: dict[str, str] = {}
    for number, part in enumerate(parts):
        said = [_keys(path, _side(parts, 0, {number: one})) for one in range(len(part))]
        common = frozenset.intersection(*said)
        against = [keys - common for keys in said if keys - common]
        if len(against) > 1:
            disputed = frozenset().union(*against)
            digits = claim_id(min(disputed))[:DISPUTE_LENGTH]
            marks |= {key: marks.get(key, digits) for key in disputed}
    first, *others = (_marked(path, text, marks) for text in texts)
    for other in others:
        merged = merge_memory(Memory(path, None, ""), first, other, path).memory
        if merged is None:
            return None
        first = merged
    return first.render()


def _marked(path: str, text: str, marks: dict[str, str]) -> Memory:
    memory = parse(path, encode(text))
    body = memory.parsed
    written = "".join(
        claim.lead + (with_dispute(claim.text, marks[claim.key]) if claim.key in marks else claim.text)
        for claim in body.claims
    )
    return Memory(path, memory.front, written + body.tail)


def _keys(path: str, text: str) -> frozenset[str]:
    return frozenset(claim.key for claim in parse(path, encode(text)).parsed.claims)


def _side(parts: Sequence[Sequence[str]], number: int, chosen: Mapping[int, int] | None = None) -> str:
    """The text with each conflict replaced by one of its sides, the last where it has fewer."""
    wanted = chosen or {}
    return "".join(part[min(wanted.get(place, number), len(part) - 1)] for place, part in enumerate(parts))


def without_repeats(path: str, data: bytes, sides: Iterable[bytes]) -> tuple[bytes, tuple[Repeat, ...]]:
    """Takes out claims that stand more often than on any side, the first of them stays.

    Args:
        sides: the file as the merged commits have it.
    """
    memory = parse(path, data)
    allowed: Counter[str] = Counter()
    for side in sides:
        allowed |= Counter(claim.key for claim in parse(path, side).parsed.claims)
    again = [
        claim for claim in memory.parsed.claims if claim.ordinal and claim.ordinal >= allowed[claim.key]
    ]
    if not again:
        return data, ()
    repeats = tuple(Repeat(claim.short, claim_id(claim.key)[:12]) for claim in again)
    return without(memory, frozenset(claim.id for claim in again)).render(), repeats


def log_in_order(data: bytes) -> bytes:
    """A log that a merge by lines doubled or disordered, as gitmem's own merge would have it."""
    return encode(in_order(decode(data)))
