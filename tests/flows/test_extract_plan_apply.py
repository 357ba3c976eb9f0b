"""What a plan makes of proposals, and what a change makes of a memory: values, and no repository."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from extract_ground import KEY, Scripted, change
from transcripts import Transcript

from gitmem.core.change import Edited
from gitmem.flows.extract.plan import Rules, plan_extraction
from gitmem.flows.extract.run import from_json
from gitmem.flows.extract.sessions import turns_of
from gitmem.ledger.apply import apply
from gitmem.ledger.knowledge import KnownMemory
from gitmem.ledger.workspace import home as home_scope
from gitmem.transcripts.claude_code import read_session
from gitmem.transcripts.model import Session, ToolCall
from gitmem.transcripts.writes import writes_memory


@pytest.fixture
def read(tmp_path: Path) -> Session:
    """A session in which something was said."""
    made = Transcript()
    made.user("anything")
    return read_session(made.write(tmp_path / "s.jsonl"))


def test_a_prompt_after_the_agents_own_write_is_looked_at(tmp_path: Path) -> None:
    made = Transcript(cwd="/home/dev/app")
    made.user("Remember that we ship on Fridays.")
    made.call(
        "t1", "Write", file_path="/home/dev/.claude/projects/-home-dev-app/memory/ship.md", content="x"
    )
    made.result("t1", "ok")
    made.queue("enqueue", "Never push on Fridays.")
    made.agent("Noted.")
    made.user("Now fix it.")
    read = read_session(made.write(tmp_path / "s.jsonl"))
    looked = turns_of(read.messages, frozenset(), [], read.cwd)
    said = [m.text for m in looked.messages if m.role == "person"]
    assert said == ["Remember that we ship on Fridays.", "Never push on Fridays.", "Now fix it."]
    assert len(looked.handled) == 3 and [*looked.written.values()] == [("x",)]


@pytest.mark.parametrize(
    ("name", "input", "written"),
    [
        ("Edit", {"file_path": "/w/.claude/agent-memory/reviewer/x.md"}, True),
        ("Write", {"file_path": ".claude/agent-memory-local/reviewer/x.md"}, True),
        ("Write", {"file_path": "/elsewhere/kept/x.md"}, True),
        ("Write", {"file_path": "/elsewhere/kept/../x.md"}, False),
        ("NotebookEdit", {"notebook_path": "/w/.claude/agent-memory/reviewer/x.md"}, True),
        ("Edit", {"file_path": "/w/src/memory.md"}, False),
        ("Edit", {"file_path": 7}, False),
        ("Read", {"file_path": "/w/.claude/agent-memory/reviewer/x.md"}, False),
        ("Bash", {"command": "echo hi >> /elsewhere/kept/x.md"}, True),
        ("Bash", {"command": "cat /elsewhere/kept/x.md"}, False),
        ("Bash", {"command": "echo hi > notes.md"}, False),
        # Looking is no writing, whatever becomes of the errors.
        ("Bash", {"command": "cat /elsewhere/kept/x.md 2>/dev/null"}, False),
        ("Bash", {"command": "grep -r ports /elsewhere/kept/ > /tmp/found 2>&1"}, False),
        ("Bash", {"command": "cd /elsewhere/kept && echo hi > x.md"}, True),
        ("Bash", {"command": "cd ~/.claude/projects/-w/memory; rm x.md"}, True),
        ("Bash", {"command": "cd ~/.claude/projects/-w/memory && ls"}, False),
        ("Bash", {"command": "sed -i s/a/b/ ~/.claude/agent-memory/reviewer/x.md"}, True),
        ("Bash", {"command": "tee '/elsewhere/kept/x.md' <<<hi"}, True),
        ("Bash", {"command": "python3 -c \"open('/elsewhere/kept/x.md','w').write('x')\""}, True),
        ("Bash", {"command": "git mem remember 'We ship on Fridays'"}, True),
        ("Bash", {"command": "git mem recall shipping"}, False),
        ("memory", {"command": "create", "path": "/memories/x.md", "file_text": "x"}, True),
        ("memory", {"command": "rename", "old_path": "/memories/x.md", "new_path": "/memories/y.md"}, True),
        ("memory", {"command": "view", "path": "/memories"}, False),
        ("mcp__gitmem__memory", {"command": "str_replace", "path": "/memories/x.md"}, True),
        ("mcp__gitmem__remember", {"text": "We ship on Fridays"}, True),
        ("mcp__gitmem__recall", {"query": "shipping"}, False),
        ("mcp__other__remember", {"text": "x"}, False),
    ],
)
def test_which_tool_calls_write_memory(name: str, input: dict[str, object], written: bool) -> None:
    assert writes_memory(ToolCall("1", name, input), [Path("/elsewhere/kept")], "/w") is written
    assert not writes_memory(ToolCall("1", name, input, "no", True), [Path("/elsewhere/kept")], "/w")


def test_a_proposal_with_a_secret_is_refused_and_told_without_it(read: Session) -> None:
    engine = Scripted(change("Deploys run nightly.", reason=f"said: {KEY}"), change(f"The token is {KEY}."))
    plan = plan_extraction(read, frozenset(), KnownMemory(), engine, Rules())
    assert not plan.stored and not plan.suggested
    assert [refused.kind for refused in plan.refused] == ["secret", "secret"]
    assert KEY not in str(plan.refused)


@pytest.mark.parametrize(
    ("type", "sharing", "scope"),
    [
        ("user", "off", "local"),
        ("feedback", "off", "local"),
        ("project", "off", "local"),
        ("reference", "off", "local"),
        ("user", "review", "user"),
        ("feedback", "review", "local"),
        ("project", "review", "project"),
        ("reference", "direct", "project"),
    ],
)
def test_the_scope_of_a_new_memory(type: str, sharing: str, scope: str) -> None:
    assert home_scope(type, sharing) == scope


@pytest.mark.parametrize("end", [b"", b"\r\n\r\n"])
def test_an_update_joins_new_claims_and_keeps_the_rest(end: bytes) -> None:
    text = b"---\r\nname: ports\r\ndescription: Which ports\r\n---\r\n\r\nAPI is 80.\r\n\r\n- a\r\n- b\r\n"
    files = {"ports.md": text + end, "MEMORY.md": b"- [ports](ports.md)\n"}
    joined = apply(
        change("API is 80.\n\nDatabase is 90.", op="update", file="ports.md"), files.keys(), files.get
    )
    assert joined is not None and joined.op == "update"
    assert joined.edits == {"ports.md": text + b"\r\nDatabase is 90.\r\n"}
    assert apply(change("API is 80.", op="update", file="ports.md"), files.keys(), files.get) is None


def test_an_update_that_an_open_fence_would_swallow_is_a_memory_of_its_own() -> None:
    files = {"ports.md": b"---\nname: ports\n---\n\n```\ncode"}
    made = apply(change("Database is 90.", op="update", file="ports.md"), files.keys(), files.get)
    assert made is not None and (made.op, made.file) == ("add", "the-name.md")
    assert "ports.md" not in made.edits


def test_another_memory_of_that_name_keeps_its_file() -> None:
    files = {"The-Name.md": b"Something else.\n", "archive/ab/the-name-2.md": b"More.\n"}
    made = apply(change("A fact."), files.keys(), files.get)
    assert made is not None and made.file == "the-name-3.md"
    assert b"name: the-name-3" in (made.edits["the-name-3.md"] or b"")
    assert set(made.edits) == {"the-name-3.md"}


def test_a_deletion_waits_unless_it_was_asked_for(read: Session) -> None:
    known = KnownMemory({"local": {"main/x.md": b"---\nname: x\n---\n\nA fact.\n"}})
    gone = change("", op="delete", file="x.md", asked=False)
    plan = plan_extraction(read, frozenset(), known, Scripted(gone), Rules(mode="auto"))
    assert not plan.stored and [placed.change.op for placed in plan.suggested] == ["delete"]


@pytest.mark.parametrize("op", ["delete", "update"])
@pytest.mark.parametrize("scope", ["project", "local", "user"])
def test_what_the_team_knows_is_taken_away_after_review_alone(read: Session, scope: str, op: str) -> None:
    """Also where a model says that a person plainly asked for it."""
    before = b"---\nname: x\ndescription: x\ntype: project\n---\n\nThe API runs on Heroku.\n"
    edited = Edited(before, before.replace(b"Heroku", b"Fly")) if op == "update" else None
    gone = change("The API runs on Fly.", op=op, file="x.md", type="project", edited=edited)
    known = KnownMemory({scope: {"main/x.md": before}})
    plan = plan_extraction(read, frozenset(), known, Scripted(gone), Rules(mode="auto"))
    waits, done = ([placed.change.op for placed in found] for found in (plan.suggested, plan.stored))
    assert (waits, done) == (([op], []) if scope == "project" else ([], [op]))


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("Step 1 of the release needs root.", "Step 2 of the release needs root."),
        ("The staging grpc port is 7000.", "The production grpc port is 7001."),
        ("Never deploy the web app on Fridays.", "Deploy the web app on Fridays by 10."),
    ],
)
def test_what_may_be_of_something_else_joins_nothing_and_takes_nothing(read, known: str, said: str) -> None:
    text = f"---\nname: x\ndescription: {known}\n---\n\n{known}\n"
    there = KnownMemory({"local": {"main/x.md": text.encode()}})
    [placed] = plan_extraction(
        read, frozenset(), there, Scripted(change(said, description=said)), Rules()
    ).stored
    assert (placed.change.op, placed.change.edited) == ("add", None)


def test_a_changed_number_that_nobody_asked_to_remember_waits_as_a_replacement(read: Session) -> None:
    text = b"---\nname: x\ndescription: The grpc port is 7000\n---\n\nThe grpc port is 7000.\n"
    there = KnownMemory({"local": {"main/x.md": text}})
    said = "The grpc port is 7001.\n\n**Why:** Envoy has the other."
    one = change(said, description="The grpc port is 7001", asked=False)
    plan = plan_extraction(read, frozenset(), there, Scripted(one), Rules(mode="auto"))
    assert not plan.stored
    [placed] = plan.suggested
    assert placed.change.edited is not None
    assert (
        placed.change.edited.after == text.replace(b"7000", b"7001") + b"\n**Why:** Envoy has the other.\n"
    )


def test_feedback_joins_no_memory_of_the_team(read: Session) -> None:
    known = KnownMemory({"project": {"main/x.md": b"---\nname: x\n---\n\nA fact.\n"}, "local": {}})
    said = change("Another.", op="update", name="x", file="x.md")
    rules = Rules(sharing="direct")
    [placed] = plan_extraction(read, frozenset(), known, Scripted(said), rules).stored
    assert (placed.scope, placed.change.op) == ("local", "add")
    told = replace(said, type="project")
    [placed] = plan_extraction(read, frozenset(), known, Scripted(told), rules).stored
    assert (placed.scope, placed.change.op, placed.file) == ("project", "update", "x.md")


def test_what_a_memory_says_already_is_no_news_in_whichever_scope(read: Session) -> None:
    known = KnownMemory({"user": {"main/x.md": b"---\nname: x\n---\n\n- One.\n- A  fact\n  here.\n"}})
    plan = plan_extraction(read, frozenset(), known, Scripted(change("A fact here.")), Rules())
    assert not plan.stored and [one.op for one in plan.known] == ["noop"]
    with_why = Scripted(change("A fact here.\n\n**Why:** It was so."))
    [placed] = plan_extraction(read, frozenset(), known, with_why, Rules()).stored
    assert (placed.scope, placed.change.op, placed.file) == ("user", "update", "x.md")


@pytest.mark.parametrize("data", [b"", b"[]", b'{"version": 9}', b"\xff", b"[" * 100_000])
def test_no_changeset_makes_reading_fail(data: bytes) -> None:
    assert from_json(data) is None
