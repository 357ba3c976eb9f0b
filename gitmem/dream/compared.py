"""What the last dream of a scope compared, noted beside its lock: the next one compares what is new.

The note is a cache: without it a dream compares all memories with one another, and finds the same.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from gitmem.core.account import is_memory
from gitmem.dream.lock import lock_folder, read_note
from gitmem.engines.engine import Compared
from gitmem.git.repository import MissingObject, Repository
from gitmem.git.trees import changed_files
from gitmem.ledger.files import write_atomically
from gitmem.ledger.workspace import Scope

FILE = "compared.json"

RULES = 2
"""Raised when the engine finds other pairs than before: what an older one noted is compared anew."""

MOST_BYTES = 16_000_000
"""Of the note: some 100,000 pairs. A larger one is not written."""


def read_compared(scope: Scope, tree: str) -> Compared | None:
    """What need not be compared again, with what changed since then as to be compared.

    Args:
        tree: of the memory ref now.

    Returns:
        None where there is no note, other rules wrote it, or its tree is gone.
    """
    try:
        note = json.loads(read_note(_path(scope), MOST_BYTES))
        if note["rules"] != RULES:
            return None
        pairs = tuple((str(one), str(other), float(share)) for one, other, share in note["pairs"])
        changed = frozenset(map(str, note["changed"])) | _since(scope.repo, str(note["tree"]), tree)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError, MissingObject):
        return None
    return Compared(changed, pairs)


def note_compared(scope: Scope, tree: str, compared: Compared) -> None:
    """Notes what a dream of all agents compared. Best effort: without the note the next one takes longer.

    Args:
        tree: of the memory ref that it started from.
    """
    note = {
        "rules": RULES,
        "tree": tree,
        "changed": sorted(compared.changed),
        "pairs": compared.pairs,
    }
    data = json.dumps(note, separators=(",", ":")).encode()
    if len(data) < MOST_BYTES:
        with suppress(OSError):
            write_atomically(_path(scope), data)


def _since(repo: Repository, before: str, now: str) -> frozenset[str]:
    return frozenset(filter(is_memory, changed_files(repo, before, now)))


def _path(scope: Scope) -> Path:
    return lock_folder(scope) / FILE
