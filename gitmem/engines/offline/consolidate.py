"""Proposes what can be proved about a scope's memories, and lists for a person what cannot."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from gitmem.core import index
from gitmem.core.account import path_of, reference, reject_keys, where_it_goes
from gitmem.core.claim import DISPUTED, Claim, claim_id, normal_form, with_dispute
from gitmem.core.dates import annotate, relative_dates
from gitmem.core.facts import about
from gitmem.core.facts import numbers as numbers_in
from gitmem.core.limits import ENTRY_CHARS, INDEX_BYTES, INDEX_LINES, MEMORY_BYTES
from gitmem.core.memory import Memory, description_claim, reword, with_after, with_description, without
from gitmem.core.names import agent_folder, is_log
from gitmem.core.references import with_names
from gitmem.core.text import decode
from gitmem.core.trailers import ASKING, Fate
from gitmem.engines.engine import (
    ConsolidateInput,
    Consolidation,
    DreamChange,
    DreamProgress,
    Observation,
    Tell,
    untold,
)
from gitmem.engines.offline.corrections import ask_about_sessions
from gitmem.engines.offline.distil import distil
from gitmem.engines.offline.duplicates import merge_duplicates, relate
from gitmem.engines.offline.equivalence import flat, holds, movable, quote, said
from gitmem.engines.offline.links import Names, Way, inline_links, links, slug
from gitmem.engines.offline.pairs import Pair, find_pairs
from gitmem.engines.offline.work import ConsolidationWork, with_links

LISTED = 20
"""Notes of one kind that are listed; the rest is counted."""

ROUNDS = 5
"""Times that proposals are made anew without those that the flow would refuse."""


def consolidate(given: ConsolidateInput, tell: Tell = untold) -> Consolidation:
    """Dates, settles disputes, repairs links, merges duplicates, distils logs, and asks; lists the rest.

    What the flow would refuse is left out and told of: one memory that a search would no longer find must
    not stop a whole dream.

    Args:
        given: the scope's tree, and what is known of it.
        tell: is told of each phase, with the files changed so far.

    Returns:
        Changes in the order in which they apply. Questions come last, and no index is touched.
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
    tell(DreamProgress("consolidate"))
    work = ConsolidationWork(
        given.files, given.agents, given.waiting, given.allowance, given.most, given.pending
    )
    _repair_all(work, given)
    tell(DreamProgress("consolidate", files=work.touched()))
    pairs: list[Pair] = []
    for agent in work.agents():
        merge_duplicates(work, agent)
        pairs += find_pairs(work.hot(agent), given.said) if not work.full else []
    relate(work, pairs, given.said, given.authors, asking=False)
    for agent in sorted({agent_folder(path_of(ref)) for ref in given.lines}):
        distil(work, agent, given.lines, given.scope)
    tell(DreamProgress("prune", files=work.touched()))
    for agent in work.agents():
        keep_long_entries(work, agent)
        note_limits(work, agent)
    if work.held_back:
        work.repairs = work.most
        _repair_all(work, given)
        # What is dated only now may say what stands there already.
        for agent in work.agents():
            merge_duplicates(work, agent)
    # What a person alone decides comes last, so that nothing builds on it.
    ask_about_sessions(work, given.sessions)
    ask_about_code(work, given.observed)
    relate(work, pairs, given.said, given.authors, asking=True)
    tell(DreamProgress("prune", files=work.touched()))
    # What is proposed, or asked, is not told again.
    left = (one for one in given.observed if not one.claims or not work.went(one.claims))
    observed = (f"{one.kind}: {one.text}{_named(one.claims, one.text)}" for one in left)
    return Consolidation(tuple(work.changes), (*observed, *work.notes))


def settle(given: ConsolidateInput, pairs: Sequence[Pair]) -> Consolidation:
    """Proposes what was decided about pairs of claims, and asks a person about the others.

    What the flow would refuse of it was decided wrongly, and is asked.

    Args:
        pairs: as `doubts` found them, with the judgements of whoever was asked.
    """
    log: list[str] = []
    left: list[Pair] = [*pairs]
    for _ in range(ROUNDS):
        work = ConsolidationWork(
            given.files, given.agents, given.waiting, given.allowance, given.most, given.pending
        )
        made = relate(work, left, given.said, given.authors, asking=False)
        # What cannot be proposed so is asked as well.
        left = [one if one in made else _as_question(one) for one in left]
        decided = len(made)
        ask_about_code(work, given.observed)
        behind = len(work.changes)
        made += relate(work, left, given.said, given.authors, asking=True)
        failures = given.judge(work.changes) if work.changes else ()
        if not failures:
            return Consolidation(tuple(work.changes), tuple(work.notes), log=tuple(log))
        log += failures
        # A failure of the whole, as of a budget, is everybody's.
        blamed = {number for number, _ in _blamed(work.changes, failures)} or set(range(len(work.changes)))
        wrong = [made[n] for n in blamed if n < decided]
        wrong_questions = [made[n - behind + decided] for n in blamed if n >= behind]
        if any(decided <= n < behind for n in blamed):
            given = replace(given, observed=())
        left = [_as_question(one) if one in wrong else one for one in left if one not in wrong_questions]
    refused = "refused: nothing can be asked of the pairs that were found"
    return Consolidation(notes=(refused,), log=tuple(log))


def _as_question(pair: Pair) -> Pair:
    return replace(pair, judgement=replace(pair.judgement, kind="ask"), wording="")


def _repair_all(work: ConsolidationWork, given: ConsolidateInput) -> None:
    """Dates first: "yesterday" said on two days is not said twice."""
    for path in work.paths():
        date_claims(work, path, given.said)
    for path in work.paths():
        settle_disputes(work, path, given.said, given.observed)
    repair_links(work, given.renamed)
    rename_code(work, given.observed)


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
        shown += found[:LISTED]
        if len(found) > LISTED:
            shown.append(f"{what}: {len(found) - LISTED} more")
    return tuple(shown)


def date_claims(work: ConsolidationWork, path: str, said_at: Mapping[str, datetime]) -> None:
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
        changed = (
            reword(memory, {number: new}) if in_body else with_description(memory, " ".join(new.split()))
        )
        if changed is None or len(changed.claims) != len(memory.claims):
            continue
        reason = f"said on {said_on.date().isoformat()}"
        fate = Fate("merged", source, reference(path, changed.claims[number]), reason)
        if work.is_settled(path.split("/")[0], (fate,)):
            continue
        days = ", ".join(f"“{flat(p.text)}” is {p.date.isoformat()}" for p in phrases if p.date)
        work.propose(
            "date", {path: changed}, (fate,), f"Date what {memory.name} says", f"{days}: {reason}."
        )


def settle_disputes(
    work: ConsolidationWork, path: str, said_at: Mapping[str, datetime], observed: Sequence[Observation]
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
        text = " against ".join(map(quote, claims))
        work.notes.append(f"dispute: {memory.name} says {text} (disputed {mark}): {_ages(names, said_at)}")


def _sides(memory: Memory) -> dict[str, list[int]]:
    """Mark of each dispute to the places of its claims."""
    sides: dict[str, list[int]] = {}
    if DISPUTED in memory.body:
        for number, claim in enumerate(memory.parsed.claims):
            if claim.dispute:
                sides.setdefault(claim.dispute, []).append(number)
    return sides


def _settle(work: ConsolidationWork, path: str) -> bool:
    """Takes out one side of a dispute that another one holds, and the mark of one that is left alone."""
    memory = work.memories[path]
    for numbers in _sides(memory).values():
        for number in numbers:
            for other in work.lookup(path).near(memory.parsed.claims[number]):
                if other != number and other in numbers and _settled(work, path, numbers, number, other):
                    return True
    return False


def _settled(work: ConsolidationWork, path: str, numbers: Sequence[int], number: int, at: int) -> bool:
    memory = work.memories[path]
    claim, other = memory.parsed.claims[number], memory.parsed.claims[at]
    if not holds(other, claim) or (other.key == claim.key and other.ordinal > claim.ordinal):
        return False
    left = reword(memory, {at: with_dispute(other.text, "")}) if len(numbers) == 2 else memory
    changed = without(left, [number]) if left and movable(memory.parsed.claims, number) else None
    fate = Fate("merged", reference(path, claim), reference(path, other), "the other side says all of it")
    if changed is None or work.is_settled(agent_folder(path), (fate,)):
        return False
    subject = f"Settle a dispute in {memory.name}"
    return work.propose("dispute", {path: changed}, (fate,), subject, f"Both say it: {quote(claim)}")


REPAIRED = 50
"""Links of one memory that are looked after in one dream."""


def repair_links(work: ConsolidationWork, renamed: Mapping[str, str]) -> None:
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


def _repair(work: ConsolidationWork, path: str, link: str, names: Names) -> bool:
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
            f"No memory is named {link}; {way.name} is the only one whose name comes near: but for a slip, "
            "its type or its end it is the same."
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


_GONE = re.compile(r"\bgone since\b")

NEW = 1 / 2
"""Share of the telling words of a clause of an index line that its memory may lack and still say it."""

TELLING = 3
"""Telling words that a clause of an index line needs to be worth keeping."""

_CLAUSE = re.compile(r"(?<=[.;])\s+|\s+[—–]\s+|\s+--?\s+")

_HOOK = re.compile(
    r"^[-*+]\s+(?:\[[^\[\]]*\]\([^()\n]*\)|`?[\w.-]+\.md`?)\s*(?:[-–—:]+\s+)?(?P<hook>.*)", re.DOTALL
)


def keep_long_entries(work: ConsolidationWork, agent: str) -> None:
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
        hook = _unsaid(memory, " ".join(match["hook"].split()))
        key = normal_form(hook, item=False)
        if not key:
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


def _unsaid(memory: Memory, hook: str) -> str:
    """The part of an index line that its memory does not say, in the line's own words; empty for none.

    A line sums its memory up: a clause is said where the memory has most of its words, in whatever order,
    and each of its numbers.
    """
    text = "\n".join(claim.key for claim in memory.claims)
    known, counted_there = about(text) | about(memory.name.replace("-", " ")), numbers_in(text)
    fresh = []
    for clause in _CLAUSE.split(hook):
        mine = about(clause)
        new = mine - known
        if len(mine) >= TELLING and (len(new) > NEW * len(mine) or numbers_in(clause) - counted_there):
            fresh.append(clause.strip(" ;,.—–-"))
    return "; ".join(fresh)


def rename_code(work: ConsolidationWork, observed: Iterable[Observation]) -> None:
    """One change for each memory that names what the code calls otherwise now, in all of its claims.

    Args:
        observed: those of kind `code` say what became of a name, and by which commit.
    """
    turned: dict[str, list[Observation]] = {}
    for one in observed:
        if one.names:
            turned.setdefault(path_of(one.claims[0]), []).append(one)
    for path, found in turned.items():
        if path in work.memories:
            _rename(work, work.memories[path], found)


def _rename(work: ConsolidationWork, memory: Memory, found: Sequence[Observation]) -> None:
    def renamed(claim: Claim) -> str:
        ref = reference(memory.path, claim)
        names = dict(pair for one in found if ref in one.claims for pair in one.names)
        # Who writes both names tells of the change itself.
        return with_names(claim.text, {old: now for old, now in names.items() if now not in claim.text})

    hook = description_claim(memory.description)
    changed = reword(memory, {at: renamed(claim) for at, claim in enumerate(memory.parsed.claims)})
    if changed and hook:
        changed = with_description(changed, renamed(hook))
    if changed is None or len(changed.claims) != len(memory.claims):
        return
    both = [
        (old, new) for old, new in zip(memory.claims, changed.claims, strict=True) if old.key != new.key
    ]
    told = [one for one in found if {reference(memory.path, old) for old, _ in both} & {*one.claims}]
    why = "; ".join(one.text.removeprefix(f"{memory.path}: ") for one in told)
    ends = ((reference(memory.path, old), reference(memory.path, new)) for old, new in both)
    fates = tuple(Fate("superseded", source, target, why) for source, target in ends)
    if not fates or work.is_settled(agent_folder(memory.path), fates):
        return
    ((old_name, new_name), *more) = (pair for one in told for pair in one.names)
    subject = f"Say {new_name} for {old_name} in {memory.name}" + (
        f", and {len(more)} more" if more else ""
    )
    work.propose("code", {memory.path: changed}, fates, subject, why)


CODE = 5
"""Questions of one dream about claims whose code is gone."""


def ask_about_code(work: ConsolidationWork, observed: Iterable[Observation]) -> None:
    """Asks of claims that name what the code no longer has whether they go.

    Args:
        observed: those of kind `code` say what is gone, and by which commit.
    """
    asked = 0
    for one in observed:
        if one.kind == "code" and _GONE.search(one.text):
            for ref in one.claims:
                asked += asked < CODE and _ask_about_code(work, ref, one.text)


def _ask_about_code(work: ConsolidationWork, ref: str, why: str) -> bool:
    memory = work.memories.get(path_of(ref))
    claims = memory.parsed.claims if memory else ()
    at = next(
        (at for at, claim in enumerate(claims) if memory and reference(memory.path, claim) == ref), -1
    )
    if memory is None or at < 0 or not movable(claims, at) or not work.stands_alone(ref, ""):
        return False
    changed = (
        without(memory, [at])
        if any(said(claim.text).plain for claim in (*claims[:at], *claims[at + 1 :]))
        else None
    )
    why = why.removeprefix(f"{memory.path}: ")
    fates = (Fate("dropped", ref, "", why),)
    if changed is None or work.is_settled(agent_folder(memory.path), fates):
        return False
    subject = f"{ASKING}{memory.name} is out of date: {quote(claims[at])}"
    hint = "Accept: it goes. Reject: it stays. Edit the dream to say it anew."
    reason = f"{why}\n{quote(claims[at])}\n{hint}"
    return work.propose("question", {memory.path: changed}, fates, subject, reason)


def note_limits(work: ConsolidationWork, agent: str) -> None:
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


def _ages(names: Iterable[str], said: Mapping[str, datetime]) -> str:
    """Claims with the day each was first said, for a note: which is newer decides nothing by itself."""
    names = tuple(names)
    newest = max((said[name] for name in names if name in said), default=None)
    told = len({said[name] for name in names if name in said}) > 1
    parts = []
    for name in names:
        when = said.get(name)
        newer = ", newer" if told and when == newest else ""
        parts.append(f"{name} (said {when.date().isoformat()}{newer})" if when else name)
    return " and ".join(parts)


def doubts(given: ConsolidateInput, most: int) -> tuple[Pair, ...]:
    """Pairs of claims of which words do not decide what they are to one another, best first.

    Args:
        most: how many at most.
    """
    work = ConsolidationWork(given.files, given.agents, given.waiting, None, 2 * most, given.pending)
    found = [pair for agent in work.agents() for pair in find_pairs(work.hot(agent), given.said)]
    return tuple(relate(work, found, given.said, given.authors, asking=True))
