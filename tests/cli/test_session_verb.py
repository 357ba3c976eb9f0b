"""session list, show and grep: narrow, without secrets, and with nothing that steers a terminal."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from cli_ground import Ground

from gitmem.transcripts.claude_home import slug

FIRST = "aaaaaaaa-0000-4000-8000-000000000001"
SECOND = "aaaaaaaa-0000-4000-8000-000000000002"
KEY = "ghp_" + "k3Jx9Qw2Lm5Np8Rt1Vy4Zb7Cd0Fg6Hs2Aa9Q"


def record(id: str, number: int, kind: str, content: Any, cwd: Path) -> str:
    uuid = f"{id[-1]}{number:07d}-0000-4000-8000-000000000000"
    parent = f"{id[-1]}{number - 1:07d}-0000-4000-8000-000000000000" if number else None
    stamp = f"2026-11-20T10:00:{number:02d}.000Z"
    return json.dumps(
        {
            "type": kind,
            "uuid": uuid,
            "parentUuid": parent,
            "sessionId": id,
            "cwd": str(cwd),
            "gitBranch": "main",
            "timestamp": stamp,
            "message": {"role": kind, "content": content},
        }
    )


@pytest.fixture
def recorded(ground: Ground) -> Ground:
    top = ground.repo.resolve()
    folder = ground.edges.config / "projects" / slug(top)
    folder.mkdir(parents=True)
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": f"login {KEY}"}}
    result = {
        "type": "tool_result",
        "tool_use_id": "t1",
        "content": "\n".join(f"row {n}" for n in range(40)),
    }
    talks: dict[str, list[tuple[str, object]]] = {
        FIRST: [
            ("user", f"deploy with {KEY}\nbut never\x1b[31m on Fridays\nplease"),
            ("assistant", [call]),
        ],
        SECOND: [("user", "what about acme?"), ("user", "use tabs, never spaces")],
    }
    talks[FIRST] += [
        ("user", [result]),
        ("assistant", [{"type": "text", "text": "Never on Fridays, noted."}]),
    ]
    for at, (id, said) in enumerate(talks.items()):
        path = folder / f"{id}.jsonl"
        lines = [record(id, n, kind, content, top) for n, (kind, content) in enumerate(said)]
        path.write_text("".join(f"{line}\n" for line in lines))
        os.utime(path, (ground.now + at, ground.now + at))
    return ground


def test_list_shows_the_newest_first_with_ids_that_tell_them_apart(recorded: Ground) -> None:
    lines = recorded.run("session", "list").out.splitlines()
    assert [line.split()[:2] for line in lines] == [[SECOND, "claude-code"], [FIRST, "claude-code"]]
    assert "2 prompts" in lines[0]
    assert lines[0].endswith("what about acme?")
    assert KEY not in lines[1]
    done = recorded.run("session", "list", "-n", 1)
    assert len(done.out.splitlines()) == 1
    assert "1 older" in done.err
    (_, first) = recorded.run("session", "list", "--json").json
    assert (first["id"], first["prompts"], first["began"]) == (FIRST, 1, "2026-11-20T10:00:00Z")


def test_show_prints_what_was_said_and_cuts_what_tools_gave(recorded: Ground) -> None:
    out = recorded.run("session", "show", FIRST).out
    assert "Never on Fridays, noted." in out
    assert r"never\x1b[31m on Fridays" in out
    assert KEY not in out
    assert "login" in out
    assert "row 2" in out
    assert "row 3" not in out
    assert "37 lines more" in out
    only = recorded.run("session", "show", FIRST, "--person").out
    assert "noted" not in only
    shown = recorded.run("session", "show", FIRST, "--json").json
    assert [m["role"] for m in shown["messages"]] == ["person", "agent", "agent"]
    assert KEY not in json.dumps(shown)
    assert shown["messages"][0]["branch"] == "main"


def test_an_id_that_is_short_or_unknown_is_refused(recorded: Ground) -> None:
    assert FIRST in recorded.run("session", "show", "aaaa", code=2).err
    assert "list" in recorded.run("session", "show", "ffff", code=2).err
    assert "list" in recorded.run("session", "show", "", code=2).err


def test_grep_shows_a_few_lines_around_each_hit_of_all_terms(recorded: Ground) -> None:
    done = recorded.run("session", "grep", "NEVER", "fridays")
    assert done.out.count("> ") == 2
    assert done.out.startswith(FIRST)
    assert KEY not in done.out
    assert r"> but never\x1b[31m on Fridays" in done.out
    assert "  please" in done.out
    assert "row" not in done.out
    (hit,) = recorded.run("session", "grep", "never", "--session", SECOND, "--json").json
    assert (hit["session"], hit["message"], hit["lines"], hit["at"]) == (
        SECOND,
        2,
        ["use tabs, never spaces"],
        0,
    )
    assert "more than 1 hit" in recorded.run("session", "grep", "never", "-n", 1).err
    assert recorded.run("session", "grep", "nowhere", code=1).out == ""
    assert "no term" in recorded.run("session", "grep", " ", code=2).err


def test_messages_that_are_to_be_ignored_are_not_shown(recorded: Ground, git) -> None:
    git("-C", recorded.repo, "config", "gitmem.ignore", "ACME")
    assert "acme" not in recorded.run("session", "show", SECOND).out
    assert recorded.run("session", "grep", "acme", code=1).out == ""
    git("-C", recorded.repo, "config", "gitmem.ignore", "/(a+)+b/")
    assert "gitmem.ignore" in recorded.run("session", "show", SECOND, code=2).err
