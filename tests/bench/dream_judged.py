"""What becomes of labelled pairs where a model judges them, and is wrong: what lands, what is caught.

usage: python tests/bench/dream_judged.py DATA [--half tuned|held|all] [--wrong SHARE] [--seed N] [--json]

A scripted model answers each pair that a dream asks about: with the share SHARE at random one of the
answers that are wrong for its label, else the right one (`alike`, `unrelated` and what nobody labelled are
`different`). Half of the wrong `same` come with one wording for both that is made of
the two. Nothing is sent anywhere. Counted are rows (changes that a person decides on) and claims that no
row accounts for: these must be none.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import Any

from dream_pairs import FIRST, ONE
from figures import Figure, options, say
from pairs import pairs as labelled

from gitmem.core.account import references, reject_keys, where_it_goes
from gitmem.core.memory import create
from gitmem.dream.proof import prove_plan
from gitmem.engines import task, verdicts
from gitmem.engines.engine import ConsolidateInput, DreamChange
from gitmem.rules.account import errors

KINDS = ("same", "newer", "different", "unsure")
MOST_NIGHTS = 60
ROWS = 200
"""Rows of a night: more than the pairs that are asked about, so that each can be seen."""


@dataclass
class Scripted(task.ModelEngine):
    """Answers by the labels, wrong with a share of them."""

    labels: Mapping[frozenset[str], str]
    later: frozenset[str]
    wrong: float
    chance: random.Random
    name: str = "scripted:wrong"
    asked: list[tuple[frozenset[str], str, str, bool]] = field(default_factory=list)

    def run(self, work: task.Task) -> task.TaskOutcome:
        """Judges each pair."""
        found = []
        for number, pair in enumerate(work.pairs, 1):
            texts = [claim.text for claim in pair.claims]
            label = self.labels.get(frozenset(texts), "unlabelled")
            right = {"same": "same", "amends": "newer"}.get(label, "different")
            fails = self.chance.random() < self.wrong
            kind = self.chance.choice([one for one in KINDS if one != right]) if fails else right
            newest = [name for name, text in zip(pair.names, texts, strict=True) if text in self.later]
            side = "AB"[verdicts.sides(pair).index(newest[0])] if newest and not fails else "B"
            wording = " ".join(texts) if fails and kind == "same" and self.chance.random() < 1 / 2 else ""
            self.asked.append((frozenset(texts), label, kind, fails))
            one = {"pair": verdicts.label(number), "is": kind, "newer": side, "text": wording}
            found.append({**one, "reason": "it was judged"})
        answers = (json.dumps(found),)
        return task.TaskOutcome(work.tree, answers, tuple(work.judge(work.tree, answers)))


def measure(pairs: Sequence[Mapping[str, Any]], wrong: float, seed: int) -> Iterator[Figure]:
    """Dreams night after night over all pairs as memories of one agent, until nothing is asked any more.

    Of what is proposed nothing is decided meanwhile: each night starts from the same memory.
    """
    files: dict[str, bytes] = {}
    said: dict[str, datetime] = {}
    for number, pair in enumerate(pairs):
        for day, side in enumerate(("earlier", "later")):
            text, file = pair[side]["text"], f"n{number:03}-{side}.md"
            name = PurePosixPath(pair[side].get("memory") or file).stem
            path = f"main/{file}"
            if not any(text in (one["earlier"]["text"], one["later"]["text"]) for one in pairs[:number]):
                files[path] = create(name, "", "project", text, file).render()
                said |= dict.fromkeys(references({path: files[path]}), FIRST + timedelta(days=day))
    labels = {frozenset((one["earlier"]["text"], one["later"]["text"])): one["kind"] for one in pairs}
    later = frozenset(one["later"]["text"] for one in pairs)
    engine = Scripted(labels, later, wrong, random.Random(seed))

    def judge(changes: Sequence[DreamChange]) -> list[str]:
        return [*map(str, errors(prove_plan(files, changes, said=said)))]

    claims = references(files)
    rows: dict[frozenset[str], DreamChange] = {}
    waiting: frozenset[str] = frozenset()
    lost, unproved, nights = 0, 0, 0
    asked = -1
    while asked < len(engine.asked) and nights < MOST_NIGHTS:
        asked, nights = len(engine.asked), nights + 1
        given = ConsolidateInput(files, said, scope="project", waiting=waiting, most=ROWS, judge=judge)
        made = engine.consolidate(given)
        unproved += len(judge(made.changes))
        state = dict(files)
        for one in made.changes:
            waiting |= {*reject_keys(one.fates, where_it_goes(one.fates, files))}
            first, last = one.fates[0], one.fates[-1]
            # Both go where they get one wording.
            stays = first.target if first.target in claims else last.source
            ends = [claims[end].text for end in (first.source, stays) if end in claims]
            rows[frozenset(ends)] = one
            if one.kind != "question":
                one.apply_to(state)
        waiting |= {*made.apart}
        named = {fate.source for one in made.changes for fate in one.fates}
        standing = {claim.key for claim in references(state).values()}
        lost += sum(claim.key not in standing and ref not in named for ref, claim in claims.items())
    counts: Counter[str] = Counter()
    for both, label, kind, fails in engine.asked:
        row = rows.get(both)
        became = "left" if row is None else "question" if row.kind == "question" else row.kind
        counts[
            f"{'wrong' if fails else 'right'} {kind} of {'one' if label in ONE else 'two'}: {became}"
        ] += 1
    every = len(engine.asked), "pairs asked about"
    yield Figure(f"judged, {wrong:.0%} wrong: claims lost", "", lost, len(claims), "claims")
    yield Figure(f"judged, {wrong:.0%} wrong: not proved", "", unproved, *every)
    yield Figure(
        f"judged, {wrong:.0%} wrong: wrong answers", "", sum(one[3] for one in engine.asked), *asked
    )
    for what, count in sorted(counts.items()):
        yield Figure(f"judged {what}", "", count, *every)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--half", default="all", choices=("tuned", "held", "all"))
    parser.add_argument("--wrong", type=float, default=0.3)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    pairs = [*labelled(given.data.resolve(), half=given.half)]
    say(measure(pairs, given.wrong, given.seed), given.json)


if __name__ == "__main__":
    main()
