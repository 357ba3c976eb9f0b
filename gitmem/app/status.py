"""Where memory stands: what `status` shows, as a value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, field, replace
from typing import TYPE_CHECKING, Any, cast

from gitmem.app.client_faults import client_faults
from gitmem.app.git_hooks import inspect_git_hooks, read_setup
from gitmem.app.launcher import Launcher
from gitmem.app.worker import failed_jobs, read_state
from gitmem.core.errors import CheckFailed, RepositoryError
from gitmem.core.limits import HOT_MEMORIES, INDEX_BYTES, INDEX_LINES, MEMORY_BYTES
from gitmem.core.names import INDEX, is_archived
from gitmem.core.text import iso
from gitmem.flows.context import Edges
from gitmem.flows.engines import choice_for
from gitmem.flows.memory_trees import stale_trees
from gitmem.flows.pause import Pause, current
from gitmem.flows.save import look_all
from gitmem.git.locks import is_alive
from gitmem.git.trees import changed_files, read_paths
from gitmem.ledger.failures import Failure, resting
from gitmem.ledger.holdings import disputed_indexes, keeps_logs, memories
from gitmem.ledger.land import memory_commit
from gitmem.ledger.layout import read_record, taken_by
from gitmem.ledger.lookup import daily_logs
from gitmem.ledger.merge import standing_aside
from gitmem.ledger.remotes import find_remote
from gitmem.ledger.signatures import Trust, trust
from gitmem.ledger.workspace import SHARED_REF, Scope, Workspace
from gitmem.values import dataclass


@dataclass(frozen=True)
class Upstream:
    """What a scope is measured against, as last seen: nobody is asked.

    Attributes:
        ref: the remote-tracking ref.
        head: commit that it is at.
        ahead: commits that are here alone; 0 where others decide and there is nothing to ask them for.
        behind: commits that are there alone; likewise.
    """

    ref: str
    head: str
    ahead: int
    behind: int


@dataclass(frozen=True)
class Over:
    """A limit that is exceeded.

    Attributes:
        agent: the agent's folder.
        what: `index lines`, `index bytes`, `hot memories` or `memory bytes`.
        path: of the file, in the tree; the agent's folder for `hot memories`.
        count: how many there are.
        limit: how many there may be.
    """

    agent: str
    what: str
    path: str
    count: int
    limit: int


@dataclass(frozen=True)
class ScopeStanding:
    """One scope.

    Attributes:
        head: commit that its ref is at; empty where it has none yet.
        hot: agent (folder name) to number of memories that are not archived.
        archived: agent to number of memories that are.
        unreadable: path to what a reader would stumble over.
        over: limits that are exceeded.
        disputed: path to blob of memories and indexes that may hold a disputed claim.
        upstream: None where there is none, or nothing of it was ever seen.
        logs: number of daily logs that are not archived.
        bare: agents that have an index and no memory.
        aside: path to why no folder shows that memory.
    """

    name: str
    ref: str
    head: str
    hot: dict[str, int]
    archived: dict[str, int]
    unreadable: dict[str, str]
    over: tuple[Over, ...]
    disputed: dict[str, str]
    upstream: Upstream | None
    logs: int = 0
    bare: tuple[str, ...] = ()
    aside: dict[str, str] = field(default_factory=dict)

    def counted(self, agent: str) -> str:
        """An agent in words: how many memories `list` shows, and how many only `list -a`."""
        paged = self.archived.get(agent, 0)
        return f"{agent} {self.hot.get(agent, 0)}" + (f" and {paged} archived" if paged else "")

    @property
    def memories(self) -> dict[str, int]:
        """Agent to number of memories, archived ones included."""
        agents = sorted({*self.hot, *self.archived})
        return {agent: self.hot.get(agent, 0) + self.archived.get(agent, 0) for agent in agents}

    def as_value(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "scope": self.name,
            "ref": self.ref,
            "head": self.head or None,
            "memories": self.memories,
            "hot": self.hot,
            "archived": self.archived,
            "logs": self.logs,
            "index_only": list(self.bare),
            "set_aside": self.aside,
            "upstream": vars(self.upstream) if self.upstream else None,
            "over": [vars(over) for over in self.over],
            "unreadable": self.unreadable,
        }


def scope_standing(workspace: Workspace, scope: Scope) -> ScopeStanding:
    """Reads where a scope stands, as far as it can be; a memory that was ever read is not opened again."""
    try:
        return _standing(workspace, scope)
    except RepositoryError as error:
        return ScopeStanding(scope.name, scope.ref, "", {}, {}, {scope.ref: error.message}, (), {}, None)


def _standing(workspace: Workspace, scope: Scope) -> ScopeStanding:
    head = memory_commit(scope.repo, scope.ref)
    if head is None:
        from gitmem.app.doctor_memory import evidence  # only a ref that is not there needs the doctor

        if shown := next(evidence(workspace, scope), None):
            raise RepositoryError(f"it is gone, but {shown.source} shows it at {shown.oid[:12]}")
        return ScopeStanding(scope.name, scope.ref, "", {}, {}, {}, (), {}, None)
    hot: dict[str, int] = {}
    archived: dict[str, int] = {}
    unreadable: dict[str, str] = {}
    over: list[Over] = []
    disputed: dict[str, str] = {}
    known = memories(scope, head, checked=True, missed=unreadable)
    for agent, some in known.items():
        for file, blob, said in some:
            counts = archived if is_archived(file) else hot
            counts[agent] = counts.get(agent, 0) + 1
            if said is None:
                unreadable[f"{agent}/{file}"] = "missing from the repository"
                continue
            if said.problems:
                unreadable[f"{agent}/{file}"] = "; ".join(said.problems)
            if said.size > MEMORY_BYTES:
                over.append(Over(agent, "memory bytes", f"{agent}/{file}", said.size, MEMORY_BYTES))
            if said.disputed:
                disputed[f"{agent}/{file}"] = blob
    over += [Over(a, "hot memories", a, n, HOT_MEMORIES) for a, n in hot.items() if n > HOT_MEMORIES]
    tree = scope.repo.commit(head).tree
    indexes = read_paths(scope.repo, tree, {f"{agent}/{INDEX}" for agent in known})
    over += _large_indexes(indexes)
    aside = standing_aside(scope.repo, tree)
    disputed |= disputed_indexes(scope.repo, head)
    upstream, logs = _upstream(workspace, scope, head), _logs(workspace, scope, head)
    found = ScopeStanding(
        scope.name, scope.ref, head, hot, archived, unreadable, tuple(over), disputed, upstream, logs
    )
    speaking = {path.removesuffix(f"/{INDEX}") for path, data in indexes.items() if data.strip()}
    return replace(found, bare=tuple(sorted(speaking - found.memories.keys())), aside=aside)


def _logs(workspace: Workspace, scope: Scope, head: str) -> int:
    if not keeps_logs(scope.repo, head):
        return 0
    return sum(1 for _ in daily_logs(workspace, scope.name, archived=False))


def _large_indexes(indexes: Mapping[str, bytes]) -> Iterator[Over]:
    """Indexes of which a client loads only a part."""
    for path, data in sorted(indexes.items()):
        agent = path.removesuffix(f"/{INDEX}")
        lines = data.count(b"\n") + (data[-1:] not in (b"", b"\n"))
        if lines > INDEX_LINES:
            yield Over(agent, "index lines", path, lines, INDEX_LINES)
        if len(data) > INDEX_BYTES:
            yield Over(agent, "index bytes", path, len(data), INDEX_BYTES)


def _upstream(workspace: Workspace, scope: Scope, head: str) -> Upstream | None:
    ref = _tracking(workspace, scope)
    there = scope.repo.ref(ref) if ref else None
    if not ref or there is None:
        return None
    if workspace.sharing == "review":
        from gitmem.core.account import speaks

        trees = (scope.repo.commit(oid).tree for oid in (head, there))
        if not any(map(speaks, changed_files(scope.repo, *trees))):
            # Others are asked for claims alone: not for index lines, nor for how these came here.
            return Upstream(ref, there, 0, 0)
    words = ["rev-list", "--left-right", "--count", f"{head}...{there}", "--"]
    done = workspace.git.run(words, git_dir=scope.repo.git_dir, check=False)
    ahead, _, behind = done.text.partition("\t")
    if done.returncode or not (ahead.isdigit() and behind.isdigit()):
        return None
    return Upstream(ref, there, int(ahead), int(behind))


def _tracking(workspace: Workspace, scope: Scope) -> str:
    """The ref that shows what the other side had when last seen; empty where there is no other side."""
    if scope.name != "project":
        url = workspace.settings.get("backup")
        if not url:
            return ""
        from gitmem.ledger.backup import backup_remote  # few have one

        try:
            return backup_remote(workspace, url).tracking(scope.ref)
        except CheckFailed:  # its setting is gone: the next backup says what to do
            return ""
    if workspace.sharing == "off":
        return ""
    try:
        return find_remote(workspace).tracking(SHARED_REF)
    except RepositoryError:
        return ""


if TYPE_CHECKING:
    from gitmem.flows.review_items import ReviewItem
    from gitmem.ledger.consent import ForeignPurge
    from gitmem.ledger.inbox import Outgoing
    from gitmem.ledger.working_copy import Saved


@dataclass(frozen=True)
class Status:
    """All that `status` shows.

    Attributes:
        hooks_lost: since when hooks have found no gitmem, epoch seconds; None where they find one.
    """

    project: str
    sharing: str
    engine: str
    extract: str
    mode: str
    scopes: tuple[ScopeStanding, ...]
    live: tuple[Saved, ...]
    pinned: dict[str, str]
    hooks: dict[str, str]
    spooled: int
    failed: int
    worker: bool
    waits: tuple[ReviewItem, ...]
    stale_trees: tuple[str, ...] = ()
    taken_by: str = ""
    paused: Pause | None = None
    engine_lacks: tuple[str, ...] = ()
    resting: tuple[Failure, ...] = ()
    hooks_lost: float | None = None
    clients: tuple[Mapping[str, str], ...] = ()
    outgoing: tuple[Outgoing, ...] = ()
    purge: ForeignPurge | None = None
    trust: Trust | None = None

    def as_value(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "project": self.project,
            "sharing": self.sharing,
            "engine": self.engine,
            "engine_lacks": list(self.engine_lacks),
            "extract": self.extract,
            "mode": self.mode,
            "scopes": [scope.as_value() for scope in self.scopes],
            "directories": [
                {
                    "scope": saved.live.scope.name,
                    "agent": saved.live.agent,
                    "path": str(saved.live.path),
                    "tracked": saved.live.tracked,
                    "pinned": self.pinned.get(str(saved.live.path)),
                    "unsaved": sorted(saved.plan.edits),
                    "held": dict(saved.plan.held),
                    "refused": [r.path for r in saved.plan.refusals],
                    "problems": dict(saved.problems),
                }
                for saved in self.live
            ],
            "hooks": self.hooks,
            "hooks_lost": self.hooks_lost,
            "clients": [dict(one) for one in self.clients],
            "jobs": {"waiting": self.spooled, "failed": self.failed, "worker": self.worker},
            "review": len(self.waits),
            "outgoing": [
                {
                    "branch": one.inbox.branch,
                    "claims": len(one.inbox.proposals),
                    "waits_for": one.waits_for,
                }
                for one in self.outgoing
            ],
            "purge": {"id": self.purge.id, "remote": self.purge.remote} if self.purge else None,
            "stale_work_trees": list(self.stale_trees),
            "folder_taken_by": self.taken_by or None,
            "resting": [
                {"what": one.told, "times": one.times, "why": one.why, "until": iso(one.until)}
                for one in self.resting
            ],
            "paused": self.paused.as_value() if self.paused else None,
            "trust": asdict(self.trust) if self.trust else None,
        }


def standing(workspace: Workspace, edges: Edges) -> Status:
    """Reads where memory stands; writes nothing."""
    from gitmem.flows.review import queue

    scopes = tuple(scope_standing(workspace, scope) for scope in workspace.scopes)
    live = look_all(workspace, edges)
    pinned = {}
    for saved in live:
        record = read_record(saved.live.scope.state, saved.live.key)
        if record and record.pinned:
            pinned[str(saved.live.path)] = record.pinned
    common = workspace.layout.common_dir
    launcher = Launcher(workspace.around.data)
    setup = read_setup(workspace.git, workspace.top, workspace.settings.config)
    states = inspect_git_hooks(common, launcher.argv, setup)
    spool = workspace.state / "spool"
    state = read_state(common)
    chosen = choice_for(workspace, edges)
    disputed = {scope.name: scope.disputed for scope in scopes}
    items = queue(workspace, edges, live, disputed, {scope.name: scope.aside for scope in scopes})
    return Status(
        project=workspace.project_id,
        sharing=workspace.sharing,
        engine=chosen.engine,
        extract=workspace.settings.get("extract"),
        mode=workspace.settings.get("mode"),
        scopes=scopes,
        live=live,
        pinned=pinned,
        hooks={one.hook: one.standing for one in states},
        hooks_lost=launcher.missed,
        spooled=sum(path.is_file() for path in spool.iterdir()) if spool.is_dir() else 0,
        failed=len(failed_jobs(common)),
        worker=bool(state and is_alive(state.process)),
        waits=tuple(items),
        taken_by=str(taken_by(workspace) or ""),
        stale_trees=tuple(map(str, stale_trees(workspace))),
        paused=current(workspace.state, edges.now),
        outgoing=_outgoing(workspace),
        purge=cast(
            "ForeignPurge | None", next((one.subject for one in items if one.kind == "purge"), None)
        ),
        resting=tuple(
            one
            for folder in (workspace.state, workspace.private_state)
            for one in resting(folder, edges.now)
        ),
        engine_lacks=tuple(lack.what for lack in chosen.missing),
        clients=_clients(workspace, edges),
        trust=trust(workspace),
    )


def _clients(workspace: Workspace, edges: Edges) -> tuple[Mapping[str, str], ...]:
    """What keeps clients' hooks from running, by the clients' own files."""
    return tuple(
        {"client": one.client.name, "kind": one.kind, "what": one.what, "remedy": one.remedy}
        for one in client_faults(workspace, edges.environ, Launcher(workspace.around.data).argv)
    )


def _outgoing(workspace: Workspace) -> tuple[Outgoing, ...]:
    if workspace.sharing == "off":
        return ()
    from gitmem.ledger.inbox import outgoing

    return outgoing(workspace)
