#!/usr/bin/env python3
"""Prints how large each room of gitmem is beside the size that ARCHITECTURE.md plans for it.

A room that is marked as rebuilt there may have as many lines as its row allows at most: exit 1 where one
has more. The others are on their way, and are printed only. Run from anywhere: .ci/rooms.py
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
ROW = re.compile(r"^\| `([a-z_/]+)` \| ([\d,]+) \| ([\d,]+) \| ([\d,]*) *\| (rebuilt|) *\|", re.MULTILINE)
LONGEST, SHORTEST = 700, 40
"""Lines of one file: longer is two thoughts, shorter belongs to whoever uses it."""


FACES = ("mcp", "memory_tool", "view")
"""Folders that stand in the row `faces`, beside the files that stand in no folder."""


def files(room: str) -> dict[Path, int]:
    top = TOP / "gitmem"
    found = [*(top / room).rglob("*.py")]
    if room == "faces":
        found = [*top.glob("*.py"), *(path for face in FACES for path in (top / face).rglob("*.py"))]
    return {path: path.read_text().count("\n") for path in sorted(found)}


def main() -> int:
    table = ROW.findall((TOP / "ARCHITECTURE.md").read_text())
    rows = {room: (*(int(n.replace(",", "") or 0) for n in sizes), done) for room, *sizes, done in table}
    folders = {path.name for path in (TOP / "gitmem").iterdir() if (path / "__init__.py").is_file()}
    total, over = 0, []
    print(f"{'room':14} {'files':>6} {'lines':>7} {'files planned':>14} {'lines planned':>14} {'limit':>8}")
    for room in [*rows, *sorted(folders - rows.keys() - {*FACES})]:
        sizes = files(room)
        lines = sum(sizes.values())
        total += lines
        count, planned, most, done = rows.get(room, (0, 0, 0, ""))
        plan, limit = (f"{number:,}" if number else "-" for number in (planned, most))
        print(f"{room:14} {len(sizes):6,} {lines:7,} {count or '-':>14} {plan:>14} {limit:>8} {done}")
        if done and lines > most:
            over.append(f"{room} has {lines:,} lines and its row allows {most:,}")
        for path, size in sizes.items() if done else ():
            if size > LONGEST or (size < SHORTEST and not path.name.startswith("__")):
                over.append(f"{path.relative_to(TOP)} has {size} lines ({SHORTEST} to {LONGEST})")
    print(f"{'all':14} {'':6} {total:7,}")
    for line in over:
        print(line, file=sys.stderr)
    return bool(over)


if __name__ == "__main__":
    sys.exit(main())
