"""Inbox branches: those of teammates as they wait here, and one's own as it is asked for and comes back.

What is on an inbox branch counts as nobody's memory: to list and to show it takes nothing in. It is data
that others wrote, and is judged again before any of it is accepted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress

from gitmem.core.account import Proposal, account, speaks
from gitmem.core.daily_log import SOME_DAY, is_log, line_keys, read_line, split, stones_of, with_every_line
from gitmem.core.errors import CheckFailed, RepositoryError, UsageError
from gitmem.core.memory import parse
from gitmem.core.merge import agent_folder, merge_trees
from gitmem.core.names import TURNED_DOWN, inbox_id, is_agent_folder
from gitmem.core.text import decode
from gitmem.core.trailers import Fate, Provenance
from gitmem.share.arrival import check_arrival
from gitmem.share.landed import closed_at_host, left
from gitmem.share.sync import writer_branch
from gitmem.store.burying import spade
from gitmem.store.commits import Tip, Write, Written, commit, read_tip
from gitmem.store.epochs import epoch_of
from gitmem.store.indexes import with_indexes
from gitmem.store.landing import Asked, asked_for, forget_asked, left_out
from gitmem.store.merging import merge_commits
from gitmem.store.remote import INBOX, MEMORY_BRANCH, Remote, find_remote
from gitmem.store.repository import RefMoved, Repository, Signature, short_name
from gitmem.store.screen import screen
from gitmem.store.trees import changed_files, read_paths
from gitmem.store.workspace import SHARED_REF, Workspace
from gitmem.values import dataclass

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")


@dataclass(frozen=True)
class Inbox:
    """One inbox branch that waits for a decision.

    Attributes:
        id: `i-` and six digits of the branch's name.
        branch: full ref name at the remote.
        tip: its commit, as fetched; of one's own that is gone at the host, as it was pushed.
        base: commit of the memory branch that it is compared with.
        proposals: what the memory here does not have of it.
        closed: whether it is one's own, and gone at the host without having been merged.
    """

    id: str
    remote: str
    branch: str
    tip: str
    base: str
    proposals: tuple[Proposal, ...]
    closed: bool = False

    @property
    def memories(self) -> tuple[str, ...]:
        """The memories that it is about; a memory's number is its place here, from 1."""
        return tuple(dict.fromkeys(one.path for one in self.proposals))


def inboxes(workspace: Workspace) -> tuple[Inbox, ...]:
    """Inbox branches that wait here: teammates', and one's own that a host closed; in a fixed order."""
    if workspace.sharing == "off":
        return ()
    try:
        remote = find_remote(workspace.git, workspace.top)
        mine = writer_branch(workspace)
        tip = read_tip(workspace.code, SHARED_REF)
    except RepositoryError:
        return ()
    repo = workspace.code
    found = []
    for branch, oid in sorted(remote.fetched(repo).items()):
        name = branch.removeprefix(INBOX)
        if branch.startswith(INBOX) and branch != mine and _NAME.fullmatch(name):
            # Where one branch cannot be read, all others still can.
            with suppress(RepositoryError):
                one = _read(repo, remote, branch, oid, tip)
                if (
                    one.proposals
                    and epoch_of(repo, oid) == epoch_of(repo, tip.commit)
                    and repo.ref(TURNED_DOWN + one.id) != oid
                ):
                    found.append(one)
    closed = closed_at_host(repo, remote, mine)
    if closed is not None:
        with suppress(RepositoryError):
            found.append(_own(repo, remote, closed))
    return tuple(found)


def accept_inbox(
    workspace: Workspace,
    inbox: Inbox,
    numbers: tuple[int, ...],
    author: Signature,
    allow: frozenset[str] = frozenset(),
) -> Written | None:
    """Merges an inbox branch, or some of its memories, into the memory here; a sync then sends it.

    Args:
        numbers: which memories; empty for all.
        author: the person, at the present.
        allow: fingerprints of accepted secrets.

    Raises:
        UsageError: there is no memory with such a number.
        CheckFailed: it holds a secret, a memory about a person, or would lose a claim.
        RepositoryError: a path that is not safe, a newer format, or a history that was rewritten.
    """
    repo = workspace.code
    chosen = frozenset(_chosen(inbox, numbers))
    whole = chosen == frozenset(inbox.memories)
    check_arrival(repo, inbox.tip, inbox.branch)

    def plan(tip: Tip) -> Write:
        merged = repo.commit(merge_commits(repo, tip.commit, inbox.tip).commit).tree
        paths = set(filter(speaks, changed_files(repo, tip.tree, merged)))
        if not whole:
            # A memory that a rename or an archive moves has its other place, too.
            sources = {one.source for one in inbox.proposals if one.path in chosen and one.source}
            paths &= chosen | sources
        before, after = read_paths(repo, tip.tree, paths), read_paths(repo, merged, paths)
        stones = set(map(stones_of, filter(is_log, paths)))
        after = with_every_line(before, after, read_paths(repo, merged, stones))
        _judge(inbox, before, after, allow)
        edits = {path: after.get(path) for path in sorted(paths) if before.get(path) != after.get(path)}
        edits = with_indexes(repo, tip.tree, edits)
        reviewed = inbox.id if whole else f"{inbox.id} {','.join(map(str, sorted(numbers)))}"
        what = "" if whole else f": {', '.join(sorted(chosen))}"
        return Write(
            edits,
            f"Accept {short_name(inbox.branch)}{what}",
            Provenance(op="update", writer="human", reviewed=reviewed),
            # Where this is asked for in turn, an undo must not leave a history that has their branch and
            # lacks what it says: to others that would be a request to delete it.
            parents=(inbox.tip,) if whole and workspace.sharing == "direct" else (),
        )

    return commit(repo, SHARED_REF, plan, author)


def reject_inbox(workspace: Workspace, inbox: Inbox) -> None:
    """Turns a teammate's branch down as it stands, in this clone's record; it comes back with a change."""
    repo = workspace.code
    ref = TURNED_DOWN + inbox.id
    with suppress(RefMoved):
        repo.move_ref(ref, inbox.tip, repo.ref(ref), "gitmem review: turned down")


def ask_again(workspace: Workspace, inbox: Inbox) -> None:
    """Lets the next sync push one's own branch again that a host has closed."""
    forget_asked(workspace.code, inbox.branch)


def withdraw(workspace: Workspace, inbox: Inbox, author: Signature, why: str) -> Written | None:
    """Takes what a host closed out of the memory here, and remembers it as rejected."""
    repo = workspace.code
    before, after = repo.commit(inbox.base).tree, repo.commit(inbox.tip).tree

    def plan(tip: Tip) -> Write | None:
        paths = set(filter(speaks, changed_files(repo, before, after)))
        then, ours, ground = (read_paths(repo, tree, paths) for tree in (after, tip.tree, before))
        merged = merge_trees(then, ours, ground).files
        edits = {path: merged.get(path) for path in {*ours, *merged} if ours.get(path) != merged.get(path)}
        edits = with_indexes(repo, tip.tree, edits)
        if not edits:
            return None
        subject = f"Withdraw what was asked for in {short_name(inbox.branch)}"
        return Write(
            edits, subject, Provenance(op="delete", writer="human", reviewed=inbox.id), why.strip()
        )

    written = commit(repo, SHARED_REF, plan, author)
    remember(workspace, inbox.proposals, author, "was not taken")
    forget_asked(repo, inbox.branch)
    return written


def remember(
    workspace: Workspace, left_out: Iterable[Proposal], author: Signature, why: str
) -> Written | None:
    """Buries claims that a reviewer left out, so that no extraction finds them again.

    The record is this writer's own, in the local scope: to others it would be one more request.
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
    with_what = spade(workspace, scope, author.time)

    def plan(tip: Tip) -> Write:
        edits = with_what.edits(scope.repo, tip.tree, keys, "rejected")
        return Write(edits, f"Remember what {why}", Provenance(op="update", writer="human"))

    return commit(scope.repo, scope.ref, plan, author)


def _read(repo: Repository, remote: Remote, branch: str, oid: str, tip: Tip) -> Inbox:
    ground = left(repo, tip.commit, oid)
    lacking = left_out(repo, ground, tip.commit, asked_for(repo, ground, oid))
    return Inbox(inbox_id(branch), remote.name, branch, oid, ground, lacking)


def _own(repo: Repository, remote: Remote, closed: Asked) -> Inbox:
    published = repo.ref(remote.tracking(MEMORY_BRANCH))
    ground = left(repo, closed.base or published or closed.tip, closed.tip)
    wanted = asked_for(repo, ground, closed.tip)
    return Inbox(
        inbox_id(closed.branch), remote.name, closed.branch, closed.tip, ground, wanted, closed=True
    )


def _chosen(inbox: Inbox, numbers: tuple[int, ...]) -> tuple[str, ...]:
    known = inbox.memories
    unknown = [number for number in numbers if not 1 <= number <= len(known)]
    if unknown:
        raise UsageError(f"{inbox.id} has no memory {unknown[0]}", f"It has 1 to {len(known)}.")
    return tuple(known[number - 1] for number in numbers) if numbers else known


def _judge(
    inbox: Inbox, before: Mapping[str, bytes], after: Mapping[str, bytes], allow: frozenset[str]
) -> None:
    """Raises where what would be taken in may not be."""
    branch = short_name(inbox.branch)
    hint = f"Turn it down (git mem review reject {inbox.id}), and tell who sent it."
    for path, data in sorted(after.items()):
        lines = split(decode(data)) if is_log(path) and before.get(path) != data else ()
        told = (read_line(line, SOME_DAY) for line in lines)
        personal = any(line is not None and line.type == "user" for line in told)
        if personal or (before.get(path) != data and parse(path, data).type == "user"):
            raise CheckFailed(f"{path} of {branch} is about a person, so never shared", hint)
    refused = screen(before, after, allow).refusals
    if refused:
        raise CheckFailed(f"{refused[0].path} of {branch} {refused[0].reason}", hint)
    said = [
        Fate("superseded", one.before, one.after, "the branch changes it")
        if one.new
        else Fate("dropped", one.before, "", "the branch deletes it")
        for one in inbox.proposals
        if one.old is not None and one.kind != "moved" and not is_log(one.path)
    ]
    # What a merge with the present makes of it is asked for anew: both may have changed since it was shown.
    lost = account(before, after, said).unaccounted
    if lost:
        raise CheckFailed(f"{branch} would lose {lost[0].source}: {lost[0].problem}", hint)
