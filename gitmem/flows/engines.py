"""From a repository and the person's settings to the engine that works there."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from gitmem.core.errors import EngineError, UsageError
from gitmem.engines.budget import Ceilings, Ledger, LedgerMeter, Meter
from gitmem.engines.choice import EngineChoice, Installed, choose
from gitmem.engines.engine import Engine
from gitmem.flows.context import Edges
from gitmem.ledger.files import read_json
from gitmem.ledger.workspace import PERSONAL, Workspace
from gitmem.values import dataclass

if TYPE_CHECKING:
    from gitmem.engines.anthropic import AnthropicEngine
    from gitmem.engines.messages import ApiSettings
    from gitmem.engines.task import ModelEngine, UnreadyEngine

_CLIENT_BYTES = 16 * 1024 * 1024

LEDGER = "spending"
"""Folder of the ledger, beside the private repository: one budget a person."""


@dataclass(frozen=True)
class SettingOrigin:
    """Where a setting stands.

    Attributes:
        key: `engine`, `model`, … without `gitmem.`.
        where: git's word for the configuration: `global`, `local`, ….
        file: path of the file, as git names it; empty where it is in none.
        counts: whether it is looked at; a repository's own is not.
    """

    key: str
    value: str
    where: str
    file: str
    counts: bool


def engine_for(workspace: Workspace, edges: Edges, name: str = "") -> Engine:
    """The engine in force; where it cannot run, one that raises `EngineError` when it is asked to work.

    Args:
        name: the one to take instead of the one that is set.
    """
    chosen = choice_for(workspace, edges, name)
    if chosen.tells:
        from gitmem.engines.agent import AgentEngine

        return AgentEngine()
    if chosen.engine in ("offline", "agent"):
        from gitmem.engines.offline import OfflineEngine

        return OfflineEngine()
    if not chosen.missing:
        return _made(workspace, edges, chosen, meter_for(workspace, edges))
    from gitmem.engines.task import UnreadyEngine

    return UnreadyEngine(chosen)


def chooser_for(workspace: Workspace, edges: Edges, name: str) -> AnthropicEngine | UnreadyEngine:
    """The engine that chooses memories; where it cannot run, one that raises `EngineError` when asked.

    Args:
        name: of `prompt_recall.MODELS`.
    """
    chosen = choice_for(workspace, edges, name)
    if not chosen.missing:
        return api_engine(chosen, meter_for(workspace, edges))
    from gitmem.engines.task import UnreadyEngine

    return UnreadyEngine(chosen)


def choice_for(workspace: Workspace, edges: Edges, name: str = "") -> EngineChoice:
    """Which engine is in force here, why, and what it lacks."""
    return choose(
        Installed(
            {**workspace.settings.values, "engine": name} if name else workspace.settings.values,
            edges.environ,
            sdk=find_spec("anthropic") is not None,
            program=claude_program(workspace, edges),
            signed_in=_signed_in(edges),
            carried=any(edges.carries(tree.path) for tree in workspace.worktrees if tree.path.is_dir()),
        )
    )


def _signed_in(edges: Edges) -> bool:
    """Whether Claude Code has an account of the person's; what it is, is not looked at."""
    if (edges.config / ".credentials.json").is_file():
        return True
    folder = edges.config if edges.environ.get("CLAUDE_CONFIG_DIR") else edges.home
    value = read_json(folder / ".claude.json", _CLIENT_BYTES)
    return isinstance(value, dict) and bool(value.get("oauthAccount"))


def _made(workspace: Workspace, edges: Edges, chosen: EngineChoice, meter: Meter) -> ModelEngine:
    """A chosen engine that lacks nothing and asks a model."""
    if chosen.engine == "anthropic":
        return api_engine(chosen, meter)
    from gitmem.engines.claude_code import ClaudeCodeEngine, ForkSettings
    from gitmem.flows.extraction import withholds

    settings = ForkSettings(
        chosen.program, edges.environ, withholds=lambda path: withholds(workspace, path, edges.now)
    )
    return ClaudeCodeEngine(settings, meter)


def api_engine(chosen: EngineChoice, meter: Meter) -> AnthropicEngine:
    """Makes the engine that asks over the Messages API."""
    from gitmem.engines.anthropic import AnthropicEngine

    settings = api_settings(chosen)
    if chosen.local:
        # It says nothing while it reads a prompt; and one that hangs is not helped by being asked again.
        settings = replace(settings, timeout=chosen.patience, retries=0)
    return AnthropicEngine(settings, meter)


def api_settings(chosen: EngineChoice) -> ApiSettings:
    """Where requests to Anthropic's API go, and as whom."""
    from gitmem.engines.messages import ApiSettings

    return ApiSettings(
        chosen.key,
        chosen.base_url,
        chosen.model,
        patience=chosen.patience,
        proxy=chosen.proxy,
        ca_file=chosen.ca_file,
        must_call=chosen.foreign,
        questions=chosen.protocol == "questions",
    )


def ledger_for(workspace: Workspace) -> Ledger:
    """What models cost the person, in all repositories."""
    return Ledger(workspace.private_state / LEDGER)


def ceilings_for(workspace: Workspace) -> Ceilings:
    """What may be spent in a day.

    Raises:
        EngineError: a setting is no number.
    """
    try:
        return Ceilings(workspace.settings.number("maxRuns"), workspace.settings.number("maxTokens"))
    except UsageError as error:
        raise EngineError(error.message, error.hint) from error


def meter_for(workspace: Workspace, edges: Edges) -> LedgerMeter:
    """Counts what an engine spends here, and holds it to the day's ceilings."""
    project = workspace.settings.get("projectId")
    return LedgerMeter(ledger_for(workspace), ceilings_for(workspace), lambda: edges.now, project)


def claude_program(workspace: Workspace, edges: Edges) -> str:
    """Path of the person's own `claude`; empty where there is none."""
    return find_program(("claude",), workspace, edges.environ)


def find_program(names: Sequence[str], workspace: Workspace, environ: Mapping[str, str]) -> str:
    """Path of the person's own program of one of these names; empty where there is none.

    One inside a work tree of the repository is not the person's: a repository's files can set PATH. A home
    directory that is a work tree is all the person's own.
    """
    home = workspace.around.home.resolve()
    tops = [top for tree in workspace.worktrees if not home.is_relative_to(top := tree.path.resolve())]
    for folder in environ.get("PATH", "").split(os.pathsep):
        for path in (Path(folder, name) for name in names):
            # Access first: of a folder that cannot be read `is_file` raises.
            if not path.is_absolute() or not os.access(path, os.X_OK) or not path.is_file():
                continue
            if not any(place.is_relative_to(top) for place in (path, path.resolve()) for top in tops):
                return str(path)
    return ""


def origins(workspace: Workspace) -> tuple[SettingOrigin, ...]:
    """Where the settings stand that choose an engine, in the order in which git reads them."""
    words = ["config", "--includes", "--show-scope", "--show-origin", "-z", "--get-regexp", r"^gitmem\."]
    result = workspace.git.run(
        words, cwd=workspace.layout.worktree or workspace.layout.git_dir, check=False
    )
    fields, found = result.text.split("\0"), []
    for where, origin, pair in zip(fields[0::3], fields[1::3], fields[2::3], strict=False):
        name, _, value = pair.partition("\n")
        key = name.partition(".")[2].lower()
        if key in ("engine", "model", "baseurl", "cafile", "patience", "protocol", "maxruns", "maxtokens"):
            counts = key not in PERSONAL or where in ("global", "system")
            file = origin.removeprefix("file:") if origin.startswith("file:") else ""
            found.append(SettingOrigin(key, value, where, file, counts))
    return tuple(found)
