"""Snapshots that came with the code: which wait for a person, how one is settled, and how one is made."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from contextlib import suppress

from gitmem.core.errors import RepositoryError
from gitmem.core.text import counted
from gitmem.flows.context import Edges
from gitmem.flows.save import copies_of, save_all
from gitmem.ledger.files import SNAPSHOTS, write_atomically
from gitmem.ledger.land import Written
from gitmem.ledger.snapshot_intake import (
    How,
    Made,
    SnapshotState,
    make,
    pending,
    project_tip,
    remember,
    settle,
    standings,
    take_trusted,
)
from gitmem.ledger.workspace import Workspace


def first_snapshots(workspace: Workspace, adopted: Collection[str]) -> list[str]:
    """Says of which snapshots a look would begin memory, a line each.

    Args:
        adopted: agents whose memory begins otherwise.
    """
    found, _ = standings(workspace, workspace.allowed)
    first = (one for one in found if one.state == "initialize" and one.trusted)
    return [_start(one) for one in first if one.agent not in adopted]


def _start(one: SnapshotState) -> str:
    files = counted(len(one.snapshot.files) if one.snapshot else 0, "file")
    return f"memory of {one.agent} starts from its snapshot ({files}, {one.source})"


def look_for_snapshots(workspace: Workspace, edges: Edges) -> tuple[list[str], bool]:
    """Takes in what agents without memory have a snapshot of, and notes which wait; live ones are saved.

    Returns:
        What was done or waits, a line each; whether any was taken in.
    """
    allow = workspace.allowed
    found, problems = standings(workspace, allow)
    lines = [f"snapshot {folder} is not used: {why}" for folder, why in sorted(problems.items())]
    taken: tuple[SnapshotState, ...] = ()
    if any(one.state == "initialize" and one.trusted for one in found):
        taken = take_trusted(workspace, workspace.author(edges.now), allow, copies_of(workspace, edges))
    lines += map(_start, taken)
    _note(workspace, found)
    for one in found:
        lines += [f"snapshot of {one.agent}: left out {r.path}: {r.message}" for r in one.refused]
        if one.waits:
            lines.append(f"a snapshot of {one.agent} waits: git mem review")
    return lines, bool(taken)


def pending_snapshots(workspace: Workspace) -> tuple[SnapshotState, ...]:
    """Snapshots that wait for a person; none while the memory they belong to cannot be read."""
    with suppress(RepositoryError):
        found = pending(workspace, workspace.allowed)
        _note(workspace, found)
        return found
    return ()


def _note(workspace: Workspace, found: Iterable[SnapshotState]) -> None:
    """Notes for the start of the next session what waits; of a stranger's branch, it is told nothing."""
    waiting = [one for one in found if one.waits and one.trusted]
    rows = [{"agent": one.agent, "updatedAt": one.updated_at} for one in waiting]
    path = workspace.state / SNAPSHOTS
    with suppress(OSError):
        if not rows:
            path.unlink(missing_ok=True)
        elif not workspace.state.is_symlink():
            write_atomically(path, (json.dumps(rows) + "\n").encode())


def settle_snapshot(
    workspace: Workspace, edges: Edges, one: SnapshotState, how: How
) -> tuple[str, Written | None]:
    """Settles one of them; returns what was done, in one line, and the commit, where one was made."""
    written = settle(workspace, one, how, workspace.author(edges.now), copies_of(workspace, edges))
    pending_snapshots(workspace)
    words = {"merge": "merged", "replace": "replaced memory by", "keep": "kept memory over"}[how]
    return f"{words} the snapshot of {one.agent}", written


def snapshot_standings(workspace: Workspace) -> tuple[tuple[SnapshotState, ...], dict[str, str]]:
    """How every snapshot stands, and folders that cannot be used, with the reason."""
    return standings(workspace, workspace.allowed)


def make_snapshots(
    workspace: Workspace, edges: Edges, agents: tuple[str, ...], to: str, dry_run: bool = False
) -> tuple[Made, ...]:
    """Saves live directories and writes snapshots of project memory into the work tree.

    Works in a plain checkout, too, where `init` never ran and git knows no identity.
    """
    mine = workspace.initialised and not dry_run
    if mine:
        save_all(workspace, edges)
    allow = workspace.allowed
    done = make(workspace, project_tip(workspace), agents, to, edges.now, allow, dry_run)
    if any(made.written for made in done) and mine:
        for made in done:
            remember(workspace, made, workspace.author(edges.now))
    return done
