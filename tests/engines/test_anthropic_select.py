"""The choice of memories by a model: short, structured, and never trusted to be what was asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from messages_api import Answer, MessagesApi
from talk import Counting, engine

from gitmem.core.change import Header
from gitmem.core.errors import EngineError


@pytest.fixture
def meter() -> Counting:
    return Counting()


def headers(count: int) -> tuple[Header, ...]:
    return tuple(
        Header("local", "main", f"m{at}.md", f"m{at}", f"fact {at}", "project", at) for at in range(count)
    )


def test_a_choice_is_short_structured_and_in_the_model_s_order(meter: Counting) -> None:
    with MessagesApi([Answer('```json\n{"chosen": [3, 1]}\n```')]) as api:
        assert engine(api, meter).choose("what now?", headers(4), 5) == (2, 0)
    body = api.bodies[0]
    assert body["max_tokens"] == 256
    assert body["output_config"]["format"]["type"] == "json_schema"
    assert meter.told[0][0] == "select"


def test_where_there_is_nothing_to_choose_nobody_is_asked(meter: Counting) -> None:
    with MessagesApi() as api:
        one = engine(api, meter)
        assert [one.choose("q", *few) for few in (((), 5), (headers(2), 0))] == [(), ()]
    assert api.requests == []


@pytest.mark.parametrize(
    "wrong",
    [
        "I would take 1.", '{"chosen": [0]}', '{"chosen": [5]}', '{"chosen": [1, 1]}',
        '{"chosen": [1, 2, 3]}', '{"chosen": ["1"]}', '{"chosen": [true]}', '{"picked": [1]}', "[1]",
        "", "[" * 100_000,
    ],
)  # fmt: skip
def test_an_answer_that_cannot_be_used_is_asked_for_once_more(wrong: str, meter: Counting) -> None:
    with MessagesApi([Answer(wrong), Answer('{"chosen": [2]}')]) as api:
        assert engine(api, meter).choose("q", headers(4), 2) == (1,)
    assert "cannot be used" in json.dumps(api.bodies[1]["messages"][-1])


def test_two_answers_that_cannot_be_used_are_an_error(meter: Counting) -> None:
    with (
        MessagesApi([Answer("no", stop="max_tokens"), Answer("no")]) as api,
        pytest.raises(EngineError) as failed,
    ):
        engine(api, meter).choose("q", headers(4), 2)
    assert failed.value.kind == "engine-bad-answer"
    assert len(api.requests) == 2


@pytest.mark.parametrize(
    ("model", "extra"),
    [
        ("claude-sonnet-5-5", {"thinking": {"type": "between_tools"}, "max_tokens": 256}),
        ("claude-opus-5-5", {"max_tokens": 256 + 2_048}),
        ("some-local-model", {"max_tokens": 256}),
    ],
)
def test_a_choice_leaves_no_room_for_thinking_where_a_model_can_do_without(
    model: str, extra: dict[str, Any], meter: Counting
) -> None:
    with MessagesApi([Answer('{"chosen": []}')]) as api:
        engine(api, meter, model=model).choose("q", headers(2), 2)
    body = api.bodies[0]
    assert {key: body[key] for key in extra} == extra
    assert ("thinking" in body) == ("thinking" in extra)
