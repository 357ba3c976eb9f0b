#!/usr/bin/env python3
"""Prints how large each room of gitmem is, and fails where one outgrew its row in ARCHITECTURE.md.

A row says how many lines its room may have at most, and why it is as large as it is: whoever needs more
raises the number and gives the reason, or moves something out. A file has 40 to 700 lines. Run from
anywhere: .ci/rooms.py
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
ROW = re.compile(r"^\| `([a-z]+)` \| ([\d,]+) \| (\S.*) \|$", re.MULTILINE)
LONGEST, SHORTEST = 700, 40
"""Lines of one file: longer is two thoughts, shorter belongs to whoever uses it. A verb may be short."""

FACES = ("mcp", "memory_tool", "view")
"""Folders that stand in the row `faces`, beside the files that stand in no folder."""


def files(room: str) -> dict[Path, int]:
    top = TOP / "gitmem"
    found = [*(top / room).rglob("*.py")]
    if room == "faces":
        found = [*top.glob("*.py"), *(path for face in FACES for path in (top / face).rglob("*.py"))]
    return {path: path.read_text(encoding="utf-8").count("\n") for path in sorted(found)}


def main() -> int:
    rows = {
        room: int(most.replace(",", ""))
        for room, most, _ in ROW.findall((TOP / "ARCHITECTURE.md").read_text())
    }
    folders = {path.name for path in (TOP / "gitmem").iterdir() if (path / "__init__.py").is_file()}
    over = [f"{room} has no row in ARCHITECTURE.md" for room in sorted(folders - rows.keys() - {*FACES})]
    over += [f"{room} has a row in ARCHITECTURE.md and no files" for room in rows if not files(room)]
    total = 0
    print(f"{'room':14} {'files':>6} {'lines':>8} {'at most':>8}")
    for room, most in rows.items():
        sizes = files(room)
        lines = sum(sizes.values())
        total += lines
        print(f"{room:14} {len(sizes):6,} {lines:8,} {most:8,}")
        if lines > most:
            over.append(
                f"{room} has {lines:,} lines and its row allows {most:,}: "
                "move something out, or raise the row in ARCHITECTURE.md and say there why"
            )
        for path, size in sizes.items():
            name = path.relative_to(TOP / "gitmem").as_posix()
            short = size < SHORTEST and room != "cli" and not path.name.startswith("__")
            if size > LONGEST:
                over.append(f"gitmem/{name} has {size} lines, and {LONGEST} at most: make two of it")
            if short:
                over.append(
                    f"gitmem/{name} has {size} lines, and {SHORTEST} at least: put it where it is used"
                )
    print(f"{'all':14} {'':6} {total:8,}")
    for line in over:
        print(line, file=sys.stderr)
    return bool(over)


if __name__ == "__main__":
    sys.exit(main())
