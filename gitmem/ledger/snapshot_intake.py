"""Snapshots and memory: which wait here, taking one in, and making them for the person to commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from gitmem.core import attributes, index
from gitmem.core.errors import RepositoryError, UsageError
from gitmem.core.merge import merge_trees
from gitmem.core.names import (
    ARCHIVE,
    FORMAT_FILE,
    FORMAT_TEXT,
    INDEX,
    agent_folder_name,
    agent_name,
    archived_path,
    is_agent_folder,
    is_memory_file,
    kind,
)
from gitmem.core.text import decode, encode
from gitmem.core.tombstone import FILE as TOMBSTONES
from gitmem.core.trailers import Provenance, format_message, parse
from gitmem.git.remote import Remote
from gitmem.git.repository import TREE, Repository, Signature
from gitmem.git.trees import hot_files, list_files, read_files, read_paths, subtree, write_tree
from gitmem.ledger.land import ROOT_SIGNATURE, Copies, Tip, Write, Written, is_commit, land, memory_commit
from gitmem.ledger.paging import archive_contents
from gitmem.ledger.push_plan import memories, unshared_tips
from gitmem.ledger.remotes import SEPARATE, find_remote, holds_memory_alone, memory_remote, remote_name
from gitmem.ledger.snapshot import (
    Snapshot,
    State,
    is_kept,
    publishable,
    read_commit,
    read_worktree,
    stamp,
    state,
    write_attributes,
    write_snapshot,
)
from gitmem.ledger.workspace import MAIN, SHARED_REF, SNAPSHOT_FOLDER, Scope, Workspace
from gitmem.rules.rule import Finding
from gitmem.rules.screen import screen
from gitmem.rules.snapshot import ROOT_FOLDER, STATE_FILE, digest
from gitmem.values import dataclass

How = Literal["merge", "replace", "keep"]

_TAKEN = "Snapshot of "


@dataclass(frozen=True)
class SnapshotState:
    """How one agent's snapshot stands to the memory here.

    Attributes:
        snapshot: with what may not be stored taken out.
        source: the ref or `work tree` that it was read from.
        trusted: whether it is in the remote's default branch (or, without a remote, in HEAD).
        refused: what of it may not be stored.
    """

    agent: str
    state: State
    reason: str
    snapshot: Snapshot | None = None
    source: str = ""
    trusted: bool = False
    refused: tuple[Finding, ...] = ()

    @property
    def id(self) -> str:
        """What review calls it."""
        files = self.snapshot.files if self.snapshot else {}
        return f"n-{digest({self.agent: digest(files).encode()})[:8]}"

    @property
    def updated_at(self) -> str:
        """`updatedAt` of the snapshot, or empty."""
        return stamp(self.snapshot.updated_at) if self.snapshot else ""

    @property
    def edited(self) -> bool:
        """Whether the digest does not fit: edited by hand, or merged. It is said, and proves no more."""
        return self.snapshot is not None and self.snapshot.edited

    @property
    def waits(self) -> bool:
        """Whether a person has to decide: it would change memory, or begin it from an untrusted place."""
        return self.state == "prompt-update" or (self.state == "initialize" and not self.trusted)


def standings(
    workspace: Workspace, allow: frozenset[str]
) -> tuple[tuple[SnapshotState, ...], dict[str, str]]:
    """How every snapshot stands, one an agent; folders that cannot be used, and why.

    Args:
        allow: fingerprints of secrets that a person accepted.
    """
    parents = snapshot_parents(workspace)
    trusted, source, problems = _trusted(workspace, parents)
    top = workspace.layout.worktree
    local, more = read_worktree(top, parents) if top else ({}, {})
    if not trusted and not local:
        return (), problems | more
    scope = workspace.scope("project")
    oid = memory_commit(scope.repo, scope.ref)
    tip = Tip(oid, scope.repo.commit(oid).tree) if oid else None
    taken = _taken(workspace, tip)
    found = []
    for agent in sorted({*trusted, *local}):
        one = _judge(scope, tip, trusted.get(agent), source, True, taken, allow)
        other = local.get(agent)
        ahead = other and (one.snapshot is None or other.updated_at > trusted[agent].updated_at)
        if other and ahead and one.state in ("none", "current"):
            # What merely lies in the work tree, perhaps of a stranger's branch, waits for a person.
            one = _judge(scope, tip, other, "work tree", False, taken, allow)
        found.append(one)
    return tuple(found), problems | more


def pending(workspace: Workspace, allow: frozenset[str]) -> tuple[SnapshotState, ...]:
    """Snapshots that wait for a person."""
    return tuple(one for one in standings(workspace, allow)[0] if one.waits)


def take_trusted(
    workspace: Workspace, author: Signature, allow: frozenset[str], copies: Copies
) -> tuple[SnapshotState, ...]:
    """Begins the memory of agents that have none here from trusted snapshots; returns those taken in."""
    fresh = [one for one in standings(workspace, allow)[0] if one.state == "initialize" and one.trusted]
    told = Provenance(writer="sync")
    return tuple(one for one in fresh if settle(workspace, one, "merge", author, copies, told))


def settle(
    workspace: Workspace,
    one: SnapshotState,
    how: How,
    author: Signature,
    copies: Copies,
    provenance: Provenance | None = None,
) -> Written | None:
    """Takes a snapshot in, as a merge whose second parent holds it and nothing else: the next base.

    Args:
        how: `merge` unites, `replace` takes the snapshot as it is, `keep` leaves memory as it is and
            remembers that this one was seen.
        copies: brings working copies up to date.
        provenance: the person's, unless given.

    Raises:
        RepositoryError: the ref cannot be written.
        UsageError: there is no such way.
    """
    if how not in ("merge", "replace", "keep"):
        raise UsageError(f"There is no way {how!r} to settle a snapshot", "Ways are: merge, replace, keep.")
    snapshot = one.snapshot
    if snapshot is None:
        return None
    scope = workspace.scope("project")
    seen = record_commit(scope.repo, snapshot)
    words = {"merge": "Take in", "replace": "Replace by", "keep": "Keep memory over"}[how]
    subject = f"{words} the snapshot of {snapshot.agent}"
    trailers = replace(provenance or Provenance(), op="merge")

    def plan(tip: Tip) -> Write:
        ours = agent_memory(scope.repo, tip, snapshot.agent)
        base = _last(scope.repo, _taken(workspace, tip).get(snapshot.agent, {}))
        files = {"merge": _merged(snapshot.agent, base, ours, snapshot.files), "replace": snapshot.files}
        after = files.get(how, ours)
        edits = {
            f"{snapshot.agent}/{name}": after.get(name)
            for name in {*ours, *after}
            if name != TOMBSTONES and ours.get(name) != after.get(name)
        }
        if snapshot.paged and how == "merge":
            edits |= _paged_out(scope.repo, tip, snapshot.agent, {n: ours[n] for n in ours.keys() - after})
        if not edits and FORMAT_FILE not in scope.repo.tree(tip.tree):
            edits = {FORMAT_FILE: FORMAT_TEXT}
        return Write(edits, subject, trailers, parents=(seen,))

    return land(scope, plan, author, copies, snapshot.agent)


def _paged_out(
    repo: Repository, tip: Tip, agent: str, gone: Mapping[str, bytes]
) -> dict[str, bytes | None]:
    """Edits that page out what a snapshot does not hold: it may have been paged out there, not deleted."""
    files = {f"{agent}/{name}": data for name, data in gone.items() if is_memory_file(name)}
    twice = archive_contents(repo, tip.tree, files)
    edits: dict[str, bytes | None] = {path: files[path] for path in twice}
    for path in files.keys() - twice:
        edits |= {path: None, archived_path(path) or path: files[path]}
    return edits


def agent_memory(repo: Repository, tip: Tip | None, agent: str) -> dict[str, bytes]:
    """Hot memories, index and tombstones of an agent: file to content; no logs, no archive."""
    if tip is None:
        return {}
    found = read_paths(repo, tip.tree, {*hot_paths(repo, tip, agent), f"{agent}/{TOMBSTONES}"})
    return {path.removeprefix(f"{agent}/"): data for path, data in found.items()}


def record_commit(repo: Repository, snapshot: Snapshot) -> str:
    """The parentless commit that holds a snapshot and nothing else; the same in every clone."""
    who = replace(ROOT_SIGNATURE, time=snapshot.updated_at)
    message = format_message(_TAKEN + snapshot.agent, Provenance(op="sync", writer="sync"))
    with repo.together():
        tree = write_tree(repo, None, _rooted(snapshot.agent, snapshot.files))
        return repo.add_commit(tree, (), who, who, message)


def hot_paths(repo: Repository, tip: Tip, agent: str) -> set[str]:
    """Paths of an agent's memories and index, without logs and archive."""
    return {f"{agent}/{name}" for name in hot_files(repo, tip.tree, agent) if is_kept(name)}


def snapshot_parents(workspace: Workspace) -> tuple[str, str]:
    """Folders of a work tree that hold snapshots, one folder an agent."""
    return f"{workspace.claude_folder}/{SNAPSHOT_FOLDER}", ROOT_FOLDER


def _trusted(
    workspace: Workspace, parents: tuple[str, str]
) -> tuple[dict[str, Snapshot], str, dict[str, str]]:
    """Snapshots that count unasked: in the remote's default branch, or without any remote in HEAD."""
    config = workspace.settings.config
    with_code = [one for one in config.remotes if not holds_memory_alone(config, one)]
    if with_code:
        name, oid = _default_branch(workspace, with_code) or ("", "")
    else:
        within = tuple(f"{parent}/" for parent in parents)
        # What the person has just taken out of the code is taken in no more.
        stands = any(path.startswith(within) for path in workspace.tracked_files(workspace.top))
        name, oid = "HEAD", workspace.code_head() if stands else ""
    if not oid or not is_commit(workspace.code, oid):
        return {}, "", {}
    found, problems = read_commit(workspace.code, oid, parents)
    return found, name.removeprefix("refs/remotes/"), problems


def _default_branch(workspace: Workspace, remotes: Sequence[str]) -> tuple[str, str] | None:
    """Where the team's code stands: of the remote that memory is shared with, `origin`, or the only one."""
    chosen = remotes[0]
    if len(remotes) > 1:
        try:
            chosen = remote_name(workspace.settings.config)
        except RepositoryError:
            return None
        if chosen not in remotes:
            chosen = "origin"
    if chosen not in remotes:
        return None
    return memory_remote(workspace.git, workspace.layout, chosen).default_branch()


def _taken(workspace: Workspace, tip: Tip | None) -> dict[str, dict[str, int]]:
    """Snapshots that this memory took in: agent to commit to `updated_at`.

    They are the parentless commits of its history, so this needs no record of its own, and whoever shares
    the history knows them too. One whose taking in was undone was not taken in.
    """
    if tip is None:
        return {}
    repo = workspace.scope("project").repo

    def listed(*words: str) -> list[str]:
        told = ["rev-list", "--topo-order", *words, tip.commit, *unshared_tips(repo), "--"]
        return workspace.git.run(told, git_dir=workspace.layout.common_dir).text.splitlines()

    snapshots = []
    for oid in listed("--max-parents=0"):
        root = repo.commit(oid)
        if root.subject.startswith(_TAKEN) and root.author.email == ROOT_SIGNATURE.email:
            snapshots.append(root)
    undone: set[str] = set()
    for oid in listed("--grep=^Gitmem-Undoes: ") if snapshots else ():
        if oid not in undone:  # an undo that was undone itself is void
            undone.add(parse(repo.commit(oid).message).undoes)
    # A merge, the memory before it, and what it brought: the same snapshot may have come twice.
    merges = [row.split() for row in listed("--min-parents=2", "--parents")] if undone else []
    back = {oid for merge, _, *others in merges if merge in undone for oid in others}
    back -= {oid for merge, _, *others in merges if merge not in undone for oid in others}
    found: dict[str, dict[str, int]] = {}
    for root in snapshots:
        if root.oid not in back:
            found.setdefault(root.subject.removeprefix(_TAKEN), {})[root.oid] = root.author.time
    return found


def _last(repo: Repository, taken: Mapping[str, int]) -> dict[str, bytes]:
    """Files of the newest snapshot taken in."""
    if not taken:
        return {}
    oid = max(taken, key=lambda name: (taken[name], name))
    files = read_files(repo, repo.commit(oid).tree)
    return {path.partition("/")[2]: data for path, data in files.items()}


def _judge(
    scope: Scope,
    tip: Tip | None,
    snapshot: Snapshot | None,
    source: str,
    trusted: bool,
    taken: Mapping[str, Mapping[str, int]],
    allow: frozenset[str],
) -> SnapshotState:
    if snapshot is None:
        return SnapshotState("", "none", "there is no snapshot")
    agent, repo = snapshot.agent, scope.repo
    seen = taken.get(agent, {})
    ours, base = agent_memory(repo, tip, agent), _last(repo, seen)
    files, personal = publishable(snapshot.files)
    # What memory holds already, or what was judged when the last snapshot came, is not judged again.
    judged = ours | {name: data for name, data in base.items() if files.get(name) == data}
    screened = screen(_rooted(agent, judged), _rooted(agent, files), allow)
    clean = replace(snapshot, files={p.removeprefix(f"{agent}/"): d for p, d in screened.files.items()})
    personal_refusals = tuple(
        Finding(f"{agent}/{name}", 1, "path", "is about a person") for name in personal
    )
    found, reason = state(
        clean,
        remembers=tip is not None and bool(memories(repo, tip.tree, list_files(repo, tip.tree, agent))),
        taken=seen.values(),
        known=bool(seen) and record_commit(repo, clean) in seen,
        changes=_merged(agent, base, ours, clean.files) != ours,
    )
    return SnapshotState(
        agent, found, reason, clean, source, trusted, screened.refusals + personal_refusals
    )


def _merged(
    agent: str, base: Mapping[str, bytes], ours: Mapping[str, bytes], theirs: Mapping[str, bytes]
) -> dict[str, bytes]:
    """Memory with a snapshot merged in; memories that come get an index line where they bring none."""
    # A snapshot holds no tombstones: those of the memory take what was forgotten out of it.
    sides = [_rooted(agent, side) for side in (base, ours, theirs)]
    merged = {p.removeprefix(f"{agent}/"): data for p, data in merge_trees(*sides).files.items()}
    memories = [
        {name: data for name, data in side.items() if kind(f"{agent}/{name}") == "memory"}
        for side in (ours, merged)
    ]
    if memories[0].keys() != memories[1].keys():
        text = decode(merged.get(INDEX, b""))
        merged[INDEX] = encode(index.reconcile(text, *memories))
    return merged


def _rooted(agent: str, files: Mapping[str, bytes]) -> dict[str, bytes]:
    return {f"{agent}/{name}": data for name, data in files.items()}


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
            there = ", ".join(map(agent_folder_name, known))
            store = "Store some: git mem remember TEXT --scope project"
            hint = f"Agents that have some: {there}." if there else store
            raise UsageError(f"{agent_folder_name(agent)} has no project memory", hint)
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
        land(scope, lambda _: Write({}, subject, provenance, parents=(seen,)), author)


def project_tip(workspace: Workspace) -> Tip | None:
    """The project memory that this clone has; in one without gitmem (a plain CI checkout), its remote's.

    Returns:
        None where there is none. The memory branch is fetched where the clone lacks it.

    Raises:
        RepositoryError: the remote cannot be reached, or what stands there is no memory.
    """
    repo, scope = workspace.code, workspace.scope("project")
    own = memory_commit(repo, scope.ref if workspace.initialised else SHARED_REF)
    oid = own if workspace.initialised else _newer(repo, own, _fetched(workspace, fetch=own is None))
    return Tip(oid, repo.commit(oid).tree) if oid else None


def _fetched(workspace: Workspace, fetch: bool) -> str | None:
    """The remote's memory branch as this clone knows it."""
    known = workspace.settings.config.remotes
    if not known:
        return None
    remote = find_remote(workspace, SEPARATE if SEPARATE in known else "")
    tracking = remote.tracking(SHARED_REF)
    oid = memory_commit(workspace.code, tracking)
    if oid is None and fetch and remote.listed(SHARED_REF):
        _fetch(workspace, remote, tracking)
        oid = memory_commit(workspace.code, tracking)
    return oid


def _fetch(workspace: Workspace, remote: Remote, tracking: str) -> None:
    words = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"]
    # What is copied is a state: a clone that has no history elsewhere gets none of memory.
    shallow = (workspace.layout.common_dir / "shallow").exists()
    spec = f"+{SHARED_REF}:{tracking}"
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
