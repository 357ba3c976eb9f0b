"""A dream: a session of its own tidies a copy of one scope, held by the hook that holds a fork.

A fork would share a cache, but no session holds what all of them taught. What is left open after the first
answer is told to the same session, which is still there: its messages come by standard input. It is kept
nowhere, so it is in no list of sessions, and nothing is ever learned from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gitmem.core.account import is_memory
from gitmem.core.errors import EngineError
from gitmem.core.merge import agent_folder
from gitmem.core.names import is_memory_file
from gitmem.engines import prompts
from gitmem.engines.claude_code import held, own, wiring
from gitmem.engines.claude_code.leftovers import forget
from gitmem.engines.claude_code.parent import refuse_without_hooks
from gitmem.engines.claude_code.scratch import May, Scratch, scratch
from gitmem.engines.claude_code.settings import ForkSettings
from gitmem.engines.claude_code.shown import Shown, shown
from gitmem.engines.consolidated.consolidated import Unaccounted, consolidated
from gitmem.engines.engine import ConsolidateInput, Consolidation, Step, Tell
from gitmem.engines.prompts import dreams
from gitmem.engines.proved import proved_first
from gitmem.engines.usage import Meter

REPAIR_TURNS = 6
"""How often the model may answer once it is told what is left open: read, edit, answer, and again."""

_WHAT = "The dream"


def consolidate(
    settings: ForkSettings, config: Path, meter: Meter, given: ConsolidateInput, tell: Tell
) -> tuple[Consolidation, str]:
    """Has a model tidy what the offline engine leaves.

    Args:
        config: the client's own folder.
        meter: is asked before, and told after it what it cost.
        tell: is told of each answer of the model's; what it raises ends the client.

    Returns:
        the offline engine's changes, then the model's; exact id of the model, empty where none was asked.

    Raises:
        EngineError: the client is missing, refuses or hangs, the model does not account for what it
            changed, or it is not proved that the hook held it. Nothing is taken then.
        DetectorUnavailable: credentials cannot be looked for, so nothing may leave.
    """
    held.refuse_without_program(settings)
    refuse_without_hooks(config, None)
    proved, rest = proved_first(given, tell)
    if not dreams.agents(rest):
        return proved, ""
    known = shown(rest)
    worktree = rest.worktree.resolve() if rest.worktree and rest.worktree.is_dir() else None
    meter.allow()
    with scratch(settings.temp, known.tree, _may(known, worktree), known.sessions) as copy:
        work = _Work(settings, known, worktree, copy, tell)
        try:
            work.run()
        finally:
            forget(config, copy.session, worktree or copy.memory)
            usage = work.watch.account.usage()
            if usage is not None:
                meter.spent("consolidate", work.model, usage)
        made = work.made()
    changes, notes = (*proved.changes, *made.changes), (*proved.notes, *made.notes)
    log = (*proved.log, *known.log, *made.log, *work.watch.refused)
    return Consolidation(changes, notes, usage, log), work.model


class _Work:
    """One session and what it has come to."""

    def __init__(
        self, settings: ForkSettings, known: Shown, worktree: Path | None, copy: Scratch, tell: Tell
    ) -> None:
        self.watch = held.Watch(_WHAT, copy)
        self._settings, self._known, self._worktree, self._copy = settings, known, worktree, copy
        self._tell_step = tell
        self._limit = settings.dream_turns
        self._repaired = False
        self._made: tuple[Consolidation, Mapping[str, bytes]] | None = None
        self._told: tuple[int, tuple[str, ...]] = (0, ())

    @property
    def model(self) -> str:
        """Exact id of the model, as far as it is known."""
        return self.watch.account.model or self._settings.model

    def made(self) -> Consolidation:
        """What came of it, once the client has ended.

        Raises:
            EngineError: it is not what the hook let through.
        """
        self.watch.refuse_unaccounted(self._known.tree, self._copy.read())
        if self._made is None or self._tree() != self._made[1]:
            raise EngineError(f"{_WHAT} changed files behind its answer", "Nothing was taken.")
        return self._made[0]

    def run(self) -> None:
        """Returns when the client has ended and its hook is proved to have held it."""
        task = _task(self._known.told, self._copy, self._worktree)
        own.hold(self._settings, self._copy, self.watch, self._worktree, task, self._follow, _WHAT)

    def _follow(self, line: bytes) -> str | None:
        account = self.watch.account
        ended = account.ended
        if not self.watch.add(line):
            return None
        self._tell()
        if len(account.answers) > self._limit:
            raise EngineError(
                f"{_WHAT} did not come to an end within {self._limit} turns", "Nothing was taken."
            )
        return self._next() if account.ended > ended else None

    def _next(self) -> str:
        """What the session is told when it has answered; empty where that was all."""
        final = self.watch.account.final
        if final.get("subtype") != "success" or final.get("is_error"):
            return ""
        tree, answer = self._tree(), str(final.get("result") or "")
        try:
            made = consolidated(self._known.given, tree, answer, f"claude-code:{self.model}")
        except Unaccounted as left:
            if self._repaired:
                raise
            self._repaired, self._limit = True, len(self.watch.account.answers) + REPAIR_TURNS
            return wiring.message(dreams.repair(left.problems))
        self._made = made, tree
        return ""

    def _tree(self) -> dict[str, bytes]:
        """The scope's tree as it stands now; what was not shown is as it was."""
        lead = f"{self._known.given.scope}/"
        there = {path.removeprefix(lead): data for path, data in self._copy.read().items()}
        return {**there, **self._known.hidden}

    def _tell(self) -> None:
        lead = f"{self._known.given.scope}/"
        files = tuple(sorted(path.removeprefix(lead) for path in self.watch.written))
        now = (len(self.watch.account.answers), files)
        if now != self._told:
            self._told = now
            self._tell_step(Step("consolidate", now[0], self._settings.dream_turns + REPAIR_TURNS, files))


def _may(known: Shown, worktree: Path | None) -> May:
    given = known.given
    agents = dreams.agents(given)
    fixed = [path for path in known.told.files if not _is_own(path, agents)]
    reads = (worktree,) if worktree else ()
    return May(agents, (given.scope,), reads, [f"{given.scope}/{path}" for path in fixed])


def _is_own(path: str, agents: Sequence[str]) -> bool:
    """Whether it is a memory of one of these agents that was not paged out."""
    return is_memory(path) and agent_folder(path) in agents and is_memory_file(path.partition("/")[2])


def _task(told: ConsolidateInput, copy: Scratch, worktree: Path | None) -> str:
    code = f"The code is in `{worktree}/`." if worktree else "There is no code to look at."
    places: Mapping[str, str] = {"memory": str(copy.memory), "sessions": str(copy.sessions), "code": code}
    return "\n".join(
        [
            held.canary(copy),
            prompts.text(dreams.SYSTEM),
            prompts.fill(prompts.text("consolidate-session.v1"), **places),
            dreams.task(replace(told, worktree=worktree), root=str(copy.memory)),
        ]
    )
