"""Which code commits became which, as git's post-rewrite hook told: amended, rebased, squashed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gitmem.ledger.files import read_regular, write_atomically

REWRITES_KEPT = 20_000
"""Old and new names of rewritten commits that are kept, 82 bytes a pair; the oldest go first."""

_NAME = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_BEGUN = re.compile(r"[0-9a-f]{4,64}")


@dataclass(frozen=True)
class Rewrites:
    """What became of code commits.

    Attributes:
        pairs: old to new name; each may have been rewritten in its turn.
    """

    pairs: Mapping[str, str] = field(default_factory=dict)

    def now(self, oid: str) -> str:
        """What a commit is in the end; itself where it was not rewritten."""
        seen = {oid}
        while (further := self.pairs.get(oid)) and further not in seen:
            seen.add(further)
            oid = further
        return oid

    def before(self, oid: str) -> tuple[str, ...]:
        """All names that a commit, or what was squashed into it, had before."""
        return tuple(old for old in self.pairs if old != oid and self.now(old) == self.now(oid))

    def find(self, begun: str) -> str | None:
        """The one old name that begins so, with four digits at least; None where not just one does."""
        if not _BEGUN.fullmatch(begun.lower()):
            return None
        found = [old for old in self.pairs if old.startswith(begun.lower())]
        return found[0] if len(found) == 1 else None


def rewrites_path(state: Path) -> Path:
    """Where they are kept, in `<common git dir>/gitmem`."""
    return state / "rewrites"


def read_rewrites(state: Path) -> Rewrites:
    """Reads what is known; nothing where it cannot be read."""
    try:
        pairs = [line.split(" ") for line in _lines(rewrites_path(state))]
    except OSError:
        return Rewrites()
    return Rewrites({pair[0]: pair[1] for pair in pairs if len(pair) == 2 and _sound(*pair)})


def keep_rewrites(state: Path, pairs: Iterable[tuple[str, str]]) -> None:
    """Notes which commits became which.

    Args:
        pairs: old and new names; what is no name is left out.
    """
    path = rewrites_path(state)
    told = [f"{old} {new}" for old, new in pairs if _sound(old, new)]
    kept = list(dict.fromkeys([*_lines(path), *told]))[-REWRITES_KEPT:]
    write_atomically(path, "".join(f"{line}\n" for line in kept).encode())


def _sound(old: str, new: str) -> bool:
    return bool(_NAME.fullmatch(old) and _NAME.fullmatch(new))


def _lines(path: Path) -> list[str]:
    """Lines of a regular file. Raises OSError where it is there and cannot be read."""
    found = read_regular(path, REWRITES_KEPT * 130)
    return found[0].decode("ascii", "replace").splitlines() if found else []
