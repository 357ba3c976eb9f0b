"""What the `claude-code` engine needs to know; all of it comes from the person's own side."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class ForkSettings:
    """Which client to work with, and how patiently.

    Attributes:
        program: path of the person's `claude`.
        environ: environment of the person's command; what the client does not need is left out of the
            client's.
        model: exact id of the model, with `[1m]` where the session has that; empty for the session's own,
            and in a dream for the person's default.
        timeout: seconds until a fork counts as hanging.
        turns: how often the model may answer: the canary call, reading, writing, the answer, and as much
            again.
        dream_timeout: seconds until a dream counts as hanging: its lock may be taken over after an hour.
        dream_turns: how often the model may answer until a dream's first answer: a scope has some hundred
            memories, and files are read many at a time.
        temp: folder of the scratch copies; None for the system's. Inside a repository the client would
            refuse to write where the person's rules protect it.
        withholds: tells of a transcript whether something in it is not to be learned from, as what was said
            in a pause: a fork sees all of its session.
        python: the interpreter that runs the hook.
    """

    program: str
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    model: str = ""
    timeout: float = 600.0
    turns: int = 12
    dream_timeout: float = 1_800.0
    dream_turns: int = 30
    temp: Path | None = None
    withholds: Callable[[Path], bool] = field(default=lambda _: False, repr=False)
    python: str = sys.executable
