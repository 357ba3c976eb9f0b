"""What the last recalls showed is kept in words of memory alone, in bounds, for the next dream."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from cli_ground import Ground, memory
from hypothesis import given
from hypothesis import strategies as st

from gitmem.app.session_context import user_prompt
from gitmem.flows import last_recalls
from gitmem.flows.last_recalls import asked_before, record_of
from gitmem.flows.pause import pause, unpause
from gitmem.ledger import scrub
from gitmem.ledger.workspace import Scope
from gitmem.rules import secrets
from gitmem.rules.findable import RecallWitness

TOKEN = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0hL3nR6"
"""Has the form of a credential; put together here, so that no scanner takes this file for a leak."""


@pytest.fixture
def filled(ground: Ground) -> Iterator[Ground]:
    ground.learn({"reviewer/ports.md": memory("ports", "Port 8080 is taken by the proxy.")})
    ground.learn(
        {"main/tone.md": memory("tone", "Greetings in letters stay formal.", type="user")}, "local"
    )
    yield ground


def prompt(ground: Ground, text: str, session: str) -> str:
    payload = {"session_id": session, "cwd": str(ground.repo), "prompt": text}
    return user_prompt(payload, lambda job: None)


def record(ground: Ground, scope: str = "project") -> Path:
    return record_of(ground.workspace.scope(scope))


def before(ground: Ground, scope: str = "project") -> tuple[RecallWitness, ...]:
    return asked_before(ground.workspace.scope(scope))


def test_a_prompt_is_kept_in_the_words_that_memory_has(filled: Ground) -> None:
    assert prompt(filled, f"which ports are taken by the proxy? Ann has {TOKEN}", "s-1")
    text = record(filled).read_text()
    assert json.loads(text) == {"query": "ports take proxy", "shown": ["reviewer/ports.md"]}
    assert before(filled) == (RecallWitness("ports take proxy", "reviewer/ports.md"),)
    assert record(filled).stat().st_mode & 0o777 == 0o600


def test_the_command_line_and_mcp_keep_theirs_and_scopes_are_told_apart(filled: Ground) -> None:
    filled.run("recall", "formal", "greeting")
    assert before(filled, "local") == (RecallWitness("formal greetings", "main/tone.md"),)
    assert before(filled) == () == before(filled, "user")
    assert not record(filled).exists() and record(filled, "local").parent == filled.workspace.private_state
    from gitmem.mcp.call import Call
    from gitmem.mcp.tools import recall

    recall(Call(filled.workspace, filled.edges, "test"), "port of the proxy")
    assert before(filled) == (RecallWitness("port proxy", "reviewer/ports.md"),)


def test_what_is_private_paused_switched_off_or_of_the_past_is_not_kept(filled: Ground) -> None:
    state = filled.workspace.state
    assert prompt(filled, "the proxy port <private>for Ben</private>?", "s-1")
    pause(state, filled.now)
    assert prompt(filled, "the proxy port?", "s-2")
    unpause(state, filled.now + 1)
    filled.tick()
    filled.run("recall", "--at", "~0", "the", "proxy", "port")
    filled.workspace.git.run(["config", "gitmem.ignore", "proxy"], git_dir=filled.repo / ".git")
    assert prompt(filled, "the proxy port?", "s-3")
    filled.workspace.git.run(["config", "--unset", "gitmem.ignore"], git_dir=filled.repo / ".git")
    payload = {"session_id": "s-4", "cwd": str(filled.repo), "prompt": "the proxy port?"}
    assert user_prompt(payload), "no job may be left: extraction is off in this session"
    filled.patch.setenv("GITMEM_DISABLE", "1")
    filled.run("recall", "proxy", "port")
    assert not record(filled).exists()
    filled.patch.delenv("GITMEM_DISABLE")
    filled.run("recall", "nothing", "of", "the", "kind")
    assert not record(filled).exists(), "nothing was shown"


def test_the_record_is_bounded(filled: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(last_recalls, "LARGEST", 2_000)
    monkeypatch.setattr(last_recalls, "KEPT", 5)
    words = " ".join(f"word{n}" for n in range(300))
    filled.learn({"main/many.md": memory("many", words)})
    for number in range(12):
        assert prompt(filled, words, f"s-{number}")
        assert record(filled).stat().st_size < 2_000 + 1_000
    rows = [json.loads(line) for line in record(filled).read_text().splitlines()]
    assert len(rows) < 12 and all(len(row["query"]) <= last_recalls.QUERY_CHARS for row in rows)
    record(filled).write_bytes(b"x" * 100_000)
    record(filled).chmod(0o644)
    assert prompt(filled, "the proxy port", "s-20")
    assert len(before(filled)) == 1
    assert record(filled).stat().st_size < 1_000 and record(filled).stat().st_mode & 0o777 == 0o600


def test_no_link_and_no_device_is_followed(filled: Ground, tmp_path: Path) -> None:
    target = tmp_path / "theirs"
    target.write_text("mine\n")
    record(filled).symlink_to(target)
    assert prompt(filled, "the proxy port", "s-1"), "the prompt is answered all the same"
    assert target.read_text() == "mine\n"
    assert before(filled) == ()
    record(filled).unlink()
    os.mkfifo(record(filled))
    assert prompt(filled, "the proxy port", "s-2")
    assert before(filled) == ()


def row(query: object, *shown: object) -> bytes:
    return json.dumps({"query": query, "shown": list(shown)}).encode() + b"\n"


def test_what_others_wrote_there_is_read_with_care(filled: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    good = row("port proxy", "reviewer/ports.md", 7, None, "\x1b")
    lines = [
        b"\xff\xfe{",
        b"[" * 50_000,
        b"null",
        b"[]",
        row(7, "main/a.md"),
        row("\ud800", "main/a.md"),
        row("a\x1b[2J", "main/a.md"),
        row("x" * 301, "main/a.md"),
        row(f"the key {TOKEN}", "main/a.md"),
        row("old", "main/old.md"),
        good,
        b'{"query": "half',
    ]
    record(filled).write_bytes(b"\n".join(lines))
    assert before(filled) == (
        RecallWitness("port proxy", "reviewer/ports.md"),
        RecallWitness("old", "main/old.md"),
    )

    def missing(texts: object, allow: object = None) -> object:
        raise secrets.DetectorUnavailable("no detector")

    monkeypatch.setattr(secrets, "scan", missing)
    assert before(filled) == ()


@given(st.binary(max_size=80))
def test_garbage_is_no_recall(data: bytes) -> None:
    with TemporaryDirectory() as folder:
        scope = Scope("user", "refs/heads/user", Path(folder), pytest.fail, pytest.fail)
        record_of(scope).write_bytes(data)
        assert asked_before(scope) == ()


def test_a_purge_takes_the_record_away() -> None:
    """It has words of what is purged, in another order: no search for the text would find them."""
    assert scrub.WORDS == last_recalls.NAME
