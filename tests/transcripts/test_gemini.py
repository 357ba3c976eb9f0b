"""Reading Gemini CLI recordings: who speaks, calls, rewinds, compactions, and finding them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from chats import CONTEXT, Chat, call, project_hash
from held import Held, said

from gitmem.transcripts.discover import client_of, folders, read, sessions_of
from gitmem.transcripts.gemini import read_session
from gitmem.transcripts.model import Session


class Talk(Held, Chat):
    """A session of Gemini CLI."""


@pytest.fixture
def chat(tmp_path: Path) -> Talk:
    made = Talk()
    made.file = tmp_path / "tmp/app/chats/session-2026-11-20T10-00-chat-id.jsonl"
    return made


def told(session: Session) -> list[tuple[str, str]]:
    return [(message.uuid, message.text) for message in session.messages]


def test_what_a_person_typed_is_read_and_what_the_client_puts_in_never(chat: Talk) -> None:
    chat.user("0", "<hook_context>Always lint.</hook_context>")
    chat.user("1", "We deploy from main only.", "<hook_context>Always lint.</hook_context>")
    chat.agent("2", "Understood.")
    chat.user("3", "I ran the following shell command:\n```sh\nls\n```\n\nThis produced …")
    chat.user("4", "Here is the user's editor context as a JSON object. This is for …\n```json\n{}\n```")
    chat.user("5", "- **Workspace Directories:**\n  - /home/dev/app")
    chat.user("6", "use tabs in @a.py", "\n--- Content from referenced files ---", "never", "use spaces")
    chat.message("7", "info", "Request cancelled.")
    session = chat.read()
    assert told(session) == [
        ("1", "We deploy from main only."),
        ("2", "Understood."),
        ("6", "use tabs in @a.py"),
    ]
    assert (session.id, session.client) == ("chat-id", "gemini")
    assert session.messages[0].time is not None


def test_what_the_client_adds_under_a_persons_words_is_not_said_again(chat: Talk) -> None:
    shown = {"displayContent": [{"text": "use tabs"}]}
    chat.user("1", "use tabs")
    chat.agent("2", "I do.")
    chat.user("3", "Run the linter before you stop.", **shown)
    chat.user("4", "Please continue.", **shown)
    chat.user("5", "<long instructions>", displayContent=[{"text": "/review only a.py"}])
    assert chat.said() == ["use tabs", "only a.py"]


def test_a_word_to_the_working_agent_is_a_queued_prompt(chat: Talk) -> None:
    hint = (
        "User steering update:\n<user_input>\nuse pnpm\n</user_input>\nInternal instruction: always obey."
    )
    chat.message("1", "user", [{"text": hint}, {"functionResponse": {"response": {"output": "x"}}}])
    (message,) = chat.read().messages
    assert (message.text, message.source) == ("use pnpm", "queued")


def test_calls_are_named_as_claude_code_names_them_and_have_their_results(chat: Talk) -> None:
    chat.user("1", "go")
    chat.agent(
        "2",
        "Looking.",
        call("a", "run_shell_command", "Output: x", command="ls -l"),
        call("b", "write_file", "created", file_path="n.md", content="x"),
        call("c", "replace", "no such text", "error", file_path="a.py", old_string="a", new_string="b"),
        call("d", "mcp_gitmem_remember", "kept", text="x"),
    )
    (_, reply) = chat.read().messages
    assert (reply.uuid, reply.text) == ("2", "Looking.")
    assert [(c.name, c.result, c.is_error) for c in reply.tools] == [
        ("Bash", "Output: x", False),
        ("Write", "created", False),
        ("Edit", "no such text", True),
        ("mcp__gitmem__remember", "kept", False),
    ]
    assert reply.tools[0].input == {"command": "ls -l"}


def test_answers_and_what_is_wrong_with_a_plan_are_the_persons_words(chat: Talk) -> None:
    asked = [{"question": "Which?"}]
    answer = (
        json.dumps({"answers": {"0": "Postgres", "7": "always"}}) + "\n\n<hook_context>x</hook_context>"
    )
    plan = "Plan rejected. User feedback: no mocks\n\nThe plan is stored at: p.md\nRevise it."
    chat.agent("1", "", call("a", "ask_user", answer, questions=asked), call("b", "exit_plan_mode", plan))
    chat.agent("2", "", call("c", "other_tool", answer, questions=asked))
    spoken = [m for m in chat.read().messages if m.role == "person"]
    assert [(m.text, m.source, m.context) for m in spoken] == [
        ("Postgres", "answer", "Which?"),
        ("always", "answer", ""),
        ("no mocks", "refusal", "exit_plan_mode"),
    ]
    assert len({m.uuid for m in spoken}) == 3


def test_what_was_rewound_was_not_said(chat: Talk) -> None:
    for number, text in enumerate(("one", "two", "three")):
        chat.user(f"u{number}", text)
        chat.agent(f"a{number}", f"done {text}")
    chat.rewind("u1")
    chat.user("u9", "four")
    session = chat.read()
    assert [m.text for m in session.messages] == ["one", "done one", "four"]


def test_a_compaction_says_nothing_and_its_copies_can_be_rewound(chat: Talk) -> None:
    """What is kept gets other ids; the summary that replaces the rest is no person's."""
    for number, text in enumerate(("use tabs", "use pnpm")):
        chat.user(f"u{number}", text)
        chat.agent(f"a{number}", f"done {text}")
    kept = [
        {"id": "context", "type": "user", "content": [{"text": CONTEXT}]},
        {"id": "summary", "type": "user", "content": [{"text": "The person always wants spaces."}]},
        {"id": "ack", "type": "gemini", "content": [{"text": "Got it."}]},
        {"id": "copy", "type": "user", "content": [{"text": "use pnpm"}]},
        {"id": "copied", "type": "gemini", "content": [{"text": "done use pnpm"}]},
    ]
    chat.list(*kept)
    chat.user("u2", "and ruff")
    assert chat.said() == ["use tabs", "use pnpm", "and ruff"]
    chat.rewind("copy")
    session = chat.read()
    assert told(session) == [("u0", "use tabs"), ("a0", "done use tabs")]


def test_what_was_said_before_a_resumption_can_be_rewound(chat: Talk) -> None:
    """The client empties its list first, and fills it again with the same messages."""
    for number, text in enumerate(("use tabs", "use pnpm")):
        chat.user(f"u{number}", text)
        chat.agent(f"a{number}", f"done {text}")
    earlier = list(chat.messages)
    chat.list({"id": "context", "type": "user", "content": [{"text": CONTEXT}]})
    first = chat.read()
    chat.list(*earlier)
    chat.rewind("u1")
    chat.user("u2", "use ruff")
    assert said(first) == ["use tabs", "use pnpm"]
    assert chat.said() == ["use tabs", "use ruff"]
    rest = read_session(chat.file, first.end)
    assert told(rest) == [("u2", "use ruff")]


def test_a_prompt_sent_again_after_an_interrupt_is_said_once(chat: Talk) -> None:
    first = chat.user("1", "hello")
    chat.agent("2", "hello")
    chat.user("3", "fix it")
    chat.agent("4", "I will")
    chat.list(first)
    chat.user("5", "fix it")
    assert chat.said() == ["hello", "fix it"]


def test_reading_line_by_line_gives_everything_once(chat: Talk) -> None:
    chat.user("1", "use tabs")
    chat.agent("2", "Looking.", call("a", "write_file", "created", file_path="n.md"))
    copies = [{**one, "id": f"copy-{one['id']}"} for one in chat.messages]
    chat.list(*copies)
    chat.user("3", "and pnpm")
    chat.rewind("3")
    chat.user("4", "and ruff")
    lines, chat.lines = chat.lines, []
    found, end = [], 0
    for line in lines:
        chat.lines.append(line)
        session = chat.read(end)
        found += session.messages
        end = session.end
    assert [(m.uuid, m.text, len(m.tools)) for m in found] == [
        ("1", "use tabs", 0), ("2", "Looking.", 0), ("2.2", "", 1), ("3", "and pnpm", 0),
        ("4", "and ruff", 0),
    ]  # fmt: skip
    assert end == chat.size()


def test_an_older_document_is_read_whole_and_its_messages_keep_their_ids(chat: Talk) -> None:
    chat.user("1", "use tabs")
    chat.agent("2", "ok")
    path = chat.write_document(chat.file.with_suffix(".json"))
    first = read(path)
    chat.user("3", "and pnpm")
    chat.write_document(path)
    assert client_of(path).name == "gemini"
    assert told(first) == [("1", "use tabs"), ("2", "ok")]
    assert told(read(path, first.end)) == [*told(first), ("3", "and pnpm")]
    assert read(path, path.stat().st_size).messages == ()
    path.write_text('{"sessionId": ')
    assert read_session(path).skipped == 1


def test_a_subagent_says_nothing(chat: Talk) -> None:
    other = Chat(kind="subagent")
    other.user("1", "Review this.")
    assert read_session(other.write(chat.file)).messages == ()


def test_bad_lines_are_counted_and_odd_records_passed_over(chat: Talk) -> None:
    chat.lines += ["{cut", "[]", '{"id": 5}', '{"$set": 7}', '{"$set": {"messages": [3, {"id": 4}]}}', "{}"]
    chat.message("1", "user", {"text": 5}, displayContent=7)
    chat.message("2", "gemini", None, toolCalls=[1, {}, {"id": 3, "name": [], "args": "x", "result": [{}]}])
    chat.message("3", "new kind", "use spaces")
    chat.message("4", "gemini", "", toolCalls=[call("a", "ask_user", '{"answers": [1]}', questions=5)])
    chat.user("5", "still here")
    session = chat.read()
    assert said(session) == ["still here"]
    assert session.skipped == 2


def test_sessions_are_found_by_the_hash_of_where_they_began(tmp_path: Path) -> None:
    """The client names a project's folder after the directory's last part, and another may take it over."""
    home, top, other = tmp_path / "home", tmp_path / "app", tmp_path / "else/app"
    nested = top / "vendored"
    (nested / ".git").mkdir(parents=True)
    tmp = home / ".gemini/tmp"
    for folder, name, cwd in (
        ("app", "one", top),
        ("app", "taken", other),
        ("src", "below", top / "src"),
        ("odd", "registered", top / "doc"),
        ("vendored", "nested", nested),
        ("gone", "unknown", top / "gone"),
    ):
        chat = Chat(name, str(cwd))
        chat.user("1", "use tabs")
        chat.write(tmp / folder / f"chats/session-{name}.jsonl")
    (tmp / "src/.project_root").write_text(f"{top}/src")
    (tmp / "vendored/.project_root").write_text(str(nested))
    (home / ".gemini/projects.json").write_text(json.dumps({"projects": {f"{top}/doc": "odd"}}))
    chats = tmp / "app/chats"
    chat.head["projectHash"] = project_hash(str(top))
    chat.write_document(chats / "session-one.json")
    Chat("stub", str(top)).write(chats / "session-stub.jsonl")
    chat = Chat("sub", str(top), kind="subagent")
    chat.user("1", "Review this.")
    chat.write(chats / "session-sub.jsonl")
    chat.write(chats / "one/sub.jsonl")
    (chats / "session-link.jsonl").symlink_to(chats / "session-one.jsonl")
    (tmp / "linked").symlink_to(tmp / "app")
    found = sessions_of(folders({}, home), [top])
    assert sorted(one.id for one in found) == ["below", "one", "registered"]
    assert {read(one.path).cwd for one in found} == {str(top), f"{top}/src", f"{top}/doc"} - {str(top)} | {
        ""
    }
    assert folders({"GEMINI_CLI_HOME": "/x"}, home)["gemini"] == Path("/x/.gemini")
