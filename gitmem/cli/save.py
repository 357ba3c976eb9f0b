"""`git mem save`: commit what agents and people edited."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from gitmem.cli.context import CommandContext, context, warn_of
from gitmem.cli.options import Allow, DryRun, Json, Quiet
from gitmem.core.memory import parse as parse_memory
from gitmem.core.memory import problems
from gitmem.core.names import kind
from gitmem.core.trailers import parse
from gitmem.flows.save import look_all, save_all
from gitmem.ledger.land import Written
from gitmem.ledger.save_plan import ABSENT
from gitmem.ledger.working_copy import Saved
from gitmem.rules.screen import allow_command, doubtful

OF_HELD = "git mem save writes again what is gone; git mem save --delete takes it for deleted"


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(save)


def save(
    ctx: typer.Context,
    delete: Annotated[
        bool, typer.Option("--delete", help="Files that vanished are deletions, however many.")
    ] = False,
    allow: Allow = False,
    dry_run: DryRun = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Commits what agents and people edited, and lays out what is new.

    The agent's own hooks run this too. Where many files vanished at once, they are
    not taken for deleted, but written again.
    """
    run = context(ctx, as_json=as_json, quiet=quiet)
    workspace = run.workspace
    saved = (
        look_all(workspace, run.edges, delete=delete, asked=True, allowed=allow)
        if dry_run
        else save_all(workspace, run.edges, delete=delete, asked=True, allowed=allow)
    )
    if run.out.as_json:
        run.out.json([as_value(one) for one in saved])
        return
    wrote = [line for one in saved for line in _lines(one, dry_run)]
    for line in wrote:
        run.out.data(line)
    report(run, saved)
    made = [written.commit for one in saved for written in one.written]
    if not wrote:
        run.out.say("nothing to save")
    for commit in made:
        run.out.say(f"undo: git mem undo {commit[:12]}")


def report(run: CommandContext, saved: tuple[Saved, ...]) -> None:
    """Says what was not taken in, and why."""
    for one in saved:
        where = f"{one.live.scope.name}/{one.live.agent}"
        for line in held_lines(where, one.plan.held):
            run.out.warn(line)
        if one.plan.held and one.laid_out:
            run.out.say("to delete for good: git mem forget NAME")
        for refusal in one.plan.refusals:
            run.out.warn(f"not stored: {refusal.path} {refusal.message}")
            if refusal.fingerprints:
                run.out.say(f"if it is none: {allow_command(refusal.fingerprints)}")
                if doubtful(refusal):
                    run.out.say("to store it all the same, this once: git mem save --allow")
        warn_of(run, one.plan.warnings)
        for file, why in one.problems.items():
            run.out.warn(f"left alone: {where}/{file}: {why}")
        for path, why in _hard_to_read(one).items():
            run.out.warn(f"hard to read: {one.live.scope.name}/{path}: {why}")
        for path, text in one.plan.buried:
            run.out.warn(f"forgotten before, left out: {path}: {text.splitlines()[0]}")


def _hard_to_read(saved: Saved) -> dict[str, str]:
    """Memories that are stored as they are, and of which a reader misses something: path to what."""
    told = {}
    for path, data in sorted(saved.plan.edits.items()):
        if data is not None and kind(path) == "memory" and (odd := problems(parse_memory(path, data))):
            told[path] = "; ".join(odd)
    return told


def held_lines(where: str, held: Mapping[str, str]) -> Iterator[str]:
    """Files whose change is not taken in, those of one reason on a line.

    Args:
        where: scope and agent.
        held: file to reason.
    """
    for why in dict.fromkeys(held.values()):
        files = [file for file in held if held[file] == why]
        yield f"held: {where}{f'/{files[0]}' if len(files) == 1 else f': {len(files)} files'}: {why}"


def as_value(saved: Saved) -> dict[str, Any]:
    """The JSON form of one directory's save."""
    repo = saved.live.scope.repo
    return {
        "scope": saved.live.scope.name,
        "agent": saved.live.agent,
        "directory": str(saved.live.path),
        "commits": [
            {
                "commit": made.commit,
                "subject": made.subject,
                "writer": parse(repo.commit(made.commit).message).writer,
            }
            for made in _commits(saved)
        ],
        "changes": sorted(saved.plan.edits),
        "laid_out": list(saved.laid_out),
        "held": dict(saved.plan.held),
        "refused": [{"path": r.path, "reason": r.message} for r in saved.plan.refusals],
        "warnings": [{"path": one.path, "rule": one.rule} for one in saved.plan.warnings],
        "problems": dict(saved.problems),
        "hard_to_read": _hard_to_read(saved),
    }


def _lines(saved: Saved, dry_run: bool) -> list[str]:
    where = f"{saved.live.scope.name}/{saved.live.agent}"
    if dry_run:
        lines = [f"{where}: {path}" for path in sorted(saved.plan.edits)]
        gone = [file for file, why in saved.plan.held.items() if ABSENT in why]
        return [*lines, f"{where}: would lay out again {', '.join(gone)}"] if gone else lines
    lines = [f"{made.commit[:8]} {where}: {made.subject}" for made in _commits(saved)]
    if saved.laid_out and (saved.plan.held or not lines):
        lines.append(f"{where}: laid out {'again ' * bool(saved.plan.held)}{', '.join(saved.laid_out)}")
    return lines


def _commits(saved: Saved) -> tuple[Written, ...]:
    return (*saved.written, *([saved.paged] if saved.paged else []))
