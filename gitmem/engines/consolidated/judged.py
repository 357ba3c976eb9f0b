"""What a model may not do even where each claim has an account: add, show it to others, overspend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from gitmem.core.account import account, path_of, paths_named, references
from gitmem.core.claim import Claim
from gitmem.core.dates import relative_dates
from gitmem.core.facts import added, lacking, unheard
from gitmem.core.memory import parse
from gitmem.core.merge import Files, only
from gitmem.core.text import one_line
from gitmem.core.trailers import Fate
from gitmem.engines.consolidated.answer import Entry
from gitmem.engines.consolidated.fates import Settled, content, quoted, share
from gitmem.engines.engine import ConsolidateInput, DreamChange

PART, PART_WORDS = 0.7, 2
"""Share of a claim's words that the one it was taken from must have, and how many it needs to have."""

_FACTS = 5


def additions(
    given: ConsolidateInput,
    before: Files,
    paths: Sequence[str],
    settled: Settled,
    lines: Sequence[Fate] = (),
    heard: Sequence[str] = (),
) -> list[str]:
    """New claims that say what nothing in the files that change together said.

    Args:
        before: memories before.
        paths: files that change together.
        settled: what became of the claims.
        lines: what became of lines of daily logs that went into these files.
        heard: what these lines say.
    """
    old = references(only(before, paths))
    known = [claim.key for claim in old.values()]
    known += [day for ref, claim in old.items() for day in _days(given, ref, claim)]
    known += heard
    into = {fate.target for fate in (*settled.fates.values(), *lines)}
    # What a memory made of a log says of itself, or of its reasons, is worded by whoever makes it.
    made = {path_of(fate.target) for fate in lines} - before.keys()
    copies = {ref: claim for ref, claim in settled.copies.items() if path_of(ref) in paths}
    found = [f"{path_of(ref)}: {quoted(claim)} is a copy of what stays" for ref, claim in copies.items()]
    for ref, claim in settled.fresh.items():
        path = path_of(ref)
        if path not in paths:
            continue
        facts = added(claim.key, known)
        if facts:
            what = ", ".join(facts[:_FACTS])
            found.append(f"{path}: {quoted(claim)} holds {what}, which nothing there said")
        elif unheard(claim.key, known) or not (
            ref in into or path in made or _is_part(claim, old.values())
        ):
            found.append(f"{path}: {quoted(claim)} says what nothing there said: a dream adds nothing")
    return found


def retyped(
    before: Files, after: Files, paths: Sequence[str], fates: Sequence[Fate], heard: Iterable[str] = ()
) -> list[str]:
    """Memories that take in what is of another type: who may see it is no model's to decide.

    Args:
        paths: files that change together.
        fates: of the claims in them.
        heard: types of the lines of daily logs that went into them.
    """
    types = {parse(path, before[path]).type for path in paths if path in before} | set(heard)
    found = [
        f"{path}: a new memory has the type of those that it is made of ({', '.join(sorted(types))})"
        for path in paths
        if path not in before and path in after and parse(path, after[path]).type not in types
    ]
    for path in paths:
        made = parse(path, after[path]) if path not in before and path in after else None
        if made and not (made.front and made.front.text("name") and made.description):
            found.append(f"{path}: a new memory has a header with name, description and type")
    for fate in fates:
        source, target = path_of(fate.source), path_of(fate.target)
        if target and _is_personal(before, source) and not _is_personal(after, target):
            found.append(f"{target}: it takes in what {source} says of a person, and is of another type")
    return list(dict.fromkeys(found))


def untold_twins(
    before: Files, told: Sequence[Entry], settled: Settled, find: Callable[[str], str]
) -> list[str]:
    """Claims that stood in two memories, and go in one without a word about the other.

    The same words may be said of two things: "it listens on port 8080".

    Args:
        told: the answer.
        find: gives the path that the model means by one.
    """
    beside: dict[str, set[str]] = {}
    for entry in told:
        paths = {find(path) for path in entry.named}
        for path in paths:
            beside.setdefault(path, set()).update(paths, (find(one.into_file) for one in entry.gone))
    standing = references(before)
    return [
        f"{path_of(ref)}: {quoted(standing[ref])} is in {path_of(fate.target)}, too: name both files"
        for ref, fate in settled.fates.items()
        if fate.kind == "kept" and fate.target in standing and ref not in settled.told
        if path_of(fate.target) not in beside.get(path_of(ref), ())
    ]


def overspent(allowance: int | None, settled: Settled) -> list[str]:
    """More claims dropped or superseded than may be.

    Args:
        allowance: how many; None for any number.
    """
    lost = sum(fate.kind in ("superseded", "dropped") for fate in settled.fates.values())
    if allowance is None or lost <= allowance:
        return []
    return [f"{lost} claims are dropped or superseded, and {max(0, allowance)} may be: leave the others"]


def lost(before: Files, changes: Sequence[DreamChange]) -> list[str]:
    """What the account of each change, from its trees alone, says is lost."""
    state = dict(before)
    for change in changes:
        touched = {*change.edits, *paths_named(change.fates)}
        then = only(state, touched)
        change.apply_to(state)
        found = account(then, only(state, touched), change.fates).unaccounted
        if found:
            return [f"{one.source}: “{one_line(one.text, 120)}”: {one.problem}" for one in found]
    return []


def _is_part(claim: Claim, sources: Iterable[Claim]) -> bool:
    """Whether a claim that took no other's place is a part of one that was there, or a heading."""
    if claim.text.startswith("#"):
        return True
    said = len(content(claim.key)) >= PART_WORDS
    return said and any(
        share(claim.key, one.key) >= PART and not lacking(claim.key, one.key) for one in sources
    )


def _days(given: ConsolidateInput, ref: str, claim: Claim) -> list[str]:
    """Days that the relative dates of a claim mean."""
    said = given.said.get(ref)
    if said is None:
        return []
    return [phrase.date.isoformat() for phrase in relative_dates(claim.text, said) if phrase.date]


def _is_personal(files: Files, path: str) -> bool:
    return parse(path, files[path]).type == "user"
