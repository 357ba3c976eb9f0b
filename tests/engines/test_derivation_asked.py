"""What a person plainly asked to remember is kept whatever a model makes of it."""

from __future__ import annotations

from datetime import UTC, datetime

from gitmem.core.change import Change
from gitmem.engines.derivation import asked_in
from gitmem.engines.engine import ExtractInput
from gitmem.engines.task import uuids, with_asked
from gitmem.transcripts.model import Message

WHEN = datetime(2026, 11, 20, 10, tzinfo=UTC)
SAID = ("Remember that we deploy from the release branch only.", "Remember: port 4000 is for the docs.")


def asked() -> tuple[Change, ...]:
    messages = (Message(f"m{n}", "person", text, WHEN, "prompt") for n, text in enumerate(SAID))
    return asked_in(ExtractInput(tuple(messages)))


def change(op: str, body: str) -> Change:
    return Change(op, "x", body, "project", body, "said", 0.8, False)  # type: ignore[arg-type]


def test_what_a_model_leaves_out_is_added_and_what_it_says_is_not_said_twice() -> None:
    found = asked()
    assert uuids(found) == {"m0", "m1"}
    said = change("add", "Deploys come from the release branch alone.")
    kept = with_asked((said,), found)
    assert [one.origin.first for one in kept[1:]] == ["m1"] and kept[0] is said
    assert kept[1].asked and kept[1].reason.endswith("(the model left it out)")


def test_another_number_is_another_statement_and_known_already_is_no_answer() -> None:
    found = asked()
    wrong = change("update", "Port 5000 is for the docs.")
    shrugged = change("noop", "We deploy from the release branch only.")
    assert [one.origin.first for one in with_asked((wrong, shrugged), found)[2:]] == ["m0", "m1"]
    assert with_asked((), ()) == ()


def test_what_is_to_be_forgotten_is_not_left_out_either() -> None:
    """A deletion says nothing, so that no words of a model's changes can stand for it."""
    gone = Change("delete", "tabs", "Indent with tabs", "feedback", "", "asked", 0.9, True, file="tabs.md")
    other = change("add", "Deploys come from the release branch alone.")
    assert with_asked((other,), (gone,))[1].op == "delete"
    done = Change("delete", "tabs", "Indent with tabs", "feedback", "", "said", 0.9, False, file="tabs.md")
    assert with_asked((done,), (gone,)) == (done,)
