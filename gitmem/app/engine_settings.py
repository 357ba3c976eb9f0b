"""The engine as a person sees and changes it: where it stands, how it is chosen, whether it answers."""

from __future__ import annotations

import json
import shlex
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from gitmem.core.change import Header
from gitmem.core.errors import EngineError, UsageError
from gitmem.core.text import one_line
from gitmem.core.trailers import Usage
from gitmem.engines.budget import Ceilings, Meter, Today
from gitmem.engines.choice import ENGINES, EngineChoice, endpoint_problem
from gitmem.flows.context import Edges
from gitmem.flows.engines import (
    SettingOrigin,
    api_engine,
    ceilings_for,
    choice_for,
    ledger_for,
    meter_for,
    origins,
)
from gitmem.git.config import config_set, config_unset
from gitmem.ledger.workspace import Workspace

QUESTION = "Answer with one word: ready."
PATIENCE = 120.0
"""Seconds."""

_WORDS = ("-p", QUESTION, "--output-format", "json", "--no-session-persistence", "--max-turns", "1")
_HINT = "Try it yourself: claude -p hello"


def ask_claude(program: str, edges: Edges, meter: Meter) -> str:
    """Asks one small question in an empty folder, in the environment that a fork gets.

    Args:

    Returns:
        the model that answered; empty where it does not say.

    Raises:
        EngineError: it does not answer; the hint says what to do.
    """
    from gitmem.engines.claude_process import client_environ, forget
    from gitmem.engines.claude_proof import usage_of  # who only looks waits for neither

    meter.allow()
    environ, session = client_environ(edges.environ), str(uuid4())
    with tempfile.TemporaryDirectory(prefix="gitmem-") as folder:
        try:
            done = subprocess.run(
                [program, *_WORDS, "--session-id", session],
                cwd=folder,
                env=environ,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise EngineError(f"{program} did not answer within {PATIENCE:g} s", _HINT) from None
        except OSError as error:
            raise EngineError(f"{program} cannot be run: {error.strerror}", _HINT) from error
        finally:
            forget(edges.config, session, Path(folder).resolve())
    answer = _answer(done.stdout)
    models = answer.get("modelUsage")
    model = str(next(iter(models), "")) if isinstance(models, Mapping) else ""
    if isinstance(answer.get("usage"), Mapping):
        meter.spent("test", model, usage_of(answer, 1))
    if done.returncode or answer.get("is_error") or "result" not in answer:
        said = answer.get("result") or done.stderr.decode("utf-8", "replace") or f"exit {done.returncode}"
        raise EngineError(f"{program} does not answer: {one_line(str(said), 300)}", _HINT)
    return model


def _answer(printed: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(printed)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


TEST_SECONDS = 300
"""A person waits for the answer to a test: long enough for a local server that loads its model first."""

DEFAULT = "default"
"""The word that takes a setting out again."""

_OPTIONS = {"model": "--model", "baseUrl": "--base-url"}


_QUESTION = "Which port does the web server listen on?"
_HEADERS = (
    Header("local", "main", "ports.md", "ports", "The web server listens on port 4000", "project"),
    Header("local", "main", "tea.md", "tea", "Tea is in the kitchen", "project"),
)


@dataclass(frozen=True)
class EngineStatus:
    """What `engine` shows.

    Attributes:
        ceilings: None where a setting is no number; `trouble` says which.
    """

    choice: EngineChoice
    origins: tuple[SettingOrigin, ...]
    today: Today
    ceilings: Ceilings | None
    trouble: str


@dataclass(frozen=True)
class SetPlan:
    """What `engine set` would write to the person's own configuration.

    Attributes:
        changes: key without `gitmem.`, value before and after; an empty value is none.
        undo: the command that takes it back.
    """

    before: EngineChoice
    after: EngineChoice
    changes: tuple[tuple[str, str, str], ...]
    undo: str

    @property
    def sends_more(self) -> bool:
        """Whether what was said would go where it did not go before."""
        moved = (self.after.engine, self.after.base_url) != (self.before.engine, self.before.base_url)
        return bool(self.after.sends) and moved


@dataclass(frozen=True)
class Tested:
    """What a test came to.

    Attributes:
        name: engine and model.
        asked: whether a model was asked; `why` says why not.
        seconds: how long it took.
    """

    name: str
    asked: bool
    why: str = ""
    seconds: float = 0.0
    usage: Usage = field(default_factory=Usage)


def engine_standing(workspace: Workspace, edges: Edges) -> EngineStatus:
    """Reads what is in force and what it cost today; writes nothing."""
    ceilings, trouble = None, ""
    today = Today()
    try:
        today = ledger_for(workspace).today(edges.now)
        ceilings = ceilings_for(workspace)
    except EngineError as error:
        trouble = f"{error.message}. {error.hint}"
    return EngineStatus(choice_for(workspace, edges), origins(workspace), today, ceilings, trouble)


def plan_set(workspace: Workspace, edges: Edges, name: str, model: str, base_url: str) -> SetPlan:
    """Finds what choosing an engine would change; nothing is written.

    Args:
        name: an engine, or `default`.
        model, base_url: empty to leave them; `default` takes them out.

    Raises:
        UsageError: there is no such engine, or nothing may be sent to that address.
    """
    if name not in (*ENGINES, DEFAULT):
        known = ", ".join((*ENGINES, DEFAULT))
        raise UsageError(f"There is no engine {name!r}" if name else "Name an engine", f"One of: {known}.")
    if base_url not in ("", DEFAULT) and (problem := endpoint_problem(base_url)):
        raise UsageError(problem.what, problem.remedy)
    wanted = {"engine": name} | {k: v for k, v in (("model", model), ("baseUrl", base_url)) if v}
    current = {key: workspace.settings.values.get(key.lower(), "").rsplit("\n", 1)[-1] for key in wanted}
    after = {key: "" if value == DEFAULT else value for key, value in wanted.items()}
    changes = tuple((key, current[key], after[key]) for key in wanted if current[key] != after[key])
    other = workspace.with_settings(**{key.lower(): value for key, _, value in changes})
    return SetPlan(
        choice_for(workspace, edges), choice_for(other, edges), changes, _undo(workspace, changes)
    )


def carry_out_set(workspace: Workspace, edges: Edges, plan: SetPlan) -> tuple[SettingOrigin, ...]:
    """Writes the person's own configuration.

    Returns:
        settings elsewhere in it that count more than what was written.

    Raises:
        RepositoryError: it cannot be written.
    """
    for key, _, value in plan.changes:
        if value:
            config_set(workspace.git, edges.home, f"gitmem.{key}", value, scope="global")
        else:
            config_unset(workspace.git, edges.home, f"gitmem.{key}", scope="global")
    found = []
    for key, _, value in plan.changes:
        counting = [one for one in origins(workspace) if one.key == key.lower() and one.counts]
        if counting and counting[-1].value != value:
            found.append(counting[-1])
    return tuple(found)


def try_engine(workspace: Workspace, edges: Edges) -> Tested:
    """Asks the engine in force one small question.

    Raises:
        EngineError: it cannot run, or does not answer; the hint says what to do.
    """
    chosen = choice_for(workspace, edges)
    if chosen.missing:
        raise chosen.lacking()
    if not chosen.endpoint:
        return Tested(chosen.engine, asked=False, why="it makes no request")
    counted = _Counted(meter_for(workspace, edges))
    began = time.monotonic()
    if chosen.engine == "claude-code":
        model = ask_claude(chosen.program, edges, counted)
        name = f"{chosen.engine}:{model}" if model else chosen.engine
    else:
        engine = api_engine(replace(chosen, patience=min(chosen.patience, TEST_SECONDS)), counted)
        engine.choose(_QUESTION, _HEADERS, 1)
        name = engine.name
    return Tested(name, True, "", time.monotonic() - began, counted.usage)


class _Counted:
    """Hands on to the meter and keeps the sum."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self.usage = Usage()

    def begin(self) -> None:
        self._meter.begin()

    def allow(self) -> None:
        self._meter.allow()

    def spent(self, job: str, model: str, usage: Usage) -> None:  # noqa: ARG002 - it is a test, whatever it asks
        self.usage = self.usage + usage
        self._meter.spent("test", model, usage)


def _undo(workspace: Workspace, changes: tuple[tuple[str, str, str], ...]) -> str:
    before = {key: value for key, value, _ in changes}
    name = before.get("engine", workspace.settings.values.get("engine", "").rsplit("\n", 1)[-1])
    words = ["git", "mem", "engine", "set", name or DEFAULT]
    for key, option in _OPTIONS.items():
        if key in before:
            words += [option, before[key] or DEFAULT]
    return shlex.join(words)
