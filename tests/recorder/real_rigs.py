"""Real clients at work in one repository, each with its own scripted server, behind one face.

A rig runs a prompt to its end as a person would in a script, and gives back what its model was told. What
the agent does is the same for all: it says something, or runs a command.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripted_api import Call, ScriptedApi, Step
from scripted_generation import ScriptedGeneration
from scripted_generation import call as gemini_call
from scripted_generation import text as gemini_text
from scripted_responses import ScriptedResponses
from scripted_responses import text as codex_text

TIME_LIMIT = 180
"""Seconds for one turn; OpenCode's first takes half a minute."""

Server = ScriptedApi | ScriptedGeneration | ScriptedResponses


@dataclass(frozen=True)
class Rig:
    """How one client is started in a test.

    Attributes:
        name: of the client, as in gitmem's table.
        server: makes the server that stands for its model.
        ready: writes the client's own settings: home, repository, the server's address.
        environ: variables that it needs.
        start, resume: its words for a prompt, and for one in the session before.
        commands: makes the server run these commands, one a request, and say something.
    """

    name: str
    server: Callable[[], Server]
    ready: Callable[[Path, Path, str], None]
    environ: Callable[[Path, str], Mapping[str, str]]
    start: Callable[[str], Sequence[str]]
    resume: Callable[[str], Sequence[str]]
    commands: Callable[[Any, Sequence[str]], None]

    def program(self) -> str | None:
        """Its program: `GITMEM_TEST_<NAME>`, else on PATH, else None."""
        return os.environ.get(f"GITMEM_TEST_{self.name.upper()}") or shutil.which(self.name)

    def run(self, home: Path, repo: Path, server: Server, words: Sequence[str]) -> str:
        """Runs one prompt to its end.

        Returns:
            All that the model was told meanwhile, as JSON.
        """
        self.ready(home, repo, server.url)
        before = len(server.requests)
        done = subprocess.run(
            [str(self.program()), *words],
            cwd=repo,
            env={
                "HOME": str(home),
                "PATH": os.environ["PATH"],
                "LC_ALL": "C.UTF-8",
                "TMPDIR": str(home),
                "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
                **self.environ(home, server.url),
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT,
            check=False,
        )
        assert done.returncode == 0, f"{self.name}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        return json.dumps(server.requests[before:], ensure_ascii=False)


def _nothing(home: Path, repo: Path, url: str) -> None:
    """A client that needs no settings."""


def _anthropic(tool: str) -> Callable[[ScriptedApi, Sequence[str]], None]:
    def commands(api: ScriptedApi, lines: Sequence[str]) -> None:
        more = {"is_background": False} if tool == "run_shell_command" else {}
        calls = [Call(tool, {"command": line, "description": "does it", **more}) for line in lines]
        api.add(*[Step(calls=(one,)) for one in calls], Step("Noted."))

    return commands


def _codex_ready(home: Path, repo: Path, url: str) -> None:
    (home / ".codex").mkdir(exist_ok=True)
    (home / ".codex/config.toml").write_text(
        f"""model = "gpt-5"
model_provider = "loopback"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.loopback]
name = "loopback"
base_url = "{url}"
wire_api = "responses"
[projects.{json.dumps(str(repo))}]
trust_level = "trusted"
"""
    )


def _codex_commands(api: ScriptedResponses, lines: Sequence[str]) -> None:
    for number, line in enumerate(lines):
        called = {
            "type": "function_call",
            "call_id": f"c{len(api.requests)}{number}",
            "name": "exec_command",
        }
        api.items.append({**called, "arguments": json.dumps({"cmd": line})})
    api.items.append(codex_text("Noted."))


def _gemini_ready(home: Path, repo: Path, url: str) -> None:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "model": {"name": "gemini-2.5-flash"},
    }
    (home / ".gemini").mkdir(exist_ok=True)
    (home / ".gemini/settings.json").write_text(json.dumps(settings))


def _gemini_commands(api: ScriptedGeneration, lines: Sequence[str]) -> None:
    api.answers += [[gemini_call("run_shell_command", command=line, description="d")] for line in lines]
    api.answers.append([gemini_text("Noted.")])


def _qwen_ready(home: Path, repo: Path, url: str) -> None:
    settings = {
        "security": {"auth": {"selectedType": "anthropic"}, "folderTrust": {"enabled": False}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
        "model": {"name": "scripted"},
    }
    (home / ".qwen").mkdir(exist_ok=True)
    (home / ".qwen/settings.json").write_text(json.dumps(settings))


def _opencode_ready(home: Path, repo: Path, url: str) -> None:
    model = {"name": "scripted", "tool_call": True, "limit": {"context": 100_000, "output": 4_000}}
    provider = {
        "npm": "@ai-sdk/anthropic",
        "options": {"baseURL": f"{url}/v1", "apiKey": "none"},
        "models": {"scripted": model},
    }
    settings = {
        "autoupdate": False,
        "share": "disabled",
        "model": "anthropic/scripted",
        "small_model": "anthropic/scripted",
        "provider": {"anthropic": provider},
    }
    (home / ".config/opencode").mkdir(parents=True, exist_ok=True)
    (home / ".config/opencode/opencode.json").write_text(json.dumps(settings))


def _claude_environ(home: Path, url: str) -> Mapping[str, str]:
    return {
        "GIT_CONFIG_NOSYSTEM": "1", "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none",
        "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }  # fmt: skip


_BYPASS = "--dangerously-bypass-hook-trust"
_QWEN = ("--yolo", "--auth-type", "anthropic", "-m", "scripted")

RIGS: Mapping[str, Rig] = {
    rig.name: rig
    for rig in (
        Rig(
            "claude",
            ScriptedApi,
            _nothing,
            _claude_environ,
            lambda prompt: ("-p", prompt, "--allowedTools", "Bash"),
            lambda prompt: ("-p", prompt, "--allowedTools", "Bash", "--continue"),
            _anthropic("Bash"),
        ),
        Rig(
            "codex",
            ScriptedResponses,
            _codex_ready,
            lambda home, url: {},
            lambda prompt: ("exec", _BYPASS, prompt),
            lambda prompt: ("exec", _BYPASS, "resume", "--last", prompt),
            _codex_commands,
        ),
        Rig(
            "gemini",
            ScriptedGeneration,
            _gemini_ready,
            lambda home, url: {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": url},
            lambda prompt: ("--approval-mode", "yolo", "-p", prompt),
            lambda prompt: ("--approval-mode", "yolo", "--resume", "latest", "-p", prompt),
            _gemini_commands,
        ),
        Rig(
            "qwen",
            ScriptedApi,
            _qwen_ready,
            lambda home, url: {
                "ANTHROPIC_API_KEY": "none",
                "ANTHROPIC_BASE_URL": url,
                "QWEN_CODE_SUPPRESS_YOLO_WARNING": "1",
            },
            lambda prompt: (*_QWEN, prompt),
            lambda prompt: (*_QWEN, "--continue", prompt),
            _anthropic("run_shell_command"),
        ),
        Rig(
            "opencode",
            ScriptedApi,
            _opencode_ready,
            lambda home, url: {
                "OPENCODE_DISABLE_AUTOUPDATE": "1",
                "OPENCODE_DISABLE_MODELS_FETCH": "1",
                "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
                "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
                # Into each folder with a plugin it installs a package of types, which is not needed.
                "npm_config_offline": "true",
            },
            lambda prompt: ("run", prompt),
            lambda prompt: ("run", "--continue", prompt),
            _anthropic("bash"),
        ),
    )
}
