"""`git mem extract`: extraction by hand, from one recorded session or from all of this repository's."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gitmem.cli.context import CommandContext, context
from gitmem.cli.options import DryRun, Json, Quiet
from gitmem.core.errors import UsageError
from gitmem.core.text import counted
from gitmem.flows.engines import engine_for
from gitmem.flows.extract.run import ExtractOutcome, extract_sessions, foresee
from gitmem.flows.extraction import context_of
from gitmem.flows.sessions import sessions_here
from gitmem.transcripts.discover import read as read_session
from gitmem.transcripts.opencode import is_recording


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(extract)


def extract(
    ctx: typer.Context,
    session: Annotated[
        Path | None,
        typer.Option(
            "--session",
            metavar="FILE",
            help="A transcript, wherever it is; else all of this repository's.",
            show_default=False,
        ),
    ] = None,
    dry_run: DryRun = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Extracts memories from recorded sessions, as a commit does. Twice adds nothing.

    With --session and -n all of that session is looked at, whatever was learned of it before.
    """
    run = context(ctx, as_json=as_json, quiet=quiet)
    workspace, edges = run.workspace, run.edges
    if session is not None:
        path = edges.path(session)
        if not path.is_file() and not is_recording(path):
            raise UsageError(f"There is no transcript {path}", "Name a session's .jsonl file.")
        paths = [path]
    else:
        paths = [file.path for file in sessions_here(workspace, edges)]
    engine = engine_for(workspace, edges)
    by_hand = context_of(workspace, edges, by_hand=True)
    if dry_run:
        outcomes = foresee(by_hand, engine, paths, anew=session is not None)
    else:
        outcomes = extract_sessions(by_hand, engine, paths)
    if run.out.as_json:
        run.out.json({"dry_run": dry_run, "sessions": [as_value(one) for one in outcomes]})
        return
    for one in outcomes:
        _show(run, one, dry_run)
    if session is not None and not read_session(paths[0]).messages:
        run.out.warn(f"{paths[0]} holds no message that can be read")
        return
    spoken = sum(m.role == "person" for one in outcomes for m in one.plan.given.messages)
    if not any(one.plan.stored or one.parked for one in outcomes):
        run.out.say(f"nothing new to extract ({counted(spoken, 'new message')} of a person looked at)")
    elif not dry_run:
        if any(made for one in outcomes for made in one.commits):
            run.out.say("undo: git mem undo")
        if any(one.parked for one in outcomes):
            run.out.say("decide: git mem review")


def as_value(one: ExtractOutcome) -> dict[str, Any]:
    """The JSON form of one session."""
    return {
        "session": one.plan.given.session,
        "path": str(one.path),
        "stored": [
            {
                "scope": placed.scope,
                "agent": placed.agent,
                "file": path.removeprefix(f"{placed.agent}/"),
                "op": placed.change.op,
                "type": placed.change.type,
                "name": placed.change.name,
                "description": placed.change.description,
                "reason": placed.change.reason,
                "commit": made.commit if made else None,
            }
            for placed, made, path in one.stored
        ],
        "suggested": [
            {
                "id": waiting.id,
                "scope": waiting.scope,
                "op": waiting.change.op,
                "type": waiting.change.type,
                "name": waiting.change.name,
                "description": waiting.change.description,
                "reason": waiting.change.reason,
                "confidence": waiting.change.confidence,
            }
            for waiting in one.parked
        ],
        "refused": [
            {"text": refused.text, "reason": refused.reason, "message": refused.message}
            for refused in one.plan.refused
        ],
        "known": [{"name": change.name, "reason": change.reason} for change in one.plan.known],
        "left_to_the_agent": list(one.plan.covered),
    }


def _show(run: CommandContext, one: ExtractOutcome, dry_run: bool) -> None:
    out = run.out
    for placed, made, path in one.stored:
        change = placed.change
        word = "would store" if dry_run else made.commit[:8] if made else "there already"
        out.data(f"{word} {placed.scope}/{path} ({change.type}): {change.description}")
    for waiting in one.parked:
        word = "would suggest" if dry_run else "suggested"
        out.data(
            f"{word} {waiting.id} ({waiting.change.type}): {waiting.change.description}",
        )
    for refused in one.plan.refused:
        out.data(f"refused: {refused.text}: {refused.reason}")
    if dry_run:
        for change in one.plan.known:
            out.data(f"left out: {change.name}: {change.reason}")
