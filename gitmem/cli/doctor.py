"""`git mem doctor`: find what is broken and mend it."""

from __future__ import annotations

import typer

from gitmem.app.doctor import carry_out, plan
from gitmem.app.doctor_memory import Damage
from gitmem.cli.context import CommandContext, context
from gitmem.cli.options import DryRun, Json, Quiet, Yes
from gitmem.core.errors import CheckFailed, GitmemError
from gitmem.core.text import counted


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(doctor)


def doctor(
    ctx: typer.Context,
    dry_run: DryRun = False,
    as_json: Json = False,
    yes: Yes = False,
    quiet: Quiet = False,
) -> None:
    """Finds what is broken and mends it; asks before anything that is not plainly safe.

    Looks at refs, objects, locks, jobs, hooks and settings. No mend loses memory: what a ref pointed at
    stays in its reflog, or under refs/gitmem/rescued. Exits 1 when something is left.
    """
    run = context(ctx, as_json=as_json, yes=yes, quiet=quiet)
    findings = plan(run.any_workspace, run.edges)
    rows = [_row(run, finding, dry_run) for finding in findings]
    seen, left = set(findings), len(findings)
    begun: set[Damage] = set()
    # One mend may bring to light what was hidden behind it.
    while any(row["done"] for row in rows[-len(findings) :]):
        made = zip(findings, rows[-len(findings) :], strict=True)
        begun |= {one for one, row in made if one.later and row["done"]}
        still = plan(run.any_workspace, run.edges)
        findings = tuple(finding for finding in still if finding not in seen)
        rows += [_row(run, finding, dry_run) for finding in findings]
        seen, left = seen | set(findings), len(set(still) - begun)
        if not findings:
            break
    if run.out.as_json:
        run.out.json({"findings": rows, "left": left})
    elif not rows:
        run.out.data("all is well")
    elif left:
        run.out.say(f"{counted(left, 'finding')} left")
    if left:
        raise typer.Exit(1)


def _row(run: CommandContext, finding: Damage, dry_run: bool) -> dict[str, object]:
    """Mends one where it may; returns its row of the JSON form."""
    out = run.out
    shown = finding.what
    if not out.as_json:
        out.data(f"{out.paint(finding.kind, 'yellow')}: {shown}")
    done, trouble = "", ""
    if not dry_run and finding.act is not None:
        try:
            if finding.asks:
                out.ask(f"{shown}. {finding.mend}?" if out.as_json else f"{finding.mend}?")
            done = carry_out(finding)
        except GitmemError as error:
            trouble = error.message if not isinstance(error, CheckFailed) else ""
            if isinstance(error, CheckFailed) and error.hint:
                trouble = f"{error.message} ({error.hint})"
    if not out.as_json:
        if done:
            out.data(f"  done: {done}")
        else:
            would = "would" if finding.act is not None else "advice"
            out.data(f"  {would}: {finding.mend}")
        if trouble:
            out.data(f"  not done: {trouble}")
    return {
        "kind": finding.kind,
        "what": finding.what,
        "mend": finding.mend,
        "can_mend": finding.act is not None,
        "asks": finding.asks,
        "done": done,
        "trouble": trouble,
    }
