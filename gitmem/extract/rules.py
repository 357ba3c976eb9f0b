"""What an extraction follows, as a value, and where a new memory of a type goes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gitmem.store.workspace import MAIN, ScopeName

Mode = Literal["auto", "suggest", "off"]
Sharing = Literal["off", "review", "direct"]


@dataclass(frozen=True)
class Rules:
    """What a plan follows.

    Attributes:
        mode: `gitmem.extract`.
        sharing: `gitmem.share`.
        texts: whole texts of CLAUDE.md, AGENTS.md and their like.
        folders: live directories, absolute.
        allow: fingerprints of secrets that the person accepted.
        agent: whose session it is.
        scope: the scope of a subagent's memory, as its definition says; None for `main`.
        left_out: uuids of messages that no engine may see.
        log: whether what is learned goes to daily logs (`gitmem.mode`), and nothing else is touched.
    """

    mode: Mode = "suggest"
    sharing: Sharing = "off"
    texts: tuple[str, ...] = ()
    folders: tuple[Path, ...] = ()
    allow: frozenset[str] = frozenset()
    agent: str = MAIN
    scope: ScopeName | None = None
    left_out: frozenset[str] = frozenset()
    log: bool = False


def home(type: str, sharing: Sharing) -> ScopeName:
    """Scope of a new memory of a type (design.md section 2)."""
    if sharing == "off" or type == "feedback":
        return "local"
    return "user" if type == "user" else "project"


def folders_of(paths: Collection[Path]) -> tuple[Path, ...]:
    """Live directories as a transcript may name them: as given and with links resolved."""
    return tuple(dict.fromkeys(form for path in paths for form in (path, path.resolve())))
