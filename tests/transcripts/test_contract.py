"""What every client's reader promises, whatever it records: one conversation in five dialects."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from chats import Chat, qwen_record
from chats import call as gemini_call
from database import Database, typed
from database import call as opencode_call
from rollouts import Rollout
from transcripts import Transcript

from gitmem.core.errors import RepositoryError
from gitmem.transcripts.claude_home import slug
from gitmem.transcripts.discover import client_of, folders, read, sessions_of, size_of

FIRST = "We deploy <private>SECRET</private>from the release branch only."
LAST = "Never push on Fridays."
CONTENT = "x<private>SECRET</private>"
SESSION = "11111111-0000-4000-8000-000000000000"
Hold = Callable[..., Path]


def claude_code(home: Path, cwd: str, *more: str) -> Path:
    made = Transcript(SESSION, cwd)
    made.user(FIRST)
    made.call("t1", "Write", file_path="/a.md", content=CONTENT)
    made.result("t1", "ok <private>SECRET</private>")
    made.agent("Done.")
    for text in (LAST, *more):
        made.user(text)
        made.agent("Yes.")
    folder = home / ".claude/projects" / slug(Path(cwd))
    folder.mkdir(parents=True, exist_ok=True)
    return made.write(folder / f"{SESSION}.jsonl")


def codex(home: Path, cwd: str, *more: str) -> Path:
    made = Rollout(SESSION, cwd)
    made.user(FIRST)
    made.patch("t1", f"*** Begin Patch\n*** Add File: /a.md\n+{CONTENT}\n*** End Patch")
    made.output("t1", "ok <private>SECRET</private>")
    made.agent("Done.")
    for text in (LAST, *more):
        made.user(text)
        made.agent("Yes.")
    return made.write(home / ".codex/sessions/2026/11/20" / f"rollout-{SESSION}.jsonl")


def gemini(home: Path, cwd: str, *more: str) -> Path:
    made = Chat(SESSION, cwd)
    made.user("1", FIRST)
    output = "ok <private>SECRET</private>"
    made.agent("2", "Done.", gemini_call("t1", "write_file", output, file_path="/a.md", content=CONTENT))
    for number, text in enumerate((LAST, *more)):
        made.user(f"p{number}", text)
        made.agent(f"a{number}", "Yes.")
    return made.write(home / ".gemini/tmp/app/chats" / f"session-{SESSION}.jsonl")


def opencode(home: Path, cwd: str, *more: str) -> Path:
    folder = home / ".local/share/opencode"
    for file in folder.glob("*.db*"):
        file.unlink()
    base = Database(folder, recorded=False)
    place = base.session(SESSION, cwd)
    base.prompt(FIRST, SESSION)
    given = {"filePath": "/a.md", "content": CONTENT}
    wrote = opencode_call("write", given, output="ok <private>SECRET</private>")
    base.message("assistant", typed("Done."), wrote, session=SESSION)
    for text in (LAST, *more):
        base.prompt(text, SESSION)
        base.message("assistant", typed("Yes."), session=SESSION)
    return place


def qwen(home: Path, cwd: str, *more: str) -> Path:
    call = {"id": "t1", "name": "write_file", "args": {"file_path": "/a.md", "content": CONTENT}}
    result = {"id": "t1", "response": {"output": "ok <private>SECRET</private>"}}
    said: list[tuple[str, dict[str, object]]] = [
        ("user", {"text": FIRST}),
        ("assistant", {"functionCall": call}),
        ("tool_result", {"functionResponse": result}),
        ("assistant", {"text": "Done."}),
    ]
    for text in (LAST, *more):
        said += [("user", {"text": text}), ("assistant", {"text": "Yes."})]
    path = home / ".qwen/projects/app/chats" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    where = {"sessionId": SESSION, "cwd": cwd}
    path.write_text("".join(qwen_record(at, kind, [part], **where) for at, (kind, part) in enumerate(said)))
    return path


HOLD: dict[str, Hold] = {
    "claude-code": claude_code, "codex": codex, "gemini": gemini, "opencode": opencode, "qwen": qwen,
}  # fmt: skip


@pytest.fixture(params=HOLD)
def client(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def hold(client: str, tmp_path: Path) -> Hold:
    """Holds the conversation, with more prompts at its end; returns where it is recorded."""
    return lambda *more: HOLD[client](tmp_path, str(tmp_path / "repo"), *more)


def test_who_said_what_and_which_file_was_written(hold: Hold, client: str) -> None:
    session = read(hold())
    assert (session.id, session.client, session.skipped) == (SESSION, client, 0)
    person = [one for one in session.messages if one.role == "person"]
    assert [(one.text, one.source) for one in person] == [
        ("We deploy from the release branch only.", "prompt"),
        (LAST, "prompt"),
    ]
    replies = [one.text for one in session.messages if one.role == "agent" and one.text]
    assert replies == ["Done.", "Yes."]
    (call,) = [call for one in session.messages for call in one.tools]
    assert (call.name, call.input["file_path"], call.is_error) == ("Write", "/a.md", False)
    assert call.result == "ok "
    assert len({one.uuid for one in session.messages}) == len(session.messages)


def test_nothing_private_is_left(hold: Hold) -> None:
    assert "SECRET" not in repr(read(hold()))


def test_reading_twice_gives_the_same_and_reading_on_only_what_is_new(hold: Hold) -> None:
    path = hold()
    whole = read(path)
    assert read(path) == whole
    assert whole.end == size_of(path)
    assert read(path, whole.end).messages == ()
    path = hold("And tag releases.")
    assert size_of(path) > whole.end
    added = read(path, whole.end).messages
    assert [one.text for one in added] == ["And tag releases.", "Yes."]


def test_parts_are_together_the_whole(hold: Hold) -> None:
    path, end, said = hold("And tag releases."), 0, []
    while end < size_of(path):
        read_on = read(path, end, most=1)
        said += [one.text for one in read_on.messages if one.role == "person"]
        assert read_on.end > end
        end = read_on.end
    assert said == ["We deploy from the release branch only.", LAST, "And tag releases."]


def test_a_session_is_found_in_its_repository_alone(hold: Hold, client: str, tmp_path: Path) -> None:
    path = hold()
    places = folders({}, tmp_path)
    (found,) = sessions_of(places, [tmp_path / "repo"])
    assert (found.path, found.id, found.client) == (path, SESSION, client)
    assert found.size > 0 and found.mtime_ns > 0
    assert client_of(path).name == client
    assert sessions_of(places, [tmp_path / "other"]) == ()


def test_a_record_of_no_known_form_is_passed_over(hold: Hold, client: str) -> None:
    path, known = hold(), [one.text for one in read(hold()).messages]
    if client != "opencode":  # whose records are rows
        odd = '{"type": {}, "sessionId": [], "payload": {}, "message": 1, "cwd": 2, "uuid": []}'
        path.write_text(f"{odd}\n{path.read_text('utf-8')}", "utf-8")
    assert client_of(path).name == client
    assert [one.text for one in read(path).messages] == known


def test_what_is_behind_a_link_is_refused(hold: Hold, client: str, tmp_path: Path) -> None:
    path = hold()
    file = path.parent if client == "opencode" else path
    aside = tmp_path / "aside"
    file.rename(aside)
    file.symlink_to(aside)
    assert sessions_of(folders({}, tmp_path), [tmp_path / "repo"]) == ()
    with pytest.raises(RepositoryError):
        read(path)


def test_reading_writes_nothing(hold: Hold, client: str, tmp_path: Path) -> None:
    path = hold()
    recorded = path.parent if client == "opencode" else path
    before = recorded.read_bytes(), {one.name for one in recorded.parent.iterdir()}
    read(path)
    sessions_of(folders({}, tmp_path), [tmp_path / "repo"])
    beside = {one.name for one in recorded.parent.iterdir()} - {"opencode.db-wal", "opencode.db-shm"}
    assert recorded.read_bytes() == before[0] and beside <= before[1]
