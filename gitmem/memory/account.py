"""The account of a change: what became of every claim, worked out from the trees alone.

A claim is kept where it stands again, merged where another claim holds all of its facts, superseded where
another replaces it, dropped where someone gave a reason. Everything else is unaccounted for: it was lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from gitmem.memory.claim import Claim
from gitmem.memory.facts import lacking
from gitmem.memory.memory import parse
from gitmem.memory.merge import Files, kind
from gitmem.memory.trailers import Fate
from gitmem.values import dataclass

_UNFIT = re.compile(r"[\s%]|[^ -\U0010ffff]|[\ud800-\udfff]")

_ESCAPED = re.compile(r"(?:%[0-9A-F]{2})+")

_CHAIN = 1_000
"""Changes in a row that one claim may go through in one dream."""


@dataclass(frozen=True)
class Unaccounted:
    """A claim that went without a true account.

    Attributes:
        source: `<file>#<12 hex>` of the claim before.
        text: the claim.
        problem: what is wrong with what was declared, as a phrase for a person.
    """

    source: str
    text: str
    problem: str


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


def references(files: Files) -> dict[str, Claim]:
    """All claims of the memories of a tree, descriptions among them, by reference."""
    return {
        reference(path, claim): claim
        for path in sorted(files)
        if is_memory(path)
        for claim in claims_at(path, files[path])
    }


def is_memory(path: str) -> bool:
    """Whether a path from the root of a memory tree is a memory of some agent, archived ones too."""
    return "/" in path and not path.startswith(".") and kind(path) == "memory"


@lru_cache(maxsize=16_384)
def claims_at(path: str, data: bytes) -> tuple[Claim, ...]:
    """The claims of one memory file; a description that the body says as well counts once."""
    return tuple({claim.id: claim for claim in parse(path, data).claims}.values())


def account(before: Files, after: Files, declared: Sequence[Fate]) -> Account:
    """Works out what became of every claim.

    Args:
        before, after: path from the root of a memory tree to content; files that are equal in both may be
            left out unless a claim is said to have gone there.
        declared: what is said of claims, by one change or by several in a row.

    Returns:
        A fate for each claim that is no longer where it was. Claims that stayed where they are have none.
    """
    old, new = references(before), references(after)
    by_key: dict[str, str] = {}
    for ref, claim in new.items():
        by_key.setdefault(claim.key, ref)
    said = {fate.source: fate for fate in declared}
    fates: list[Fate] = []
    lost: list[Unaccounted] = []
    for ref, claim in old.items():
        if ref in new:
            continue
        fate = _followed(said.get(ref), said, new)
        if fate is None or fate.kind == "kept":
            if claim.key in by_key:
                fates.append(Fate("kept", ref, by_key[claim.key], fate.reason if fate else ""))
            else:
                lost.append(Unaccounted(ref, claim.text, "it is gone and nothing says where"))
            continue
        problem = _problem(fate, claim, new)
        if problem:
            lost.append(Unaccounted(ref, claim.text, problem))
        else:
            fates.append(fate)
    return Account(tuple(fates), tuple(lost))


def reject_keys(fates: Iterable[Fate]) -> tuple[str, ...]:
    """The keys under which a rejected change is remembered: its operation and the claims it is about.

    Paths do not count, nor which of two claims was to go: an old proposal is not new in a renamed memory.
    """
    keys: dict[str, None] = {}
    for fate in fates:
        if fate.kind != "kept":
            ends = {end.rpartition("#")[2] for end in (fate.source, fate.target) if end}
            keys[" ".join(["dream", fate.kind, *sorted(ends)])] = None
    return tuple(keys)


def _followed(fate: Fate | None, said: Mapping[str, Fate], new: Mapping[str, Claim]) -> Fate | None:
    """The fate of a claim in the end, where what it went into went on itself."""
    if fate is None:
        return None
    seen = {fate.source}
    for _ in range(_CHAIN):
        further = said.get(fate.target)
        if not fate.target or fate.target in new or further is None or fate.target in seen:
            break
        seen.add(fate.target)
        worse = max(fate.kind, further.kind, key=("kept", "merged", "superseded", "dropped").index)
        reason = "; ".join(dict.fromkeys(filter(None, (fate.reason, further.reason))))
        fate = Fate(worse, fate.source, further.target, reason)
    return fate


def _problem(fate: Fate, claim: Claim, new: Mapping[str, Claim]) -> str:
    if fate.kind == "dropped":
        return "" if fate.reason.strip() else "it is dropped without a reason"
    target = new.get(fate.target)
    if target is None:
        return f"it is said to be {fate.kind} into {fate.target or 'nothing'}, which is not there"
    if fate.kind == "merged" and target.key != claim.key:
        missing = lacking(claim.key, target.key)
        if missing:
            return f"it is said to be merged into {fate.target}, which lacks {', '.join(missing)}"
    return ""


def _escaped(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match.group().encode("utf-8", "surrogateescape"))


def _unescaped(match: re.Match[str]) -> str:
    return bytes.fromhex(match.group().replace("%", "")).decode("utf-8", "surrogateescape")
