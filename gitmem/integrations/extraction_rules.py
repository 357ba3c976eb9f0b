"""What an extraction follows: settings, instruction files, live directories, throttle and pauses."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from gitmem.extract.plan import Rules, folders_of
from gitmem.integrations.edges import Edges, allowed_fingerprints
from gitmem.integrations.pausing import intervals, said_in_pause
from gitmem.integrations.promoting.pending import rules_under_way
from gitmem.integrations.recordings import Source, handled
from gitmem.integrations.switches import unheard
from gitmem.promote.section import spoken
from gitmem.store.files import read_regular
from gitmem.store.symlinks import linked
from gitmem.store.workspace import LIVE_FOLDERS, MAIN, Workspace
from gitmem.transcripts import discover
from gitmem.transcripts.model import Session
from gitmem.transcripts.privacy import ignoring

RULE_FILES = ("CLAUDE.md", "AGENTS.md", "CLAUDE.local.md")
RULE_BYTES = 262_144


def rules_of(workspace: Workspace, edges: Edges, by_hand: bool) -> Rules:
    """The rules for all sessions of a repository; by hand, `off` counts as `suggest`."""
    mode = workspace.settings.get("extract")
    return Rules(
        mode="suggest" if by_hand and mode == "off" else mode,  # type: ignore[arg-type]
        sharing=workspace.sharing,  # type: ignore[arg-type]
        texts=rule_texts(workspace, edges),
        folders=folders_of(_live_folders(workspace)),
        allow=allowed_fingerprints(workspace),
        log=in_log_mode(workspace),
    )


def in_log_mode(workspace: Workspace) -> bool:
    """Whether extraction writes to daily logs alone (`gitmem.mode`)."""
    return workspace.settings.get("mode") == "log"


def rule_texts(workspace: Workspace, edges: Edges) -> tuple[str, ...]:
    """Instruction files of the repository and of the person; links are not followed."""
    top = workspace.layout.worktree
    places = [(edges.config, edges.config / "CLAUDE.md")]
    if top is not None:
        names = (*RULE_FILES, f"{workspace.claude_folder}/CLAUDE.md")
        # A rule that was a memory may stand in any file.
        became = (one.file for one in rules_under_way(workspace))
        places += [(top, top / name) for name in dict.fromkeys((*names, *became))]
    texts = []
    for anchor, path in places:
        if linked(anchor, path):
            continue
        with suppress(OSError):
            if found := read_regular(path, RULE_BYTES):
                texts.append(spoken(found[0][:RULE_BYTES].decode("utf-8", "replace")))
    return tuple(texts)


def _live_folders(workspace: Workspace) -> list[Path]:
    """Folders in which a file is a memory, whether or not they exist."""
    tops = [tree.path / workspace.claude_folder for tree in workspace.worktrees]
    folders = [top / folder for top in tops for folder in LIVE_FOLDERS.values()]
    auto = [workspace.auto_memory] if workspace.auto_memory is not None else []
    return [*folders, *auto, workspace.around.config / "agent-memory"]


def rules_for(workspace: Workspace, base: Rules, source: Source, session: Session, now: float) -> Rules:
    """The rules for one session: whose it is, and what in it was said while nothing was to be learned."""
    out = left_out(workspace, session, now)
    return replace(base, agent=source.agent, scope=source.scope, left_out=out)


def withholds(workspace: Workspace, path: Path, now: float) -> bool:
    """Whether a session of `main` holds what is not to be learned from, by `gitmem.ignore` or by its time.

    Raises:
        RepositoryError: it cannot be read.
    """
    session = discover.read(path, keep=False)
    ignore = ignoring(workspace.settings.all("ignore"))
    return any(map(ignore.hides, session.messages)) or bool(left_out(workspace, session, now))


def left_out(workspace: Workspace, session: Session, now: float, *, strict: bool = False) -> frozenset[str]:
    """Uuids of messages that were said in a pause, or while extraction was off.

    Args:
        strict: where there was any such time, what was said at an unknown one counts as said in it; else it
            counts as said now.
    """
    pauses = (*intervals(workspace.state), *unheard(workspace.state, session.id))
    return frozenset(
        message.uuid
        for message in (session.messages if pauses else ())
        if (strict and message.time is None)
        or said_in_pause(pauses, message.time.timestamp() if message.time else None, now)
    )


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
