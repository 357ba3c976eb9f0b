"""Duplicates of one agent: memories that another holds wholly, and claims that stand twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import PurePosixPath

from gitmem.engines.offline.consolidate_edit import with_after, without
from gitmem.engines.offline.consolidate_links import spoken
from gitmem.engines.offline.consolidate_same import COVERED, NOT, holds, is_tagged, said, sequence
from gitmem.engines.offline.consolidate_work import Work
from gitmem.memory.account import reference
from gitmem.memory.claim import Claim
from gitmem.memory.facts import lacking, stem
from gitmem.memory.memory import Memory, description_claim
from gitmem.memory.trailers import Fate

_WHOLE = "the other memory says all of it"
_TWICE = "it stands twice"


# Words in names that tell two copies apart and nothing else.
_GENERIC = frozenset(
    map(stem, ["copy", "duplicate", "dup", "note", "memory", "feedback", "project", "user", "reference"])
)


def merge_duplicates(work: Work, agent: str) -> None:
    """Proposes to merge what an agent's memories say twice."""
    by_sentence = _by_sentence(work.hot(agent))
    for memory in work.hot(agent):
        while _repeat(work, agent, memory.path):
            pass
    # What says less goes first, and of equal ones the later name: `no-mocks-2` into `no-mocks`.
    paths = [memory.path for memory in work.hot(agent)]
    paths.sort(key=lambda path: PurePosixPath(path).stem, reverse=True)
    paths.sort(key=lambda path: len(work.memories[path].parsed.claims))
    for path in paths:
        for other in _candidates(work, by_sentence, path):
            if _whole(work, agent, path, other):
                break
    for path in paths:
        for other in _candidates(work, by_sentence, path):
            if other in work.memories and path in work.memories:
                _single(work, agent, path, other)


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


def _repeat(work: Work, agent: str, path: str) -> bool:
    """Takes out one claim that stands twice in one memory, under one heading."""
    memory = work.memories[path]
    claims = memory.parsed.claims
    for number, claim in enumerate(claims):
        if not _movable(claims, number):
            continue
        for first, other in enumerate(claims):
            same = first != number and holds(other, claim) and (other.key != claim.key or first < number)
            if not same or _heading(claims, first) != _heading(claims, number) or _led_in(claims, first):
                continue
            changed = without(memory, [number])
            if changed is None:
                continue
            # Which of two equal claims goes does not matter: the first keeps the identity.
            fate = Fate("merged", reference(path, claim), reference(path, other), _TWICE)
            if other.ordinal > claim.ordinal or work.is_settled(agent, (fate,)):
                continue
            work.propose(
                "merge",
                {path: changed},
                (fate,),
                f"Say it once in {memory.name}",
                f"{memory.name} says it twice: {_quoted(claim)}",
            )
            return True
    return False


def _whole(work: Work, agent: str, path: str, into: str) -> bool:
    """Takes out a memory all of whose claims another one holds."""
    memory, target = work.memories[path], work.memories[into]
    if memory.type != target.type:
        return False
    fates: list[Fate] = []
    pairs: list[tuple[int, int]] = []
    moved: list[tuple[int, list[Claim]]] = []
    for number, claim in enumerate(memory.parsed.claims):
        found = _holder(target, claim)
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
    if not _same_context(memory, target, [number for number, _ in pairs], [found for _, found in pairs]):
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
    new = spoken(target)
    names = {
        name: new for name in (memory.name, PurePosixPath(path).stem) if name not in (new, target.name)
    }
    led = work.renamed_links(names, f"{mine} is merged into {theirs}", edited)
    if led is None or work.is_settled(agent, tuple(fates)):
        return False
    edited |= led[0]
    work.propose(
        "merge",
        edited,
        (*fates, *led[1]),
        f"Merge {mine} into {theirs}",
        f"{theirs} says all that {mine} says; links to it, and its own Why and description, go there.",
    )
    return True


def _single(work: Work, agent: str, path: str, other: str) -> None:
    """Takes single claims out of a memory that another one holds as well, where both speak of one thing."""
    for number in reversed(range(len(work.memories[path].parsed.claims))):
        memory, target = work.memories[path], work.memories[other]
        claims = memory.parsed.claims
        claim = claims[number]
        rest = [at for at in range(len(claims)) if at != number and said(claims[at].text).plain]
        if not rest or memory.type != target.type or not _movable(claims, number):
            continue
        found = _holder(target, claim)
        if found < 0 or _led_in(target.parsed.claims, found) or _heading(target.parsed.claims, found):
            continue
        if _heading(claims, number) or not _same_context(memory, target, [number], [found]):
            continue
        changed = without(memory, [number])
        fate = Fate("merged", reference(path, claim), reference(other, target.parsed.claims[found]), _TWICE)
        if changed is None or work.is_settled(agent, (fate,)):
            continue
        mine, theirs = _labels(memory, target)
        subject = f"Leave to {theirs} what {mine} says too"
        work.propose("merge", {path: changed}, (fate,), subject, f"Both say it: {_quoted(claim)}")


def _labels(memory: Memory, target: Memory) -> tuple[str, str]:
    """What to call two memories: their names, or their files where they share one name."""
    if memory.name != target.name:
        return memory.name, target.name
    return PurePosixPath(memory.path).stem, PurePosixPath(target.path).stem


def _holder(target: Memory, claim: Claim) -> int:
    """Position of the claim of a body that holds another one: an equal one first; -1 for none."""
    claims = target.parsed.claims
    equal = [number for number, other in enumerate(claims) if other.key == claim.key]
    if equal:
        return -1 if said(claim.text).dated else equal[0]
    if not said(claim.text).plain:
        return -1
    return next((number for number, other in enumerate(claims) if holds(other, claim)), -1)


def _same_context(memory: Memory, target: Memory, mine: list[int], theirs: list[int]) -> bool:
    """Whether claims mean the same in both memories: "runs on 8080" may be said of two services.

    So it is where neither name nor description of one holds a word that is foreign to the other, or where
    the claims themselves say most of what their description says.
    """
    pairs = ((memory, target, mine), (target, memory, theirs))
    return all(_speaks_for_itself(here, there, numbers) for here, there, numbers in pairs)


def _speaks_for_itself(here: Memory, there: Memory, numbers: list[int]) -> bool:
    described, named = _words(here.description), _named(here)
    known = _words(there.description) | _named(there)
    known = known.union(*(said(claim.text).words for claim in there.parsed.claims))
    if not (described | named) - known:
        return True
    spoken = frozenset().union(*(said(here.parsed.claims[number].text).words for number in numbers))
    title = described or named
    text = " ".join([there.description, *(claim.key for claim in there.parsed.claims)])
    facts = [fact for fact in lacking(here.description, text) if fact != "a negation"]
    return len(title & spoken) >= COVERED * len(title) and not facts


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


def _movable(claims: tuple[Claim, ...], number: int) -> bool:
    """Whether a claim stands for itself: nothing leads into it and nothing behind it explains it."""
    follows = claims[number + 1] if number + 1 < len(claims) else None
    explained = follows is not None and is_tagged(follows)
    return said(claims[number].text).plain and not explained and not _led_in(claims, number)


def _led_in(claims: tuple[Claim, ...], number: int) -> bool:
    """Whether a list item hangs on a line before its list, as in `On Mondays:`."""
    if not claims[number].item:
        return False
    while number >= 0 and claims[number].item:
        number -= 1
    return number >= 0 and claims[number].text.rstrip(" *_").endswith(":")


def _heading(claims: tuple[Claim, ...], number: int) -> str:
    """The heading that a claim stands under; empty for none."""
    return next((c.key for c in reversed(claims[:number]) if c.text.lstrip().startswith("#")), "")


def _named(memory: Memory) -> frozenset[str]:
    """The words of a name that say what the memory is about."""
    words = _words(memory.name.replace("-", " ").replace("_", " "))
    return frozenset(word for word in words if len(word) > 2 and word.isalpha()) - _GENERIC


def _words(text: str) -> frozenset[str]:
    return frozenset(word for word in sequence(text) if word != NOT)


def _quoted(claim: Claim) -> str:
    line = " ".join(claim.key.split())
    return f"“{line}”" if len(line) <= 200 else f"“{line[:200].rsplit(' ', 1)[0]} …”"
