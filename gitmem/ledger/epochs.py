"""Epochs: each purge makes a new history of memory, and what was written in two of them is never merged.

`.gitmem` of every commit of an epoch says `epoch = <number> <8 hexadecimal digits>`; without it, it is the
first one. The digits are random: two purges at once make two epochs.

A history that somebody else's purge replaced here, without proving what it took out, is kept for a while
under `refs/gitmem/former/<day>/<memory ref>/<12 digits of its commit>`. Nothing sends these refs.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from datetime import UTC, datetime

from gitmem.core.errors import RepositoryError
from gitmem.core.names import FORMAT_FILE, FORMAT_TEXT
from gitmem.git.refs import try_move_ref
from gitmem.git.repository import BLOB, EXECUTABLE, Repository, short_name
from gitmem.values import dataclass

FORMER = "refs/gitmem/former/"

FORMER_DAYS = 30
"""For how long a replaced history is kept (docs/formats.md, Refs)."""

_LINE = re.compile(rb"^[ \t]*epoch[ \t]*=[ \t]*(\d{1,9})[ \t]+([0-9a-f]{8})[ \t]*\r?$", re.MULTILINE)


class OtherEpoch(RepositoryError):
    """Two commits are of different epochs: one of them holds what was purged."""

    kind = "other-epoch"


@dataclass(frozen=True, order=True)
class Epoch:
    """Which history of memory; the higher one counts.

    Attributes:
        number: how many purges there were.
        mark: 8 hexadecimal digits; empty in the first epoch.
    """

    number: int = 0
    mark: str = ""

    def __bool__(self) -> bool:
        return self.number > 0

    def __str__(self) -> str:
        return f"{self.number} {self.mark}".strip()


def read_epoch(data: bytes) -> Epoch:
    """The epoch that the content of `.gitmem` tells."""
    found = _LINE.findall(data)
    return max((Epoch(int(number), mark.decode()) for number, mark in found), default=Epoch())


def with_epoch(data: bytes, epoch: Epoch) -> bytes:
    """The content of `.gitmem` with this epoch and no other.

    Args:
        data: as it was; empty where there was none.
    """
    kept = b"".join(line for line in data.splitlines(keepends=True) if not _LINE.match(line))
    kept = kept or FORMAT_TEXT
    gap = b"" if kept.endswith(b"\n") else b"\n"
    return kept + gap + f"epoch = {epoch}\n".encode() if epoch else kept


def epoch(repo: Repository, tree: str) -> Epoch:
    """The epoch of a commit's tree.

    Raises:
        MissingObject: it cannot be read.
    """
    entry = repo.entry(tree, FORMAT_FILE)
    if entry is None or entry.mode not in (BLOB, EXECUTABLE):
        return Epoch()
    return read_epoch(repo.blob(entry.oid))


def epoch_of(repo: Repository, commit: str) -> Epoch:
    """The epoch of a commit."""
    return epoch(repo, repo.commit(commit).tree)


def epochs_differ(repo: Repository, one: str, other: str) -> bool:
    """Whether two commits are of different epochs: the root, of which nothing was purged, is of each."""
    if epoch_of(repo, one) == epoch_of(repo, other):
        return False
    return not any(_is_bare(repo, oid) for oid in (one, other))


def _is_bare(repo: Repository, oid: str) -> bool:
    """Whether a commit has neither memory nor history."""
    made = repo.commit(oid)
    return not made.parents and repo.tree(made.tree).keys() <= {FORMAT_FILE}


def after(known: Iterable[Epoch], mark: str) -> Epoch:
    """The epoch that follows all of these.

    Args:
        mark: 8 hexadecimal digits that no other purge has.
    """
    return Epoch(max((one.number for one in known), default=0) + 1, mark)


def joined(one: Epoch, other: Epoch) -> Epoch:
    """The epoch in which two purges that did not know of one another are both done: equal in all clones."""
    words = " ".join(sorted((str(one), str(other))))
    return after((one, other), hashlib.sha256(words.encode()).hexdigest()[:8])


def refuse_other(repo: Repository, one: str, other: str) -> None:
    """Raises where two commits may not be merged.

    Raises:
        OtherEpoch: they are of different epochs.
    """
    if epochs_differ(repo, one, other):
        raise OtherEpoch(
            f"{one[:12]} and {other[:12]} lie on two sides of a purge and are never merged",
            "Run: git mem sync",
        )


def keep_former(repo: Repository, ref: str, oid: str, now: float) -> str:
    """Keeps a history that a memory ref is about to leave; returns the ref that holds it.

    Args:
        now: seconds since the epoch.
    """
    name = f"{FORMER}{datetime.fromtimestamp(now, UTC).date()}/{_place(ref)}/{oid[:12]}"
    if repo.ref(name) is None:
        try_move_ref(repo, name, oid, None, "gitmem: replaced by a purge")
    return name


def former(repo: Repository, ref: str = "") -> tuple[str, ...]:
    """Commits at which a memory ref stood before its history was replaced, the newest first.

    Args:
        ref: full name; empty for those of all memory refs.
    """
    found = sorted(repo.refs(FORMER).items(), reverse=True)
    return tuple(oid for name, oid in found if not ref or f"/{_place(ref)}/" in name)


def _place(ref: str) -> str:
    """A memory ref's name without its family: it is the same before and after sharing was turned on."""
    return short_name(ref).removeprefix("refs/")
