"""Duplicates of one agent: memories that another holds wholly, and claims that stand twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import PurePosixPath

from gitmem.core.account import reference
from gitmem.core.claim import Claim
from gitmem.core.memory import Memory, description_claim
from gitmem.core.merge import agent_folder
from gitmem.core.trailers import Fate
from gitmem.engines.offline.links import Way, slug, spoken
from gitmem.engines.offline.revision import with_after, without
from gitmem.engines.offline.similar import (
    Titles,
    heading,
    holds,
    is_tagged,
    led_in,
    movable,
    quoted,
    said,
    same_context,
)
from gitmem.engines.offline.work import Work

REPEATED = 20
"""Claims that stand twice in one memory and are taken out in one dream; each is a commit to review."""

_WHOLE = "the other memory says all of it"
_TWICE = "it stands twice"


def merge_duplicates(work: Work, agent: str) -> None:
    """Proposes to merge what an agent's memories say twice, until another night would find nothing more."""
    repeated: Counter[str] = Counter()
    made = -1
    while made < len(work.changes):
        made = len(work.changes)
        _merge_once(work, agent, repeated)


def _merge_once(work: Work, agent: str, repeated: Counter[str]) -> None:
    titles = Titles(work.hot(agent))
    by_sentence = _by_sentence(work.hot(agent))
    for memory in work.hot(agent):
        while repeated[memory.path] < REPEATED and _repeat(work, memory.path):
            repeated[memory.path] += 1
    # What says less goes first, and of equal ones the later name: `no-mocks-2` into `no-mocks`.
    paths = [memory.path for memory in work.hot(agent)]
    paths.sort(key=lambda path: PurePosixPath(path).stem, reverse=True)
    paths.sort(key=lambda path: len(work.memories[path].parsed.claims))
    for path in paths:
        for other in _candidates(work, by_sentence, path):
            if _whole(work, titles, path, other):
                break
    for path in paths:
        for other in _candidates(work, by_sentence, path):
            if other in work.memories and path in work.memories:
                _single(work, titles, path, other)


def _by_sentence(memories: list[Memory]) -> dict[object, list[str]]:
    """Sentence, and normal form of a claim, to the memories that have it."""
    found: dict[object, list[str]] = {}
    for memory in memories:
        for claim in memory.parsed.claims:
            for key in (claim.key, *said(claim.text).sentences):
                if memory.path not in found.setdefault(key, []):
                    found[key].append(memory.path)
    return found


MANY = 20
"""Memories that share one sentence beyond which it is a turn of phrase and proposes nothing."""


def _candidates(work: Work, by_sentence: Mapping[object, list[str]], path: str) -> Iterator[str]:
    """Memories that share a sentence with this one, those that say most first."""
    if path not in work.memories:
        return
    near = set()
    for claim in work.memories[path].parsed.claims:
        for key in (claim.key, *said(claim.text).sentences):
            paths = by_sentence.get(key, [])
            near.update(paths if len(paths) <= MANY else [])
    known = [other for other in near if other != path and other in work.memories]
    yield from sorted(known, key=lambda other: (-len(work.memories[other].parsed.claims), other))


def _repeat(work: Work, path: str) -> bool:
    """Takes out one claim that stands twice in one memory, under one heading."""
    memory = work.memories[path]
    claims = memory.parsed.claims
    agent = agent_folder(path)
    place = work.lookup(path)
    for number, claim in enumerate(claims):
        near = [first for first in place.near(claim) if first != number]
        if not near or not movable(claims, number):
            continue
        for first in near:
            other = claims[first]
            same = holds(other, claim) and (other.key != claim.key or first < number)
            if not same or heading(claims, first) != heading(claims, number) or led_in(claims, first):
                continue
            changed = without(memory, [number])
            if changed is None:
                continue
            fate = Fate("merged", _going(memory, claim), reference(path, other), _TWICE)
            if other.ordinal > claim.ordinal or work.is_settled(agent, (fate,)):
                continue
            return work.propose(
                "merge",
                {path: changed},
                (fate,),
                f"Say it once in {memory.name}",
                f"{memory.name} says it twice: {quoted(claim)}",
            )
    return False


def _whole(work: Work, titles: Titles, path: str, into: str) -> bool:
    """Takes out a memory all of whose claims another one holds."""
    memory, target = work.memories[path], work.memories[into]
    if memory.type != target.type:
        return False
    fates: list[Fate] = []
    pairs: list[tuple[int, int]] = []
    moved: list[tuple[int, list[Claim]]] = []
    for number, claim in enumerate(memory.parsed.claims):
        found = _holder(work, into, claim)
        if found >= 0:
            other = target.parsed.claims[found]
            fates.append(Fate("merged", reference(path, claim), reference(into, other), _WHOLE))
            pairs.append((number, found))
        elif is_tagged(claim) and pairs:
            moved.append((pairs[-1][1], [replace(claim, ordinal=0)]))
        else:
            return False
    if not any(said(memory.parsed.claims[number].text).plain for number, _ in pairs):
        return False
    if not same_context(
        titles, memory, target, [number for number, _ in pairs], [found for _, found in pairs]
    ):
        return False
    changed: Memory | None = target
    for position, claims in reversed(moved):
        changed = with_after(changed, _behind_tags(changed, position), claims) if changed else None
    if changed is None:
        return False
    placed = _description(memory, target, changed)
    if placed is None:
        return False
    changed, described = placed
    fates += described
    for _, claims in moved:
        fates += [Fate("kept", reference(path, claim), reference(into, claim)) for claim in claims]
    edited: dict[str, Memory | None] = {path: None}
    if changed is not target:
        edited[into] = changed
    mine, theirs = _labels(memory, target)
    agent = agent_folder(path)
    stay = {slug(name) for name in (target.name, PurePosixPath(into).stem)}
    gone = {slug(name) for name in (memory.name, PurePosixPath(path).stem)} - stay
    # A copy may bear the name of the memory that stays: only its file has to be led there.
    way = Way(spoken(target), PurePosixPath(into).name)
    led = work.led(dict.fromkeys(gone, way), agent, f"{mine} is merged into {theirs}", edited)
    if led is None or work.is_settled(agent, tuple(fates)):
        return False
    edited |= led[0]
    return work.propose(
        "merge",
        edited,
        (*fates, *led[1]),
        f"Merge {mine} into {theirs}",
        f"{theirs} says all that {mine} says; links to it, and its own Why and description, go there.",
    )


def _single(work: Work, titles: Titles, path: str, other: str) -> None:
    """Takes single claims out of a memory that another one holds as well, where both speak of one thing."""
    for number in reversed(range(len(work.memories[path].parsed.claims))):
        memory, target = work.memories[path], work.memories[other]
        claims = memory.parsed.claims
        claim = claims[number]
        rest = [at for at in range(len(claims)) if at != number and said(claims[at].text).plain]
        if not rest or memory.type != target.type or not movable(claims, number):
            continue
        found = _holder(work, other, claim)
        if found < 0 or led_in(target.parsed.claims, found) or heading(target.parsed.claims, found):
            continue
        if heading(claims, number) or not same_context(titles, memory, target, [number], [found]):
            continue
        changed = without(memory, [number])
        held_by = reference(other, target.parsed.claims[found])
        fate = Fate("merged", _going(memory, claim), held_by, _TWICE)
        if changed is None or work.is_settled(agent_folder(path), (fate,)):
            continue
        mine, theirs = _labels(memory, target)
        subject = f"Leave to {theirs} what {mine} says too"
        work.propose("merge", {path: changed}, (fate,), subject, f"Both say it: {quoted(claim)}")


def _going(memory: Memory, claim: Claim) -> str:
    """The name of what is gone when a claim goes: of equal ones the last, whichever is taken out."""
    equal = [one for one in memory.parsed.claims if one.key == claim.key]
    return reference(memory.path, max(equal, key=lambda one: one.ordinal))


def _labels(memory: Memory, target: Memory) -> tuple[str, str]:
    """What to call two memories: their names, or their files where they share one name."""
    if memory.name != target.name:
        return memory.name, target.name
    return PurePosixPath(memory.path).stem, PurePosixPath(target.path).stem


def _holder(work: Work, into: str, claim: Claim) -> int:
    """Position of the claim of a body that holds another one: an equal one first; -1 for none."""
    claims = work.memories[into].parsed.claims
    near = work.lookup(into).near(claim)
    equal = [number for number in near if claims[number].key == claim.key]
    if equal:
        return -1 if said(claim.text).dated else equal[0]
    if not said(claim.text).plain:
        return -1
    return next((number for number in near if holds(claims[number], claim)), -1)


def _description(memory: Memory, target: Memory, changed: Memory) -> tuple[Memory, list[Fate]] | None:
    """Where the description of a memory that goes is found again: if nowhere, it becomes a claim."""
    mine = description_claim(memory.description)
    if mine is None or any(mine.key == claim.key for claim in memory.parsed.claims):
        return changed, []
    source = reference(memory.path, mine)
    theirs = description_claim(target.description)
    for claim in (*([theirs] if theirs else []), *changed.parsed.claims):
        if holds(claim, mine):
            return changed, [Fate("merged", source, reference(target.path, claim), _WHOLE)]
    longer = with_after(changed, -1, [Claim(memory.description, "", mine.key)])
    if longer is None:
        return None
    return longer, [Fate("kept", source, reference(target.path, mine))]


def _behind_tags(memory: Memory, position: int) -> int:
    claims = memory.parsed.claims
    while position + 1 < len(claims) and is_tagged(claims[position + 1]):
        position += 1
    return position
