"""`git mem undo`: take a change back, as a new commit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from gitmem.cli.context import Context, DryRun, Json, ScopeOption, context
from gitmem.cli.words import day, sound
from gitmem.core.errors import CheckFailed, UsageError
from gitmem.core.text import counted, one_line
from gitmem.core.trailers import BATCH_JOB, parse
from gitmem.flows.context import allowed_fingerprints
from gitmem.flows.last_decided import forget, last
from gitmem.flows.save import copies_of
from gitmem.git.repository import Commit, MissingObject
from gitmem.ledger.epochs import FORMER_DAYS
from gitmem.ledger.land import Copies, read_tip, together
from gitmem.ledger.leaving import is_kept
from gitmem.ledger.lookup import chosen_scopes
from gitmem.ledger.moments import revision
from gitmem.ledger.restore import (
    Undoing,
    made_together,
    newest_undoable,
    plan_undo,
    replaced_by,
    still_there,
    take_back,
)
from gitmem.ledger.workspace import Scope, Workspace

if TYPE_CHECKING:
    from gitmem.ledger.decide import Beside

_UNDO = "git mem undo "
_PURGE = re.compile(r"e-([0-9a-f]{8})")


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(undo)


def undo(
    ctx: typer.Context,
    commit: Annotated[
        str | None,
        typer.Argument(
            metavar="[COMMIT]",
            help="A commit from git mem log; e-… of a purge that you agreed to; i-… of a rejected inbox.",
            show_default=False,
        ),
    ] = None,
    scope: ScopeOption = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Takes the newest change back, as a new commit; run again, it goes one further back.

    What one command changed goes back as one: both halves of a move, all that review decided at once. What
    was learned since stays: the change is taken out by a merge. An undo can itself be undone by naming
    its commit. What `init` adopted, what was purged, and merges with other clones are left alone.
    """
    run = context(ctx, as_json=as_json)
    workspace = run.workspace
    newest = None if commit else _newest(run, workspace, scope)
    word = commit or _decided_last(workspace, newest, scope, dry_run=dry_run)
    side = _beside(workspace, word) if word else None
    if side is not None:
        _undo_beside(run, side, word, dry_run=dry_run)
        return
    # Chosen before live edits are saved: they are newer than what the person has in mind.
    others: tuple[tuple[Scope, Commit], ...] = ()
    if purge := _PURGE.fullmatch(commit or ""):
        found = _purge(workspace, purge)
    else:
        found = newest or _named(workspace, word, scope)
        others = made_together(workspace.scopes, found)
    made: list[str] = []
    again: list[str] = []
    if not dry_run:
        with together(copies_of(workspace, run.edges)) as copies:
            made = _take_back(run, workspace, ((found.scope, found.target), *others), copies, found.left)
            if not made:
                raise _nothing_left(found)
            again = _waits_again(workspace, ((found.scope, found.target), *others))
    if run.out.as_json:
        run.out.json(
            {
                "scope": found.scope.name,
                "undid": found.target.oid,
                "subject": sound(found.target.subject),
                "commit": made[0] if made else "",
                "paths": sorted(map(sound, found.edits)),
                "with": [{"scope": where.name, "undid": target.oid} for where, target in others],
            }
        )
        return
    target = found.target
    done = "would undo" if dry_run else "undid"
    told = one_line(f"{target.subject} ({found.scope.name}, {day(target.author.time)})", 160)
    more = f", with {counted(len(others), 'change')} of the same command" if others else ""
    run.out.data(f"{done} {target.oid[:12]} {told}{more}")
    for one in found.passed:
        run.out.say(f"left alone: {one.oid[:12]} {one_line(one.subject, 80)} (no change of yours)")
    for path in still_there(found, dry_run=dry_run):
        run.out.say(f"stays: {found.scope.name}/{path} (edited since; delete it with git mem forget)")
    for path, _ in found.buried:
        run.out.say(f"stays forgotten: {found.scope.name}/{path}")
    for line in again:
        run.out.say(line)
    if made:
        run.out.say(f"undo: git mem undo {made[0][:12]}")


def _beside(workspace: Workspace, commit: str) -> Beside | None:
    from gitmem.ledger.decide import beside  # what waits is seldom named

    return beside(workspace, commit)


def _undo_beside(run: Context, side: Beside, word: str, *, dry_run: bool) -> None:
    """Takes back what waits on a ref of its own: the ref goes back to where it was."""
    if not dry_run:
        side.take_back()
        forget(run.workspace.state, f"{_UNDO}{word}")
    if run.out.as_json:
        subject = sound(side.target.subject)
        run.out.json({"undid": side.target.oid, "subject": subject, "of": side.what, "commit": ""})
        return
    done = "would undo" if dry_run else "undid"
    run.out.data(f"{done} {side.target.oid[:12]} {one_line(side.target.subject, 100)} ({side.what})")


def _take_back(
    run: Context, workspace: Workspace, changes: Sequence[tuple[Scope, Commit]], copies: Copies, left: str
) -> list[str]:
    """Takes each back that anything is left of, as commits that can be undone together."""
    who, head = workspace.author(run.edges.now), workspace.code_head()
    allow = allowed_fingerprints(workspace)
    job = f"{BATCH_JOB}{changes[0][1].oid[:8]}-{who.time}" if len(changes) > 1 else ""
    made = []
    for number, (where, target) in enumerate(changes, 1):
        part = f"{job}.{number}" if job else ""
        written = take_back(where, target, who, head, allow, part, left, copies)
        made += [written.commit] if written else []
    return made


def _waits_again(workspace: Workspace, changes: Sequence[tuple[Scope, Commit]]) -> list[str]:
    """Puts back in the queue what was decided by what is undone, or takes it off it again; says so."""
    lines: list[str] = []
    back: list[str] = []
    decided = [(where, target) for where, target in changes if _decision(where, target)[0]]
    if not decided:
        return lines
    from gitmem.ledger.decide import reopen  # most changes decided nothing
    from gitmem.ledger.suggestions import reopen as reopen_suggestions
    from gitmem.ledger.suggestions import settle

    for where, target in decided:
        reopened = reopen(where, target) if parse(target.message).reviewed else None
        if reopened is not None and reopened.how == "open":
            lines.append(f"{reopened.id} waits again: git mem review show {reopened.id}")
        elif reopened is not None:
            lines.append(
                f"{reopened.id} itself does not come back; git mem dream --force proposes what still fits"
            )
        words, is_redone = _decision(where, target)
        ids = [word for word in words if word.startswith(("s-", "p-"))]
        if is_redone:
            settle(workspace, ids, "decided again")
        else:
            back += ids
    again = reopen_suggestions(workspace, back)
    if again:
        listed = ", ".join(again) if len(again) < 4 else counted(len(again), "proposal")
        lines.append(f"{listed} wait{'s' if len(again) == 1 else ''} again: git mem review")
    return lines


def _decision(scope: Scope, target: Commit) -> tuple[list[str], bool]:
    """What a commit decided on, by id, and whether it undid that decision instead."""
    told, is_redone = parse(target.message), False
    with suppress(MissingObject):
        while told.undoes:
            told, is_redone = parse(scope.repo.commit(told.undoes).message), not is_redone
    return told.reviewed.split(), is_redone


def _named(workspace: Workspace, commit: str, scope: str | None) -> Undoing:
    for where in chosen_scopes(workspace, scope):
        oid = revision(where, commit)
        if oid is None:
            continue
        tip = read_tip(where.repo, where.ref)
        if not (where.repo.is_ancestor(oid, tip.commit) or is_kept(where.repo, oid)):
            raise UsageError(f"{commit} is not on {where.ref}", "See what is: git mem log")
        found = plan_undo(where, tip, where.repo.commit(oid))
        if not found.edits:
            raise _nothing_left(found)
        return found
    raise UsageError(f"{commit!r} is no commit of the memory", "See them: git mem log")


def _purge(workspace: Workspace, id: re.Match[str]) -> Undoing:
    """Somebody else's purge that was agreed to, with the history that it replaced."""
    where = workspace.scope("project")
    tip = read_tip(where.repo, where.ref)
    taken = revision(where, id[1])
    if taken is None:
        raise UsageError(f"{id[0]} is no purge that memory here follows", "See what waits: git mem review")
    left = replaced_by(where.repo, where.ref, taken)
    if left is None:
        raise CheckFailed(
            f"Nothing is kept of what {id[0]} took out",
            f"It proved it to be purged, or it was taken more than {FORMER_DAYS} days ago.",
        )
    found = replace(plan_undo(where, tip, where.repo.commit(taken), left), left=left)
    if not found.edits:
        raise _nothing_left(found)
    return found


def _newest(run: Context, workspace: Workspace, scope: str | None) -> Undoing | None:
    me = workspace.author(run.edges.now)

    def mine(where: Scope, change: Commit) -> bool:
        # Shared memory holds what teammates taught: that is not undone by the way. What was taken of their
        # inboxes is theirs by author; who took it is the committer.
        people = (change.author.email, change.committer.email)
        return where.name != "project" or workspace.sharing == "off" or me.email in people

    return newest_undoable(chosen_scopes(workspace, scope), mine)


def _decided_last(workspace: Workspace, newest: Undoing | None, scope: str | None, *, dry_run: bool) -> str:
    """What was decided after the newest change and no commit tells, so that no older one is undone instead.

    Returns:
        Its id; empty where the newest change is what was done last.

    Raises:
        CheckFailed: another command takes it back, which is said once; or there is nothing to undo.
    """
    command = (
        last(workspace.state, newest.target.committer.time if newest else 0) if scope is None else None
    )
    if command and command.startswith(_UNDO):
        return command.removeprefix(_UNDO)
    if command:
        if not dry_run:
            forget(workspace.state, command)
        hint = "For the newest change before it, run this again, or name a commit: git mem log"
        raise CheckFailed(f"What was decided last is taken back by: {command}", hint)
    if newest is None:
        raise CheckFailed("There is nothing to undo", "To undo a certain change: git mem undo COMMIT")
    return ""


def _nothing_left(found: Undoing) -> CheckFailed:
    return CheckFailed(f"Nothing of {found.target.oid[:12]} is left to undo: later changes took its place")
