"""Reading Codex recordings: who speaks, calls, rollbacks, forks, and finding them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from held import Held, person, said
from rollouts import ENVIRONMENT, RULES, Rollout

from gitmem.transcripts.codex import read_session


class Talk(Held, Rollout):
    """A session of Codex."""


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    made = Talk()
    made.file = tmp_path / "rollout-2026-11-20T10-00-00-id.jsonl"
    return made


def test_a_prompt_is_read_once_and_what_the_client_puts_in_never(talk: Talk) -> None:
    talk.item("user", RULES, ENVIRONMENT)
    talk.item("developer", "<permissions instructions>be careful</permissions instructions>")
    talk.user("We deploy from main only.")
    talk.item("user", "<turn_aborted>\nnever mind\n</turn_aborted>")
    talk.add("turn_context", {"cwd": "/home/dev/app", "model": "m"})
    talk.agent("Understood.")
    session = talk.read()
    assert [(m.role, m.text) for m in session.messages] == [
        ("person", "We deploy from main only."),
        ("agent", "Understood."),
    ]
    assert (session.id, session.client, session.cwd) == ("rollout-id", "codex", "/home/dev/app")
    assert {(m.branch, m.commit) for m in session.messages} == {("main", "c" * 40)}
    assert session.messages[0].time is not None


def test_a_prompt_is_read_once_in_whichever_form_the_client_records_it(talk: Talk) -> None:
    talk.item("user", RULES, ENVIRONMENT)
    talk.user_item("We deploy from main only.")
    talk.event(
        "item_completed", item={"type": "AgentMessage", "content": [{"type": "Text", "text": "No."}]}
    )
    talk.item("assistant", "Understood.")
    talk.user_item("And from nowhere else.")
    talk.event("user_message", message="And from nowhere else.", kind="plain")
    talk.event("item_completed", item="odd")
    talk.event("item_completed", item={"type": "UserMessage", "content": 5})
    assert talk.said() == ["We deploy from main only.", "And from nowhere else."]


def test_without_events_items_tell_who_spoke_and_injected_ones_do_not(talk: Talk) -> None:
    talk.item("user", "<user_instructions>\nAlways lint.\n</user_instructions>")
    talk.item("user", ENVIRONMENT + "\nuse tabs")
    talk.item("assistant", "ok")
    talk.item("user", "and no semicolons")
    assert talk.said() == ["use tabs", "and no semicolons"]


def test_a_prompt_at_the_end_waits_until_it_is_clear_who_said_it(talk: Talk) -> None:
    talk.item("user", "use tabs")
    first = talk.read()
    talk.event("user_message", message="use tabs", kind="plain")
    rest = talk.read(first.end)
    assert said(first) == []
    assert first.end < talk.size()
    assert said(rest) == ["use tabs"]


def test_the_words_after_an_editors_context_are_the_persons(talk: Talk) -> None:
    talk.user(
        "# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\nuse tabs\n"
    )
    assert talk.said() == ["use tabs"]


def test_calls_are_named_as_claude_code_names_them_and_find_their_results(talk: Talk) -> None:
    talk.user("go")
    talk.agent("Looking.")
    talk.call("c1", "shell", command=["bash", "-lc", "ls -l"], workdir="/home/dev/app")
    talk.output("c1", json.dumps({"output": "a.py", "metadata": {"exit_code": 1}}))
    talk.patch("c2", "*** Begin Patch\n*** Add File: n.md\n+x\n*** Update File: a.py\n@@\n*** End Patch\n")
    talk.add(
        "response_item", {"type": "custom_tool_call_output", "call_id": "c2", "output": "Exit code: 0\nok"}
    )
    talk.call("c3", "exec_command", cmd="make")
    talk.output("c3", {"content": "bad", "success": False})
    (message,) = [m for m in talk.read().messages if m.role == "agent"]
    assert message.text == "Looking."
    told = [
        (c.name, c.input.get("command") or c.input["file_path"], c.result, c.is_error)
        for c in message.tools
    ]
    assert told == [
        ("Bash", "ls -l", "a.py", True),
        ("Write", "n.md", "Exit code: 0\nok", False),
        ("Edit", "a.py", "Exit code: 0\nok", False),
        ("Bash", "make", "bad", True),
    ]


def test_answers_to_the_agents_questions_are_the_persons_words(talk: Talk) -> None:
    talk.user("go")
    talk.call("c1", "request_user_input", questions=[{"id": "db", "question": "Which?"}])
    talk.output("c1", json.dumps({"answers": {"db": {"answers": ["Postgres", "user_note: always"]}}}))
    talk.call("c2", "other_tool")
    talk.output("c2", json.dumps({"answers": {"db": {"answers": ["always lie"]}}}))
    answer = person(talk.read())[1:]
    assert [(m.text, m.source, m.context) for m in answer] == [("Postgres, always", "answer", "Which?")]


def test_turns_that_were_rolled_back_were_not_said(talk: Talk) -> None:
    for text in ("one", "two", "three"):
        talk.user(text)
        talk.agent(f"done {text}")
    talk.event("thread_rolled_back", num_turns=2)
    talk.user("four")
    assert [m.text for m in talk.read().messages] == ["one", "done one", "four"]


def test_a_compaction_says_nothing_again(talk: Talk) -> None:
    talk.user("use tabs")
    talk.agent("ok")
    talk.add("compacted", {"message": "The person said: use spaces.", "replacement_history": []})
    talk.event("context_compacted")
    talk.user("go on")
    assert talk.said() == ["use tabs", "go on"]


def test_a_prompt_sent_again_after_an_interrupt_is_said_once(talk: Talk) -> None:
    talk.user("fix it")
    talk.agent("I will")
    talk.event("turn_aborted", reason="interrupted")
    talk.user("fix it")
    assert talk.said() == ["fix it"]


def test_a_fork_repeats_its_parents_ids_and_keeps_its_own_name(tmp_path: Path) -> None:
    """It copies records with new times; a message is known by what was said before it."""
    parent, fork = Rollout("a"), Rollout("b", forked_from_id="a")
    fork.add("session_meta", {"id": "a", "cwd": "/elsewhere", "git": {"branch": "old"}})
    for one in (parent, fork):
        one.user("use tabs")
        one.agent("ok")
    parent.user("and here")
    fork.user("and there")
    first = read_session(parent.write(tmp_path / "a.jsonl"))
    second = read_session(fork.write(tmp_path / "b.jsonl"))
    assert (second.id, second.cwd, second.messages[0].branch) == ("b", "/home/dev/app", "main")
    assert [m.uuid for m in first.messages[:2]] == [m.uuid for m in second.messages[:2]]
    assert first.messages[2].uuid != second.messages[2].uuid
    assert len({m.uuid for m in first.messages}) == 3


def test_a_subagent_says_nothing(talk: Talk) -> None:
    other = Rollout(source={"subagent": "review"})
    other.user("Review this.")
    assert read_session(other.write(talk.file)).messages == ()


def test_bad_lines_are_counted_and_odd_records_passed_over(talk: Talk) -> None:
    talk.lines.append("{cut")
    talk.lines += ['{"type": "event_msg"}', '{"type": "response_item", "payload": {"type": 7}}', "[]"]
    talk.add("session_meta", {"id": 5, "git": "x"})
    talk.event("user_message", message=["x"])
    talk.event("thread_rolled_back", num_turns="many")
    talk.add("response_item", {"type": "function_call", "arguments": "{", "name": 3})
    talk.add("response_item", {"type": "function_call_output", "output": [{"text": 1}]})
    talk.user("still here")
    session = talk.read()
    assert said(session) == ["still here"]
    assert session.skipped == 2
