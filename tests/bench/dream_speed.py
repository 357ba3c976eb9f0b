"""Times what the offline engine makes of a planted corpus, against parsing its memories in the same run.

usage: python tests/bench/dream_speed.py [--memories N ...] [--seed N] [--rounds N] [--json]

CPU of a dream with empty caches, the best of some rounds, beside parsing all memories; of the proof of what
it offers; and of a dream as people get them (at most `MOST` changes, made anew without those that the proof
refuses). The shares of what was planted stand beside it, so that no speed is won by finding less: of 300
memories, and of any number above, as much is planted. Nights are dreams of a repository, with git, history
and proof: the first, one after a few memories changed, and one of memory in which the last found nothing.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from unittest.mock import patch

from figures import Figure, options, say

# isort: split
from dream_corpus import Corpus, corpus
from dream_ground import DAY, make_ground
from dream_score import score
from ground import Home

from gitmem.core import account, claim, facts
from gitmem.core.account import is_memory
from gitmem.core.memory import parse
from gitmem.dream.proof import prove_plan
from gitmem.dream.review import reject
from gitmem.engines.engine import MOST, DreamChange
from gitmem.engines.offline import equivalence, pairs
from gitmem.engines.offline.consolidate import consolidate
from gitmem.flows.dream import dream
from gitmem.rules.account import errors

SIZES = (200, 10_000)
CHANGED = 10
"""Memories that change between two dreams."""


def measure(memories: int, seed: int, rounds: int) -> Iterator[Figure]:
    """All figures of one size."""
    few = min(memories, 300) // 5
    planted = corpus(seed, memories, few, few * 2 // 3, few // 2, few // 3)
    parsing = min(timed(lambda: parse_all(planted)) for _ in range(rounds))
    engine = min(timed(lambda: consolidate(planted.given())) for _ in range(rounds))
    made = consolidate(planted.given())
    proof = timed(lambda: prove_plan(planted.files, made.changes, said=planted.said))

    def judge(changes: Sequence[DreamChange]) -> list[str]:
        return [*map(str, errors(prove_plan(planted.files, changes, said=planted.said)))]

    proved = timed(lambda: consolidate(planted.given(most=MOST, judge=judge)))
    of, result = f"dream of {memories:,}", score(planted, made)
    for what, seconds in (("all changes", engine), ("the proof", proof), ("as people get it", proved)):
        yield Figure(f"{of}: {what}", "s CPU", seconds, parsing, "parsing all")
    for sort in ("duplicate", "date", "link", "contradiction"):
        yield Figure(f"{of}: share of each {sort} found", "%", 100 * result.share(sort), 100, "planted")
    yield Figure(
        f"{of}: wrong offers", "", len(result.false) + len(result.settled), len(made.changes), "offers"
    )
    yield from nights(of, memories, seed, parsing)


def edited(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Some memories, with a claim more."""
    paths = sorted(filter(is_memory, files))
    some = paths[:: max(1, len(paths) // CHANGED)][:CHANGED]
    return {path: files[path].rstrip() + b" It holds since the second night too.\n" for path in some}


def nights(of: str, memories: int, seed: int, parsing: float) -> Iterator[Figure]:
    """Whole dreams of one repository; what they offer is rejected."""
    files = corpus(seed, memories, 0, 0, 0, 0).files
    spent: list[float] = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        home = Home(Path(folder))
        gate = patch("gitmem.flows.dream.first_gate", lambda _: None)
        with patch.dict(os.environ, home.environ), gate:
            ground = make_ground(home.repo)

            def night() -> str:
                made = []
                begun = partial(dream, ground.workspace, ground.edges, scope="project")
                spent.append(timed(lambda: made.append(begun())))
                ground.now += DAY
                if made[0].id:
                    who = ground.workspace.author(ground.now)
                    reject(ground.workspace, made[0].id, None, "no", who, ground.now)
                return made[0].id

            ground.put({path: data.decode() for path, data in files.items()})
            night()
            ground.put({path: data.decode() for path, data in edited(files).items()})
            while night():
                pass
            night()
    for what, seconds in (("first", spent[0]), ("after changes", spent[1]), ("unchanged", spent[-1])):
        yield Figure(f"{of}: night, {what}", "s CPU", seconds, parsing, "parsing all")


def parse_all(planted: Corpus) -> None:
    for path, data in planted.files.items():
        if path.endswith(".md"):
            _ = parse(path, data).claims


def timed(run: Callable[[], object]) -> float:
    for cached in (
        account.claims_at, parse, claim.parse_body, facts.about, facts.missing_facts, facts.names,
        facts.stem, pairs.gist, equivalence.said, equivalence.sequence,
    ):  # fmt: skip
        cached.cache_clear()
    start = time.process_time()
    run()
    return time.process_time() - start


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--memories", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    say((row for size in given.memories for row in measure(size, given.seed, given.rounds)), given.json)


if __name__ == "__main__":
    main()
