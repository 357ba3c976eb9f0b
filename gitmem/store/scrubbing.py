"""Taking a text out of what is no git object: live directories, their records, and gitmem's own state."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from gitmem.core.errors import RepositoryError, UsageError
from gitmem.core.names import agent_name
from gitmem.core.purge import Purge
from gitmem.search import action, database
from gitmem.store.files import linked
from gitmem.store.locks import writer_lock
from gitmem.store.record import Record, read_record, write_atomically, write_record
from gitmem.store.replace import ASIDE, replace_file
from gitmem.store.repository import MissingObject, Repository
from gitmem.store.scan import blob_name, displaced_files, is_laid_out, label, scan
from gitmem.store.workspace import LIVE_FOLDERS, MAIN, LiveDirectory

LARGEST = 64 * 1024 * 1024
"""Bytes of a file of gitmem's state that is looked into."""

INDEXES = (database.FILE, database.COMMITS)

WORDS = "recalls-"
"""Begins the names of files in which the words of the last recalls stand: no text can be found there, so
they go."""

_ROUNDS = 5


def scrub_live(
    live: LiveDirectory, purge: Purge, commits: Mapping[str, str], repo: Repository
) -> tuple[int, tuple[Path, ...]]:
    """Takes what is purged out of a live directory and its record, whether or not it was ever saved.

    Args:
        commits: old commit to the one in its place.

    Returns:
        How many files were changed; and files that hold a text and may not be touched.
    """
    if linked(live.anchor, live.path):
        return 0, ()
    with writer_lock(live.scope.state / "live", live.key, timeout=30.0):
        changed, left = 0, []
        record = read_record(live.scope.state, live.key)
        laid_out = record.files if record else {}
        for name in scan(live).files:
            done = _scrub_file(live, name, purge, laid_out.get(name, ""))
            changed += done is True
            left += [live.path / name] if done is None else []
        if record is not None:
            _write_mapped(live.scope.state, live.key, record, live.agent, purge, commits, repo)
        asides = (live.scope.state / "displaced" / live.key, live.path / ASIDE)
        for entry in displaced_files(*asides):
            if f"{live.agent}/{entry.file}" in purge.memories:
                entry.at.unlink(missing_ok=True)
        scrub_state(live.path / ASIDE, purge)
        return changed, tuple(left)


def scrub_records(
    state: Path, known: Iterable[str], purge: Purge, commits: Mapping[str, str], repo: Repository
) -> None:
    """The same for the records of directories that are not at hand: other work trees, other projects.

    Args:
        known: keys of records that were seen to already.
        purge: texts alone: whose memories a record shows is not known.
    """
    seen = frozenset(known)
    for path in sorted((state / "live").glob("*.json")):
        record = None if path.stem in seen else read_record(state, path.stem)
        if record is not None:
            with suppress(RepositoryError), writer_lock(state / "live", path.stem, timeout=30.0):
                folder = Path(record.path)
                _write_mapped(state, path.stem, record, _agent(folder), purge, commits, repo)
                _scrub_unknown(folder, purge)


def scrub_state(folder: Path, purge: Purge, besides: Iterable[Path] = ()) -> int:
    """Takes the texts out of the files of gitmem's own state. What is derived goes whole: search indexes,
    warnings that are kept ready, and the files that `WORDS` names.

    Args:
        besides: folders in it that are left alone.

    Returns:
        How many files held one.
    """
    count = 0
    shutil.rmtree(folder / action.FOLDER, ignore_errors=True)
    for path in files_below(folder, besides):
        if path.name.startswith(INDEXES):
            continue
        data = _content(path)
        if data is not None and purge.holds(data):
            mode = stat.S_IMODE(path.stat().st_mode)
            write_atomically(path, purge.clean(data))
            path.chmod(mode)
            count += 1
        fresh = os.fsdecode(purge.clean_name(os.fsencode(path.name)))
        if fresh != path.name:
            path.rename(_free(path.with_name(fresh)))
    for record in folder.glob(f"{WORDS}*"):
        record.unlink(missing_ok=True)
    # Made anew from the refs by whoever looks next; one who has it open goes on with what he has.
    for file in INDEXES:
        database.delete(folder, file)
    return count


def files_with(folder: Path, purge: Purge, besides: Iterable[Path] = ()) -> Iterator[Path]:
    """Files that hold a text, in them or in their names."""
    for path in files_below(folder, besides):
        data = _content(path)
        if purge.holds(os.fsencode(path.name)) or (data is not None and purge.holds(data)):
            yield path


def files_below(folder: Path, besides: Iterable[Path] = ()) -> Iterator[Path]:
    """Regular files of a folder at any depth; no link is followed."""
    left_out = frozenset(besides)
    for top, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if Path(top, name) not in left_out)
        for name in sorted(names):
            path = Path(top, name)
            if not path.is_symlink() and path.is_file():
                yield path


def _scrub_file(live: LiveDirectory, name: str, purge: Purge, laid_out: str) -> bool | None:
    """Takes it out of one live file.

    Args:
        laid_out: name of the blob that was laid out there; empty where none was.

    Returns:
        Whether the file was changed; None where it should have been and could not.
    """
    path, at = live.path / name, f"{live.agent}/{name}"
    aside = live.scope.state / "displaced" / f"purge-{live.key}"
    for _ in range(_ROUNDS):
        data = _content(path)
        if data is None:
            return False
        new = None if at in purge.memories else purge.clean_file(at, data)
        fresh = os.fsdecode(purge.clean_name(os.fsencode(name)))
        if new == data and fresh == name:
            return False
        if live.tracked or linked(live.anchor, path.parent):
            return None
        if new is not None and fresh != name:
            # The name holds it, too. Memory may lie there as it is now; what was written here stays apart.
            there = live.path / fresh
            if os.path.lexists(there) and laid_out != blob_name(data, live.scope.repo.hex_length):
                there = _free(there, new)
            if not os.path.lexists(there):
                write_atomically(there, new)
                there.chmod(stat.S_IMODE(path.stat().st_mode))
            new = None
        try:
            replaced = replace_file(path, new, aside, label(name, "none"))
        except RepositoryError:
            return None
        finally:
            shutil.rmtree(aside, ignore_errors=True)
        if replaced.done and replaced.found in (data, None):
            return True
        if replaced.found not in (data, None) and replaced.done:
            # Someone wrote in between: what they wrote stands again, less what is purged.
            found = replaced.found or b""
            write_atomically(path, purge.clean_file(at, found) if new is not None else found)
            if new is not None:
                return True
    return None


def _free(path: Path, content: bytes | None = None) -> Path:
    """A path beside this one where nothing is, or just that content."""
    found, number = path, 2
    while os.path.lexists(found) and (content is None or _content(found) != content):
        found, number = path.with_name(f"{path.stem}-{number}{path.suffix}"), number + 1
    return found


def _scrub_unknown(folder: Path, purge: Purge) -> None:
    if folder.is_symlink() or not folder.is_dir():
        return
    for path in files_below(folder):
        name = path.relative_to(folder).as_posix()
        data = _content(path) if is_laid_out(name) else None
        if data is not None and purge.holds(data):
            mode = stat.S_IMODE(path.stat().st_mode)
            with suppress(OSError):
                write_atomically(path, purge.clean_file(f"{MAIN}/{name}", data))
                path.chmod(mode)


def _write_mapped(
    state: Path,
    key: str,
    record: Record,
    agent: str,
    purge: Purge,
    commits: Mapping[str, str],
    repo: Repository,
) -> None:
    def mapped(name: str, oid: str) -> str:
        path = f"{agent}/{name}"
        try:
            data = repo.blob(oid)
        except MissingObject:
            return ""
        cleaned = purge.clean_file(path, data)
        return "" if path in purge.memories else oid if cleaned == data else repo.add_blob(cleaned)

    def renamed(name: str) -> str:
        return os.fsdecode(purge.clean_name(os.fsencode(name)))

    files = {renamed(name): new for name, oid in record.files.items() if (new := mapped(name, oid))}
    before = {
        renamed(name): " ".join(filter(None, (mapped(name, oid) for oid in oids.split())))
        for name, oids in record.before.items()
    }
    fresh = replace(
        record,
        base=commits.get(record.base, record.base if not commits else ""),
        files=files,
        before={name: oids for name, oids in before.items() if oids},
    )
    write_record(state, key, fresh)


def _agent(folder: Path) -> str:
    if folder.parent.name in LIVE_FOLDERS.values():
        with suppress(UsageError):
            return agent_name(folder.name)
    return MAIN


def _content(path: Path) -> bytes | None:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        state = os.fstat(handle)
        if not stat.S_ISREG(state.st_mode) or state.st_size > LARGEST:
            return None
        return file.read()
