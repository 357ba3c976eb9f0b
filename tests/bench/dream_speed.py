"""Times what the offline engine makes of a planted corpus, against parsing its memories in the same run.

usage: python tests/bench/dream_speed.py [--memories N ...] [--seed N] [--rounds N]

Each round parses all memories and consolidates them, with empty caches, and the best of the rounds counts;
what is proposed is judged once. `seconds` is wall clock; `x parse` is the time as a multiple of parsing,
which says the same on a busy machine. The shares of what was planted stand beside it, so that no speed is
won by finding less. Of 300 memories, and of any number above, as much is planted.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent))

from dream_corpus import Corpus, corpus
from dream_score import score

from gitmem.core import account, claim, facts
from gitmem.core.memory import parse
from gitmem.dream.plan import prove_plan
from gitmem.engines.offline import similar
from gitmem.engines.offline.consolidate import consolidate

SIZES = (200, 10_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--memories", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    print(json.dumps([measured(n, given.seed, given.rounds) for n in given.memories], indent=2))


def measured(memories: int, seed: int, rounds: int) -> dict[str, object]:
    """Times of one size, with what was found there."""
    few = min(memories, 300) // 5
    planted = corpus(seed, memories, few, few * 2 // 3, few // 2, few // 3)
    parsing = min(timed(lambda: parse_all(planted)) for _ in range(rounds))
    engine = min(timed(lambda: consolidate(planted.given())) for _ in range(rounds))
    made = consolidate(planted.given())
    proof = timed(lambda: prove_plan(planted.files, made.changes, said=planted.said))
    result = score(planted, made)
    return {
        "memories": memories,
        "parse": {"seconds": round(parsing, 3)},
        "consolidate": {"seconds": round(engine, 3), "x parse": round(engine / parsing, 1)},
        "prove": {"seconds": round(proof, 3), "x parse": round(proof / parsing, 1)},
        "changes": len(made.changes),
        "notes": len(made.notes),
        "found": {
            sort: round(result.share(sort), 3) for sort in ("duplicate", "date", "link", "contradiction")
        },
        "false": len(result.false) + len(result.settled),
    }


def parse_all(planted: Corpus) -> None:
    for path, data in planted.files.items():
        if path.endswith(".md"):
            _ = parse(path, data).claims


def timed(run: Callable[[], object]) -> float:
    for cached in (
        account.claims_at,
        claim.parse_body,
        facts.lacking,
        facts.stem,
        similar.said,
        similar.sequence,
    ):
        cached.cache_clear()
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
