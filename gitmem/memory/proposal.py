"""What a branch asks for, claim by claim, and what of it a memory tree has already.

It is judged by content alone: hosts squash, rebase and edit, so commits tell nothing of what was taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from gitmem.memory.account import claims_at, is_memory, reference
from gitmem.memory.archive import hot_path
from gitmem.memory.claim import Claim
from gitmem.memory.daily import is_log
from gitmem.memory.merge import Files, agent_folder
from gitmem.memory.sequence import pair_edits
from gitmem.values import dataclass

ProposalKind = Literal["added", "changed", "moved", "deleted"]


@dataclass(frozen=True)
class Proposal:
    """One claim that a branch adds, changes, moves to another memory of its agent, or deletes.

    Attributes:
        path: the memory; where it is moved, the one that it goes to.
        old: the claim before; None where it is added.
        new: the claim after; None where it is deleted.
        source: the memory that it was in before, where that is another one.
    """

    kind: ProposalKind
    path: str
    old: Claim | None
    new: Claim | None
    source: str = ""

    @property
    def before(self) -> str:
        """Names the claim before (`<file>#<12 hex>`), or is empty."""
        return reference(self.source or self.path, self.old) if self.old else ""

    @property
    def after(self) -> str:
        """Names the claim after, or is empty."""
        return reference(self.path, self.new) if self.new else ""

    @property
    def same(self) -> tuple[str, str, str]:
        """What makes two proposals one and the same: the agent, and the claim's form before and after."""
        return agent_folder(self.path), self.old.key if self.old else "", self.new.key if self.new else ""


def speaks(path: str) -> bool:
    """Whether a path of a memory tree holds claims that a branch may ask for: a memory, or a daily log."""
    return is_memory(path) or is_log(path)


def proposals(base: Files, branch: Files) -> tuple[Proposal, ...]:
    """Finds what a branch asks for.

    Args:
        base, branch: path from the root of a memory tree to content; what is equal may be left out.

    Returns:
        In the order of the paths and of the claims in them.
    """
    paths = sorted(filter(speaks, {*base, *branch}))
    found: list[Proposal] = []
    for path in paths:
        if base.get(path) != branch.get(path):
            found += _of_memory(path, _claims(base, path), _claims(branch, path))
    return tuple(_with_moves(found))


def missing(wanted: Iterable[Proposal], base: Files, tree: Files) -> tuple[Proposal, ...]:
    """Those proposals that a memory tree does not have.

    Args:
        base: what the branch started from.
        tree: what the memory branch has, at the paths of the proposals and wherever it differs from `base`.
    """
    held = _Held(base, tree)
    return tuple(one for one in wanted if not held.has(one))


class _Held:
    """The claims of a tree, asked by memory and by agent; one that was paged out is the same memory."""

    def __init__(self, base: Files, tree: Files) -> None:
        self._at = _by_home(tree)
        self._tree = tree
        self._fresh: dict[str, set[str]] = {}
        known = _by_home(base)
        for path, keys in self._at.items():
            self._fresh.setdefault(agent_folder(path), set()).update(keys - known.get(path, set()))

    def has(self, one: Proposal) -> bool:
        """Whether what is asked for is so; a claim may stand in another memory of the agent by now."""
        here = self._at.get(_home(one.path), set())
        if one.new is None:
            return one.old is not None and one.old.key not in here
        if one.source and _home(one.source) == _home(one.path):
            # To page a memory out, or to bring it back, is all that this asks for.
            return one.new.key in _keys(self._tree, one.path)
        return one.new.key in here or one.new.key in self._fresh.get(agent_folder(one.path), ())


def _of_memory(path: str, old: Mapping[str, Claim], new: Mapping[str, Claim]) -> list[Proposal]:
    keys = {id: claim.key for side in (old, new) for id, claim in side.items()}
    edits = pair_edits(list(old), list(new), lambda id: frozenset(keys[id].split()))
    came = {after: before for before, after in edits.items()}
    found = []
    for id, claim in new.items():
        if id not in old:
            before = old[came[id]] if id in came else None
            found.append(Proposal("changed" if before else "added", path, before, claim))
    gone = (claim for id, claim in old.items() if id not in new and id not in edits)
    return found + [Proposal("deleted", path, claim, None) for claim in gone]


def _with_moves(found: list[Proposal]) -> Iterable[Proposal]:
    """Tells a claim that only changes its memory apart from one that goes and one that comes."""
    gone = {one.same[:2]: one for one in reversed(found) if one.kind == "deleted"}
    moved: set[int] = set()
    result: list[Proposal] = []
    for one in found:
        if one.kind == "added" and one.new is not None:
            source = gone.pop((agent_folder(one.path), one.new.key), None)
            if source is not None and source.path != one.path:
                moved.add(id(source))
                result.append(Proposal("moved", one.path, source.old, one.new, source.path))
                continue
        result.append(one)
    return [one for one in result if id(one) not in moved]


def _claims(files: Files, path: str) -> dict[str, Claim]:
    data = files.get(path)
    return {claim.id: claim for claim in claims_at(path, data)} if data is not None else {}


def _by_home(files: Files) -> dict[str, set[str]]:
    """What the memories of a tree say, by the path that each has while it is hot."""
    found: dict[str, set[str]] = {}
    for path in filter(speaks, files):
        found.setdefault(_home(path), set()).update(_keys(files, path))
    return found


def _home(path: str) -> str:
    return hot_path(path) or path


def _keys(files: Files, path: str) -> frozenset[str]:
    return frozenset(claim.key for claim in _claims(files, path).values())
