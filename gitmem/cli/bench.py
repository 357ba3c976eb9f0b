"""`git mem bench`: how good an engine is, measured on data that a person labelled."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gitmem.cli.completing import words
from gitmem.cli.context import Context, Json, context
from gitmem.engines.choose import ENGINES
from gitmem.errors import UsageError
from gitmem.guard.text import counted
from gitmem.integrations.benching import Find, Label, Scored, figures, read_gold, score

if TYPE_CHECKING:
    from gitmem.engines.engine import Engine

JOBS = ("extract",)
ROWS = (
    ("stored", "precision of what is stored unasked"),
    ("stored_and_suggested", "precision with suggestions"),
    ("recall_asked_stored", "recall, asked for and stored"),
    ("recall_plain", "recall of what was plainly said"),
    ("recall", "recall of all labels"),
    ("types", "right types"),
)


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(bench)


def bench(
    ctx: typer.Context,
    job: Annotated[str, typer.Argument(help="What to measure: extract.", autocompletion=words(*JOBS))],
    gold: Annotated[Path, typer.Option("--gold", metavar="FILE", help="Labelled sessions.")],
    engine: Annotated[
        str, typer.Option("--engine", help="Which engine to measure.", autocompletion=words(*ENGINES))
    ] = "offline",
    verbose: Annotated[bool, typer.Option("--verbose", help="Name each miss and false find.")] = False,
    as_json: Json = False,
) -> None:
    """Measures an engine on labelled sessions. Nothing is stored.

    A line of FILE is a JSON object for one session: `session`, a recording's path (relative to FILE) or a
    list of messages `{"uuid", "text", "role", "source", "context", "time"}`; `labels`, what a careful
    reader would keep, `{"message": UUID, "type": TYPE, "asked": BOOL, "plain": BOOL, "key": [WORDS]}`; and
    `excluded`, what must not be kept, `{"message": UUID, "key": [WORDS]}`. Other keys are ignored. A find
    matches a label when it stems from its message and holds its key words.
    """
    run = context(ctx, as_json=as_json)
    if job not in JOBS:
        raise UsageError(f"{job} cannot be measured", f"Choose of: {', '.join(JOBS)}.")
    if engine not in ENGINES:
        raise UsageError(f"There is no engine {engine!r}", f"One of: {', '.join(ENGINES)}.")
    sessions = read_gold(run.edges.cwd / gold.expanduser())
    measured = _engine(run, engine)
    begun = perf_counter()
    scored = [score(one, measured) for one in sessions]
    seconds = perf_counter() - begun
    total = figures(scored)
    if run.out.as_json:
        named = {"engine": measured.name, **total, "seconds": round(seconds, 3)}
        run.out.json({**named, "per_session": [_session(one) for one in scored]} if verbose else named)
        return
    if verbose:
        for one in scored:
            _show(run, one)
    size = f"{counted(total['sessions'], 'session')}, {counted(total['messages'], 'message')}"
    run.out.data(f"engine {measured.name}: {size}")
    for key, title in ROWS:
        run.out.data(f"{title:<36} {_shown(total[key])}")
    run.out.data(f"{'excluded content kept':<36} {total['exclusion_violations']}")
    run.out.data(f"{'finds where nothing is to keep':<36} {total['finds_where_nothing_is_to_keep']}")
    run.out.say(f"{total['messages'] / max(seconds, 1e-6):.0f} messages a second")


def _engine(run: Context, name: str) -> Engine:
    if name == "offline":
        from gitmem.engines.offline import OfflineEngine

        return OfflineEngine()
    from gitmem.integrations.engines import engine_for

    return engine_for(run.any_workspace, run.edges, name)


def _shown(rate: dict[str, Any]) -> str:
    if not rate["of"]:
        return "none to judge"
    return f"{rate['share']:.2f}  {rate['right']}/{rate['of']}  [{rate['low']:.2f}, {rate['high']:.2f}]"


def _session(one: Scored) -> dict[str, Any]:
    return {
        "session": one.name,
        "messages": one.spoken,
        "right": [_find(find) for find, _ in one.right],
        "wrong": [_find(find) for find in one.wrong],
        "missed": [_label(label) for label in one.missed],
        "violations": [_find(find) for find in one.violations],
    }


def _find(find: Find) -> dict[str, Any]:
    change = find.change
    return {
        "message": find.messages[-1],
        "stored": find.stored,
        "type": change.type,
        "name": change.name,
        "description": change.description,
        "reason": change.reason,
    }


def _label(label: Label) -> dict[str, Any]:
    return {"message": label.message, "type": label.type, "asked": label.asked, "key": list(label.keys)}


def _show(run: Context, one: Scored) -> None:
    out = run.out
    counts = f"{len(one.right)} right, {len(one.wrong)} wrong, {len(one.missed)} missed"
    out.data(out.safe(f"{one.name}: {counted(one.spoken, 'message')}, {counts}"))
    for find in one.wrong:
        word = "stored" if find.stored else "suggested"
        out.data(out.safe(f"  false ({word}) {find.messages[-1]}: {find.change.reason}"))
    for find in one.violations:
        out.data(out.safe(f"  excluded, kept {find.messages[-1]}: {find.change.description}"))
    for find, label in one.right:
        if find.change.type != label.type:
            out.data(out.safe(f"  {find.change.type}, not {label.type}: {find.change.description}"))
    for label in one.missed:
        out.data(out.safe(f"  missed {label.message} ({label.type}): {' '.join(label.keys)}"))
