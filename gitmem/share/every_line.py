"""Logs that a branch would change: they are only added to, whatever the branch makes of them."""

from __future__ import annotations

from collections.abc import Mapping

from gitmem.memory.archive import archived_path
from gitmem.memory.daily import is_log, line_keys
from gitmem.memory.encoding import decode, encode
from gitmem.memory.lines import lost_lines, with_lines
from gitmem.memory.merge import agent_folder
from gitmem.memory.tombstone import FILE, finder, parse


def with_every_line(
    before: Mapping[str, bytes], after: Mapping[str, bytes], stones: Mapping[str, bytes]
) -> dict[str, bytes]:
    """What a branch makes of memory, with the lines that it takes out of logs put back.

    Args:
        before, after: path from the root of a memory tree to content, at all paths that differ. A log that
            moved to the archive with all its lines has lost none.
        stones: the tombstones that it brings, by their paths; what was forgotten stays out.
    """
    files = dict(after)
    for path in filter(is_log, before):
        now = decode(after.get(path, b""))
        there = now + "\n" + decode(after.get(archived_path(path) or "", b""))
        buried = finder(parse(decode(stones.get(f"{agent_folder(path)}/{FILE}", b""))), "forgot")
        lost = [
            line
            for line in lost_lines(decode(before[path]), there)
            if not any(map(buried, line_keys(line)))
        ]
        if lost:
            files[path] = encode(with_lines(now, lost))
    return files
