"""`git mem diff`: what changed, claim by claim."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated

import typer

from gitmem.cli.context import CommandContext, context
from gitmem.cli.options import AgentOption, At, Json, ScopeOption
from gitmem.core.errors import UsageError
from gitmem.core.memory import claim_lines
from gitmem.flows.save import look_all
from gitmem.flows.show import FileDiff, between, of_file
from gitmem.git.trees import read_file, read_paths
from gitmem.ledger.holdings import chosen_agent
from gitmem.ledger.lookup import chosen_scopes, find
from gitmem.ledger.moments import resolve_all
from gitmem.ledger.workspace import Workspace

COLOURS = {"+": "green", "-": "red", "~": "yellow"}


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(diff)


def diff(
    ctx: typer.Context,
    first: Annotated[
        str | None,
        typer.Argument(metavar="[A]", help="Revision, date or tag; with --at a name.", show_default=False),
    ] = None,
    second: Annotated[
        str | None, typer.Argument(metavar="[B]", help="Revision, date or tag.", show_default=False)
    ] = None,
    at: At = None,
    scope: ScopeOption = None,
    agent: AgentOption = None,
    as_json: Json = False,
) -> None:
    """Shows what changed, claim by claim: + is new, - is gone, ~ is marked otherwise.

    Without arguments: what a save would commit now. `diff A`: since then. `diff A B`: between the two.
    `diff NAME --at A`: one memory since then. The index is left out: it follows the memories. Plain
    `git diff`, `git show` and `git log -p` show memories in the same form where `git mem init` has run.
    """
    run = context(ctx, as_json=as_json, pages=True)
    workspace = run.workspace
    if at is not None:
        if first is None or second is not None:
            raise UsageError("With --at, diff takes the name of one memory", "Or: git mem diff A B")
        found = _one(run, workspace, first, at, scope, agent)
    elif first is None:
        found = _unsaved(run, workspace, scope, agent)
    else:
        found = _between(run, workspace, first, second, scope, agent)
    diffs = sorted((each for each in found if each.changes or each.state != "changed"), key=_order)
    if run.out.as_json:
        run.out.json([each.as_value() for each in diffs])
        return
    for each in diffs:
        _print(run, each)
    if not diffs:
        run.out.say("nothing to save" if first is None else "no memory changed")


def _unsaved(
    run: CommandContext, workspace: Workspace, scope: str | None, agent: str | None
) -> Iterator[FileDiff]:
    wanted = {each.name for each in chosen_scopes(workspace, scope)}
    folder = chosen_agent(agent)
    for saved in look_all(workspace, run.edges):
        where = saved.live.scope
        if where.name not in wanted or folder not in (None, saved.live.agent):
            continue
        tip = where.repo.ref(where.ref)
        tree = where.repo.commit(tip).tree if tip else None
        before = read_paths(where.repo, tree, set(saved.plan.edits)) if tree else {}
        for path, data in saved.plan.edits.items():
            yield from of_file(where, path, before.get(path), data)


def _between(
    run: CommandContext,
    workspace: Workspace,
    one: str,
    other: str | None,
    scope: str | None,
    agent: str | None,
) -> Iterator[FileDiff]:
    scopes = chosen_scopes(workspace, scope)
    olds = resolve_all(workspace, scopes, one, run.edges.now)
    news = resolve_all(workspace, scopes, other or "@", run.edges.now)
    folder = chosen_agent(agent)
    for where in scopes:
        if where.ref in olds and where.ref in news:
            yield from between(where, olds[where.ref], news[where.ref], folder)


def _one(
    run: CommandContext, workspace: Workspace, name: str, at: str, scope: str | None, agent: str | None
) -> Iterable[FileDiff]:
    try:
        here = find(workspace, name, scope, agent, logs=True)
    except UsageError:
        # Deleted since: it is looked for where it was.
        here = find(workspace, name, scope, agent, at, run.edges.now, logs=True)
    where = workspace.scope(here.scope)
    then = resolve_all(workspace, (where,), at, run.edges.now)[where.ref]
    tip = where.repo.ref(where.ref) or then
    sides = [read_file(where.repo, where.repo.commit(commit).tree, here.path) for commit in (then, tip)]
    return of_file(where, here.path, *sides)


def _order(found: FileDiff) -> tuple[str, str]:
    return found.scope, found.path


def _print(run: CommandContext, found: FileDiff) -> None:
    out = run.out
    note = "" if found.state == "changed" else f" ({found.state})"
    out.data(out.paint(f"{found.scope}/{found.path}{note}", "bold"))
    for change in found.changes:
        for line in claim_lines(change.text):
            out.data(out.paint(f"{change.sign} {line}".rstrip(), COLOURS[change.sign]))
