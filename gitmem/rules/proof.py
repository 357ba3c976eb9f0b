"""The proof of a dream: what became of every claim, worked out from the trees, whatever the commits say."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from gitmem.core.account import account, claims_at, path_of, proposals, references
from gitmem.core.claim import Claim
from gitmem.core.merge import Files
from gitmem.core.text import counted
from gitmem.core.trailers import Fate
from gitmem.rules.account import (
    DreamGround,
    Mark,
    ReplayedCommit,
    agent_of,
    crowd,
    fewer,
    given_up,
    losses,
    misheard,
    where_they_stand,
)
from gitmem.rules.invention import UNSEEN, inventions, refiled
from gitmem.rules.profiles import collisions, judge_files
from gitmem.rules.rule import Finding, Level


def prove(before: Files, steps: Sequence[ReplayedCommit], ground: DreamGround) -> tuple[Finding, ...]:
    """Judges a dream: each of its steps, and all of them together.

    Args:
        before: the tree that the dream left, or last took in; what no step changes or names may be
            left out.
        steps: its commits, oldest first.
        ground: what is known besides.

    Returns:
        What it could not prove, in the order of the steps and the whole last; nothing where it may be
        shown to a person. What a later commit by hand put right is no failure.

    Raises:
        DetectorUnavailable: nothing can be said about secrets.
    """
    end = ends(before, steps) if ground.end is None else ground.end
    found: list[Finding] = []
    for number, step in enumerate(steps):
        later = [one.after for one in steps[number + 1 :] if one.person]
        if later or ground.end is not None:
            later.append(end)
        found += (failure for failure in _step(step, ground) if not _put_right(failure, before, later))
    told = {_what(failure) for failure in found} | set(_by_hand(steps))
    found += [failure for failure in _whole(before, end, steps, ground) if _what(failure) not in told]
    found += oddities(ground.odd)
    fresh = costs(before, steps, end)
    if ground.limit is not None and len(fresh) > ground.limit:
        # Memory must not be consolidated away.
        much = counted(len(fresh), "claim")
        what = f"it drops or supersedes {much}: {ground.limit} are allowed, a tenth of all"
        found.append(Finding("", 1, "budget", what))
    return tuple(dict.fromkeys(permit(found, ground.allow, "taught", UNSEEN)))


def ends(before: Files, steps: Sequence[ReplayedCommit]) -> dict[str, bytes]:
    """The memories that steps in a row come to."""
    files = dict(before)
    for step in steps:
        for path in step.before.keys() - step.after.keys():
            files.pop(path, None)
        files.update(step.after)
    return files


def costs(before: Files, steps: Sequence[ReplayedCommit], end: Files) -> frozenset[Mark]:
    """The claims that a dream gives up, all of it or a step alone, as each may be accepted.

    Not those that a person took away by hand, nor those that stand in the end.
    """
    given = set(given_up(before, end, _placed(before, end, steps)))
    hand: set[Mark] = set()
    for step in steps:
        gone = given_up(step.before, step.after, step.fates, lost=step.person)
        (hand if step.person else given).update(gone)
    return frozenset(given - hand - {(agent_of(path), claim.key) for path, claim in _claims(end)})


def _step(step: ReplayedCommit, ground: DreamGround) -> Iterator[Finding]:
    if crowded := crowd(step):
        yield from (replace(failure, commit=step.commit) for failure in crowded)
        return
    found: list[Finding] = []
    if not step.person or step.fates:
        found += losses(step.before, step.after, _fates(step), related=not step.person)
    found += misheard(step)
    if not step.person:
        found += fewer(step.before, step.after, step.fates)
        found += (_theirs(one, step) for one in (*inventions(step, ground), *refiled(step)))
    found += _stored(step, ground)
    told: set[tuple[str, str, str]] = set()
    for failure in found:
        key = (failure.path, failure.rule, failure.claim or failure.message)
        if key not in told:
            told.add(key)
            yield replace(failure, commit=step.commit)


def _stored(step: ReplayedCommit, ground: DreamGround) -> Iterator[Finding]:
    """What memory may not hold; where a person puts a file is theirs to say."""
    for path in step.foreign if not (step.person or step.squashed) else ():
        yield Finding(path, 1, "place", "it is no memory, and a dream writes nothing else")
    for found in judge_files("dream", step.before, step.after, ground.allow):
        if found.rule != "place" or not (step.person or step.squashed):
            yield found


def _theirs(found: Finding, step: ReplayedCommit) -> Finding:
    """A finding of what was made up, as a notice where others may answer for it in a squash."""
    mine = found.claim in step.named if found.claim else found.path in map(path_of, step.named)
    what = f"others, whose commits were squashed with a dream's, answer for it: {found.message}"
    told = replace(found, rule="unchecked", level="notice", message=what)
    return told if step.squashed and not mine and found.rule != "place" else found


def _whole(
    before: Files, end: Files, steps: Sequence[ReplayedCommit], ground: DreamGround
) -> Iterator[Finding]:
    """What no step shows by itself: a chain that breaks later, and what a merge did in between."""
    fates = _all_fates(steps) if ground.end is None else _placed(before, end, steps)
    yield from losses(before, end, fates, related=False)
    new = {path for step in steps if not step.person for path in step.after} - before.keys()
    new &= end.keys() - ground.standing
    yield from collisions(new, (ground.standing | end.keys()) - (before.keys() - end.keys()) - new)
    if ground.end is None:
        return
    # What the steps brought in was judged there; the rest came with a merge that is none of them.
    known = {(agent_of(path), claim.key) for path, claim in _claims(before)}
    known |= {(agent_of(path), claim.key) for step in steps for path, claim in _claims(step.after)}
    fresh = sorted({path for path, claim in _claims(end) if (agent_of(path), claim.key) not in known})
    merged = ReplayedCommit(
        {path: before[path] for path in fresh if path in before}, {path: end[path] for path in fresh}, ()
    )
    earlier = {path: data for step in steps for path, data in step.after.items() if path in fresh}
    merged = replace(merged, before={**earlier, **merged.before})
    yield from inventions(merged, ground)
    judged = {_what(one) for step in steps for one in refiled(step)}
    everything = ReplayedCommit(before, end, tuple(fates))
    yield from (one for one in refiled(everything) if _what(one) not in judged)
    yield from _stored(merged, ground)


def _all_fates(steps: Sequence[ReplayedCommit]) -> list[Fate]:
    return [fate for step in steps for fate in _fates(step)]


def _placed(before: Files, end: Files, steps: Sequence[ReplayedCommit]) -> list[Fate]:
    """The same, where their memories were paged out or brought back by what a merge took in."""
    return [*where_they_stand(_all_fates(steps), before, end)]


def _fates(step: ReplayedCommit) -> tuple[Fate, ...]:
    """What a step says of claims; what a person reworded by hand went into the new words."""
    if not (step.person or step.squashed):
        return step.fates
    said = {fate.source for fate in step.fates}
    made = (one for one in proposals(step.before, step.after) if one.kind == "changed")
    by_hand = (one for one in made if one.after not in step.named and one.before not in said)
    return (*step.fates, *(Fate("superseded", one.before, one.after, "by hand") for one in by_hand))


def _claims(files: Files) -> Iterator[tuple[str, Claim]]:
    for ref, claim in references(files).items():
        yield path_of(ref), claim


def _by_hand(steps: Sequence[ReplayedCommit]) -> Iterator[tuple[str, str]]:
    """What people took away on the branch: a record of its own, which is told elsewhere."""
    for step in steps:
        if step.person and not step.fates:
            for lost in account(step.before, step.after, ()).unaccounted:
                yield "account", lost.source.rpartition("#")[2]


def _what(failure: Finding) -> tuple[str, str]:
    """What makes two failures one: a loss is one wherever it shows."""
    rule = "account" if failure.rule == "merged" else failure.rule
    return rule, failure.claim.rpartition("#")[2] or f"{failure.path} {failure.message}"


def _put_right(failure: Finding, before: Files, later: Sequence[Files]) -> bool:
    """Whether people, or a merge, took back what a step did; whether that lasted shows in the whole.

    Args:
        later: what people made of it afterwards, and the end; nothing where nobody touched the branch.
    """
    if not later:
        return False
    if failure.rule in ("account", "merged") and failure.claim:
        digits, path = failure.claim.rpartition("#")[2], failure.path
        return any(
            path in files and digits in {claim.short for claim in claims_at(path, files[path])}
            for files in later
        )
    end = {path: data for path, data in later[-1].items() if path == failure.path}
    if failure.rule in ("account", "invented") and not failure.claim:
        # Of frontmatter; what it is worth shows in both ends alone.
        return all(_what(one) != _what(failure) for one in refiled(ReplayedCommit(before, end, ())))
    if failure.rule in ("invented", UNSEEN):
        return failure.claim not in references(end)
    known = failure.path in before or end
    return bool(failure.rule == "place" and known and end.get(failure.path) == before.get(failure.path))


def permit(findings: Iterable[Finding], allow: Collection[str], kind: str, rule: str) -> list[Finding]:
    """Lets a person answer for findings of one rule: all of them, by one word that no other ones have.

    Args:
        allow: words that a person allowed.
        kind: what the word begins with.
        rule: that of the findings; others stay as they are.

    Returns:
        All of them, those of the rule with the word that lets them pass, or as notices where it is allowed.
    """
    found = list(findings)
    mine = sorted({one.claim or one.message for one in found if one.rule == rule})
    digest = hashlib.sha256("\n".join(mine).encode("utf-8", "surrogateescape")).hexdigest()[:12]
    word = f"{kind}-{len(mine)}-{digest}"
    level: Level = "notice" if word in allow else "error"
    return [replace(one, level=level, fingerprints=(word,)) if one.rule == rule else one for one in found]


def oddities(odd: Mapping[str, str]) -> Iterator[Finding]:
    """Tells what is no plain file."""
    for path, what in sorted(odd.items()):
        yield Finding(path, 1, "place", what)
