"""`git mem list`: what is remembered, one line a memory."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Annotated

import typer

from gitmem.cli.context import CommandContext, context
from gitmem.cli.options import AgentOption, At, Json, ScopeOption
from gitmem.cli.output import age, iso, sound
from gitmem.core.errors import GitmemError, MissingObject
from gitmem.core.names import INDEX, file_address, is_archived
from gitmem.core.text import counted, one_line
from gitmem.flows.code_reach import unmerged_memories
from gitmem.flows.show import listed_value
from gitmem.git.objects import MISSING_HINT
from gitmem.ledger.holdings import chosen_agent, keeps_logs
from gitmem.ledger.land import memory_commit
from gitmem.ledger.lookup import ListedMemory, bare_indexes, daily_logs, headers
from gitmem.ledger.rule_record import read_state

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitmem.ledger.holdings import Spot

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
        elsewhere = {} if at else unmerged_memories(run.workspace, found)
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
    away = {} if at else unmerged_memories(run.workspace, found)
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
    run: CommandContext, found: Sequence[ListedMemory], scope: str | None, agent: str | None, at: str | None
) -> None:
    with suppress(GitmemError):  # what cannot be read was told
        for place in () if at else bare_indexes(run.workspace, found, scope, agent):
            shown = one_line(place, NAME_WIDTH)
            run.out.say(f"and the index of {shown}, which is all it has: git mem blame {shown}/{INDEX}")


def _count_logs(run: CommandContext, scope: str | None, agent: str | None, at: str | None) -> None:
    with suppress(GitmemError):  # what cannot be read was told
        if not at and not _keeps_logs(run, agent):
            return
        count = sum(1 for _ in daily_logs(run.workspace, scope, agent, at, run.edges.now, archived=False))
        if count:
            run.out.say(f"and {counted(count, 'daily log')}: git mem list --logs")


def _keeps_logs(run: CommandContext, agent: str | None) -> bool:
    tips = ((scope.repo, memory_commit(scope.repo, scope.ref)) for scope in run.workspace.scopes)
    return any(keeps_logs(repo, tip, chosen_agent(agent)) for repo, tip in tips if tip)


def _list_logs(
    run: CommandContext, scope: str | None, agent: str | None, at: str | None, archived: bool
) -> None:
    found = [
        (spot, *_facts(run, spot))
        for spot in daily_logs(run.workspace, scope, agent, at, run.edges.now, archived=archived)
    ]
    if run.out.as_json:
        run.out.json([_log_value(*one) for one in found])
        return
    if not found:
        run.out.say("no daily logs here" + (" as of then" if at else ""))
        return
    columns = (
        _aligned([spot.stem for spot, _, _ in found]),
        _aligned([one_line(f"{spot.scope}/{spot.agent}", NAME_WIDTH) for spot, _, _ in found]),
        _aligned([age(last, run.edges.now) for _, _, last in found]),
        [counted(n, "fact") + (", archived" if is_archived(spot.file) else "") for spot, n, _ in found],
    )
    run.out.data("\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True)))


def _facts(run: CommandContext, spot: Spot) -> tuple[int, int]:
    """How many lines of a log are facts, and when the last was said, epoch seconds; 0 without any."""
    from gitmem.core.daily_log import facts  # most scopes keep no log

    with suppress(MissingObject):
        told = facts(spot.path, run.workspace.scope(spot.scope).repo.blob(spot.blob))
        return len(told), max((int(line.when.timestamp()) for _, line in told), default=0)
    return 0, 0


def _log_value(spot: Spot, count: int, last: int) -> dict[str, object]:
    """One daily log for `--json`; `last` is when its last fact was said, null without any."""
    return {
        "day": spot.stem,
        "scope": spot.scope,
        "agent": sound(spot.agent),
        "file": sound(spot.file),
        "facts": count,
        "last": iso(last) if last else None,
        "archived": is_archived(spot.file),
    }


def _aligned(cells: list[str]) -> list[str]:
    width = max(map(len, cells))
    return [cell.ljust(width) for cell in cells]


def _rules(run: CommandContext) -> dict[str, str]:
    """What to say of memories that became rules: address to text."""
    return {
        address: f"(promoted to {one.file}{f' in {one.commit[:12]}' if one.commit else ''}) "
        for address, one in read_state(run.workspace.state).by_memory.items()
    }


def _address(header: ListedMemory) -> str:
    return f"{header.scope}/{header.agent}/{file_address(header.file)}"
