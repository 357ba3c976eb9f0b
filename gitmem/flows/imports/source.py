"""What an import reads: one file, a folder or a zip archive, as names and bytes, none of it believed.

Nothing is followed out of it and nothing in it runs: links are passed over, names are plain paths, sizes
have limits, a database is opened read-only with its own code switched off.
"""

from __future__ import annotations

import lzma
import os
import shutil
import sqlite3
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from gitmem.core.errors import UsageError

MOST_FILES = 50_000
FILE_BYTES = 268_435_456
"""Of one file that is read whole: far more than ten thousand memories as JSON."""

DATABASE_BYTES = 4_294_967_296
DEEPEST = 20
SQLITE = b"SQLite format 3\0"

_LEFT = frozenset({".git", "node_modules", "__pycache__", ".venv"})
"""Folders that hold no memory, whatever is in them."""


@dataclass(frozen=True)
class ImportSource:
    """Files by name, read when they are asked for.

    Attributes:
        name: what a person called it.
        times: when each file was last changed, epoch seconds, where that is known.
        passed: names of what was not looked at, and why.
        path: where it is on disk; None for what came through a pipe.
        single: whether it is one file.
        project: whose records are wanted of a store of several projects, as that store names it; empty for
            all of them.
    """

    name: str
    readers: Mapping[str, Callable[[], bytes]] = field(repr=False)
    times: Mapping[str, float] = field(default_factory=dict, repr=False)
    passed: Mapping[str, str] = field(default_factory=dict)
    path: Path | None = None
    single: bool = False
    project: str = ""

    @cached_property
    def files(self) -> tuple[str, ...]:
        """Names of its files, parts with slashes between, sorted."""
        return tuple(sorted(self.readers))

    def ending(self, *ends: str) -> tuple[str, ...]:
        """Files whose names end so, whatever their case."""
        return tuple(name for name in self.files if name.lower().endswith(ends))

    def named(self, *names: str) -> tuple[str, ...]:
        """Files with one of these names, in whichever folder."""
        return tuple(name for name in self.files if name.rpartition("/")[2] in names)

    def read(self, name: str) -> bytes:
        """Content of a file. Raises UsageError where it cannot be read, or is too large."""
        return self.readers[name]()

    def head(self, name: str, size: int = 4_096) -> bytes:
        """Its first bytes; none where it cannot be read."""
        if self.path is not None and self.path.suffix.lower() != ".zip":
            place = self.path if self.single else self.path / name
            try:
                with place.open("rb") as file:
                    return file.read(size)
            except OSError:
                return b""
        try:
            return self.read(name)[:size]
        except UsageError:
            return b""

    def on_disk(self, name: str) -> Path | None:
        """Where a file is; None for what is inside an archive or came through a pipe."""
        if self.path is None or self.path.suffix.lower() == ".zip":
            return None
        return self.path if self.single else self.path / name


def open_source(path: Path) -> ImportSource:
    """Opens what a person named.

    Raises:
        UsageError: it is not there, cannot be read, or is too much.
    """
    try:
        found = path.stat()
        if stat.S_ISDIR(found.st_mode):
            return _folder(path)
        if not stat.S_ISREG(found.st_mode):
            raise UsageError(f"{path} is neither a file nor a folder")
        with path.open("rb") as file:
            magic = file.read(4)
        if magic == b"PK\3\4":
            return _archive(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    readers = {path.name: lambda: _read(path)}
    return ImportSource(str(path), readers, {path.name: found.st_mtime}, {}, path, single=True)


def piped(stream: BinaryIO) -> ImportSource:
    """What comes through a pipe, as one file."""
    data = stream.read(FILE_BYTES + 1)
    if len(data) > FILE_BYTES:
        raise UsageError(f"More than {FILE_BYTES:,} bytes came through the pipe", "Give it as a file.")
    return ImportSource("-", {"-": lambda: data}, single=True)


@contextmanager
def database(source: ImportSource, name: str) -> Iterator[sqlite3.Connection]:
    """Opens a SQLite file of a source, which stays as it is byte for byte.

    What a program that is still running wrote last lies in a log beside it: both are copied then, since to
    read the log is to write beside it.

    Raises:
        UsageError: it is no database, is too large, or lies in an archive.
    """
    path = source.on_disk(name)
    if path is None:
        raise UsageError(f"{name} is a database inside of something", "Unpack it first.")
    log = path.with_name(f"{path.name}-wal")
    if path.stat().st_size > DATABASE_BYTES:
        raise UsageError(f"{path} has more than {DATABASE_BYTES:,} bytes")
    with tempfile.TemporaryDirectory(prefix="gitmem-") as folder:
        immutable = "&immutable=1"
        if not log.is_symlink() and log.is_file() and log.stat().st_size:
            copy = Path(folder) / "copy.db"
            shutil.copyfile(path, copy)
            shutil.copyfile(log, copy.with_name("copy.db-wal"))
            path, immutable = copy, ""
        try:
            with closing(
                sqlite3.connect(f"file:{quote(str(path))}?mode=ro{immutable}", uri=True)
            ) as opened:
                opened.text_factory = lambda raw: raw.decode("utf-8", "replace")
                opened.row_factory = sqlite3.Row
                opened.execute("PRAGMA trusted_schema = OFF")
                opened.execute("PRAGMA query_only = ON")
                yield opened
        except sqlite3.Error as error:
            raise UsageError(f"{source.name} cannot be read as a database: {error}") from error


def tables(opened: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
    """Tables of a database, no views, with their columns."""
    rows = opened.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    found = {}
    for (name,) in rows[:1_000]:
        columns = opened.execute("SELECT name FROM pragma_table_info(?)", (name,)).fetchall()
        found[str(name)] = tuple(str(column) for (column,) in columns)
    return found


def _folder(path: Path) -> ImportSource:
    readers: dict[str, Callable[[], bytes]] = {}
    times: dict[str, float] = {}
    passed: dict[str, str] = {}
    for name, entry in _walk(path, "", passed):
        if len(readers) >= MOST_FILES:
            raise UsageError(f"{path} holds more than {MOST_FILES:,} files", "Name a folder inside it.")
        readers[name] = _reader(Path(entry.path))
        times[name] = entry.stat(follow_symlinks=False).st_mtime
    return ImportSource(str(path), readers, times, passed, path)


def _walk(path: Path, prefix: str, passed: dict[str, str]) -> Iterator[tuple[str, os.DirEntry[str]]]:
    try:
        with os.scandir(path) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        passed[prefix or "."] = str(error.strerror)
        return
    for entry in entries:
        name = f"{prefix}{entry.name}"
        if entry.is_symlink():
            passed[name] = "is a link"
        elif entry.is_dir(follow_symlinks=False):
            if entry.name in _LEFT:
                continue
            if name.count("/") >= DEEPEST:
                passed[name] = f"lies more than {DEEPEST} folders deep"
            else:
                yield from _walk(Path(entry.path), f"{name}/", passed)
        elif entry.is_file(follow_symlinks=False):
            yield name, entry


def _reader(path: Path) -> Callable[[], bytes]:
    return lambda: _read(path)


def _read(path: Path) -> bytes:
    try:
        # What was put in a file's place since it was listed is followed no more than what was there.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            data = file.read(FILE_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    if len(data) > FILE_BYTES:
        raise UsageError(f"{path} has more than {FILE_BYTES:,} bytes")
    return data


def _archive(path: Path) -> ImportSource:
    try:
        opened = zipfile.ZipFile(path)
        infos = [info for info in opened.infolist() if not info.is_dir()]
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read as a zip archive: {error}") from error
    if len(infos) > MOST_FILES:
        raise UsageError(f"{path} holds more than {MOST_FILES:,} files", "Unpack what is wanted.")
    readers: dict[str, Callable[[], bytes]] = {}
    passed: dict[str, str] = {}
    for info in infos:
        if info.filename.startswith("/") or ".." in info.filename.split("/"):
            passed[info.filename] = "leads out of the archive"
        elif info.file_size > FILE_BYTES:
            passed[info.filename] = f"has more than {FILE_BYTES:,} bytes"
        else:
            readers[info.filename] = _member(opened, info)
    return ImportSource(str(path), readers, {}, passed, path)


def _member(opened: zipfile.ZipFile, info: zipfile.ZipInfo) -> Callable[[], bytes]:
    def read() -> bytes:
        try:
            with opened.open(info) as file:
                data = file.read(FILE_BYTES + 1)
        except (
            zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, RuntimeError,
        ) as error:  # fmt: skip
            raise UsageError(f"{info.filename} in the archive cannot be read: {error}") from error
        if len(data) > FILE_BYTES:
            raise UsageError(f"{info.filename} in the archive is larger than it says")
        return data

    return read
