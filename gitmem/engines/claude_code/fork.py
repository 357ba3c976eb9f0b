"""Forks a session: the fork works in a scratch copy, and its hook is proved to have held it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gitmem.core.errors import EngineError
from gitmem.core.trailers import Usage
from gitmem.engines.budget import Meter
from gitmem.engines.claude_code import wiring
from gitmem.engines.claude_code.held import Watch, closed, refuse_without_program
from gitmem.engines.claude_code.leftovers import forget
from gitmem.engines.claude_code.parent import AT_REST, Parent, refuse_without_hooks
from gitmem.engines.claude_code.run import run
from gitmem.engines.claude_code.scratch import SCOPES, May, Scratch, scratch
from gitmem.engines.claude_code.settings import ForkSettings
from gitmem.engines.task import Task

_WHAT = "The fork of the session"


@dataclass(frozen=True)
class Order:
    """What a fork is to do.

    Attributes:
        job: in the meter's words.
        model: exact id.
        memory: files of the scratch copy, `<scope>/<agent>/<file>` to content.
        may: what it may write and read.
        task: what it is told, given its scratch copy.
        worktree: top of the code's work tree, closed to edits; None where there is none.
    """

    job: str
    model: str
    memory: Mapping[str, bytes]
    may: May
    task: Callable[[Scratch], str]
    worktree: Path | None


@dataclass(frozen=True)
class Forked:
    """What came of a fork.

    Attributes:
        files: the scratch copy as it left it.
        answer: its last words.
        refused: what its hook refused, a line each.
    """

    files: Mapping[str, bytes]
    answer: str
    usage: Usage | None
    refused: tuple[str, ...]


def refuse_to_start(
    settings: ForkSettings, config: Path, parent: Parent, transcript: Path | None, now: float
) -> None:
    """Sees whether a session can be forked now.

    Args:
        config: the client's own folder.
        now: epoch seconds.

    Raises:
        EngineError: there is no client, its hooks are off, or the session is in the middle of a turn.
    """
    refuse_without_program(settings)
    if parent.open and transcript is not None:
        age = now - transcript.stat().st_mtime
        if age < AT_REST:
            raise EngineError(
                f"Session {parent.session} is in the middle of a turn",
                "It is looked at when the turn ends.",
            )
    refuse_without_hooks(config, parent.cwd)


def fork(settings: ForkSettings, config: Path, parent: Parent, meter: Meter, order: Order) -> Forked:
    """Forks a session, and waits for its end.

    Args:
        config: the client's own folder.
        meter: is told what it cost, whatever came of it.

    Raises:
        EngineError: the client refuses or hangs, or it is not proved that the hook held it. Nothing is to
            be taken then.
    """
    with scratch(settings.temp, order.memory, order.may) as copy:
        watch = Watch(_WHAT, copy)
        try:
            _run(settings, parent, order, copy, watch)
        finally:
            forget(config, copy.session, parent.cwd)
            usage = watch.account.usage()
            if usage is not None:
                meter.spent(order.job, order.model, usage)
        after = copy.read()
        watch.refuse_unaccounted(order.memory, after)
        answer = str(watch.account.final.get("result") or "").replace(f"{copy.memory}/", "memory/")
        return Forked(after, answer, usage, watch.refused)


def readable(parent: Parent, worktree: Path | None, transcript: Path | None) -> list[Path]:
    """Gives the repository, and its sessions: the client's folder of this one."""
    places = [worktree, parent.cwd if worktree is None else None]
    places.append(transcript.parent if transcript else None)
    return [place.resolve() for place in places if place is not None]


def allowed(task: Task, reads: Sequence[Path], fixed: Sequence[str] = ()) -> May:
    """What a client's calls may do in a scratch copy of a task's tree.

    Args:
        reads: real paths of folders that may be read besides.
        fixed: files of the copy that may be read only.
    """
    if task.may.only:
        scope, agent, _ = task.may.only.split("/", 2)
        return May((agent,), (scope,), reads, new=False, size=task.may.size)
    scopes = [scope for scope in SCOPES if scope in task.may.scopes]
    return May(tuple(task.may.agents), scopes, reads, fixed)


def _run(settings: ForkSettings, parent: Parent, order: Order, copy: Scratch, watch: Watch) -> None:
    shut = closed(settings, copy, parent.cwd, order.worktree)
    client = wiring.client_settings(settings.python, copy.rules, shut)

    def follow(line: bytes) -> None:
        watch.add(line)

    code, errors = run(
        wiring.words(settings.program, parent.session, copy.session, order.model, client, settings.turns),
        cwd=parent.cwd,
        environ=wiring.scrubbed(settings.environ),
        given=order.task(copy),
        folder=copy.folder,
        timeout=settings.timeout,
        line=follow,
        what=_WHAT,
    )
    watch.end(code, errors)
