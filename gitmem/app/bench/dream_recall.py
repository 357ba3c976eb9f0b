"""Recall before and after dreams: every memory's description and a sentence of every claim, as they came.

The questions are kept aside when a memory arrives: whatever a dream makes of the words later, who remembers
the old ones asks with them.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gitmem.app.bench.dream_claims import Followed
from gitmem.core.account import path_of
from gitmem.core.facts import sentences
from gitmem.core.limits import RECALLED
from gitmem.core.merge import Files
from gitmem.search.query import search
from gitmem.search.tree_catalog import LooseCatalog
from gitmem.search.words import terms

SENTENCE_TERMS = 3
"""Terms that a sentence needs at least to be a question about something."""

MOST_ASKED = 250
"""Questions of one night, drawn anew each night; in all of them are asked in the end."""

_REF = "refs/heads/bench"


@dataclass(frozen=True)
class Question:
    """Asks for the memory that a claim is in, in words in which it arrived."""

    text: str
    about: Followed


class Asked(NamedTuple):
    """A question, and the memory that has to be found."""

    text: str
    path: str
    described: bool


@dataclass(frozen=True)
class Shares:
    """How many of the questions found their memory among the first five."""

    descriptions: int
    descriptions_found: int
    sentences: int
    sentences_found: int


def questions(arrived: Iterable[Followed], seed: int) -> list[Question]:
    """The questions about claims that arrived."""
    made = []
    for one in arrived:
        pick = random.Random(f"sentence {seed} {one.came}")  # noqa: S311 - a draw, no secret
        told = [one.claim.key] if one.described else sentences(one.claim.text)
        fit = [text for text in told if len(terms(text)) >= (1 if one.described else SENTENCE_TERMS)]
        if fit:
            made.append(Question(" ".join(pick.choice(fit).split()), one))
    return made


def drawn(asked: Sequence[Question], seed: int, night: int) -> list[Question]:
    """Some of the questions whose claims are there, the same for the same seed and night."""
    there = [one for one in asked if one.about.alive]
    if len(there) <= MOST_ASKED:
        return there
    return random.Random(f"ask {seed} {night}").sample(there, MOST_ASKED)  # noqa: S311 - a draw, no secret


def placed(asked: Iterable[Question], *, came: bool = False) -> list[Asked]:
    """The questions with the memories that their claims are in at present, or arrived in."""
    return [
        Asked(one.text, path_of(one.about.came if came else one.about.ref), one.about.described)
        for one in asked
    ]


def ask(files: Files, asked: Iterable[Asked]) -> Shares:
    """Asks a tree, through the search that answers recalls."""
    catalog = LooseCatalog()
    found = {(described, hit): 0 for described in (True, False) for hit in (True, False)}
    try:
        catalog.add(_REF, files)
        for one in asked:
            first = search(catalog, one.text, (_REF,), limit=RECALLED)
            found[one.described, one.path in {candidate.path for candidate in first}] += 1
    finally:
        catalog.close()
    return Shares(
        found[True, True] + found[True, False],
        found[True, True],
        found[False, True] + found[False, False],
        found[False, True],
    )
