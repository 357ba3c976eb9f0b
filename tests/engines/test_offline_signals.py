"""What people tell an agent in passing: short, lower case, without apostrophes, in refusals and answers."""

from __future__ import annotations

import pytest

from gitmem.core.change import Change
from gitmem.engines.engine import ExtractInput
from gitmem.engines.offline import OfflineEngine
from gitmem.engines.offline.extract import candidates
from gitmem.engines.offline.prose import spelled
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


@pytest.mark.parametrize(
    "text", ["not now", "wait", "wrong file, take the other one", "leave it alone for now"]
)
def test_a_refusal_of_the_moment_teaches_nothing(text: str) -> None:
    assert found(text, "refusal") == ()


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("from now on write the test before the fix", True),
        ("make it a rule that the linter runs before you say it works", True),
        ("from now on do that first", False),
        ("from now on the counter starts at 1, adapt the tests", False),
        ("never force push without asking me", False),
        ("in future the export should have a header line", False),
        ("keep in mind that the lock is held here", False),
        ("our users are teachers, most of them on tablets", False),
        ("no wildcard imports in this codebase", False),
    ],
)
def test_only_what_is_laid_down_for_good_in_so_many_words_is_stored(text: str, stored: bool) -> None:
    """On "never", "future" or "keep in mind" alone nothing is stored: half of these are about the task."""
    assert [change.asked for change in found(text) if change.asked] == [True] * stored


def test_a_document_and_a_copied_screen_are_no_statement_of_the_person() -> None:
    plan = "so\n\n# Plan\n\nNever cache in a handler.\n\n## Steps\n\nAlways invalidate on write."
    assert found(plan) == ()
    screen = (
        "> v main  [4 items]\n   v * from now on keep the grouping by session\n     - never sort by name"
    )
    assert found(screen) == ()


def test_a_hostile_line_takes_no_time() -> None:
    """A pattern that backtracks would take minutes, and the suite's time limit would end it."""
    for piece in ("a ", "we use ", "is a ", "no x ", "our a ", "in the ", ", never "):
        found((piece * 900)[:990])


@pytest.mark.parametrize("source", ["answer", "prompt"])
def test_a_short_answer_is_kept_with_its_question(source: Source) -> None:
    question = "How many workers can the limiter take?"
    agent = Message("m0", "agent", f"I looked at it. {question}", None, "reply")
    answer = Message("m1", "person", "Seven. Eight trips it.", None, source, context=question)
    (find,) = candidates(ExtractInput((agent, answer)))
    assert find.text == "How many workers can the limiter take? Seven. Eight trips it."
    assert find.change.body == f"Asked “{question}”: Seven. Eight trips it."
    assert find.change.description.startswith("How many workers")


@pytest.mark.parametrize("text", ["yes please", "go ahead", "run it", "why?"])
def test_an_answer_that_says_nothing_of_its_own_is_none(text: str) -> None:
    agent = Message("m0", "agent", "Shall I run the tests?", None, "reply")
    assert candidates(ExtractInput((agent, Message("m1", "person", text, None, "prompt")))) == ()
