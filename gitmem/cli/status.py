"""`git mem status`: where memory stands and what waits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from gitmem.app.status import ScopeStanding, Status, Upstream, standing
from gitmem.cli.context import CommandContext, context
from gitmem.cli.options import Json
from gitmem.cli.output import aside_hint, day
from gitmem.cli.save import OF_HELD, held_lines
from gitmem.core.text import counted, one_line
from gitmem.flows.review_items import waiting_line
from gitmem.git.repository import short_name
from gitmem.ledger.save_plan import ABSENT

if TYPE_CHECKING:
    from gitmem.ledger.inbox import Outgoing
    from gitmem.ledger.signatures import Trust


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(status)


def status(
    ctx: typer.Context,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show refs, heads and folders.")] = False,
    as_json: Json = False,
) -> None:
    """Shows where memory stands: what is stored, what is not saved yet, and what waits for you."""
    run = context(ctx, as_json=as_json)
    found = standing(run.workspace, run.edges)
    if run.out.as_json:
        run.out.json(found.as_value())
        return
    _show(run, found, verbose)


def _show(run: CommandContext, found: Status, verbose: bool) -> None:
    out = run.out
    if found.waits:
        out.data(out.paint(waiting_line(found.waits), "yellow"))
    out.data(
        f"{out.paint(found.project, 'bold')}  engine {found.engine}, extract {found.extract}, "
        f"sharing {found.sharing}" + (", daily logs (gitmem.mode)" if found.mode == "log" else "")
    )
    for lack in found.engine_lacks:
        out.data(out.paint(f"  {found.engine} cannot run: {lack} (git mem engine)", "yellow"))
    if found.paused:
        ends = f"until {day(found.paused.end)}" if found.paused.end else "until git mem unpause"
        out.data(out.paint(f"  paused: nothing is learned from sessions {ends}", "yellow"))
    for scope in found.scopes:
        counts = [scope.counted(agent) for agent in scope.memories]
        counts += [f"{agent} an index alone" for agent in scope.bare]
        counts += [counted(scope.logs, "daily log")] if scope.logs else []
        bare = "cannot be read: git mem doctor" if scope.ref in scope.unreadable else "nothing yet"
        out.data(f"  {scope.name:8} {', '.join(counts) or bare}")
        if verbose:
            for line in _details(scope):
                out.data(f"           {line}")
    for scope in found.scopes:
        for path, why in scope.aside.items():
            out.data(f"  set aside: {scope.name}/{one_line(path, 120)}: {why}. {aside_hint(why)}")
    if not verbose and (hint := _hint(found)):
        out.data(f"  {hint}: git mem status -v")
    for saved in found.live:
        where = f"{saved.live.scope.name}/{saved.live.agent}"
        if verbose:
            mode = " (read-only: tracked by the code branch)" if saved.live.tracked else ""
            out.data(f"  {where} is laid out in {saved.live.path}{mode}")
        if pinned := found.pinned.get(str(saved.live.path)):
            out.data(f"  {where} shows {pinned} (back: git mem checkout -)")
        for path in sorted(saved.plan.edits):
            out.data(f"  not saved: {saved.live.scope.name}/{path}")
        for line in held_lines(where, saved.plan.held):
            out.data(f"  {line}")
        if any(ABSENT in why for why in saved.plan.held.values()):
            out.data(f"  {OF_HELD}")
        for refusal in saved.plan.refusals:
            out.data(f"  not stored: {refusal.path} {refusal.message}")
        for file, why in saved.problems.items():
            out.data(f"  left alone: {where}/{file}: {why}")
    if found.taken_by:
        out.data(f"  the client's own memory folder shows the memory of {found.taken_by}")
    for line in found.stale_trees:
        out.data(f"  {line}")
    if found.hooks_lost:
        out.data(f"  hooks have found no gitmem since {day(found.hooks_lost)} (git mem init)")
    dead = [hook for hook, state in found.hooks.items() if state == "dead"]
    if dead:
        out.data(f"  hooks of a gitmem that is gone, which do nothing: {', '.join(dead)} (git mem init)")
    missing = [hook for hook, state in found.hooks.items() if state not in ("ours", "dead")]
    if missing:
        out.data(f"  hooks not installed: {', '.join(missing)} (git mem init -n says what is missing)")
    for row in found.clients:
        out.data(f"  {row['what']} ({row['remedy']})")
    if found.spooled or found.failed:
        out.data(f"  jobs: {found.spooled} waiting, {found.failed} failed: git mem jobs")
    for one in found.resting:
        why = f": {one_line(one.why, 160)}" if one.why else ""
        left = f"{one_line(one.told, 120)} failed {counted(one.times, 'time')}{why}"
        out.data(f"  {left}; it rests until {day(one.until)}: git mem jobs")
    if found.trust is not None:
        for line in _trust(found.trust):
            out.data(f"  {line}")
    for waiting in found.outgoing:
        out.data(f"  {_waits(waiting)}")
    if found.purge:
        told = f"somebody purged memory at {found.purge.remote}, and nothing is exchanged before you decide"
        out.data(out.paint(f"  {told}: git mem review show {found.purge.id}", "yellow"))


def _trust(trust: Trust) -> Iterator[str]:
    """How much of shared memory is signed by somebody trusted, and what keeps that from being known."""
    if trust.trouble:
        yield f"no signature can be checked: {one_line(trust.trouble, 200)} ({trust.remedy})"
    others = trust.memories - trust.proved
    told = f"signed by people you trust: {trust.proved} of {counted(trust.memories, 'memory')} in project"
    if trust.required and others:
        told += f"; {others} not shown to agents (gitmem.requireSigned)"
    yield told
    if trust.required and others:
        yield "gitmem does not show them, but agents can still read their files in the work tree"
    if others:
        yield "who signed what: git mem log --scope project; what a host squashed counts as not signed"


def _waits(one: Outgoing) -> str:
    """What waits for whom, of all that this person asked for or accepted."""
    short, memories = short_name(one.inbox.branch), counted(len(one.inbox.memories), "memory")
    match one.waits_for:
        case "reviewers":
            return f"{memories} of yours in {short}, for a teammate or {one.inbox.remote} to decide on"
        case "host":
            return f"{short}: {memories} that you accepted, for {one.inbox.remote}'s reviewers to merge"
        case "sync":
            return f"{short}: {memories} that you accepted, to be sent: git mem sync"


def _details(scope: ScopeStanding) -> Iterator[str]:
    """Lines about a scope that only some want to see."""
    yield f"{scope.ref} {scope.head[:12] or '(none yet)'}"
    if scope.head:
        yield f"{sum(scope.hot.values())} in use, {sum(scope.archived.values())} archived"
    if upstream := scope.upstream:
        same = "" if upstream.head == scope.head else " claims"
        yield f"{upstream.ref} {upstream.head[:12]}: {_apart(upstream) or f'the same{same}'}"
    for over in scope.over:
        yield f"over a limit: {over.path}: {over.count:,} {over.what} of {over.limit:,}"
    for path, why in scope.unreadable.items():
        yield f"hard to read: {path}: {why}"


def _apart(upstream: Upstream) -> str:
    parts = [(upstream.ahead, "ahead"), (upstream.behind, "behind")]
    return ", ".join(f"{number} {word}" for number, word in parts if number)


def _hint(found: Status) -> str:
    """One line that says that there is more to see; empty where there is not."""
    odd = sum(len(scope.unreadable) for scope in found.scopes)
    over = sum(len(scope.over) for scope in found.scopes)
    parts = [
        f"{counted(odd, 'file')} hard to read" if odd else "",
        f"{counted(over, 'limit')} exceeded" if over else "",
        *(
            f"{scope.name} memory {_apart(scope.upstream)}"
            for scope in found.scopes
            if scope.upstream and (scope.upstream.ahead or scope.upstream.behind)
        ),
    ]
    return ", ".join(filter(None, parts))
