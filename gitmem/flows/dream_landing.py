"""What is told once when changes of a dream land, here or at a host: which memories they improved."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from gitmem.core.account import is_memory, path_of
from gitmem.core.memory import parse
from gitmem.core.text import one_line
from gitmem.flows.context import Edges
from gitmem.flows.notices import NAME_CHARS, leave_improved, withdraw_proposal
from gitmem.git.repository import short_name
from gitmem.ledger.decide import close_landed
from gitmem.ledger.dreams import DreamCommit
from gitmem.ledger.inbox import remember
from gitmem.ledger.sync import Synced
from gitmem.ledger.workspace import DREAMS, Workspace


def tell_landed(state: Path, dream: str, changes: Iterable[DreamCommit]) -> None:
    """Leaves the note that a person's next hook takes.

    Args:
        state: `<common git dir>/gitmem`.
        dream: its id.
        changes: those that landed; of which this was said before, nothing is said again.
    """
    withdraw_proposal(state, dream)
    leave_improved(state, dream, {change.n: _names(change) for change in changes})


def _names(change: DreamCommit) -> list[str]:
    """Names of the memories that a change leaves better; where it only deletes, of what says it now."""
    pairs = {path: pair for path, pair in change.files.items() if is_memory(path)}
    left = {path: new for path, (_, new) in pairs.items() if new is not None}
    gone = {path: old for path, (old, _) in pairs.items() if old is not None}
    into = [path_of(fate.target) for fate in change.fates if fate.target]
    if not left and into:
        return [one_line(PurePosixPath(path).stem, NAME_CHARS) for path in dict.fromkeys(into)]
    return [one_line(parse(path, data).name, NAME_CHARS) for path, data in (left or gone).items()]


def settle_landed(workspace: Workspace, edges: Edges, done: Synced) -> None:
    """Closes what a sync found decided at the host, remembers what was not taken, and says both."""
    who = workspace.author(edges.now)
    for dream in close_landed(workspace, dict(done.landed), who, edges.now):
        edges.say(f"dream {dream.id} was taken in at {done.remote}")
        tell_landed(workspace.state, dream.id, dream.taken)
        for change in dream.left_out:
            edges.say(f"  not taken, and not proposed again: {change.subject}")
    for branch, landing in done.landed:
        if branch.startswith(DREAMS):
            continue
        edges.say(f"{short_name(branch)} was taken in at {done.remote}")
        for one in landing.left_out:
            claim = one.new or one.old
            words = " ".join(claim.text.split())[:80] if claim else ""
            edges.say(f"  not taken ({one.kind} in {one.path}): {words}")
        remember(workspace, landing.left_out, who, "a reviewer did not take")
