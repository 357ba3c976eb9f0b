"""Where memory stands: what `status` shows, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gitmem.integrations.edges import Edges
from gitmem.integrations.git_hooks import inspect_git_hooks, read_setup
from gitmem.integrations.place import default_argv
from gitmem.integrations.saving import look_all
from gitmem.integrations.worker import read_state
from gitmem.memory.memory import parse, problems
from gitmem.memory.merge import kind
from gitmem.store.live import Saved
from gitmem.store.locks import is_alive
from gitmem.store.record import read_record
from gitmem.store.trees import read_files
from gitmem.store.workspace import Workspace


@dataclass(frozen=True)
class ScopeStanding:
    """One scope.

    Attributes:
        head: commit that its ref is at; empty where it has none yet.
        memories: agent (folder name) to number of memories, archived ones included.
        unreadable: path to what a reader would stumble over.
    """

    name: str
    ref: str
    head: str
    memories: dict[str, int]
    unreadable: dict[str, str]


@dataclass(frozen=True)
class Standing:
    """All that `status` shows."""

    project: str
    sharing: str
    engine: str
    extract: str
    scopes: tuple[ScopeStanding, ...]
    live: tuple[Saved, ...]
    pinned: dict[str, str]
    hooks: dict[str, str]
    spooled: int
    failed: int
    worker: bool
    waiting: int

    def as_value(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "project": self.project,
            "sharing": self.sharing,
            "engine": self.engine,
            "extract": self.extract,
            "scopes": [
                {
                    "scope": scope.name,
                    "ref": scope.ref,
                    "head": scope.head or None,
                    "memories": scope.memories,
                    "unreadable": scope.unreadable,
                }
                for scope in self.scopes
            ],
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
            "jobs": {"waiting": self.spooled, "failed": self.failed, "worker": self.worker},
            "review": self.waiting,
        }


def standing(workspace: Workspace, edges: Edges) -> Standing:
    """Reads where memory stands; writes nothing."""
    from gitmem.integrations.review import waiting

    live = look_all(workspace, edges)
    pinned = {}
    for saved in live:
        record = read_record(saved.live.scope.state, saved.live.key)
        if record and record.pinned:
            pinned[str(saved.live.path)] = record.pinned
    common = workspace.layout.common_dir
    top = workspace.layout.worktree or common
    states = inspect_git_hooks(common, default_argv(), read_setup(workspace.git, top, common))
    spool = workspace.state / "spool"
    state = read_state(common)
    return Standing(
        project=workspace.project_id,
        sharing=workspace.sharing,
        engine=workspace.settings.get("engine"),
        extract=workspace.settings.get("extract"),
        scopes=_scopes(workspace),
        live=live,
        pinned=pinned,
        hooks={one.hook: one.standing for one in states},
        spooled=sum(path.is_file() for path in spool.iterdir()) if spool.is_dir() else 0,
        failed=len(list((spool / "failed").glob("*"))) if (spool / "failed").is_dir() else 0,
        worker=bool(state and is_alive(state.process)),
        waiting=waiting(workspace, edges, live),
    )


def _scopes(workspace: Workspace) -> tuple[ScopeStanding, ...]:
    found = []
    for scope in workspace.scopes:
        head = scope.repo.ref(scope.ref) or ""
        memories: dict[str, int] = {}
        unreadable: dict[str, str] = {}
        files = read_files(scope.repo, scope.repo.commit(head).tree) if head else {}
        for path, data in files.items():
            if kind(path) == "memory" and "/" in path:
                agent = path.split("/", 1)[0]
                memories[agent] = memories.get(agent, 0) + 1
                trouble = problems(parse(path, data))
                if trouble:
                    unreadable[path] = "; ".join(trouble)
        found.append(ScopeStanding(scope.name, scope.ref, head, memories, unreadable))
    return tuple(found)
