"""What is told once when changes of a dream land, here or at a host: which memories they improved."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from gitmem.core.account import is_memory, path_of
from gitmem.core.memory import parse
from gitmem.core.text import one_line
from gitmem.flows.notices import NAME_CHARS, leave_improved, withdraw_proposal
from gitmem.ledger.dreams import DreamCommit


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
