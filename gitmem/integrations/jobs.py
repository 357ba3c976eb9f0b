"""What the worker does for a job: follow the code, save live directories, extract, and maybe dream."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gitmem.engines.engine import Engine
from gitmem.errors import GitmemError
from gitmem.integrations.edges import Edges, real_edges, workspace_at
from gitmem.integrations.extraction import Outcome, Step, extract_sessions, quietly
from gitmem.integrations.place import find_repository, is_on, log, read_regular
from gitmem.integrations.spool import Job
from gitmem.sessions.discover import sessions_of
from gitmem.sessions.session import Session
from gitmem.store.git import GitCommand, worktrees
from gitmem.store.record import write_atomically
from gitmem.store.workspace import Workspace

FOLLOWS_CODE = frozenset({"checkout", "merge"})
REWRITES_KEPT = 20_000
"""Old and new names of rewritten commits that are kept, 82 bytes a pair; the oldest go first."""

_NAME = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


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
        keep_rewrites(workspace.state / "rewrites", [p for part in job.all for p in part.rewritten])
    events = frozenset(job.events)
    if events & FOLLOWS_CODE:
        from gitmem.integrations.refresh import after_checkout

        after_checkout(workspace, edges)
    if events - FOLLOWS_CODE - {"rewrite"}:
        learn(workspace, edges, environ, step)
    from gitmem.integrations.dreaming import maybe_dream

    try:
        maybe_dream(workspace, edges)
    except (GitmemError, OSError) as error:
        # The job itself is done, and a dream has gates of its own.
        log(common, f"dream: {error}")


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
    """The outside world of a job: its newest work tree that is one of this repository, else any."""
    for named in reversed(job.worktrees):
        place = find_repository(Path(named)) if named.startswith("/") and "\0" not in named else None
        if place is not None and place[1] == common and place[0].is_dir():
            return replace(real_edges(place[0]), environ=dict(environ))
    for tree in worktrees(GitCommand(environ), None, git_dir=common):
        if not tree.bare and not tree.prunable and tree.path.is_dir():
            return replace(real_edges(tree.path), environ=dict(environ))
    return None


def keep_rewrites(path: Path, pairs: Iterable[tuple[str, str]]) -> None:
    """Notes which commits became which, so that provenance can be followed through a rebase.

    Args:
        path: the file; lines of two object names, old and new.
    """
    found = read_regular(path, REWRITES_KEPT * 130)
    lines = found[0].decode("ascii", "replace").splitlines() if found else []
    lines += [f"{old} {new}" for old, new in pairs if _NAME.fullmatch(old) and _NAME.fullmatch(new)]
    kept = list(dict.fromkeys(lines))[-REWRITES_KEPT:]
    write_atomically(path, "".join(f"{line}\n" for line in kept).encode())
