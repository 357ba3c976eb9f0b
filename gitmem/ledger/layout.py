"""Live directories: the folders that agents read and write, how files there are replaced, what was seen.

A replacement keeps what was there, so that whatever somebody writes meanwhile is found again. The record
says what gitmem last saw or laid out: JSON, one file a directory, in the state folder of the owning
repository. It can be deleted at no loss of memory: without it the next save unites what is on disk with the
ref.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from gitmem.core.errors import RepositoryError, UsageError
from gitmem.core.limits import OTHER_BYTES, PATH_SEGMENTS
from gitmem.core.names import INDEX, agent_folder_name, agent_name, is_memory_file
from gitmem.git.objects import object_name
from gitmem.ledger.files import has_link, read_regular, write_atomically
from gitmem.ledger.workspace import MAIN, Scope, ScopeName, Workspace
from gitmem.values import dataclass

ASIDE = ".gitmem-displaced"
"""Folder in a live directory for what was displaced, where `aside` is on another file system."""

PACKAGES = frozenset({"bower_components", "node_modules", "site-packages"})
"""Folders in which package managers put what somebody else wrote."""

MANIFESTS = frozenset(
    {
        *("package.json", "pyproject.toml", "setup.py", "pyvenv.cfg", "Cargo.toml", "go.mod", "pom.xml"),
        *("composer.json", "Gemfile", "Makefile", "CMakeLists.txt", "LICENSE", "LICENSE.txt", "COPYING"),
    }
)
"""Files that a folder of software has, and one of memories has not: their READMEs are nobody's memory."""

_LOG = re.compile(r"logs/\d{4}/\d{2}/\d{4}-\d{2}-\d{2}\.md")

RECORD_VERSION = 1

LIVE_FOLDERS: dict[ScopeName, str] = {"project": "agent-memory", "local": "agent-memory-local"}


class Unwritable(RepositoryError):
    """A live directory cannot be written; what was to be stored is stored."""


@dataclass(frozen=True)
class Replacement:
    """How a replacement went.

    Attributes:
        done: whether the new content stands at the path.
        found: content of the file that was displaced; None where there was none.
    """

    done: bool
    found: bytes | None = None


def replace_file(
    path: Path,
    new: bytes | None,
    aside: Path,
    label: str,
    mtime: float | None = None,
    top: Path | None = None,
) -> Replacement:
    """Puts new content at a path, keeping what was there.

    The new file is written beside it, the old one renamed away, the new one linked exclusively: a file
    that someone creates in between stays, and `done` is false. The displaced file is read only after it
    was displaced, so an edit up to that moment is in `found`; one who still holds it open may write
    later, and this process may die here, so it is kept as `<aside>/<token>.<label>` for a second look; in
    `ASIDE` in the live directory where that is on another file system.

    Args:
        path: the file; a link there is not followed but left alone.
        new: content, or None to delete.
        aside: folder for displaced files, on the same file system.
        label: what the displaced file was expected to be and its name, as `<expected>/<name>`, for whoever
            finds it. Where the new content could not be put there, the expected part becomes `none`: who
            wrote there meanwhile did not know what was displaced.
        mtime: modification time for a file that did not exist before, seconds since the epoch.
        top: the live directory; the file's own folder where None.

    Raises:
        RepositoryError: the folder is read-only or the disk is full; the file is as it was.
    """
    token = os.urandom(8).hex()
    fresh = (top or path.parent) / f".gitmem-{token}.tmp"
    try:
        if new is not None:
            _write_new(fresh, new, path)
        displaced = _displace(path, (aside, (top or path.parent) / ASIDE), f"{token}.{label}")
        if displaced is None and mtime is not None and new is not None:
            os.utime(fresh, (mtime, mtime))
        done = new is None or _link(fresh, path)
        if not done and displaced is not None:
            unknown = displaced.parent.with_name(f"{token}.none")
            displaced.parent.rename(unknown)
            displaced = unknown / displaced.name
        return Replacement(done, displaced.read_bytes() if displaced else None)
    except OSError as error:
        raise Unwritable(f"{path} cannot be written: {error.strerror}", _hint(error)) from error
    finally:
        with contextlib.suppress(OSError):
            fresh.unlink()


def _write_new(fresh: Path, data: bytes, like: Path) -> None:
    for folder in (fresh.parent, like.parent):
        if folder.is_symlink():
            raise OSError(errno.ELOOP, "its folder is a symbolic link")
        folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        with contextlib.suppress(OSError):
            os.fchmod(handle, stat.S_IMODE(os.lstat(like).st_mode))


def _displace(path: Path, asides: tuple[Path, Path], label: str) -> Path | None:
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise OSError(errno.EEXIST, "something that is no regular file is in the way")
        try:
            return _moved(path, asides[0] / label)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            return _moved(path, asides[1] / label)
    except FileNotFoundError:
        return None


def _moved(path: Path, target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.rename(target)
    except OSError:
        with contextlib.suppress(OSError):
            target.parent.rmdir()
        raise
    return target


def _link(fresh: Path, path: Path) -> bool:
    try:
        os.link(fresh, path)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.EXDEV):
            raise
        # A file system without hard links, or another one: an exclusive copy is the next best thing.
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
        except FileExistsError:
            return False
        with os.fdopen(handle, "wb") as file:
            file.write(fresh.read_bytes())
    return True


def _hint(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "Free some disk space and run it again; nothing was lost."
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        return "A file is where a folder should be: move it away and run it again; nothing was lost."
    return "Make its folder writable for you and run it again."


@dataclass(frozen=True)
class Displaced:
    """A file that a replacement moved aside.

    Attributes:
        at: where it is kept.
        file: where it stood, relative to the live directory.
        expected: blob name that it had when the replacement was planned; empty for none.
    """

    at: Path
    file: str
    expected: str
    content: bytes
    since: float


def label(file: str, expected: str) -> str:
    """Names a displaced file so that it can be told later what it was: a folder, and its own name."""
    return f"{expected or 'none'}/{file.replace('%', '%25').replace('/', '%2F')}"


def displaced_files(*folders: Path) -> tuple[Displaced, ...]:
    """Files that replacements moved aside, oldest first."""
    found = []
    for path in [path for folder in folders if not folder.is_symlink() for path in folder.glob("*.*/*")]:
        expected = path.parent.name.partition(".")[2]
        with contextlib.suppress(OSError):
            if read := read_regular(path, OTHER_BYTES):
                known = "" if expected == "none" else expected
                found.append(Displaced(path, unquote(path.name), known, read[0], path.stat().st_ctime))
    return tuple(sorted(found, key=lambda entry: (entry.since, str(entry.at))))


def blob_name(data: bytes, hex_length: int) -> str:
    """Name that git gives a blob, without storing it."""
    return object_name("blob", data, hex_length)


def names_below(top: Path, without: Collection[str] = ()) -> tuple[list[str], dict[str, str]]:
    """Names of the files below a folder, in order, hidden ones left out.

    No link is followed. What somebody else made is not entered: a repository, whose files have a history
    already, or a package of software.

    Args:
        top: the folder.
        without: names of folders right in it that are not entered.

    Returns:
        Paths relative to the folder, with `/`; folder that could not be entered to the reason.
    """
    names: list[str] = []
    shut: dict[str, str] = {}
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(top / folder) as entries:
                found = [(entry.name, entry.is_dir(follow_symlinks=False), entry) for entry in entries]
            linked_folders = {name for name, real, entry in found if not real and _is_linked_folder(entry)}
        except OSError:
            shut[folder.rstrip("/")] = "cannot be read"
            continue
        if folder and any(name == ".git" for name, _, _ in found):
            shut[folder.rstrip("/")] = "is a repository of its own"
            continue
        if sign := _is_package(folder, [name for name, _, _ in found]):
            shut[folder.rstrip("/")] = f"is software, not memory ({sign})"
            continue
        for name, real, _ in found:
            if name.startswith("."):
                continue
            if name in linked_folders:
                shut[folder + name] = "is a symbolic link"
            elif not real or name.endswith(".md"):  # a folder of that name is in the way of a file
                names.append(folder + name)
            elif folder.count("/") >= PATH_SEGMENTS:
                shut[folder + name] = f"lies more than {PATH_SEGMENTS} folders deep"
            elif folder or name not in without:
                waiting.append(f"{folder}{name}/")
    return sorted(names), shut


def _is_package(folder: str, names: Collection[str]) -> str:
    """What shows that a folder inside another holds software; empty where nothing does."""
    name = folder.rstrip("/").rpartition("/")[2]
    return name if name in PACKAGES else min(MANIFESTS.intersection(names), default="") if folder else ""


def _is_linked_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_symlink() and entry.is_dir()
    except OSError:
        return False


def is_laid_out(name: str) -> bool:
    """Whether a file of an agent's folder belongs in a live directory: the index, a memory, a daily log.

    Names come from trees that anyone may have written: whatever else they hold is never written to disk.
    """
    return name == INDEX or is_memory_file(name) or bool(_LOG.fullmatch(name))


@dataclass(frozen=True)
class LayoutRecord:
    """What a live directory looked like when gitmem last touched it.

    Attributes:
        path: the folder, for a person who reads the file.
        base: commit of the memory ref that it showed.
        files: file (relative to the folder) to blob name of what was there: the base of the next merge.
        before: file to blob names, newest first and separated by spaces, of what stood there until the
            last layouts, for a writer that read the file before it was replaced.
        afresh: files that someone else made while a layout had the old one moved away; whoever appended
            there knew nothing of what it held.
        laid_out: when that last layout was, in seconds since the epoch.
        pinned: revision that `checkout` laid out; empty on the tip.
        code_head: code commit at that time, for folders that the code branch tracks.
        home: git directory of the code repository whose memory is shown, where the folder's name alone does
            not tell: the client gives `a-b` and `a/b` one folder.
        written: when this record was written, by the file system's clock; 0 for one not on disk.
    """

    path: str
    base: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    before: Mapping[str, str] = field(default_factory=dict)
    afresh: tuple[str, ...] = ()
    laid_out: float = 0.0
    pinned: str = ""
    code_head: str = ""
    home: str = ""
    written: float = 0.0


def record_key(path: Path) -> str:
    """Name of a live directory's record and lock."""
    return hashlib.sha256(str(path.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def record_path(state: Path, key: str) -> Path:
    """Where the record of a live directory is kept."""
    return state / "live" / f"{key}.json"


def read_record(state: Path, key: str) -> LayoutRecord | None:
    """Reads a record; None where there is none, or none that can be read."""
    try:
        with record_path(state, key).open("rb") as file:
            data, written = json.loads(file.read()), os.fstat(file.fileno()).st_mtime
        if data["version"] != RECORD_VERSION:
            return None
        return LayoutRecord(
            path=str(data["path"]),
            base=str(data["base"]),
            files=_strings(data["files"]),
            before=_strings(data["before"]),
            afresh=tuple(str(name) for name in data.get("afresh", [])),
            laid_out=float(data["laid_out"]),
            pinned=str(data["pinned"]),
            code_head=str(data["code_head"]),
            home=str(data.get("home", "")),
            written=written,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def records(state: Path) -> Iterator[tuple[str, LayoutRecord]]:
    """All records of one repository's state folder, each with its key, in a fixed order."""
    for file in sorted((state / "live").glob("*.json")):
        record = read_record(state, file.stem)
        if record is not None:
            yield file.stem, record


def write_record(state: Path, key: str, record: LayoutRecord) -> None:
    """Writes a record whole or not at all."""
    path = record_path(state, key)
    data = {
        "version": RECORD_VERSION,
        "path": record.path,
        "base": record.base,
        "files": dict(record.files),
        "before": dict(record.before),
        "afresh": list(record.afresh),
        "laid_out": record.laid_out,
        "pinned": record.pinned,
        "code_head": record.code_head,
        "home": record.home,
    }
    write_atomically(path, (json.dumps(data, indent=1, sort_keys=True) + "\n").encode())


def _strings(data: Any) -> dict[str, str]:
    return {str(key): str(value) for key, value in data.items()}


@dataclass(frozen=True)
class LiveDirectory:
    """A folder that an agent reads and writes.

    Attributes:
        scope: scope that it shows.
        agent: the agent's folder name in the tree (escaped).
        path: the folder; may be missing.
        anchor: folder above it that is trusted: no link is followed between the two.
        tracked: whether the code branch tracks files in it, which makes it read-only to gitmem.
        home: git directory of the code repository that it belongs to, where its place does not tell.
    """

    scope: Scope
    agent: str
    path: Path
    anchor: Path
    tracked: bool = False
    home: str = ""

    @property
    def key(self) -> str:
        """Name of its record and lock."""
        return record_key(self.path)


def auto_memory(workspace: Workspace) -> Path | None:
    """The client's own memory folder; None where there is none, or it is another repository's."""
    return None if taken_by(workspace) else workspace.client_folder


def taken_by(workspace: Workspace) -> Path | None:
    """The repository whose memory stands in the folder that the client uses for this one, too."""
    if workspace.client_folder is None:
        return None
    here = workspace.layout.common_dir
    record = read_record(workspace.private_state, record_key(workspace.client_folder))
    home = Path(record.home) if record is not None and record.home else here
    return home if home != here and (home / "gitmem").is_dir() else None


def live_directories(workspace: Workspace, worktree: Path | None = None) -> tuple[LiveDirectory, ...]:
    """Live directories that exist for one work tree, the current one unless given, in a fixed order."""
    top = worktree or workspace.layout.worktree
    found: list[LiveDirectory] = []
    if top is not None:
        for name, folder in LIVE_FOLDERS.items():
            parent = top / workspace.claude_folder / folder
            if not _is_personal(workspace, parent):
                found += _agents(workspace.scope(name), parent, top)
        tracked = _tracked(workspace, top) if found else ()
        found = [replace(live, tracked=live.path.relative_to(top).as_posix() in tracked) for live in found]
    auto = auto_memory(workspace)
    if auto is not None and auto.is_dir():
        found.append(_auto(workspace, auto))
        if (auto / "team").is_dir():
            found.append(_team(workspace, auto))
    config = workspace.around.config
    found += _agents(workspace.scope("user"), config / "agent-memory", config)
    return tuple(found)


def live_directory(
    workspace: Workspace, scope: ScopeName, agent: str, worktree: Path | None = None
) -> LiveDirectory | None:
    """Where an agent's memory of a scope is laid out, whether or not it exists; None for nowhere.

    Args:
        agent: folder name in the tree.
        worktree: top of the work tree; the current one where None.
    """
    top, auto = worktree or workspace.layout.worktree, auto_memory(workspace)
    if agent == MAIN and scope == "local":
        return _auto(workspace, auto) if auto is not None else None
    if agent == MAIN and scope == "user":
        return None
    if agent == MAIN and auto is not None and (auto / "team").is_dir():
        return _team(workspace, auto)
    try:
        folder = agent_folder_name(agent)
    except UsageError:
        return None
    if Path(folder).name != folder:
        return None
    if scope == "user":
        config = workspace.around.config
        return LiveDirectory(workspace.scope("user"), agent, config / "agent-memory" / folder, config)
    if top is None:
        return None
    path = top / workspace.claude_folder / LIVE_FOLDERS[scope] / folder
    if _is_personal(workspace, path.parent):
        return None
    tracked = path.relative_to(top).as_posix() in _tracked(workspace, top)
    return LiveDirectory(workspace.scope(scope), agent, path, top, tracked)


def _is_personal(workspace: Workspace, parent: Path) -> bool:
    """Whether a folder of this work tree is the person's own: a home directory may be a work tree."""
    return parent.resolve() == (workspace.around.config / "agent-memory").resolve()


def _auto(workspace: Workspace, folder: Path) -> LiveDirectory:
    home = str(workspace.layout.common_dir)
    return LiveDirectory(workspace.scope("local"), MAIN, folder, folder.parent, home=home)


def _team(workspace: Workspace, folder: Path) -> LiveDirectory:
    return LiveDirectory(workspace.scope("project"), MAIN, folder / "team", folder)


def _agents(scope: Scope, parent: Path, anchor: Path) -> Iterator[LiveDirectory]:
    if not parent.is_dir() or has_link(anchor, parent):
        return
    for path in sorted(parent.iterdir()):
        if path.is_dir() and not path.is_symlink() and not path.name.startswith("."):
            try:
                yield LiveDirectory(scope, agent_name(path.name), path, anchor)
            except UsageError:
                continue


def _tracked(workspace: Workspace, top: Path) -> frozenset[str]:
    """Agents' folders (relative to the work tree) in which the code branch tracks a file."""
    folders = tuple(f"{workspace.claude_folder}/{folder}/" for folder in LIVE_FOLDERS.values())
    files = (path for path in workspace.tracked_files(top) if path.startswith(folders))
    return frozenset("/".join(path.split("/")[:3]) for path in files)
