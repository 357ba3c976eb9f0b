"""What the last dream of a scope compared: the next one compares what is new.

Without it a dream compares all memories with one another, and finds the same.
"""

from __future__ import annotations

from gitmem.core.account import is_memory
from gitmem.engines.engine import Compared
from gitmem.git.repository import MissingObject, Repository
from gitmem.git.trees import changed_files
from gitmem.ledger.state import Space, of_folder
from gitmem.ledger.workspace import Scope

_COMPARED = Space("dream compared", 100, ("dream/*/compared.json",), of_folder)
"""By memory ref; one of 100,000 pairs is 16 MB, and most have a few dozen."""

RULES = 2
"""Raised when the engine finds other pairs than before: what an older one noted is compared anew."""

MOST_PAIRS = 100_000
"""Of one note; a longer one is not written."""


def read_compared(scope: Scope, tree: str) -> Compared | None:
    """What need not be compared again, with what changed since then as to be compared.

    Args:
        tree: of the memory ref now.

    Returns:
        None where there is no note, other rules wrote it, or its tree is gone.
    """
    note = _COMPARED.get(scope.state, scope.ref)
    try:
        if note["rules"] != RULES:
            return None
        pairs = tuple((str(one), str(other), float(share)) for one, other, share in note["pairs"])
        changed = frozenset(map(str, note["changed"])) | _since(scope.repo, str(note["tree"]), tree)
    except (ValueError, KeyError, TypeError, OverflowError, MissingObject):
        return None
    return Compared(changed, pairs)


def note_compared(scope: Scope, tree: str, compared: Compared) -> None:
    """Notes what a dream of all agents compared. Best effort: without the note the next one takes longer.

    Args:
        tree: of the memory ref that it started from.
    """
    if len(compared.pairs) <= MOST_PAIRS:
        note = {"rules": RULES, "tree": tree, "changed": sorted(compared.changed), "pairs": compared.pairs}
        _COMPARED.put(scope.state, scope.ref, note)


def _since(repo: Repository, before: str, now: str) -> frozenset[str]:
    return frozenset(filter(is_memory, changed_files(repo, before, now)))
