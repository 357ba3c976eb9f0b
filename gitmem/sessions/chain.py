"""Which records of a Claude Code transcript still count, by their `uuid` and `parentUuid`.

Two readings of one file:

- The *live* conversation is what the client would send to the model: the last leaf in file order and its
  ancestors. A compaction begins a new root, so the live chain ends there.
- What was *said* is what extraction reads: everything in file order except what a person rewound. What
  stands before a compaction was said all the same, and is said only once: the summary that replaces it
  is not the person's. A rewind takes back a prompt and all that followed from it, so its memories would
  be false ones.

A record off the live chain is not necessarily rewound: parallel tool calls hang their results beside the
chain, and a refusal with a reason can be among them. A record is rewound when the way up from it meets a
prompt that is off its own tree's chain before it meets that chain; a compaction whose own past was
rewound goes with it (`logicalParentUuid`, followed for nothing else).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Link:
    """What the chain needs of one record.

    Attributes:
        uuid: the record's id.
        parent: its `parentUuid`; empty for a root.
        logical: a compaction boundary's `logicalParentUuid`; empty otherwise.
        leaf: a user or assistant record, neither sidechain nor meta: the conversation can end here.
        prompt: a person's own prompt, where a rewind can begin.
    """

    uuid: str
    parent: str = ""
    logical: str = ""
    leaf: bool = False
    prompt: bool = False


def live_chain(links: Sequence[Link]) -> tuple[str, ...]:
    """Rebuilds the live conversation.

    Args:
        links: all records of one file, in file order.

    Returns:
        uuids from the root (or the first record whose parent is not in the file) to the last leaf.
    """
    known = _by_uuid(links)
    last = next((link.uuid for link in reversed(links) if link.leaf), "")
    return tuple(reversed(_ancestry(last, known)))


def rewound(links: Sequence[Link]) -> frozenset[str]:
    """Finds what a person took back.

    Args:
        links: all records of one file, in file order.

    Returns:
        uuids of the records that do not count as said.
    """
    known = _by_uuid(links)
    roots = _roots(links, known)
    ends = {roots[link.uuid]: link.uuid for link in links if link.leaf}
    chain: set[str] = set()
    for end in ends.values():
        chain.update(_ancestry(end, known))
    verdicts: dict[str, bool] = {}
    for link in links:
        _judge(link.uuid, known, chain, verdicts)
    gone = {uuid for uuid, taken_back in verdicts.items() if taken_back}
    return frozenset(gone | _fallen(links, known, roots, gone))


def _by_uuid(links: Sequence[Link]) -> dict[str, Link]:
    known: dict[str, Link] = {}
    for link in links:
        known.setdefault(link.uuid, link)
    return known


def _ancestry(uuid: str, known: dict[str, Link]) -> list[str]:
    seen: dict[str, None] = {}
    while uuid in known and uuid not in seen:
        seen[uuid] = None
        uuid = known[uuid].parent
    return list(seen)


def _roots(links: Sequence[Link], known: dict[str, Link]) -> dict[str, str]:
    roots: dict[str, str] = {}
    for link in links:
        way: dict[str, None] = {}
        uuid = link.uuid
        while uuid not in roots and uuid not in way:
            way[uuid] = None
            parent = known[uuid].parent
            if parent not in known:
                roots[uuid] = uuid
                break
            uuid = parent
        root = roots.get(uuid, uuid)
        roots.update(dict.fromkeys(way, root))
    return roots


def _judge(uuid: str, known: dict[str, Link], chain: set[str], verdicts: dict[str, bool]) -> None:
    way: dict[str, None] = {}
    verdict = False
    while uuid in known and uuid not in way:
        if uuid in verdicts:
            verdict = verdicts[uuid]
            break
        way[uuid] = None
        if uuid in chain:
            break
        if known[uuid].prompt:
            verdict = True
            break
        uuid = known[uuid].parent
    verdicts.update(dict.fromkeys(way, verdict))


def _fallen(
    links: Sequence[Link], known: dict[str, Link], roots: dict[str, str], gone: set[str]
) -> set[str]:
    """Whole trees that continue a rewound one, and the trees that continue those."""
    fallen: set[str] = set()
    for root in dict.fromkeys(roots.values()):
        past = known[root].logical
        if past in gone or roots.get(past, "") in fallen:
            fallen.add(root)
    return {link.uuid for link in links if roots[link.uuid] in fallen}
