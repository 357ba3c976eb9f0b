"""The account of a change: what became of every claim, worked out from the trees alone.

A claim is kept where it stands again, merged where another claim holds all of its facts, superseded where
another replaces it, dropped where someone gave a reason. Everything else is unaccounted for: it was lost.
A line of a daily log stays in its log whatever becomes of it: an account names it as a source.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Literal

from gitmem.core.claim import Claim
from gitmem.core.daily_log import LogLine, facts, log_claims, statements
from gitmem.core.facts import missing_facts
from gitmem.core.memory import parse
from gitmem.core.merge import Files, only
from gitmem.core.names import agent_folder, hot_path, is_log, kind
from gitmem.core.sequence import pair_edits
from gitmem.core.trailers import Fate
from gitmem.values import dataclass

_UNFIT = re.compile(r"[\s%]|[^ -\U0010ffff]|[\ud800-\udfff]")

_ESCAPED = re.compile(r"(?:%[0-9A-F]{2})+")

_CHAIN = 1_000
"""Changes in a row that one claim may go through in one dream."""

_REASONS = 8
"""Reasons of such changes that are told together."""


@dataclass(frozen=True)
class Unaccounted:
    """A claim that went without a true account.

    Attributes:
        source: `<file>#<12 hex>` of the claim before.
        text: the claim.
        problem: what is wrong with what was declared, as a phrase for a person.
        false_merge: whether it is said to be merged into a claim that is there and lacks a fact of it.
    """

    source: str
    text: str
    problem: str
    false_merge: bool = False


@dataclass(frozen=True)
class Account:
    """What a change did to the claims that it touched.

    Attributes:
        fates: one for each claim that moved or went and is accounted for, in the order of the trees.
        unaccounted: the claims that were lost.
    """

    fates: tuple[Fate, ...]
    unaccounted: tuple[Unaccounted, ...]


def reference(path: str, claim: Claim) -> str:
    """Names a claim: `<path from root>#<12 hex>`, white space and the like in the path as %XX."""
    return f"{_UNFIT.sub(_escaped, path)}#{claim.short}"


def path_of(reference: str) -> str:
    """The path that a claim's name gives; the inverse of `reference`."""
    return _ESCAPED.sub(_unescaped, reference.rpartition("#")[0])


def paths_named(fates: Iterable[Fate]) -> set[str]:
    """The paths that fates name: where claims were, and where they are said to have gone."""
    return {path_of(end) for fate in fates for end in (fate.source, fate.target) if end}


def references(files: Files) -> dict[str, Claim]:
    """All claims of the memories of a tree, descriptions among them, by reference."""
    return _by_reference(files, is_memory, claims_at)


def is_memory(path: str) -> bool:
    """Whether a path from the root of a memory tree is a memory of some agent, archived ones too."""
    return "/" in path and not path.startswith(".") and kind(path) == "memory"


def log_references(files: Files) -> dict[str, Claim]:
    """All claims of the daily logs of a tree, by reference."""
    return _by_reference(files, is_log, log_claims)


def _by_reference(
    files: Files, wanted: Callable[[str], bool], claims: Callable[[str, bytes], Iterable[Claim]]
) -> dict[str, Claim]:
    return {
        reference(path, claim): claim
        for path in filter(wanted, sorted(files))
        for claim in claims(path, files[path])
    }


@lru_cache(maxsize=16_384)
def claims_at(path: str, data: bytes) -> tuple[Claim, ...]:
    """The claims of one memory or daily log; a description that the body says as well counts once."""
    if kind(path) == "log":
        return log_claims(path, data)
    return tuple({claim.id: claim for claim in parse(path, data).claims}.values())


def account(before: Files, after: Files, declared: Sequence[Fate]) -> Account:
    """Works out what became of every claim.

    Args:
        before, after: path from the root of a memory tree to content; files that are equal in both may be
            left out unless a claim is said to have gone there.
        declared: what is said of claims, by one change or by several in a row.

    Returns:
        A fate for each claim that is no longer where it was, and for each line of a log that is said to
        have become a claim, and has. Claims that stayed where they are have none.
    """
    old, new = references(before), references(after)
    by_key: dict[str, str] = {}
    for ref, claim in new.items():
        by_key.setdefault(claim.key, ref)
    said = {fate.source: fate for fate in declared}
    ends: dict[str, Fate] = {}
    fates: list[Fate] = []
    lost: list[Unaccounted] = []
    for ref, claim in old.items():
        if ref in new:
            continue
        fate = _followed(said.get(ref), said, new, ends)
        if fate is None or fate.kind == "kept":
            if claim.key in by_key:
                fates.append(Fate("kept", ref, by_key[claim.key], fate.reason if fate else ""))
            else:
                lost.append(Unaccounted(ref, claim.text, "it is gone and nothing says where"))
            continue
        problem = _problem(fate, claim, new)
        if problem:
            lost.append(Unaccounted(ref, claim.text, problem, fate.kind == "merged" and fate.target in new))
        else:
            fates.append(fate)
    logs = {path for fate in declared if is_log(path := path_of(fate.source))}
    standing = log_references(only(before, logs)) if logs else {}
    for source, far in line_fates(declared, new).items() if standing else ():
        if source in standing:
            fates += (fate for fate in far if fate.kind == "dropped" or fate.target in new)
    return Account(tuple(fates), tuple(lost))


def line_fates(declared: Iterable[Fate], new: Container[str]) -> dict[str, tuple[Fate, ...]]:
    """What became of lines of logs in the end, where what was made of them went on itself.

    A line stays in its log, so that it may go into several claims; what is only said to be dropped or kept
    says nothing, and is left out.

    Args:
        new: the claims that stand in the end, by reference.

    Returns:
        Each line (`<file>#<12 hex>`) to its fates; one whose target is nowhere is given as it was declared.
    """
    declared = tuple(declared)
    said = {fate.source: fate for fate in declared if not is_log(path_of(fate.source))}
    ends: dict[str, Fate] = {}
    found: dict[str, dict[Fate, None]] = {}
    for fate in declared:
        if fate.kind not in ("merged", "superseded") or not is_log(path_of(fate.source)):
            continue
        further = None if fate.target in new else _followed(said.get(fate.target), said, new, ends)
        end = _joined(fate, further) if further else fate
        found.setdefault(fate.source, {})[end] = None
    return {source: tuple(far) for source, far in found.items()}


def line_key(reference: str) -> str:
    """The key under which it is remembered that a person wants no memory made of a line of a log."""
    return f"dream distil {_mark(reference)}"


def reject_keys(fates: Iterable[Fate], before: Container[str]) -> tuple[str, ...]:
    """The keys under which a rejected change is remembered: its operation and its source claims.

    A target that stood before is one of them, and which of two was to go does not count. A new one is not:
    an idea is no other in other words; all that goes into it is named together. Nor do paths count: an old
    proposal is not new in a renamed memory. A line of a log is remembered by itself, whatever became of it.

    Args:
        fates: all of one change.
        before: claims that stood before it, by reference; those where its targets are do (`where_it_goes`).
    """
    fates = tuple(fates)
    moved = {fate.target for fate in fates if fate.kind == "kept"}
    into: dict[str, set[str]] = {}
    for fate in fates:
        into.setdefault(fate.target, set()).add(_mark(fate.source))
    keys: dict[str, None] = {}
    for fate in fates:
        if is_log(path_of(fate.source)):
            keys[line_key(fate.source)] = None
        elif fate.kind != "kept":
            stood = fate.target in before or fate.target in moved
            with_it = {_mark(fate.target)} if stood else into[fate.target] if fate.target else set()
            keys[" ".join(["dream", fate.kind, *sorted({_mark(fate.source), *with_it})])] = None
    return tuple(keys)


def where_it_goes(fates: Iterable[Fate], before: Files) -> Container[str]:
    """The claims, by reference, of the memories that a change's targets are in, as they stand before it."""
    return references(only(before, {path_of(fate.target) for fate in fates}))


def _followed(
    fate: Fate | None, said: Mapping[str, Fate], new: Container[str], ends: dict[str, Fate]
) -> Fate | None:
    """The fate of a claim in the end, where what it went into went on itself.

    Args:
        ends: those that were followed before, by source; accounts are hostile, and may be one long chain.
    """
    if fate is None:
        return None
    way = [fate]
    seen = {fate.source}
    while len(way) < _CHAIN and fate.target and fate.target not in new and fate.target not in seen:
        further = ends.get(fate.target) or said.get(fate.target)
        if further is None:
            break
        seen.add(fate.target)
        way.append(further)
        fate = further
    end = way[-1]
    for step in reversed(way[:-1]):
        end = _joined(step, end)
        ends[end.source] = end
    return end


def _joined(fate: Fate, further: Fate) -> Fate:
    """Two fates in a row as one: the worse of them, with the reasons of both."""
    worse = max(fate.kind, further.kind, key=("kept", "merged", "superseded", "dropped").index)
    reasons = [*fate.reason.split("; "), *further.reason.split("; ")]
    reason = "; ".join([*dict.fromkeys(filter(None, reasons))][:_REASONS])
    return Fate(worse, fate.source, further.target, reason)


def _problem(fate: Fate, claim: Claim, new: Mapping[str, Claim]) -> str:
    if fate.kind == "dropped":
        return "" if fate.reason.strip() else "it is dropped without a reason"
    target = new.get(fate.target)
    if target is None:
        return f"it is said to be {fate.kind} into {fate.target or 'nothing'}, which is not there"
    if fate.kind == "merged" and (missing := missing_facts(claim.key, target.key)):
        return f"it is said to be merged into {fate.target}, which lacks {', '.join(missing)}"
    return ""


def _mark(reference: str) -> str:
    return reference.rpartition("#")[2]


def _escaped(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match.group().encode("utf-8", "surrogateescape"))


def _unescaped(match: re.Match[str]) -> str:
    return bytes.fromhex(match.group().replace("%", "")).decode("utf-8", "surrogateescape")


ProposalKind = Literal["added", "changed", "moved", "deleted"]


@dataclass(frozen=True)
class BranchChange:
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


def proposals(base: Files, branch: Files) -> tuple[BranchChange, ...]:
    """Finds what a branch asks for.

    Args:
        base, branch: path from the root of a memory tree to content; what is equal may be left out.

    Returns:
        In the order of the paths and of the claims in them.
    """
    paths = sorted(filter(speaks, {*base, *branch}))
    found: list[BranchChange] = []
    for path in paths:
        if base.get(path) != branch.get(path):
            found += _of_memory(path, _claims(base, path), _claims(branch, path))
    return tuple(_with_moves(found))


def missing(wanted: Iterable[BranchChange], base: Files, tree: Files) -> tuple[BranchChange, ...]:
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
            self._fresh.setdefault(agent_folder(path), set()).update(
                keys.keys() - known.get(path, {}).keys()
            )

    def has(self, one: BranchChange) -> bool:
        """Whether what is asked for is so; a claim may stand in another memory of the agent by now.

        Of what a memory says several times, as often as that.
        """
        here = self._at.get(_home(one.path), Counter())
        if one.new is None:
            return one.old is not None and here[one.old.key] <= one.old.ordinal
        if _home(one.source) == _home(one.path):
            # To page a memory out, or to bring it back, is all that this asks for.
            return one.new.key in {claim.key for claim in _claims(self._tree, one.path).values()}
        # What is said elsewhere by now is no longer said here as it was.
        left = one.old is not None and here[one.old.key] > one.old.ordinal
        elsewhere = not left and one.new.key in self._fresh.get(agent_folder(one.path), ())
        return elsewhere or here[one.new.key] > one.new.ordinal


def _of_memory(path: str, old: Mapping[str, Claim], new: Mapping[str, Claim]) -> list[BranchChange]:
    keys = {id: claim.key for side in (old, new) for id, claim in side.items()}
    edits = pair_edits(list(old), list(new), lambda id: frozenset(keys[id].split()))
    came = {after: before for before, after in edits.items()}
    found = []
    for id, claim in new.items():
        if id not in old:
            before = old[came[id]] if id in came else None
            found.append(BranchChange("changed" if before else "added", path, before, claim))
    gone = (claim for id, claim in old.items() if id not in new and id not in edits)
    return found + [BranchChange("deleted", path, claim, None) for claim in gone]


def _with_moves(found: list[BranchChange]) -> Iterable[BranchChange]:
    """Tells a claim that only changes its memory apart from one that goes and one that comes."""
    gone = {one.same[:2]: one for one in reversed(found) if one.kind == "deleted"}
    moved: set[int] = set()
    result: list[BranchChange] = []
    for one in found:
        if one.kind == "added":
            source = gone.pop(one.same[::2], None)
            if source is not None and source.path != one.path:
                moved.add(id(source))
                result.append(BranchChange("moved", one.path, source.old, one.new, source.path))
                continue
        result.append(one)
    return [one for one in result if id(one) not in moved]


def _claims(files: Files, path: str) -> dict[str, Claim]:
    data = files.get(path)
    return {claim.id: claim for claim in claims_at(path, data)} if data is not None else {}


def _by_home(files: Files) -> dict[str, Counter[str]]:
    """What the memories of a tree say, and how often, by the path that each has while it is hot."""
    found: dict[str, Counter[str]] = {}
    for path in filter(speaks, files):
        found.setdefault(_home(path), Counter()).update(
            claim.key for claim in _claims(files, path).values()
        )
    return found


def _home(path: str) -> str:
    return hot_path(path) or path


_OF_THE_DAY = re.compile(
    r"\b(?:(?:just |only )?for today|today only|right now|at the moment|until (?:tonight|tomorrow))\b"
    r"|\b(?:is|are|isn['’]t|aren['’]t)\b[^.;]*\b(?:today|tonight|this (?:morning|afternoon|evening))\b",
    re.IGNORECASE,
)
_HAPPENED = re.compile(r"\b(?:was|were|has|have|had|since|\w{3,}ed)\b", re.IGNORECASE)


def passing(line: LogLine) -> bool:
    """Whether a fact only mattered on the day on which it was told, as far as its words show.

    What happened on a day lasts, and a Why or a How to apply is given for what does.
    """
    if len(statements(line.text)) != 1 or line.type not in ("project", "reference"):
        return False
    return _OF_THE_DAY.search(line.text) is not None and _HAPPENED.search(line.text) is None


@lru_cache(maxsize=256)
def lines_at(path: str, data: bytes) -> Mapping[str, LogLine]:
    """The facts of a log of a memory tree by reference, in the order of the file; not to be changed."""
    return {reference(path, claim): line for claim, line in facts(path, data)}


def line_mark(reference: str) -> tuple[str, str, str]:
    """A line wherever its log stands, among the hot days or in the archive: agent, day, and 12 digits."""
    path = path_of(reference)
    return agent_folder(path), path.rpartition("/")[2], _mark(reference)


def lines_named(fates: Iterable[Fate], read: Callable[[str], bytes | None]) -> dict[str, LogLine]:
    """The facts of logs that fates name as where a claim comes from.

    Args:
        read: gives the content of a path of the tree; None where there is no such log.
    """
    asked: dict[str, set[str]] = {}
    for fate in fates:
        path = path_of(fate.source)
        if is_log(path):
            asked.setdefault(path, set()).add(fate.source)
    found: dict[str, LogLine] = {}
    for path, refs in asked.items():
        data = read(path)
        if data is not None:
            found |= {ref: line for ref, line in lines_at(path, data).items() if ref in refs}
    return found


def by_target(
    lines: Mapping[str, LogLine], ends: Mapping[str, Iterable[Fate]]
) -> dict[str, dict[str, LogLine]]:
    """The lines that went into each claim.

    Args:
        lines: by reference.
        ends: what became of each, as `account.line_fates` tells it.
    """
    found: dict[str, dict[str, LogLine]] = {}
    for source, fates in ends.items():
        for fate in fates:
            if fate.kind == "merged" and source in lines:
                found.setdefault(fate.target, {})[source] = lines[source]
    return found
