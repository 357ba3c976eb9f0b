"""What failed rests, longer each time."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from gitmem.ledger.failures import _FAILED, Kind, clear, last_failure, note_failure, rest_of, resting

NOW = 1_795_000_000.0
HOUR = 3_600.0


@pytest.mark.parametrize(
    ("kind", "rests"),
    [
        ("session", [0, HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR, 16 * HOUR, 24 * HOUR, 24 * HOUR]),
        ("notes", [0, HOUR, 2 * HOUR]),
        ("dream", [HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR, 16 * HOUR, 24 * HOUR, 24 * HOUR]),
        ("step", [0, 300, 600, 1200]),
    ],
)
def test_each_failure_rests_twice_as_long_as_the_one_before(
    tmp_path: Path, kind: Kind, rests: list[float]
) -> None:
    now = NOW
    for rest in rests:
        note_failure(tmp_path, kind, "it", now, "an engine")
        one = last_failure(tmp_path, kind, "it")
        assert one is not None and one.until - now == rest
        assert (rest_of(tmp_path, kind, "it", now, "an engine") is None) == (rest == 0)
        now = one.until
        assert rest_of(tmp_path, kind, "it", now, "an engine") is None
    clear(tmp_path, kind, "it")
    assert last_failure(tmp_path, kind, "it") is None


def test_another_engine_is_not_held_and_begins_to_count_anew(tmp_path: Path) -> None:
    for _ in range(3):
        note_failure(tmp_path, "session", "s", NOW, "one")
    assert rest_of(tmp_path, "session", "s", NOW, "one") and not rest_of(
        tmp_path, "session", "s", NOW, "other"
    )
    note_failure(tmp_path, "session", "s", NOW, "other")
    assert rest_of(tmp_path, "session", "s", NOW, "other") is None


def test_what_a_clock_noted_that_was_set_back_since_holds_nothing(tmp_path: Path) -> None:
    note_failure(tmp_path, "dream", "refs/x", NOW + 1, why="no luck")
    assert rest_of(tmp_path, "dream", "refs/x", NOW) is None
    assert [one.why for one in resting(tmp_path, NOW + 2)] == ["no luck"]


@pytest.mark.parametrize(
    "value", [[], 1, {"by": "e"}, {"by": "e", "times": "x", "tried": 0, "until": math.nan, "why": ""}]
)
def test_what_is_damaged_holds_nothing(tmp_path: Path, value: object) -> None:
    assert _FAILED.put(tmp_path, "session a", value)
    assert resting(tmp_path, NOW) == ()
