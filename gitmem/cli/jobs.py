"""`git mem jobs`: what ran in the background, what waits, what was skipped or failed, and why."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import typer

from gitmem.app import spool, worker
from gitmem.cli.context import CommandContext, context
from gitmem.cli.dream import running_value
from gitmem.cli.options import Json, Quiet
from gitmem.cli.output import day, iso
from gitmem.core.errors import UsageError
from gitmem.core.text import counted
from gitmem.flows.dream_process import running_dream as dream_running
from gitmem.flows.place import start_worker
from gitmem.git.locks import is_alive
from gitmem.ledger.job_record import read_runs

SHOWN = 20
"""Runs that are shown unless another number is asked for."""
DID = ("stored", "forgotten", "suggested", "refused", "noted")


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(jobs)


def jobs(
    ctx: typer.Context,
    number: Annotated[
        int,
        typer.Option("--max-count", "-n", metavar="N", min=1, help="The last so many runs, newest last."),
    ] = SHOWN,
    retry: Annotated[bool, typer.Option("--retry", help="Run again what failed for good.")] = False,
    clear: Annotated[bool, typer.Option("--clear", help="Delete the jobs that failed for good.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Shows what ran in the background: what it stored and skipped, what it cost, what failed and why."""
    run = context(ctx, as_json=as_json, quiet=quiet, pages=not (retry or clear))
    if retry and clear:
        raise UsageError("--retry and --clear do not go together", "Choose one of them.")
    common = run.workspace.layout.common_dir
    if retry or clear:
        _settle(run, retry=retry)
        return
    runs = read_runs(run.workspace.state)[-number:]
    waiting = [job for _, job in spool.take(run.workspace.state / "spool")]
    failed = worker.failed_jobs(common)
    running = worker.read_state(common)
    alive = running if running is not None and is_alive(running.process) else None
    dreams = [going for place in run.workspace.scopes if (going := dream_running(place))]
    if run.out.as_json:
        run.out.json(
            {
                "runs": runs,
                "running": {"since": alive.since, "events": list(alive.events)} if alive else None,
                "waiting": [{"event": job.event, "time": iso(job.time)} for job in waiting],
                "failed": [
                    {
                        "name": one.name,
                        "events": list(one.events),
                        "time": iso(one.time),
                        "reason": one.reason,
                    }
                    for one in failed
                ],
                "dreaming": [running_value(one) for one in dreams],
            }
        )
        return
    out = run.out
    for entry in runs:
        for line in _lines(entry):
            out.data(line)
    if alive is not None:
        out.data(f"running since {alive.since}: {', '.join(alive.events)}")
    for going in dreams:
        out.data(f"dreaming ({going.scope}) since {day(going.since)} (process {going.process.pid})")
        out.say("end it: git mem dream kill")
    if waiting:
        events = ", ".join(dict.fromkeys(job.event for job in waiting))
        out.data(f"waiting: {counted(len(waiting), 'job')} ({events})")
    for one in failed:
        out.data(f"failed {day(one.time)} {', '.join(one.events)}: {one.reason}")
    if failed:
        out.say("run them again: git mem jobs --retry; forget them: git mem jobs --clear")
    if not (runs or alive or waiting or failed or dreams):
        out.say("nothing ran in the background yet")


def _settle(run: CommandContext, *, retry: bool) -> None:
    common = run.workspace.layout.common_dir
    number = worker.retry_failed(common) if retry else worker.clear_failed(common)
    if retry and number:
        start_worker(common, run.edges.environ)
    if run.out.as_json:
        run.out.json({"retried" if retry else "cleared": number})
    elif not number:
        run.out.data("nothing failed for good")
    elif retry:
        run.out.data(f"{counted(number, 'failed job')} started again; see: git mem jobs")
    else:
        run.out.data(f"{counted(number, 'failed job')} deleted; what was said is still in the recordings")


def _lines(entry: dict[str, Any]) -> list[str]:
    """A run as lines; the record is a file, so nothing in it is taken as given."""
    error, seconds = entry.get("error"), entry.get("seconds")
    did = [f"{entry[word]} {word}" for word in DID if entry.get(word)] + (["failed"] if error else [])
    what = ", ".join(did) or "nothing new"
    head = f"{_when(entry.get('time'))} {' '.join(map(str, entry.get('events', [])))}: {what}"
    engine, usage = entry.get("engine"), entry.get("usage")
    if engine:
        head += f" by {engine}"
    if isinstance(usage, dict):
        tokens = sum(
            value
            for key in ("input", "cache_read", "cache_write", "output")
            if isinstance(value := usage.get(key), int)
        )
        cost = usage.get("dollars")
        head += f", {tokens} tokens" + (f", ${cost:.4f}" if isinstance(cost, int | float) else "")
    lines = [f"{head} ({seconds:.1f} s)" if isinstance(seconds, int | float) else head]
    for skipped in entry.get("skipped") or []:
        if isinstance(skipped, dict):
            lines.append(f"  skipped {skipped.get('what')}: {skipped.get('why')}")
    lines += [f"  {text}" for text in _dreams(entry.get("dreams"))]
    lines += [f"  {text}" for text in entry.get("log") or []]
    if isinstance(error, dict):
        # The step that failed says so, too.
        more = (str(error[word]) for word in ("message", "hint") if error.get(word))
        lines += [f"  {text}" for text in more if not any(text in line for line in lines)]
    return list(dict.fromkeys(lines))


def _dreams(value: Any) -> list[str]:
    """What came of dreams; scopes of which the same is to be said are said together."""
    scopes: dict[tuple[str, str], list[str]] = {}
    for one in value if isinstance(value, list) else ():
        if isinstance(one, dict):
            scopes.setdefault((str(one.get("outcome")), str(one.get("why"))), []).append(
                str(one.get("scope"))
            )
    words = {"held": "no dream of", "failed": "the dream failed of", "made": "dream of"}
    return [
        f"{words.get(what, 'dream of')} {', '.join(names)}: {why}" for (what, why), names in scopes.items()
    ]


def _when(time: Any) -> str:
    try:
        return day(datetime.fromisoformat(str(time)).timestamp())
    except (ValueError, OverflowError, OSError):
        return "?"
