"""`git mem dream refresh`: what memory learned since is merged into a dream that waits."""

from __future__ import annotations

from gitmem.cli.context import Context
from gitmem.core.text import counted
from gitmem.flows.dream import refresh_dream


def refresh(run: Context, id: str) -> None:
    """Refreshes one dream, and says what became of its changes."""
    out = run.out
    done = refresh_dream(run.workspace, run.edges, id)
    dream = done.dream
    if out.as_json:
        out.json(
            {
                "id": dream.id,
                "merged": done.merged or None,
                "moot": list(done.moot),
                "overtaken": [
                    {"n": one.n, "claim": one.claim, "what": one.what, "text": one.text, "now": one.now}
                    for one in done.overtaken
                ],
                "failures": [
                    {"path": one.path, "rule": one.rule, "message": one.message} for one in done.failures
                ],
            }
        )
        return
    if not done.merged:
        out.data(f"{dream.id} is up to date")
    else:
        left = counted(len(dream.open), "change")
        out.data(f"brought {dream.id} up to date: {left} open")
    if done.moot:
        out.data(f"  of no use any more: {', '.join(map(str, done.moot))}")
    for one in done.overtaken:
        now = f", now: {' '.join(one.now.split())[:100]}" if one.now else ""
        out.data(f"  {one.n}. a claim of it {'was changed' if now else 'is gone'} since{now}")
    for failure in done.failures:
        out.warn(f"{dream.id} cannot be accepted as it is: {failure.message}")
    out.say(f"review: git mem review show {dream.id}")
