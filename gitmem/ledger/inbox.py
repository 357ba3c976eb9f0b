"""Inboxes: branches on which a writer asks the team to take in what they learned, as they wait here.

What is on one counts as nobody's memory: to list and to show it takes nothing in. It is data that others
wrote, and is judged again before any of it is accepted (`acceptance`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Literal

from gitmem.core.account import BranchChange, speaks
from gitmem.core.daily_log import line_keys
from gitmem.core.errors import RepositoryError, UsageError
from gitmem.core.merge import merge_trees
from gitmem.core.names import agent_folder, inbox_id, is_agent_folder, is_log, slugify
from gitmem.core.trailers import BATCH_JOB, Provenance
from gitmem.git.refs import try_move_ref
from gitmem.git.remote import Remote
from gitmem.git.repository import Repository, Signature, short_name
from gitmem.git.trees import changed_files, difference, read_paths, write_tree
from gitmem.ledger.epochs import epochs_differ
from gitmem.ledger.forget import remember_rejected
from gitmem.ledger.indexes import with_indexes
from gitmem.ledger.land import Copies, Tip, Write, Written, land, root_commit
from gitmem.ledger.merge import merge_commits
from gitmem.ledger.remotes import find_remote
from gitmem.ledger.side_branches import (
    PushedBranch,
    asked_for,
    asked_since,
    closed_at_host,
    forget_asked,
    fork_point,
    outstanding,
)
from gitmem.ledger.workspace import INBOX, SHARED_REF, TURNED_DOWN, Workspace
from gitmem.values import dataclass

ACCEPTED = "refs/gitmem/accepted"
"""The memory branch as it is to be: with what was accepted here. It is gone once that was sent."""

AWAITED = "refs/gitmem/awaited/"
"""Under it, by name, the inboxes that were accepted here and are not on the memory branch yet."""

MESSAGE = "gitmem review: accept"
"""What the logs of these refs say."""

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")


@dataclass(frozen=True)
class Inbox:
    """One inbox branch that waits for a decision.

    Attributes:
        remote: name of the remote that has it.
        branch: full ref name at the remote.
        tip: its commit, as fetched; of one's own that is gone at the host, as it was pushed.
        base: commit of the memory branch that it is compared with.
        proposals: what the memory here does not have of it, and nobody here decided on; of a memory all
            that is asked.
        whole: whether nothing of it was rejected here.
        closed: whether it is one's own, and gone at the host without having been merged.
    """

    remote: str
    branch: str
    tip: str
    base: str
    proposals: tuple[BranchChange, ...]
    whole: bool = True
    closed: bool = False

    @property
    def id(self) -> str:
        """`i-`, six digits of the branch's name, and six of the commit: one decides on what was shown."""
        return f"{inbox_id(self.branch)}-{self.tip[:6]}"

    @property
    def memories(self) -> tuple[str, ...]:
        """The memories that it is about; a memory's number is its place here, from 1."""
        return tuple(dict.fromkeys(one.path for one in self.proposals))

    def chosen(self, numbers: tuple[int, ...]) -> tuple[str, ...]:
        """The memories of some numbers; all of them where none is given.

        Raises:
            UsageError: there is no memory with such a number.
        """
        known = self.memories
        unknown = [number for number in numbers if not 1 <= number <= len(known)]
        if unknown:
            raise UsageError(f"{self.id} has no memory {unknown[0]}", f"It has 1 to {len(known)}.")
        return tuple(known[number - 1] for number in numbers) if numbers else known


@dataclass(frozen=True)
class Outgoing:
    """An inbox that waits for somebody, or something, else.

    Attributes:
        waits_for: `reviewers` of one's own; of one that was accepted here `sync`, which sends it, or the
            `host`, which lets nobody push the memory branch.
    """

    inbox: Inbox
    waits_for: Literal["reviewers", "host", "sync"]


def writer_branch(workspace: Workspace) -> str:
    """The branch that this person's memories wait on: `refs/heads/gitmem/inbox/<slug of the address>`.

    Raises:
        RepositoryError: git knows no identity.
    """
    return INBOX + slugify(workspace.person.email)


def inboxes(workspace: Workspace) -> tuple[Inbox, ...]:
    """Inbox branches that wait for a decision here: teammates', and one's own that a host closed."""
    if workspace.sharing == "off":
        return ()
    try:
        remote = find_remote(workspace)
        mine = writer_branch(workspace)
    except RepositoryError:
        return ()
    repo = workspace.code
    found, turned_down = [], repo.refs(TURNED_DOWN)
    for one in _asking(repo, remote):
        left = one.proposals
        for ref, rejected in turned_down.items():
            if ref.startswith(TURNED_DOWN + inbox_id(one.branch)):
                left = _asked_since(repo, one, rejected, left)
        accepted = repo.ref(note_of(one.branch))
        fresh = _asked_since(repo, one, accepted, left) if accepted else left
        if one.branch != mine and fresh:
            found.append(replace(one, proposals=fresh, whole=left == one.proposals))
    closed = closed_at_host(repo, remote, mine)
    if closed is not None:
        with suppress(RepositoryError):
            found.append(_own(repo, remote, closed))
    return tuple(found)


def outgoing(workspace: Workspace) -> tuple[Outgoing, ...]:
    """What this person asked for or accepted that is not on the memory branch yet, as last seen."""
    if workspace.sharing == "off":
        return ()
    repo = workspace.code
    try:
        remote = find_remote(workspace)
        mine = writer_branch(workspace)
        asking = list(_asking(repo, remote, repo.ref(remote.tracking(SHARED_REF))))
    except RepositoryError:
        return ()
    to_send = repo.ref(ACCEPTED)
    found = []
    for one in asking:
        note = repo.ref(note_of(one.branch))
        if one.branch == mine:
            found.append(Outgoing(one, "reviewers"))
        elif note and not _asked_since(repo, one, note, one.proposals):
            sent = to_send is None or not repo.is_ancestor(note, to_send)
            found.append(Outgoing(one, "host" if sent else "sync"))
    return tuple(found)


def decided(repo: Repository, remote: Remote) -> str:
    """The memory branch as last seen, with what was accepted here and is not sent yet; a commit."""
    published = repo.ref(remote.tracking(SHARED_REF)) or root_commit(repo)
    accepted = repo.ref(ACCEPTED)
    if accepted is None or epochs_differ(repo, accepted, published):
        return published
    return merge_commits(repo, accepted, published).commit


def note_of(branch: str) -> str:
    """The ref that says that an inbox was accepted here, and as of which commit."""
    return AWAITED + branch.removeprefix(INBOX)


def end_accepted(repo: Repository, accepted: str) -> None:
    """Ends what was accepted, with its notes: it is on the memory branch, or will not be."""
    for ref, tip in repo.refs(AWAITED).items():
        if repo.is_ancestor(tip, accepted):
            try_move_ref(repo, ref, None, tip, MESSAGE)
    try_move_ref(repo, ACCEPTED, None, accepted, MESSAGE)


def decision_on(workspace: Workspace, id: str) -> tuple[str, str, str] | None:
    """The note that an inbox was rejected, or accepted for the host's reviewers.

    Args:
        id: the inbox's, as it was decided on.

    Returns:
        The note's ref; the commit decided on; the branch, empty where the remote has it no more.
    """
    repo = workspace.code
    there: dict[str, str] = {}
    with suppress(RepositoryError):
        branches = find_remote(workspace).fetched(repo)
        there = {inbox_id(branch): branch for branch in branches if branch.startswith(INBOX)}
    notes = {ref.removeprefix(TURNED_DOWN): (ref, oid) for ref, oid in repo.refs(TURNED_DOWN).items()}
    for ref, oid in repo.refs(AWAITED).items() if repo.ref(ACCEPTED) is None else ():
        notes[f"{inbox_id(INBOX + ref.removeprefix(AWAITED))}-{oid[:6]}"] = (ref, oid)
    return (*notes[id], there.get(id.rpartition("-")[0], "")) if id in notes else None


def reject_inbox(workspace: Workspace, inbox: Inbox, numbers: tuple[int, ...], author: Signature) -> str:
    """Turns down what a teammate's branch asks for, in this clone's record; what changes is asked again.

    Args:
        numbers: which memories; empty for all.

    Returns:
        The id by which an undo names it.

    Raises:
        UsageError: there is no memory with such a number.
    """
    repo, note = workspace.code, inbox.tip
    if numbers:
        chosen = inbox.chosen(numbers)
        paths = {place for one in inbox.proposals if one.path in chosen for place in (one.path, one.source)}
        before, after = (repo.commit(oid).tree for oid in (inbox.base, inbox.tip))
        with repo.together():
            edits = dict.fromkeys(filter(None, paths)) | read_paths(repo, after, paths)
            tree = write_tree(repo, before, edits)
        note = repo.add_commit(
            tree, (inbox.base,), author, author, f"Turn down of {short_name(inbox.branch)}"
        )
    id = replace(inbox, tip=note).id
    try_move_ref(repo, TURNED_DOWN + id, note, None, "gitmem review: turned down")
    return id


def withdraw(
    workspace: Workspace, inbox: Inbox, author: Signature, why: str, copies: Copies
) -> Written | None:
    """Takes what a host closed out of the memory here, and remembers it as rejected."""
    repo = workspace.code
    job = f"{BATCH_JOB}{inbox.tip[:8]}-{author.time}"
    before, after = repo.commit(inbox.base).tree, repo.commit(inbox.tip).tree

    def plan(tip: Tip) -> Write | None:
        paths = set(filter(speaks, changed_files(repo, before, after)))
        then, ours, ground = (read_paths(repo, tree, paths) for tree in (after, tip.tree, before))
        merged = merge_trees(then, ours, ground).files
        edits = with_indexes(repo, tip.tree, difference(ours, merged))
        if not edits:
            return None
        subject = f"Withdraw what was asked for in {short_name(inbox.branch)}"
        told = Provenance(op="delete", writer="human", job=f"{job}.1", reviewed=inbox.id)
        return Write(edits, subject, told, why.strip())

    written = land(workspace.scope("project"), plan, author, copies)
    remember(workspace, inbox.proposals, author, "was not taken", f"{job}.2")
    forget_asked(repo, inbox.branch)
    return written


def remember(
    workspace: Workspace, left_out: Iterable[BranchChange], author: Signature, why: str, job: str = ""
) -> Written | None:
    """Buries claims that a reviewer left out, so that no extraction finds them again.

    The record is this writer's own, in the local scope: to others it would be one more request.

    Args:
        job: what is undone together; empty for none.
    """
    scope = workspace.scope("local")
    keys: dict[str, dict[str, None]] = {}
    for one in left_out:
        agent = agent_folder(one.path)
        if one.new is not None and one.kind != "moved" and is_agent_folder(agent):
            said = line_keys(one.new.text) if is_log(one.path) else (one.new.key,)
            keys.setdefault(agent, {}).update(dict.fromkeys(said))
    if not keys:
        return None
    return remember_rejected(workspace, scope, keys, author, f"Remember what {why}", job=job)


def _asking(repo: Repository, remote: Remote, memory: str | None = None) -> Iterator[Inbox]:
    """Inbox branches that ask for anything which the memory branch does not have."""
    memory = memory or decided(repo, remote)
    for branch, oid in sorted(remote.fetched(repo).items()):
        if not branch.startswith(INBOX) or not _NAME.fullmatch(branch.removeprefix(INBOX)):
            continue
        # Where one branch cannot be read, all others still can.
        with suppress(RepositoryError):
            if not epochs_differ(repo, oid, memory):
                ground = fork_point(repo, memory, oid)
                lacking = outstanding(repo, memory, oid, ground)
                if lacking:
                    yield Inbox(remote.name, branch, oid, ground, lacking)


def _asked_since(
    repo: Repository, one: Inbox, known: str, wanted: tuple[BranchChange, ...]
) -> tuple[BranchChange, ...]:
    """What is wanted of memories that changed in an inbox since a commit that was decided on.

    What the memory branch took since is merged into it by its writer, who asks for nothing by that.
    """
    with suppress(RepositoryError):
        return () if known == one.tip else asked_since(repo, one.base, known, wanted)
    return wanted


def _own(repo: Repository, remote: Remote, closed: PushedBranch) -> Inbox:
    published = repo.ref(remote.tracking(SHARED_REF))
    ground = fork_point(repo, closed.base or published or closed.tip, closed.tip)
    wanted = asked_for(repo, ground, closed.tip)
    return Inbox(remote.name, closed.branch, closed.tip, ground, wanted, closed=True)
