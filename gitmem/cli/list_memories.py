"""`git mem list`: what is remembered, one line a memory."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Annotated

import typer

from gitmem.cli.context import AgentOption, At, Context, Json, ScopeOption, context
from gitmem.cli.words import age, iso, sound
from gitmem.core.errors import GitmemError
from gitmem.core.names import INDEX, file_address
from gitmem.core.text import counted, one_line
from gitmem.flows.code_reach import unmerged
from gitmem.flows.show import listed_value
from gitmem.git.objects import MISSING_HINT
from gitmem.ledger.holdings import chosen_agent, keeps_logs
from gitmem.ledger.land import memory_commit
from gitmem.ledger.lookup import Listed, bare_indexes, headers
from gitmem.ledger.rule_record import read_state

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitmem.ledger.daily_logs import Day

NAME_WIDTH = 40
DESCRIPTION_WIDTH = 100


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(list_memories)


def list_memories(
    ctx: typer.Context,
    archived: Annotated[
        bool, typer.Option("--all", "-a", help="Also memories that were paged out to the archive.")
    ] = False,
    logs: Annotated[
        bool, typer.Option("--logs", help="The daily logs instead, with how many facts each has.")
    ] = False,
    scope: ScopeOption = None,
    agent: AgentOption = None,
    at: At = None,
    as_json: Json = False,
) -> None:
    """Lists memories: name, type, whose they are, how long ago they were taught, and what they are about.

    The age is that of the last change by an agent, an extraction or a person; a dream or a merge makes no
    memory young. Daily logs are counted below; --logs lists them.
    """
    run = context(ctx, as_json=as_json, pages=True)
    if logs:
        _list_logs(run, scope, agent, at, archived)
        return
    missed: dict[str, str] = {}
    found = headers(run.workspace, scope, agent, at=at, archived=archived, now=run.edges.now, missed=missed)
    for what, why in missed.items():
        run.out.warn(f"cannot be read: {what}: {why}")
    if missed:
        run.out.say(f"hint: {MISSING_HINT}")
    if run.out.as_json:
        became = {} if at else read_state(run.workspace.state).by_memory
        elsewhere = {} if at else unmerged(run.workspace, found)
        run.out.json(
            [listed_value(one, became.get(_address(one)), elsewhere.get(one, "")) for one in found]
        )
        return
    if not found:
        run.out.say("no memories here" + (" as of then" if at else ""))
        _name_indexes(run, found, scope, agent, at)
        _count_logs(run, scope, agent, at)
        return
    shown = cache(lambda place: one_line(place, NAME_WIDTH))
    aged = cache(lambda time: age(time, run.edges.now))
    rules = {} if at else _rules(run)
    away = {} if at else unmerged(run.workspace, found)
    columns = (
        _aligned([one_line(sound(header.name), NAME_WIDTH) for header in found]),
        _aligned([header.type for header in found]),
        _aligned([shown(f"{header.scope}/{header.agent}") for header in found]),
        _aligned([aged(header.time) for header in found]),
        [
            "(came with a secret: git mem show)"
            if header.secret
            else one_line(
                (f"(taught on branch {sound(away[header])}, not merged here) " if header in away else "")
                + rules.get(_address(header), "")
                + ("(disputed: git mem review) " if header.otherwise else "")
                + sound(header.description),
                DESCRIPTION_WIDTH,
            )
            for header in found
        ],
    )
    run.out.data("\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True)))
    _name_indexes(run, found, scope, agent, at)
    _count_logs(run, scope, agent, at)


def _name_indexes(
    run: Context, found: Sequence[Listed], scope: str | None, agent: str | None, at: str | None
) -> None:
    with suppress(GitmemError):  # what cannot be read was told
        for place in () if at else bare_indexes(run.workspace, found, scope, agent):
            shown = one_line(place, NAME_WIDTH)
            run.out.say(f"and the index of {shown}, which is all it has: git mem blame {shown}/{INDEX}")


def _count_logs(run: Context, scope: str | None, agent: str | None, at: str | None) -> None:
    with suppress(GitmemError):  # what cannot be read was told
        if not at and not _keeps_logs(run, agent):
            return
        from gitmem.ledger.daily_logs import logs as daily_logs  # most scopes keep no log

        count = sum(1 for _ in daily_logs(run.workspace, scope, agent, at, run.edges.now, archived=False))
        if count:
            run.out.say(f"and {counted(count, 'daily log')}: git mem list --logs")


def _keeps_logs(run: Context, agent: str | None) -> bool:
    tips = ((scope.repo, memory_commit(scope.repo, scope.ref)) for scope in run.workspace.scopes)
    return any(keeps_logs(repo, tip, chosen_agent(agent)) for repo, tip in tips if tip)


def _list_logs(run: Context, scope: str | None, agent: str | None, at: str | None, archived: bool) -> None:
    from gitmem.ledger.daily_logs import logs as daily_logs
    from gitmem.ledger.daily_logs import opened

    found = list(
        opened(run.workspace, daily_logs(run.workspace, scope, agent, at, run.edges.now, archived=archived))
    )
    if run.out.as_json:
        run.out.json([log_value(day) for day in found])
        return
    if not found:
        run.out.say("no daily logs here" + (" as of then" if at else ""))
        return
    columns = (
        _aligned([day.spot.stem for day in found]),
        _aligned([one_line(f"{day.spot.scope}/{day.spot.agent}", NAME_WIDTH) for day in found]),
        _aligned([age(day.last, run.edges.now) for day in found]),
        [counted(day.facts, "fact") + (", archived" if day.archived else "") for day in found],
    )
    run.out.data("\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True)))


def log_value(day: Day) -> dict[str, object]:
    """One daily log for `--json`; `last` is when its last fact was said, null without any."""
    return {
        "day": day.day.isoformat(),
        "scope": day.spot.scope,
        "agent": sound(day.spot.agent),
        "file": sound(day.spot.file),
        "facts": day.facts,
        "last": iso(day.last) if day.last else None,
        "archived": day.archived,
    }


def _aligned(cells: list[str]) -> list[str]:
    width = max(map(len, cells))
    return [cell.ljust(width) for cell in cells]


def _rules(run: Context) -> dict[str, str]:
    """What to say of memories that became rules: address to text."""
    return {
        address: f"(promoted to {one.file}{f' in {one.commit[:12]}' if one.commit else ''}) "
        for address, one in read_state(run.workspace.state).by_memory.items()
    }


def _address(header: Listed) -> str:
    return f"{header.scope}/{header.agent}/{file_address(header.file)}"
