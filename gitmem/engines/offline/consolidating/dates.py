"""Relative dates that mean one day, annotated against when they were said."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from gitmem.core.account import reference
from gitmem.core.dates import annotate, relative_dates
from gitmem.core.facts import lacking
from gitmem.core.trailers import Fate
from gitmem.engines.offline.consolidating.edit import described, reworded
from gitmem.engines.offline.consolidating.place import flat
from gitmem.engines.offline.consolidating.work import Work


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
