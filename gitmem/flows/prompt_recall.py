"""Recall for a prompt, which nobody asked for: over all scopes and agents, without pygit2.

Most prompts call nothing up, and load nothing of what makes an answer. What people and tools ask is in
`recall`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from gitmem.core.errors import RepositoryError, UsageError
from gitmem.flows.context import Edges
from gitmem.search.catalog import Catalog
from gitmem.search.gate import PROMPT, Selection, select
from gitmem.search.query import Candidate, RecallSource, gather

if TYPE_CHECKING:
    from gitmem.git.repository import Repository
    from gitmem.ledger.workspace import Workspace
    from gitmem.search.recall import Recall

OFFLINE = "offline"

TELLING = "agent"
"""The engine that has the session's agent decide what is learned; what is recalled, the rules choose."""

MODELS = frozenset({"anthropic"})
"""Engines that choose by themselves. `claude-code` leaves it to the offline rules: a question of its own
would share no cache with any session."""


def prompt_engine(workspace: Workspace) -> tuple[str, str]:
    """The engine that chooses where none is named.

    Returns:
        Its name, and what is to be said of it where the setting means nothing.
    """
    try:
        name = workspace.settings.get("engine")
        return (OFFLINE if name == TELLING else name), ""
    except UsageError as error:
        return OFFLINE, f"{error.message}; chosen offline"


def recall_for_prompt(
    workspace: Workspace,
    edges: Edges,
    prompt: str,
    *,
    shown: Set[str] = frozenset(),
    first: Sequence[Candidate] = (),
    tools: Callable[[], Set[str]] = frozenset,
    prefer: str = "",
) -> Recall | None:
    """Recalls what bears on a prompt, by the offline rules: nobody asked, so much must speak for it.

    Args:
        shown: blobs that this session has seen already.
        first: what was chosen before for this session: shown first where it still stands at its tip.
        tools: names the tools in use, asked for once a reference is opened: those that only explain one of
            them are left out.
        prefer: an agent's folder, whose memories come first.

    Returns:
        None where nothing was chosen, as for most prompts: nothing of what makes an answer is loaded then.
    """
    with opened_sources(workspace) as (sources, scopes):
        candidates = [one for _, one in gather(prompt, sources, now=int(edges.now))]
        chosen = _leading(select(candidates, shown, PROMPT), prefer)
        if first:
            chosen = _before(first, {ref: one for one in sources for ref in one.scopes}, shown, chosen)
        if not chosen.chosen:
            return None
        from gitmem.flows.recall_answer import RecallQuestion, make_answer

        return make_answer(
            workspace, edges, sources, scopes, candidates, chosen,
            RecallQuestion(prompt, shown, tools=tools, asked=False),
        )  # fmt: skip


@contextmanager
def opened_sources(
    workspace: Workspace, scope: str | None = None, at: str | None = None, now: float = 0.0
) -> Iterator[tuple[list[RecallSource], dict[str, str]]]:
    """The repositories to ask, with their catalogs, and full ref name to scope.

    Args:
        scope, at: as those of `ask`.
        now: epoch seconds, from which `at` counts.
    """
    scopes = (workspace.scope(scope),) if scope else workspace.scopes
    past = None
    if at:
        from gitmem.ledger.moments import resolve_all

        past = resolve_all(workspace, scopes, at, now)
    sources: list[RecallSource] = []
    try:
        for repo in dict.fromkeys(each.repo for each in scopes):
            mine = [each for each in scopes if each.repo is repo and (past is None or each.ref in past)]
            if mine:
                names = {each.ref: str(each.name) for each in mine}
                then = {ref: commit for ref, commit in (past or {}).items() if ref in names}
                sources.append(RecallSource(repo, Catalog.open(mine[0].state), names, then))
        yield sources, {each.ref: str(each.name) for each in scopes}
    finally:
        for source in sources:
            source.catalog.close()


def _leading(selection: Selection, agent: str) -> Selection:
    if not agent:
        return selection
    return replace(selection, chosen=tuple(sorted(selection.chosen, key=lambda one: one.agent != agent)))


def _before(
    first: Sequence[Candidate], held: Mapping[str, RecallSource], shown: Set[str], then: Selection
) -> Selection:
    """A choice with what was chosen earlier before it: what this session has not seen and still stands."""
    standing = tuple(
        one
        for one in first
        if one.blob not in shown and one.ref in held and _stands(held[one.ref].repo, one)
    )
    blobs = {one.blob for one in standing}
    return Selection(
        (*standing, *(one for one in then.chosen if one.blob not in blobs)),
        tuple(left for left in then.left if left.candidate.blob not in blobs),
    )


def _stands(repo: Repository, one: Candidate) -> bool:
    from gitmem.ledger.land import memory_commit  # most prompts have no choice before them

    with suppress(RepositoryError):
        tip = memory_commit(repo, one.ref)
        if one.kind == "log":  # it is opened where it stands, and found gone there
            return tip is not None
        entry = repo.entry(repo.commit(tip).tree, one.path) if tip else None
        return entry is not None and entry.oid == one.blob
    return False
