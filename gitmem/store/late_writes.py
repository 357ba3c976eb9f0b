"""Late writes: by someone who read a file before a layout replaced it, or who still had it open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gitmem.core.memory import parse
from gitmem.core.merge import kind, merge_trees
from gitmem.core.text import decode
from gitmem.store.record import Record
from gitmem.store.repository import Repository
from gitmem.store.scan import Displaced, Scan, blob_name
from gitmem.store.trees import blob_or_none

STALE_SECONDS = 10.0
"""How long after a layout a write may still come from someone who read the file before it."""

VERSIONS = 8
"""Versions of a file before its last layouts that a writer may have read."""


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
