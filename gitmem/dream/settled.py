"""Which facts of daily logs still wait for a dream: those that no memory says, and that nobody decided on.

A fact is settled where a person accepted what was made of its line, or rejected it; where they forgot what
it says; or where a memory of its agent says all of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from gitmem.engines.offline.consolidating.place import Lookup
from gitmem.engines.offline.consolidating.same import holds
from gitmem.memory import tombstone
from gitmem.memory.account import claims_at, is_memory, line_key, path_of
from gitmem.memory.claim import Claim, normal_form, repeated
from gitmem.memory.daily import LogLine, day_of, is_log, statements
from gitmem.memory.distilled import lines_at, passing
from gitmem.memory.encoding import decode
from gitmem.memory.merge import Files, agent_folder
from gitmem.memory.trailers import parse
from gitmem.store.repository import Commit, MissingObject, Repository
from gitmem.values import dataclass

RESTS = timedelta(days=14)
"""After so long a fact that only mattered on its day waits for nothing: its log may leave the hot days."""

LAG = 64
"""Commits in a row that are older than all days asked about, after which history is not followed further:
clocks differ."""

_BEFORE = timedelta(days=2)
_TRAILER = "Gitmem-Claim:"
_SHORT = 12


@dataclass(frozen=True)
class Waiting:
    """The facts of some logs that are not settled, by reference (`<file>#<12 hex>`), oldest first.

    Attributes:
        lasting: those that a dream makes memories of.
        passing: those that only mattered on their day, and are left.
    """

    lasting: Mapping[str, LogLine]
    passing: Mapping[str, LogLine]


def unsettled(
    repo: Repository,
    tip: str,
    files: Files,
    *,
    now: float,
    agents: Collection[str] = (),
    logs: Collection[str] | None = None,
) -> Waiting:
    """Finds the facts that wait.

    History is read as far back as the oldest of the days that is asked about, and only where the tree
    leaves something open.

    Args:
        tip: commit of the memory ref.
        files: its tree: path to content. Memories and tombstones of the agents must be there, and the logs.
        now: epoch seconds.
        agents: folder names of those whose logs are asked about; empty for all.
        logs: paths of those that are; None for all that are not archived.
    """
    asked = [path for path in files if is_log(path) and (not agents or agent_folder(path) in agents)]
    if logs is None:
        asked = [path for path in asked if day_of(path) and path.count("/") == _HOT]
    else:
        asked = [path for path in asked if path in logs]
    lines: dict[str, LogLine] = {}
    for path in asked:
        lines |= lines_at(path, files[path])
    if not lines:
        return Waiting({}, {})
    open_ones = _unsaid(lines, files)
    if open_ones:
        open_ones = _undecided(open_ones, repo, tip)
    rested = datetime.fromtimestamp(now, UTC) - RESTS
    found: tuple[dict[str, LogLine], dict[str, LogLine]] = {}, {}
    for ref, line in sorted(open_ones.items(), key=lambda one: (one[1].when, one[0])):
        rests = passing(line)
        if not rests or line.when > rested:
            found[rests][ref] = line
    return Waiting(*found)


_HOT = "agent/logs/YYYY/MM/day.md".count("/")


def says(said: Mapping[str, Lookup], claims: Mapping[str, Sequence[Claim]], agent: str, text: str) -> bool:
    """Whether the memories of an agent say a fact, each of its parts."""
    place = said.get(agent)
    if place is None:
        return False
    for part in statements(text):
        one = Claim(part, "", normal_form(part, item=False))
        there = (claims[agent][number] for number in place.near(one))
        if not any(repeated(claim.key) == repeated(one.key) or holds(claim, one) for claim in there):
            return False
    return True


def _unsaid(lines: Mapping[str, LogLine], files: Files) -> dict[str, LogLine]:
    """Those that no memory says, and that no tombstone names."""
    claims: dict[str, list[Claim]] = {}
    stones: dict[str, Iterable[tombstone.Tombstone]] = {}
    agents = {agent_folder(path_of(ref)) for ref in lines}
    for path, data in files.items():
        agent = agent_folder(path)
        if agent in agents and is_memory(path):
            claims.setdefault(agent, []).extend(claims_at(path, data))
        elif agent in agents and path == f"{agent}/{tombstone.FILE}":
            stones[agent] = tombstone.parse(decode(data))
    said = {agent: Lookup(some) for agent, some in claims.items()}
    rejected = {agent: tombstone.finder(some, "rejected") for agent, some in stones.items()}
    forgotten = {agent: tombstone.finder(some, "forgot") for agent, some in stones.items()}
    found: dict[str, LogLine] = {}
    for ref, line in lines.items():
        agent = agent_folder(path_of(ref))
        if agent in stones:
            key = normal_form(statements(line.text)[0], item=False)
            if rejected[agent](line_key(ref)) or rejected[agent](key) or forgotten[agent](key):
                continue
        if not says(said, claims, agent, line.text):
            found[ref] = line
    return found


def _undecided(lines: Mapping[str, LogLine], repo: Repository, tip: str) -> dict[str, LogLine]:
    """Those of which no accepted account speaks."""
    marks = {_mark(ref): ref for ref in lines}
    since = (min(line.when for line in lines.values()) - _BEFORE).timestamp()
    left = dict(lines)
    try:
        for commit in _accounts(repo, tip, since):
            for fate in parse(commit.message).claims:
                # Where lines of two logs are made one, nothing was decided on what they say.
                if is_log(path_of(fate.source)) and not is_log(path_of(fate.target)):
                    left.pop(marks.get(_mark(fate.source), ""), None)
            if not left:
                break
    except MissingObject:
        # What is newer than the damage was told; a fact that comes back is decided on once more.
        pass
    return left


def _accounts(repo: Repository, tip: str, since: float) -> Iterator[Commit]:
    """Commits that speak of claims, without those that a person took back, and what came with them."""
    undone: set[str] = set()
    off: set[str] = set()
    late = 0
    for commit in repo.history(tip):
        late = 0 if commit.committer.time >= since else late + 1
        if late > LAG:
            return
        if commit.oid in undone:
            if len(commit.parents) > 1:
                # What landed by it stays in history all the same.
                steps = repo.steps(commit.parents[1], without=commit.parents[:1])
                off |= {step.commit.oid for step in steps}
            continue
        if commit.oid in off:
            continue
        if "Gitmem-" in commit.message:
            told = parse(commit.message)
            if told.undoes:
                undone.add(told.undoes)
            if _TRAILER in commit.message:
                yield commit


def _mark(reference: str) -> tuple[str, str, str]:
    """A line wherever its log stands: its agent, the day, and its digits."""
    path = path_of(reference)
    return agent_folder(path), path.rpartition("/")[2], reference[-_SHORT:]
