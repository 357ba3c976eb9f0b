"""`git mem engine`: what thinks, what it would send where, and what it has cost today."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gitmem.app import engine_settings
from gitmem.app.engine_settings import EngineStatus, SetPlan, engine_standing, plan_set
from gitmem.cli.context import CommandContext, context
from gitmem.cli.options import DryRun, Json, Quiet, Yes, words
from gitmem.cli.output import DAY, Output, iso, sound
from gitmem.core.errors import UsageError
from gitmem.core.trailers import Usage
from gitmem.engines.budget import Today, ends
from gitmem.engines.choice import ENGINES, EngineChoice
from gitmem.flows.engines import SettingOrigin

_PROTOCOLS = {
    "tools": "with tools, over a copy of the memory",
    "questions": "one short question a sentence that may last, where it extracts; else with tools",
}


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(engine)


def engine(
    ctx: typer.Context,
    action: Annotated[
        str,
        typer.Argument(
            metavar="[show|set|test]", show_default=False, autocompletion=words("show", "set", "test")
        ),
    ] = "show",
    name: Annotated[
        str,
        typer.Argument(
            metavar="[NAME]",
            help="With set: the engine.",
            show_default=False,
            autocompletion=words(*ENGINES, engine_settings.DEFAULT),
        ),
    ] = "",
    model: Annotated[
        str, typer.Option("--model", help="With set anthropic: the model.", show_default=False)
    ] = "",
    base_url: Annotated[
        str,
        typer.Option(
            "--base-url", metavar="URL", help="With set anthropic: another server.", show_default=False
        ),
    ] = "",
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Shows what thinks here, why, what it would send where, and what it has cost today.

    `engine set NAME` chooses one for all your repositories, in your own git configuration: agent (the agent
    of the session is told, in a few words, what may last; no request of its own), offline (rules alone),
    anthropic (the Messages API, with ANTHROPIC_API_KEY), claude-code (a fork of the session by your own
    claude), or default: agent where a client runs gitmem's hooks, else offline. It asks before anything is
    sent out; `default` takes a value of --model or --base-url out again. A repository's own configuration
    and ANTHROPIC_BASE_URL choose nothing.
    An answer is waited for as long as gitmem.patience says, in seconds. A model on this machine that is no
    Claude is asked one short question a sentence, unless gitmem.protocol is `tools`.
    `engine test` makes one small round trip.
    """
    run = context(ctx, as_json=as_json, quiet=quiet, yes=yes)
    if action in ("show", "test") and (name or model or base_url):
        raise UsageError(f"engine {action} takes nothing else", "To choose one: git mem engine set NAME")
    if action == "show":
        _show(run)
    elif action == "set":
        _set(run, name, model, base_url, dry_run)
    elif action in (*ENGINES, engine_settings.DEFAULT):
        raise UsageError(f"{action!r} is an engine", f"To choose it: git mem engine set {action}")
    elif action == "test":
        _test(run)
    else:
        raise UsageError(f"engine cannot {action!r}", "Say `engine`, `engine set NAME` or `engine test`.")


def _show(run: CommandContext) -> None:
    found = engine_standing(run.any_workspace, run.edges)
    if run.out.as_json:
        run.out.json(standing_value(found, run.edges.now))
        return
    chosen, out = found.choice, run.out
    origin = next((one for one in reversed(found.origins) if one.key == "engine" and one.counts), None)
    where = f" ({_where(origin)})" if origin else ""
    out.data(f"{out.paint(chosen.engine, 'bold')}: {chosen.why}{where}")
    if chosen.model:
        out.data(f"  model     {chosen.model}")
    if chosen.endpoint:
        out.data(f"  endpoint  {chosen.endpoint}")
    if chosen.engine == "anthropic":
        out.data(f"  key       {'set, in ANTHROPIC_API_KEY' if chosen.key else 'not set'}")
        out.data(f"  waits     {chosen.patience:,} s for an answer (gitmem.patience)")
        out.data(f"  asks      {_PROTOCOLS[chosen.protocol]} (gitmem.protocol)")
    if chosen.program:
        out.data(f"  program   {chosen.program}")
    if chosen.learns:
        out.data(f"  learns    {chosen.learns}")
    _show_sent(out, chosen)
    out.data(f"  costs     {chosen.costs}")
    if chosen.more:
        out.data(f"  more      {chosen.more}")
    for note in (*chosen.notes, *_ignored(found.origins)):
        out.data(f"  note: {note}")
    for one in chosen.missing:
        out.data(out.paint(f"  cannot run: {one.what}. {one.remedy}", "yellow"))
    if found.ceilings is None:
        out.data(f"  today     {found.trouble}")
    elif chosen.sends or found.today.usage.requests:
        out.data(
            f"  today     {found.today.runs:,} of {found.ceilings.runs:,} runs, "
            f"{found.today.tokens:,} of {found.ceilings.tokens:,} tokens{_cost(found.today.usage)}, "
            f"until {ends(run.edges.now)}"
        )


def _show_sent(out: Output, chosen: EngineChoice) -> None:
    if not chosen.sends:
        whole = (
            "nothing that the session has not sent"
            if chosen.adds
            else "nothing: all of it stays on this machine"
        )
        out.data(f"  sends     {whole}")
        if chosen.adds:
            out.data(f"  adds      {chosen.adds}")
        return
    for number, line in enumerate(chosen.sends):
        out.data(f"  {'sends     ' if number == 0 else '          '}{line}")
    if chosen.withheld:
        out.data(f"  never     {chosen.withheld}")


def _set(run: CommandContext, name: str, model: str, base_url: str, dry_run: bool) -> None:
    out, workspace = run.out, run.any_workspace
    plan = plan_set(workspace, run.edges, name, model, base_url)
    if not dry_run and plan.sends_more:
        out.ask(f"{plan.after.engine} will send {plan.after.summary}. Do it?")
    others = () if dry_run else engine_settings.carry_out_set(workspace, run.edges, plan)
    if out.as_json:
        out.json(_set_value(plan, dry_run))
        return
    for key, _, after in plan.changes:
        words = f"{key} = {after}" if after else f"{key} taken out"
        out.data(f"{'would set' if dry_run else 'set'} gitmem.{words}")
    if not plan.changes:
        out.data(f"{plan.after.engine} is in force already")
    if dry_run and plan.sends_more:
        out.data(f"{plan.after.engine} would send {plan.after.summary}")
    for one in others:
        out.warn(f"gitmem.{one.key} is {one.value} in {one.file}, which counts more: change it there")
    for lack in plan.after.missing:
        out.warn(f"it cannot run yet: {lack.what}. {lack.remedy}")
    if plan.changes and not dry_run:
        out.say(f"undo: {plan.undo}")


def _test(run: CommandContext) -> None:
    done = engine_settings.try_engine(run.any_workspace, run.edges)
    out = run.out
    if out.as_json:
        value = {
            "engine": sound(done.name),
            "tested": done.asked,
            "milliseconds": round(done.seconds * 1000),
            "usage": usage_value(done.usage),
        }
        out.json(value)
    elif not done.asked:
        out.data(f"{done.name}: nothing to test: {done.why}")
    else:
        tokens = f"{done.usage.tokens:,} tokens" if done.usage.requests else "nothing counted"
        out.data(f"{done.name} answered in {done.seconds:.1f} s, {tokens}{_cost(done.usage)}")


def standing_value(found: EngineStatus, now: float) -> dict[str, Any]:
    """The JSON form of what `engine` shows at a moment."""
    chosen = found.choice
    return {
        "engine": sound(chosen.engine),
        "why": sound(chosen.why),
        "ready": not chosen.missing,
        "model": sound(chosen.model) or None,
        "endpoint": sound(chosen.endpoint) or None,
        "program": sound(chosen.program) or None,
        "key": bool(chosen.key),
        "patience": chosen.patience or None,
        "protocol": chosen.protocol or None,
        "sends": list(chosen.sends),
        "withheld": chosen.withheld or None,
        "missing": [{"what": sound(one.what), "remedy": sound(one.remedy)} for one in chosen.missing],
        "notes": [sound(note) for note in chosen.notes],
        "adds": chosen.adds or None,
        "learns": chosen.learns or None,
        "costs": chosen.costs,
        "more": chosen.more or None,
        "settings": [
            {
                "key": one.key,
                "value": sound(one.value),
                "scope": one.where,
                "file": sound(one.file) or None,
                "counts": one.counts,
            }
            for one in found.origins
            if one.key != "baseurl"
        ],
        "today": _today_value(found.today),
        "ceilings": {"runs": found.ceilings.runs, "tokens": found.ceilings.tokens}
        if found.ceilings
        else None,
        "until": iso((now // DAY + 1) * DAY),
    }


def usage_value(usage: Usage) -> dict[str, Any]:
    """The JSON form of what was spent."""
    return {
        "requests": usage.requests,
        "input": usage.input,
        "cache_read": usage.cache_read,
        "cache_write": usage.cache_write,
        "output": usage.output,
        "dollars": usage.dollars,
    }


def _today_value(today: Today) -> dict[str, Any]:
    return {"runs": today.runs, "tokens": today.tokens, "usage": usage_value(today.usage)}


def _set_value(plan: SetPlan, dry_run: bool) -> dict[str, Any]:
    return {
        "before": sound(plan.before.engine),
        "engine": sound(plan.after.engine),
        "changes": [
            {"key": key, "before": sound(before) or None, "after": sound(after) or None}
            for key, before, after in plan.changes
        ],
        "missing": [{"what": sound(one.what), "remedy": sound(one.remedy)} for one in plan.after.missing],
        "undo": sound(plan.undo) if plan.changes else None,
        "dry_run": dry_run,
    }


def _ignored(origins: tuple[SettingOrigin, ...]) -> list[str]:
    return [
        f"gitmem.{one.key} in {_where(one)} does not count: only your own configuration does"
        for one in origins
        if not one.counts
    ]


def _where(origin: SettingOrigin) -> str:
    return origin.file or f"the {origin.where} configuration"


def _cost(usage: Usage) -> str:
    if usage.dollars is None:
        return ", price unknown"
    return f", ${usage.dollars:.4f}" if usage.requests else ""
