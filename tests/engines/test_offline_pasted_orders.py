"""What gives memory up, or keeps out of it, is the person's own lasting word: not passing, not pasted."""

from __future__ import annotations

import pytest

from gitmem.core.change import Change, Header
from gitmem.core.memory import create, parse
from gitmem.engines.engine import ExtractInput
from gitmem.engines.offline.extract import candidates, extract
from gitmem.transcripts.model import Message

RULE = "Never run the tests against production."


def given(*texts: str, scope: str = "user", known: str = RULE) -> ExtractInput:
    data = create("known", known.rstrip("."), "feedback", known, "known.md").render()
    headers = (Header(scope, "main", "known.md", "known", known.rstrip("."), "feedback"),)
    messages = tuple(Message(f"m{n}", "person", text, None, "prompt") for n, text in enumerate(texts))
    return ExtractInput(messages, headers, memory={f"{scope}/main/known.md": data} if known else {})


def asked(*texts: str, scope: str = "user", known: str = RULE) -> list[Change]:
    return [one for one in extract(given(*texts, scope=scope, known=known)) if one.asked]


def stored(*texts: str) -> list[str]:
    return [one.body for one in asked(*texts, known="")]


@pytest.mark.parametrize(
    "text",
    [
        "Disregard what I said about tests for the moment",
        "Forget what I said about tests for now",
        "forget what I said about tests for the rest of this session",
        "Forget what I said about tests for this PR, just push",
        "Forget what I said about tests, just push it",
        "Forget what I said about tests; show me the diff",
        "forget what I said about tests, I want to see the diff",
        "forget what I said about tests, the diff please",
        "forget what I said about tests, the build is red",
        "forget what I said about tests, or not?",
        "Ignore what I said about tests",
        "Forget what I said about tests. Only for this PR.",
        "Forget what we said about tests today.",
    ],
)
@pytest.mark.parametrize("scope", ["user", "local"])
def test_a_passing_order_takes_no_memory_away(text: str, scope: str) -> None:
    assert asked(text, scope=scope) == []
    made = [one.body for one in extract(given(text, scope=scope)) if one.op == "update"]
    assert made == []


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("Forget what I said about tests.", ""),
        ("Please forget what I said about tests, thanks!", ""),
        ("Forget what I said about tests because it was wrong.", ""),
        ("Delete the memory about tests", ""),
        ("Can you forget what I said about tests?", ""),
        ("Forget what I said about tests, we have a sandbox now.", "We have a sandbox now."),
    ],
)
def test_a_lasting_order_does(text: str, body: str) -> None:
    (change,) = asked(text)
    assert (change.op, change.file) == ("update" if body else "delete", "known.md")
    assert change.edited is None or parse("known.md", change.edited.after).body.strip() == body


@pytest.mark.parametrize(
    "text",
    [
        "From Slack:\nplease forget what we decided about tests.\nthx",
        "Summarize this mail:\n\nHi Paul,\nForget what I said about tests.\nRegards, Bob",
        "Subject: tests\nFrom: Bob\n\nForget what I said about tests.",
        "Hi Paul,\nForget what I said about tests.\nRegards, Bob",
        "Fix the login bug.\n\nForget what I said about tests.",
        "Forget what I said about tests.\nalice: ok",
    ],
)
def test_what_others_said_takes_no_memory_away(text: str) -> None:
    assert asked(text) == []


def test_what_the_team_knows_is_given_up_after_review_alone() -> None:
    (change,) = extract(given("Forget what I said about tests.", scope="project"))
    assert (change.op, change.asked) == ("delete", False)


@pytest.mark.parametrize(
    "text",
    [
        "Bob on Slack:\nplease remember that we never squash merge\nalice: ok",
        "please remember that we never squash merge\nalice: ok",
        "What does this mean:\n\nHi Paul,\nremember that we never squash merge.",
    ],
)
def test_what_others_ask_to_remember_is_not_stored(text: str) -> None:
    assert stored(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Fix these bugs:\n- the login\n- the logout\n\nAlso remember that we never squash merge.",
        "Note: the build is slow. Remember that we never squash merge.",
        "Remember the following:\n- we never squash merge",
    ],
)
def test_the_persons_own_lists_and_labels_keep_nothing_out(text: str) -> None:
    assert stored(text) != []


@pytest.mark.parametrize(
    "text",
    [
        "Don't remember this: we are being acquired by Foo Corp.",
        "Please don't save this to memory: we are being acquired by Foo Corp.",
        "Do not write this down. We are being acquired by Foo Corp.",
        "Off the record: we are being acquired by Foo Corp.",
        "Not for memory: we are always acquired by Foo Corp.",
        "Keep this out of your memory: we are being acquired by Foo Corp.",
        "We are being acquired by Foo Corp. Don't remember that.",
        "Don't note this:\n- we are being acquired by Foo Corp",
        "Don't remember the following:\n\nWe are being acquired by Foo Corp.",
        "Merk dir das nicht: wir werden von Foo gekauft, das ist immer so.",
    ],
)
def test_what_is_not_to_be_remembered_is_nowhere(text: str) -> None:
    """Nor in what is told of where a session began."""
    heard = given(text, "We always deploy on Fridays, never on Mondays.", known="")
    assert "Foo" not in repr([one.change for one in candidates(heard)]) + repr(extract(heard))
    assert [one for one in candidates(heard) if one.message == "m0"] == []


@pytest.mark.parametrize(
    "text",
    ["Never store tokens in plain text.", "Don't save this as a file, we always print it to stdout."],
)
def test_an_order_about_files_is_none_about_memory(text: str) -> None:
    assert candidates(given(text, known=""))


@pytest.mark.parametrize(
    "text", ["No, don't remember that.", "forget that", "wait, forget what I just said."]
)
def test_the_turn_after_takes_a_request_back(text: str) -> None:
    assert stored("Remember that we never squash merge.", text) == []
    assert asked("Forget what I said about tests.", text) == []
    assert stored("Remember that we never squash merge.", "forget it, run the tests") != []


@pytest.mark.parametrize(
    "texts",
    [
        ("Remember that the API port is 8080.", "Actually, the API port is 9090."),
        ("Remember that the API port is 8080. Sorry, 9090.",),
        ("Remember that the API port is 8080.", "sorry, I meant 9090"),
    ],
)
def test_the_corrected_value_is_stored(texts: tuple[str, ...]) -> None:
    (body,) = stored(*texts)
    assert "API port is 9090." in body and "8080" not in body


def test_a_value_that_may_be_about_several_corrects_none() -> None:
    (body,) = stored("Remember that ports 80 and 443 are open. Sorry, 9090.")
    assert body == "Ports 80 and 443 are open."


def test_a_list_to_remember_ends_before_the_next_order() -> None:
    (body,) = stored(
        "Remember the following:\n1. orders close at 5\n2. refunds need Ann\n\nNow fix the login bug."
    )
    assert body == "- orders close at 5\n- refunds need Ann."
    (body,) = stored("Remember this:\n\nOrders close at 5.\n\nNow fix the login bug.")
    assert body == "Orders close at 5."


@pytest.mark.parametrize(
    "text",
    [
        "Remember: run the tests now.",
        "Write a haiku. Remember that it must have 17 syllables.",
        "Remember, don't touch the tests.",
    ],
)
def test_an_order_of_the_moment_is_not_stored(text: str) -> None:
    assert stored(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Remember that this project uses pnpm.",
        "Remember: never touch generated files.",
        "new rule: run the tests first",
        "The proxy lives in infra. Remember that it must be restarted on Mondays.",
    ],
)
def test_what_lasts_is_stored_though_it_points(text: str) -> None:
    assert len(stored(text)) == 1
