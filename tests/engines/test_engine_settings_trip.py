"""From the person's settings over the engine to a server and back: what is sent, counted and said."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from messages_api import Answer, Failure, MessagesApi
from ran import Gitmem

from gitmem.app.context import real_edges
from gitmem.flows.context import workspace_at
from gitmem.flows.engines import ledger_for

Git = Callable[..., str]


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-hush")
    return "sk-hush"


def test_one_round_trip_is_made_counted_and_told(gitmem: Gitmem, repo: Path, git: Git, key: str) -> None:
    with MessagesApi([Answer('{"chosen": [1]}')]) as api:
        gitmem("engine", "set", "anthropic", "--base-url", api.url, "-y")
        done = json.loads(gitmem("engine", "test", "--json").out)
        assert done["engine"] == "anthropic:claude-haiku-5-5" and done["usage"]["requests"] == 1
        assert len(api.requests) == 1 and "gitmem" not in json.dumps(api.bodies[0]["messages"])
    (one,) = ledger_for(workspace_at(real_edges(repo))).spendings(0, 2e9)
    assert (one.job, one.run) == ("test", False)
    shown = gitmem("engine").out
    assert "0 of 200 runs" in shown and api.url in shown and "$" in shown


def test_a_refused_key_is_said_with_what_to_do(gitmem: Gitmem, key: str) -> None:
    with MessagesApi([Failure(401, "authentication_error", f"bad {key}")] * 4) as api:
        gitmem("engine", "set", "anthropic", "--base-url", api.url, "-y")
        failed = gitmem("engine", "test", ok=False)
    assert failed.code == 4 and "ANTHROPIC_API_KEY" in failed.err and key not in failed.err
