"""Purging as people meet it: others are kept out, live directories saved before and laid out after it.

And what follows in every other clone: after a sync brought memory over a purge, the old epoch is erased.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass

from gitmem.core.errors import GitmemError, UsageError
from gitmem.core.purge import Purge, unfit
from gitmem.integrations.backing_up import named_backup
from gitmem.integrations.checked_out import keep_up
from gitmem.integrations.edges import Edges, allowed_fingerprints
from gitmem.integrations.patience import Patience
from gitmem.integrations.promoting.message import propose
from gitmem.integrations.promoting.pending import changing
from gitmem.integrations.saving import save_all
from gitmem.share import backup
from gitmem.share.carrying import Carried
from gitmem.share.purge import Purging
from gitmem.share.purge_plan import (
    Options,
    Purged,
    PurgePlan,
    Target,
    memory_target,
    plan_purge,
)
from gitmem.share.settling import erase_left_over, is_unsettled, settle_carried
from gitmem.store.gone import last_known
from gitmem.store.locks import writer_lock
from gitmem.store.lookup import find
from gitmem.store.workspace import Workspace

__all__ = ["Done", "PurgePlan", "after_carrying", "carry_out", "plan_purge", "target"]

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
        raise UsageError(f"That text cannot be purged: {reason}", "Give more of what stands around it.")
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
    who, allow = workspace.author(edges.now), allowed_fingerprints(workspace)
    options = Options(secrets.token_hex(4), who, push, allow, Patience())
    with ExitStack() as locks:
        for name in ("worker", "sync", "extract"):
            locks.enter_context(writer_lock(workspace.state, name, timeout=PATIENCE))
        # What an earlier purge did not come to, here or elsewhere, is not part of this one.
        after_carrying(workspace, edges, ())
        tell("saving live directories")
        with suppress(GitmemError):
            save_all(workspace, edges, everywhere=True)
        named = named_backup(workspace) if push and wanted.concerns(private=True) else ""
        failed = _backed_up(workspace, named, allow, send=False) if named else ""
        purging = Purging(workspace, wanted, options)
        tell("rewriting history")
        purging.rewrite()
        tell("cleaning live directories")
        with suppress(GitmemError):
            keep_up(workspace, edges)
        purging.scrub()
        save_all(workspace, edges, everywhere=True, fresh=True)
        _propose_anew(workspace, edges)
        if named and not failed:
            failed = _backed_up(workspace, named, allow, send=True)
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


def _propose_anew(workspace: Workspace, edges: Edges) -> None:
    """Writes the message for rules that wait to be committed from what memory says now."""
    with suppress(GitmemError, OSError), changing(workspace) as state:
        propose(workspace, edges, state)


def _is_name(workspace: Workspace, what: str) -> bool:
    try:
        find(workspace, what, whole=True)
    except UsageError as error:
        return error.kind == "ambiguous"
    except GitmemError:
        return False
    return True


def _backed_up(workspace: Workspace, url: str, allow: frozenset[str], *, send: bool) -> str:
    """Brings the backup along; returns why that failed, empty where it did not."""
    try:
        backup.back_up(workspace, url, allow, Patience(), send=send)
    except GitmemError as error:
        return error.message
    return ""
