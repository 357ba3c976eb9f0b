"""The dream of a scope that goes on, and its end by a signal, or from outside.

Its process is asked, waited for, and killed in the end. Python raises what a signal handler raises between
any two steps of the program: outside of `Stop.work` a signal is therefore only noted, and the next
`Stop.check` tells of it, so that what is begun around the work is also finished.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any, Literal

from gitmem.core.errors import RepositoryError
from gitmem.core.text import one_line
from gitmem.dream.schedule import give_back, last_dream, taker
from gitmem.flows.context import Edges
from gitmem.git.locks import ProcessIdentity, is_alive
from gitmem.ledger import failures
from gitmem.ledger.proposals import dream_branches
from gitmem.ledger.workspace import Scope, ScopeName, Workspace


@dataclass(frozen=True)
class Running:
    """A dream that goes on.

    Attributes:
        since: when it took the lock, epoch seconds.
    """

    scope: ScopeName
    process: ProcessIdentity
    since: float


def running_dream(scope: Scope) -> Running | None:
    """The dream of a scope that goes on; what one that died left behind is none."""
    process = taker(scope)
    return Running(scope.name, process, last_dream(scope)) if process else None


PATIENCE_SECONDS = 15.0
"""How long a process gets to end its dream by itself; it is asked again meanwhile."""

ASKED_AGAIN_SECONDS = 5.0
DEATH_SECONDS = 5.0
_LOOK_SECONDS = 0.05

_NAMES = ("gitmem", "git-mem")
"""What stands in the command line of each of gitmem's processes."""

How = Literal["ended", "killed", "made"]


@dataclass(frozen=True)
class Killed:
    """What became of a dream that was to be ended.

    Attributes:
        was: the dream.
        how: `ended` when asked; `killed`, with the process and all that it had started, as it did not end;
            `made`: it was too late, and the dream waits for review.
        ids: the dreams that it made after all.
    """

    was: Running
    how: How
    ids: tuple[str, ...] = ()


def kill_dreams(
    workspace: Workspace, edges: Edges, scope: str = "", patience: float = PATIENCE_SECONDS
) -> tuple[Killed, ...]:
    """Ends the dreams of this repository's scopes that go on.

    Args:
        scope: the one scope; empty for all.
        patience: seconds before a process is killed that does not end its dream.

    Returns:
        What became of each; nothing where none went on.

    Raises:
        RepositoryError: a process is another user's, or another program, or will not die.
    """
    places = (workspace.scope(scope),) if scope else workspace.scopes
    found = ((place, running_dream(place)) for place in places)
    return tuple(_kill(place, one, edges.now, patience) for place, one in found if one is not None)


def _kill(place: Scope, was: Running, now: float, patience: float) -> Killed:
    _refuse_foreign(was.process)
    before = _dreams(place)
    how: How = "ended"
    if not _asked(place, was.process, patience):
        how = "killed"
        _put_down(was.process)
    # A process that died of the signal, as one that had not yet taken signals over, left its lock.
    if give_back(place, was.process):
        why = "it was ended by `git mem dream kill`"
        failures.note_failure(place.state, "dream", place.ref, now, why=why)
    ids = tuple(sorted(_dreams(place) - before))
    return Killed(was, "made" if ids else how, ids)


def _refuse_foreign(process: ProcessIdentity) -> None:
    """Raises where a process does not run gitmem: the lock is a file, and may name any.

    Raises:
        RepositoryError: it is another program, or another user's.
    """
    import psutil

    try:
        words = psutil.Process(process.pid).cmdline()
    except psutil.NoSuchProcess:
        return
    except psutil.AccessDenied as error:
        raise _foreign(process) from error
    if process.pid != os.getpid() and not any(name in word for word in words for name in _NAMES):
        raise RepositoryError(
            f"Process {process.pid}, which the lock names, is no gitmem: {one_line(' '.join(words), 80)}",
            f"If it dreams all the same, as a program of yours may, end it: kill {process.pid}",
        )


def _foreign(process: ProcessIdentity) -> RepositoryError:
    return RepositoryError(
        f"Process {process.pid}, which is dreaming, is another user's", "Ask them to end it."
    )


def _dreams(place: Scope) -> frozenset[str]:
    return frozenset(ref.rpartition("/")[2] for ref, _, _ in dream_branches(place))


def _asked(place: Scope, process: ProcessIdentity, patience: float) -> bool:
    """Asks a process to end its dream, and waits; returns whether it let go of the lock, or is gone."""
    import psutil

    end = time.monotonic() + patience
    while (left := end - time.monotonic()) > 0:
        # Looked at anew each time: the lock names the very process that is asked.
        if taker(place) != process:
            return True
        with suppress(psutil.NoSuchProcess):
            try:
                # It refuses where the number was given to another process meanwhile.
                psutil.Process(process.pid).terminate()
            except psutil.AccessDenied as error:
                raise _foreign(process) from error
        if _waited(lambda: taker(place) != process, min(left, ASKED_AGAIN_SECONDS)):
            return True
    return False


def _put_down(process: ProcessIdentity) -> None:
    """Kills a process and all that it started."""
    import psutil

    with suppress(psutil.NoSuchProcess):
        dreaming = psutil.Process(process.pid)
        # Held still, so that it starts nothing between the list and its end.
        dreaming.suspend()
        started = dreaming.children(recursive=True)
        dreaming.kill()
        for child in started:
            with suppress(psutil.NoSuchProcess):
                child.kill()
    if not _waited(lambda: not is_alive(process), DEATH_SECONDS):
        raise RepositoryError(f"Process {process.pid} cannot be killed", "See what it waits for: ps -l")


def _waited(done: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() >= end:
            return False
        time.sleep(_LOOK_SECONDS)
    return True


SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name))
AGAIN_SECONDS = 3.0
"""After this long a further signal is obeyed like the first: what a handler raises can get lost in a
callback, and before that whatever is being cleaned up is left alone."""


class Stopped(KeyboardInterrupt):
    """A person or the system ended the work; no `except Exception` on its way holds it up."""


class Stop:
    """Takes over the signals that end a process; use it as a context.

    Best effort: outside the main thread signals cannot be taken over, and end the process as ever.
    """

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._asked = False
        self._working = False
        self._raised: float | None = None

    def __enter__(self) -> Stop:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                before = signal.getsignal(number)
                # Whoever had them ignored (`nohup`, a shell's background) has them ignored.
                if before not in (signal.SIG_IGN, None):
                    self._before[number] = before
                    signal.signal(number, self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        self._before.clear()

    @property
    def asked(self) -> bool:
        """Whether a signal came."""
        return self._asked

    def check(self) -> None:
        """Raises `Stopped` where a signal came."""
        if self._asked:
            raise Stopped

    @contextmanager
    def work(self) -> Iterator[None]:
        """The part that a signal ends.

        Raises:
            Stopped: a signal comes, or came before.
        """
        self._working = True
        try:
            self.check()
            yield
            self.check()
        finally:
            self._working = False

    def _hear(self, _number: int, _frame: FrameType | None) -> None:
        self._asked = True
        now = time.monotonic()
        if self._working and (self._raised is None or now - self._raised >= AGAIN_SECONDS):
            self._raised = now
            raise Stopped
