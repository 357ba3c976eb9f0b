"""Fits the weights of `engines/offline/signals.py` on labelled sessions, and says how well they carry over.

usage: python tests/bench/extract_weights.py GOLD [--half] [--print] [--json]

GOLD is a file as `gitmem bench extract --gold` reads it. A message is positive where it holds a label.

First the weights of a sentence by itself are fitted on the written sentences of tests/fixtures/labelled;
then, on top of a share of these, those of whole messages on the sessions. The written sentences go into
that as well at a small weight, with a cue of their own that takes up that half of them hold something,
where of real messages one in six does. `--half` fits on every second session by name (the first, third, …)
alone and reports the others; each session is told by the others in either case. So are the finds of the
offline engine that README.md names: each session is read with weights that were fitted without it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

from figures import Figure, options, say

from gitmem.app.bench_extract import Gold, figures, read_gold, score
from gitmem.engines.offline import OfflineEngine, signals
from gitmem.engines.offline.speech import Heard, read
from gitmem.transcripts.model import Message

FIXTURES = Path(__file__).parent.parent / "fixtures" / "labelled"
WRITTEN = ("tuned", "told")
"""Sets of sentences to fit on."""

WRITTEN_WEIGHT = 0.1
EXCLUDED_WEIGHT = 3.0
"""Of a message that must not be kept: to keep it is worse than to miss another."""

L2_SENTENCE = 1.0
L2_MESSAGE = 2.0
"""Ridges, and the weight before, chosen by how well sessions of the first half tell one another."""

ALONE = frozenset(("at most", "hangs together", "manner", "states", "when"))
"""Cues that count in a sentence by itself only: labelled messages are too few to weigh these as well."""

WITHIN = frozenset(("you", "you did"))
"""Cues that count in a message only: written sentences say "you" where they teach, people anywhere."""

STEPS = 40
RATES = (1, 2.5, 5, 8, 12)


@dataclass(frozen=True)
class Row:
    """One message: its cues, whether it holds something (1) or not (0), its weight, and its session.

    `ahead` is the part of its log odds that is known already.
    """

    cues: frozenset[str]
    lasts: float
    weight: float
    session: str
    ahead: float = 0.0


def rows_of(gold: Gold, sentence: Mapping[str, float]) -> list[Row]:
    """One row for each message with words of the person's own."""
    labelled = {label.message for label in gold.labels}
    excluded = {label.message for label in gold.excluded} - labelled

    def weight(uuid: str) -> float:
        return EXCLUDED_WEIGHT if uuid in excluded else 1.0

    return [
        Row(
            one.cues - ALONE,
            float(one.message.uuid in labelled),
            weight(one.message.uuid),
            gold.name,
            best(one, sentence),
        )
        for one in read(gold.session.messages)
        if one.passages
    ]


def best(one: Heard, sentence: Mapping[str, float]) -> float:
    """The best log odds of a message's sentences."""
    return max(signals.odds(said.cues, sentence) for passage in one.passages for said in passage)


def written(names: Sequence[str]) -> list[tuple[Heard, float]]:
    """The labelled sentences that the project ships, with 1 where something is to be kept."""
    found = []
    for name in names:
        for line in (FIXTURES / f"{name}.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            message = Message("m", "person", row["text"], None, row.get("source", "prompt"))
            found += [(one, float(bool(row["keep"]))) for one in read((message,)) if one.passages]
    return found


def alone(one: Heard) -> frozenset[str]:
    """The cues of its sentences: how long a made one is, and where it stands, says nothing of real ones."""
    return frozenset(cue for cue in one.cues if cue in signals.CUES)


def fit(rows: Sequence[Row], l2: float) -> dict[str, float]:
    """Logistic regression with a ridge, by Newton's method; the bias is not shrunk."""
    names = ["bias", *sorted({cue for row in rows for cue in row.cues})]
    place = {name: at for at, name in enumerate(names)}
    data = [([0, *sorted(place[c] for c in row.cues)], row.lasts, row.weight, row.ahead) for row in rows]
    weights = [0.0] * len(names)
    for _ in range(STEPS):
        slope = [-l2 * w for w in weights]
        slope[0] = 0.0
        curve = [[0.0] * len(names) for _ in names]
        for at in range(1, len(names)):
            curve[at][at] = l2
        curve[0][0] = 1e-6
        for ones, lasts, weight, ahead in data:
            p = 1 / (1 + math.exp(-ahead - sum(weights[at] for at in ones)))
            pull, bend = weight * (lasts - p), weight * p * (1 - p)
            for at in ones:
                slope[at] += pull
                line = curve[at]
                for other in ones:
                    line[other] += bend
        step = solve(curve, slope)
        weights = [w + s for w, s in zip(weights, step, strict=True)]
        if max(map(abs, step)) < 1e-6:
            break
    return {name: round(w, 2) for name, w in zip(names, weights, strict=True)}


def solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Solves a positive definite system by Gauss's elimination."""
    size = len(right)
    rows = [[*line, value] for line, value in zip(matrix, right, strict=True)]
    for at in range(size):
        best = max(range(at, size), key=lambda row: abs(rows[row][at]))
        rows[at], rows[best] = rows[best], rows[at]
        pivot = rows[at]
        for other in rows[at + 1 :]:
            share = other[at] / pivot[at]
            if share:
                for column in range(at, size + 1):
                    other[column] -= share * pivot[column]
    found = [0.0] * size
    for at in reversed(range(size)):
        rest = sum(rows[at][column] * found[column] for column in range(at + 1, size))
        found[at] = (rows[at][size] - rest) / rows[at][at]
    return found


def curve(title: str, scored: Iterable[tuple[float, float, str]], sessions: int) -> Iterator[Figure]:
    """Precision and recall where so many messages a session are taken, at most three of one session."""
    ranked = sorted(scored, reverse=True)
    holding = [p for p, lasts, _ in ranked if lasts]
    rest = [p for p, lasts, _ in ranked if not lasts]
    above = sum((one > other) + 0.5 * (one == other) for one in holding for other in rest)
    yield Figure(f"{title}: area under the curve", "", above / (len(holding) * len(rest)), 0.5, "chance")
    for rate in RATES:
        taken: dict[str, int] = {}
        right = count = 0
        for _, lasts, session in ranked:
            if count >= rate * sessions:
                break
            if rate <= 3 and taken.get(session, 0) >= 3:
                continue
            taken[session] = taken.get(session, 0) + 1
            count += 1
            right += int(lasts)
        at = f"{title}, {rate:g} a session"
        yield Figure(f"{at}: right", "", right, count, "taken")
        yield Figure(f"{at}: found", "", right, len(holding), "that hold something")


def extracted(
    golds: Sequence[Gold], tables: Mapping[str, tuple[Mapping[str, float], Mapping[str, float]]]
) -> Iterator[Figure]:
    """What the offline engine finds in each session with its own tables of weights."""
    scored = []
    for gold in golds:
        alone, within = tables[gold.name]
        with patch.object(signals, "OF_SENTENCE", alone), patch.object(signals, "OF_MESSAGE", within):
            scored.append(score(gold, OfflineEngine()))
    found = figures(scored)
    for key, label, reference in (
        ("suggested", "suggestions that are right", "suggestions"),
        ("recall_plain", "plain statements found", "plain statements"),
        ("recall_plain_wide", "plain statements put to the agent", "plain statements"),
        ("recall_asked_stored", "what was asked for and stored", "what was asked for"),
    ):
        yield Figure(
            f"each told by the others: {label}", "", found[key]["right"], found[key]["of"], reference
        )


def measure(golds: Sequence[Gold], half: bool, show: bool) -> Iterator[Figure]:
    """Fits, and says how well it carries over; perhaps prints the weights."""
    made = written(WRITTEN)
    sentence = fit([Row(alone(one) - WITHIN, lasts, 1.0, "") for one, lasts in made], L2_SENTENCE)
    sessions = {gold.name: [shared(row) for row in rows_of(gold, sentence)] for gold in golds}
    along = [
        shared(Row((alone(one) - ALONE) | {"written"}, lasts, WRITTEN_WEIGHT, "", best(one, sentence)))
        for one, lasts in made
    ]
    names = list(sessions)[0::2] if half else list(sessions)
    message = fit([*along, *(row for name in names for row in sessions[name])], L2_MESSAGE)

    def told(weights: Mapping[str, float], name: str) -> list[tuple[float, float, str]]:
        return [
            (signals.probability(r.cues, r.ahead / signals.SHARE, weights), r.lasts, r.session)
            for r in sessions[name]
        ]

    yield from curve("fitted on", [one for n in names for one in told(message, n)], len(names))
    if half:
        others = [name for name in sessions if name not in names]
        yield from curve("held out", [one for n in others for one in told(message, n)], len(others))
    without = {
        name: fit([*(row for n in names if n != name for row in sessions[n]), *along], L2_MESSAGE)
        for name in names
    }
    yield from curve(
        "each told by the others", [one for n in names for one in told(without[n], n)], len(names)
    )
    yield from extracted(
        [one for one in golds if one.name in names], {n: (sentence, without[n]) for n in names}
    )
    for cue in dict.fromkeys((*sentence, *message)) if show else ():
        if cue != "written":
            print(f'    "{cue}": ({sentence.get(cue, 0.0)}, {message.get(cue, 0.0)}),')


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("gold", type=Path)
    parser.add_argument("--half", action="store_true")
    parser.add_argument("--print", action="store_true", dest="show")
    given = parser.parse_args()
    golds = sorted(read_gold(given.gold), key=lambda one: one.name)
    say(measure(golds, given.half, given.show), given.json)


def shared(row: Row) -> Row:
    """The row with the share of its best sentence's log odds that counts for a message."""
    return replace(row, ahead=signals.SHARE * row.ahead)


if __name__ == "__main__":
    main()
