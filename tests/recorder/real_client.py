"""Runs the real Claude Code client headless in a HOME of its own, against a scripted server."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TIME_LIMIT = 120
"""Seconds for one turn; a turn takes two or three."""


def find_client(environ: Mapping[str, str]) -> str | None:
    """The client's program: `GITMEM_TEST_CLAUDE`, else `claude` on PATH, else None."""
    return environ.get("GITMEM_TEST_CLAUDE") or shutil.which("claude", path=environ.get("PATH"))


@dataclass(frozen=True)
class Turn:
    """What one run of the client gave back.

    Attributes:
        session: id of the session.
        result: the agent's last text.
        raw: the client's JSON output.
    """

    session: str
    result: str
    raw: Mapping[str, Any]


@dataclass(frozen=True)
class Client:
    """One installation: program, HOME, working directory and server.

    Attributes:
        program: path of the client.
        home: its HOME; nothing of the machine's own is read.
        cwd: where it runs, a git repository.
        url: base address of the scripted server.
        environ: more variables for it and for the hooks that it starts.
    """

    program: str
    home: Path
    cwd: Path
    url: str
    environ: Mapping[str, str] = field(default_factory=dict)

    def prompt(self, text: str, *, tools: Sequence[str] = (), more: Sequence[str] = ()) -> Turn:
        """Runs one prompt to its end.

        Args:
            text: what the person says.
            tools: tools that are allowed without asking, e.g. `Bash(ls:*)`.
            more: further arguments, e.g. `("--resume", id)`.
        """
        command = [self.program, "-p", text, "--output-format", "json", *more]
        if tools:
            command += ["--allowedTools", ",".join(tools)]
        done = subprocess.run(
            command,
            cwd=self.cwd,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT,
            check=False,
        )
        if done.returncode:
            raise AssertionError(f"client exited {done.returncode}: {done.stdout}\n{done.stderr}")
        raw = json.loads(done.stdout)
        return Turn(raw["session_id"], raw.get("result", ""), raw)

    def _environment(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "PATH": os.environ.get("PATH", ""),
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "GIT_CONFIG_NOSYSTEM": "1",
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": "none",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            **self.environ,
        }
