"""What passes the gate, to the figure: weights, the background, ranks, and tools that are in use."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import get_args

import pytest

from gitmem.search.gate import (
    CHANCE,
    COVERED,
    LENGTH,
    PROMPT,
    QUESTION,
    WORDS,
    LeftOut,
    RecallGate,
    Why,
    background,
    explains,
    fits,
    likeness,
    said_by,
    select,
    weight,
)
from gitmem.search.query import Candidate

PARTS = {
    "asked": 4, "telling": 2, "told": 2, "decisive": 0, "matched": 3, "headed": 0, "covered": 0.5,
    "word": 2.0,
}  # fmt: skip
ONE = Candidate("refs/x", "main", "main/a.md", "a", 10.0, PARTS, "a", "About a", "project", False, 0)
OPEN = RecallGate(least=-9, rest=-9, near=0.4, vague=True)


def candidate(score: float = 10.0, blob: str = "a", **parts: float) -> Candidate:
    return replace(ONE, score=score, blob=blob, path=f"main/{blob}.md", parts=PARTS | parts)


@pytest.mark.parametrize(("asked", "more"), [(1, 0.0), (8, 0.0), (16, LENGTH * math.log(2))])
def test_a_weight_is_how_far_a_memory_stands_out_and_what_it_has(asked: int, more: float) -> None:
    one = candidate(asked=asked)
    assert likeness(one, 5.0) == pytest.approx(math.log(2) + COVERED * 0.5)
    assert weight(one, 5.0) == pytest.approx(likeness(one, 5.0) + more)
    assert likeness(candidate(0.0), 5.0) == likeness(candidate(-1.0), 5.0) == -math.inf


def test_the_background_is_what_the_sixth_to_the_twentieth_score() -> None:
    """Where there are fewer, a word counts in place of each, and more where more is asked."""
    some = [candidate(float(score)) for score in range(25, 0, -1)]
    assert background(some) == sum(range(6, 21)) / 15
    assert background(some[:20]) == background(some)
    assert background(some[:6]) == (20 + 14 * 2.0) / 15
    assert background([candidate(9.0, word=1.5), candidate(9.0, word=2.5)]) == 2.5
    assert background([candidate(word=0.0)]) == background([]) == 1.0
    assert background([candidate(asked=3)]) == background([candidate()]) == 2.0
    assert background([candidate(asked=64)]) == 2.0 * CHANCE * 8


@pytest.mark.parametrize(
    ("parts", "vague", "strict"),
    [
        ({"telling": 0, "headed": 4}, True, False),
        ({"telling": 0, "headed": 3, "decisive": 1}, False, False),
        ({"told": 2}, True, True),
        ({"told": 1}, False, False),
        ({"told": 0, "decisive": 1}, True, True),
        ({"told": 1, "matched": 4}, True, False),
    ],
)
def test_what_a_memory_is_about_is_told_by_enough_of_its_words(
    parts: dict[str, float], vague: bool, strict: bool
) -> None:
    assert fits(candidate(10.0, "a", **parts), 1.0, OPEN) is vague
    assert fits(candidate(10.0, "a", **parts), 1.0, replace(OPEN, vague=False)) is strict


def test_the_first_needs_as_much_as_the_gate_says_and_others_beside_it_less() -> None:
    gate = RecallGate(least=2.0, rest=1.0, near=0.4, vague=False)
    for covered, first, beside in (
        (1.0, True, True), (0.99, False, True), (0.5, False, True), (0.49, False, False),
    ):  # fmt: skip
        one = candidate(covered=covered)
        assert fits(one, 10.0, gate) is first and fits(one, 10.0, gate, beside=True) is beside
    assert (PROMPT.vague, QUESTION.vague) == (False, True)
    some = [candidate(blob=blob, covered=part) for blob, part in (("a", 1.0), ("b", 0.5), ("c", 0.49))]
    gate = replace(gate, least=weight(some[0], 2.0), rest=weight(some[1], 2.0))
    found = select(some, gate=gate)
    assert [one.blob for one in found.chosen] == ["a", "b"]
    assert [(left.candidate.blob, left.why) for left in found.left] == [("c", "below")]


def test_each_is_told_once_and_near_the_best() -> None:
    some = [
        candidate(10.0, "a"),
        candidate(10.0, "b"),
        candidate(4.0, "c"),
        candidate(3.9, "d"),
        candidate(9.0, "a"),
    ]
    found = select(some, frozenset({"b"}), OPEN)
    assert [one.blob for one in found.chosen] == ["a", "c"]
    assert [(one.candidate.blob, one.why, one.detail) for one in found.left] == [
        ("b", "shown", ""),
        ("d", "below", "39% of the best score"),
        ("a", "duplicate", "main/a.md"),
    ]
    none = select([candidate(told=0)], gate=replace(OPEN, vague=False))
    assert none.chosen == () and [one.detail for one in none.left] == [
        f"weighs {weight(ONE, 2.0):.1f} of -9"
    ]
    assert LeftOut(ONE, "gone").words == WORDS["gone"]
    assert LeftOut(ONE, "gone", "x").words == f"{WORDS['gone']} (x)"


@pytest.mark.parametrize(
    ("name", "description", "tools", "told"),
    [
        ("Docker-compose", "How we run it", {"docker"}, True),
        ("notes", "“Docker.” How we run it", {"docker"}, True),
        ("notes", "Flags of docker", {"_docker_"}, True),
        ("notes", "Flags of c", {"c"}, False),
        ("notes", "Flags of gh", {"gh"}, True),
        ("notes", "Docker compose flags", {"docker"}, True),
        ("notes", "Flags of docker", {"docker"}, True),
        ("docker-flags", "Notes", {"docker"}, True),
        ("our-docker-cli", "Notes", {"docker"}, True),
        ("notes", "What we do with docker", {"docker"}, False),
        ("notes", "Flags of dockers", {"docker"}, False),
        ("notes", "Flags of make", {"make"}, False),
        ("docker", "Flags", set(), False),
        ("", "Notes", {"a.md"}, True),
        ("how-to-query", "API parameters of Grafana", {"grafana"}, True),
        ("bugs", "Bugs are tracked in the Linear project OPS", {"linear"}, False),
        ("test-commands", "What to run in which package", {"test", "make"}, False),
    ],
)
def test_a_reference_is_about_a_tool_that_it_names_first_or_explains(
    name: str, description: str, tools: set[str], told: bool
) -> None:
    """A pointer (where bugs are tracked) tells what the tool does not."""
    one = replace(ONE, type="reference", name=name, description=description)
    assert explains(one, tools) is told
    assert not explains(replace(one, type="project"), tools)


@pytest.mark.parametrize(
    ("new", "known", "held"),
    [
        ("Exporter restarts nightly", "The exporter restarts nightly", True),
        ("THE EXPORTER RESTARTS NIGHTLY", "The exporter restarts nightly", True),
        ("Exporters restarted the queue", "Exporter restarts the queue", True),
        ("Exporters restarted queues nightly there", "Exporter restarts queue nightly there", False),
        ("Exporter restarts", "Exporter restarts", False),
        ("It is in the exporter", "It is in the exporter", False),
    ],
)
def test_a_text_holds_another_where_half_of_its_words_stand_there_as_they_are(
    new: str, known: str, held: bool
) -> None:
    """And three of them say something: shorter ones mean too much."""
    assert said_by(new, ["Elsewhere.", known]) == (1 if held else None)


def test_each_reason_has_its_words() -> None:
    assert WORDS.keys() == set(get_args(Why)) and all(WORDS.values())
