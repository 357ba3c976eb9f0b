"""The engine `claude-code`: a fork works on what its session taught, a session of its own on memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gitmem.core.change import Header
from gitmem.core.trailers import Usage
from gitmem.engines.budget import Meter
from gitmem.engines.claude_code.fork import Order, allowed, fork, readable, refuse_to_start
from gitmem.engines.claude_code.held import canary
from gitmem.engines.claude_code.parent import Parent, model_of, read_parent
from gitmem.engines.claude_code.scratch import Scratch
from gitmem.engines.claude_code.settings import ForkSettings
from gitmem.engines.engine import ExtractInput
from gitmem.engines.offline import OfflineEngine
from gitmem.engines.task import ModelEngine, Outcome, Shown, Task, Unfit
from gitmem.transcripts.claude_home import claude_config_dir

NAME = "claude-code"


class ClaudeCodeEngine(ModelEngine):
    """Asks the session itself what it taught; see the package for how its client behaves.

    What the fork sends is the conversation as its parent sent it. A session in which something is not to be
    learned from (`<private>`, `gitmem.ignore`, a pause) is therefore not forked but looked at offline.
    The task that is added says which messages are new, and what memories there are.
    """

    reads_history = False

    def __init__(self, settings: ForkSettings, meter: Meter) -> None:
        self._settings, self._meter = settings, meter
        self._model = settings.model

    @property
    def name(self) -> str:
        """`claude-code:<model>`, with the model that was asked last; without it before."""
        return f"{NAME}:{self._model}" if self._model else NAME

    def select(self, query: str, headers: Sequence[Header], limit: int) -> tuple[int, ...]:
        """Leaves the choice to the offline engine: another prompt would share no cache with any session."""
        return OfflineEngine().select(query, headers, limit)

    def run(self, task: Task) -> Outcome:
        """Runs a task about a session in a fork of it, another in a session of its own.

        Raises:
            Unfit: the session cannot or must not be forked, or the file holds a credential.
            EngineError: the client is missing, refuses or hangs, the session is in the middle of a turn, or
                it is not proved that the hook held it. Nothing is taken then.
            RepositoryError: the session cannot be read.
            DetectorUnavailable: credentials cannot be looked for, so nothing may leave.
        """
        if task.session is not None:
            return self._forked(task, task.session)
        from gitmem.engines.claude_code import session

        work = session.Session(self._settings, task)
        try:
            return work.run(self._config, self._meter)
        finally:
            self._model = work.model

    def _forked(self, task: Task, session: ExtractInput) -> Outcome:
        parent = read_parent(session.transcript)
        if parent is None:
            raise Unfit("no session of Claude Code to fork")
        withholds = self._settings.withholds
        if parent.private or (session.transcript is not None and withholds(session.transcript)):
            raise Unfit("a fork would see what is not to be learned from")
        refuse_to_start(self._settings, self._config, parent, session.transcript, session.now)
        self._model = self._settings.model or model_of(parent, self._config, self._settings.environ)
        files, usage = task.tree, None
        answers: tuple[str, ...] = ()
        wrong: tuple[str, ...] = ()
        log: tuple[str, ...] = ()
        # A fork hears one task: what is wrong is told to another one.
        for _ in range(1 + task.repairs):
            self._meter.allow()
            order = self._order(task, session, parent, {**task.tree, **files}, wrong)
            done = fork(self._settings, self._config, parent, self._meter, order)
            files, usage = done.files, _sum(usage, done.usage)
            answers, log = (*answers, done.answer), (*log, *done.refused)
            wrong = tuple(task.judge(files, answers))
            if not wrong:
                break
        return Outcome(files, answers, wrong, usage, log)

    def _order(
        self,
        task: Task,
        session: ExtractInput,
        parent: Parent,
        files: dict[str, bytes],
        wrong: Sequence[str],
    ) -> Order:
        def told(copy: Scratch) -> str:
            root = str(copy.memory)
            shown = Shown(files, {}, root, worktree=session.worktree, part=session, forked=True)
            repair = [task.repair(wrong, root)] if wrong else []
            return "\n".join([canary(copy), task.prompt(shown), *repair])

        reads = readable(parent, session.worktree, session.transcript)
        return Order(task.job, self._model, files, allowed(task, reads), told, session.worktree)

    @property
    def _config(self) -> Path:
        environ = self._settings.environ
        return claude_config_dir(environ, Path(environ.get("HOME") or "/"))


def _sum(one: Usage | None, other: Usage | None) -> Usage | None:
    return one + other if one and other else one or other
