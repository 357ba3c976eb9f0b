"""What people tell an agent in passing: short, lower case, without apostrophes, in refusals and answers."""

from __future__ import annotations

import pytest

from gitmem.core.change import Change
from gitmem.engines.engine import ExtractInput
from gitmem.engines.offline import OfflineEngine
from gitmem.engines.offline.contractions import spelled
from gitmem.transcripts.model import Message, Source


def found(text: str, source: Source = "prompt") -> tuple[Change, ...]:
    return OfflineEngine().extract(ExtractInput((Message("m1", "person", text, None, source),))).changes


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("dont touch it, thats done", "don't touch it, that's done"),
        ("I wont, cant and wouldnt", "I won't, can't and wouldn't"),
        ('run `dont` and "im" pls', 'run `dont` and "im" please'),
        ("its wont to be well", "its won't to be well"),
        ("the cant of a roof", "the can't of a roof"),
    ],
)
def test_apostrophes_are_put_back_outside_of_quotes(typed: str, meant: str) -> None:
    assert spelled(typed) == meant


def test_a_refusal_says_how_to_work_where_a_prompt_says_what_to_do_next() -> None:
    """Who refuses a call speaks of the agent's ways; the same words in a prompt are a step of the task."""
    text = "don't use sed here"
    assert found(text) == ()
    assert [change.type for change in found(text, "refusal")] == ["feedback"]


@pytest.mark.parametrize(
    "text", ["not now", "wait", "wrong file, take the other one", "leave it alone for now"]
)
def test_a_refusal_of_the_moment_teaches_nothing(text: str) -> None:
    assert found(text, "refusal") == ()


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("from now on write the test before the fix", True),
        ("never force push without asking me", True),
        ("you should always run the linter before you say it works", True),
        ("from now on do that first", False),
        ("our users are teachers, most of them on tablets", False),
        ("no wildcard imports in this codebase", False),
    ],
)
def test_only_what_is_laid_down_for_good_in_so_many_words_is_stored_unasked(
    text: str, stored: bool
) -> None:
    assert [change.asked for change in found(text) if change.asked] == [True] * stored


def test_a_fact_is_kept_without_the_request_that_leans_on_it() -> None:
    (change,) = found("the company is called Example Ltd, use that in the footer")
    assert change.body == "The company is called Example Ltd."
    (change,) = found("can you make the colours softer, I use a light terminal")
    assert change.body == "I use a light terminal."


def test_a_document_is_no_statement_of_the_person() -> None:
    plan = "so\n\n# Plan\n\nNever cache in a handler.\n\n## Steps\n\nAlways invalidate on write."
    assert found(plan) == ()


def test_a_copied_screen_is_no_statement_of_the_person() -> None:
    screen = (
        "> v main  [4 items]\n   v * from now on keep the grouping by session\n     - never sort by name"
    )
    assert found(screen) == ()


def test_a_hostile_line_takes_no_time() -> None:
    """A pattern that backtracks would take minutes, and the suite's time limit would end it."""
    for piece in ("a ", "we use ", "is a ", "no x ", "our a ", "in the ", ", never "):
        found((piece * 900)[:990])


def test_a_short_answer_is_kept_with_its_question() -> None:
    message = Message("m1", "person", "we don't want mocks anywhere", None, "answer", context="How?")
    (change,) = OfflineEngine().extract(ExtractInput((message,))).changes
    assert change.body == "We don't want mocks anywhere (asked: “How?”)."
    assert "asked" not in change.description
