"""The command's entry, and the hooks of agents behind it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import types
from collections.abc import Mapping
from pathlib import Path

import pytest

from gitmem import entry
from gitmem.app import hooks as hook_entry
from gitmem.app.spool import Job, take
from gitmem.cli import app
from gitmem.core.errors import UsageError
from gitmem.flows import place

ROOT = Path(__file__).parents[2]


@pytest.fixture
def common(repo: Path) -> Path:
    (repo / ".git" / "gitmem").mkdir()
    return repo / ".git"


class Hook:
    """Runs a hook in this process and records the workers that it would have started."""

    def __init__(self) -> None:
        self.started: list[Path] = []

    def __call__(self, *argv: str, payload: object = None, environ: Mapping[str, str] | None = None) -> str:
        data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        out = io.StringIO()
        code = hook_entry.main(
            argv, environ or {}, io.BytesIO(data), out, lambda common, env: self.started.append(common)
        )
        assert code == 0
        return out.getvalue()


@pytest.fixture
def hook() -> Hook:
    return Hook()


@pytest.fixture
def context(monkeypatch) -> types.ModuleType:
    module = types.ModuleType("gitmem.app.session_context")
    monkeypatch.setitem(sys.modules, "gitmem.app.session_start", module)
    vars(module)["session_start"] = lambda payload, loaded: f"started by {payload['source']}"
    vars(module)["user_prompt"] = lambda *_: "é" * 3
    monkeypatch.setitem(sys.modules, "gitmem.app.session_context", module)
    return module


def jobs(common: Path) -> list[Job]:
    return [job for _, job in take(common / "gitmem" / "spool")]


@pytest.mark.parametrize("event", list(hook_entry.CLAUDE_JOBS))
def test_an_agents_event_leaves_a_job_and_starts_the_worker(
    repo: Path, common: Path, hook: Hook, context, event: str
) -> None:
    (repo / "deep").mkdir()
    payload = {
        "cwd": str(repo / "deep"),
        "session_id": "s1",
        "transcript_path": "/t/s1.jsonl",
        "source": "startup",
    }
    hook("claude", event, payload=payload)
    [job] = jobs(common)
    assert (job.event, job.worktree) == (hook_entry.CLAUDE_JOBS[event], str(repo))
    assert (job.session_id, job.session_path, job.agent) == ("s1", "/t/s1.jsonl", "main")
    assert hook.started == [common]


def test_a_subagents_stop_names_its_own_transcript(repo: Path, common: Path, hook: Hook) -> None:
    payload = {
        "cwd": str(repo),
        "transcript_path": "/t/s1.jsonl",
        "agent_transcript_path": "/t/s1/subagents/agent-a.jsonl",
        "agent_type": "code-reviewer",
    }
    hook("claude", "SubagentStop", payload=payload)
    [job] = jobs(common)
    assert (job.agent, job.session_path) == ("code-reviewer", "/t/s1/subagents/agent-a.jsonl")


def test_context_reaches_the_client(repo: Path, common: Path, hook: Hook, context) -> None:
    out = hook("claude", "UserPromptSubmit", payload={"cwd": str(repo), "prompt": "hi"})
    assert json.loads(out) == {
        "hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "ééé"}
    }
    assert jobs(common) == []
    out = hook("claude", "SessionStart", payload={"cwd": str(repo), "source": "resume"})
    assert json.loads(out)["hookSpecificOutput"]["additionalContext"] == "started by resume"


@pytest.mark.parametrize("fault", ["empty", "raises", "missing"])
def test_no_context_is_no_output(repo: Path, common: Path, hook: Hook, context, fault: str) -> None:
    if fault == "missing":
        del context.user_prompt
    else:
        context.user_prompt = {"empty": lambda *_: "", "raises": lambda *_: 1 / 0}[fault]
    assert hook("claude", "UserPromptSubmit", payload={"cwd": str(repo)}) == ""
    assert (common / "gitmem/log").exists() == (fault in ("raises", "missing"))


def test_hooks_that_are_switched_off_do_nothing(repo: Path, common: Path, hook: Hook, context) -> None:
    off = {"GITMEM_DISABLE": "1"}
    assert hook("claude", "SessionStart", payload={"cwd": str(repo), "source": "x"}, environ=off) == ""
    assert jobs(common) == []

    off = {"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"}
    assert hook("claude", "SessionStart", payload={"cwd": str(repo), "source": "x"}, environ=off) != ""
    hook("claude", "Stop", payload={"cwd": str(repo)}, environ=off)
    assert jobs(common) == []


def test_a_repository_without_gitmem_is_left_alone(repo: Path, hook: Hook, context) -> None:
    assert hook("claude", "SessionStart", payload={"cwd": str(repo), "source": "x"}) == ""
    assert not (repo / ".git/gitmem").exists()
    assert hook.started == []


@pytest.mark.parametrize(
    "payload", [b"", b"{", b"[1]", b"\xff\xfe", b"[" * 100_000, b'{"cwd": 3}', b'{"cwd": "a\\u0000b"}']
)
def test_a_payload_that_is_none_is_borne(repo, common, hook: Hook, monkeypatch, payload: bytes) -> None:
    """The directory that the client started the hook in is what is left to go by."""
    monkeypatch.chdir(repo)
    assert hook("claude", "Stop", payload=payload) == ""
    [job] = jobs(common)
    assert (job.event, job.session_path) == ("stop", "")


@pytest.mark.parametrize("words", [[], ["claude"], ["claude", "Nonsense"], ["git", "pre-push"], ["x", "y"]])
def test_unknown_hooks_are_quiet(hook: Hook, words: list[str]) -> None:
    assert hook(*words, payload={}) == ""
    assert hook.started == []


def test_a_spool_that_cannot_be_written_is_logged(repo: Path, common: Path, hook: Hook) -> None:
    (common / "gitmem" / "spool").write_text("in the way")
    hook("claude", "Stop", payload={"cwd": str(repo)})
    assert "could not be left" in (common / "gitmem/log").read_text()


def test_the_repository_is_found_as_git_finds_it(repo: Path, git, tmp_path: Path) -> None:
    other = tmp_path / "other"
    git("-C", repo, "worktree", "add", "-q", "-b", "other", other)
    (other / "a" / "b").mkdir(parents=True)
    assert place.find_repository(other / "a" / "b") == (other, repo / ".git")
    assert place.find_repository(repo / "gone") == (repo, repo / ".git")
    assert place.find_repository(tmp_path) is None
    (tmp_path / ".git").write_text("gitdir: nowhere\n")
    assert place.find_repository(tmp_path) is None


def replaced(monkeypatch, outcome) -> None:
    def main() -> int:
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    monkeypatch.setattr(app, "main", main)
    monkeypatch.setattr(sys, "argv", ["gitmem", "status"])


@pytest.mark.parametrize(
    ("outcome", "code", "said"),
    [
        (4, 4, ""),
        (KeyboardInterrupt(), 130, ""),
        (UsageError("no \x1b[31mred", "try this"), 2, "gitmem: no \\x1b[31mred\nhint: try this\n"),
    ],
    ids=["a code", "an interrupt", "an expected error"],
)
def test_what_a_command_ends_with_is_the_exit_code(monkeypatch, capsys, outcome, code, said) -> None:
    replaced(monkeypatch, outcome)
    assert entry.main() == code
    if said:
        assert capsys.readouterr().err == said


def test_a_bug_is_one_line_and_a_traceback_in_a_file(monkeypatch, capsys, home: Path) -> None:
    replaced(monkeypatch, ValueError("odd\nsecond line"))
    assert entry.main() == 255
    path = home / ".local/share/gitmem/errors.log"
    assert capsys.readouterr().err == f"gitmem: a bug: ValueError: odd (traceback: {path})\n"
    assert "second line" in path.read_text()


def test_a_bug_without_a_place_to_write_shows_its_traceback(monkeypatch, capsys, home: Path) -> None:
    (home / "file").write_text("")
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "file"))
    replaced(monkeypatch, ValueError("odd"))
    assert entry.main() == 255
    assert "Traceback" in capsys.readouterr().err


def test_a_closed_pipe_is_quiet() -> None:
    """`git mem log | head` must not end in a traceback."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "gitmem", "version"],
        stdout=writing,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    os.close(writing)
    assert done.returncode == 141
    assert done.stderr == b""
