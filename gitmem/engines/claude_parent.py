"""What a fork has to know of its session: where it was held, with which model, and whether it is at
rest."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gitmem.core.errors import EngineError
from gitmem.transcripts.privacy import without_private
from gitmem.transcripts.reader import read_lines

LONG_CONTEXT = "[1m]"
"""Ends the client's name of a model with a context of a million tokens. It is in no record."""
SHORT_TOKENS = 200_000
"""Tokens that a model without it takes."""

_SESSION = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SETTINGS_BYTES = 4 * 1024 * 1024
_FILES = ("settings.json", "settings.local.json")
_RULES = 500
_INTERRUPTED = "[Request interrupted by user"
# What the person does with the client itself: it is recorded as theirs, and nobody answers it.
_COMMANDS = ("<command-", "<local-command-", "<bash-")


@dataclass(frozen=True)
class Parent:
    """A session that can be forked.

    Attributes:
        session: its id.
        cwd: folder in which it began, where the client looks for it.
        model: id of the model that answered last, as recorded; empty where none is.
        tokens: the most that one answer read.
        open: whether its last turn is unfinished.
        private: whether the person marked something in it as `<private>`.
    """

    session: str
    cwd: Path
    model: str = ""
    tokens: int = 0
    open: bool = False
    private: bool = False


def read_parent(transcript: Path | None) -> Parent | None:
    """Reads a session's transcript.

    Returns:
        None where there is nothing to fork: no transcript of a session of Claude Code itself (a subagent's,
        say), or its folder is gone.

    Raises:
        RepositoryError: it cannot be read.
    """
    if transcript is None or not _SESSION.fullmatch(transcript.stem):
        return None
    reading = _Reading()
    for line in read_lines(transcript):
        reading.add(line.record or {})
    cwd = Path(reading.cwd)
    if not cwd.is_absolute() or not cwd.is_dir() or not reading.answered:
        return None
    return Parent(transcript.stem, cwd, reading.model, reading.tokens, reading.open, reading.private)


@dataclass
class _Reading:
    cwd: str = ""
    model: str = ""
    tokens: int = 0
    open: bool = False
    answered: bool = False
    private: bool = False
    waiting: set[str] = field(default_factory=set)

    def add(self, record: dict[str, Any]) -> None:
        message = record.get("message")
        if not self.cwd and isinstance(record.get("cwd"), str):
            self.cwd = record["cwd"]
        marks = ("isSidechain", "isMeta", "isCompactSummary")
        if any(record.get(mark) for mark in marks) or not isinstance(message, dict):
            return
        content = message.get("content")
        blocks = (
            [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
        )
        if record.get("type") == "user":
            self.waiting -= {str(block.get("tool_use_id")) for block in blocks}
            given = [content, *(block.get("text") for block in blocks)]
            texts = [text.lstrip() for text in given if isinstance(text, str)]
            self.private |= without_private(texts) != texts
            if not any(text.startswith(_COMMANDS) for text in texts):
                self.open = not any(text.startswith(_INTERRUPTED) for text in texts)
        elif record.get("type") == "assistant" and message.get("model") != "<synthetic>":
            self.answered = True
            self.model = str(message.get("model") or self.model)
            self.tokens = max(self.tokens, _read_tokens(message.get("usage")))
            self.waiting |= {str(block.get("id")) for block in blocks if block.get("type") == "tool_use"}
            self.open = bool(self.waiting)


def model_of(parent: Parent, config: Path, environ: Mapping[str, str]) -> str:
    """Names the session's model as the client has to be given it.

    The record leaves `[1m]` out. It was there where an answer read more than fits without, or where the
    person's own choice of model says so.

    Args:
        config: the client's own folder.
        environ: the person's environment.
    """
    if not parent.model or parent.model.endswith(LONG_CONTEXT):
        return parent.model
    chosen = environ.get("ANTHROPIC_MODEL") or _settings(config / "settings.json").get("model")
    name = chosen.removesuffix(LONG_CONTEXT) if isinstance(chosen, str) else ""
    # The person may have written `opus[1m]`.
    long = name != chosen and bool(name) and (name == parent.model or f"-{name}-" in f"-{parent.model}-")
    return parent.model + LONG_CONTEXT if long or parent.tokens > SHORT_TOKENS else parent.model


def refuse_without_hooks(config: Path, cwd: Path | None) -> None:
    """Looks where hooks can be switched off, since a run of the client without its hook is not held.

    Args:
        config: the client's own folder.
        cwd: folder of the session; None where no settings of a repository are read.

    Raises:
        EngineError: they are.
    """
    project = [folder / ".claude" for folder in (cwd, *cwd.parents)] if cwd else []
    for folder in (config, *project):
        for name in _FILES:
            path = folder / name
            if _settings(path).get("disableAllHooks"):
                raise EngineError(
                    f"{path} switches all hooks off, and what gitmem runs is held by its hook",
                    "Take `disableAllHooks` out, or choose another engine: git mem engine set offline",
                )


def denied(worktree: Path) -> list[str]:
    """Permission rules by which a work tree's own settings deny something, as they are spelt there."""
    found: list[str] = []
    for name in _FILES:
        permissions = _settings(worktree / ".claude" / name).get("permissions")
        rules = permissions.get("deny") if isinstance(permissions, dict) else None
        found += [rule for rule in rules if isinstance(rule, str)] if isinstance(rules, list) else []
    return found[:_RULES]


def _settings(path: Path) -> dict[str, Any]:
    try:
        # To open a pipe that an archive put there would wait for ever. Links are followed, as the
        # client does.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            value = json.loads(file.read(_SETTINGS_BYTES) or b"{}")
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _read_tokens(usage: Any) -> int:
    if not isinstance(usage, dict):
        return 0
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    counts = [usage.get(name) for name in names]
    return sum(count for count in counts if isinstance(count, int))
