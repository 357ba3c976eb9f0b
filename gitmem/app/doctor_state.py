"""What the doctor finds beside memory: lock files that nobody holds, records, the worker's notes, catalogs.

All of it can be deleted at no loss of memory, and blocks or misleads while it stands.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

from gitmem.app import spool
from gitmem.app.doctor_memory import Damage, Patient, RefState, stand
from gitmem.app.worker import Failed, failed_jobs, read_state, retry_failed
from gitmem.core.errors import RepositoryError
from gitmem.core.text import counted, lasting
from gitmem.flows.place import start_worker
from gitmem.git.config import worktrees
from gitmem.git.locks import ProcessIdentity, is_alive, locks_below, writer_lock
from gitmem.ledger.files import CATALOG
from gitmem.ledger.layout import read_record, record_path
from gitmem.ledger.workspace import LIVE_FOLDERS, Scope
from gitmem.search import database
from gitmem.search.index import Catalog
from gitmem.search.text import read_memory

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
    for state in {scope.state for scope in patient.scopes}:
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
        what = f"{path} ({lasting(age)} old) blocks every write"
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


LATE_SECONDS = 86_400.0
"""How long a ref may be ahead of a catalog that nobody had a reason to read."""


def check_records(patient: Patient) -> list[Damage]:
    """Looks for records of folders that are gone for good, and for ones that cannot be read."""
    workspace = patient.workspace
    listed = worktrees(workspace.git, None, git_dir=workspace.layout.common_dir)
    trees = frozenset(tree.path for tree in listed if not tree.prunable)
    found = []
    for state in (workspace.state, workspace.private_state):
        for path in sorted((state / "live").glob("*.json")):
            record = read_record(state, path.stem)
            if record is None:
                what, why = str(path), "cannot be read"
            elif _is_gone(Path(record.path), trees, mine=state == workspace.state):
                what, why = str(path), f"is about {record.path}, whose work tree is gone"
            else:
                continue
            found.append(Damage("stale-record", f"{what} {why}", "delete it", _forget(state, path.stem)))
    return found


def _is_gone(path: Path, trees: frozenset[Path], mine: bool) -> bool:
    """Whether a live directory will not come back: its work tree is none of this repository any more."""
    if path.is_dir():
        return False
    if path.parent.name not in LIVE_FOLDERS.values() or len(path.parents) < 3:
        # The client's own folders: one that is still named is filled again.
        return not path.parent.is_dir() and path.parent.parent.is_dir()
    top = path.parents[2]
    if top in trees:
        return False
    # Another repository's, or on a disk that is not there right now: nobody can tell.
    return mine or (not top.exists() and top.parent.is_dir())


def _forget(state: Path, key: str) -> Callable[[], str]:
    def forget() -> str:
        record_path(state, key).unlink(missing_ok=True)
        # What layouts displaced there and nobody took in stays.
        with suppress(OSError):
            (state / "displaced" / key).rmdir()
        return f"deleted the record {key}"

    return forget


def check_worker(patient: Patient) -> list[Damage]:
    """Looks at the worker's note, the jobs that wait, and those that were given up."""
    workspace = patient.workspace
    common = workspace.layout.common_dir
    folder = workspace.state / "spool"
    note = workspace.state / "worker.json"
    found: list[Damage] = []
    state = read_state(common)
    works = state is not None and is_alive(state.process)
    if note.exists() and not works:

        def clear() -> str:
            note.unlink(missing_ok=True)
            return f"deleted {note}"

        whose = f"of process {state.process.pid}, which is gone" if state else "of nobody"
        found.append(Damage("dead-worker", f"{note} is {whose}", "delete it", clear))
    waiting = len(spool.take(folder))

    def start() -> str:
        start_worker(common, patient.edges.environ)
        return "started the worker"

    if waiting and not works:
        what = f"{counted(waiting, 'job')} in {folder} with no worker to do them"
        found.append(Damage("waiting-jobs", what, "start the worker", start))
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


def check_catalogs(patient: Patient) -> list[Damage]:
    """Looks whether the search catalogs can be used and describe the refs as they are."""
    found: list[Damage] = []
    for state in dict.fromkeys(scope.state for scope in patient.scopes):
        mine = [scope for scope in patient.scopes if scope.state == state]
        found += _catalog(patient, state, mine)
    return found


def _catalog(patient: Patient, state: Path, scopes: Sequence[Scope]) -> Iterator[Damage]:
    file = state / CATALOG
    if not file.exists():
        return
    known = _tips(file)
    standing = {scope: stand(patient.workspace, scope) for scope in scopes}
    behind = [scope for scope, now in standing.items() if _is_behind(patient, scope, now, known or {})]

    def follow() -> str:
        if known is None and not database.discard(state):
            raise RepositoryError(f"{file} cannot be replaced", "Delete it; it is made anew.")
        with closing(Catalog.open(state)) as catalog:
            for scope in scopes if known is None else behind:
                if standing[scope].state == "memory":
                    catalog.bring_up_to_date(scope.repo, scope.ref, standing[scope].oid, read_memory)
        return f"{file} is {'made anew' if known is None else 'up to date'}"

    if known is None:
        yield Damage("catalog", f"{file} is damaged", "make it anew", follow)
    elif behind:
        names = ", ".join(scope.ref for scope in behind)
        yield Damage("catalog", f"{file} is behind {names}", "bring it up to date", follow)


def _is_behind(patient: Patient, scope: Scope, now: RefState, known: Mapping[str, str]) -> bool:
    """Whether nobody brought a catalog up to date in time: who reads it does, and so does the worker."""
    tip = known.get(scope.ref)
    if now.state != "memory" or now.oid is None or tip in (None, now.oid):
        return False
    return patient.edges.now - scope.repo.commit(now.oid).committer.time > LATE_SECONDS


def _tips(file: Path) -> dict[str, str] | None:
    """The refs that a catalog describes, each with its commit; None where the file is damaged."""
    try:
        with closing(sqlite3.connect(f"file:{quote(os.fsencode(file))}?mode=ro", uri=True)) as connection:
            if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                return None
            return dict(connection.execute("SELECT name, tip FROM ref").fetchall())
    except sqlite3.Error as error:
        return {} if database.is_busy(error) else None
