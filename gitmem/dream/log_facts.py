"""Which facts of daily logs still wait for a dream: those that no memory says, and that nobody decided on.

A fact is settled where a person accepted what was made of its line, or rejected it; where they forgot what
it says; or where a memory of its agent says all of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from gitmem.core import tombstone
from gitmem.core.account import claims_at, is_memory, line_key, line_mark, lines_at, passing, path_of
from gitmem.core.claim import Claim, normal_form, repeated
from gitmem.core.daily_log import LogLine, day_of, is_log, statements
from gitmem.core.merge import Files, agent_folder
from gitmem.core.text import decode
from gitmem.core.trailers import parse
from gitmem.engines.offline.distil import paragraphs
from gitmem.engines.offline.similar import Lookup, holds
from gitmem.git.repository import Commit, MissingObject, Repository
from gitmem.values import dataclass

RESTS = timedelta(days=14)
"""After so long a fact that only mattered on its day waits for nothing: its log may leave the hot days."""

LAG = 64
"""Commits in a row that are older than all days asked about, after which history is not followed further:
clocks differ."""

_BEFORE = timedelta(days=2)
_TRAILER = "Gitmem-Claim:"


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


class Sayings:
    """What the memories of agents say, or what was decided on: asked whether it holds a fact."""

    def __init__(self, said: Mapping[str, Sequence[Claim]]) -> None:
        """Starts from claims by the folder of their agent."""
        self._claims = said
        self._places = {agent: Lookup(claims) for agent, claims in said.items()}

    @classmethod
    def of(cls, files: Files, agents: Collection[str]) -> Sayings:
        """What the memories of a tree say, archived ones too."""
        said: dict[str, list[Claim]] = {}
        for path, data in files.items():
            if is_memory(path) and (agent := agent_folder(path)) in agents:
                said.setdefault(agent, []).extend(claims_at(path, data))
        return cls(said)

    def hold(self, agent: str, text: str) -> bool:
        """Whether a fact is said, each of its parts."""
        return agent in self._places and all(self._holds(agent, one) for one in _parts(text))

    def _holds(self, agent: str, one: Claim) -> bool:
        there = (self._claims[agent][number] for number in self._places[agent].near(one))
        return any(repeated(claim.key) == repeated(one.key) or holds(claim, one) for claim in there)


def _parts(text: str) -> list[Claim]:
    return [Claim(part, "", normal_form(part, item=False)) for part in statements(text)]


def _unsaid(lines: Mapping[str, LogLine], files: Files) -> dict[str, LogLine]:
    """Those that no memory says, and that no tombstone names."""
    agents = {agent_folder(path_of(ref)) for ref in lines}
    said = Sayings.of(files, agents)
    stones = {agent: _Stones(decode(files.get(f"{agent}/{tombstone.FILE}", b""))) for agent in agents}
    turned_down: dict[str, list[Claim]] = {}
    found: dict[str, LogLine] = {}
    for ref, line in lines.items():
        agent = agent_folder(path_of(ref))
        if stones[agent].rejected(line_key(ref)):
            turned_down.setdefault(agent, []).extend(_parts(line.text))
        elif not stones[agent].bury(line) and not said.hold(agent, line.text):
            found[ref] = line
    # Nobody is asked twice because two said the same.
    rejected = Sayings(turned_down)
    return {
        ref: line for ref, line in found.items() if not rejected.hold(agent_folder(path_of(ref)), line.text)
    }


class _Stones:
    """What a person forgot or rejected of what an agent knows."""

    def __init__(self, text: str) -> None:
        stones = tombstone.parse(text)
        self.rejected = tombstone.finder(stones, "rejected")
        self._forgotten = tombstone.finder(stones, "forgot")

    def bury(self, line: LogLine) -> bool:
        """Whether what a line says is among it, in its own words or in those of a memory."""
        told = (statements(line.text)[0], next(paragraphs(line)))
        keys = dict.fromkeys(normal_form(one, item=False) for one in told)
        return any(self.rejected(key) or self._forgotten(key) for key in keys)


def _undecided(lines: Mapping[str, LogLine], repo: Repository, tip: str) -> dict[str, LogLine]:
    """Those of which no accepted account speaks, nor, since they were told, of one that says the same."""
    marks = {line_mark(ref): ref for ref in lines}
    since = (min(line.when for line in lines.values()) - _BEFORE).timestamp()
    left = dict(lines)
    decided: list[tuple[float, Sayings]] = []
    try:
        for commit in accounts(repo, tip, since):
            taken: dict[str, list[Claim]] = {}
            for fate in parse(commit.message).claims:
                # Where lines of two logs are made one, nothing was decided on what they say.
                if not is_log(path_of(fate.source)) or is_log(path_of(fate.target)):
                    continue
                ref = marks.get(line_mark(fate.source), "")
                if left.pop(ref, None) and fate.kind == "merged":
                    taken.setdefault(agent_folder(path_of(ref)), []).extend(_parts(lines[ref].text))
            decided += [(commit.committer.time, Sayings(taken))] if taken else []
            if not left:
                break
    except MissingObject:
        # What is newer than the damage was told; a fact that comes back is decided on once more.
        pass
    # A person may have reworded or forgotten since what they took.
    return {
        ref: line
        for ref, line in left.items()
        if not any(
            line.when.timestamp() <= time and said.hold(agent_folder(path_of(ref)), line.text)
            for time, said in decided
        )
    }


def accounts(repo: Repository, tip: str, since: float) -> Iterator[Commit]:
    """Commits that speak of claims, without those that a person took back, and what came with them.

    Args:
        since: epoch seconds; history is followed until all that is met is older.
    """
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
