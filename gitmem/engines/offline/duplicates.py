"""What one agent's memories say twice, or take back: merged where that is proved, else asked.

A memory that another holds wholly goes into it; of a claim in two memories one stays, with a link left
where the other was; a later claim that amends an earlier one takes its place. What the words do not decide
is a question: a change that lands only where a person accepts just that one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import PurePosixPath

from gitmem.core import facts
from gitmem.core.account import reference
from gitmem.core.claim import Claim
from gitmem.core.memory import Memory, description_claim, reword, with_after, without
from gitmem.core.names import agent_folder
from gitmem.core.trailers import ASKING, Fate, FateKind
from gitmem.engines.offline.equivalence import (
    PLAIN_ITEM,
    Titles,
    heading,
    holds,
    is_tagged,
    led_in,
    movable,
    quote,
    said,
    same_context,
)
from gitmem.engines.offline.links import Way, inline_links, links, slug, spoken
from gitmem.engines.offline.pairs import Pair, says, why_asked
from gitmem.engines.offline.work import ConsolidationWork

REPEATED = 20
"""Claims that stand twice in one memory and are taken out in one dream; each is a commit to review."""

_SHOWN = 24
"""Characters of a claim in the subject of a question."""

_WHOLE = "the other memory says all of it"
_TWICE = "it stands twice"


def merge_duplicates(work: ConsolidationWork, agent: str) -> None:
    """Proposes to merge what an agent's memories say twice, until another night would find nothing more."""
    repeated: Counter[str] = Counter()
    changed: frozenset[str] | None = None
    made = -1
    while made < len(work.changes):
        made = len(work.changes)
        _merge_once(work, agent, repeated, changed)
        # All others were held against one another by now.
        changed = frozenset(work.touched())


def _merge_once(
    work: ConsolidationWork, agent: str, repeated: Counter[str], changed: frozenset[str] | None
) -> None:
    # No memory is merged away in the dream that makes it.
    hot = [memory for memory in work.hot(agent) if memory.path in work.files]
    titles = Titles(hot)
    sharing_with = _sharing_a_sentence(hot)
    for memory in hot:
        while repeated[memory.path] < REPEATED and _repeat(work, memory.path):
            repeated[memory.path] += 1
    # What says less goes first, and of equal ones the later name: `no-mocks-2` into `no-mocks`.
    paths = [memory.path for memory in hot]
    paths.sort(key=lambda path: PurePosixPath(path).stem, reverse=True)
    paths.sort(key=lambda path: len(work.memories[path].parsed.claims))
    for path in paths:
        for other in _candidates(work, sharing_with, path, changed):
            if _whole(work, titles, path, other):
                break
    for path in paths:
        for other in _candidates(work, sharing_with, path, changed):
            if other in work.memories and path in work.memories:
                _single(work, titles, path, other)


MANY = 20
"""Memories that share one sentence beyond which it is a turn of phrase and proposes nothing."""


def _sharing_a_sentence(memories: list[Memory]) -> dict[str, set[str]]:
    """Memory to those that have a sentence of it, or a claim, their descriptions among them."""
    having: dict[object, list[str]] = {}
    for memory in memories:
        said_there = {claim.key for claim in memory.claims}
        for key in said_there.union(*(said(claim.text).sentences for claim in memory.claims)):
            having.setdefault(key, []).append(memory.path)
    found: dict[str, set[str]] = {}
    for paths in having.values():
        for path in paths if 1 < len(paths) <= MANY else ():
            found.setdefault(path, set()).update(paths)
    return found


def _candidates(
    work: ConsolidationWork, sharing_with: Mapping[str, set[str]], path: str, changed: frozenset[str] | None
) -> Iterator[str]:
    """Memories that share a sentence with this one, most first; one of each pair `changed`, unless None."""
    if path not in work.memories:
        return
    near = sharing_with.get(path, set())
    if changed is not None and path not in changed:
        near = near & changed
    known = [other for other in near if other != path and other in work.memories]
    yield from sorted(known, key=lambda other: (-len(work.memories[other].parsed.claims), other))


def _repeat(work: ConsolidationWork, path: str) -> bool:
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
            if not same or led_in(claims, first) or not _under_one(claims, first, number):
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
                f"{memory.name} says it twice: {quote(claim)}",
            )
    return False


def _under_one(claims: tuple[Claim, ...], first: int, again: int) -> bool:
    """Whether both stand under one heading, or the first says itself what its heading says."""
    here, there = heading(claims, first), heading(claims, again)
    spelled_out = facts.about(here) <= facts.about(claims[first].key)
    return here == there or (claims[first].key == claims[again].key and spelled_out)


def _whole(work: ConsolidationWork, titles: Titles, path: str, into: str) -> bool:
    """Takes out a memory all of whose claims another one holds."""
    memory, target = work.memories[path], work.memories[into]
    if memory.type != target.type:
        return False
    fates: list[Fate] = []
    pairs: list[tuple[int, int]] = []
    moved: list[tuple[int, list[Claim]]] = []
    hook, summed_up = description_claim(target.description), list[int]()
    for number, claim in enumerate(memory.parsed.claims):
        found = _holder(work, into, claim)
        if found >= 0:
            other = target.parsed.claims[found]
            fates.append(Fate("merged", reference(path, claim), reference(into, other), _WHOLE))
            pairs.append((number, found))
        elif hook is not None and said(claim.text).plain and holds(hook, claim):
            fates.append(Fate("merged", reference(path, claim), reference(into, hook), _WHOLE))
            summed_up.append(number)
        elif is_tagged(claim) and pairs:
            moved.append((pairs[-1][1], [replace(claim, ordinal=0)]))
        else:
            return False
    held = [*summed_up, *(number for number, _ in pairs)]
    if not any(said(memory.parsed.claims[number].text).plain for number in held):
        return False
    if not same_context(titles, memory, target, held, [found for _, found in pairs]):
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


def _single(work: ConsolidationWork, titles: Titles, path: str, other: str) -> None:
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
        changed = _with_link(memory, number, target)
        held_by = reference(other, target.parsed.claims[found])
        fate = Fate("merged", _going(memory, claim), held_by, _TWICE)
        if changed is None or work.is_settled(agent_folder(path), (fate,)):
            continue
        mine, theirs = _labels(memory, target)
        subject = f"Leave to {theirs} what {mine} says too"
        added = work.propose("merge", {path: changed}, (fate,), subject, f"Both say it: {quote(claim)}")
        if work.full and not added:
            return


def relate(
    work: ConsolidationWork,
    pairs: Iterable[Pair],
    said_at: Mapping[str, datetime],
    authors: Mapping[str, str],
    *,
    asking: bool,
) -> list[Pair]:
    """Proposes what becomes of claims that say the same, or of which one amends another.

    Args:
        pairs: best first.
        said_at: claim to when it was first said.
        authors: claim to who said it first.
        asking: put the questions alone; else all but these.

    Returns:
        the pairs of which something was proposed, a change each.
    """
    made: list[Pair] = []
    for pair in pairs:
        if (pair.judgement.kind == "ask") == asking and not (asking and len(made) >= work.most // 2):
            made += [pair] if _settle(work, pair, said_at, authors) else []
    return made


def _settle(
    work: ConsolidationWork, pair: Pair, said_at: Mapping[str, datetime], authors: Mapping[str, str]
) -> bool:
    """Proposes, or asks, that one claim of a pair goes, with what explains it; the other stays as it is."""
    here, there = _now(work, *pair.gone), _now(work, *pair.stays)
    if here is None or there is None:
        return False
    (memory, number), (target, found) = here, there
    claims, stays = memory.parsed.claims, target.parsed.claims[found]
    claim = claims[number]
    source, end = _going(memory, claim), reference(target.path, stays)
    kind = pair.judgement.kind
    tags = list(range(number + 1, _behind_tags(memory, number) + 1))
    standing = {one.key: reference(target.path, one) for one in target.parsed.claims}
    explained = bool(tags) and (memory is target or any(claims[at].key not in standing for at in tags))
    # A line with the list behind it is one.
    leads = not claim.item and any(one.item for one in claims[number + 1 : number + 2])
    bound = leads or led_in(claims, number) or not work.stands_alone(source, end)
    if kind != "amends" and (tags or bound) and pair.judgement.first_goes and says(claim.key, stays.key):
        # What a Why explains stays, where the other one says no more.
        judgement = replace(pair.judgement, first_goes=False)
        turned = replace(pair, gone=pair.stays, stays=pair.gone, judgement=judgement)
        return _settle(work, turned, said_at, authors)
    # What a line before its list narrows does not say what stands by itself.
    narrowed = kind != "ask" and led_in(target.parsed.claims, found)
    reworded_twice = pair.wording and not work.stands_alone(end, "")
    if bound or narrowed or (explained and memory is target) or reworded_twice:
        return False
    # A Why that the other one does not give stays, behind a link to it.
    tags = [] if explained else tags
    fate: FateKind = "merged" if kind == "same" else "superseded"
    told = [_told(one, name, said_at, authors) for one, name in ((claim, source), (stays, end))]
    why = _TWICE if kind == "same" else f"{told[1][1]}: {quote(stays)}"
    fates = [Fate(fate, source, end, why)]
    fates += [
        Fate("merged", reference(memory.path, claims[at]), standing[claims[at].key], _TWICE) for at in tags
    ]
    agent = agent_folder(memory.path)
    # In whichever form it was turned down or waits, it is the same question.
    like = [replace(fates[0], kind=other) for other in ("merged", "superseded")]
    if any(work.is_settled(agent, (one,)) for one in like):
        return False
    left = [at for at in range(len(claims)) if at not in (number, *tags)]
    edited: dict[str, Memory | None]
    hook = description_claim(memory.description)
    told_there = (claim.key, target.description, *standing)
    unsaid = hook is not None and not any(facts.holds(one, hook.key) for one in told_there)
    if memory is target or explained or unsaid or any(_speaks(claims[at]) for at in left):
        changed = (
            _with_link(memory, number, target, tags)
            if memory is not target
            else without(memory, [number, *tags])
        )
        if changed is None:
            return False
        edited = {memory.path: changed}
    else:
        gone = [reference(memory.path, claims[at]) for at in left]
        gone += [reference(memory.path, hook)] if hook and hook.key != claim.key else []
        fates += [Fate("superseded", one, end, why) for one in gone]
        edited = {memory.path: None}
        names = {slug(name) for name in (memory.name, PurePosixPath(memory.path).stem)}
        names -= {slug(name) for name in (target.name, PurePosixPath(target.path).stem)}
        way = Way(spoken(target), PurePosixPath(target.path).name)
        led = work.led(
            dict.fromkeys(names, way), agent, f"{memory.name} is replaced by {target.name}", edited
        )
        if led is None:
            return False
        edited |= led[0]
        fates += led[1]
    if work.is_settled(agent, tuple(fates)):
        return False
    if pair.wording:
        said_anew = _in_other_words(edited.get(target.path, target), stays, pair.wording)
        if said_anew is None:
            return False
        edited[target.path], anew = said_anew
        fates = [replace(one, target=anew) if one.target == end else one for one in fates]
        fates.append(Fate("merged", end, anew, "both are said in one"))
    mine, theirs = _labels(memory, target)
    both = "\n".join(filter(None, (f"{mine}: {told[0][0]}", f"{theirs}: {told[1][0]}", pair.said)))
    if kind == "same":
        return work.propose("merge", edited, tuple(fates), f"Leave to {theirs} what {mine} says too", both)
    if kind == "amends":
        subject = f"Let {theirs} supersede what {mine} said"
        return work.propose("supersede", edited, tuple(fates), subject, both)
    instead = f"what {mine} says" if memory is not target else f"another claim of {mine}"
    subject = f"{ASKING}{quote(stays, _SHOWN)} stands for {instead}"
    why = why_asked(pair.judgement, claim.key, stays.key)
    why = why[:1].upper() + why[1:]
    hint = "Accept: it does, both say the same or it is newer. Reject: they are two things, and both stay."
    return work.propose("question", edited, tuple(fates), subject, f"{why}.\n{both}\n{hint}")


def _in_other_words(memory: Memory | None, claim: Claim, wording: str) -> tuple[Memory, str] | None:
    """A memory with one of its claims in other words, and what that is called; None where it cannot be."""
    at = [at for at, one in enumerate(memory.parsed.claims) if one.key == claim.key] if memory else []
    if memory is None or len(at) <= claim.ordinal:
        return None
    number, text = at[claim.ordinal], claim.text
    lead = text[: len(text) - len(PLAIN_ITEM.sub("", text))] if claim.item else ""
    changed = reword(memory, {number: f"{lead}{wording}"})
    if changed is None or len(changed.parsed.claims) != len(memory.parsed.claims):
        return None
    return changed, reference(memory.path, changed.parsed.claims[number])


def _now(work: ConsolidationWork, memory: Memory, number: int) -> tuple[Memory, int] | None:
    """Where a claim of a memory stands after the changes before; None where it does no more."""
    now, claim = work.memories.get(memory.path), memory.parsed.claims[number]
    at = [at for at, one in enumerate(now.parsed.claims) if one.key == claim.key] if now else []
    return (now, at[claim.ordinal]) if now and len(at) > claim.ordinal else None


def _told(
    claim: Claim, name: str, said_at: Mapping[str, datetime], authors: Mapping[str, str]
) -> tuple[str, str]:
    """A claim with when and by whom it was said, and these alone, for whoever decides."""
    when, who = said_at.get(name), authors.get(name)
    parts = [f"on {when.date().isoformat()}"] if when else []
    parts += [f"by {who}"] if who else []
    when_and_who = f"said {' '.join(parts)}" if parts else "said nobody knows when"
    return f"{quote(claim)} ({when_and_who})", when_and_who


def _speaks(claim: Claim) -> bool:
    """Whether a claim says something by itself: no heading, no Why of another one."""
    return not is_tagged(claim) and not claim.text.lstrip().startswith("#")


def _with_link(memory: Memory, number: int, target: Memory, tags: Sequence[int] = ()) -> Memory | None:
    """A memory with a link where one of its claims was, unless it leads to the other memory already."""
    claims = memory.parsed.claims
    known = {slug(target.name), slug(PurePosixPath(target.path).stem)}
    others = [claim.text for at, claim in enumerate(claims) if at not in (number, *tags)]
    explained = number + 1 not in tags and any(map(is_tagged, claims[number + 1 : number + 2]))
    led = {slug(link) for text in others for link in (*links(text), *inline_links(text))}
    if known & led and not explained:
        return without(memory, [number, *tags])
    text = claims[number].text
    lead = text[: len(text) - len(PLAIN_ITEM.sub("", text))] if claims[number].item else ""
    linked = reword(memory, {number: f"{lead}See [[{spoken(target)}]]."})
    return without(linked, tags) if linked and tags else linked


def _going(memory: Memory, claim: Claim) -> str:
    """The name of what is gone when a claim goes: of equal ones the last, whichever is taken out."""
    equal = [one for one in memory.parsed.claims if one.key == claim.key]
    return reference(memory.path, max(equal, key=lambda one: one.ordinal))


def _labels(memory: Memory, target: Memory) -> tuple[str, str]:
    """What to call two memories: their names, or their files where they share one name."""
    if memory.name != target.name:
        return memory.name, target.name
    return PurePosixPath(memory.path).stem, PurePosixPath(target.path).stem


def _holder(work: ConsolidationWork, into: str, claim: Claim) -> int:
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
