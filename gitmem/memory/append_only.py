"""Logs are only added to: which lines were taken out though nobody forgot them, and how they come back.

Live directories, hosts and teammates change files as they like; none of that takes a fact away.
"""

from __future__ import annotations

from collections.abc import Mapping

from gitmem.memory.archive import archived_path, hot_path
from gitmem.memory.daily import is_log, line_keys
from gitmem.memory.encoding import decode, encode
from gitmem.memory.log_lines import lost_lines, with_lost
from gitmem.memory.names import TOMBSTONES
from gitmem.memory.tombstone import finder, parse


def taken_out(before: str, after: str, stones: str) -> tuple[str, ...]:
    """The lines of a log that a later state lacks without a tombstone.

    Args:
        after: the log, and what the archive has of that day.
        stones: the tombstone file of the later state.
    """
    lost = lost_lines(before, after)
    if not lost:
        return ()
    buried = finder(parse(stones), "forgot")
    return tuple(line for line in lost if not any(map(buried, line_keys(line))))


def stones_of(log: str) -> str:
    """The path of the tombstones that count for a log of a memory tree."""
    return f"{log.partition('/')[0]}/{TOMBSTONES}"


def other_place(log: str) -> str:
    """The other of the two places of a log of a memory tree: hot, and in the archive."""
    return hot_path(log) or archived_path(log) or ""


def with_every_line(
    before: Mapping[str, bytes], after: Mapping[str, bytes], stones: Mapping[str, bytes]
) -> dict[str, bytes]:
    """A later state of some files, with the lines that it takes out of logs put back.

    Args:
        before, after: path from the root of a memory tree to content, at all paths that differ. A log that
            moved to the archive, or back, with all its lines has lost none.
        stones: the tombstones of the later state, by their paths; what was forgotten stays out.
    """
    files = dict(after)
    for path in filter(is_log, before):
        now, then = decode(after.get(path, b"")), decode(before[path])
        there = now + "\n" + decode(after.get(other_place(path), b""))
        lost = taken_out(then, there, decode(stones.get(stones_of(path), b"")))
        if lost:
            files[path] = encode(with_lost(now, then, lost))
    return files
