"""Measuring an engine on labelled sessions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gitmem.app.bench_extract import figures, read_gold, score, wilson
from gitmem.core.errors import UsageError
from gitmem.engines.offline import OfflineEngine

SAID = [
    {"uuid": "aaaaaa-1", "text": "from now on squash before you merge"},
    {"uuid": "aaaaaa-2", "role": "agent", "text": "From now on I always squash."},
    {"uuid": "bbbbbb-1", "text": "our users are teachers"},
    {"uuid": "cccccc-1", "text": "remember we never commit on fridays. remember we support node 20"},
]


def gold(folder: Path, *rows: dict[str, Any]) -> Path:
    path = folder / "gold.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return path


def label(message: str, *keys: str, kind: str = "feedback", **more: object) -> dict[str, object]:
    return {"message": message, "type": kind, "key": list(keys), **more}


def test_a_find_is_right_where_its_message_has_a_label_with_its_words(tmp_path: Path) -> None:
    rows = gold(
        tmp_path,
        {
            "session": SAID,
            "labels": [
                label("aaaaaa-1", "Squash", asked=True),
                label("bbbbbb", "teachers", kind="user"),
                label("cccccc", "mondays", plain=False),
            ],
            "excluded": [{"message": "cccccc-1", "key": ["node"]}],
            "unknown": 1,
        },
    )
    (one,) = [score(each, OfflineEngine()) for each in read_gold(rows)]
    assert [found.type for _, found in one.right] == ["feedback", "user"]
    assert len(one.wrong) == 2
    assert [missed.keys for missed in one.missed] == [("mondays",)]
    total = figures([one])
    assert total["stored"]["right"] == 1
    assert total["stored"]["of"] == 3
    assert total["stored_and_suggested"]["share"] == 0.5
    assert total["suggested_a_session"] == 1.0
    assert total["recall_asked_stored"]["share"] == 1.0
    assert total["recall_plain"]["share"] == 1.0
    assert total["recall_plain_wide"]["share"] == 1.0
    assert total["recall"]["right"] == 2
    assert total["types"]["right"] == 1
    assert total["exclusion_violations"] == 1


def test_what_an_agent_says_is_no_find(tmp_path: Path) -> None:
    (each,) = read_gold(gold(tmp_path, {"session": [SAID[1]], "labels": []}))
    total = figures([score(each, OfflineEngine())])
    assert total["finds_where_nothing_is_to_keep"] == 0
    assert total["messages"] == 0
    assert total["stored"]["share"] is None


@pytest.mark.parametrize(
    "row",
    [
        {"session": "absent.jsonl"},
        {"session": 3},
        {"session": SAID, "labels": [label("zzzzzz", "x")]},
        {"session": SAID, "labels": [label("aaaaaa", "x")]},
        {"session": SAID, "labels": [label("aaaaaa-1", "x", kind="rule")]},
        {"session": SAID, "labels": [label("aaaaaa-1")]},
    ],
    ids=["no file", "no session", "no message", "two messages", "no type", "no words"],
)
def test_a_line_of_another_form_is_named(tmp_path: Path, row: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="line 1"):
        read_gold(gold(tmp_path, row))


def test_the_interval_is_wilsons() -> None:
    """The values of the published formula for 9 of 10."""
    low, high = wilson(9, 10)
    assert (round(low, 3), round(high, 3)) == (0.596, 0.982)
    assert wilson(0, 0) == (0.0, 1.0)
