"""Snapshots and memory: which wait here, and taking one in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from gitmem.core import index
from gitmem.core.errors import RepositoryError, UsageError
from gitmem.core.merge import kind, merge_trees
from gitmem.core.names import FORMAT_FILE, FORMAT_TEXT, INDEX, archived_path, is_memory_file
from gitmem.core.text import decode, encode
from gitmem.core.tombstone import FILE as TOMBSTONES
from gitmem.core.trailers import Provenance, format_message
from gitmem.rules.rule import Finding
from gitmem.rules.screen import screen
from gitmem.rules.snapshot import ROOT_FOLDER, digest
from gitmem.share.leaving import memories
from gitmem.store.commits import ROOT_SIGNATURE, Tip, Write, Written, commit, memory_commit
from gitmem.store.paging import archived
from gitmem.store.remote import Remote, find_remote
from gitmem.store.repository import Repository, Signature
from gitmem.store.snapshots import (
    Snapshot,
    State,
    most_bytes,
    publishable,
    read_commit,
    read_worktree,
    snapshot_tree,
    stamp,
    state,
)
from gitmem.store.trees import list_files, read_files, read_paths, subtree
from gitmem.store.unshared import kept
from gitmem.store.workspace import SNAPSHOT_FOLDER, Scope, Workspace
from gitmem.values import dataclass

How = Literal["merge", "replace", "keep"]

_TAKEN = "Snapshot of "


@dataclass(frozen=True)
class Standing:
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


def standings(workspace: Workspace, allow: frozenset[str]) -> tuple[tuple[Standing, ...], dict[str, str]]:
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


def pending(workspace: Workspace, allow: frozenset[str]) -> tuple[Standing, ...]:
    """Snapshots that wait for a person."""
    return tuple(one for one in standings(workspace, allow)[0] if one.waits)


def take_trusted(workspace: Workspace, author: Signature, allow: frozenset[str]) -> tuple[Standing, ...]:
    """Begins the memory of agents that have none here from trusted snapshots; returns those taken in."""
    fresh = [one for one in standings(workspace, allow)[0] if one.state == "initialize" and one.trusted]
    return tuple(one for one in fresh if settle(workspace, one, "merge", author, Provenance(writer="sync")))


def settle(
    workspace: Workspace, one: Standing, how: How, author: Signature, provenance: Provenance | None = None
) -> Written | None:
    """Takes a snapshot in, as a merge whose second parent holds it and nothing else: the next base.

    Args:
        how: `merge` unites, `replace` takes the snapshot as it is, `keep` leaves memory as it is and
            remembers that this one was seen.
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

    return commit(scope.repo, scope.ref, plan, author)


def _paged_out(
    repo: Repository, tip: Tip, agent: str, gone: Mapping[str, bytes]
) -> dict[str, bytes | None]:
    """Edits that page out what a snapshot does not hold: it may have been paged out there, not deleted."""
    files = {f"{agent}/{name}": data for name, data in gone.items() if is_memory_file(name)}
    twice = archived(repo, tip.tree, files)
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
        tree = snapshot_tree(repo, snapshot.agent, snapshot.files)
        return repo.add_commit(tree, (), who, who, message)


def hot_paths(repo: Repository, tip: Tip, agent: str) -> set[str]:
    """Paths of an agent's memories and index, without logs and archive."""
    folder = subtree(repo, tip.tree, agent)
    names = repo.tree(folder) if folder else {}
    return {f"{agent}/{name}" for name in names if kind(f"{agent}/{name}") in ("memory", "index")}


def snapshot_parents(workspace: Workspace) -> tuple[str, str]:
    """Folders of a work tree that hold snapshots, one folder an agent."""
    return f"{workspace.claude_folder}/{SNAPSHOT_FOLDER}", ROOT_FOLDER


def _trusted(
    workspace: Workspace, parents: tuple[str, str]
) -> tuple[dict[str, Snapshot], str, dict[str, str]]:
    """Snapshots that count unasked: in the remote's default branch, or without any remote in HEAD."""
    top = workspace.top
    remotes = [
        Remote(workspace.git, top, one) for one in workspace.git.run(["remote"], cwd=top).text.split()
    ]
    with_code = [one for one in remotes if not one.holds_memory_alone()]
    name = _default_branch(with_code) if with_code else "HEAD"
    if name is None:
        return {}, "", {}
    done = workspace.git.run(["rev-parse", "--verify", "-q", f"{name}^{{commit}}"], cwd=top, check=False)
    if done.returncode:
        return {}, "", {}
    unread = _too_large(workspace, done.text, parents)
    found, problems = read_commit(workspace.code, done.text, parents, unread)
    return found, name.removeprefix("refs/remotes/"), problems


def _default_branch(remotes: Sequence[Remote]) -> str | None:
    """Where the team's code stands: of the remote that memory is shared with, `origin`, or the only one."""
    if len(remotes) == 1:
        return remotes[0].default_branch()
    try:
        chosen = find_remote(remotes[0].git, remotes[0].cwd).name
    except RepositoryError:
        return None
    named = {one.name: one for one in remotes}
    found = named.get(chosen) or named.get("origin")
    return found.default_branch() if found else None


def _too_large(workspace: Workspace, commit: str, parents: tuple[str, str]) -> frozenset[str]:
    """Blobs of snapshots that are not to be read into memory: a commit can hold any size."""
    words = ["ls-tree", "-r", "-l", "-z", "--full-tree", commit, "--", *parents]
    listed = workspace.git.run(words, git_dir=workspace.layout.common_dir, check=False).text
    rows = (row.partition("\t") for row in listed.split("\0") if row)
    files = ((*about.split(), path.rpartition("/")[2]) for about, _, path in rows)
    return frozenset(
        oid for _, _, oid, size, name in files if size.isdigit() and int(size) > most_bytes(name)
    )


def _taken(workspace: Workspace, tip: Tip | None) -> dict[str, dict[str, int]]:
    """Snapshots that this memory took in: agent to commit to `updated_at`.

    They are the parentless commits of its history, so this needs no record of its own, and whoever shares
    the history knows them too.
    """
    if tip is None:
        return {}
    repo = workspace.scope("project").repo
    roots = workspace.git.run(
        ["rev-list", "--max-parents=0", tip.commit, *kept(repo), "--"],
        git_dir=workspace.layout.common_dir,
    ).text.split()
    found: dict[str, dict[str, int]] = {}
    for oid in roots:
        root = repo.commit(oid)
        if root.subject.startswith(_TAKEN) and root.author.email == ROOT_SIGNATURE.email:
            found.setdefault(root.subject.removeprefix(_TAKEN), {})[oid] = root.author.time
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
) -> Standing:
    if snapshot is None:
        return Standing("", "none", "there is no snapshot")
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
    return Standing(agent, found, reason, clean, source, trusted, screened.refusals + personal_refusals)


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
        merged[INDEX] = encode(index.reconciled(text, *memories))
    return merged


def _rooted(agent: str, files: Mapping[str, bytes]) -> dict[str, bytes]:
    return {f"{agent}/{name}": data for name, data in files.items()}
