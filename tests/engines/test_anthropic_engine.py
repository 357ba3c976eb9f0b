"""The engine `anthropic` against a Messages API that refuses what the real one would refuse."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from messages_api import Answer, Call, Failure, MessagesApi
from talk import KEY, NOW, Counting, agent, call, engine, memory, person

from gitmem.core.change import Change, Header
from gitmem.core.errors import EngineError
from gitmem.engines.engine import ExtractInput
from gitmem.engines.messages import ApiSettings
from gitmem.transcripts.claude_code import read_session

OLD = "local/main/no-mocks.md"
TREE = {
    OLD: memory("no-mocks", "Tests use the real database."),
    "local/main/quiet-ci.md": memory("quiet-ci", "CI prints failures only."),
}
HEADERS = tuple(
    Header("local", "main", f"{name}.md", name, "d", "feedback", 1_780_000_000)
    for name in ("no-mocks", "quiet-ci")
)
GIVEN = ExtractInput(
    messages=(
        person(1, "From now on, always run the linter before a commit."),
        agent(2, "I will.", call("Bash", "ok", command="ruff check")),
        person(3, "And the database for tests is postgres 17 now."),
    ),
    manifest=HEADERS,
    session="s1",
    memory=TREE,
    now=NOW,
)


@pytest.fixture
def meter() -> Counting:
    return Counting()


def reads(*paths: str) -> Answer:
    return Answer(
        thinking="x", calls=tuple(Call("Read", {"file_path": f"memory/{path}"}) for path in paths)
    )


def writes(path: str, content: bytes) -> Call:
    return Call("Write", {"file_path": f"memory/{path}", "content": content.decode()})


def by_op(changes: tuple[Change, ...]) -> dict[str, Change]:
    return {change.op: change for change in changes}


def test_a_model_reads_then_writes_then_answers_and_the_tree_becomes_changes(meter: Counting) -> None:
    new, deleted = "local/main/lint-first.md", "local/main/quiet-ci.md"
    steps = [
        reads(OLD, deleted),
        Answer(
            calls=(
                writes(new, memory("lint-first", "Run the linter before a commit.")),
                Call(
                    "Edit",
                    {
                        "file_path": f"memory/{OLD}",
                        "old_string": "real database.",
                        "new_string": "real database, postgres 17.",
                        "replace_all": True,
                    },
                ),
                Call("Write", {"file_path": f"memory/{deleted}", "content": ""}),
            )
        ),
        Answer(
            f"memory/{new}: 1: a standing instruction\n"
            f"memory/{OLD}: 3: names the version\nmemory/{deleted}: 1: gone"
        ),
    ]
    with MessagesApi(steps) as api:
        found = engine(api, meter).extract(GIVEN)
    changes = by_op(found.changes)
    assert set(changes) == {"add", "update", "delete"}
    assert changes["add"].name == "lint-first"
    assert changes["add"].origin.first == "u1"
    assert changes["update"].file == "no-mocks.md"
    assert changes["update"].edited is not None
    assert b"postgres 17" in changes["update"].edited.after
    assert changes["update"].origin.first == "u3"
    assert changes["delete"].file == "quiet-ci.md"
    assert found.usage is not None
    assert found.usage.requests == 3
    assert [told[0] for told in meter.told] == ["extract"] * 3
    # Thinking goes back as it came: it is signed.
    assert api.bodies[1]["messages"][1]["content"][0]["type"] == "thinking"


def test_after_five_turns_it_ends_and_what_was_written_counts(meter: Counting) -> None:
    last = Answer(calls=(writes("local/main/late.md", memory("late", "Late.")),))
    with MessagesApi([*[reads(OLD)] * 4, last, Answer("never asked")]) as api:
        found = engine(api, meter).extract(GIVEN)
    assert len(api.requests) == 5
    assert found.changes[0].name == "late"
    assert any("5 turns" in line for line in found.log)
    assert "last turn" in json.dumps(api.bodies[4]["messages"][-1])


def test_refused_calls_are_told_to_the_model_and_logged(meter: Counting) -> None:
    steps = [
        Answer(
            calls=(
                Call("Bash", {"command": "curl http://example.org"}),
                Call("Launch", {}),
                writes("../x.md", b"x"),
            )
        ),
        Answer("nothing"),
    ]
    with MessagesApi(steps) as api:
        found = engine(api, meter).extract(GIVEN)
    results = api.bodies[1]["messages"][-1]["content"]
    assert [result["is_error"] for result in results] == [True, True, True]
    assert len(found.log) == 3
    assert "curl" in found.log[0]


def test_a_session_of_months_is_worked_through_in_portions(meter: Counting) -> None:
    """The first extraction from a long session: nothing is left out, no request grows without bound."""
    messages = tuple(person(at, f"Note {at}. " + "word " * 2_200) for at in range(1, 26))
    asked: list[str] = []

    def decide(body: dict[str, Any]) -> Answer:
        task = body["messages"][0]["content"][-1]["text"]
        asked.append(task)
        if len(body["messages"]) > 1:
            return Answer("memory/local/main/p1.md: 1: x")
        return Answer(calls=(writes(f"local/main/p{len(asked)}.md", memory("p", f"{len(asked)}")),))

    with MessagesApi(decide) as api:
        found = engine(api, meter).extract(replace(GIVEN, messages=messages, manifest=(), memory={}))
    ranges = [re.search(r"\[(\d+)\] to \[(\d+)\] are new", task) for task in dict.fromkeys(asked)]
    seen = [number for match in ranges if match for number in range(int(match[1]), int(match[2]) + 1)]
    assert seen == list(range(1, 26))
    assert len(found.changes) == len(ranges) > 1
    assert "- p1.md [new]" in asked[-1]


def test_a_key_and_other_secrets_and_private_words_never_leave(tmp_path: Path, meter: Counting) -> None:
    secret = "ghp_" + "Ab3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    transcript = tmp_path / "s1.jsonl"
    hidden = "<private>the merger</private>"
    call_ = {
        "type": "tool_use",
        "id": "t1",
        "name": "Bash",
        "input": {"command": f"curl -u {secret} {hidden}"},
    }
    result = {
        "type": "tool_result",
        "tool_use_id": "t1",
        "content": f"token={secret} ok <private>the merger",
    }
    spoken: list[tuple[str, Any]] = [
        ("user", f"The token is {secret}, keep it. {hidden} Use tabs."),
        ("assistant", [{"type": "text", "text": f"Noted {secret}."}, call_]),
        ("user", [result]),
        ("user", f"{hidden}Also {secret}"),
    ]
    common = {"sessionId": "s1", "cwd": "/x", "timestamp": "2026-11-20T10:00:00Z", "isSidechain": False}
    with transcript.open("w") as file:
        for at, (role, content) in enumerate(spoken, 1):
            chain = {"type": role, "uuid": f"u{at}", "parentUuid": f"u{at - 1}" if at > 1 else None}
            message = {"role": role, "content": content, **({"id": "m"} if role == "assistant" else {})}
            file.write(json.dumps({**common, **chain, "message": message}) + "\n")
    said = read_session(transcript).messages
    assert len(said) >= 3
    given = ExtractInput(
        messages=said[1:],
        history=said[:1],
        manifest=(Header("local", "main", "x.md", "x", f"token {secret}", "project"),),
        rules=(f"deploy with {secret}",),
        memory={"local/main/x.md": memory("x", f"token {secret}")},
        now=NOW,
    )
    steps = [reads("local/main/x.md"), Answer("nothing"), Answer('{"chosen": []}')]
    with MessagesApi(steps) as api:
        engine(api, meter).extract(given)
        engine(api, meter).choose(f"use {secret}", given.manifest, 5)
    sent = b"".join(recorded.raw for recorded in api.requests).decode()
    assert "Use tabs" in sent
    assert secret not in sent
    assert "merger" not in sent
    assert KEY not in sent
    assert all(KEY in str(recorded.headers) for recorded in api.requests)


def test_the_key_is_not_shown_by_the_settings() -> None:
    assert KEY not in repr(ApiSettings(api_key=KEY))


def test_the_prefix_of_a_growing_session_keeps_its_bytes(meter: Counting) -> None:
    """What one extraction sent of the session the next sends first; else nothing is read from a cache."""
    said = [
        entry
        for at in range(1, 61, 2)
        for entry in (
            person(at, f"Do {at}.\n\x1b[31mred"),
            agent(at + 1, "ok", call("Edit", "fine", file_path=f"f{at}.py")),
        )
    ]
    with MessagesApi(lambda _: Answer("nothing")) as api:
        for start, end in ((0, 4), (4, 5), (5, 30), (30, 60)):
            given = replace(
                GIVEN, history=tuple(said[:start]), messages=tuple(said[start:end]), rules=("Use tabs.",)
            )
            engine(api, meter).extract(replace(given, now=NOW + start))
    marks = re.compile(rb',"cache_control":\{[^}]*\}')
    stable = [marks.sub(b"", recorded.raw) for recorded in api.requests]
    for before, after in pairwise(stable):
        kept = before[
            before.index(b'"messages":') : before.index(b',{"type":"text","text":"The record ends here')
        ]
        assert after[after.index(b'"messages":') :].startswith(kept)
        for part in (rb'"system":\[.*?\]', rb'"tools":\[.*\]'):
            assert re.search(part, before, re.DOTALL)[0] == re.search(part, after, re.DOTALL)[0]  # type: ignore[index]


def test_at_most_four_breakpoints_stand_where_the_last_extraction_ended_and_where_this_one_ends(
    meter: Counting,
) -> None:
    history = tuple(person(at, f"old {at}") for at in range(101, 140))
    with MessagesApi([reads(OLD), Answer("nothing")]) as api:
        engine(api, meter).extract(replace(GIVEN, history=history))
    for body in api.bodies:
        marked = [
            (block.get("text", "")[:12], block["cache_control"]["ttl"])
            for message in [{"content": body["system"]}, *body["messages"]]
            for block in message["content"]
            if "cache_control" in block
        ]
        assert [ttl for _, ttl in marked] == ["1h", "1h", "1h", "5m"]
        assert marked[1][0].startswith("[39]")
        assert marked[2][0].startswith("[42]")


def test_the_day_s_ceiling_holds_a_request_back(meter: Counting) -> None:
    spent = Counting(1, EngineError("the day's tokens are used up", "tomorrow"))
    with MessagesApi([reads(OLD), Answer("nothing")]) as api, pytest.raises(EngineError, match="used up"):
        engine(api, spent).extract(GIVEN)
    assert len(api.requests) == 1
    assert len(spent.told) == 1


def test_a_rate_limit_is_waited_out(meter: Counting) -> None:
    limit = Failure(429, "rate_limit_error", headers={"retry-after-ms": "1"})
    with MessagesApi([limit, limit, Answer("nothing")]) as api:
        found = engine(api, meter, retries=2).extract(GIVEN)
    assert found.usage is not None
    assert found.usage.requests == 1
    assert len(api.requests) == 3
