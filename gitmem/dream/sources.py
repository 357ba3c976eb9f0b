"""What a dream may know besides the memory itself, as whoever runs it found it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gitmem.engines.engine import Observation
from gitmem.rules.account import unknown
from gitmem.rules.findable import Recalled

CodeFacts = Callable[[Mapping[str, str]], Sequence[Observation]]
"""Tells which claims (`<file>#<12 hex>` to text) name files, symbols or flags that HEAD does not have."""


def nothing_known(claims: Mapping[str, str]) -> tuple[Observation, ...]:  # noqa: ARG001 - the type's
    """Knows of no code."""
    return ()


@dataclass(frozen=True)
class Sources:
    """What a dream may know besides the memory itself.

    Attributes:
        now: epoch seconds.
        since: when the last dream was, epoch seconds; 0 for never.
        agents: folder names of those whose memories to consolidate; empty for all.
        code: compares claims with the code.
        sessions: id of a session since the last dream to what was said there, private parts left out.
        worktree: top of the code's work tree; None where there is none.
        file: gives a file of the code at HEAD, by its path; None where there is none.
        allow: fingerprints of secrets that the person accepted.
        asked: the last recalls that showed memories of the scope; none where nobody keeps them, as in CI.
    """

    now: float
    since: float = 0.0
    agents: tuple[str, ...] = ()
    code: CodeFacts = nothing_known
    sessions: Mapping[str, str] = field(default_factory=dict)
    worktree: Path | None = None
    file: Callable[[str], str | None] = unknown
    allow: frozenset[str] = frozenset()
    asked: Sequence[Recalled] = ()
