"""Servers of a person's own: how long they are waited for, and what a small model is asked and believed."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from messages_api import Answer, Call, MessagesApi, Step
from talk import NOW, Counting, agent, engine, person

from gitmem.core.errors import EngineError
from gitmem.engines.choice import LOCAL_PATIENCE, PATIENCE, EngineChoice, Installed, choose
from gitmem.engines.engine import ExtractInput, Extraction
from gitmem.engines.offline.extract import candidates
from gitmem.engines.questions import QUESTIONS
from gitmem.flows.engines import api_engine

RULE = "From now on, always run the linter before you commit."
PORT = "Remember that the staging database listens on port 5433."
GIVEN = ExtractInput(
    (person(1, RULE), agent(2, "I will. Where is the database?"), person(3, PORT)), session="s1", now=NOW
)
LOCAL = "http://127.0.0.1:8080"
NO_TOOL = Answer("Nothing to learn here.")
LOOK = Answer(calls=(Call("Grep", {"pattern": "linter"}),))


def reply(text: str = "", type: str = "feedback", *, keep: bool = True) -> str:
    return json.dumps({"keep": keep, "text": text, "type": type})


def asked(body: dict[str, Any]) -> str:
    """The question of one request, without what was answered to it."""
    return str(body["messages"][0]["content"][0]["text"])


def ask(*answers: str, given: ExtractInput = GIVEN) -> tuple[Extraction, MessagesApi]:
    """Has the model answer in turn."""
    with MessagesApi([Answer(answer) for answer in answers]) as api:
        return engine(api, Counting(), model="qwen3-4b", questions=True).extract(given), api


def ask_of(linter: str, port: str) -> tuple[Extraction, MessagesApi]:
    """Has the model answer by what it is asked about."""

    def decide(body: dict[str, Any]) -> Step:
        return Answer(port if "5433" in asked(body) else linter)

    with MessagesApi(decide) as api:
        return engine(api, Counting(), model="qwen3-4b", questions=True).extract(GIVEN), api


def chosen(**values: str) -> EngineChoice:
    return choose(Installed({"engine": "anthropic", **values}, {"ANTHROPIC_API_KEY": "k"}))


def test_a_small_model_is_asked_one_short_question_a_sentence() -> None:
    """No tools, a schema, and the agent's question with the answer; what it keeps is a change."""
    port = "The staging database listens on port 5433."
    found, api = ask_of(reply("Always run the linter before a commit."), reply(port, "project"))
    assert {one.body for one in found.changes} == {"Always run the linter before a commit.", port}
    assert {(one.op, one.type, one.origin.first) for one in found.changes} == {
        ("add", "feedback", "u1"),
        ("add", "project", "u3"),
    }
    assert all(one.asked for one in found.changes if one.origin.first == "u3")
    for body in api.bodies:
        assert "tools" not in body
        assert body["output_config"]["format"]["type"] == "json_schema"
        assert len(json.dumps(body)) < 4_000
    assert ["Where is the database?" in asked(body) for body in api.bodies].count(True) == 1
    assert found.usage is not None and found.usage.requests == 2


@pytest.mark.parametrize(
    "answer",
    [
        f"```json\n{reply('Always run the linter before a commit.')}\n```",
        f"Here is the JSON: {reply('Always run the linter before a commit.')} I hope that helps.",
        f"<think>It says always.</think>\n{reply('Always run the linter before a commit.')}",
    ],
)
def test_fences_thoughts_and_chatter_are_stripped(answer: str) -> None:
    found, _ = ask_of(answer, reply(keep=False))
    assert "Always run the linter before a commit." in {one.body for one in found.changes}


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ("Yes, keep it.", "not JSON"),
        ("[]", "not JSON"),
        ("{}", "true or false"),
        ("{" * 100_000, "not JSON"),
        ('{"keep": "yes"}', "true or false"),
        (reply(""), "no sentence"),
        (reply("x " * 400), "no sentence"),
        (reply("Always run the linter.", "rule"), "none of user"),
        (reply("Always run the linter before you commit to port 9999."), "did not say"),
    ],
)
def test_an_answer_that_cannot_be_used_is_sent_back_once(wrong: str, problem: str) -> None:
    right = reply("Always run the linter before you commit.")
    one = ExtractInput((person(1, RULE),), now=NOW)
    found, api = ask(wrong, right, given=one)
    assert [change.body for change in found.changes] == ["Always run the linter before you commit."]
    assert problem in api.bodies[1]["messages"][-1]["content"][0]["text"]


def test_what_the_model_would_add_is_never_stored() -> None:
    """It lasts, the model says; the words are then the person's."""
    more = reply("Run the linter 12 times before you commit to release-9.")
    found, _ = ask(more, more, given=ExtractInput((person(1, RULE),), now=NOW))
    assert [change.body for change in found.changes] == ["Always run the linter before you commit."]
    assert any("person's own words" in line for line in found.log)


def test_a_model_that_never_answers_usably_is_said_to_and_what_was_asked_for_is_kept() -> None:
    """One sentence without an answer is in the log; none with one is a failure, not an empty find."""
    found, _ = ask_of("?", reply(PORT, "project"))
    assert any("no usable answer" in line for line in found.log)
    assert any("5433" in one.body and one.asked for one in found.changes)
    with pytest.raises(EngineError, match="no answer of the form"):
        ask_of("?", "?")


def test_questions_are_bounded_and_the_best_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person waits for nothing, but the machine works for minutes."""
    (one,) = candidates(ExtractInput((person(1, RULE),), now=NOW))
    many = tuple(replace(one, message="u1", text=f"Step {at} takes tool {at}.") for at in range(40))
    monkeypatch.setattr("gitmem.engines.questions.candidates", lambda _: many)
    found, api = ask(*[reply(keep=False)] * QUESTIONS)
    assert [f"Step {at} takes" in asked(body) for at, body in enumerate(api.bodies)] == [True] * QUESTIONS
    assert any("5433" in one.body and one.asked for one in found.changes)


def test_a_session_in_which_nothing_may_last_is_not_asked_about() -> None:
    found, api = ask(given=ExtractInput((person(1, "thanks!"),), now=NOW))
    assert found.changes == () and not api.requests


def learn(*steps: Step, **settings: Any) -> tuple[Extraction, MessagesApi]:
    with MessagesApi(steps) as api:
        return engine(api, Counting(), model="qwen3-32b", must_call=True, **settings).extract(GIVEN), api


def test_an_answer_without_a_tool_call_is_sent_back_and_then_said() -> None:
    """It never counts as nothing to learn: the cursor would pass what the model did not look at."""
    with pytest.raises(EngineError, match="the model called no tool") as failed:
        learn(NO_TOOL, NO_TOOL)
    assert failed.value.kind == "engine-no-tool" and "gitmem.protocol questions" in failed.value.hint
    found, api = learn(NO_TOOL, LOOK, NO_TOOL)
    assert "You called no tool" in json.dumps(api.bodies[1]["messages"][-1])
    assert all(one.asked for one in found.changes)
    _, api = learn(LOOK, NO_TOOL)
    assert len(api.requests) == 2


@pytest.mark.parametrize(
    ("values", "protocol", "patience", "foreign"),
    [
        ({}, "tools", PATIENCE, False),
        ({"baseurl": LOCAL}, "tools", LOCAL_PATIENCE, False),
        ({"baseurl": LOCAL, "model": "qwen3-4b"}, "questions", LOCAL_PATIENCE, True),
        ({"baseurl": LOCAL, "model": "qwen3-4b", "protocol": "tools"}, "tools", LOCAL_PATIENCE, True),
        ({"baseurl": "https://m.example.com", "model": "qwen3"}, "tools", PATIENCE, True),
        ({"baseurl": LOCAL, "model": "q", "patience": "900"}, "questions", 900, True),
        ({"protocol": "questions"}, "questions", PATIENCE, False),
    ],
)
def test_how_a_server_is_asked_depends_on_where_it_is_and_what_it_runs(
    values: dict[str, str], protocol: str, patience: int, foreign: bool
) -> None:
    found = chosen(**values)
    assert (found.protocol, found.patience, found.foreign) == (protocol, patience, foreign)
    assert found.missing == ()
    settings = api_engine(found, Counting())._settings
    assert (settings.questions, settings.patience, settings.must_call) == (
        protocol == "questions",
        patience,
        foreign,
    )
    # A local server is silent while it reads the prompt.
    local = "127.0.0.1" in values.get("baseurl", "")
    assert (settings.timeout, settings.retries) == ((patience, 0) if local else (120.0, 2))


@pytest.mark.parametrize(
    "values", [{"patience": "soon"}, {"patience": "0"}, {"patience": "9" * 5}, {"protocol": "chat"}]
)
def test_a_setting_that_cannot_be_is_said_and_nothing_is_sent(values: dict[str, str]) -> None:
    assert [one.what for one in chosen(**values).missing] == [
        f"gitmem.{key} is {value!r}" for key, value in values.items()
    ]
