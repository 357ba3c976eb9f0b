"""What a model says of two claims that words alone do not decide on; none of it is trusted.

A pair is shown as `P1`, with its claims as A and B, and answered by an object of the array that a dream
ends with:

    {"pair": "P1", "is": "same" | "newer" | "different" | "unsure", "newer": "A" | "B", "reason": "…",
     "text": "one wording for both"}

What is the same, or newer, becomes a change that the flow proves like any other, and that says who judged;
what it refuses, and what has no answer that can be used, is asked of a person. So is what is said to be
newer of claims without days: nothing but the model would say so. A model that is wrong costs a row to
reject.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from gitmem.core.account import path_of, reject_keys
from gitmem.core.facts import missing_facts
from gitmem.core.text import one_line
from gitmem.core.trailers import JUDGED, Fate
from gitmem.engines.engine import ConsolidateInput
from gitmem.engines.fates import objects
from gitmem.engines.offline.pairs import Judgement, Pair

PAIRS = 20
"""Pairs of one dream that a model is asked about: a person decides on so many changes (`engine.MOST`)."""

CLAIM_CHARS = 600
"""Of a claim, as it is shown in a pair."""

KINDS = ("same", "newer", "different", "unsure")
REASON_CHARS = 200

TEXT_CHARS = 1_000
"""Of one wording for both; a longer one is no longer one claim."""


@dataclass(frozen=True)
class Verdict:
    """What a model says of a pair.

    Attributes:
        kind: one of `KINDS`.
        newer: `A` or `B`, the claim that holds now; empty where it is about another kind.
        reason: one line.
        text: one wording for both; empty to keep the one that says more.
    """

    kind: str
    newer: str = ""
    reason: str = ""
    text: str = ""


UNSURE = Verdict("unsure")


def label(number: int) -> str:
    """What a pair is called, by its place from 1."""
    return f"P{number}"


def sides(pair: Pair) -> tuple[str, str]:
    """The claims of a pair by reference, as A and B: in the order of their names, not of what would go."""
    one, other = sorted(pair.names)
    return one, other


def render_pair(number: int, pair: Pair, given: ConsolidateInput) -> str:
    """A pair as a model is shown it, one line: why it is asked, and each claim with when and who said it.

    Args:
        number: its place, from 1.
        given: what is known of the scope.
    """
    parts = [f"{label(number)} ({pair.judgement.why})"]
    claims = dict(zip(pair.names, pair.claims, strict=True))
    for side, name in zip("AB", sides(pair), strict=True):
        when, who = given.said.get(name), given.authors.get(name)
        day = f", said on {when.date().isoformat()}" if when else ", said nobody knows when"
        by = f" by {who}" if who else ""
        parts.append(f"{side}) {path_of(name)}{day}{by}: “{one_line(claims[name].text, CLAIM_CHARS)}”")
    return " ".join(parts)


def read(given: Mapping[str, Any]) -> Verdict | None:
    """Reads one answer; None where it is of another form."""
    kind, newer = given.get("is"), given.get("newer")
    if kind not in KINDS or (kind == "newer" and newer not in ("A", "B")):
        return None
    reason, text = given.get("reason"), given.get("text")
    worded = " ".join(text.split()) if isinstance(text, str) else ""
    return Verdict(
        str(kind),
        str(newer) if kind == "newer" else "",
        one_line(reason, REASON_CHARS) if isinstance(reason, str) else "",
        worded if kind == "same" and len(worded) <= TEXT_CHARS else "",
    )


def parse_answer(answer: str, pairs: Sequence[Pair]) -> tuple[dict[int, Verdict], tuple[str, ...]]:
    """Reads what an answer says of pairs.

    Args:
        answer: a model's last words.
        pairs: those that it was asked about.

    Returns:
        place of a pair to the verdict, and what was passed over, one line each. A pair of which it says two
        things has none.
    """
    known = {label(number): at for at, number in enumerate(range(1, len(pairs) + 1))}
    found: dict[int, Verdict] = {}
    log: list[str] = []
    for one in objects(answer):
        if "pair" not in one:
            continue
        name = one_line(str(one["pair"]), 40)
        at, verdict = known.get(name), read(one)
        if at is None or verdict is None:
            why = "no such pair was asked about" if at is None else "its answer cannot be used"
            log.append(f"passed over: {name}: {why}")
            continue
        again = found.setdefault(at, verdict)
        if (again.kind, again.newer) != (verdict.kind, verdict.newer):
            found[at] = UNSURE
            log.append(f"passed over: {name}: it has two answers")
    return found, tuple(log)


def judge_pairs(
    pairs: Sequence[Pair], found: Mapping[int, Verdict], said: Mapping[str, datetime], engine: str
) -> Iterator[Pair]:
    """Gives the pairs as they were judged, without those that are two things.

    Args:
        found: place of a pair to what was said of it; the others are asked.
        said: claim to when it was first said.
        engine: who judged.
    """
    for at, pair in enumerate(pairs):
        verdict = found.get(at, UNSURE)
        if verdict.kind == "different":
            continue
        said_by = "" if verdict.kind == "unsure" and not verdict.reason else f"{JUDGED}{engine}"
        told = f"{said_by}: {verdict.reason}" if verdict.reason else said_by
        yield _judged(replace(pair, said=told), verdict, said)


def _judged(pair: Pair, verdict: Verdict, said: Mapping[str, datetime]) -> Pair:
    if verdict.kind == "same":
        gone, stays = (claim.key for claim in pair.claims)
        # Of the two the one goes that says less.
        turned = bool(missing_facts(gone, stays)) and not missing_facts(stays, gone)
        found = _turned(pair) if turned else pair
        return replace(found, judgement=Judgement("same", first_goes=False), wording=verdict.text)
    if verdict.kind == "newer":
        stays = sides(pair)["AB".index(verdict.newer)]
        found = pair if pair.names[1] == stays else _turned(pair)
        earlier, later = (said.get(name) for name in found.names)
        if not (earlier and later and earlier <= later):
            contrary = earlier and later and earlier > later
            why = (
                "against the days on which they were said"
                if contrary
                else "nobody knows when both were said"
            )
            return replace(pair, said=f"{pair.said} ({why})")
        return replace(found, judgement=Judgement("amends", first_goes=False))
    return pair


def _turned(pair: Pair) -> Pair:
    return replace(pair, gone=pair.stays, stays=pair.gone)


def apart(pairs: Sequence[Pair], found: Mapping[int, Verdict]) -> Iterator[str]:
    """Gives the keys of the pairs that are two things, by which they are not asked about again."""
    for at, verdict in found.items():
        if verdict.kind == "different":
            source, target = pairs[at].names
            yield from reject_keys((Fate("superseded", source, target, ""),), {target})
