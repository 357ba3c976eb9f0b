"""All that a dream may know before an engine is asked: from the tree, from history, and from outside.

What the memories alone show (limits, index lines, claims that are alike) the engine sees for itself. A fact
of a daily log waits until it is settled: a person accepted what was made of its line, or rejected it; they
forgot what it says; or a memory of its agent says all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path, PurePosixPath

from gitmem.core import tombstone
from gitmem.core.account import (
    claims_at,
    is_memory,
    line_key,
    line_mark,
    lines_at,
    passing,
    path_of,
    reference,
)
from gitmem.core.claim import DISPUTED_BYTES, Claim, normal_form, repetition, with_dispute
from gitmem.core.daily_log import LogLine, day_of, statements
from gitmem.core.errors import MissingObject
from gitmem.core.memory import parse
from gitmem.core.merge import Files
from gitmem.core.names import agent_folder, is_log
from gitmem.core.pointer import is_promoted
from gitmem.core.text import counted, decode, one_line
from gitmem.dream.history import MemoryPast, Spoken, Taught, claims_to_date, look_back, said_when
from gitmem.engines.engine import ConsolidateInput, Observation
from gitmem.engines.offline.distil import paragraphs
from gitmem.engines.offline.equivalence import ClaimIndex, holds
from gitmem.engines.offline.links import inline_links, links, slug, spoken
from gitmem.git.repository import Repository
from gitmem.ledger.accounts import BEFORE, accounts, fates_of_lines
from gitmem.ledger.dreams import DreamCommit, dreams_of
from gitmem.ledger.land import Tip
from gitmem.ledger.workspace import Scope
from gitmem.rules.account import allowance, unknown
from gitmem.rules.findable import RecallWitness

CodeFacts = Callable[[Mapping[str, str]], Sequence[Observation]]
"""Tells which claims (`<file>#<12 hex>` to text) name files, symbols or flags that HEAD does not have."""


def nothing_known(claims: Mapping[str, str]) -> tuple[Observation, ...]:  # noqa: ARG001 - the type's
    """Knows of no code."""
    return ()


@dataclass(frozen=True)
class Sources:
    """What a dream may know besides the memory itself.

    Attributes:
        now: epoch seconds.
        agents: folder names of those whose memories to consolidate; empty for all.
        code: compares claims with the code.
        sessions: id of a session since the last dream to what was said there, private parts left out.
        worktree: top of the code's work tree; None where there is none.
        file: gives a file of the code at HEAD, by its path; None where there is none.
        allow: fingerprints of secrets that the person accepted.
        asked: the last recalls that showed memories of the scope; none where nobody keeps them, as in CI.
    """

    now: float
    agents: tuple[str, ...] = ()
    code: CodeFacts = nothing_known
    sessions: Mapping[str, str] = field(default_factory=dict)
    worktree: Path | None = None
    file: Callable[[str], str | None] = unknown
    allow: frozenset[str] = frozenset()
    asked: Sequence[RecallWitness] = ()


def keys_of(changes: Iterable[DreamCommit]) -> frozenset[str]:
    """Under which changes that wait are known, so that none is proposed twice."""
    return frozenset(key for change in changes for key in change.keys)


def gather(scope: Scope, tip: Tip, files: Mapping[str, bytes], sources: Sources) -> ConsolidateInput:
    """Finds out what an engine may know; nothing is written.

    Args:
        tip: where the memory ref stands.
        files: its tree: path to content.
        sources: what may be known besides.
    """
    agents = sources.agents
    # What became a rule is looked at by nobody but those who follow links to it.
    open_ones = {path: data for path, data in files.items() if not is_promoted(path, data)}
    claims, links, marks = (
        claims_to_date(open_ones, agents),
        dangling(files, agents),
        disputed(open_ones, agents),
    )
    past = look_back(scope.repo, tip.commit, files, (*claims.values(), *sides(marks)), links)
    proposed = [change for dream in dreams_of(scope) for change in dream.open]
    waiting = undecided(unsettled(scope.repo, tip.commit, files, now=sources.now, agents=agents), proposed)
    return ConsolidateInput(
        files=files,
        said=said_when(claims, past, files, scope.repo),
        authors={
            ref: one_line(past.brought[said].author.name, 40)
            for ref, said in claims.items()
            if said in past.brought
        },
        agents=agents,
        waiting=keys_of(proposed),
        pending=frozenset(
            fate.source for change in proposed for fate in change.fates if fate.kind != "kept"
        ),
        scope=scope.name,
        observed=(
            *disputes(marks, past),
            *against_code(open_ones, sources.code, agents),
            *left_out(waiting),
        ),
        renamed=renamed(links, past, files),
        sessions=sources.sessions,
        worktree=sources.worktree,
        code=sources.file,
        allowance=allowance(files),
        now=sources.now,
        taught=Taught(scope, tip.commit, files),
        lines=proposable(waiting),
    )


Dangling = dict[str, set[str]]
"""Slug of a name that no memory has to the ways in which links write it."""


def dangling(files: Mapping[str, bytes], agents: Collection[str] = ()) -> Dangling:
    """Links of some agents' memories to names that no memory of the scope has.

    Args:
        agents: folder names; empty for all.
    """
    known: set[str] = set()
    linking: dict[str, tuple[str, ...]] = {}
    for path, data in files.items():
        if not is_memory(path):
            continue
        known |= {slug(PurePosixPath(path).stem), slug(parse(path, data).name)}
        if (b"[[" in data or b".md" in data) and (not agents or agent_folder(path) in agents):
            texts = [claim.text for claim in claims_at(path, data)]
            linking[path] = tuple(link for text in texts for link in (*links(text), *inline_links(text)))
    found: Dangling = {}
    for link in {link for some in linking.values() for link in some}:
        if slug(link) not in known:
            found.setdefault(slug(link), set()).add(link)
    return found


def renamed(asked: Dangling, past: MemoryPast, files: Mapping[str, bytes]) -> dict[str, str]:
    """Each name that a link uses and a memory once had, to the name that a link says now.

    Returns:
        An empty name where the memory is gone; nothing of names that no memory ever had.
    """
    return {
        link: spoken(parse(path, files[path])) if path else ""
        for slug, path in sorted(past.became.items())
        for link in sorted(asked[slug])
    }


MOST_LINES = 100
"""Facts of one dream, the oldest: as many as a person looks through one by one. The next one goes on."""

_SHOWN = 100


def undecided(waiting: Waiting, changes: Sequence[DreamCommit]) -> Waiting:
    """The facts that wait without the lasting ones that a person is asked about already.

    Args:
        changes: what dreams that wait propose: it may be made of a line, or say the same.
    """
    keys = frozenset(key for change in changes for key in change.keys)
    made = [change.files for change in changes if any(story.line for story in change.claims)]
    files = {path: new for pairs in made for path, (_, new) in pairs.items() if new is not None}
    said = Sayings.of(files, frozenset(map(agent_folder, files)))
    lasting = {
        ref: line
        for ref, line in waiting.lasting.items()
        if line_key(ref) not in keys and not said.hold(agent_folder(path_of(ref)), line.text)
    }
    return replace(waiting, lasting=lasting)


def proposable(waiting: Waiting) -> dict[str, LogLine]:
    """The facts that an engine is given."""
    return dict(islice(waiting.lasting.items(), MOST_LINES))


def left_out(waiting: Waiting) -> Iterator[Observation]:
    """What is told of the facts that no memory is made of, this time or at all."""
    more = len(waiting.lasting) - MOST_LINES
    if more > 0:
        yield Observation("log", f"{counted(more, 'more fact')} of daily logs wait for another dream")
    for ref, line in waiting.passing.items():
        yield Observation("log", f"it only mattered on its day: “{one_line(line.text, _SHOWN)}”", (ref,))


SHOWN = 100
"""Characters of a claim or a log line that are shown."""

Disputed = dict[tuple[str, str], list[Claim]]
"""Path and mark to the claims that stand there against one another."""


def disputed(files: Mapping[str, bytes], agents: Collection[str] = ()) -> Disputed:
    """Claims that stand twice because two writers changed one differently."""
    found: Disputed = {}
    for path, data in files.items():
        if DISPUTED_BYTES in data and is_memory(path) and _asked(path, agents):
            for claim in claims_at(path, data):
                if claim.dispute:
                    found.setdefault((path, claim.dispute), []).append(claim)
    return found


def sides(asked: Disputed) -> Iterator[Spoken]:
    """The disputed claims, to ask history about."""
    for (path, _), claims in asked.items():
        yield from ((agent_folder(path), claim.key) for claim in claims)


def disputes(asked: Disputed, past: MemoryPast) -> list[Observation]:
    """Each dispute with its sides, and who said what and when."""
    found = []
    for (path, mark), claims in sorted(asked.items()):
        said = [_side(path, claim, past) for claim in claims]
        text = f"{_plain(path)}: {' against '.join(said)} (disputed {mark})"
        found.append(Observation("dispute", text, tuple(reference(path, claim) for claim in claims)))
    return found


def against_code(
    files: Mapping[str, bytes], code: CodeFacts, agents: Collection[str] = ()
) -> list[Observation]:
    """What the code says otherwise than memories do; those that agents see are asked about first."""
    paths = [path for path in files if is_memory(path) and _asked(path, agents)]
    paths.sort(key=lambda path: (path.count("/"), path))
    claims = {
        reference(path, claim): claim.text for path in paths for claim in claims_at(path, files[path])
    }
    return list(code(claims)) if claims else []


def _side(path: str, claim: Claim, past: MemoryPast) -> str:
    text = f"“{one_line(with_dispute(claim.text, ''), SHOWN)}”"
    commit = past.brought.get((agent_folder(path), claim.key))
    if commit is None:
        return text
    who = one_line(commit.author.name, 40)
    return f"{text} ({who}, {commit.author.moment.date().isoformat()})"


def _asked(path: str, agents: Collection[str]) -> bool:
    return not agents or agent_folder(path) in agents


def _plain(path: str) -> str:
    return one_line(path, 200)


RESTS = timedelta(days=14)
"""After so long a fact that only mattered on its day waits for nothing: its log may leave the hot days."""


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
        self._places = {agent: ClaimIndex(claims) for agent, claims in said.items()}

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
        return any(repetition(claim.key) == repetition(one.key) or holds(claim, one) for claim in there)


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
    since = (min(line.when for line in lines.values()) - BEFORE).timestamp()
    left = dict(lines)
    decided: list[tuple[float, Sayings]] = []
    try:
        for commit in accounts(repo, tip, since):
            taken: dict[str, list[Claim]] = {}
            for fate in fates_of_lines(commit):
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
