"""What an extraction follows, as a value: what a workspace's settings ask, for all sessions or one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from gitmem.flows.extract.sessions import LeftOut, Source, handled
from gitmem.ledger.workspace import LIVE_FOLDERS, MAIN, ScopeName, Workspace
from gitmem.transcripts.model import Session

Mode = Literal["auto", "suggest", "off"]


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
    sharing: str = "off"
    texts: tuple[str, ...] = ()
    folders: tuple[Path, ...] = ()
    allow: frozenset[str] = frozenset()
    agent: str = MAIN
    scope: ScopeName | None = None
    left_out: frozenset[str] = frozenset()
    log: bool = False


def folders_of(paths: Collection[Path]) -> tuple[Path, ...]:
    """Live directories as a transcript may name them: as given and with links resolved."""
    return tuple(dict.fromkeys(form for path in paths for form in (path, path.resolve())))


def rules_of(
    workspace: Workspace, texts: tuple[str, ...], allow: frozenset[str], *, by_hand: bool = False
) -> Rules:
    """The rules for all sessions of a repository.

    Args:
        texts: whole texts of its instruction files.
        allow: fingerprints of secrets that the person accepted.
        by_hand: the person asked for it: `off` counts as `suggest`.
    """
    mode = workspace.settings.get("extract")
    return Rules(
        mode="suggest" if by_hand and mode == "off" else mode,  # type: ignore[arg-type]
        sharing=workspace.sharing,
        texts=texts,
        folders=folders_of(_live_folders(workspace)),
        allow=allow,
        log=workspace.logs,
    )


def rules_for(base: Rules, source: Source, session: Session, out: LeftOut) -> Rules:
    """The rules for one session: whose it is, and what in it was said while nothing was to be learned."""
    return replace(base, agent=source.agent, scope=source.scope, left_out=out(session, False))


def throttled(workspace: Workspace, source: Source, session: Session, rules: Rules) -> str:
    """Why a session is left for later; empty where it is its turn."""
    every = workspace.settings.number("extractEvery")
    if source.pressing or source.agent != MAIN or every <= 1:
        return ""
    known = handled(workspace)
    turns = sum(
        message.role == "person" and message.source == "prompt" and message.uuid not in known
        for message in session.messages
        if message.uuid not in rules.left_out
    )
    return f"{turns} of {every} turns since the last time (gitmem.extractEvery)" if turns < every else ""


def _live_folders(workspace: Workspace) -> list[Path]:
    """Folders in which a file is a memory, whether or not they exist."""
    tops = [tree.path / workspace.claude_folder for tree in workspace.worktrees]
    folders = [top / folder for top in tops for folder in LIVE_FOLDERS.values()]
    auto = [workspace.auto_memory] if workspace.auto_memory is not None else []
    return [*folders, *auto, workspace.around.config / "agent-memory"]
