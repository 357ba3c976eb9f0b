"""What gitmem notes of its work on documents, in `<common git dir>/gitmem/docs.json`.

Lost, a document is looked at once more, and what was turned down may be proposed again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import asdict, field
from pathlib import Path
from typing import Any

from gitmem.engines.engine import Stale
from gitmem.git.locks import writer_lock
from gitmem.ledger.files import read_json, write_atomically
from gitmem.values import dataclass

FILE = "docs.json"
BYTES = 1 << 20
VERSION = 1
BRANCHES_KEPT = 50
DUE_KEPT = 100
REJECTIONS_KEPT = 300


@dataclass(frozen=True)
class Rejection:
    """A proposal that was turned down.

    Attributes:
        path: of the document.
        before: blob of the document then.
        after: the blob that was proposed.
        stale: `key_of` what did not hold; empty where nothing was found.
    """

    path: str
    before: str
    after: str
    stale: str = ""


@dataclass(frozen=True)
class Kept:
    """All of it.

    Attributes:
        tip: commit that gitmem moved the branch of proposals to; empty where it deleted it.
        branch: branch of the code that these are for: a full ref name.
        checked: branch of the code to its commit that was looked at last.
        due: branch of the code to documents that are to be looked at with its next commit.
        rejected: oldest first.
        pushed: remote to the commit that was pushed there.
    """

    tip: str = ""
    branch: str = ""
    checked: Mapping[str, str] = field(default_factory=dict)
    due: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rejected: tuple[Rejection, ...] = ()
    pushed: Mapping[str, str] = field(default_factory=dict)

    def turned_down(self, path: str, after: str) -> bool:
        """Whether this very proposal was."""
        return any(one.path == path and one.after == after for one in self.rejected)

    def settled(self, path: str, before: str, found: Collection[Stale]) -> bool:
        """Whether what is found of a document led to a proposal that was turned down: nothing is new."""
        key = key_of(found)
        return bool(key) and any(
            (one.path, one.before, one.stale) == (path, before, key) for one in self.rejected
        )


def key_of(found: Collection[Stale]) -> str:
    """Names what does not hold; empty where all does."""
    if not found:
        return ""
    rows = sorted((one.kind, one.name, one.became) for one in found)
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:16]


def read_kept(state: Path) -> Kept:
    """What is noted; nothing where the file is missing or damaged.

    Args:
        state: `<common git dir>/gitmem`.
    """
    value = read_json(state / FILE, BYTES)
    with suppress(KeyError, TypeError, AttributeError, ValueError):
        if value["version"] == VERSION:
            return Kept(
                str(value["tip"]),
                str(value["branch"]),
                _words(value["checked"]),
                {str(name): tuple(map(str, paths)) for name, paths in value["due"].items()},
                tuple(Rejection(**_words(row)) for row in value["rejected"]),
                _words(value["pushed"]),
            )
    return Kept()


def change_kept(state: Path, change: Callable[[Kept], Kept]) -> Kept:
    """Notes something; others who do meanwhile lose nothing by it.

    Raises:
        RepositoryError: it cannot be written, or another process does not let go of it.
    """
    with writer_lock(state, "docs"):
        known = read_kept(state)
        made = change(known)
        if made != known:
            value = {"version": VERSION} | asdict(made)
            value["checked"] = dict(list(made.checked.items())[-BRANCHES_KEPT:])
            value["due"] = {
                name: paths[-DUE_KEPT:] for name, paths in list(made.due.items())[-BRANCHES_KEPT:] if paths
            }
            value["rejected"] = value["rejected"][-REJECTIONS_KEPT:]
            write_atomically(state / FILE, (json.dumps(value) + "\n").encode("ascii"))
    return made


def _words(value: Any) -> dict[str, str]:
    return {str(key): str(word) for key, word in value.items()}
