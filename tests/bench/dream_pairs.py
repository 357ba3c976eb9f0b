"""Scores what the offline engine offers and asks of labelled pairs of statements.

usage: python tests/bench/pairs.py DATA | python tests/bench/dream_pairs.py [--half HALF] [--json] [--wrong]

Each line that is read is a pair: `earlier` and `later` (`text`, `memory`), its `half`, and its `kind`
(`same`, `amends`, `alike`, or `unrelated`). All texts of a half are put into one folder of memory,
a file each, so that a pair is found among all others. Of the labelled pairs it prints for each half:

- precision: offered pairs that are the same or amend one another;
- recall: pairs that are, and are offered; and with what is asked counted as well;
- false merges: pairs that are alike or unrelated, of which one is offered to go as said by the other.

Pairs that are offered and that nobody labelled are counted, and listed by `--wrong`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from gitmem.core.account import path_of, references
from gitmem.core.memory import create
from gitmem.engines.engine import ConsolidateInput
from gitmem.engines.offline.consolidate import consolidate

ONE = ("same", "amends")
LONGEST = 5
"""Statements in a row of which each amends the one before."""

FIRST = datetime(2026, 1, 1, 12, tzinfo=UTC)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--half", choices=("tuned", "held"), help="score this one alone")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--wrong", action="store_true", help="list what is wrong or missed")
    given = parser.parse_args()
    halves: dict[str, list[dict[str, Any]]] = {}
    for line in filter(str.strip, sys.stdin):
        pair = json.loads(line)
        if given.half in (None, pair["half"]):
            halves.setdefault(pair["half"], []).append(pair)
    found = {half: score(pairs) for half, pairs in sorted(halves.items())}
    wrong = {half: figures.pop("wrong") for half, figures in found.items()}
    if given.json:
        print(json.dumps(found, indent=2))
        return
    for half, figures in found.items():
        print(f"{half}: {', '.join(f'{key} {value}' for key, value in figures.items())}")
        for line in wrong[half] if given.wrong else ():
            print(f"  {line}")


def score(pairs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What is made of labelled pairs: counts, shares, and each that is wrong or missed."""
    days: dict[str, int] = {}
    for _ in range(LONGEST):
        for pair in pairs:
            earlier, later = pair["earlier"]["text"], pair["later"]["text"]
            days[later] = max(days.get(later, 1), days.setdefault(earlier, 0) + 1)
    files: dict[str, bytes] = {}
    said: dict[str, datetime] = {}
    paths: dict[str, str] = {}
    for one in (one for pair in pairs for one in (pair["earlier"], pair["later"])):
        if one["text"] not in paths:
            file = f"n{len(paths):04}.md"
            path = paths[one["text"]] = f"main/{file}"
            name = PurePosixPath(one.get("memory") or file).stem
            files[path] = create(name, "", "project", one["text"], file).render()
            day = FIRST + timedelta(days=days[one["text"]])
            said |= dict.fromkeys(references({path: files[path]}), day)
    made = consolidate(ConsolidateInput(files, said, most=10_000))
    done: dict[tuple[str, str], str] = {}
    for change in made.changes:
        for fate in change.fates:
            if fate.target and path_of(fate.source) != path_of(fate.target):
                ends = sorted((path_of(fate.source), path_of(fate.target)))
                done.setdefault((ends[0], ends[1]), change.kind)
    counts: Counter[str] = Counter()
    wrong = []
    for pair in pairs:
        ends = sorted((paths[pair["earlier"]["text"]], paths[pair["later"]["text"]]))
        what = done.pop((ends[0], ends[1]), "")
        how = "asked" if what == "question" else "offered" if what else "left"
        is_one = pair["kind"] in ONE
        counts[f"{how} {'one' if is_one else 'two'}"] += 1
        if how != ("offered" if is_one else "left"):
            both = f"{pair['earlier']['text']!r} | {pair['later']['text']!r}"
            wrong.append(f"{how} ({what}) {pair['kind']}: {both}")
    other = Counter("asked" if kind == "question" else "offered" for kind in done.values())
    texts = {path: text for text, path in paths.items()}
    wrong += [
        f"unlabelled {kind}: {' | '.join(repr(texts[end]) for end in ends)}" for ends, kind in done.items()
    ]
    ones = counts["offered one"] + counts["asked one"] + counts["left one"]
    offered = counts["offered one"] + counts["offered two"]
    return {
        "pairs": len(pairs),
        "precision": share(counts["offered one"], offered),
        "recall": share(counts["offered one"], ones),
        "recall with questions": share(counts["offered one"] + counts["asked one"], ones),
        "false merges": sum(line.startswith("offered (merge)") for line in wrong),
        "offered of two things": counts["offered two"],
        "asked of two things": counts["asked two"],
        "of two things": len(pairs) - ones,
        "unlabelled offered": other["offered"],
        "unlabelled asked": other["asked"],
        "wrong": wrong,
    }


def share(part: int, whole: int) -> float | None:
    return round(part / whole, 3) if whole else None


if __name__ == "__main__":
    main()
