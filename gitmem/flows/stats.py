"""What extraction came to over some days: from commits' trailers, the record of jobs, and the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from gitmem.core.errors import EngineError, MissingObject
from gitmem.core.memory import parse
from gitmem.core.names import kind
from gitmem.core.trailers import Provenance, Usage
from gitmem.core.trailers import parse as parse_trailers
from gitmem.engines.budget import Spending
from gitmem.flows.context import Edges
from gitmem.flows.engines import ledger_for
from gitmem.git.repository import Repository
from gitmem.ledger import proposals
from gitmem.ledger.accounts import accounts
from gitmem.ledger.dreams import DreamCommit, dreamt, read_change
from gitmem.ledger.job_record import read_runs
from gitmem.ledger.log import LogEntry, entries
from gitmem.ledger.proposals import suggestions_of
from gitmem.ledger.suggestions import open_suggestions
from gitmem.ledger.workspace import Scope, Workspace

DAY = 86_400
MOST_COMMITS = 5_000
"""Commits of one ref that are looked at; more than a month of heavy use."""

UNASKED = "commit trailers"
"""Stands for an engine where a person said it in a commit message."""


@dataclass
class Stored:
    """Memories that extraction wrote and nobody undid, by what they are.

    Attributes:
        by_type, by_scope, by_engine, by_op: word to number.
    """

    total: int = 0
    by_type: Counter[str] = field(default_factory=Counter)
    by_scope: Counter[str] = field(default_factory=Counter)
    by_engine: Counter[str] = field(default_factory=Counter)
    by_op: Counter[str] = field(default_factory=Counter)


@dataclass
class Spent:
    """What models cost, by (engine's model, job)."""

    total: Usage = field(default_factory=Usage)
    by_model: dict[str, Usage] = field(default_factory=dict)

    def add(self, model: str, usage: Usage) -> None:
        """Adds requests to a model."""
        self.total = self.total + usage
        self.by_model[model] = self.by_model.get(model, Usage()) + usage


@dataclass
class Stats:
    """What happened in this repository since a moment.

    Attributes:
        since, until: epoch seconds.
        suggested, accepted, rejected: suggestions that were put into review, and what became of such.
        waiting: suggestions that wait now.
        sessions: recorded sessions that something was stored or suggested from.
        runs, failed, refused: of background work, as far as its record goes back.
        recorded: usage as commits tell it, also of other machines.
        ledger: what was spent here; `everywhere`: by the person in all repositories.
        shown: memories that recall showed, and in how many sessions; of sessions that are remembered.
        dreamt: changes of dreams that landed, newest first; those of a squash count as one.
    """

    since: float
    until: float
    stored: Stored = field(default_factory=Stored)
    suggested: int = 0
    accepted: int = 0
    rejected: int = 0
    waiting: int = 0
    sessions: set[str] = field(default_factory=set)
    runs: int = 0
    failed: int = 0
    refused: int = 0
    recorded: Usage = field(default_factory=Usage)
    ledger: Spent = field(default_factory=Spent)
    everywhere: Usage = field(default_factory=Usage)
    shown: tuple[int, int] = (0, 0)
    dreamt: list[DreamCommit] = field(default_factory=list)


def count(workspace: Workspace, edges: Edges, days: int) -> Stats:
    """Counts what happened in the last days; writes nothing."""
    found = Stats(edges.now - days * DAY, edges.now)
    for scope in workspace.scopes:
        _count_scope(found, scope)
        _count_dreams(found, scope)
    suggested: set[str] = set()
    for proposal in proposals.history(suggestions_of(workspace)):
        if proposal.when >= found.since and proposal.provenance.writer == "extract":
            suggested.add(proposal.id)
            _count_source(found, proposal.provenance)
    found.suggested = len(suggested)
    found.waiting = len(open_suggestions(workspace))
    _count_runs(found, workspace)
    mine = workspace.settings.get("projectId")
    with suppress(EngineError):
        for one in ledger_for(workspace).spendings(found.since, found.until):
            _count_spending(found, one, mine)
    found.shown = _shown(workspace.state / "shown", found.since)
    return found


def _count_scope(found: Stats, scope: Scope) -> None:
    undone: set[str] = set()
    for entry in _since(scope.repo, scope.ref, found.since):
        told = entry.provenance
        if entry.commit in undone:
            _count_source(found, told)
            continue
        undone.add(told.undoes)
        if told.reviewed.startswith("s-") and told.writer == "human":
            found.rejected += len(told.reviewed.split())
        if told.writer != "extract" or told.op not in ("add", "update", "delete"):
            continue
        found.accepted += told.reviewed.startswith("s-")
        stored = found.stored
        stored.total += 1
        stored.by_op[told.op] += 1
        stored.by_scope[scope.name] += 1
        stored.by_engine[told.engine or UNASKED] += 1
        stored.by_type[_type(scope.repo, entry)] += 1
        _count_source(found, told)


def _count_dreams(found: Stats, scope: Scope) -> None:
    repo, tip = scope.repo, scope.repo.ref(scope.ref)
    with suppress(MissingObject):
        for commit in accounts(repo, tip, found.since) if tip else ():
            # What lands by a merge is counted by the commits that it merges.
            landed = len(commit.parents) == 1 and dreamt(parse_trailers(commit.message))
            if landed and commit.committer.time >= found.since:
                before = repo.commit(commit.parents[0]).tree
                found.dreamt.append(read_change(repo, 0, before, commit))


def _count_source(found: Stats, told: Provenance) -> None:
    if told.session:
        found.sessions.add(told.session)
    if told.usage is not None:
        found.recorded = found.recorded + told.usage


def _count_runs(found: Stats, workspace: Workspace) -> None:
    for run in read_runs(workspace.state):
        if found.since <= _time(run.get("time")) <= found.until:
            found.runs += 1
            found.failed += run.get("error") is not None
            refused = run.get("refused")
            found.refused += refused if isinstance(refused, int) else 0


def _count_spending(found: Stats, one: Spending, mine: str) -> None:
    found.everywhere = found.everywhere + one.usage
    if one.repository == mine:
        found.ledger.add(one.model, one.usage)


def _since(repo: Repository, ref: str, since: float) -> Iterator[LogEntry]:
    tip = repo.ref(ref)
    for number, entry in enumerate(entries(repo, tip) if tip else ()):
        # Merged side branches are older than what stands around them; the walk goes on a while.
        if number >= MOST_COMMITS or entry.time < since - 30 * DAY:
            return
        if entry.time >= since:
            yield entry


def _type(repo: Repository, entry: LogEntry) -> str:
    """The type of the memory that a commit wrote, or took out."""
    with suppress(MissingObject):
        commit = repo.commit(entry.commit)
        trees = [commit.tree, *(repo.commit(oid).tree for oid in commit.parents[:1])]
        for path in entry.paths:
            for tree in trees if kind(path) == "memory" else ():
                if standing := repo.entry(tree, path):
                    memory = parse(path.partition("/")[2], repo.blob(standing.oid))
                    return str(memory.type or "unknown")
    return "unknown"


def _shown(folder: Path, since: float) -> tuple[int, int]:
    memories = sessions = 0
    with suppress(OSError):
        for path in folder.iterdir():
            state = path.lstat()
            if not path.name.startswith(".") and not path.is_symlink() and state.st_mtime >= since:
                sessions += 1
                memories += len(path.read_bytes()[:1_000_000].split())
    return memories, sessions


def _time(value: Any) -> float:
    try:
        return datetime.fromisoformat(str(value)).timestamp()
    except (ValueError, OverflowError):
        return -1.0
