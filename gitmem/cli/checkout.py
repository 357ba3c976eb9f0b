"""`git mem checkout`: lay a past state out in the live directories, and come back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from shlex import quote
from typing import Annotated

import typer

from gitmem.cli.context import CommandContext, context
from gitmem.cli.options import AgentOption, DryRun, Json, Quiet, ScopeOption
from gitmem.cli.output import day, sound
from gitmem.core.errors import CheckFailed, UsageError
from gitmem.flows.save import save_all
from gitmem.ledger.holdings import chosen_agent
from gitmem.ledger.layout import LiveDirectory, live_directories, read_record
from gitmem.ledger.lookup import chosen_scopes
from gitmem.ledger.moments import is_root, resolve_all
from gitmem.ledger.working_copy import check_out, unpin, unsaved
from gitmem.ledger.workspace import Workspace

BACK = "-"


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(checkout)


def checkout(
    ctx: typer.Context,
    revision: Annotated[
        str,
        typer.Argument(metavar="REV|DATE|TAG|-", help="The state to lay out; - comes back to the present."),
    ],
    scope: ScopeOption = None,
    agent: AgentOption = None,
    dry_run: DryRun = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Lays a past state out in the live directories, so that agents work from what was known then.

    What is edited there is saved as a change of that past state and merged onto the present one: nothing
    that came since is lost. `git mem checkout -` comes back. Folders that the code branch tracks are left
    alone.
    """
    run = context(ctx, as_json=as_json, quiet=quiet)
    workspace = run.workspace
    lives = _lives(workspace, scope, agent)
    if revision == BACK:
        _back(run, workspace, lives, dry_run)
        return
    used = {live.scope.ref for live in lives}
    scopes = tuple(each for each in chosen_scopes(workspace, scope) if each.ref in used)
    commits = resolve_all(workspace, scopes, revision, run.edges.now) if lives else {}
    chosen = [live for live in lives if live.scope.ref in commits]
    free = [live for live in chosen if not live.tracked]
    if not free:
        raise CheckFailed(
            "No agent has a memory folder here to lay it out in",
            f"To look at it: git mem list --at {revision}",
        )
    if all(_is_before(live, commits) for live in free):
        raise UsageError(
            f"There was no memory at {revision}: the first was stored on {day(_first(free))}",
            "Lay out what was known then or later: git mem checkout DATE",
        )
    if not dry_run:
        save_all(workspace, run.edges)
        for live in free:
            if refused := unsaved(live):
                raise CheckFailed(
                    f"{live.path / refused[0]} holds something that is not saved",
                    "See what and why: git mem status; settle it, then run this again.",
                )
    done: list[dict[str, object]] = []
    for live in free:
        commit = commits[live.scope.ref]
        files: tuple[str, ...] = ()
        if not dry_run:
            known = revision if commit.startswith(revision) else f"{revision} ({commit[:12]})"
            files = check_out(live, commit, known, run.edges.now)
        done.append(_value(live, commit, files))
    if run.out.as_json:
        run.out.json(done)
        return
    for live in free:
        then = live.scope.repo.commit(commits[live.scope.ref])
        verb = "would lay out" if dry_run else "laid out"
        what = f"{then.oid[:12]} of {day(then.committer.time)}"
        if is_root(then):
            what = f"no memory (the first of {live.scope.name} came later)"
        run.out.data(f"{verb} {what} in {live.path}")
    for live in chosen:
        if live.tracked:
            run.out.say(f"left alone: {live.path} (the code branch tracks it)")
    if not dry_run:
        run.out.say(f"undo: git mem checkout {BACK}")


def _lives(workspace: Workspace, scope: str | None, agent: str | None) -> list[LiveDirectory]:
    wanted = {each.name for each in chosen_scopes(workspace, scope)}
    folder = chosen_agent(agent)
    return [
        live
        for live in live_directories(workspace)
        if live.scope.name in wanted and folder in (None, live.agent)
    ]


def _is_before(live: LiveDirectory, commits: Mapping[str, str]) -> bool:
    """Whether the state of a scope is the empty one that stands before all memory."""
    return is_root(live.scope.repo.commit(commits[live.scope.ref]))


def _first(lives: Iterable[LiveDirectory]) -> int:
    """When the first memory of their scopes was stored, epoch seconds."""
    scopes = {live.scope.ref: live.scope for live in lives}.values()
    return min(
        one.committer.time
        for scope in scopes
        for one in scope.repo.history(scope.repo.ref(scope.ref) or "")
        if not is_root(one)
    )


def _pinned(live: LiveDirectory) -> str:
    record = read_record(live.scope.state, live.key)
    return record.pinned if record else ""


def _back(run: CommandContext, workspace: Workspace, lives: list[LiveDirectory], dry_run: bool) -> None:
    pinned = [live for live in lives if _pinned(live)]
    # By its commit, since a word such as `~1` means another state by and by.
    again = [
        f"git mem checkout {_pinned(live).rpartition(' (')[2].rstrip(')')}"
        f" --scope {live.scope.name} --agent {quote(live.agent)}"
        for live in pinned
    ]
    if not pinned:
        raise UsageError("No past state is laid out here", "Lay one out: git mem checkout REV|DATE|TAG")
    if not dry_run:
        save_all(workspace, run.edges)
        for live in pinned:
            unpin(live)
        save_all(workspace, run.edges)
    if run.out.as_json:
        run.out.json([_value(live, live.scope.repo.ref(live.scope.ref) or "", ()) for live in pinned])
        return
    for live in pinned:
        verb = "would lay out" if dry_run else "laid out"
        run.out.data(f"{verb} the present state in {live.path}")
    if not dry_run:
        run.out.say(f"undo: {' && '.join(again)}")


def _value(live: LiveDirectory, commit: str, files: tuple[str, ...]) -> dict[str, object]:
    return {
        "scope": live.scope.name,
        "agent": sound(live.agent),
        "folder": sound(str(live.path)),
        "commit": commit,
        "files": [sound(file) for file in files],
    }
