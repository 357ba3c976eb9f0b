"""Scores what the offline engine offers and asks of labelled pairs of statements.

usage: python tests/bench/dream_pairs.py DATA [--half tuned|held|all] [--wrong] [--json]

The pairs are those of `pairs.py`, whose DATA it is. All texts of a half are put into one folder of memory,
a file each, so that a pair is found among all others. Counted are offered pairs that are the same or amend
one another, of all offered (precision) and of all such pairs (recall), what is asked counted as well; pairs
that are alike or unrelated, and of these where one is offered to go as said by the other (false merges);
and pairs that are offered and that nobody labelled, which `--wrong` lists.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import Any

from figures import Figure, options, say
from pairs import pairs as labelled

from gitmem.core.account import path_of, references
from gitmem.core.memory import create
from gitmem.engines.engine import ConsolidateInput
from gitmem.engines.offline.consolidate import consolidate

ONE = ("same", "amends")
LONGEST = 5
"""Statements in a row of which each amends the one before."""

FIRST = datetime(2026, 1, 1, 12, tzinfo=UTC)


def score(half: str, pairs: Sequence[Mapping[str, Any]], verbose: bool) -> Iterator[Figure]:
    """What is made of labelled pairs; each that is wrong or missed is named on standard error."""
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
    print(*wrong if verbose else (), sep="\n", file=sys.stderr)
    ones = counts["offered one"] + counts["asked one"] + counts["left one"]
    twos = "pairs of two things"
    merged = sum(line.startswith("offered (merge)") for line in wrong)
    offered = counts["offered one"] + counts["offered two"]
    for label, number, whole, beside in (
        ("pairs offered rightly (precision)", counts["offered one"], offered, "offered"),
        ("pairs offered rightly (recall)", counts["offered one"], ones, "pairs of one thing"),
        ("or asked", counts["offered one"] + counts["asked one"], ones, "pairs of one thing"),
        ("false merges", merged, len(pairs) - ones, twos),
        ("two things offered", counts["offered two"], len(pairs) - ones, twos),
        ("two things asked", counts["asked two"], len(pairs) - ones, twos),
        ("unlabelled pairs offered", other["offered"], len(done), "offered or asked"),
    ):
        yield Figure(f"{half}: {label}", "", number, whole, beside)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--half", choices=("tuned", "held", "all"), default="all")
    parser.add_argument("--wrong", action="store_true", help="list what is wrong or missed")
    given = parser.parse_args()
    halves = ("tuned", "held") if given.half == "all" else (given.half,)
    found = ((half, list(labelled(given.data.resolve(), half=half))) for half in halves)
    say((row for half, some in found for row in score(half, some, given.wrong)), given.json)


if __name__ == "__main__":
    main()
