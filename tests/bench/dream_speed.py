"""Times what the offline engine makes of a planted corpus, against parsing its memories in the same run.

usage: python tests/bench/dream_speed.py [--memories N ...] [--seed N] [--rounds N]

Each round parses all memories and consolidates them, with empty caches, and the best of the rounds counts;
what is proposed is judged once. `seconds` are of the processor; `x parse` is the time as a multiple of
parsing. `proved` is a dream as people get it: at most `MOST` changes, made anew without those that its own
proof refuses; `refused` counts these. The shares of what was planted stand beside it, so that no speed is
won by finding less. Of 300 memories, and of any number above, as much is planted. `second`: a dream, and
the next one after a few memories changed, with what it offers otherwise than a dream that compares all
anew.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent))

from dream_corpus import Corpus, corpus
from dream_score import score

from gitmem.core import account, claim, facts
from gitmem.core.account import is_memory
from gitmem.core.memory import parse
from gitmem.dream.proof import prove_plan
from gitmem.engines.engine import MOST, Consolidation, DreamChange
from gitmem.engines.offline import pairs, similar
from gitmem.engines.offline.consolidate import consolidate
from gitmem.rules.account import errors

SIZES = (200, 10_000)

CHANGED = 10
"""Memories that change between two dreams."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--memories", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    print(json.dumps([measured(n, given.seed, given.rounds) for n in given.memories], indent=2))


def measured(memories: int, seed: int, rounds: int) -> dict[str, object]:
    """Times of one size, with what was found there."""
    again = second(corpus(seed, memories, 0, 0, 0, 0))
    few = min(memories, 300) // 5
    planted = corpus(seed, memories, few, few * 2 // 3, few // 2, few // 3)
    parsing = min(timed(lambda: parse_all(planted)) for _ in range(rounds))
    engine = min(timed(lambda: consolidate(planted.given())) for _ in range(rounds))
    made = consolidate(planted.given())
    proof = timed(lambda: prove_plan(planted.files, made.changes, said=planted.said))
    refused: list[str] = []

    def judge(changes: Sequence[DreamChange]) -> list[str]:
        found = [*map(str, errors(prove_plan(planted.files, changes, said=planted.said)))]
        refused.extend(found)
        return found

    proved = timed(lambda: consolidate(planted.given(most=MOST, judge=judge)))
    result = score(planted, made)
    return {
        "memories": memories,
        "parse": {"seconds": round(parsing, 3)},
        "consolidate": {"seconds": round(engine, 3), "x parse": round(engine / parsing, 1)},
        "prove": {"seconds": round(proof, 3), "x parse": round(proof / parsing, 1)},
        "proved": {"seconds": round(proved, 3), "x parse": round(proved / parsing, 1)},
        "refused": len(refused),
        "second": again,
        "changes": len(made.changes),
        "notes": len(made.notes),
        "found": {
            sort: round(result.share(sort), 3) for sort in ("duplicate", "date", "link", "contradiction")
        },
        "false": len(result.false) + len(result.settled),
    }


def second(quiet: Corpus) -> dict[str, object]:
    """Times of a dream and of the next one, before which some memories changed, and what they differ in."""
    made: list[Consolidation] = []
    first = timed(lambda: made.append(consolidate(quiet.given(most=MOST))))
    files = dict(quiet.files)
    paths = sorted(filter(is_memory, files))
    for path in paths[:: max(1, len(paths) // CHANGED)][:CHANGED]:
        files[path] = files[path].rstrip() + b" It holds since the second night too.\n"
    known = made[0].compared
    changed = {path for path in paths if files[path] != quiet.files[path]}
    assert known
    known = replace(known, changed=known.changed | changed)
    given = replace(quiet.given(most=MOST), files=files, compared=known)
    next_one = timed(lambda: made.append(consolidate(given)))
    anew = consolidate(replace(given, compared=None))
    apart = {one.subject for one in made[1].changes} ^ {one.subject for one in anew.changes}
    return {
        "first seconds": round(first, 3),
        "next seconds": round(next_one, 3),
        "changed": len(known.changed),
        "pairs known": len(known.pairs),
        "changes": len(made[1].changes),
        "other changes than anew": len(apart),
    }


def parse_all(planted: Corpus) -> None:
    for path, data in planted.files.items():
        if path.endswith(".md"):
            _ = parse(path, data).claims


def timed(run: Callable[[], object]) -> float:
    for cached in (
        account.claims_at,
        parse,
        claim.parse_body,
        facts.about,
        facts.lacking,
        facts.names,
        facts.stem,
        pairs.gist,
        similar.said,
        similar.sequence,
    ):
        cached.cache_clear()
    start = time.process_time()
    run()
    return time.process_time() - start


if __name__ == "__main__":
    main()
