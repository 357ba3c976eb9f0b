"""A folder with a home, a repository, and a program that plays the client (fake_claude.py)."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from meters import Counting

from gitmem.engines.claude_code import ClaudeCodeEngine, ForkSettings

SESSION = "01234567-89ab-4def-8123-456789abcdef"
NOW = 1_795_000_000.0
CANARY = {"tool": "Bash", "input": {"command": "true {nonce}"}}


@dataclass(frozen=True)
class FakeClient:
    """What an engine is given of it."""

    root: Path
    meter: Counting = field(default_factory=Counting)

    @property
    def program(self) -> Path:
        return self.root / "bin/claude"

    @property
    def app(self) -> Path:
        return self.root / "app"

    @property
    def temp(self) -> Path:
        return self.root / "temp"

    @property
    def transcript(self) -> Path:
        return self.root / f"home/.claude/projects/-app/{SESSION}.jsonl"

    @property
    def task(self) -> str:
        """What the program was told."""
        return Path(f"{self.program}.task").read_text()

    def engine(self, **more: Any) -> ClaudeCodeEngine:
        environ = {"HOME": str(self.root / "home"), "PATH": os.environ["PATH"], "GIT_DIR": "/x"}
        settings = {"timeout": 30, "dream_timeout": 30, "temp": self.temp, **more}
        return ClaudeCodeEngine(ForkSettings(str(self.program), environ, **settings), self.meter)

    def plan(self, **plan: Any) -> None:
        """Says what the program plays."""
        Path(f"{self.program}.json").write_text(json.dumps(plan))

    def record(self, text: str, age: float = 1) -> None:
        """Writes the session that a fork begins with, so many seconds ago."""
        self.transcript.write_text(text)
        os.utime(self.transcript, (NOW - age, NOW - age))


Made = TypeVar("Made", bound=FakeClient)


def records(app: Path, said: str, *more: Mapping[str, Any]) -> str:
    """A session in which a person said this and was answered."""
    answer = {
        "id": "m1",
        "model": "claude-sonnet-4-5",
        "content": [{"type": "text", "text": "Yes."}],
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 90},
    }
    rows = [
        {"type": "user", "uuid": "u1", "cwd": str(app), "message": {"role": "user", "content": said}},
        {"type": "assistant", "uuid": "a1", "cwd": str(app), "message": answer},
        *more,
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


def installed(made: Made) -> Made:
    """Makes the folders and the program."""
    for folder in (made.transcript.parent, made.app, made.temp, made.program.parent):
        folder.mkdir(parents=True)
    source = Path(__file__).with_name("fake_claude.py").read_text()
    made.program.write_text(f"#!{sys.executable} -IS\n{source}")
    made.program.chmod(0o755)
    return made
