"""What a dream may know besides memory: the code at HEAD, and what was said since the last one."""

from __future__ import annotations

from collections.abc import Callable

from gitmem.core.text import decode
from gitmem.dream.lock import prior_of
from gitmem.dream.sources import Sources, nothing_known
from gitmem.flows.context import Edges, allowed_fingerprints
from gitmem.flows.last_recalls import asked_before
from gitmem.git.repository import BLOB, EXECUTABLE, MissingObject
from gitmem.ledger.workspace import Scope, Workspace
from gitmem.rules.account import Lookup, unknown

MOST_BYTES = 200_000
"""Of a file of the code that a dream names as its source."""


def lookup(workspace: Workspace, edges: Edges) -> Lookup:
    """What a proof may look up outside of memory: the sessions of this repository, and its code at HEAD."""
    from gitmem.flows.dreams.said import SaidSince

    return Lookup(SaidSince(workspace, edges, 0.0).get, code_file(workspace))


def code_file(workspace: Workspace) -> Callable[[str], str | None]:
    """Gives files of the code as HEAD has them; what is large, or no text, is none."""

    def file(path: str) -> str | None:
        repo = workspace.code
        head = repo.resolve("HEAD")
        try:
            entry = repo.entry(repo.commit(head).tree, path) if head else None
            if entry is None or entry.mode not in (BLOB, EXECUTABLE):
                return None
            small = repo.sizes((entry.oid,))[entry.oid] <= MOST_BYTES
            return decode(repo.blob(entry.oid)) if small else None
        except MissingObject:
            return None

    return file


def dream_sources(
    workspace: Workspace, edges: Edges, place: Scope, agents: tuple[str, ...] = ()
) -> Sources:
    """What a dream of one scope may know; no code and no session is read before it is asked for.

    The scope `user` is about a person and no code; the sessions are those of this repository all the same,
    since only they are known to be the person's here.

    Args:
        agents: folder names of those whose memories to consolidate; empty for all.
    """
    from gitmem.flows.dreams.code import code_facts
    from gitmem.flows.dreams.said import SaidSince

    since, allow = prior_of(place), allowed_fingerprints(workspace)
    return Sources(
        now=edges.now,
        since=since,
        agents=agents,
        code=nothing_known if place.name == "user" else code_facts(workspace, place),
        sessions=SaidSince(workspace, edges, since),
        worktree=workspace.layout.worktree,
        file=unknown if place.name == "user" else code_file(workspace),
        allow=allow,
        asked=asked_before(place, allow),
    )
