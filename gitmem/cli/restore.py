"""`git mem restore`: bring memories back as they were, as a new commit or into a folder."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Annotated

import typer

from gitmem.cli.completing import names
from gitmem.cli.context import AgentOption, At, Context, DryRun, Json, ScopeOption, context
from gitmem.cli.words import sound
from gitmem.core.errors import UsageError
from gitmem.core.merge import kind
from gitmem.flows.context import allowed_fingerprints
from gitmem.flows.save import copies_of
from gitmem.git.trees import read_files
from gitmem.ledger.holdings import chosen_agent
from gitmem.ledger.land import read_tip, together
from gitmem.ledger.log import last_known
from gitmem.ledger.lookup import chosen_scopes, find
from gitmem.ledger.moments import is_root, resolve_all
from gitmem.ledger.restore import Restored, plan_restore, restore_as_of, write_out
from gitmem.ledger.workspace import Scope, Workspace


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(restore)


def restore(
    ctx: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="The memory to bring back; or the date of a daily log.",
            autocompletion=names,
            show_default=False,
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All memories of the scopes and agents that apply.")
    ] = False,
    at: At = None,
    to: Annotated[
        Path | None,
        typer.Option(
            "--to", metavar="DIR", help="Only write files, into a new folder.", show_default=False
        ),
    ] = None,
    scope: ScopeOption = None,
    agent: AgentOption = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Brings memories back as they were at --at, as a new commit; nothing is rewritten.

    One memory comes back by its name, also one that was forgotten; without --at an archived one as it is,
    and one that is gone as it last was. With --all the whole state comes back: memories that came since go,
    and what was forgotten stays away. What is edited but not saved yet is saved first. With --to nothing is
    committed: the files are written into a folder of their own.
    """
    run = context(ctx, as_json=as_json)
    if (name is None) == (not everything):
        raise UsageError("Say what to restore: one NAME, or --all")
    if everything and at is None:
        raise UsageError("Say as of when, with --at REV|DATE|TAG", "See what there was: git mem log")
    workspace = run.workspace
    past, wanted, what = _choose(run, workspace, name, at, scope, agent)
    folder = chosen_agent(agent) or ""
    if to is not None:
        _write_out(run, past, wanted, folder, run.edges.cwd / to.expanduser(), dry_run)
        return
    plans: list[tuple[Scope, str, Restored]] = []
    done: list[dict[str, object]] = []
    with together(copies_of(workspace, run.edges)) as copies:
        for where, then in past:
            if not dry_run:
                copies(where, [], False)
            plan = _plan(where, then, wanted, folder)
            plans.append((where, then, plan))
            commit = ""
            if plan.edits and not dry_run:
                subject = f"Restore {what} as of {at}" if at else f"Restore {what}"
                who, head = workspace.author(run.edges.now), workspace.code_head()
                allow = allowed_fingerprints(workspace)
                written = restore_as_of(where, then, who, subject, wanted, folder, head, allow, copies)
                commit = written.commit if written else ""
            done.append(
                {
                    "scope": where.name,
                    "as_of": then,
                    "commit": commit,
                    "paths": sorted(map(sound, plan.edits)),
                    "forgotten": [sound(path) for path in plan.forgotten],
                }
            )
    if run.out.as_json:
        run.out.json(done)
        return
    _report(run, plans, done, what, at, dry_run)


def _choose(
    run: Context,
    workspace: Workspace,
    name: str | None,
    at: str | None,
    scope: str | None,
    agent: str | None,
) -> tuple[list[tuple[Scope, str]], frozenset[str] | None, str]:
    """The scopes with the commit to go back to, which paths count, and what to call it."""
    if name is not None:
        if at:
            found = find(workspace, name, scope, agent, at, run.edges.now, whole=True, logs=True)
        else:
            found = last_known(workspace, name, scope, agent, logs=True)
        return [(workspace.scope(found.scope), found.commit)], frozenset({found.path}), found.memory.name
    scopes = chosen_scopes(workspace, scope)
    commits = resolve_all(workspace, scopes, at or "", run.edges.now)
    past = [
        (where, commits[where.ref])
        for where in scopes
        if where.ref in commits and not is_root(where.repo.commit(commits[where.ref]))
    ]
    if not past:
        raise UsageError(f"Nothing was stored as of {at}", "See what there was: git mem log")
    return past, None, "everything" if not agent else f"all of {agent}"


def _plan(scope: Scope, then: str, wanted: frozenset[str] | None, agent: str) -> Restored:
    return plan_restore(scope.repo, read_tip(scope.repo, scope.ref), then, wanted, agent)


def _write_out(
    run: Context,
    past: list[tuple[Scope, str]],
    wanted: frozenset[str] | None,
    agent: str,
    folder: Path,
    dry_run: bool,
) -> None:
    files: dict[str, bytes] = {}
    for where, then in past:
        for path, data in read_files(where.repo, where.repo.commit(then).tree, agent).items():
            if kind(path) not in ("memory", "index", "log") or "/" not in path:
                continue
            if wanted is None:
                files[f"{where.name}/{path}"] = data
            elif path in wanted:
                files[PurePosixPath(path).name] = data
    if not dry_run:
        write_out(folder, files)
    if run.out.as_json:
        run.out.json({"folder": sound(str(folder)), "files": sorted(map(sound, files))})
        return
    done = "would write" if dry_run else "wrote"
    run.out.data(f"{done} {len(files)} {_files(len(files))} to {folder}")
    if not dry_run:
        run.out.say(f"undo: delete {folder}")


def _report(
    run: Context,
    plans: list[tuple[Scope, str, Restored]],
    done: list[dict[str, object]],
    what: str,
    at: str | None,
    dry_run: bool,
) -> None:
    out = run.out
    undo = []
    for (where, then, plan), one in zip(plans, done, strict=True):
        memories = sum(kind(path) in ("memory", "log") for path in plan.edits)
        if plan.edits:
            verb = "would restore" if dry_run else "restored"
            changed = f"{memories} {_files(memories)} changed"
            out.data(f"{verb} {what} in {where.name} as of {then[:12]}: {changed}")
        for path in plan.forgotten:
            out.say(f"stays forgotten: {where.name}/{path} (bring it back by its name)")
        if one["commit"]:
            undo.append(f"git mem undo {str(one['commit'])[:12]}")
    if not any(plan.edits for _, _, plan in plans):
        out.say(f"nothing to restore: it is {'as it was then' if at else 'here, and unchanged'}")
    elif not dry_run:
        out.say(f"undo: {' && '.join(undo)}")


def _files(count: int) -> str:
    return "file" if count == 1 else "files"
