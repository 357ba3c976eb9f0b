"""Pauses: what was said in one stays out for good, whatever happens to the file meanwhile."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ran import Gitmem

from gitmem.cli.pause import seconds
from gitmem.core.errors import UsageError
from gitmem.flows import pause as pausing
from gitmem.flows.pause import Pause, intervals, is_paused, said_in_pause


def test_a_pause_holds_until_it_is_ended_and_is_remembered(tmp_path: Path) -> None:
    assert not is_paused(tmp_path, 10) and intervals(tmp_path) == ()
    pausing.pause(tmp_path, 10)
    assert not is_paused(tmp_path, 9.9) and is_paused(tmp_path, 10) and is_paused(tmp_path, 1e9)
    assert pausing.unpause(tmp_path, 20) == Pause(10, None)
    assert intervals(tmp_path) == (Pause(10, 20),)
    assert not is_paused(tmp_path, 20) and pausing.unpause(tmp_path, 30) is None
    assert said_in_pause(intervals(tmp_path), 15, 99) and not said_in_pause(intervals(tmp_path), 20, 99)


def test_a_pause_for_a_time_ends_by_itself_and_can_be_changed(tmp_path: Path) -> None:
    pausing.pause(tmp_path, 10, 20)
    assert is_paused(tmp_path, 19) and not is_paused(tmp_path, 20)
    assert said_in_pause(intervals(tmp_path), None, 15), "what was said at no known time, was said now"
    assert not said_in_pause(intervals(tmp_path), None, 25)
    pausing.pause(tmp_path, 15, 40)
    assert intervals(tmp_path) == (Pause(10, 40),)
    pausing.pause(tmp_path, 16)
    assert intervals(tmp_path) == (Pause(10, None),)
    pausing.pause(tmp_path, 17, 18)
    assert intervals(tmp_path) == (Pause(10, 18),)


def test_a_damaged_record_pauses_rather_than_tell(tmp_path: Path) -> None:
    for data in (
        b"", b"\xff", b"[]", b'{"version": 9}', b'{"version": 1, "pauses": [[1]]}',
        b'{"version": 1, "pauses": [[null, 1]]}', b'{"version": 1, "pauses": [["1", 2]]}',
    ):  # fmt: skip
        (tmp_path / pausing.FILE).write_bytes(data)
        assert is_paused(tmp_path, 5), data
        assert pausing.unpause(tmp_path, 10) is not None
        assert intervals(tmp_path) == (Pause(0, 10),), data


def test_of_very_many_pauses_the_oldest_become_one(tmp_path: Path) -> None:
    value = {"version": 1, "pauses": [[n * 10, n * 10 + 1] for n in range(2000)]}
    (tmp_path / pausing.FILE).write_text(json.dumps(value))
    pausing.pause(tmp_path, 1e6)
    found = intervals(tmp_path)
    assert len(found) == pausing.KEPT and found[0].start == 0
    assert all(said_in_pause(found, n * 10, 0) for n in range(2000))


def test_the_verbs_say_what_they_did_and_how_to_take_it_back(gitmem: Gitmem, git, repo: Path) -> None:
    gitmem("init", "-y")
    assert "undo: git mem unpause" in gitmem("pause").err
    again = gitmem("pause")
    assert "paused already" in again.out and "undo" not in again.err
    assert "paused: nothing is learned from sessions until git mem unpause" in gitmem("status").out
    value = json.loads(gitmem("status", "--json").out)["paused"]
    assert value["since"].endswith("Z") and value["until"] is None
    timed = gitmem("pause", "--for", "1h30m")
    assert "undo: git mem pause\n" in timed.err
    assert json.loads(gitmem("pause", "--for", "2h", "-n", "--json").out)["dry_run"] is True
    ended = gitmem("unpause")
    assert "stays out" in ended.out and "undo: git mem pause --for 52" in ended.err
    assert "nothing is paused" in gitmem("unpause").out
    assert json.loads(gitmem("status", "--json").out)["paused"] is None
    assert len(intervals(repo / ".git/gitmem")) == 1


def test_a_length_of_time_adds_up_and_one_that_is_none_is_refused() -> None:
    assert seconds("1d2h3m4s") == 93_784 and seconds("90m") == seconds("1H30M")
    for length in ("", "h", "2", "-1h", "1x", "0s", "99999d", "1h 2m", "\u0661h"):
        with pytest.raises(UsageError, match="no length of time"):
            seconds(length)
