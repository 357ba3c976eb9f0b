"""Prints the survival matrix: what writers did, how it came together, and what is left of it.

    python tests/survival/matrix.py [--writers 3] [--json]

For each way the number of claims that were lost; `c` where git left a conflict to a person inside edits of
one memory, `C` where in an index or elsewhere, `!` where gitmem's next write left something out of order.
Conflicts are committed as git left them, marks and all, and must not lose a claim even so. "Host" is a
merge with nothing but the branch's own attributes; the last column is plain git on the same files without
any, for comparison.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path[:0] = [str(HERE.parents[2]), str(HERE.parent), str(HERE.parents[1])]

from git_config import GIT_CONFIG  # noqa: E402
from ways import ByGit, BySync, Outcome  # noqa: E402
from writers import Cell, cells  # noqa: E402

WAYS = ("sync", "driver", "union", "plain")
TITLES = {
    "sync": "gitmem sync",
    "driver": "git merge, driver",
    "union": "git merge, host",
    "plain": "plain git",
}


def grounds(folder: Path, writers: int) -> dict[str, ByGit | BySync]:
    """A place for each way."""
    return {
        "sync": BySync(folder / "sync", writers),
        "driver": ByGit(folder / "driver", "gitmem"),
        "union": ByGit(folder / "union", "union"),
        "plain": ByGit(folder / "plain", "none"),
    }


def shown(outcome: Outcome) -> str:
    """One field of the table."""
    mark = " C" if outcome.across else " c" if outcome.conflicts else ""
    return f"{len(outcome.lost)}{mark}{' !' if outcome.wrong else ''}"


def hermetic(home: Path) -> None:
    """Keeps the machine's own configuration out."""
    for name in [name for name in os.environ if name.startswith(("GIT_", "CLAUDE", "XDG_", "GITMEM"))]:
        del os.environ[name]
    (home / ".gitconfig").write_text(GIT_CONFIG)
    os.environ |= {
        "HOME": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_DATE": "2026-11-20T10:00:00Z",
        "GIT_COMMITTER_DATE": "2026-11-20T10:00:00Z",
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--writers", type=int, default=2, choices=(2, 3))
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        home.mkdir()
        hermetic(home)
        ways = grounds(Path(folder), given.writers)
        rows = [
            (cell, {name: way.run(cell) for name, way in ways.items()}) for cell in cells(given.writers)
        ]
    if given.json:
        print(json.dumps([_row(*row) for row in rows], indent=1))
    else:
        _table(rows)
        print(f"\n{len(rows)} cells, {time.monotonic() - begun:.0f} s")
    ours = [row[name] for _, row in rows for name in WAYS[:3]]
    return 1 if any(one.lost or one.wrong or one.across for one in ours) else 0


def _row(cell: Cell, row: dict[str, Outcome]) -> dict[str, object]:
    return {
        "cell": str(cell),
        **{
            name: {"lost": sorted(one.lost), "conflicts": one.conflicts, "wrong": one.wrong}
            for name, one in row.items()
        },
    }


def _table(rows: list[tuple[Cell, dict[str, Outcome]]]) -> None:
    width = max(len(" + ".join(cell.operations)) for cell, _ in rows)
    print(f"{'writers':<{width}}  {'memory':<6}  {'begun':<8}  " + "  ".join(TITLES.values()))
    for cell, row in rows:
        fields = "  ".join(f"{shown(row[name]):<{len(TITLES[name])}}" for name in WAYS)
        line = f"{' + '.join(cell.operations):<{width}}  {cell.where:<6}  {cell.begun:<8}  {fields}"
        print(line.rstrip())
    print("\nclaims lost · cells with a conflict · of these in one memory alone")
    for name in WAYS:
        lost = sum(len(row[name].lost) for _, row in rows)
        conflicts = [row[name] for _, row in rows if row[name].conflicts]
        inside = sum(not one.across for one in conflicts)
        print(f"{TITLES[name]:<20} {lost:>4} · {len(conflicts):>3} · {inside:>3}")


if __name__ == "__main__":
    sys.exit(main())
