"""The detached worker of one repository: takes what hooks left, unites it, runs it, ends when all is done.

One worker at a time, by a kernel lock that dies with its process. A hook leaves its job before it starts
a worker; a worker that finds the lock taken ends at once, and the one that holds it looks at the spool once
more after letting go: so no job is left lying.
"""

from __future__ import annotations

import json
import os
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from gitmem.app import spool
from gitmem.app.launcher import Launcher
from gitmem.app.spool import Job
from gitmem.core.errors import EngineError, RepositoryError, Resting, UsageError
from gitmem.flows.place import clean_environment
from gitmem.git.locks import ProcessIdentity
from gitmem.ledger.files import data_folder, log, replace_file
from gitmem.values import dataclass

# After the first try, a job that fails (or kills its worker) gets this many more.
RETRIES = 3
FAILED_KEPT = 50
# Jobs that wait for an engine to answer again. What the oldest beyond were about is in the recordings.
WAITING_KEPT = 100
NICENESS = 10

Runner = Callable[[Path, Job, Mapping[str, str]], object]


@dataclass(frozen=True)
class WorkerState:
    """What `worker.json` says.

    Attributes:
        process: the worker's process.
        since: when the current work began, ISO 8601, UTC.
        events: what the current job unites; empty between jobs.
    """

    process: ProcessIdentity
    since: str
    events: tuple[str, ...] = ()


def main(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Runs `gitmem worker --git-dir <common git dir>`.

    Returns:
        0, also where another worker is at it.

    Raises:
        UsageError, RepositoryError: the words do not fit, or gitmem is not set up there.
    """
    if len(argv) != 2 or argv[0] != "--git-dir":
        raise UsageError("the worker's words are: gitmem worker --git-dir DIR")
    common_dir = Path(argv[1]).resolve()
    if not (common_dir / "gitmem").is_dir():
        raise RepositoryError(f"{common_dir}: gitmem is not set up there", "Run `git mem init`.")
    detach()
    Launcher(data_folder(environ, Path(environ.get("HOME") or "~").expanduser())).renew()
    return work(common_dir, clean_environment(environ))


def detach() -> None:
    """Leaves the caller's session, its open files but the standard three, and its priority."""
    with suppress(OSError):
        os.setsid()
    with suppress(OSError):
        os.nice(NICENESS - os.nice(0))
    os.closerange(3, min(os.sysconf("SC_OPEN_MAX"), 4096))


def work(common_dir: Path, environ: Mapping[str, str], run: Runner | None = None) -> int:
    """Works until the spool holds nothing that this process has not tried.

    Args:
        common_dir: the common git directory, with a `gitmem` folder in it.
        environ: handed to the jobs; without git's variables of the moment.
        run: carries a united job out; `gitmem.app.steps.run` where None.

    Returns:
        0.
    """
    from gitmem.git.locks import Locked, writer_lock

    state = common_dir / "gitmem"
    tried: set[Path] = set()
    while True:
        try:
            with writer_lock(state, "worker", blocking=False):
                _drain(common_dir, environ, run or _jobs, tried)
        except Locked:
            return 0
        except (OSError, RepositoryError) as error:
            log(common_dir, f"worker: {error}")
            return 0
        if not any(path not in tried for path, _ in spool.take(state / "spool")):
            return 0


def read_state(common_dir: Path) -> WorkerState | None:
    """What the last worker said of itself; None where there is none. It may have died since."""
    try:
        fields = json.loads((common_dir / "gitmem" / "worker.json").read_bytes())
        process = ProcessIdentity.parse(fields["process"])
        events = tuple(map(str, fields["events"]))
        return WorkerState(process, str(fields["since"]), events) if process else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


@dataclass(frozen=True)
class Failed:
    """A job that was given up after its retries.

    Attributes:
        name: of its file.
        time: when it was given up, epoch seconds.
        reason: the last line of what went wrong.
    """

    name: str
    events: tuple[str, ...]
    time: float
    reason: str


def failed_jobs(common_dir: Path) -> tuple[Failed, ...]:
    """Jobs that were given up, oldest first."""
    found = []
    for path in _given_up(common_dir):
        job = spool.read(path)
        if job is None:
            continue
        report = path.with_name(f"{path.name}.error")
        reason = ""
        with suppress(OSError):
            lines = report.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            reason = lines[-1] if lines else ""
        found.append(Failed(path.name, job.events, path.lstat().st_mtime, reason))
    return tuple(sorted(found, key=lambda one: (one.time, one.name)))


def retry_failed(common_dir: Path) -> int:
    """Puts jobs that were given up back into the spool, as if never tried; returns how many.

    Steps that rest are tried at once.
    """
    from gitmem.ledger import failures  # the worker itself does not wait for what this loads

    failures.forget(common_dir / "gitmem", "step")
    number = 0
    for path in _given_up(common_dir):
        stem = path.name.rpartition(".try")[0] if _tries(path) else path.name
        path.with_name(f"{path.name}.error").unlink(missing_ok=True)
        with suppress(FileNotFoundError):
            path.rename(path.parent.parent / f"{stem}-again")
            number += 1
    return number


def clear_failed(common_dir: Path) -> int:
    """Deletes jobs that were given up; returns how many. What was said is still in the recordings."""
    paths = _given_up(common_dir)
    for path in paths:
        path.unlink(missing_ok=True)
        path.with_name(f"{path.name}.error").unlink(missing_ok=True)
    return len(paths)


def _given_up(common_dir: Path) -> list[Path]:
    try:
        found = sorted((common_dir / "gitmem" / "spool" / "failed").iterdir())
    except OSError:
        return []
    return [path for path in found if not path.name.endswith(".error") and not path.name.startswith(".")]


def _drain(common_dir: Path, environ: Mapping[str, str], run: Runner, tried: set[Path]) -> None:
    directory = common_dir / "gitmem" / "spool"
    try:
        while batch := [(path, job) for path, job in spool.take(directory) if path not in tried]:
            # What failed before is united apart from what is new, so that it spoils nothing else.
            first = min(_tries(path) for path, _ in batch)
            if first > RETRIES:
                for path, _ in batch:
                    _give_up(path, "the worker died while it ran this job")
                continue
            chosen = [(path, job) for path, job in batch if _tries(path) == first]
            _attempt(common_dir, environ, run, chosen, tried)
    finally:
        (common_dir / "gitmem" / "worker.json").unlink(missing_ok=True)


def _attempt(
    common_dir: Path,
    environ: Mapping[str, str],
    run: Runner,
    chosen: Sequence[tuple[Path, Job]],
    tried: set[Path],
) -> None:
    job = spool.coalesce(job for _, job in chosen)
    # The try is counted before it is made: a job that takes the process down with it is counted too.
    counted = [_count(path) for path, _ in chosen]
    _say(common_dir, job)
    try:
        run(common_dir, job, environ)
    except (EngineError, Resting) as error:
        log(common_dir, f"worker: {', '.join(job.events)}: {error}")
        # What an engine cannot do now is no fault of the job's: nor does it count what went wrong before.
        _wait(common_dir, counted, tried, 1 if isinstance(error, EngineError) else _tries(counted[0]) - 1)
        return
    except Exception as error:
        report = "".join(traceback.format_exception(error))
        log(common_dir, f"worker: {', '.join(job.events)}: {type(error).__name__}: {error}")
        for path in counted:
            tried.add(path)
            if _tries(path) > RETRIES:
                _give_up(path, report)
        return
    for path, (_, known) in zip(counted, chosen, strict=True):
        late = spool.read(path) if known.event == spool.UNKNOWN else None
        if late is None or late.event == spool.UNKNOWN:
            path.unlink(missing_ok=True)


def _wait(common_dir: Path, counted: Sequence[Path], tried: set[Path], tries: int) -> None:
    """Keeps jobs until an engine answers again, as on the next day, or a step was left alone long enough.

    Args:
        tries: how many they are to have had.
    """
    for path in counted:
        with suppress(FileNotFoundError):
            path.rename(path.with_name(f"{path.name.rpartition('.try')[0]}.try{max(1, tries)}"))
    # Nor would the engine answer for those that wait from an earlier time.
    waiting = [path for path, _ in spool.take(common_dir / "gitmem" / "spool") if _tries(path)]
    for path in waiting[: max(0, len(waiting) - WAITING_KEPT)]:
        path.unlink(missing_ok=True)
    tried.update(waiting)


def _tries(path: Path) -> int:
    _, _, number = path.name.rpartition(".try")
    return int(number) if ".try" in path.name and number.isdecimal() else 0


def _count(path: Path) -> Path:
    stem = path.name.rpartition(".try")[0] if _tries(path) else path.name
    counted = path.with_name(f"{stem}.try{_tries(path) + 1}")
    try:
        path.rename(counted)
    except FileNotFoundError:
        return path
    return counted


def _give_up(path: Path, report: str) -> None:
    failed = path.parent / "failed"
    failed.mkdir(mode=0o700, exist_ok=True)
    with suppress(FileNotFoundError):
        path.rename(failed / path.name)
    (failed / f"{path.name}.error").write_text(report, encoding="utf-8", errors="replace")
    oldest_first = sorted(failed.iterdir(), key=lambda file: file.lstat().st_mtime)
    for file in oldest_first[: -2 * FAILED_KEPT]:
        file.unlink(missing_ok=True)


def _say(common_dir: Path, job: Job) -> None:
    from gitmem.git.locks import process_identity

    path = common_dir / "gitmem" / "worker.json"
    fields = {
        "process": str(process_identity()),
        "since": datetime.fromtimestamp(time.time(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "events": list(job.events),
    }
    replace_file(path, json.dumps(fields).encode(), 0o600)


def _jobs(common_dir: Path, job: Job, environ: Mapping[str, str]) -> None:
    from gitmem.app import steps

    steps.run(common_dir, job, environ)
