"""A command run in a test's own process, and what it gave back."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True)
class Ran:
    """What a command gave back."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its output as JSON."""
        return json.loads(self.out)


Gitmem = Callable[..., Ran]
"""What the fixture `gitmem` gives: runs a command."""


class Command:
    """See the fixture `gitmem`.

    Attributes:
        now: the time of the last command (epoch seconds); a minute goes by between two.
    """

    def __init__(self, repo: Path, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]) -> None:
        self.repo, self.patch, self.capture = repo, patch, capture
        self.now = 1_795_000_000

    def __call__(self, *words: object, cwd: Path | None = None, ok: bool = True) -> Ran:
        from gitmem.entry import main

        self.now += 60
        self.patch.setenv("GITMEM_NOW", str(self.now))
        self.patch.setattr(sys, "argv", ["gitmem", *map(str, words)])
        self.patch.chdir(cwd or self.repo)
        self.capture.readouterr()
        code = main()
        captured = self.capture.readouterr()
        if ok and code:
            raise AssertionError(f"gitmem {words} exited {code}: {captured.err}\n{captured.out}")
        return Ran(code, captured.out, captured.err)
