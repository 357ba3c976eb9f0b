"""Making snapshots: project memory as files in the work tree, for the person to commit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gitmem.core import attributes
from gitmem.core.errors import RepositoryError, UsageError
from gitmem.core.merge import kind
from gitmem.core.names import ARCHIVE, agent_folder_name, agent_name, is_agent_folder
from gitmem.core.tombstone import FILE as TOMBSTONES
from gitmem.core.trailers import Provenance
from gitmem.rules.rule import Finding
from gitmem.rules.screen import screen
from gitmem.rules.snapshot import STATE_FILE
from gitmem.share.leaving import memories
from gitmem.share.snapshots import agent_memory, hot_paths, record_commit, snapshot_parents
from gitmem.store.commits import Tip, Write, commit, memory_commit
from gitmem.store.remote import MEMORY_BRANCH, SEPARATE, Remote, find_remote
from gitmem.store.repository import TREE, Repository, Signature
from gitmem.store.snapshots import publishable, read_worktree, write_attributes, write_snapshot
from gitmem.store.trees import subtree
from gitmem.store.workspace import MAIN, Workspace
from gitmem.values import dataclass


@dataclass(frozen=True)
class Made:
    """One snapshot that was, or would be, written.

    Attributes:
        agent: as a person says it.
        changed: whether its files differ from what lay there.
        written: whether they were written.
        left_out: memories that stay here: about a person, or holding a secret.
        attributes: the attributes file, where it was written beside.
        doubts: what may be a secret in it, and is stored all the same.
    """

    agent: str
    folder: Path
    count: int
    changed: bool
    written: bool
    left_out: tuple[str, ...]
    attributes: Path | None = None
    doubts: tuple[Finding, ...] = ()


def make(
    workspace: Workspace,
    tip: Tip | None,
    agents: tuple[str, ...],
    to: str,
    now: float,
    allow: frozenset[str],
    dry_run: bool = False,
) -> tuple[Made, ...]:
    """Writes snapshots into the work tree; committing them is the person's.

    Args:
        tip: the project memory that they are of; None where there is none.
        agents: agents as a person says them; empty for all that have project memory.
        to: folder for them inside the work tree; empty for the usual one.

    Raises:
        UsageError: an agent has no project memory, or the folder is outside.
        RepositoryError: the folder cannot be written.
    """
    top = workspace.layout.worktree
    if top is None:
        raise RepositoryError("There is no work tree here", "Run it in one.")
    repo = workspace.code
    known = agents_with_memory(repo, tip) if tip else ()
    wanted = tuple(dict.fromkeys(map(agent_name, agents))) or known
    parent = top / (_inside(to) if to else usual_folder(workspace))
    for agent in wanted:
        if tip is None or agent not in known:
            there = ", ".join(map(agent_folder_name, known)) or "none"
            raise UsageError(
                f"{agent_folder_name(agent)} has no project memory", f"Agents that have some: {there}."
            )
    if tip is None:
        return ()
    done = []
    for agent in wanted:
        held = agent_memory(repo, tip, agent)
        files, personal = publishable({name: data for name, data in held.items() if name != TOMBSTONES})
        screened = screen({}, {f"{agent}/{name}": data for name, data in files.items()}, allow)
        refused = tuple(refusal.path for refusal in screened.refusals)
        kept = {path.removeprefix(f"{agent}/"): data for path, data in screened.files.items()}
        folder = parent / agent_folder_name(agent)
        paged = subtree(repo, tip.tree, f"{agent}/{ARCHIVE}") is not None
        changed = write_snapshot(top, folder, kept, now, paged=paged, dry_run=dry_run)
        count = sum(kind(name) == "memory" for name in kept)
        name, left_out = agent_folder_name(agent), (*personal, *refused)
        written = changed and not dry_run
        doubts = screened.warnings if changed else ()
        done.append(Made(name, folder, count, changed, written, left_out, doubts=doubts))
    if done and not dry_run and write_attributes(top, parent):
        done = [replace(made, attributes=parent / attributes.FILE) for made in done]
    return tuple(done)


def remember(workspace: Workspace, made: Made, author: Signature) -> None:
    """Notes a snapshot made here as one that was taken in: the base when others hand it back changed."""
    top = workspace.layout.worktree
    if top is None or not made.written:
        return
    agent = agent_name(made.agent)
    found = read_worktree(top, (made.folder.parent.relative_to(top).as_posix(),))[0].get(agent)
    if found is not None:
        scope = workspace.scope("project")
        seen = record_commit(scope.repo, found)
        provenance = Provenance(op="merge")
        subject = f"Make a snapshot of {agent}"
        commit(scope.repo, scope.ref, lambda _: Write({}, subject, provenance, parents=(seen,)), author)


def project_tip(workspace: Workspace) -> Tip | None:
    """The project memory that this clone has; in one without gitmem (a plain CI checkout), its remote's.

    Returns:
        None where there is none. The memory branch is fetched where the clone lacks it.

    Raises:
        RepositoryError: the remote cannot be reached, or what stands there is no memory.
    """
    repo, scope = workspace.code, workspace.scope("project")
    own = memory_commit(repo, scope.ref if workspace.initialised else MEMORY_BRANCH)
    oid = own if workspace.initialised else _newer(repo, own, _fetched(workspace, fetch=own is None))
    return Tip(oid, repo.commit(oid).tree) if oid else None


def _fetched(workspace: Workspace, fetch: bool) -> str | None:
    """The remote's memory branch as this clone knows it."""
    git, top = workspace.git, workspace.top
    known = git.run(["remote"], cwd=top).text.split()
    if not known:
        return None
    remote = find_remote(git, top, SEPARATE if SEPARATE in known else "")
    tracking = remote.tracking(MEMORY_BRANCH)
    oid = memory_commit(workspace.code, tracking)
    if oid is None and fetch and remote.listed(MEMORY_BRANCH):
        _fetch(workspace, remote, tracking)
        oid = memory_commit(workspace.code, tracking)
    return oid


def _fetch(workspace: Workspace, remote: Remote, tracking: str) -> None:
    words = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"]
    # What is copied is a state: a clone that has no history elsewhere gets none of memory.
    shallow = (workspace.layout.common_dir / "shallow").exists()
    spec = f"+{MEMORY_BRANCH}:{tracking}"
    workspace.git.run(
        [*words, "--no-filter", *(["--depth=1"] if shallow else []), remote.address or remote.name, spec],
        cwd=workspace.layout.worktree,
    )


def _newer(repo: Repository, own: str | None, fetched: str | None) -> str | None:
    """A branch of the clone's own counts where it holds all that was fetched."""
    if own is None or fetched is None:
        return own or fetched
    return own if repo.is_ancestor(fetched, own) else fetched


def usual_folder(workspace: Workspace) -> str:
    """Where snapshots go: the clients' folder, or `snapshots` where they lie there and only there."""
    top = workspace.layout.worktree
    usual, other = snapshot_parents(workspace)
    if top and not (top / usual).is_dir() and any((top / other).glob(f"*/{STATE_FILE}")):
        return other
    return usual


def agents_with_memory(repo: Repository, tip: Tip) -> tuple[str, ...]:
    """Folder names of the agents that have at least one memory, `main` first."""
    found = [n for n, e in repo.tree(tip.tree).items() if e.mode == TREE and is_agent_folder(n)]
    named = {
        memory.agent for name in found for memory in memories(repo, tip.tree, hot_paths(repo, tip, name))
    }
    return tuple(sorted(named, key=lambda name: (name != MAIN, name)))


def _inside(to: str) -> str:
    path = Path(to)
    hidden = any(part.casefold() == ".git" for part in path.parts)
    if path.is_absolute() or ".." in path.parts or hidden or not path.parts:
        raise UsageError(f"{to!r} is not a folder of this work tree", "Name one relative to its top.")
    return path.as_posix()
