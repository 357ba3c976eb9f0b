"""Cursors: written whole, read in any state, and messages handled once across forks."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rollouts import Rollout
from transcripts import Transcript

from gitmem.transcripts import reader
from gitmem.transcripts.claude_code import read_session
from gitmem.transcripts.discover import read
from gitmem.transcripts.reader import Cursor, Handled, load, load_handled, save, save_handled

FIXTURES = Path(__file__).parents[1] / "fixtures/sessions"


def test_a_cursor_comes_back_as_saved_and_a_missing_one_is_the_beginning(tmp_path: Path) -> None:
    saved = Cursor("s1", 4711, "u9")
    save(tmp_path / "new/cursors", saved)
    assert load(tmp_path / "new/cursors", "s1") == saved
    reports: list[str] = []
    assert load(tmp_path, "s1", reports.append) == Cursor("s1")
    assert reports == []


@pytest.mark.parametrize(
    "damage",
    [
        b"", b"{", b"\xff", b"[1]", b'{"format": 1, "session": "other", "offset": 1, "last": ""}',
        b'{"format": 1, "session": "s1", "offset": -1, "last": ""}',
        b'{"format": 1, "session": "s1", "offset": true, "last": ""}',
        b'{"format": 9, "session": "s1", "offset": 1, "last": ""}',
    ],
)  # fmt: skip
def test_a_damaged_cursor_is_reported_and_read_as_missing(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "s1.json").write_bytes(damage)
    reports: list[str] = []
    assert load(tmp_path, "s1", reports.append) == Cursor("s1")
    assert len(reports) == 1
    assert str(tmp_path / "s1.json") in reports[0]


def test_a_cursor_that_is_a_directory_is_reported(tmp_path: Path) -> None:
    (tmp_path / "s1.json").mkdir()
    reports: list[str] = []
    assert load(tmp_path, "s1", reports.append) == Cursor("s1")
    assert len(reports) == 1


@given(st.text(max_size=200))
def test_any_session_id_stays_inside_the_folder(tmp_path_factory, session: str) -> None:
    root = tmp_path_factory.mktemp("root")
    folder = root / "cursors"
    save(folder, Cursor(session, 1, "u"))
    assert load(folder, session).offset == 1
    assert [path.name for path in root.iterdir()] == ["cursors"]
    assert len(list(folder.iterdir())) == 1


def test_a_failed_write_leaves_the_old_cursor_and_nothing_else(tmp_path: Path, monkeypatch) -> None:
    save(tmp_path, Cursor("s1", 1, "u"))

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        save(tmp_path, Cursor("s1", 2, "v"))
    assert load(tmp_path, "s1").offset == 1
    assert [path.name for path in tmp_path.iterdir()] == ["s1.json"]


def test_what_a_session_taught_is_known_in_its_fork(tmp_path: Path) -> None:
    first = read_session(FIXTURES / "resumed.jsonl")
    save_handled(tmp_path, Handled().plus(message.uuid for message in first.messages))
    known = load_handled(tmp_path)
    new = [m.text for m in read_session(FIXTURES / "forked.jsonl").messages if m.uuid not in known]
    assert new == ["Don't touch the changelog unless I ask for it.", "Then I will ask first."]


def fork(folder: Path, client: str) -> list[Path]:
    """A session and its fork, which begins alike; both go on."""
    files = [folder / "a.jsonl", folder / "b.jsonl"]
    for number, file in enumerate(files):
        if client == "claude-code":
            talk = Transcript()
            talk.session = f"{number}1111111-0000-4000-8000-000000000000"
            talk.user("use tabs")
            talk.agent("ok")
            talk.lines[-1:] = [*talk.lines[-1:], *([json.dumps({"type": "mode"})] * number)]
            talk.user(f"and more {number}")
            talk.write(file)
        else:
            rollout = Rollout(f"id-{number}")
            rollout.user("use tabs")
            rollout.agent("ok")
            rollout.user(f"and more {number}")
            rollout.write(file)
    return files


@pytest.mark.parametrize("client", ["claude-code", "codex"])
@pytest.mark.parametrize("order", [1, -1])
def test_a_message_is_known_in_a_fork_whichever_is_read_first(tmp_path, client: str, order: int) -> None:
    taught: list[str] = []
    for file in fork(tmp_path, client)[::order]:
        known = load_handled(tmp_path / "cursors")
        new = [one for one in read(file).messages if one.role == "person" and one.uuid not in known]
        taught += [one.text for one in new]
        save_handled(tmp_path / "cursors", known.plus(one.uuid for one in new))
    assert taught == ["use tabs", *[f"and more {number}" for number in (0, 1)][::order]]


def test_the_oldest_handled_messages_are_forgotten_first(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(reader, "HANDLED_LIMIT", 3)
    save_handled(tmp_path, Handled().plus("abcd").plus("d").plus("e"))
    known = load_handled(tmp_path)
    assert [uuid in known for uuid in "abcde"] == [False, False, True, True, True]
    assert (tmp_path / "handled").stat().st_size == 3 * 17


def test_damaged_lines_of_what_was_handled_are_reported_and_the_rest_holds(tmp_path: Path) -> None:
    save_handled(tmp_path, Handled().plus(["a", "b"]))
    with (tmp_path / "handled").open("ab") as file:
        file.write(b"\xff\xfe\n12")
    reports: list[str] = []
    known = load_handled(tmp_path, reports.append)
    assert "a" in known
    assert "b" in known
    assert len(reports) == 1
    assert load_handled(tmp_path / "none", reports.append).keys == ()
    assert len(reports) == 1
