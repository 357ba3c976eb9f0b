"""Where memory stands: what `status` shows, as a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from gitmem.app.client_standing import ClientStanding, client_standings
from gitmem.app.git_hooks import inspect_git_hooks, read_setup
from gitmem.app.launcher import Launcher
from gitmem.app.scope_status import ScopeStanding, scope_standing
from gitmem.app.worker import failed_jobs, read_state
from gitmem.core.text import iso
from gitmem.flows.context import Edges
from gitmem.flows.engines import choice_for
from gitmem.flows.memory_trees import stale_trees
from gitmem.flows.pause import Pause, current
from gitmem.flows.save import look_all
from gitmem.git.locks import is_alive
from gitmem.ledger.failures import Failure, resting
from gitmem.ledger.record import read_record
from gitmem.ledger.state import notice
from gitmem.ledger.workspace import Workspace
from gitmem.values import dataclass

if TYPE_CHECKING:
    from gitmem.flows.review_items import Item
    from gitmem.ledger.consent import ForeignPurge
    from gitmem.ledger.inbox import Outgoing
    from gitmem.ledger.working_copy import Saved


@dataclass(frozen=True)
class Standing:
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
    waits: tuple[Item, ...]
    stale_trees: tuple[str, ...] = ()
    taken_by: str = ""
    paused: Pause | None = None
    engine_lacks: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()
    resting: tuple[Failure, ...] = ()
    hooks_lost: float | None = None
    clients: tuple[ClientStanding, ...] = ()
    outgoing: tuple[Outgoing, ...] = ()
    purge: ForeignPurge | None = None

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
            "clients": [
                {"client": one.client.name, "kind": one.kind, "what": one.what, "remedy": one.remedy}
                for one in self.clients
            ],
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
            "damaged": list(self.damaged),
            "resting": [
                {"what": one.told, "times": one.times, "why": one.why, "until": iso(one.until)}
                for one in self.resting
            ],
            "paused": self.paused.as_value() if self.paused else None,
        }


def standing(workspace: Workspace, edges: Edges) -> Standing:
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
    top = workspace.layout.worktree or common
    launcher = Launcher(workspace.around.data)
    states = inspect_git_hooks(common, launcher.argv, read_setup(workspace.git, top, common))
    spool = workspace.state / "spool"
    state = read_state(common)
    chosen = choice_for(workspace, edges)
    disputed = {scope.name: scope.disputed for scope in scopes}
    items = queue(workspace, edges, live, disputed, {scope.name: scope.aside for scope in scopes})
    return Standing(
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
        taken_by=str(workspace.taken_by or ""),
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
        damaged=tuple(
            str(folder / name)
            for folder in (workspace.state, workspace.private_state)
            if (name := notice(folder))
        ),
        engine_lacks=tuple(lack.what for lack in chosen.missing),
        clients=client_standings(workspace, edges.environ, Launcher(workspace.around.data).argv),
    )


def _outgoing(workspace: Workspace) -> tuple[Outgoing, ...]:
    if workspace.sharing == "off":
        return ()
    from gitmem.ledger.inbox import outgoing

    return outgoing(workspace)
