"""`git mem share --ci HOST`: have a host judge requests on shared memory."""

from __future__ import annotations

from gitmem.app.hosting import HostingPlan, plan_hosting, set_up_hosting
from gitmem.cli.context import Context


def share_ci(run: Context, host: str, owners: list[str], dry_run: bool) -> None:
    """Puts the host's files on the memory branch, or shows them."""
    out = run.out
    if dry_run:
        plan, commit = plan_hosting(run.workspace, host, owners), None
    else:
        plan, written = set_up_hosting(run.workspace, run.edges, host, owners)
        commit = written.commit if written else None
    if out.as_json:
        out.json(_value(plan, commit, dry_run))
        return
    for path in plan.kept:
        out.warn(f"{path} is your own and stays as it is; gitmem's differs")
    if not plan.files:
        out.data("nothing to add: requests on memory are judged already")
        return
    if dry_run:
        for path, data in plan.files.items():
            out.data(f"would put {path} on gitmem/project:")
            for line in data.decode().splitlines():
                out.data(f"    {line}".rstrip())
        return
    out.data(f"{(commit or '')[:8]} put {', '.join(plan.files)} on gitmem/project; git mem sync sends it")
    out.say("in the host's settings, protect gitmem/project and require the check and a review")
    out.say("snapshots in code can be kept up to date by a job, too: git mem snapshot create --all")
    out.say(f"undo: git mem undo {(commit or '')[:12]}")


def _value(plan: HostingPlan, commit: str | None, dry_run: bool) -> dict[str, object]:
    return {
        "files": sorted(plan.files),
        "kept": list(plan.kept),
        "commit": commit,
        "dry_run": dry_run,
    }
