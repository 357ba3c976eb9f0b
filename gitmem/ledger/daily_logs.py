"""Daily logs by date or path, over the scopes and agents that apply, now or as of then.

One fact of a daily log as recall opens it.

Loaded only where a line was chosen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date

from gitmem.core.claim import Claim
from gitmem.core.daily_log import LogLine, day_of, facts
from gitmem.core.names import ARCHIVE, archived_path, is_archived, log_path
from gitmem.git.repository import TREE, MissingObject, Repository
from gitmem.git.trees import list_files, read_file
from gitmem.ledger.holdings import Spot, chosen_agent
from gitmem.ledger.moments import commits_at
from gitmem.ledger.workspace import SCOPES, Workspace
from gitmem.values import dataclass

_NAME = re.compile(
    r"(?P<led>(?:[^/]+/){0,2}?)(?P<folder>(?:archive/)?logs/\d{4}/\d{2}/)?(?P<day>\d{4}-\d{2}-\d{2})(?P<end>\.md)?"
)


@dataclass(frozen=True)
class Asked:
    """A day as a person names it.

    Attributes:
        scope, agent: what leads it; None where nothing does.
        by_path: whether it is the path of a log, and no name that a memory may have as well.
    """

    day: date
    scope: str | None
    agent: str | None
    by_path: bool


@dataclass(frozen=True)
class Day:
    """One daily log.

    Attributes:
        facts: lines that a dream can make memories of.
        last: when the last of them was said, epoch seconds; 0 without any.
    """

    spot: Spot
    day: date
    archived: bool
    facts: int
    last: int


def asked_day(name: str) -> Asked | None:
    """Reads `2026-11-21` or `logs/2026/11/2026-11-21.md`, either led by agent, or scope and agent."""
    found = _NAME.fullmatch(name.strip())
    if found is None:
        return None
    try:
        day = date.fromisoformat(found["day"])
    except ValueError:
        return None
    folder = found["folder"]
    if folder and folder.removeprefix(f"{ARCHIVE}/") != log_path(day).rpartition("/")[0] + "/":
        return None
    led = found["led"].split("/")[:-1]
    scope = led[0] if len(led) == 2 or (led and led[0] in SCOPES) else None
    agent = led[-1] if led and (len(led) == 2 or scope is None) else None
    return Asked(day, scope, agent, bool(folder))


def find_days(
    workspace: Workspace,
    asked: Asked,
    scope: str | None = None,
    agent: str | None = None,
    at: str | None = None,
    now: float | None = None,
) -> list[Spot]:
    """The logs of a day, hot ones and archived ones; arguments as for `lookup.find`."""
    wanted = log_path(asked.day)
    found: dict[str, Spot] = {}
    for spot in logs(workspace, scope or asked.scope, agent or asked.agent, at, now, days=[asked.day]):
        if spot.file.removeprefix(f"{ARCHIVE}/") == wanted:
            found.setdefault(spot.address, spot)
    return list(found.values())


def logs(
    workspace: Workspace,
    scope: str | None = None,
    agent: str | None = None,
    at: str | None = None,
    now: float | None = None,
    *,
    archived: bool = True,
    days: Iterable[date] | None = None,
) -> Iterator[Spot]:
    """Yields daily logs by scope, agent and day; nothing of them is opened.

    Args:
        scope, agent, at, now: as for `lookup.find`.
        archived: also those that were aged out.
        days: only folders of their months are looked into.
    """
    folder = chosen_agent(agent)
    below = ["logs"] if days is None else sorted({log_path(day).rpartition("/")[0] for day in days})
    for where, commit in commits_at(workspace, scope, at, now):
        for name, entry in sorted(where.repo.tree(where.repo.commit(commit).tree).items()):
            if entry.mode != TREE or name.startswith(".") or folder not in (None, name):
                continue
            for place in below:
                for under in (place, f"{ARCHIVE}/{place}") if archived else (place,):
                    for file, oid in sorted(list_files(where.repo, entry.oid, under).items()):
                        if day_of(f"{name}/{file}") is not None:
                            yield Spot(where.name, name, file, oid, commit)


def opened(workspace: Workspace, spots: Iterable[Spot]) -> Iterator[Day]:
    """Counts the facts of logs."""
    for spot in spots:
        day = day_of(spot.path)
        if day is None:
            continue
        try:
            told = facts(spot.path, workspace.scope(spot.scope).repo.blob(spot.blob))
        except MissingObject:
            told = ()
        last = max((int(line.when.timestamp()) for _, line in told), default=0)
        yield Day(spot, day, is_archived(spot.file), len(told), last)


def log_of(at: str) -> str:
    """The log that a fact stands in.

    Args:
        at: `<path of the log>#<12 hex>`, from the root of the tree.
    """
    return at.rpartition("#")[0]


def fact_in(at: str, data: bytes) -> tuple[Claim, LogLine] | None:
    """A fact of a log; None where it is not there.

    Args:
        data: the log.
    """
    path, _, short = at.rpartition("#")
    return next((fact for fact in facts(path, data) if fact[0].short == short), None)


def standing(repo: Repository, tree: str, at: str) -> bool:
    """Whether a fact stands in a tree, in the days that are hot or in the archive."""
    path = log_of(at)
    data = (read_file(repo, tree, place) for place in (path, archived_path(path)) if place)
    return any(each is not None and fact_in(at, each) is not None for each in data)
