"""Proposes what can be proved about a scope's memories, and lists for a person what cannot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime

from gitmem.engines.engine import ConsolidateInput, Consolidation, Step, Tell, untold
from gitmem.engines.offline.consolidate_edit import described, reworded
from gitmem.engines.offline.consolidate_links import Names, links
from gitmem.engines.offline.consolidate_merge import merge_duplicates
from gitmem.engines.offline.consolidate_same import said
from gitmem.engines.offline.consolidate_work import Work, with_links
from gitmem.memory import index
from gitmem.memory.account import reference
from gitmem.memory.claim import Claim
from gitmem.memory.dates import annotate, relative_dates
from gitmem.memory.encoding import decode
from gitmem.memory.facts import lacking
from gitmem.memory.limits import INDEX_BYTES, INDEX_LINES, MEMORY_BYTES
from gitmem.memory.memory import Memory
from gitmem.memory.trailers import Fate

ALIKE = 0.6
"""Share of words in common from which two claims are shown to a person side by side."""

COMMON = 12
"""Claims that a word may stand in and still be looked up when claims that are alike are sought."""

LISTED = 20
"""Notes of one kind that are listed; the rest is counted."""


def consolidate(given: ConsolidateInput, tell: Tell = untold) -> Consolidation:
    """Merges duplicates, annotates relative dates, repairs links; lists the rest.

    Args:
        given: the scope's tree, and when claims were first said.
        tell: is told of each phase.

    Returns:
        Changes in the order in which they apply: dates, links, merges. No index is touched.
    """
    tell(Step("consolidate"))
    work = Work(given.files, given.agents, given.waiting)
    # Dates come first: "yesterday" said on two days is not said twice.
    for path in work.paths():
        _annotate(work, path, given.said)
    names = Names(work.memories)
    for path in work.paths():
        _repair_links(work, path, names)
    for agent in work.agents():
        merge_duplicates(work, agent)
    for agent in work.agents():
        _note_alike(work, agent)
        _note_limits(work, agent, given.files)
    return Consolidation(tuple(work.changes), _shortened(work.notes))


def _annotate(work: Work, path: str, said_at: Mapping[str, datetime]) -> None:
    """One change for each claim that holds a relative date which means one day."""
    for number in range(len(work.memories[path].claims)):
        memory = work.memories[path]
        body = memory.parsed.claims
        claim = memory.claims[number]
        if not relative_dates(claim.text):
            continue
        source = reference(path, claim)
        said_on = said_at.get(source)
        phrases = relative_dates(claim.text, said_on)
        open_ones = [phrase.text for phrase in phrases if phrase.date is None]
        if open_ones:
            why = "is unclear" if said_on else "was said nobody knows when"
            work.notes.append(f"date: “{_flat(open_ones[0])}” in {memory.name} {why}")
        if said_on is None or len(open_ones) == len(phrases):
            continue
        new = annotate(claim.text, said_on)
        in_body = number < len(body)
        changed = reworded(memory, {number: new}) if in_body else described(memory, " ".join(new.split()))
        if changed is None or len(changed.claims) != len(memory.claims):
            continue
        reason = f"said on {said_on.date().isoformat()}"
        fate = Fate("merged", source, reference(path, changed.claims[number]), reason)
        if work.is_settled(path.split("/")[0], (fate,)) or lacking(claim.key, changed.claims[number].key):
            continue
        days = ", ".join(f"“{_flat(p.text)}” is {p.date.isoformat()}" for p in phrases if p.date)
        work.propose(
            "date", {path: changed}, (fate,), f"Date what {memory.name} says", f"{days}: {reason}."
        )


def _repair_links(work: Work, path: str, names: Names) -> None:
    """One change for each claim that links to a name that no memory has, and that one must have meant."""
    memory = work.memories[path]
    dangling = [link for claim in memory.claims for link in links(claim.text) if not names.leads(link)]
    for link in dict.fromkeys(dangling):
        memory = work.memories[path]
        meant = names.meant(link)
        turned = with_links(memory, {link: meant}, f"no memory is named {link}") if meant else None
        if turned is None or not turned[1]:
            work.notes.append(f"link: [[{link}]] in {memory.name} leads to no memory")
        elif not work.is_settled(path.split("/")[0], tuple(turned[1])):
            work.propose(
                "link",
                {path: turned[0]},
                tuple(turned[1]),
                f"Point [[{link}]] in {memory.name} at {meant}",
                f"No memory is named {link}; {meant} is the only one whose name differs by a slip alone.",
            )


def _note_alike(work: Work, agent: str) -> None:
    """Lists pairs of claims in different memories that are alike and not provably the same."""
    claims: list[tuple[Memory, Claim]] = [
        (memory, claim)
        for memory in work.hot(agent)
        for claim in memory.parsed.claims
        if said(claim.text).plain
    ]
    places: dict[str, list[int]] = {}
    for number, (_, claim) in enumerate(claims):
        for word in said(claim.text).words:
            places.setdefault(word, []).append(number)
    for number, (memory, claim) in enumerate(claims):
        mine = said(claim.text).words
        shared: Counter[int] = Counter()
        for word in mine:
            if len(places[word]) <= COMMON:
                shared.update(other for other in places[word] if other > number)
        for other in sorted(shared):
            there, near = claims[other]
            theirs = said(near.text).words
            if there is memory or len(mine & theirs) < ALIKE * len(mine | theirs):
                continue
            missing = lacking(claim.key, near.key) or lacking(near.key, claim.key)
            how = f"differ in {missing[0]}" if missing else "use the same words"
            work.notes.append(f"alike: {memory.name} #{claim.short} and {there.name} #{near.short} {how}")


def _note_limits(work: Work, agent: str, files: Mapping[str, bytes]) -> None:
    """Lists memories and indexes over their limits, and index lines that will be repaired on acceptance."""
    for memory in work.hot(agent):
        size = len(memory.render())
        if size > MEMORY_BYTES:
            work.notes.append(f"limit: {memory.name} has {size:,} bytes, the limit is {MEMORY_BYTES:,}")
    data = files.get(f"{agent}/{index.INDEX}", b"")
    text = decode(data)
    if text.count("\n") > INDEX_LINES or len(data) > INDEX_BYTES:
        work.notes.append(
            f"limit: the index of {agent} is over {INDEX_LINES} lines or {INDEX_BYTES:,} bytes"
        )
    there = {path.removeprefix(f"{agent}/") for path in files if path.startswith(f"{agent}/")}
    entries = index.targets(text)
    for target in entries:
        if "/" not in target and target not in there:
            work.notes.append(f"index: {target} in the index of {agent} leads to no memory")
    for memory in work.hot(agent):
        file = memory.path.removeprefix(f"{agent}/")
        if file in there and file not in entries:
            work.notes.append(f"index: {file} of {agent} has no line in the index")


def _shortened(notes: list[str]) -> tuple[str, ...]:
    kinds: dict[str, list[str]] = {}
    for note in dict.fromkeys(notes):
        kinds.setdefault(note.partition(":")[0], []).append(note)
    shown = []
    for what, found in sorted(kinds.items()):
        shown += found[:LISTED]
        if len(found) > LISTED:
            shown.append(f"{what}: {len(found) - LISTED} more")
    return tuple(shown)


def _flat(text: str) -> str:
    return " ".join(text.split())
