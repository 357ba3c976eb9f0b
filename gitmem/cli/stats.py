"""`git mem stats`: what extraction stored, what dreams saved, and what models cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import Annotated, Any

import typer

from gitmem.cli.context import context
from gitmem.cli.engine import usage_value
from gitmem.cli.options import Json
from gitmem.cli.output import Output, iso, sound
from gitmem.core.text import counted
from gitmem.core.trailers import Usage
from gitmem.dream.cards import KINDS, by_kind, worth
from gitmem.flows.review_dream import worth_value
from gitmem.flows.stats import Stats, count
from gitmem.ledger.dreams import DreamCommit


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(stats)


def stats(
    ctx: typer.Context,
    days: Annotated[int, typer.Option("--days", min=1, max=3650, help="How far to look back.")] = 30,
    as_json: Json = False,
) -> None:
    """Shows what extraction stored and suggested here, what dreams saved, and what models cost.

    From the trailers of commits, the record of background jobs, and the ledger of requests.
    """
    run = context(ctx, as_json=as_json, pages=True)
    found = count(run.workspace, run.edges, days)
    if run.out.as_json:
        run.out.json(_value(found, days))
    else:
        _show(run.out, found, days)


def _show(out: Output, found: Stats, days: int) -> None:
    stored = found.stored
    out.data(f"in the last {counted(days, 'day')}:")
    sessions = counted(len(found.sessions), "session")
    out.data(f"  stored     {stored.total} by extraction{_parts(stored.by_op)}, from {sessions}")
    for title, counts in (
        ("type", stored.by_type),
        ("scope", stored.by_scope),
        ("engine", stored.by_engine),
    ):
        if counts:
            out.data(f"    by {title:8}{_words(counts)}")
    out.data(
        f"  suggested  {found.suggested}: {found.accepted} accepted, {found.rejected} rejected, "
        f"{found.waiting} waiting now"
    )
    out.data(f"  jobs       {found.runs} ran, {found.failed} failed; {found.refused} finds refused")
    out.data(f"  recalled   {counted(found.shown[0], 'time')} in {counted(found.shown[1], 'session')}")
    if found.dreamt:
        _show_dreams(out, found.dreamt)
    if found.everywhere.requests or found.recorded.requests:
        out.data(f"  models     {_usage(found.ledger.total)}")
        for model, usage in sorted(found.ledger.by_model.items()):
            out.data(f"    {model}: {_usage(usage)}")
        out.data(f"    as commits tell it: {_usage(found.recorded)}")
        out.data(f"    all repositories:   {_usage(found.everywhere)}")


def _show_dreams(out: Output, changes: list[DreamCommit]) -> None:
    kinds = ", ".join(counted(number, *KINDS[kind]) for kind, number in by_kind(changes).items())
    out.data(f"  dreamt     {counted(len(changes), 'change')} landed: {kinds}")
    for month, some in _by_month(changes):
        out.data(f"    {month}: saved {worth(some).words or 'nothing that is counted'}")


def _by_month(changes: list[DreamCommit]) -> Iterator[tuple[str, list[DreamCommit]]]:
    """Changes by the month (`2026-11`, UTC) in which they were dreamt, oldest first."""
    for month, some in groupby(sorted(changes, key=lambda one: one.time), lambda one: iso(one.time)[:7]):
        yield month, list(some)


def _value(found: Stats, days: int) -> dict[str, Any]:
    stored = found.stored
    return {
        "days": days,
        "since": iso(found.since),
        "until": iso(found.until),
        "stored": {
            "total": stored.total,
            "by_op": _counts(stored.by_op),
            "by_type": _counts(stored.by_type),
            "by_scope": _counts(stored.by_scope),
            "by_engine": _counts(stored.by_engine),
        },
        "suggested": found.suggested,
        "accepted": found.accepted,
        "rejected": found.rejected,
        "waiting": found.waiting,
        "refused": found.refused,
        "sessions": len(found.sessions),
        "jobs": {"ran": found.runs, "failed": found.failed},
        "dreamt": {
            "changes": len(found.dreamt),
            "kinds": by_kind(found.dreamt),
            "saved": worth_value(worth(found.dreamt)),
            "by_month": {month: worth_value(worth(some)) for month, some in _by_month(found.dreamt)},
        },
        "recalled": {"memories": found.shown[0], "sessions": found.shown[1]},
        "usage": {
            "here": usage_value(found.ledger.total),
            "by_model": {sound(m): usage_value(u) for m, u in sorted(found.ledger.by_model.items())},
            "in_commits": usage_value(found.recorded),
            "everywhere": usage_value(found.everywhere),
        },
    }


def _counts(counts: Counter[str]) -> dict[str, int]:
    return {sound(word): number for word, number in sorted(counts.items())}


def _words(counts: Counter[str]) -> str:
    return ", ".join(f"{word} {number}" for word, number in counts.most_common())


def _parts(counts: Counter[str]) -> str:
    return f" ({_words(counts)})" if counts else ""


def _usage(usage: Usage) -> str:
    read = usage.input + usage.cache_read + usage.cache_write
    share = f", {usage.cache_read / read:.0%} of it from cache" if read else ""
    cost = "price unknown" if usage.dollars is None else f"${usage.dollars:.4f}"
    return f"{counted(usage.requests, 'request')}, {read:,} tokens in{share}, {usage.output:,} out, {cost}"
