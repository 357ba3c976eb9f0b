"""What a dream may know besides memory: the code at HEAD, and what was said since the last one."""

from __future__ import annotations

from gitmem.dream.lock import prior_of
from gitmem.dream.sources import Sources, nothing_known
from gitmem.integrations.edges import Edges, allowed_fingerprints
from gitmem.integrations.last_recalls import asked_before
from gitmem.store.workspace import Scope, Workspace


def dream_sources(
    workspace: Workspace, edges: Edges, place: Scope, agents: tuple[str, ...] = ()
) -> Sources:
    """What a dream of one scope may know; no code and no session is read before it is asked for.

    The scope `user` is about a person and no code; the sessions are those of this repository all the same,
    since only they are known to be the person's here.

    Args:
        agents: folder names of those whose memories to consolidate; empty for all.
    """
    from gitmem.integrations.dreams.code import code_facts
    from gitmem.integrations.dreams.said import SaidSince

    since, allow = prior_of(place), allowed_fingerprints(workspace)
    return Sources(
        now=edges.now,
        since=since,
        agents=agents,
        code=nothing_known if place.name == "user" else code_facts(workspace, place),
        sessions=SaidSince(workspace, edges, since),
        worktree=workspace.layout.worktree,
        allow=allow,
        asked=asked_before(place, allow),
    )
