"""Purging as people meet it: others are kept out, live directories saved before and laid out after it.

In every other clone the old epoch is erased once a sync brought memory over the purge.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

from gitmem.core.errors import CheckFailed, GitmemError, UsageError
from gitmem.core.purge import Purge, unfit
from gitmem.flows.context import Edges
from gitmem.flows.memory_trees import keep_up
from gitmem.flows.rule_files import propose
from gitmem.flows.save import save_all
from gitmem.git.locks import writer_lock
from gitmem.git.remote import PushPatience, Remote
from gitmem.ledger import backup
from gitmem.ledger.arrival import Arrival, take_in
from gitmem.ledger.backup import named_backup
from gitmem.ledger.consent import ForeignPurge, Peer
from gitmem.ledger.epochs import after, epoch_of
from gitmem.ledger.log import last_known
from gitmem.ledger.lookup import find
from gitmem.ledger.purge import Purged, PurgePlan, Purging, Target, memory_target, plan_purge
from gitmem.ledger.push_plan import refuse_secrets
from gitmem.ledger.remotes import find_remote
from gitmem.ledger.replay import Carried
from gitmem.ledger.rewrite import put_back_commit
from gitmem.ledger.rule_record import edit_state
from gitmem.ledger.scrub import erase_left_over, is_unsettled, settle_carried, stands_in
from gitmem.ledger.workspace import SHARED_REF, Workspace

__all__ = ["Done", "PurgePlan", "after_carrying", "carry_out", "plan_purge", "target"]

IN_PRIVATE = "what was purged stands in your own memory, too; that is yours alone: git mem purge"
IN_PROJECT = "what another machine of yours purged stands in this project's memory, too: git mem purge"

TAKEN = "gitmem review: take a purge"
PUT_BACK = "gitmem review: turn a purge down"

PATIENCE = 120.0
"""Seconds to wait at most for a worker or a sync that is under way."""


@dataclass(frozen=True)
class Done:
    """What a purge did.

    Attributes:
        backup: why the backup could not be rewritten, too; empty where it was, or there is none.
    """

    purged: Purged
    backup: str = ""


def target(
    workspace: Workspace,
    what: str,
    *,
    memory: bool = False,
    text: bool = False,
    scope: str | None = None,
    agent: str | None = None,
) -> Target:
    """What a person means.

    Args:
        what: a text; with `memory` the name of one.
        memory, text: which of the two it is, where it could be both.

    Raises:
        UsageError: it is a text that may not be purged, no memory's name, or could be both.
    """
    if memory:
        return memory_target(workspace, last_known(workspace, what, scope, agent))
    if scope or agent:
        raise UsageError("A text is purged from all scopes", "With --scope or --agent give --memory NAME.")
    if not text and _is_name(workspace, what):
        raise UsageError(
            f"{what!r} is a text and the name of a memory",
            "Say which: --text purges these words wherever they stand, --memory that memory as a whole.",
        )
    if reason := unfit(what):
        raise UsageError(f"That text cannot be purged: {reason}", "Give more of the text around it.")
    return Target(Purge(frozenset({what})))


def carry_out(
    workspace: Workspace,
    edges: Edges,
    wanted: Target,
    *,
    push: bool = True,
    tell: Callable[[str], None] = lambda _: None,
) -> Done:
    """Purges; what was interrupted is finished by running it again.

    Raises:
        Locked: a worker or a sync does not end.
        RepositoryError: history cannot be read, or something cannot be written.
    """
    who, allow = workspace.author(edges.now), workspace.allowed
    with _alone(workspace):
        # What an earlier purge did not come to, here or elsewhere, is not part of this one.
        after_carrying(workspace, edges, ())
        tell("saving live directories")
        with suppress(GitmemError):
            save_all(workspace, edges, everywhere=True)
        named = named_backup(workspace) if push and wanted.concerns(private=True) else ""
        failed = _backed_up(workspace, edges, named, allow, send=False) if named else ""
        purging = Purging(workspace, wanted, secrets.token_hex(4), who, push, allow, PushPatience())
        tell("rewriting history")
        purging.rewrite()
        tell("cleaning live directories")
        with suppress(GitmemError):
            keep_up(workspace, edges)
        purging.scrub()
        save_all(workspace, edges, everywhere=True, fresh=True)
        _propose_anew(workspace, edges)
        if named and not failed:
            failed = _backed_up(workspace, edges, named, allow, send=True)
        tell("erasing, and looking at every object")
        done = purging.finish()
        return Done(done, failed)


def after_carrying(
    workspace: Workspace, edges: Edges, carried: Iterable[Carried], *, private: bool = False
) -> None:
    """Takes what was purged elsewhere out of this clone, once its memory was carried over.

    It is called after every sync: one that failed or was killed before leaves the rest of this to the next.

    Args:
        carried: what was carried over just now.
        private: whether that is in the private repository.
    """
    found = tuple(carried)
    if found or is_unsettled(workspace):
        with suppress(GitmemError):
            keep_up(workspace, edges)
        settle_carried(workspace, found, private=private)
        save_all(workspace, edges, everywhere=True, fresh=True)
    erase_left_over(workspace)


def take_purge(workspace: Workspace, edges: Edges, one: ForeignPurge) -> tuple[Arrival, bool]:
    """Follows somebody else's purge, as a person has seen it and agreed to it.

    What had not been sent is replayed on it. The history that it replaced is erased where it proves what it
    took out, and is kept for a while else.

    Returns:
        What it changed; and whether what was purged stands in the person's own memory, too.

    Raises:
        Locked: a worker or a sync does not end.
        RepositoryError: it may not become memory here.
    """
    with _alone(workspace):
        after_carrying(workspace, edges, ())
        save_all(workspace, edges, everywhere=True)
        remote = find_remote(workspace)
        taken = _take(workspace, edges, remote, one.tip, TAKEN, follow=workspace.sharing == "review")
    carried = (taken.carried,) if taken.carried else ()
    return taken, workspace.has_private and stands_in(workspace.private, carried, private=True)


def turn_down_purge(workspace: Workspace, edges: Edges, one: ForeignPurge) -> str:
    """Puts the shared history back at the remote, in an epoch of its own, which others then follow.

    What was never sent stays here: nobody was asked for it.

    Returns:
        The commit that is there now.

    Raises:
        CheckFailed: it is not known what was shared, the remote moved, or it lets nobody push there.
        Locked: a worker or a sync does not end.
        RepositoryError: the remote cannot be reached.
    """
    repo, allow = workspace.code, workspace.allowed
    if not one.shared:
        raise CheckFailed(
            f"It is not known here what {one.remote} had before",
            "Whoever knows it has to reject it; until then nothing is exchanged.",
        )
    with _alone(workspace):
        save_all(workspace, edges, everywhere=True)
        remote = find_remote(workspace)
        epochs = [epoch_of(repo, oid) for oid in (one.shared, one.tip)]
        put_back = put_back_commit(
            repo, one.shared, after(epochs, secrets.token_hex(4)), workspace.author(edges.now)
        )
        refuse_secrets(repo, remote, [put_back], allow)
        pushed = remote.push(put_back, SHARED_REF, one.tip)
        if pushed.outcome != "pushed":
            why = "it moved meanwhile" if pushed.outcome == "race" else pushed.words
            raise CheckFailed(
                f"{one.remote} was not put back: {why}",
                "Run git mem sync and look again; where you may not push, whoever may has to reject it.",
            )
        remote.note(repo, SHARED_REF, put_back)
        _take(workspace, edges, remote, put_back, PUT_BACK)
    return put_back


@contextmanager
def _alone(workspace: Workspace) -> Iterator[None]:
    """Keeps workers and syncs out."""
    with ExitStack() as locks:
        for name in ("worker", "sync", "extract"):
            locks.enter_context(writer_lock(workspace.state, name, timeout=PATIENCE))
        yield


def _take(
    workspace: Workspace, edges: Edges, remote: Remote, tip: str, message: str, *, follow: bool = False
) -> Arrival:
    """Takes in the commit that a person has agreed to, and all that follows from it here."""
    peer = Peer(remote.name, remote.tracking(SHARED_REF), edges.now, agreed=tip)
    taken = take_in(workspace.code, SHARED_REF, tip, message, workspace.allowed, peer, follow=follow)
    after_carrying(workspace, edges, (taken.carried,) if taken.carried else ())
    save_all(workspace, edges, everywhere=True, fresh=True)
    return taken


def _propose_anew(workspace: Workspace, edges: Edges) -> None:
    """Writes the message for rules that wait to be committed from what memory says now."""
    with suppress(GitmemError, OSError), edit_state(workspace) as state:
        propose(workspace, edges, state)


def _is_name(workspace: Workspace, what: str) -> bool:
    try:
        find(workspace, what, whole=True)
    except UsageError as error:
        return error.kind == "ambiguous"
    except GitmemError:
        return False
    return True


def _backed_up(workspace: Workspace, edges: Edges, url: str, allow: frozenset[str], *, send: bool) -> str:
    """Brings the backup along; returns why that failed, empty where it did not."""
    try:
        backup.back_up(workspace, url, allow, PushPatience(), edges.now, send=send)
    except GitmemError as error:
        return error.message
    return ""
