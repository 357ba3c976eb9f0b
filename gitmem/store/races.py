"""Races with who writes into a live directory: in the middle of a write, and from what stood there before.

Agents empty a file and then fill it, in several writes: what is read in between would pass for a deletion
of all that is missing. Additions are taken at once; what looks like a large loss has to lie still first.

A late write is by someone who read a file before a layout replaced it, or who still had it open.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gitmem.core.memory import parse
from gitmem.core.merge import kind, merge_trees
from gitmem.core.text import decode
from gitmem.store.record import Record
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

STALE_SECONDS = 10.0
"""How long after a layout a write may still come from someone who read the file before it."""

VERSIONS = 8
"""Versions of a file before its last layouts that a writer may have read."""


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


def read_before(
    repo: Repository, record: Record, seen: Scan, displaced: tuple[Displaced, ...]
) -> dict[str, list[bytes]]:
    """What stood in files before the last layouts, newest first, where someone wrote soon after one."""
    recent = {name for name, time in seen.times.items() if time - record.laid_out < STALE_SECONDS}
    recent |= {entry.file for entry in displaced if entry.since - record.laid_out < STALE_SECONDS}
    older: dict[str, list[bytes]] = {}
    for name in recent & ({*record.before} | {entry.file for entry in displaced}):
        # What the layouts saw, and what stood there in the end.
        found = [entry.content for entry in reversed(displaced) if entry.file == name][:VERSIONS]
        stored = [blob_or_none(repo, oid) for oid in record.before.get(name, "").split()]
        older[name] = list(dict.fromkeys([*found, *(data for data in stored if data is not None)]))
    return older


def made_afresh(record: Record, displaced: tuple[Displaced, ...]) -> frozenset[str]:
    """Files that may have been made while a layout, or one that died, had the old one moved away."""
    later = [entry.file for entry in displaced if entry.since >= record.written]
    return frozenset((*record.afresh, *later))


def on_base(
    here: dict[str, bytes],
    base: Mapping[str, bytes],
    older: Mapping[str, list[bytes]],
    afresh: frozenset[str],
) -> dict[str, bytes]:
    """Puts what was written by someone who had read an older version, or none, onto the last one."""
    for name in afresh & here.keys() & base.keys():
        if not keys(name, base[name]) & keys(name, here[name]):
            here |= merge_trees({}, {name: here[name]}, {name: base[name]}).files
    for name in older.keys() & here.keys() & base.keys():
        read = _version_read(name, older[name], base[name], here[name])
        if read != base[name]:
            here |= merge_trees({name: read}, {name: here[name]}, {name: base[name]}).files
    return here


def with_displaced(
    repo: Repository,
    record: Record,
    base: Mapping[str, bytes],
    here: dict[str, bytes],
    displaced: tuple[Displaced, ...],
    older: Mapping[str, list[bytes]],
) -> dict[str, bytes]:
    """Takes in what was found in files that a layout moved aside."""
    for entry in displaced:
        if blob_name(entry.content, repo.hex_length) != entry.expected:
            before = blob_or_none(repo, entry.expected) if entry.expected else None
            if before is not None:
                # Nobody had read what they were yet to write, nor what came after it.
                later = {
                    one.content for one in displaced if one.file == entry.file and one.since >= entry.since
                }
                known = [data for data in older.get(entry.file, []) if data not in later]
                before = _version_read(entry.file, known, before, entry.content)
            sides = [{entry.file: data} if data is not None else {} for data in (before, entry.content)]
            # A file that is away or being written right now is as it was: what was displaced may be older.
            standing = here.get(entry.file, base.get(entry.file))
            current = {entry.file: standing} if standing is not None else {}
            rest = {name: data for name, data in here.items() if name != entry.file}
            here = merge_trees(*(rest | side for side in (*sides, current))).files
        elif entry.file not in here and entry.file in record.files and entry.since >= record.written:
            # The process died between moving the old file away and linking the new one.
            here[entry.file] = entry.content
    return here


def _version_read(name: str, older: Sequence[bytes], base: bytes, here: bytes) -> bytes:
    """What the writer of a file had read: the last layout, or what stood there before one of the last.

    It was an older one if nothing of what arrived since is in what was written; of several, the one of
    which the least is missing there, the newest first.
    """
    if here == base or not older:
        return base
    now, written = keys(name, base), keys(name, here)
    best, missing = base, len(now - written)
    for data in older:
        then = keys(name, data)
        arrived = now - then
        if arrived and not arrived & written and len(then - written) < missing:
            best, missing = data, len(then - written)
    return best


def keys(name: str, data: bytes) -> frozenset[str]:
    if kind(name) == "memory":
        return frozenset(claim.key for claim in parse(name, data).claims)
    return frozenset(line.strip() for line in decode(data).splitlines())
