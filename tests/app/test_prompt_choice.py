"""A model's choice for prompts: made in the background, shown with the next, told of nothing private."""

from __future__ import annotations

import io
import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from cli_ground import Ground, memory

from gitmem.app import hooks as hook_entry
from gitmem.app import prompt_choice as picked
from gitmem.app import session_context as context
from gitmem.app import spool, steps
from gitmem.app.tools_in_use import TAIL, tools_in_use
from gitmem.core.change import Header
from gitmem.core.errors import EngineError
from gitmem.flows import engines
from gitmem.flows.pause import pause
from gitmem.flows.recall import RecallRequest, ask
from gitmem.ledger import session_files
from gitmem.ledger.job_record import read_runs

ASKED = "how should the shop be rolled out?"
TOKEN = "ghp_" + "x7Kq2LmN8pRs4TvW6yZa1BcD3eFg5HjK9uXo"


class Scripted:
    """Stands in for the model: takes the memories with these names, or fails."""

    name = "anthropic:scripted"
    reads_history = False

    def __init__(self, *names: str, failing: bool = False) -> None:
        self.names, self.failing = names, failing
        self.asked: list[tuple[str, list[str]]] = []

    def choose(self, query: str, headers: Sequence[Header], limit: int) -> tuple[int, ...]:
        told = [header.name for header in headers]
        self.asked.append((query, told))
        if self.failing:
            raise EngineError("The model is overloaded", "Wait.")
        return tuple(told.index(name) for name in self.names if name in told)[:limit]


@pytest.fixture
def model(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> Scripted:
    """An engine that is configured, and memories: one that words find, one that only a model would."""
    subprocess.run(["git", "config", "--global", "gitmem.engine", "anthropic"], check=True)
    ground.learn({"reviewer/ports.md": memory("ports", "Port 8080 is taken by the proxy.")})
    ground.learn({"main/canary.md": memory("canary", "Five percent of the traffic first.")}, "local")
    made = Scripted("canary")
    monkeypatch.setattr(engines, "chooser_for", lambda *given: made)
    return made


def prompt(ground: Ground, text: str, **more: object) -> str:
    """What the hook answers a prompt with; the jobs that it leaves wait."""
    payload = {"session_id": "s-1", "cwd": str(ground.repo), "prompt": text} | more
    out = io.StringIO()
    given = io.BytesIO(json.dumps(payload).encode())
    ground.tick(1)
    assert hook_entry.main(["claude", "UserPromptSubmit"], {}, given, out, lambda *_: None) == 0
    answer: dict[str, Any] = json.loads(out.getvalue() or "{}")
    return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))


def waiting(ground: Ground) -> list[spool.Job]:
    return [job for _, job in spool.take(ground.workspace.state / "spool")]


def work(ground: Ground) -> Mapping[str, Any]:
    """Runs the worker's job on all that waits, and returns the line on it."""
    folder = ground.workspace.state / "spool"
    steps.run(ground.repo / ".git", spool.coalesce(waiting(ground)), dict(ground.edges.environ))
    for path, _ in spool.take(folder):
        path.unlink()
    return read_runs(ground.workspace.state)[-1]


def test_the_next_prompt_is_told_first_what_the_model_chose(ground: Ground, model: Scripted) -> None:
    assert prompt(ground, ASKED) == "", "no word of it fits, and nothing waits for the model"
    run = work(ground)
    assert (run["engine"], run["events"], run["skipped"]) == ("anthropic:scripted", ["select"], [])
    assert model.asked == [(ASKED, ["canary", "ports"])]
    (kept,) = (ground.workspace.private_state / session_files.CHOSEN).iterdir()
    assert "About" not in kept.read_text() and kept.stat().st_mode & 0o077 == 0
    text = prompt(ground, "and which port is taken?")
    assert text.index("Five percent") < text.index("Port 8080")
    assert "found 2 recorded memories" in text
    assert prompt(ground, "and which port is taken?") == "", "both were shown"


def test_the_model_is_not_told_again_of_what_was_shown(ground: Ground, model: Scripted) -> None:
    assert "8080" in prompt(ground, "and which port is taken?")
    work(ground)
    assert [told for _, told in model.asked] == [["canary"]]


def test_the_newest_prompt_of_a_session_wins(ground: Ground, model: Scripted) -> None:
    for text in ("first of all this", ASKED):
        prompt(ground, text)
    prompt(ground, "in another session altogether", session_id="s-2")
    work(ground)
    assert [query for query, _ in model.asked] == [ASKED, "in another session altogether"]


def test_what_changed_since_it_was_chosen_is_not_shown(ground: Ground, model: Scripted) -> None:
    prompt(ground, ASKED)
    work(ground)
    ground.learn({"main/canary.md": memory("canary", "All of the traffic at once.")}, "local")
    assert prompt(ground, "carry on with that") == ""


def test_nothing_is_left_where_nothing_may_be_sent_or_too_little_or_much_is_asked(ground, model) -> None:
    private = "about <private>the shop</private> and how it is rolled out"
    few = " ".join(["word"] * (context.FEWEST_WORDS - 1))
    for text in (few, private, f"word {'word ' * 800}"):
        prompt(ground, text)
        assert waiting(ground) == [], text
    prompt(ground, ASKED, agent_id="a1", agent_type="reviewer")
    assert waiting(ground) == []
    prompt(ground, f"{few} word")
    assert len(waiting(ground)) == 1, "as few as are enough"
    work(ground)
    pause(ground.workspace.state, ground.now - 1)
    prompt(ground, ASKED)
    assert waiting(ground) == []


def test_the_offline_engine_is_sent_nothing(ground: Ground, model: Scripted) -> None:
    subprocess.run(["git", "config", "--global", "gitmem.engine", "offline"], check=True)
    subprocess.run(["git", "config", "gitmem.engine", "anthropic"], check=True)
    prompt(ground, ASKED)
    assert waiting(ground) == [], "a repository's own configuration chooses no engine"


def test_the_worker_sends_no_secret_and_nothing_ignored(ground: Ground, model: Scripted) -> None:
    subprocess.run(["git", "config", "gitmem.ignore", "bluebird"], check=True)
    for text, why in (
        (f"why is {TOKEN} refused by the shop", "it holds what looks like a secret"),
        ("what of Bluebird and the shop", "gitmem.ignore matches it"),
    ):
        prompt(ground, text)
        (skipped,) = work(ground)["skipped"]
        assert skipped["why"] == f"Nothing was sent to anthropic: {why}"
        assert model.asked == []


def test_a_model_that_fails_costs_the_choice_and_nothing_else(ground: Ground, model: Scripted) -> None:
    model.failing = True
    prompt(ground, ASKED)
    assert work(ground)["skipped"][0]["why"] == "The model is overloaded"
    assert "8080" in prompt(ground, "and which port is taken?")


def test_recall_says_so_where_it_chose_offline_instead(ground: Ground, model: Scripted) -> None:
    got = ask(ground.workspace, ground.edges, RecallRequest(ASKED, engine=None))
    assert ([item.name for item in got.items], got.engine, got.notes) == (["canary"], model.name, ())
    model.failing = True
    got = ask(ground.workspace, ground.edges, RecallRequest("which port is taken?", engine=None))
    assert ([item.name for item in got.items], got.engine) == (["ports"], "offline")
    assert got.notes == ("The model is overloaded; chosen offline",)
    asked = len(model.asked)
    got = ask(ground.workspace, ground.edges, RecallRequest("which port is taken?", engine="claude-code"))
    assert got.engine == "offline" and len(model.asked) == asked
    assert ask(ground.workspace, ground.edges, RecallRequest("which port?")).notes == ()


def test_a_choice_that_was_tampered_with_is_no_choice(ground: Ground, model: Scripted) -> None:
    folder = ground.workspace.private_state / session_files.CHOSEN
    folder.mkdir(parents=True)
    for text in ("[1, {}, [], {'ref': 1}]", '[{"ref": "refs/heads/main"}]', "{", "[" * 9999):
        (folder / "s-1").write_text(text)
        assert picked.take(ground.workspace.private_state, "s-1") == ()
    (folder / "s-1").symlink_to(ground.repo / ".git/config")
    assert picked.take(ground.workspace.private_state, "s-1") == ()


def call(name: str, **given: object) -> dict[str, Any]:
    return {
        "type": "assistant",
        "message": {"content": [{"type": "tool_use", "name": name, "input": given}]},
    }


def said(text: str) -> dict[str, Any]:
    return {"type": "user", "message": {"content": text}}


def written(path: Path, *records: object) -> str:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return str(path)


def test_tools_in_use_are_those_of_the_last_turns(tmp_path: Path) -> None:
    file = written(
        tmp_path / "t.jsonl",
        call("Bash", command="terraform plan"),
        said("one"),
        call("Bash", command="cd app && FOO=1 kubectl get pods | grep web; sudo /usr/bin/helm ls"),
        call("mcp__linear__create_issue", title="x"),
        said("two"),
        call("Read", file_path="/a"),
        call("Bash", command="\n" * 4000 + "\n  psql -c x"),
        said("three"),
    )
    expected = {"cd", "kubectl", "grep", "helm", "linear", "create_issue", "psql"}
    assert tools_in_use(file) == expected


def test_only_the_end_of_a_transcript_is_read_and_no_other_file(tmp_path: Path) -> None:
    file = written(tmp_path / "t.jsonl", call("Bash", command="terraform plan"), "x" * TAIL, {"type": None})
    assert tools_in_use(file) == frozenset()
    (tmp_path / "link").symlink_to(written(tmp_path / "u.jsonl", call("Bash", command="helm ls")))
    for path in (str(tmp_path / "link"), str(tmp_path), "/dev/zero", "relative", None, 3, "/a\0b"):
        assert tools_in_use(path) == frozenset()


def test_a_reference_for_a_tool_in_use_is_left_out_and_its_warning_kept(ground: Ground, tmp_path) -> None:
    for name, body in (("helm-flags", "helm ls lists them."), ("helm-traps", "helm ls hangs.")):
        about = f"{name} of helm releases"
        ground.learn({f"main/{name}.md": memory(name, body, about, type="reference")})
    asked = "how do I list helm releases"
    used = written(tmp_path / "t.jsonl", call("Bash", command="helm ls"))
    text = prompt(ground, asked, transcript_path=used)
    assert "hangs" in text and "lists them" not in text
    assert "lists them" in prompt(ground, asked, session_id="s-2")


def test_a_subagent_sees_what_it_has_not_seen_its_own_memory_first(ground: Ground) -> None:
    for agent in ("main", "reviewer"):
        about = f"Which port the proxy of {agent} has taken"
        ground.learn({f"{agent}/ports.md": memory("ports", f"Port of {agent}.", about)})
    asked = "which port has the proxy taken?"
    assert "Port of" in prompt(ground, asked)
    text = prompt(ground, asked, agent_id="a1", agent_type="reviewer")
    assert text.index("Port of reviewer") < text.index("Port of main")
    assert prompt(ground, asked, agent_id="a1", agent_type="reviewer") == ""
