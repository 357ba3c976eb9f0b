"""Reads a live directory when nobody is in the middle of writing it.

Agents empty a file and then fill it, in several writes: what is read in between would pass for a deletion
of all that is missing. Additions are taken at once; what looks like a large loss has to lie still first.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from gitmem.store.repository import Repository
from gitmem.store.scan import Displaced, Scan, blob_name, displaced_files, scan
from gitmem.store.trees import blob_or_none
from gitmem.store.workspace import LiveDirectory
from gitmem.values import dataclass

QUIET_SECONDS = 1.0
"""How long a file that looks half-written must lie still: its writer may be waiting for the processor."""

POLL_SECONDS = 0.05

VANISHED = 3
"""So many things, or a tenth of them, may vanish at once and count as deleted (design.md section 3)."""


@dataclass(frozen=True)
class Quiet:
    """A live directory as read.

    Attributes:
        seen: what is there; a file that is just being written is among its problems.
        displaced: files that layouts moved aside.
        read: those of them that nobody is writing to.
    """

    seen: Scan
    displaced: tuple[Displaced, ...]
    read: tuple[Displaced, ...]


def read_quiet(live: LiveDirectory, known: Mapping[str, str], asides: tuple[Path, ...]) -> Quiet:
    """Reads a directory, and again for a second at most while something in it looks half-written.

    Args:
        known: file to the blob name of what stood there at the last save.
        asides: folders of displaced files.
    """
    repo = live.scope.repo
    waited = 0.0
    while True:
        seen, displaced = scan(live), displaced_files(*asides)
        now = time.time()
        busy = [
            name
            for name, data in seen.files.items()
            if 0 <= now - seen.times[name] < QUIET_SECONDS and _looks_cut(repo, data, known.get(name))
        ]
        later = [
            entry
            for entry in displaced
            if 0 <= now - entry.since < QUIET_SECONDS and _looks_cut(repo, entry.content, entry.expected)
        ]
        if waited >= QUIET_SECONDS or not (busy or later):
            break
        time.sleep(POLL_SECONDS)
        waited += POLL_SECONDS
    problems = {**seen.problems, **dict.fromkeys(busy, "is being written right now")}
    files = {name: data for name, data in seen.files.items() if name not in busy}
    read = tuple(entry for entry in displaced if entry not in later)
    return Quiet(replace(seen, files=files, problems=problems), displaced, read)


def _looks_cut(repo: Repository, data: bytes, known: str | None) -> bool:
    """Whether content may be a part of something longer: it ends in mid-line, or much is gone."""
    if known == blob_name(data, repo.hex_length):
        return False
    before = blob_or_none(repo, known) if known else None
    if before is None:
        return not data
    if before.startswith(data) or (before.endswith(b"\n") and not data.endswith(b"\n")):
        return True
    lines = before.splitlines()
    here = frozenset(data.splitlines())
    return sum(line not in here for line in lines) > max(VANISHED, len(lines) // 10)
