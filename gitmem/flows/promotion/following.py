"""After a commit, a merge or a rewrite of the code: memory follows the rules, in each work tree told of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gitmem.core.errors import GitmemError
from gitmem.flows.context import Edges, workspace_at
from gitmem.flows.promotion.settling import settle

EVENTS = frozenset({"commit", "merge", "rewrite", "session-start"})
"""What may have changed the rules of HEAD; the start of a session catches up where no hook told of it."""


def follow_rules(
    edges: Edges, places: Sequence[Path], rewritten: Sequence[tuple[str, str]] = ()
) -> tuple[str, ...]:
    """Settles each work tree; what cannot be done now is done with the next commit.

    Args:
        places: folders of work trees of the repository, those told of first.
        rewritten: old and new names of code commits that were just rewritten.

    Returns:
        What was done and what could not be, a line each.
    """
    said: list[str] = []
    for place in dict.fromkeys(places):
        here = replace(edges, cwd=place)
        try:
            said += settle(workspace_at(here), here, rewritten)
        except (GitmemError, OSError) as error:
            said.append(f"rules: {error}")
    return tuple(said)
