"""A session of its own works on a copy of a tree, held by the hook that holds a fork.

A fork would share a cache, but no session holds what all of them taught. What is left open after the first
answer is told to the same session, which is still there: its messages come by standard input. It is kept
nowhere, so it is in no list of sessions, and nothing is ever learned from it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gitmem.core.account import is_memory
from gitmem.core.errors import EngineError
from gitmem.core.names import is_memory_file, kind
from gitmem.core.text import counted, decode, one_line
from gitmem.engines import prompts
from gitmem.engines.budget import Meter
from gitmem.engines.claude_code import held, own, wiring
from gitmem.engines.claude_code.fork import allowed
from gitmem.engines.claude_code.leftovers import forget
from gitmem.engines.claude_code.parent import refuse_without_hooks
from gitmem.engines.claude_code.scratch import May, Scratch, scratch
from gitmem.engines.claude_code.settings import ForkSettings
from gitmem.engines.task import Outcome, Shown, Task, Unfit
from gitmem.rules.paths import check_path
from gitmem.rules.secrets import scan

REPAIR_TURNS = 6
"""How often the model may answer once it is told what is left open: read, edit, answer, and again."""

SESSION_CHARS = 4_000_000
"""Of what was said, for one dream: searched for secrets at about a second for a million."""

_PLAIN = re.compile(r"\w[\w.-]{0,199}")
_WIDTH = 200


@dataclass(frozen=True)
class Laid:
    """What is laid out for the client: files that hold text and no credentials.

    Attributes:
        files: of the scratch copy.
        hidden: files that are not; they stay as they are.
        sessions: what was said, secrets redacted.
        log: what was left out, for a person.
    """

    files: Mapping[str, bytes]
    hidden: Mapping[str, bytes]
    sessions: Mapping[str, str]
    log: tuple[str, ...] = ()


def lay_out(task: Task) -> Laid:
    """Chooses what the client sees.

    Raises:
        Unfit: the one file that the task is about holds a credential.
        DetectorUnavailable: credentials cannot be looked for, so nothing may leave.
    """
    log: list[str] = []
    fit = [path for path, data in task.tree.items() if _fits(path, data, task)]
    found = scan([decode(task.tree[path]).encode("utf-8", "replace").decode() for path in fit])
    laid = {}
    for path, secrets in zip(fit, found, strict=True):
        if not any(secret.severity == "block" or not task.may.only for secret in secrets):
            laid[path] = task.tree[path]
        elif task.may.only:
            raise Unfit("it seems to hold a credential: not shown to the model")
        else:
            name = one_line(path.partition("/")[2], _WIDTH)
            log.append(f"{name}: not shown to the model, it seems to hold a credential")
    hidden = {path: data for path, data in task.tree.items() if path not in laid}
    return Laid(laid, hidden, _said(task.reads.sessions, log), tuple(log))


def may_of(task: Task, laid: Laid, worktree: Path | None) -> May:
    """What the client may do: what of the tree is no memory of the task's agents is read only."""
    fixed = [path for path in laid.files if not _is_own(path, task)]
    return allowed(task, (worktree,) if worktree else (), fixed)


class Session:
    """One run of the client and what it has come to."""

    def __init__(self, settings: ForkSettings, task: Task) -> None:
        self._settings, self._task = settings, task
        self._watch: held.Watch | None = None
        self._limit = settings.dream_turns
        self._answers: list[str] = []
        self._wrong: tuple[str, ...] = ()
        self._judged: Mapping[str, bytes] | None = None
        self._told: tuple[int, tuple[str, ...]] = (0, ())

    @property
    def model(self) -> str:
        """Exact id of the model, as far as it is known."""
        return (self._watch.account.model if self._watch else "") or self._settings.model

    def run(self, config: Path, meter: Meter) -> Outcome:
        """Returns when the client has ended and its hook is proved to have held it.

        Args:
            config: the client's own folder.
            meter: is asked before, and told after it what it cost.

        Raises:
            Unfit, EngineError: as `ClaudeCodeEngine.run`.
        """
        task = self._task
        laid = lay_out(task)
        held.refuse_without_program(self._settings)
        refuse_without_hooks(config, None)
        tree = task.reads.worktree
        worktree = tree.resolve() if tree and tree.is_dir() else None
        meter.allow()
        with scratch(self._settings.temp, laid.files, may_of(task, laid, worktree), laid.sessions) as copy:
            watch = self._watch = held.Watch(task.what, copy)

            def follow(line: bytes) -> str | None:
                return self._follow(line, watch, copy, laid)

            said = self._prompt(copy, laid, worktree)
            try:
                own.hold(self._settings, copy, watch, worktree, said, follow, task.what)
            finally:
                forget(config, copy.session, worktree or copy.memory)
                usage = watch.account.usage()
                if usage is not None:
                    meter.spent(task.job, self.model, usage)
            watch.refuse_unaccounted(laid.files, copy.read())
            files = {**copy.read(), **laid.hidden}
        if self._judged != files:
            raise EngineError(f"{task.what} changed files behind its answer", "Nothing was taken.")
        log = (*laid.log, *watch.refused)
        return Outcome(files, tuple(self._answers), self._wrong, usage, log)

    def _prompt(self, copy: Scratch, laid: Laid, worktree: Path | None) -> str:
        shown = Shown(laid.files, laid.sessions, str(copy.memory), str(copy.sessions), worktree)
        return "\n".join(
            [held.canary(copy), prompts.text(self._task.system), self._task.prompt(shown)],
        )

    def _follow(self, line: bytes, watch: held.Watch, copy: Scratch, laid: Laid) -> str | None:
        """Takes a line of the client's output; returns what it is told next, empty where that was all."""
        account = watch.account
        ended = account.ended
        if not watch.add(line):
            return None
        self._tell(watch)
        if len(account.answers) > self._limit:
            raise EngineError(
                f"{self._task.what} did not come to an end within {self._limit} turns", "Nothing was taken."
            )
        return self._next(watch, copy, laid) if account.ended > ended else None

    def _next(self, watch: held.Watch, copy: Scratch, laid: Laid) -> str:
        final = watch.account.final
        if final.get("subtype") != "success" or final.get("is_error"):
            return ""
        self._answers.append(str(final.get("result") or ""))
        self._judged = {**copy.read(), **laid.hidden}
        self._wrong = tuple(self._task.judge(self._judged, self._answers))
        if not self._wrong or len(self._answers) > 1:
            return ""
        self._limit = len(watch.account.answers) + REPAIR_TURNS
        return wiring.message(self._task.repair(self._wrong, str(copy.memory)))

    def _tell(self, watch: held.Watch) -> None:
        now = (len(watch.account.answers), tuple(sorted(watch.written)))
        if now != self._told:
            self._told = now
            self._task.tell(now[0], self._settings.dream_turns + REPAIR_TURNS, now[1])


def _fits(path: str, data: bytes, task: Task) -> bool:
    """Memories, indexes and logs; an empty file would count as deleted, a large one as written."""
    _, _, below = path.partition("/")
    known = "/" in below and check_path(below) is None and kind(below) in ("memory", "index", "log")
    return known and bool(data.strip()) and len(data) <= task.may.size


def _is_own(path: str, task: Task) -> bool:
    """Whether it is a memory of one of the task's agents that was not paged out."""
    _, _, below = path.partition("/")
    agent, _, file = below.partition("/")
    return is_memory(below) and agent in task.may.agents and is_memory_file(file)


def _said(sessions: Mapping[str, str], log: list[str]) -> dict[str, str]:
    taken: dict[str, str] = {}
    room, left = SESSION_CHARS, 0
    for name, text in sessions.items():
        if len(text) > room or not _PLAIN.fullmatch(name):
            left += 1
            continue
        room -= len(text)
        taken[name] = text
    if left:
        log.append(f"{counted(left, 'session')} not shown to the model: too long")
    return dict(zip(taken, prompts.clean(list(taken.values())), strict=True))
