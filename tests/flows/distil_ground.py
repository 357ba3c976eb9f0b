"""Ground for distilling: a scope whose agents keep daily logs."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from dream_ground import ANN, Ground

from gitmem.core.daily_log import LogLine
from gitmem.core.trailers import Provenance
from gitmem.dream.gather import unsettled
from gitmem.git.repository import Signature
from gitmem.git.trees import read_files, read_paths
from gitmem.ledger.land import Tip, Write, land

SESSION = "258c7280-aaaa-bbbb-cccc-0123456789ab"


def line(
    text: str, when: str = "2026-11-16T14:05:33", type: str = "feedback", session: str = SESSION
) -> LogLine:
    return LogLine(datetime.fromisoformat(when).replace(tzinfo=UTC), type, session[:8], text)  # type: ignore[arg-type]


def tell(ground: Ground, lines: Iterable[LogLine], scope: str = "local", agent: str = "main") -> list[str]:
    """Appends each line in a commit of its own, as extraction does; gives the commits."""
    return [_tell(ground, one, scope, agent, number) for number, one in enumerate(lines)]


def _tell(ground: Ground, one: LogLine, scope: str, agent: str, number: int) -> str:
    place = ground.scope(scope)
    path = f"{agent}/{one.path}"
    messages = (f"u-{one.when:%d%H%M%S}-{number}",) * 2
    told = Provenance("add", "extract", session=SESSION, messages=messages, engine="offline")

    def plan(tip: Tip) -> Write:
        old = read_paths(place.repo, tip.tree, {path}).get(path, b"")
        return Write({path: old + f"{one.render()}\n".encode()}, f"Log: {one.text[:40]}", told)

    done = land(place, plan, Signature("Ann", ANN.email, int(one.when.timestamp())))
    assert done is not None
    return done.commit


def waits(ground: Ground, now: float | None = None, scope: str = "local") -> tuple[list[str], list[str]]:
    """The facts that are not settled: those that last, and those that only mattered on their day."""
    place = ground.scope(scope)
    tip = ground.tip(scope)
    files = read_files(place.repo, place.repo.commit(tip).tree)
    found = unsettled(place.repo, tip, files, now=ground.now if now is None else now)
    lasting, passing = ([line.text for line in side.values()] for side in (found.lasting, found.passing))
    return lasting, passing
