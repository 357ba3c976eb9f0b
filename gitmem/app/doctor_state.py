"""What the doctor finds beside memory: lock files that nobody holds, and jobs that nobody does."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from gitmem.app import spool
from gitmem.app.doctor_memory import Damage, Patient
from gitmem.app.worker import Failed, failed_jobs, read_state, retry_failed
from gitmem.core.errors import RepositoryError
from gitmem.core.text import counted, iso
from gitmem.flows.place import start_worker
from gitmem.flows.save import directories, save_all
from gitmem.git.locks import ProcessIdentity, is_alive, locks_below, writer_lock
from gitmem.ledger.workspace import MAIN

QUICK_SECONDS = 60.0
"""Git holds the lock of a ref for milliseconds; one as young as this is looked at again."""

LONG_SECONDS = 3600.0
"""Packing refs may take its time, and so may an editor that has the configuration open."""

SECOND_LOOK_SECONDS = 1.0
OURS = ("refs/gitmem", "refs/heads/gitmem", "refs/remotes")
"""Where a code repository's lock files may be gitmem's."""

SHARED = ("packed-refs.lock", "packed-refs.new", "config.lock", "reftable/tables.list.lock")
"""Locks that a git at work on something else takes, too."""

DREAM = ".consolidate-lock"


def check_locks(patient: Patient) -> list[Damage]:
    """Looks for lock files that block writers, or make them wait."""
    found: list[Damage] = []
    for repo, _ in patient.repositories:
        found += _of_git(patient, repo.git_dir)
        for path in sorted((repo.git_dir / "gitmem").glob("turn-*.lock")):
            who = ProcessIdentity.parse(_body(path))
            if who is None or not is_alive(who):
                what = f"{path} was left by a writer who is gone"
                found.append(Damage("left-over-lock", what, "remove it", _removal(path)))
    for state in dict.fromkeys(scope.state for scope in patient.scopes):
        for path in sorted((state / "dream").glob(f"*/{DREAM}")):
            found += _of_dream(path)
    return found


def _of_git(patient: Patient, git_dir: Path) -> Iterator[Damage]:
    private = git_dir != patient.workspace.layout.common_dir
    shared = {git_dir / name for name in SHARED}
    # The file system's clock, not that of the edges: it is file times that are compared.
    now = time.time()
    found = {}
    for path in [*_ref_locks(git_dir, private), *shared]:
        with suppress(OSError):
            found[path] = now - path.lstat().st_mtime
    if any(age < QUICK_SECONDS for age in found.values()):
        time.sleep(SECOND_LOOK_SECONDS)
    for path, age in sorted(found.items()):
        if (path in shared and not private and age < LONG_SECONDS) or not path.exists():
            continue
        # By its moment, since an age makes another finding of it at the next look.
        what = f"{path} (of {iso(now - age)}) blocks every write"
        yield Damage(
            "left-over-lock", what, "remove it, if no git is at work here", _removal(path), asks=True
        )


def _ref_locks(git_dir: Path, private: bool) -> list[Path]:
    """Lock files on refs of memory: in the private repository on all."""
    if private:
        return [*locks_below(git_dir, "refs"), git_dir / "HEAD.lock"]
    found = [path for root in OURS for path in locks_below(git_dir, root)]
    found = [path for path in found if "gitmem" in path.relative_to(git_dir).parts]
    return [*found, *(git_dir / f"{root}.lock" for root in OURS[:2])]


def _removal(path: Path) -> Callable[[], str]:
    before = _state(path)

    def remove() -> str:
        if _state(path) != before:
            raise RepositoryError(f"{path} changed meanwhile, so somebody holds it", "Run doctor again.")
        if path.name.startswith("turn-"):
            with writer_lock(path.parent, path.stem, blocking=False):
                path.unlink(missing_ok=True)
        else:
            path.unlink(missing_ok=True)
        return f"removed {path}"

    return remove


def _of_dream(path: Path) -> Iterator[Damage]:
    body = _body(path)
    who = ProcessIdentity.parse(body)
    if who is None or is_alive(who):
        return

    def release() -> str:
        with writer_lock(path.parent, "taking"):
            if _body(path) != body:
                raise RepositoryError(f"{path} changed meanwhile", "Run doctor again.")
            prior = float(body.split()[2])
            if prior > 0:
                path.write_bytes(b"")
                os.utime(path, (prior, prior))
            else:
                path.unlink()
        return f"released {path}"

    what = f"{path} is held by process {who.pid}, which is gone: a dream did not end"
    yield Damage("left-over-lock", what, "release it, as if that dream had not begun", release)


def _body(path: Path) -> str:
    with suppress(OSError), os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        return file.read(200).decode("ascii", "replace")
    return ""


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def check_folders(patient: Patient) -> list[Damage]:
    """Looks for memory that no folder of this work tree shows, as after the repository moved."""
    workspace, edges = patient.workspace, patient.edges
    if not patient.private:
        return []  # to look would make one
    shown = {live.path for live in directories(workspace)}
    new = (one for one in directories(workspace, fresh=True) if one.path not in shown)
    lacking = [one for one in new if one.agent == MAIN]

    def lay_out() -> str:
        save_all(workspace, edges, fresh=True)
        return f"laid out memory in {', '.join(str(one.path) for one in lacking)}"

    return [
        Damage(
            "folder", f"{one.path} is missing: agents see no {one.scope.name} memory", "lay it out", lay_out
        )
        for one in lacking
    ]


def check_worker(patient: Patient) -> list[Damage]:
    """Looks at the jobs that wait with no worker, and those that were given up."""
    workspace = patient.workspace
    common = workspace.layout.common_dir
    folder = workspace.state / "spool"
    found: list[Damage] = []
    state = read_state(common)
    works = state is not None and is_alive(state.process)
    waiting = len(spool.take(folder))

    def start() -> str:
        start_worker(common, patient.edges.environ)
        return "started the worker"

    if waiting and not works:
        what = f"{counted(waiting, 'job')} in {folder} with no worker to do them"
        found.append(Damage("waiting-jobs", what, "start the worker", start, later=True))
    failed = failed_jobs(common)
    if failed:

        def again() -> str:
            number = retry_failed(common)
            start()
            return f"{counted(number, 'job')} will run again"

        what = f"{counted(len(failed), 'job')} failed for good: {_reasons(failed)}"
        found.append(Damage("failed-jobs", what, "run them again", again, asks=True))
    return found


def _reasons(failed: Sequence[Failed]) -> str:
    said = (one.reason for one in failed[-3:])
    return "; ".join(dict.fromkeys(filter(None, said))) or "no report is left"
