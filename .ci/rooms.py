#!/usr/bin/env python3
"""Prints how large each room of gitmem is beside the size that ARCHITECTURE.md gives it.

A room that is marked as rebuilt there may not outgrow its row: exit 1 where one does. The others are on
their way, and are printed only. Run from anywhere: .ci/rooms.py
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
ROW = re.compile(r"^\| `([a-z_/]+)` \| ([\d,]+) \| ([\d,]+) \| (rebuilt|) *\|", re.MULTILINE)
LONGEST, SHORTEST = 700, 40
"""Lines of one file: longer is two thoughts, shorter belongs to whoever uses it."""


def files(room: str) -> dict[Path, int]:
    found = (TOP / "gitmem" / room).rglob("*.py") if room != "faces" else (TOP / "gitmem").glob("*.py")
    return {path: path.read_text().count("\n") for path in sorted(found)}


def main() -> int:
    rows = {room: (int(n.replace(",", "")), int(most.replace(",", "")), done) for room, n, most, done in
            ROW.findall((TOP / "ARCHITECTURE.md").read_text())}  # fmt: skip
    folders = {path.name for path in (TOP / "gitmem").iterdir() if (path / "__init__.py").is_file()}
    total, over = 0, []
    print(f"{'room':14} {'files':>6} {'lines':>7} {'files in the plan':>18} {'lines in the plan':>18}")
    for room in [*rows, *sorted(folders - rows.keys())]:
        sizes = files(room)
        lines = sum(sizes.values())
        total += lines
        count, most, done = rows.get(room, (0, 0, ""))
        plan = f"{most:,}" if most else "-"
        print(f"{room:14} {len(sizes):6,} {lines:7,} {count or '-':>18} {plan:>18} {done}")
        if done and lines > most:
            over.append(f"{room} has {lines:,} lines and its row allows {most:,}")
        for path, size in sizes.items() if done else ():
            if size > LONGEST or (size < SHORTEST and path.name != "__init__.py"):
                over.append(f"{path.relative_to(TOP)} has {size} lines ({SHORTEST} to {LONGEST})")
    print(f"{'all':14} {'':6} {total:7,}")
    for line in over:
        print(line, file=sys.stderr)
    return bool(over)


if __name__ == "__main__":
    sys.exit(main())
