"""Making snapshots: project memory as files in the work tree, for the person to commit."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gitmem.errors import RepositoryError, UsageError
from gitmem.memory.merge import kind
from gitmem.memory.names import ARCHIVE, agent_folder_name, agent_name
from gitmem.memory.tombstone import FILE as TOMBSTONES
from gitmem.memory.trailers import Provenance
from gitmem.share.leaving import memories
from gitmem.share.snapshots import agent_memory, hot_paths, record_commit, snapshot_parents
from gitmem.store.commits import Tip, Write, commit, read_tip
from gitmem.store.repository import TREE, Repository, Signature
from gitmem.store.screen import screen
from gitmem.store.snapshots import STATE_FILE, publishable, read_worktree, write_snapshot
from gitmem.store.trees import subtree
from gitmem.store.workspace import MAIN, Workspace


@dataclass(frozen=True)
class Made:
    """One snapshot that was, or would be, written.

    Attributes:
        written: whether the files changed.
        left_out: memories that stay here: about a person, or holding a secret.
    """

    agent: str
    folder: Path
    count: int
    written: bool
    left_out: tuple[str, ...]


def make(
    workspace: Workspace,
    agents: tuple[str, ...],
    to: str,
    author: Signature,
    now: float,
    allow: frozenset[str],
    dry_run: bool = False,
) -> tuple[Made, ...]:
    """Writes snapshots into the work tree; committing them is the person's.

    Args:
        agents: agents as a person says them; empty for all that have project memory.
        to: folder for them inside the work tree; empty for the usual one.

    Raises:
        UsageError: an agent has no project memory, or the folder is outside.
        RepositoryError: the folder cannot be written.
    """
    top = workspace.layout.worktree
    if top is None:
        raise RepositoryError("There is no work tree here", "Run it in one.")
    scope = workspace.scope("project")
    tip = read_tip(scope.repo, scope.ref)
    known = agents_with_memory(scope.repo, tip)
    wanted = tuple(map(agent_name, agents)) or known
    parent = top / (_inside(to) if to else usual_folder(workspace))
    done = []
    for agent in wanted:
        if agent not in known:
            there = ", ".join(map(agent_folder_name, known)) or "none"
            raise UsageError(
                f"{agent_folder_name(agent)} has no project memory", f"Agents that have some: {there}."
            )
        held = {
            name: data for name, data in agent_memory(scope.repo, tip, agent).items() if name != TOMBSTONES
        }
        files, personal = publishable(held)
        screened = screen({}, {f"{agent}/{name}": data for name, data in files.items()}, allow)
        refused = tuple(refusal.path for refusal in screened.refusals)
        kept = {path.removeprefix(f"{agent}/"): data for path, data in screened.files.items()}
        folder = parent / agent_folder_name(agent)
        paged = subtree(scope.repo, tip.tree, f"{agent}/{ARCHIVE}") is not None
        written = not dry_run and write_snapshot(top, folder, kept, now, paged=paged)
        if written:
            _remember(workspace, top, folder, agent, author)
        count = sum(kind(name) == "memory" for name in kept)
        done.append(Made(agent_folder_name(agent), folder, count, written, (*personal, *refused)))
    return tuple(done)


def usual_folder(workspace: Workspace) -> str:
    """Where snapshots go: the clients' folder, or `snapshots` where they lie there and only there."""
    top = workspace.layout.worktree
    usual, other = snapshot_parents(workspace)
    if top and not (top / usual).is_dir() and any((top / other).glob(f"*/{STATE_FILE}")):
        return other
    return usual


def agents_with_memory(repo: Repository, tip: Tip) -> tuple[str, ...]:
    """Folder names of the agents that have at least one memory, `main` first."""
    found = [n for n, e in repo.tree(tip.tree).items() if e.mode == TREE and not n.startswith(".")]
    named = {
        memory.agent for name in found for memory in memories(repo, tip.tree, hot_paths(repo, tip, name))
    }
    return tuple(sorted(named, key=lambda name: (name != MAIN, name)))


def _inside(to: str) -> str:
    path = Path(to)
    if path.is_absolute() or ".." in path.parts or ".git" in path.parts or not path.parts:
        raise UsageError(f"{to!r} is not a folder of this work tree", "Name one relative to its top.")
    return path.as_posix()


def _remember(workspace: Workspace, top: Path, folder: Path, agent: str, author: Signature) -> None:
    """Notes a snapshot made here as one that was taken in: the base when others hand it back changed."""
    made = read_worktree(top, (folder.parent.relative_to(top).as_posix(),))[0].get(agent)
    if made is not None:
        scope = workspace.scope("project")
        seen = record_commit(scope.repo, made)
        provenance = Provenance(op="merge")
        subject = f"Make a snapshot of {agent}"
        commit(scope.repo, scope.ref, lambda _: Write({}, subject, provenance, parents=(seen,)), author)
