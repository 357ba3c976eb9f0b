"""One writer at a time, and whether the process that took a lock still lives."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gitmem.core.errors import RepositoryError
from gitmem.values import dataclass

# How far two readings of one process's start may differ: Linux gives boot time in whole seconds.
_START_TOLERANCE = 2.0


class Locked(RepositoryError):
    """Another process is writing; it will be done soon, or nothing is to be done."""

    kind = "locked"


@dataclass(frozen=True)
class ProcessIdentity:
    """One process, told from a later one with the same number.

    Attributes:
        pid: process number.
        start: when it started, in seconds; since boot on Linux (where the wall clock can be set meanwhile),
            since the epoch elsewhere.
    """

    pid: int
    start: float

    def __str__(self) -> str:
        return f"{self.pid} {self.start:.2f}"

    @classmethod
    def parse(cls, text: str) -> ProcessIdentity | None:
        """Reads the first two words of a lock's body; None where they are no identity."""
        words = text.split()
        try:
            pid, start = int(words[0]), float(words[1])
        except (IndexError, ValueError):
            return None
        return cls(pid, start) if 0 < pid < 2**31 and 0 <= start < 2**40 else None


def process_identity(pid: int | None = None) -> ProcessIdentity | None:
    """Identifies a process, by default this one; None where there is none with that number."""
    import psutil

    number = os.getpid() if pid is None else pid
    try:
        process = psutil.Process(number)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return ProcessIdentity(number, process.create_time() - (psutil.boot_time() if psutil.LINUX else 0))
    except psutil.NoSuchProcess:
        return None
    except (psutil.AccessDenied, OSError):
        # It exists but may not be looked at: nobody may call it dead.
        return ProcessIdentity(number, -1)


def is_alive(identity: ProcessIdentity) -> bool:
    """Whether that very process still runs; one with its number but another start is not it.

    In doubt it lives: a lock must never be taken from a live writer.
    """
    found = process_identity(identity.pid)
    return found is not None and (found.start < 0 or abs(found.start - identity.start) <= _START_TOLERANCE)


@contextmanager
def writer_lock(
    directory: Path,
    name: str,
    *,
    blocking: bool = True,
    timeout: float = 10.0,
    identity: ProcessIdentity | None = None,
) -> Iterator[Path]:
    """Holds an exclusive lock among processes and threads; the kernel drops it however its process ends.

    The lock file stays behind, and its body says who last held it; it is the kernel's lock that counts.

    Args:
        directory: where the lock file is; made where missing.
        name: what is locked; the file is `<name>.lock`.
        blocking: whether to wait for another holder.
        timeout: seconds to wait at most.
        identity: who holds it, for the message that others get; this process where None.

    Yields:
        The lock file.

    Raises:
        Locked: another process has it.
        RepositoryError: the file cannot be made.
    """
    from filelock import FileLock, Timeout

    path = directory / f"{name}.lock"
    lock = FileLock(path, timeout=timeout if blocking else 0, thread_local=False)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        holder = ProcessIdentity.parse(_read(path))
        who = f"process {holder.pid}" if holder and is_alive(holder) else "another process"
        raise Locked(f"{path} is held by {who}", "Wait until it is done, and run it again.") from None
    except (OSError, NotImplementedError) as error:
        raise RepositoryError(
            f"{path} cannot be locked: {error}", "Make its folder writable for you."
        ) from error
    try:
        _write(path, str(identity or process_identity()))
        yield path
    finally:
        lock.release()


def _read(path: Path) -> str:
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
            return file.read(200).decode("ascii", "replace")
    except OSError:
        return ""


def _write(path: Path, text: str) -> None:
    # Best effort: the body only serves a message.
    try:
        with os.fdopen(
            os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW), "w", encoding="ascii"
        ) as file:
            file.write(text + "\n")
    except OSError:
        return
