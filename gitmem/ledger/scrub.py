"""Taking a text out of what is no git object: live directories, their records, and gitmem's own state.

And all of that in a clone whose memory was carried over a purge: however the process ended that moved its
refs, the next one finds what is left to be done from where they were and where they are.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from gitmem.core.errors import MissingObject, RepositoryError, UsageError
from gitmem.core.names import agent_name
from gitmem.core.purge import Purge
from gitmem.git.locks import writer_lock
from gitmem.git.packs import objects_with
from gitmem.git.repository import Repository
from gitmem.git.trees import blob_or_none
from gitmem.ledger.counterparts import match
from gitmem.ledger.epochs import Epoch, epoch_of, epochs_differ
from gitmem.ledger.erase import leave_epoch, left_behind, note_clean, old_tips
from gitmem.ledger.files import CATALOG, COMMITS, WARNINGS, delete_index, has_link, write_atomically
from gitmem.ledger.layout import (
    ASIDE,
    LIVE_FOLDERS,
    LayoutRecord,
    LiveDirectory,
    blob_name,
    displaced_files,
    is_laid_out,
    label,
    live_directories,
    read_record,
    records,
    replace_file,
    write_record,
)
from gitmem.ledger.memory_refs import memory_refs
from gitmem.ledger.replay import Carried
from gitmem.ledger.state import FILE as STATE
from gitmem.ledger.state import scrub as scrub_entries
from gitmem.ledger.working_copy import scan
from gitmem.ledger.workspace import MAIN, PRIVATE_REF, SHARED_REF, Workspace

LARGEST = 64 * 1024 * 1024
"""Bytes of a file of gitmem's state that is looked into."""

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
    if has_link(live.anchor, live.path):
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
        _scrub_displaced(live.path / ASIDE, purge, repo)
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
    for key, record in records(state):
        if key not in seen:
            with suppress(RepositoryError), writer_lock(state / "live", key, timeout=30.0):
                folder = Path(record.path)
                _write_mapped(state, key, record, _agent(folder), purge, commits, repo)
                _scrub_unknown(folder, purge)


def scrub_state(folder: Path, purge: Purge, besides: Iterable[Path] = ()) -> int:
    """Takes the texts out of the files of gitmem's own state. What is derived goes whole: search indexes,
    warnings that are kept ready, and the files that `WORDS` names.

    Args:
        besides: folders in it that are left alone.

    Returns:
        How many files held one.
    """
    count = scrub_entries(folder, purge)
    shutil.rmtree(folder / WARNINGS, ignore_errors=True)
    for path in files_below(folder, besides):
        if path.name.startswith((CATALOG, COMMITS, STATE)):
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
    for file in (CATALOG, COMMITS):
        delete_index(folder, file)
    return count


def lives(workspace: Workspace) -> tuple[LiveDirectory, ...]:
    """Live directories of all work trees."""
    found: dict[Path, LiveDirectory] = {}
    for top in [tree.path for tree in workspace.worktrees]:
        for live in live_directories(workspace, top):
            found.setdefault(live.path, live)
    return tuple(found.values())


def scrub_states(workspace: Workspace, texts: Purge) -> None:
    """Takes texts out of gitmem's own state, and search indexes away."""
    for repo, private in repositories(workspace):
        state = workspace.private_state if private else workspace.state
        for folder in sorted((state / "displaced").glob("*/")):
            with suppress(RepositoryError), writer_lock(state / "live", folder.name, timeout=30.0):
                _scrub_displaced(folder, texts, repo)
    scrub_state(workspace.state, texts)
    scrub_state(workspace.private_state, texts)
    scrub_state(workspace.around.data, texts, [workspace.private_path, workspace.private_state])


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


@dataclass(frozen=True)
class Crossing:
    """A memory ref that went from one epoch to another.

    Attributes:
        ref: its full name; empty for all of a repository, from which only texts went.
        purge: what was taken out by that.
        commits: old commit to the one in its place.
    """

    ref: str
    purge: Purge
    commits: Mapping[str, str]


def is_unsettled(workspace: Workspace) -> bool:
    """Whether a ref went over a purge, and live directories and state may still hold what was purged."""
    return any(left_behind(repo) for repo, _ in repositories(workspace))


def settle_carried(workspace: Workspace, carried: Iterable[Carried], *, private: bool) -> None:
    """Takes what was purged out of live directories, records, state and search indexes.

    Besides what was carried over just now this takes up what an earlier process did not come to: one that
    was killed, or failed at the remote, after its ref had moved.

    Args:
        private: whether what was carried is in the private repository.
    """
    fresh = [Crossing(one.ref, one.purge, one.commits) for one in carried]
    for repo, is_private in repositories(workspace):
        own = fresh if private == is_private else []
        found = own + _crossings(repo, {one.ref for one in own})
        if found:
            settle(workspace, repo, found, private=is_private)
        note_clean(repo)


def stands_in(repo: Repository, carried: Iterable[Carried], *, private: bool) -> bool:
    """Whether memory holds what was purged in the other repository: a person takes it out, or leaves it."""
    purge = Purge(frozenset(text for one in carried for text in one.purge.texts))
    tips = memory_refs(repo, private=private).own.values() if purge else ()
    if not tips:
        return False
    words = ["rev-list", "--objects", "--no-object-names", *dict.fromkeys(tips), "--"]
    listed = repo.git.run(words, git_dir=repo.git_dir).text.split("\n")
    return bool(objects_with(repo, purge.holds, listed).found)


def settle(
    workspace: Workspace, repo: Repository, found: Collection[Crossing], *, private: bool
) -> tuple[int, tuple[Path, ...]]:
    """Takes what went out of live directories, records and state.

    Args:
        found: how refs of one repository went from one epoch to another.
        private: whether that is the private one.

    Returns:
        How many live files were changed; and those that hold a text and may not be touched.
    """
    texts = Purge(frozenset(text for one in found for text in one.purge.texts))
    commits = {old: new for one in found for old, new in one.commits.items()}
    seen = [live for live in lives(workspace) if (live.scope.name != "project") == private]
    count, left = 0, list[Path]()
    for live in seen:
        purge = texts
        for one in found:
            # Another scope, or project, may have a memory of the same name.
            purge |= one.purge if live.scope.ref in _names(one.ref) else texts
        changed, kept = scrub_live(live, purge, commits, repo)
        count, left = count + changed, [*left, *kept]
    state = workspace.private_state if private else workspace.state
    scrub_records(state, [live.key for live in seen], texts, commits, repo)
    scrub_states(workspace, texts)
    return count, tuple(left)


def _crossings(repo: Repository, known: Collection[str]) -> list[Crossing]:
    """What lies between where refs were and where they are: found by comparing the two histories."""
    found = []
    for ref, old in left_behind(repo):
        if ref in known:
            continue
        with suppress(MissingObject):
            now = next((oid for name in _names(ref) if (oid := repo.ref(name))), None)
            if now is None or not epochs_differ(repo, now, old):
                continue
            laid = match(repo, old, now)
            found.append(Crossing(ref, laid.there, laid.pairs))
    return found


def _names(ref: str) -> tuple[str, ...]:
    """A ref, and what it is called after sharing was turned on or off."""
    both = (SHARED_REF, PRIVATE_REF)
    return (ref, *both) if ref in both else (ref,)


def erase_left_over(workspace: Workspace) -> int:
    """Erases what is left of old epochs, after whatever kept it alive is gone; returns how many objects.

    Raises:
        RepositoryError: it cannot be told what is still used.
    """
    states = (workspace.state, workspace.private_state)
    count = 0
    for repo, private in repositories(workspace):
        if not old_tips(repo):
            continue
        refs = memory_refs(repo, private=private)
        mains = [oid for ref, oid in refs.own.items() if refs.is_main(ref)]
        newest = max((epoch_of(repo, oid) for oid in mains), default=Epoch())
        # What other remotes have of an older epoch would keep it alive here; they are fetched again.
        there = {} if private else refs.tracking
        stale = {ref: oid for ref, oid in there.items() if epoch_of(repo, oid) < newest}
        count += leave_epoch(repo, refs, stale, frozenset(old_tips(repo)) | {*stale.values()}, states)
    return count


def repositories(workspace: Workspace) -> list[tuple[Repository, bool]]:
    """The repositories that hold memory, and whether each is the private one."""
    private = [(workspace.private, True)] if workspace.has_private else []
    return [(workspace.code, False), *private]


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
        if live.tracked or has_link(live.anchor, path.parent):
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


def _scrub_displaced(folder: Path, purge: Purge, repo: Repository) -> None:
    """Takes it out of files that layouts moved aside, and out of what each was expected to be.

    That tells a late edit from what just stood there: a save would take in all of a file that is not what
    was expected, and bring back memories that were forgotten, moved or undone since.
    """
    for entry in displaced_files(folder):
        data = purge.clean_file(entry.file, entry.content)
        late = not entry.expected or blob_name(entry.content, repo.hex_length) != entry.expected
        before = blob_or_none(repo, entry.expected) if late and entry.expected else None
        base = purge.clean_file(entry.file, before) if before is not None else None
        if data == entry.content and base == before:
            continue
        if base is not None:
            token = entry.at.parent.name.partition(".")[0]
            write_atomically(folder / f"{token}.{repo.add_blob(base)}" / entry.at.name, data)
        if base is not None or not late:
            entry.at.unlink(missing_ok=True)
            with suppress(OSError):
                entry.at.parent.rmdir()


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
    record: LayoutRecord,
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
