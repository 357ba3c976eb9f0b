"""A dream that proposes promotions: what is recalled often and was never disputed may well be a rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from gitmem.core.errors import CheckFailed, GitmemError
from gitmem.core.names import archived_path, hot_path
from gitmem.core.pointer import rule_file
from gitmem.core.text import iso, one_line
from gitmem.integrations.edges import Edges
from gitmem.integrations.promoting.pending import read_state
from gitmem.promote.moving import EVERYWHERE, Place, place_at, place_of
from gitmem.promote.proposals import (
    AT_ONCE,
    RECALLED_OFTEN,
    TYPES,
    Proposal,
    proposal,
    proposals,
    put,
    settle,
)
from gitmem.store.commits import memory_commit
from gitmem.store.lookup import Found
from gitmem.store.workspace import Scope, Workspace
from gitmem.values import dataclass

if TYPE_CHECKING:
    from gitmem.rules.findable import Recalled

_DISPUTED = "*(disputed "


@dataclass(frozen=True)
class Offered:
    """A proposal with the memory that it is about."""

    proposal: Proposal
    at: Place


def propose(
    workspace: Workspace, edges: Edges, scope: Scope, asked: Iterable[Recalled], *, dry_run: bool = False
) -> tuple[str, ...]:
    """Proposes the memories of a scope that were recalled most, as far as there is room.

    Args:
        asked: the last recalls that showed memories of the scope.

    Returns:
        What the dream says of it, a line each.
    """
    if scope.name == EVERYWHERE:  # a rule of one project is no place for what holds in all
        return ()
    known = {one.id: one for one in proposals(workspace)}
    room = AT_ONCE - len([*offered(workspace)])
    if room <= 0:
        return ()
    created = iso(edges.now)
    made: list[tuple[Proposal, Place]] = []
    for at, recalls in _often(workspace, scope, asked):
        one = proposal(at.scope, at.agent, at.home, recalls, created)
        if one.id not in known and not _was_disputed(workspace, scope, at):
            made.append((one, at))
        if len(made) == room:
            break
    if made and not dry_run:
        put(workspace, [one for one, _ in made], workspace.author(edges.now), "Propose promotions")
    verb = "would propose" if dry_run else "proposes"
    return tuple(
        f"promotion: {one_line(at.memory.name, 80)} was shown for {one.recalls} questions and never"
        f" disputed; {one.id} {verb} it as a rule"
        for one, at in made
    )


def offered(workspace: Workspace) -> Iterator[Offered]:
    """The proposals that wait and still make sense: the memory is there, and no rule already."""
    waiting = [one for one in proposals(workspace) if one.rejected is None]
    if not waiting:
        return
    pending = read_state(workspace).pending
    for one in waiting:
        at = place_of(workspace, f"{one.scope}/{one.agent}/{one.file}")
        if at is not None and not rule_file(at.memory) and at.address not in pending:
            yield Offered(one, at)


def accept(workspace: Workspace, edges: Edges, one: Offered, ask: Callable[[str], None]) -> str:
    """Promotes the memory, in the default file; returns what was done, for the person.

    Args:
        ask: asks the person for consent, and raises where there is none.

    Raises:
        CheckFailed: it holds a secret, which is asked for by name alone; or the person said no.
        UsageError: as `promote.plan`.
    """
    from gitmem.integrations.promoting.promote import plan, promote

    at = one.at
    found = Found(at.scope, at.agent, at.file, at.memory, "", "")
    planned = plan(workspace, edges, found, None)
    if planned.secret:
        why = "; ".join(planned.doubts)
        raise CheckFailed(f"{at.address}: {why}", f"If it is none: git mem promote {at.address}")
    if planned.question:
        ask(planned.question)
    done = promote(workspace, edges, planned)
    settle(workspace, one.proposal.id, workspace.author(edges.now))
    how = f"; commit it: {done.command}" if done.command else ""
    return f"wrote the rule {at.address} into {planned.file}{how}"


def reject(workspace: Workspace, edges: Edges, one: Offered, why: str) -> str:
    """Remembers that the memory is to stay one; returns what was done."""
    turned_down = replace(one.proposal, rejected=one_line(why, 400) if why.strip() else "")
    put(workspace, [turned_down], workspace.author(edges.now), f"Turn down {one.proposal.id}")
    return f"{one.at.address} stays a memory; it is not proposed again"


def _often(workspace: Workspace, scope: Scope, asked: Iterable[Recalled]) -> Iterator[tuple[Place, int]]:
    """Memories that were shown for many questions and may become rules, the most asked-for first."""
    counts = Counter(hot_path(one.path) or one.path for one in dict.fromkeys(asked))
    pending = read_state(workspace).pending
    tip = memory_commit(scope.repo, scope.ref)
    if tip is None:
        return
    tree = scope.repo.commit(tip).tree
    for path, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
        if count < RECALLED_OFTEN:
            return
        agent, _, file = path.partition("/")
        at = place_at(scope.repo, tree, scope.name, agent, file) if file else None
        if at is None or at.memory.type not in TYPES or rule_file(at.memory) or at.address in pending:
            continue
        if not any(claim.dispute for claim in at.memory.claims):
            yield at, count


def _was_disputed(workspace: Workspace, scope: Scope, at: Place) -> bool:
    """Whether a version of a memory ever held a dispute mark; where nobody can tell, it counts as one."""
    hot = f"{at.agent}/{at.home}"
    paths = [hot, *([away] if (away := archived_path(hot)) else [])]
    words = ["log", "-1", "--format=%H", "-m", "--no-patch", f"-S{_DISPUTED}", scope.ref, "--"]
    words += [f":(top,literal){path}" for path in paths]
    try:
        done = workspace.git.run(words, git_dir=scope.repo.git_dir, cwd=scope.repo.git_dir, check=False)
    except GitmemError:
        return True
    return done.returncode != 0 or bool(done.text.strip())
