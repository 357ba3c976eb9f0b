"""Times what the offline engine makes of a planted corpus, against parsing its memories in the same run.

usage: python tests/bench/dream_speed.py [--memories N ...] [--seed N] [--rounds N]

Each round parses all memories and consolidates them, with empty caches, and the best of the rounds counts;
what is proposed is judged once. `seconds` are of the processor; `x parse` is the time as a multiple of
parsing. `proved` is a dream as people get it: at most `MOST` changes, made anew without those that its own
proof refuses; `refused` counts these. The shares of what was planted stand beside it, so that no speed is
won by finding less. Of 300 memories, and of any number above, as much is planted. `second`: a dream, and
the next one after a few memories changed, with what it offers otherwise than a dream that compares all
anew. `nights`: dreams of a repository as people get them, with git, history and proof: the first, one after
a few memories changed, and one of memory in which the last found nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parent.parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "flows"))

from dream_corpus import Corpus, corpus
from dream_ground import DAY, make_ground
from dream_score import score

from gitmem.core import account, claim, facts
from gitmem.core.account import is_memory
from gitmem.core.memory import parse
from gitmem.dream.proof import prove_plan
from gitmem.dream.review import reject
from gitmem.engines.engine import MOST, Consolidation, DreamChange
from gitmem.engines.offline import pairs, similar
from gitmem.engines.offline.consolidate import consolidate
from gitmem.flows.dream import dream
from gitmem.rules.account import errors

SIZES = (200, 10_000)

SCOPE = "project"

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
        "nights": nights(memories, seed),
        "changes": len(made.changes),
        "notes": len(made.notes),
        "found": {
            sort: round(result.share(sort), 3) for sort in ("duplicate", "date", "link", "contradiction")
        },
        "false": len(result.false) + len(result.settled),
    }


def nights(memories: int, seed: int) -> dict[str, float]:
    """Times of whole dreams of one repository, in CPU seconds; what they offer is rejected."""
    tree = {path: data.decode() for path, data in corpus(seed, memories, 0, 0, 0, 0).files.items()}
    paths = sorted(filter(is_memory, tree))
    changed = paths[:: max(1, len(paths) // CHANGED)][:CHANGED]
    spent: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        kept = {"HOME": folder, "XDG_DATA_HOME": f"{folder}/data", "XDG_CONFIG_HOME": f"{folder}/config"}
        with patch.dict(os.environ, kept | {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}):
            subprocess.run(["git", "init", "-q", home / "code"], check=True)
            for key, value in (("user.name", "Ann"), ("user.email", "ann@example.com")):
                subprocess.run(["git", "-C", home / "code", "config", key, value], check=True)
            ground = make_ground(home / "code")

            def night() -> int:
                made = []
                spent.append(
                    timed(
                        lambda: made.append(
                            dream(ground.workspace, ground.edges, scope="project", force=True)
                        )
                    )
                )
                ground.now += DAY
                if made[0].id:
                    who = ground.workspace.author(ground.now)
                    reject(ground.workspace, made[0].id, None, "no", who, ground.now)
                return bool(made[0].id)

            ground.put(tree)
            night()
            ground.put(
                {path: f"{tree[path].rstrip()} It holds since the second night too.\n" for path in changed}
            )
            night()
            while night():
                pass
            night()
    first, next_one, *_, quiet = spent
    return {"first": round(first, 3), "after changes": round(next_one, 3), "unchanged": round(quiet, 3)}


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
