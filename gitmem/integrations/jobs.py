"""What the worker does for a job: follow the code, save live directories, extract, dream, keep house."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gitmem.engines.engine import Engine
from gitmem.errors import GitmemError
from gitmem.integrations.checked_out import is_memory_tree
from gitmem.integrations.edges import Edges, real_edges, workspace_at
from gitmem.integrations.extraction import Outcome, Step, extract_sessions, quietly
from gitmem.integrations.place import find_repository, is_on, log
from gitmem.integrations.spool import Job
from gitmem.sessions.discover import sessions_of
from gitmem.sessions.session import Session
from gitmem.store.git import GitCommand, worktrees
from gitmem.store.rewrites import keep_rewrites
from gitmem.store.workspace import Workspace

FOLLOWS_CODE = frozenset({"checkout", "merge"})


def run(common_dir: Path, job: Job, environ: Mapping[str, str], step: Step = quietly) -> None:
    """Carries a united job out.

    Args:
        common_dir: the common git directory.
        job: what hooks saw; its texts are hostile.
        environ: without git's variables of the moment.
        step: is told before each step of an extraction.

    Raises:
        GitmemError: something could not be done; the job can be run again at no loss.
    """
    if is_on(environ.get("GITMEM_DISABLE")):
        return
    common = common_dir.resolve()
    edges = edges_of(common, job, environ)
    if edges is None:
        log(common, f"{job.event}: no work tree of this repository is there")
        return
    workspace = workspace_at(edges)
    if not workspace.initialised:
        return
    if job.rewritten or any(part.rewritten for part in job.all):
        keep_rewrites(workspace.state, [pair for part in job.all for pair in part.rewritten])
    events = frozenset(job.events)
    if events & FOLLOWS_CODE:
        from gitmem.integrations.refresh import after_checkout

        for place, new in _checked_out(common, job, edges):
            after_checkout(workspace_at(place), place, new=new)
    if "merge" in events:
        from gitmem.integrations.sharing import after_merge

        try:
            for line in after_merge(workspace, edges):
                log(common, line)
        except GitmemError as error:
            # A sync says the same to a person; trying again would not help.
            log(common, f"what was fetched of shared memory is left alone: {error}")
    if events - FOLLOWS_CODE - {"rewrite"}:
        learn(workspace, edges, environ, step)
    from gitmem.integrations.dreaming import maybe_dream

    try:
        maybe_dream(workspace, edges)
    except (GitmemError, OSError) as error:
        # The job itself is done, and a dream has gates of its own.
        log(common, f"dream: {error}")
    from gitmem.integrations.upkeep import keep_house

    for trouble in keep_house(workspace, edges):
        log(common, f"upkeep: {trouble}")


def _checked_out(common: Path, job: Job, edges: Edges) -> list[tuple[Edges, bool]]:
    """The work trees of a job in which code was checked out, each with whether it was just made."""
    found: dict[Path, bool] = {}
    for part in job.all:
        if part.event in FOLLOWS_CODE:
            there = edges_of(common, part, edges.environ) or edges
            # Git gives the hook a null name for what stood there before.
            new = part.event == "checkout" and bool(part.args) and not part.args[0].strip("0")
            found[there.cwd] = found.get(there.cwd, False) or new
    return [(replace(edges, cwd=cwd), new) for cwd, new in found.items()]


def learn(
    workspace: Workspace, edges: Edges, environ: Mapping[str, str], step: Step = quietly
) -> tuple[Outcome, ...]:
    """Saves what agents and people wrote, then extracts from the repository's sessions."""
    paths = session_files(workspace, edges)

    from gitmem.integrations.saving import save_all

    def save(sessions: Sequence[Session]) -> object:
        return save_all(workspace, edges, sessions, everywhere=True)

    off = is_on(environ.get("CLAUDE_CODE_DISABLE_AUTO_MEMORY"))
    if off or workspace.settings.get("extract") == "off":
        save(())
        return ()
    return extract_sessions(workspace, edges, engine_of(workspace), paths, step=step, before=save)


def session_files(workspace: Workspace, edges: Edges) -> list[Path]:
    """Transcripts of this repository, of all its work trees, oldest change first."""
    tops = [tree.path.resolve() for tree in workspace.worktrees]
    return [file.path for file in sessions_of(edges.config, tops)]


def engine_of(workspace: Workspace) -> Engine:
    """The engine that extracts here."""
    from gitmem.engines.offline import OfflineEngine

    chosen = workspace.settings.get("engine")
    if chosen != "offline":
        log(workspace.layout.common_dir, f"extraction: by the offline engine, since {chosen} has none yet")
    return OfflineEngine()


def edges_of(common: Path, job: Job, environ: Mapping[str, str]) -> Edges | None:
    """The outside world of a job: its newest work tree that shows this repository's code, else any such."""
    for named in reversed(job.worktrees):
        place = find_repository(Path(named)) if named.startswith("/") and "\0" not in named else None
        here = place is not None and place[1] == common and place[0].is_dir()
        if place is not None and here and not is_memory_tree(place[0]):
            return replace(real_edges(place[0]), environ=dict(environ))
    for tree in worktrees(GitCommand(environ), None, git_dir=common):
        usable = not tree.bare and not tree.prunable and tree.path.is_dir()
        if usable and not is_memory_tree(tree.path):
            return replace(real_edges(tree.path), environ=dict(environ))
    return None
