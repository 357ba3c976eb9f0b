"""Proposes what can be proved about a scope's memories, and lists for a person what cannot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from gitmem.core.account import path_of, reject_keys, where_it_goes
from gitmem.core.daily_log import is_log
from gitmem.core.merge import agent_folder
from gitmem.engines.engine import ConsolidateInput, Consolidation, DreamChange, Step, Tell, untold
from gitmem.engines.offline.consolidating.against import note_contradictions
from gitmem.engines.offline.consolidating.dates import date_claims
from gitmem.engines.offline.consolidating.disputes import settle_disputes
from gitmem.engines.offline.consolidating.distil import distil
from gitmem.engines.offline.consolidating.index import keep_long_entries, note_limits
from gitmem.engines.offline.consolidating.merge import merge_duplicates
from gitmem.engines.offline.consolidating.repair import repair_links
from gitmem.engines.offline.consolidating.work import Work

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
