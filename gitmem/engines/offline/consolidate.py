"""Proposes what can be proved about a scope's memories, and lists for a person what cannot."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from gitmem.core import index
from gitmem.core.account import path_of, reference, reject_keys, where_it_goes
from gitmem.core.claim import Claim, claim_id, normal_form, repeated, with_dispute
from gitmem.core.daily_log import is_log
from gitmem.core.dates import annotate, relative_dates
from gitmem.core.facts import lacking
from gitmem.core.limits import ENTRY_CHARS, INDEX_BYTES, INDEX_LINES, MEMORY_BYTES
from gitmem.core.memory import Memory
from gitmem.core.merge import agent_folder
from gitmem.core.text import decode
from gitmem.core.trailers import Fate
from gitmem.engines.engine import (
    ConsolidateInput,
    Consolidation,
    DreamChange,
    Observation,
    Step,
    Tell,
    untold,
)
from gitmem.engines.offline.contradictions import note_contradictions
from gitmem.engines.offline.distil import distil
from gitmem.engines.offline.duplicates import merge_duplicates
from gitmem.engines.offline.links import Names, Way, inline_links, links, slug
from gitmem.engines.offline.revision import described, reworded, with_after, without
from gitmem.engines.offline.similar import flat, holds, movable, quoted, sequence, words
from gitmem.engines.offline.work import Work, ages, with_links

LISTED = 20
"""Notes of one kind that are listed; the rest is counted."""

AGAINST = 200
"""The same for claims that speak against one another, which nothing but a person settles."""


ROUNDS = 5
"""Times that proposals are made anew without those that the flow would refuse."""


def consolidate(given: ConsolidateInput, tell: Tell = untold) -> Consolidation:
    """Annotates dates, settles disputes, repairs links, merges duplicates and distils logs; lists the rest.

    What the flow would refuse is left out and told of: one memory that a search would no longer find must
    not stop a whole dream.

    Args:
        given: the scope's tree, and what is known of it.
        tell: is told of each phase, with the files changed so far.

    Returns:
        Changes in the order in which they apply. No index is touched; contradictions are notes.
    """
    refused: dict[str, str] = {}
    log: list[str] = []
    for _ in range(ROUNDS):
        made = _proposed(replace(given, waiting=given.waiting | refused.keys()), tell)
        failures = given.judge(made.changes) if made.changes else ()
        left = list(dict.fromkeys(refused.values()))
        if not failures:
            return replace(made, notes=_shortened([*left, *made.notes]), log=tuple(log))
        log += failures
        blamed = dict(_blamed(made.changes, failures))
        state = dict(given.files)
        for number, change in enumerate(made.changes):
            if number in blamed:
                told = dict.fromkeys(fate.source for fate in change.fates if is_log(path_of(fate.source)))
                note = f"refused: {change.subject}: {blamed[number]}{_named(told, blamed[number])}"
                keys = reject_keys(change.fates, where_it_goes(change.fates, state))
                refused |= dict.fromkeys(keys, note)
            change.apply_to(state)
        if not blamed:
            break
    notes = [f"refused: nothing can be proposed: {log[-1]}", *made.notes]
    return Consolidation(notes=_shortened(notes), log=tuple(log))


def _proposed(given: ConsolidateInput, tell: Tell) -> Consolidation:
    tell(Step("consolidate"))
    work = Work(given.files, given.agents, given.waiting, given.allowance)
    # Dates come first: "yesterday" said on two days is not said twice.
    for path in work.paths():
        date_claims(work, path, given.said)
    for path in work.paths():
        settle_disputes(work, path, given.said, given.observed)
    repair_links(work, given.renamed)
    tell(Step("consolidate", files=work.touched()))
    for agent in work.agents():
        merge_duplicates(work, agent)
    # Last, so that no memory is merged away in the dream that makes it.
    for agent in sorted({agent_folder(path_of(ref)) for ref in given.lines}):
        distil(work, agent, given.lines, given.scope)
    tell(Step("prune", files=work.touched()))
    for agent in work.agents():
        keep_long_entries(work, agent)
        note_contradictions(work, agent, given.said, given.observed)
        note_limits(work, agent)
    tell(Step("prune", files=work.touched()))
    observed = (f"{one.kind}: {one.text}{_named(one.claims, one.text)}" for one in given.observed)
    return Consolidation(tuple(work.changes), (*observed, *work.notes))


def _blamed(changes: Sequence[DreamChange], failures: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Numbers of the changes that failures are about: of the memory that a line begins with, else names."""
    each = [*enumerate(changes)]
    for line in failures:
        about = [n for n, change in each if any(line.startswith(path) for path in change.edits)]
        if not about:
            about = [n for n, change in each if any(path in line for path in change.edits)]
        yield from ((n, line) for n in about)


def _named(claims: Iterable[str], text: str) -> str:
    missing = [claim for claim in claims if claim not in text]
    return f" ({', '.join(missing)})" if missing else ""


def _shortened(notes: Iterable[str]) -> tuple[str, ...]:
    kinds: dict[str, list[str]] = {}
    for note in dict.fromkeys(notes):
        kinds.setdefault(note.partition(":")[0], []).append(note)
    shown = []
    for what, found in sorted(kinds.items()):
        most = AGAINST if what == "contradiction" else LISTED
        shown += found[:most]
        if len(found) > most:
            shown.append(f"{what}: {len(found) - most} more")
    return tuple(shown)


def date_claims(work: Work, path: str, said_at: Mapping[str, datetime]) -> None:
    """One change for each claim that holds a relative date which means one day."""
    claims = work.memories[path].claims
    # Of what stands twice the last first: those before it keep their names.
    for number in sorted(range(len(claims)), key=lambda number: -claims[number].ordinal):
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
            work.notes.append(f"date: “{flat(open_ones[0])}” in {memory.name} {why}")
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
        days = ", ".join(f"“{flat(p.text)}” is {p.date.isoformat()}" for p in phrases if p.date)
        work.propose(
            "date", {path: changed}, (fate,), f"Date what {memory.name} says", f"{days}: {reason}."
        )


def settle_disputes(
    work: Work, path: str, said_at: Mapping[str, datetime], observed: Sequence[Observation]
) -> None:
    """Merges disputed claims of a memory that others of the same dispute hold; a note for what is left.

    Args:
        said_at: claim to when it was first said.
        observed: what is told already.
    """
    while _settle(work, path):
        pass
    memory = work.memories[path]
    sides = _sides(memory)
    told = {one.claims for one in observed if one.kind == "dispute"}
    for mark, numbers in sides.items():
        claims = [memory.parsed.claims[number] for number in numbers]
        names = tuple(reference(path, claim) for claim in claims)
        if names in told:
            continue
        text = " against ".join(map(quoted, claims))
        work.notes.append(f"dispute: {memory.name} says {text} (disputed {mark}): {ages(names, said_at)}")


def _sides(memory: Memory) -> dict[str, list[int]]:
    """Mark of each dispute to the places of its claims."""
    sides: dict[str, list[int]] = {}
    if "*(disputed " in memory.body:
        for number, claim in enumerate(memory.parsed.claims):
            if claim.dispute:
                sides.setdefault(claim.dispute, []).append(number)
    return sides


def _settle(work: Work, path: str) -> bool:
    """Takes out one side of a dispute that another one holds, and the mark of one that is left alone."""
    memory = work.memories[path]
    for numbers in _sides(memory).values():
        for number in numbers:
            for other in work.lookup(path).near(memory.parsed.claims[number]):
                if other != number and other in numbers and _settled(work, path, numbers, number, other):
                    return True
    return False


def _settled(work: Work, path: str, numbers: Sequence[int], number: int, at: int) -> bool:
    memory = work.memories[path]
    claim, other = memory.parsed.claims[number], memory.parsed.claims[at]
    if not holds(other, claim) or (other.key == claim.key and other.ordinal > claim.ordinal):
        return False
    left = reworded(memory, {at: with_dispute(other.text, "")}) if len(numbers) == 2 else memory
    changed = without(left, [number]) if left and movable(memory.parsed.claims, number) else None
    fate = Fate("merged", reference(path, claim), reference(path, other), "the other side says all of it")
    if changed is None or work.is_settled(agent_folder(path), (fate,)):
        return False
    subject = f"Settle a dispute in {memory.name}"
    return work.propose("dispute", {path: changed}, (fate,), subject, f"Both say it: {quoted(claim)}")


REPAIRED = 50
"""Links of one memory that are looked after in one dream."""


def repair_links(work: Work, renamed: Mapping[str, str]) -> None:
    """One change for each name that a memory links to in vain and that is known; a note for each other.

    Args:
        renamed: name that links may use to the name of the memory now; empty where it is gone.
    """
    names = Names(work.memories, renamed)
    unknown: dict[str, list[str]] = {}
    for path in work.paths():
        claims = work.memories[path].claims
        dangling = [link for claim in claims for link in links(claim.text) if not names.leads(link)]
        files = [file for claim in claims for file in inline_links(claim.text)]
        # A file that history does not know may be one of the code's.
        there = agent_folder(path)
        dangling += [
            file
            for file in files
            if f"{there}/{file}" not in work.memories and names.remembered(file) is not None
        ]
        for link in list({slug(link): link for link in reversed(dangling)}.values())[:REPAIRED]:
            if not _repair(work, path, link, names):
                unknown.setdefault(link, []).append(work.memories[path].name)
    for link, where in unknown.items():
        more = f" and {len(where) - 1} more" if len(where) > 1 else ""
        work.notes.append(f"link: [[{link}]] in {where[0]}{more} leads to no memory")


def _repair(work: Work, path: str, link: str, names: Names) -> bool:
    """Proposes where a link leads; False where nobody knows."""
    memory, agent = work.memories[path], agent_folder(path)
    now = names.remembered(link)
    meant = now or (names.meant(link) if now is None else "")
    if now is None and not meant:
        return False
    way = names.way(meant, agent) if meant else Way()
    if now:
        why = f"{link} is {way.name} now"
        subject = f"Lead [[{link}]] in {memory.name} to {way.name}"
        reason = f"History says what became of {link}: it is {way.name} now."
    elif meant:
        why = f"no memory is named {link}"
        subject = f"Point [[{link}]] in {memory.name} at {way.name}"
        reason = (
            f"No memory is named {link}; {way.name} is the only one whose name differs by a slip alone."
        )
    else:
        why = f"{link} is gone"
        subject = f"Unlink {link} in {memory.name}"
        reason = f"History says that {link} was deleted; its name stays as words."
    turned = with_links(memory, {slug(link): way}, why)
    if turned is None or not turned[1]:
        return False
    fates = tuple(turned[1])
    if not work.is_settled(agent, fates):
        work.propose("link", {path: turned[0]}, fates, subject, reason)
    return True


NEW = 1 / 3
"""Share of the words of an index line that its memory may lack and still say the same."""

_HOOK = re.compile(
    r"^[-*+]\s+(?:\[[^\[\]]*\]\([^()\n]*\)|`?[\w.-]+\.md`?)\s*(?:[-–—:]+\s+)?(?P<hook>.*)", re.DOTALL
)


def keep_long_entries(work: Work, agent: str) -> None:
    """Moves what an overlong index line says, and its memory does not, into the memory as a claim.

    The line itself stays: an index is never changed on the branch of a dream.
    """
    listed = f"{agent}/{index.INDEX}"
    for unit in index.parse(decode(work.files.get(listed, b""))):
        path = f"{agent}/{unit.target}"
        memory = work.memories.get(path)
        match = _HOOK.match(unit.text.strip())
        if len(unit.text.rstrip()) <= ENTRY_CHARS or memory is None or match is None:
            continue
        hook = " ".join(match["hook"].split())
        key = normal_form(hook, item=False)
        if not key or _says(memory, key):
            continue
        changed = with_after(memory, -1, [Claim(hook, "", key)])
        if changed is None or len(changed.render()) > MEMORY_BYTES:
            continue
        # Named as a claim of the index, so that a rejection of it is remembered.
        fate = Fate("merged", f"{listed}#{claim_id(key)[:12]}", reference(path, Claim(hook, "", key)))
        if work.is_settled(agent, (fate,)) or work.is_forgotten(agent, key):
            continue
        subject = f"Keep in {memory.name} what its index line says"
        reason = f"The line has {len(unit.text.rstrip())} characters, about {ENTRY_CHARS} is the limit."
        work.propose("index", {path: changed}, (fate,), subject, reason)


def _says(memory: Memory, key: str) -> bool:
    """Whether a memory says this: a claim has the words in order, or all has every fact and most words.

    A line of an index sums its memory up in other words; a negation in it cannot be matched to a sentence.
    """
    wanted = sequence(repeated(key))
    claims = memory.claims
    for claim in claims:
        found = sequence(claim.key)
        if any(found[at : at + len(wanted)] == wanted for at in range(len(found) - len(wanted) + 1)):
            return True
    text = "\n".join(claim.key for claim in claims)
    facts = [fact for fact in lacking(key, text) if fact != "a negation"]
    mine = words(key)
    return not facts and len(mine - words(text)) <= NEW * len(mine)


def note_limits(work: Work, agent: str) -> None:
    """Lists memories and indexes over their limits, and index lines that are repaired on acceptance."""
    hot = work.hot(agent)
    for memory in hot:
        size = len(memory.render())
        if size > MEMORY_BYTES:
            work.notes.append(f"limit: {memory.name} has {size:,} bytes, the limit is {MEMORY_BYTES:,}")
    data = work.files.get(f"{agent}/{index.INDEX}", b"")
    text = decode(data)
    if text.count("\n") > INDEX_LINES or len(data) > INDEX_BYTES:
        work.notes.append(
            f"limit: the index of {agent} is over {INDEX_LINES} lines or {INDEX_BYTES:,} bytes"
        )
    named = index.named(text)
    for target in index.targets(text):
        if "/" not in target and f"{agent}/{target}" not in work.files:
            work.notes.append(f"index: {target} in the index of {agent} leads to no memory")
    for memory in hot:
        file = memory.path.removeprefix(f"{agent}/")
        if memory.path in work.files and file not in named:
            work.notes.append(f"index: {file} of {agent} has no line in the index")
