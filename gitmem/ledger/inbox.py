"""Inbox branches: those of teammates as they wait here, and one's own as it is asked for and comes back.

What is on an inbox branch counts as nobody's memory: to list and to show it takes nothing in. It is data
that others wrote, and is judged again before any of it is accepted (`acceptance`).

What a sync does about side branches that this clone asked for and a host has taken.

What a sync does for dreams and inboxes: the base merged in, and gone when they have landed.

Index lines of one's own, kept when one's memories come back from review without them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import field
from typing import Literal

from gitmem.core import index
from gitmem.core.account import BranchChange, speaks
from gitmem.core.daily_log import is_log, line_keys
from gitmem.core.errors import RepositoryError
from gitmem.core.merge import agent_folder, kind, merge_trees
from gitmem.core.names import inbox_id, is_agent_folder, slugify
from gitmem.core.text import decode, encode
from gitmem.core.trailers import Provenance
from gitmem.git.refs import move_ref
from gitmem.git.remote import Move, Remote
from gitmem.git.repository import TREE, RefMoved, Repository, Signature, short_name
from gitmem.git.trees import changed_files, read_paths
from gitmem.ledger.arrival import check_arrival
from gitmem.ledger.epochs import apart
from gitmem.ledger.forget import spade
from gitmem.ledger.indexes import hot, with_indexes
from gitmem.ledger.land import Copies, Ref, Tip, Write, Written, land, root_commit
from gitmem.ledger.merge import merge_commits
from gitmem.ledger.remotes import find_remote
from gitmem.ledger.side_branches import (
    Landing,
    PushedBranch,
    adds_nothing,
    asked,
    asked_for,
    find_landing,
    forget_asked,
    outstanding,
    record_landing,
    with_base,
    with_part,
)
from gitmem.ledger.workspace import DREAMS, INBOX, SHARED_REF, TURNED_DOWN, Workspace
from gitmem.values import dataclass

ACCEPTED = "refs/gitmem/accepted"
"""The memory branch as it is to be: with what was accepted here. It is gone once that was sent."""

AWAITED = "refs/gitmem/awaited/"
"""Under it, by name, the inboxes that were accepted here and are not on the memory branch yet."""

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")

MESSAGE = "gitmem sync"
"""What a ref's log says about it."""


@dataclass(frozen=True)
class Inbox:
    """One inbox branch that waits for a decision.

    Attributes:
        remote: name of the remote that has it.
        branch: full ref name at the remote.
        tip: its commit, as fetched; of one's own that is gone at the host, as it was pushed.
        base: commit of the memory branch that it is compared with.
        proposals: what the memory here does not have of it.
        closed: whether it is one's own, and gone at the host without having been merged.
    """

    remote: str
    branch: str
    tip: str
    base: str
    proposals: tuple[BranchChange, ...]
    closed: bool = False

    @property
    def id(self) -> str:
        """`i-`, six digits of the branch's name, and six of the commit: one decides on what was shown."""
        return f"{inbox_id(self.branch)}-{self.tip[:6]}"

    @property
    def memories(self) -> tuple[str, ...]:
        """The memories that it is about; a memory's number is its place here, from 1."""
        return tuple(dict.fromkeys(one.path for one in self.proposals))


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
    found = []
    for one in _asking(repo, remote):
        known = (repo.ref(TURNED_DOWN + inbox_id(one.branch)), repo.ref(note_of(one.branch)))
        if one.branch != mine and not any(oid and _says_no_more(repo, one, oid) for oid in known):
            found.append(one)
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
        elif note and _says_no_more(repo, one, note):
            sent = to_send is None or not repo.is_ancestor(note, to_send)
            found.append(Outgoing(one, "host" if sent else "sync"))
    return tuple(found)


def decided(repo: Repository, remote: Remote) -> str:
    """The memory branch as last seen, with what was accepted here and is not sent yet; a commit."""
    published = repo.ref(remote.tracking(SHARED_REF)) or root_commit(repo)
    accepted = repo.ref(ACCEPTED)
    if accepted is None or apart(repo, accepted, published):
        return published
    return merge_commits(repo, accepted, published).commit


def note_of(branch: str) -> str:
    """The ref that says that an inbox was accepted here, and as of which commit."""
    return AWAITED + branch.removeprefix(INBOX)


def reject_inbox(workspace: Workspace, inbox: Inbox) -> None:
    """Turns a teammate's branch down as it stands, in this clone's record; it comes back with a change."""
    repo = workspace.code
    ref = TURNED_DOWN + inbox_id(inbox.branch)
    with suppress(RefMoved):
        move_ref(repo, ref, inbox.tip, repo.ref(ref), "gitmem review: turned down")


def ask_again(workspace: Workspace, inbox: Inbox) -> None:
    """Lets the next sync push one's own branch again that a host has closed."""
    forget_asked(workspace.code, inbox.branch)


def withdraw(
    workspace: Workspace, inbox: Inbox, author: Signature, why: str, copies: Copies
) -> Written | None:
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

    written = land(workspace.scope("project"), plan, author, copies)
    remember(workspace, inbox.proposals, author, "was not taken")
    forget_asked(repo, inbox.branch)
    return written


def remember(
    workspace: Workspace, left_out: Iterable[BranchChange], author: Signature, why: str
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

    return land(scope, plan, author)


def _asking(repo: Repository, remote: Remote, memory: str | None = None) -> Iterator[Inbox]:
    """Inbox branches that ask for anything which the memory branch does not have."""
    memory = memory or decided(repo, remote)
    for branch, oid in sorted(remote.fetched(repo).items()):
        if not branch.startswith(INBOX) or not _NAME.fullmatch(branch.removeprefix(INBOX)):
            continue
        # Where one branch cannot be read, all others still can.
        with suppress(RepositoryError):
            if not apart(repo, oid, memory):
                ground = left(repo, memory, oid)
                lacking = outstanding(repo, memory, oid, ground)
                if lacking:
                    yield Inbox(remote.name, branch, oid, ground, lacking)


def _says_no_more(repo: Repository, one: Inbox, known: str) -> bool:
    """Whether an inbox asks for nothing that it did not ask for at a commit that was decided on.

    What the memory branch took since is merged into it by its writer, who asks for nothing by that.
    """
    if known == one.tip:
        return True
    with suppress(RepositoryError):
        return not _is_more(repo, one.base, known, one.proposals)
    return False


def _is_more(repo: Repository, memory: str, known: str, wanted: Iterable[BranchChange]) -> bool:
    """Whether any of what is asked for was not asked for at a commit that was decided on."""
    before = {one.same for one in asked_for(repo, left(repo, memory, known), known)}
    return any(one.same not in before for one in wanted)


def _own(repo: Repository, remote: Remote, closed: PushedBranch) -> Inbox:
    published = repo.ref(remote.tracking(SHARED_REF))
    ground = left(repo, closed.base or published or closed.tip, closed.tip)
    wanted = asked_for(repo, ground, closed.tip)
    return Inbox(remote.name, closed.branch, closed.tip, ground, wanted, closed=True)


def settle(repo: Repository, remote: Remote, memory: str) -> tuple[str, tuple[tuple[str, Landing], ...]]:
    """Finds which requests the fetched memory branch has taken, by merge, squash, rebase or web edit.

    Args:
        memory: commit of the memory branch, as fetched.

    Returns:
        The memory branch as it is to be taken in: the fetched commit, or a merge on top of it that says
        what it has taken; and (full name of a branch at the remote, how it landed).
    """
    found = []
    onto = memory
    for one in asked(repo):
        there = repo.ref(remote.tracking(one.branch))
        # What cannot be read keeps nothing else from being exchanged.
        with suppress(RepositoryError):
            landing = find_landing(repo, memory, one.tip, there, one.base)
            if landing is not None:
                onto = record_landing(repo, onto, landing, one.branch)
                found.append((one.branch, landing))
            elif one.branch.startswith(INBOX) and (side := with_part(repo, memory, one.tip, one.base)):
                # This clone has all of it; what it made of the part since has the branch for its base.
                onto = merge_commits(repo, onto, side).commit
    return onto, tuple(found)


def close(repo: Repository, remote: Remote, landed: Iterable[tuple[str, Landing]]) -> None:
    """Removes branches that have landed from the host, where they stand as they did, and ends the notes."""
    for branch, landing in landed:
        there = repo.ref(remote.tracking(branch))
        if there is not None and there in landing.tips:
            outcome = remote.push(None, branch, there).outcome
            if outcome == "race":
                # Somebody went on with it: what they added is looked at next time.
                continue
            if outcome == "pushed":
                remote.note(repo, branch, None)
        forget_asked(repo, branch)


def closed_at_host(repo: Repository, remote: Remote, branch: str) -> PushedBranch | None:
    """The branch as it was pushed, where the host has it no more and never merged it.

    A sync that took the memory branch in before has ended the note of what was merged.
    """
    if repo.ref(remote.tracking(branch)) is not None:
        return None
    return next((one for one in asked(repo) if one.branch == branch), None)


def says_more(repo: Repository, closed: PushedBranch, ours: str, published: str | None) -> bool:
    """Whether a commit asks for anything that a branch which a host closed did not ask for.

    Args:
        published: the memory branch there; None where there is none.
    """
    now = asked_for(repo, left(repo, published or ours, ours), ours)
    return _is_more(repo, closed.base or closed.tip, closed.tip, now)


def left(repo: Repository, memory: str, side: str) -> str:
    """Where a side branch left the memory branch.

    Raises:
        RepositoryError: the two have nothing in common.
    """
    bases = repo.merge_bases(memory, side)
    if not bases:
        raise RepositoryError(
            f"{side[:12]} has no history in common with the memory here",
            f"See what it holds: git log {side[:12]}",
        )
    return bases[0]


@dataclass(frozen=True)
class Tended:
    """What became of side branches.

    Attributes:
        updated: branches at the remote that got the memory branch merged in; full names.
        closed: branches, there or here, that went because the memory branch has all of them.
    """

    updated: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tending:
    """What is to be done.

    Attributes:
        moves: what is pushed, each by itself.
        here: refs here to where each stands and where it goes; None deletes.
    """

    moves: tuple[Move, ...] = ()
    here: Mapping[str, tuple[str, str | None]] = field(default_factory=dict)

    @property
    def outcome(self) -> Tended:
        """What it comes to where nothing is in the way."""
        closed = {move.branch for move in self.moves if move.oid is None}
        closed |= {ref for ref, (_, oid) in self.here.items() if oid is None}
        return Tended(tuple(move.branch for move in self.moves if move.oid), tuple(sorted(closed)))


def plan_tending(
    repo: Repository, remote: Remote, before: Mapping[str, str], inbox: str, everyone: bool
) -> Tending:
    """Finds what side branches need; nothing is moved.

    A host merges a request without a driver, so the branch that asks holds the memory branch already,
    merged by gitmem. One's own are this writer's inbox and the dreams that are parked here.

    Args:
        before: what the remote had before it was last fetched.
        inbox: the writer's own branch, by its full name.
        everyone: others' branches get the base, too; they are never closed.
    """
    published = repo.ref(remote.tracking(SHARED_REF))
    if published is None:
        return Tending()
    now = {ref: oid for ref, oid in remote.fetched(repo).items() if ref.startswith((DREAMS, INBOX))}
    parked = repo.refs(DREAMS)
    moves: list[Move] = []
    here: dict[str, tuple[str, str | None]] = {}
    for branch, oid in sorted(now.items()):
        own = branch == inbox or branch in parked
        # What cannot be read or merged is for a person to look at, and keeps no other from being tended.
        with suppress(RepositoryError):
            if not (own or everyone):
                continue
            check_arrival(repo, oid, branch)
            if adds_nothing(repo, oid, published):
                if own:
                    moves.append(Move(branch, None, oid))
                    if parked.get(branch) == oid:
                        here[branch] = (oid, None)
                continue
            tip = with_base(repo, oid, published)
            if tip != oid:
                moves.append(Move(branch, tip))
            if branch in parked and parked[branch] != tip and repo.is_ancestor(parked[branch], tip):
                here[branch] = (parked[branch], tip)
    for branch, oid in sorted(parked.items()):
        # A request that was merged, whose branch the host then deleted. A rejected one stays for review.
        with suppress(RepositoryError):
            if branch in before and branch not in now and adds_nothing(repo, oid, published):
                here[branch] = (oid, None)
    return Tending(tuple(moves), here)


def tend(repo: Repository, remote: Remote, plan: Tending) -> Tended:
    """Carries it out, as far as the remote lets this person: nothing depends on it.

    Returns:
        What was done.
    """
    pushed = remote.push_all(plan.moves) if plan.moves else {}
    moved = tuple(move for move in plan.moves if pushed[move.branch].outcome == "pushed")
    for move in moved:
        remote.note(repo, move.branch, move.oid)
    left = {move.branch for move in plan.moves} - {move.branch for move in moved}
    here = {}
    for branch, (old, oid) in plan.here.items():
        with suppress(RefMoved):
            if branch not in left:
                move_ref(repo, branch, oid, old, MESSAGE)
                here[branch] = (old, oid)
    return Tending(moved, here).outcome


def keep_index(repo: Repository, ref: str, before: str, published: str | None) -> str | None:
    """Puts lines back that a merge took from an index although nobody took them out.

    A side branch leaves the index as it is on the memory branch (`store.side_branches`), and this clone's
    own commits are among its ancestors: where it lands, git takes their index lines for withdrawn. Whoever
    accepted it gave its memories lines of gitmem's own; none of these stands beside what was written here.

    Args:
        ref: the memory ref, after the merge.
        before: its commit before the merge.
        published: the memory branch as this clone knew it before: the base of the indexes.

    Returns:
        The commit that was made, or None where no line was lost.
    """
    ours = repo.commit(before).tree
    base = repo.commit(published).tree if published else None

    def plan(tip: Tip) -> Write | None:
        edits = _edits(repo, base, ours, tip.tree)
        return Write(edits, "Keep index lines", Provenance(op="sync", writer="sync")) if edits else None

    if repo.ref(ref) is None:
        return None
    done = land(Ref(repo, ref), plan, None)
    return done.commit if done else None


def _edits(repo: Repository, base: str | None, ours: str, now: str) -> dict[str, bytes | None]:
    edits: dict[str, bytes | None] = {}
    for agent, entry in repo.tree(now).items():
        if entry.mode != TREE or not is_agent_folder(agent):
            continue
        path = f"{agent}/{index.INDEX}"
        mine, theirs = (_text(repo, tree, path) for tree in (ours, now))
        if mine == theirs or not mine:
            continue
        files = repo.tree(entry.oid)
        gone = frozenset(index.targets(theirs))
        unnamed = any(file in files and file not in gone for file in index.targets(mine))
        known = _text(repo, base, path)
        if not unnamed and not _unsaid(repo, agent, (ours, mine), (now, theirs), (base, known)):
            continue
        here = {file for file in index.named(mine) if file in files and _is_memory(agent, file)}
        versions = {
            file: {_data(repo, tree, f"{agent}/{file}") for tree in (ours, now)} for file in sorted(here)
        }
        merged = index.merge(known, mine, index.aligned(theirs, versions, {}))
        dangling = {
            file: _data(repo, ours, f"{agent}/{file}")
            for file in index.targets(merged)
            if file not in files and _is_memory(agent, file) and file not in gone
        }
        merged = index.reconciled(merged, dangling, {})
        if merged != theirs:
            edits[path] = encode(merged)
    return edits


def _unsaid(
    repo: Repository, agent: str, ours: tuple[str, str], now: tuple[str, str], base: tuple[str | None, str]
) -> bool:
    """Whether something that was written here by hand, and was never published, is in the index no more.

    Args:
        ours, now, base: a tree, and the index of the agent in it.
    """
    mine, theirs, known = (
        index.spoken(text, hot(repo, tree, agent)).keys() if tree else set[str]()
        for tree, text in (ours, now, base)
    )
    return bool(mine - theirs - known)


def _is_memory(agent: str, file: str) -> bool:
    return kind(f"{agent}/{file}") == "memory"


def _text(repo: Repository, tree: str | None, path: str) -> str:
    return decode(_data(repo, tree, path)) if tree else ""


def _data(repo: Repository, tree: str, path: str) -> bytes:
    return read_paths(repo, tree, {path}).get(path, b"")
