"""The offline choice: few and right beats many, and nothing is right where nothing fits."""

from __future__ import annotations

from collections.abc import Iterable, Set

from gitmem.store.candidates import Candidate

NEAR_BEST = 0.4
"""Share of the best score that a candidate needs: what is far below the best answers something else."""

COVERED = {0: 0.45, 1: 0.3, 2: 0.2}
"""Share of the question's rarity that a memory must match, by how many of the matched terms that tell
stand in its name or description (two or more count as two). Set by hand so that the prompts of one
project recall nothing from another project's memories four times in five."""

TOLD_IN_BODY = 2
"""Terms that tell which a memory must match where none of them is in its name or description."""

LONG_QUESTION = 8
"""From this many terms on no memory matches a great share: a request tells more than it asks."""

TERMS_OF_LONG = 3
COVERED_OF_LONG = 0.15


def fits(candidate: Candidate) -> bool:
    """Whether a memory matches enough of the question to be worth showing."""
    parts = candidate.parts
    if not parts["telling"]:  # "how should I write tests?": only a memory about just that
        return parts["headed"] >= parts["asked"]
    if parts["told"] >= parts["telling"] and (parts["decisive"] or parts["matched"] >= parts["asked"]):
        return True
    if not parts["decisive"] and parts["told"] < TOLD_IN_BODY:
        return False
    if parts["covered"] >= COVERED[min(2, int(parts["decisive"]))]:
        return True
    return (
        parts["asked"] >= LONG_QUESTION
        and parts["told"] >= TERMS_OF_LONG
        and parts["decisive"] >= 1
        and parts["covered"] >= COVERED_OF_LONG
    )


def choose(candidates: Iterable[Candidate], shown: Set[str] = frozenset()) -> list[Candidate]:
    """Keeps the candidates that fit, best first, each content once.

    Args:
        candidates: best first.
        shown: object names of the contents that this session has seen already.
    """
    chosen: list[Candidate] = []
    seen = set(shown)
    best: float | None = None
    for candidate in candidates:
        if not fits(candidate):
            continue
        best = candidate.score if best is None else best
        if candidate.score >= NEAR_BEST * best and candidate.blob not in seen:
            seen.add(candidate.blob)
            chosen.append(candidate)
    return chosen
