"""A person at work with the real Claude Code client, whose model is a scripted server on loopback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from real_client import TIME_LIMIT, Client, find_client
from scripted_api import ScriptedApi

ROOT = Path(__file__).parents[2]
SETTINGS = ".claude/settings.local.json"
PATIENCE = 60
"""Seconds after which a worker counts as stuck; it needs about one."""

GIT_CONFIG = "[user]\n\tname = Ann\n\temail = ann@example.com\n[init]\n\tdefaultBranch = main\n"


@dataclass(frozen=True)
class Person(Client):
    """Someone who starts the client in a terminal, and sees all that it prints."""

    def ask(self, prompt: str, *more: str) -> subprocess.CompletedProcess[str]:
        """Runs one prompt to its end, as `claude -p` does without further arguments."""
        return subprocess.run(
            [self.program, "-p", prompt, *more],
            cwd=self.cwd,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT,
            check=False,
        )

    def run(self, *words: str) -> str:
        """Runs another command in the same repository and HOME, and returns its output."""
        done = subprocess.run(
            words, cwd=self.cwd, env=self._environment(), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout.strip()

    def gitmem(self, *words: str) -> str:
        return self.run(sys.executable, "-P", "-m", "gitmem", *words)


@dataclass(frozen=True)
class World:
    """An empty HOME, a small repository with gitmem in it, and the model that answers there."""

    person: Person
    api: ScriptedApi

    @property
    def state(self) -> Path:
        return self.person.cwd / ".git/gitmem"

    def transcripts(self) -> dict[str, list[dict[str, Any]]]:
        """Records of each session, by session id."""
        return {
            file.stem: [json.loads(line) for line in file.read_text("utf-8").splitlines()]
            for file in (self.person.home / ".claude/projects").glob("*/*.jsonl")
        }

    def private(self, *words: str) -> str:
        """Runs plain git in the private repository."""
        folder = self.person.home / ".local/share/gitmem/private.git"
        return self.person.run("git", "--git-dir", str(folder), *words)

    def local(self, pretty: str) -> list[str]:
        """The commits of this project's local memory after the root, newest first, each in this format."""
        (ref,) = self.private("for-each-ref", "--format=%(refname)", "refs/heads/local/").split()
        return self.private("log", "--grep=^Gitmem-Op:", f"--format={pretty}", ref).splitlines()

    def trailers(self) -> list[dict[str, str]]:
        """The same commits' trailers, without their common prefix."""
        rows = [row.split("\t") for row in self.local("%(trailers:unfold,separator=%x09)")]
        pairs = [[part.removeprefix("Gitmem-").split(": ", 1) for part in row] for row in rows]
        return [dict(row) for row in pairs]

    def memory(self) -> dict[str, str]:
        """Files of `main` in the local scope's tip."""
        (ref,) = self.private("for-each-ref", "--format=%(refname)", "refs/heads/local/").split()
        names = self.private("ls-tree", "-r", "--name-only", ref, "main/").split()
        return {name.removeprefix("main/"): self.private("show", f"{ref}:{name}") for name in names}

    def keep_only(self, *events: str) -> None:
        """Takes gitmem's other hooks out of the client's settings."""
        path = self.person.cwd / SETTINGS
        hooks = json.loads(path.read_text())["hooks"]
        path.write_text(json.dumps({"hooks": {event: hooks[event] for event in events}}))

    def settle(self) -> None:
        """Waits until no job is left and no worker of this repository runs."""
        give_up = time.monotonic() + PATIENCE
        while left := [*self._jobs(), *self._workers()]:
            assert time.monotonic() < give_up, f"the worker has not ended: {left}"
            time.sleep(0.05)
        assert not (self.state / "worker.json").exists()
        assert not list((self.state / "spool").glob("failed/*"))

    def _jobs(self) -> list[str]:
        spool = self.state / "spool"
        return [path.name for path in spool.iterdir() if path.is_file()] if spool.is_dir() else []

    def _workers(self) -> list[list[str]]:
        lines = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
        return [line for line in lines if "worker" in line and str(self.state.parent) in line]


def text_of(request: Mapping[str, Any]) -> str:
    """All that a request's messages tell the model."""
    parts: list[str] = []
    for message in request["messages"]:
        content = message["content"]
        blocks = [{"text": content}] if isinstance(content, str) else content
        parts += [str(block.get("text") or block.get("content") or "") for block in blocks]
    return "\n".join(parts)


def make_world(root: Path, api: ScriptedApi) -> World:
    program = find_client(os.environ)
    if program is None:
        pytest.skip("no client: set GITMEM_TEST_CLAUDE or put claude on PATH")
    home, app = root.resolve() / "home", root.resolve() / "app"
    home.mkdir()
    app.mkdir()
    (home / ".gitconfig").write_text(GIT_CONFIG)
    (app / "greet.py").write_text('print("hello")\n')
    # gitmem as it stands here, which need not be installed for this Python.
    person = Person(program, home, app, api.url, {"PYTHONPATH": str(ROOT)})
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "Greet"]):
        person.run("git", *words)
    person.gitmem("init", "-y")
    return World(person, api)
