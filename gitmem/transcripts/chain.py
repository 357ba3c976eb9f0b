"""Which records of a Claude Code transcript still count, by their `uuid` and `parentUuid`.

What was *said* is what extraction reads: everything in file order except what a person rewound. What stands
before a compaction was said all the same, and is said only once: the summary that replaces it is not the
person's. A rewind takes back a prompt and all that followed from it, so its memories would be false ones.

A record off its tree's chain, from the last leaf to the root, is not necessarily rewound: parallel tool
calls hang their results beside the chain, and a refusal with a reason can be among them. A record is
rewound when the way up from it meets a prompt that is off the chain before it meets the chain; a compaction
whose own past was rewound goes with it (`logicalParentUuid`, followed for nothing else).

So a *stretch*, a prompt with all that follows up to the next prompts, counts or goes as a whole, and a tree
of stretches is small.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from gitmem.transcripts.reader import NONE


class Link(NamedTuple):
    """What the tree needs of one record.

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


@dataclass(slots=True)
class _Stretch:
    """Records that count or go together.

    Attributes:
        parent: stretch that it follows from; NONE for a root.
        logical: stretch that a compaction at its head continues; NONE otherwise.
        last: number of its last leaf in file order; NONE where it has none.
        prompt: begins with a person's prompt.
    """

    parent: int = NONE
    logical: int = NONE
    last: int = NONE
    prompt: bool = False


class Tree:
    """A transcript's records as they come, in file order, and which of them were rewound.

    `_places` holds the stretch of each record, `_children` and `_successors` the stretches that wait for a
    record which is named and not there (yet).
    """

    def __init__(self) -> None:
        self._stretches: list[_Stretch] = []
        self._places: dict[str, int] = {}
        self._children: dict[str, list[int]] = {}
        self._successors: dict[str, list[int]] = {}

    def add(self, link: Link) -> int:
        """Takes one more record.

        Returns:
            The number of its stretch; NONE where a record with its uuid is there already.
        """
        if link.uuid in self._places:
            return NONE
        number = self._places.get(link.parent, NONE) if link.parent else NONE
        if link.prompt or number == NONE:
            above, number = number, len(self._stretches)
            stretch = _Stretch(above, prompt=link.prompt)
            self._stretches.append(stretch)
            if above == NONE and link.parent not in ("", link.uuid):
                self._children.setdefault(link.parent, []).append(number)
            if above == NONE and link.logical:
                stretch.logical = self._places.get(link.logical, NONE)
                if stretch.logical == NONE:
                    self._successors.setdefault(link.logical, []).append(number)
        if link.leaf:
            self._stretches[number].last = len(self._places)
        self._places[link.uuid] = number
        for child in self._children.pop(link.uuid, ()):
            self._stretches[child].parent = number
        for successor in self._successors.pop(link.uuid, ()):
            self._stretches[successor].logical = number
        return number

    def rewound(self) -> frozenset[int]:
        """Numbers of the stretches that a person took back."""
        roots = self._roots()
        ends: dict[int, int] = {}
        for number, root in enumerate(roots):
            if self._stretches[number].last > (self._stretches[ends[root]].last if root in ends else NONE):
                ends[root] = number
        chain = {number for end in ends.values() for number in self._way(end)}
        gone = {number for number in range(len(roots)) if self._is_off(number, chain)}
        fallen: dict[int, bool] = {}
        for root in set(roots):
            self._fall(root, roots, gone, fallen)
        return frozenset(gone | {number for number, root in enumerate(roots) if fallen.get(root)})

    def _way(self, number: int) -> dict[int, None]:
        """From a stretch up to its root; a cycle of parents is left where it closes."""
        way: dict[int, None] = {}
        while number != NONE and number not in way:
            way[number] = None
            number = self._stretches[number].parent
        return way

    def _roots(self) -> list[int]:
        """The root of each stretch; of a cycle, the stretch at which it closes."""
        roots = [NONE] * len(self._stretches)
        for number in range(len(roots)):
            way: dict[int, None] = {}
            above, last = number, number
            while above != NONE and above not in way and roots[above] == NONE:
                way[above] = None
                above, last = self._stretches[above].parent, above
            root = roots[above] if above != NONE and above not in way else last
            for one in way:
                roots[one] = root
        return roots

    def _is_off(self, number: int, chain: set[int]) -> bool:
        seen: set[int] = set()
        while number != NONE and number not in chain and number not in seen:
            if self._stretches[number].prompt:
                return True
            seen.add(number)
            number = self._stretches[number].parent
        return False

    def _fall(self, root: int, roots: list[int], gone: set[int], fallen: dict[int, bool]) -> None:
        """Whole trees that continue a rewound one, and the trees that continue those."""
        way: list[int] = []
        verdict = False
        while root not in fallen and root not in way:
            way.append(root)
            stretch = self._stretches[root]
            past = stretch.logical if stretch.parent == NONE else NONE
            if past == NONE:
                break
            if past in gone:
                verdict = True
                break
            root = roots[past]
        verdict = verdict or fallen.get(root, False)
        fallen.update(dict.fromkeys(way, verdict))
