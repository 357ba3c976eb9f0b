"""Reading OpenCode's database: who speaks, reading on, and what a broken or hostile one can do."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from database import SESSION, Database, call, typed

from gitmem.core.errors import RepositoryError
from gitmem.transcripts import discover
from gitmem.transcripts.model import todos_of
from gitmem.transcripts.opencode import ROW_BYTES, data_folder, sessions_of


@pytest.fixture
def base(tmp_path: Path) -> Database:
    return Database(tmp_path / "opencode")


def texts(base: Database, start: int = 0, session: str = SESSION) -> list[str]:
    read = discover.read(base.path / session, start)
    return [one.text for one in read.messages if one.role == "person"]


def test_the_recorded_session_is_read_as_it_was_held(base: Database) -> None:
    session = discover.read(base.path / SESSION)
    assert [(one.role, one.text) for one in session.messages] == [
        ("person", "Remember that we deploy from release only. Now write it"),
        ("agent", "I will write it."),
        ("agent", "Done and dusted."),
        ("person", "And never push on Fridays."),
        ("agent", "Done and dusted."),
    ]
    assert (session.id, session.client, session.cwd, session.skipped) == (
        SESSION, "opencode", "/home/dev/app", 0,
    )  # fmt: skip
    assert session.messages[0].time == datetime(2026, 11, 23, 8, 50, 46, 873000, UTC)
    written, listed = session.messages[1].tools
    assert (written.name, written.input["file_path"], written.input["content"]) == (
        "Write",
        "/home/dev/app/note.md",
        "hello note\n",
    )
    assert (listed.name, listed.input["command"], listed.is_error) == ("Bash", "ls", False)
    assert session.end == discover.size_of(base.path / SESSION)


def test_a_message_is_left_until_its_parts_are_there(base: Database) -> None:
    """The client writes the row first, and its text seconds later."""
    whole = discover.read(base.path / SESSION)
    late = base.message("user")
    read = discover.read(base.path / SESSION, whole.end)
    assert (read.messages, read.end) == ((), whole.end)
    base.parts(late, typed("late"))
    assert texts(base, whole.end) == ["late"]


def test_an_agent_at_work_is_left_and_a_killed_one_is_not(base: Database) -> None:
    whole = discover.read(base.path / SESSION)
    base.prompt("Remember this.")
    base.message("assistant", typed("half"), time={"created": 1})
    read = discover.read(base.path / SESSION, whole.end)
    assert [one.text for one in read.messages] == ["Remember this."]
    base.prompt("again")
    assert [one.text for one in discover.read(base.path / SESSION, read.end).messages] == ["half", "again"]


def test_what_was_taken_back_is_not_read(base: Database) -> None:
    base.prompt("kept")
    gone = base.prompt("taken back")
    base.run("UPDATE session SET revert = ?", json.dumps({"messageID": gone}))
    assert texts(base)[2:] == ["kept"]
    assert discover.size_of(base.path / SESSION) == discover.read(base.path / SESSION).end


def test_what_the_client_adds_and_what_is_private_is_not_said(base: Database) -> None:
    base.message(
        "user",
        typed("look <private>SECRET</private>at it"),
        typed("Called the Read tool", synthetic=True),
        typed("old", ignored=True),
        {"type": "file", "url": "file:///a", "mime": "text/plain"},
        {"type": "compaction"},
    )
    base.message("assistant", typed("a summary"), summary=True)
    base.message(
        "assistant", call("bash", {"command": "echo <private>SECRET</private>"}, output="<private>SECRET")
    )
    read = discover.read(base.path / SESSION)
    assert [one.text for one in read.messages[-2:]] == ["look at it", ""]
    assert "SECRET" not in repr(read) and "summary" not in repr(read)


def test_answers_refusals_todos_and_patches_are_told_apart(base: Database) -> None:
    asked = {"questions": [{"question": "Which?"}, {"question": "When?"}]}
    refused = (
        "The user rejected permission to use this specific tool call with the following feedback: not main"
    )
    patch = "*** Begin Patch\n*** Add File: a.md\n+x\n*** Update File: b.md\n@@\n*** End Patch"
    todos = {"todos": [{"content": "one", "status": "pending"}, {"content": "two", "status": "completed"}]}
    id = base.message(
        "assistant",
        call("question", asked, metadata={"answers": [["this", "that"], []]}),
        call("bash", {"command": "git push"}, status="error", error=refused),
        call("bash", {"command": "x"}, status="error", error="The user rejected permission to use this."),
        call("apply_patch", {"patchText": patch}),
        call("todowrite", todos),
    )
    said = discover.read(base.path / SESSION).messages[-3:]
    assert [(one.uuid, one.text, one.source, one.context) for one in said[1:]] == [
        (f"{id}.2", "this, that", "answer", "Which?"),
        (f"{id}.3", "not main", "refusal", "Bash"),
    ]
    assert [(one.name, one.is_error) for one in said[0].tools] == [
        ("question", False), ("Bash", True), ("Bash", True), ("Write", False), ("Edit", False),
        ("TodoWrite", False),
    ]  # fmt: skip
    assert [one.text for one in todos_of(said[0].tools) if not one.done] == ["one"]


def test_sessions_of_a_repository_are_found_and_no_others(tmp_path: Path) -> None:
    base = Database(tmp_path / "opencode", str(tmp_path / "repo"))
    base.session("ses_below", str(tmp_path / "repo/src"))
    base.session("ses_other", str(tmp_path / "other"))
    base.session("ses_child", str(tmp_path / "repo"), parent=SESSION)
    base.session("../../x", str(tmp_path / "repo"))
    found = sessions_of(tmp_path / "opencode", [tmp_path / "repo"])
    assert [file.id for file in found] == [SESSION, "ses_below"]
    assert all(file.client == "opencode" and discover.read(file.path).id == file.id for file in found)
    assert found == discover.sessions_of({"opencode": tmp_path / "opencode"}, [tmp_path / "repo"])


def test_the_folder_follows_the_data_home(tmp_path: Path) -> None:
    assert data_folder({}, tmp_path) == tmp_path / ".local/share/opencode"
    assert data_folder({"XDG_DATA_HOME": "relative"}, tmp_path) == tmp_path / ".local/share/opencode"
    assert data_folder({"XDG_DATA_HOME": "/data"}, tmp_path) == Path("/data/opencode")


def link(path: Path) -> None:
    path.rename(path.with_name("real.db"))
    path.symlink_to(path.with_name("real.db"))


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    "spoil",
    [
        link,
        pipe,
        Path.unlink,
        lambda path: path.write_bytes(b"SQLite format 3\0" + b"x" * 4096),
        lambda path: path.write_bytes(b""),
    ],
)
def test_what_is_no_database_is_refused(base: Database, spoil: Callable[[Path], object]) -> None:
    for more in ("-wal", "-shm"):
        base.path.with_name(base.path.name + more).unlink(missing_ok=True)
    spoil(base.path)
    with pytest.raises(RepositoryError):
        discover.read(base.path / SESSION)
    assert sessions_of(base.path.parent, [Path("/home/dev/app")]) == ()


def test_a_view_in_place_of_a_table_is_refused(base: Database) -> None:
    base.run("ALTER TABLE part RENAME TO kept; CREATE VIEW part AS SELECT * FROM kept")
    with pytest.raises(RepositoryError, match="no sessions"):
        discover.read(base.path / SESSION)


def test_rows_that_make_no_sense_or_are_too_long_are_passed_over(base: Database) -> None:
    base.message("user", typed("x" * ROW_BYTES), typed("short"))
    base.run("INSERT INTO part VALUES ('p', ?, ?, 0, 0, '[1, {')", "msg_odd", SESSION)
    for data in (
        "null",
        '{"role":"user","time":7}',
        "[" * 5_000,
        '{"role":"assistant","time":{"completed":1}}',
    ):
        base.run("INSERT INTO message VALUES (?, ?, 'later', 0, ?)", f"odd{len(data)}", SESSION, data)
    base.message(
        "user", {"type": "text", "text": 7}, {"type": "tool", "state": 3}, {"type": "tool"}, typed("end")
    )
    read = discover.read(base.path / SESSION)
    assert [one.text for one in read.messages if one.role == "person"][2:] == ["short", "end"]
    assert read.skipped == 1
