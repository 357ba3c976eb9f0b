"""Objects in bulk bytes: what a repository reads them from, and how it writes them."""

from __future__ import annotations

import os
import stat
import subprocess
import threading
import weakref
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import IO, Protocol

from gitmem.core.errors import MissingObject, RepositoryError
from gitmem.git import objects
from gitmem.git.command import GitCommand, read_configuration

STREAMED = 128
"""Objects that are asked for at once: as many questions fit a pipe, and all answers memory."""

LARGEST_LOOSE = 16 * 1024**2
"""Bytes of a loose object, and of its file, that are read without git."""

_HEAD_BYTES = 1024
"""Beginning of a loose object's file in which its kind and size are, however it is compressed."""

_WISHES = ("core.sharedrepository", "core.fsync", "core.fsyncobjectfiles")
_USUAL = ("0", "false", "no", "off", "umask")


def read_loose(folder: str, oid: str) -> tuple[str, bytes] | None:
    """Reads a loose object from its file.

    Args:
        folder: of the objects.
        oid: a sound object name.

    Returns:
        (kind, content), the content checked against the name; None where git has to say: there is no such
        plain file, it is large, or it is damaged.
    """
    data = _loose_file(folder, oid, LARGEST_LOOSE + 1)
    try:
        if data is None or max(len(data), objects.loose_head(data, oid)[1]) > LARGEST_LOOSE:
            return None
        return objects.parse_loose(data, oid)
    except MissingObject:
        return None


def loose_size(folder: str, oid: str) -> int | None:
    """Bytes of a loose object by its head; None where git has to say. Arguments as for `read_loose`."""
    with suppress(MissingObject):
        data = _loose_file(folder, oid, _HEAD_BYTES)
        return None if data is None else objects.loose_head(data, oid)[1]
    return None


class ObjectWriter:
    """Stores objects of one repository, each as (kind, content)."""

    def __init__(self, git: GitCommand, git_dir: Path, hex_length: int) -> None:
        self._git = git
        self._git_dir = git_dir
        self._hex_length = hex_length

    @cached_property
    def _by_git(self) -> bool:
        """Whether settings say how objects are written: for whom else, or when they are on the disk."""
        rows = read_configuration(self._git, git_dir=self._git_dir).rows
        return any(key in _WISHES and value.lower() not in _USUAL for _, key, value in rows)

    def write(self, contents: Iterable[tuple[str, bytes]]) -> None:
        """Writes them. Raises RepositoryError where one cannot be written, or the settings not be read."""
        if not self._by_git:
            _write_loose(self._git_dir, contents, self._hex_length)
            return
        for kind, data in contents:
            # Literally: newer ones refuse odd trees and commits, which a purge may have to rewrite.
            words = ["hash-object", "--literally", "-w", "-t", kind, "--stdin"]
            self._git.run(words, git_dir=self._git_dir, input=data)


def _write_loose(git_dir: Path, contents: Iterable[tuple[str, bytes]], hex_length: int) -> None:
    """Stores objects as git itself would, one file each; a process costs as much as some forty of them."""
    temporary = folder = git_dir / "objects"
    try:
        for kind, data in contents:
            oid = objects.object_name(kind, data, hex_length)
            place = folder / oid[:2] / oid[2:]
            with suppress(OSError):
                # One that is there is young again, which keeps it from a `git gc` that runs meanwhile.
                os.utime(place)
                continue
            place.parent.mkdir(exist_ok=True)
            # Git takes away what has such a name and is left over.
            temporary = place.with_name(f"tmp_obj_{os.urandom(6).hex()}")
            with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, 0o444)) as file:
                file.write(zlib.compress(b"%s %d\0" % (kind.encode(), len(data)) + data, 1))
            os.replace(temporary, place)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        from gitmem.git.errors import explain  # hardly ever does that happen

        message, hint = explain(str(error), git_dir)
        raise RepositoryError(f"{git_dir}: {message}", hint) from error


def _loose_file(folder: str, oid: str, most: int) -> bytes | None:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        # Not through a `Path`: making one takes longer than the system's answer.
        handle = os.open(f"{folder}/{oid[:2]}/{oid[2:]}", flags)
        with os.fdopen(handle, "rb", buffering=0) as file:
            return file.read(most) if stat.S_ISREG(os.fstat(handle).st_mode) else None
    except OSError:
        return None


class ObjectStore(Protocol):
    """Objects as (kind, content), by name; content is checked against the name wherever it is read."""

    def read(self, oid: str) -> tuple[str, bytes]:
        """Reads an object. Raises MissingObject where it is missing or damaged."""

    def read_many(self, oids: Sequence[str]) -> dict[str, tuple[str, bytes]]:
        """Reads objects, `STREAMED` at most; what is missing or damaged is left out."""

    def close(self) -> None:
        """Ends helper processes and frees handles."""


class CommandObjects:
    """Objects by processes of git: a `cat-file --batch` that answers question after question.

    It is started at the first one that no loose object answers. Safe between threads, and after a fork: a
    child starts one of its own.
    """

    def __init__(self, git: GitCommand, git_dir: Path, hex_length: int) -> None:
        self._git = git
        self._git_dir = git_dir
        self._folder = f"{git_dir}/objects"
        self._hex_length = hex_length
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._end: Callable[[], object] | None = None
        self._lock = threading.Lock()

    def read(self, oid: str) -> tuple[str, bytes]:
        """Reads an object.

        Returns:
            (kind, content), the content checked against the object's name.

        Raises:
            MissingObject: it is missing or damaged.
        """
        objects.check_oid(oid, self._hex_length)
        if (loose := read_loose(self._folder, oid)) is not None:
            return loose
        with self._lock:
            # A process that was killed, or that died of a damaged object before, gets one successor.
            found = self._ask(oid) or self._ask(oid)
        if found is None:
            raise objects.damaged(oid)
        kind, data = found
        objects.check_content(kind, data, oid)
        return kind, data

    def read_many(self, oids: Sequence[str]) -> dict[str, tuple[str, bytes]]:
        """Reads objects with one question for all; what is missing or damaged is left out.

        Args:
            oids: no more than a pipe holds unread (64 KB): the process answers while it is asked.
        """
        read = {}
        for oid in oids:
            objects.check_oid(oid, self._hex_length)
            if (loose := read_loose(self._folder, oid)) is not None:
                read[oid] = loose
        rest = [oid for oid in oids if oid not in read]
        if not rest:
            return read
        with self._lock:
            found = self._ask_all(rest)
        if found is None:  # the process died over one of them
            for oid in rest:
                with suppress(MissingObject):
                    read[oid] = self.read(oid)
            return read
        for oid, (kind, data) in found.items():
            with suppress(MissingObject):
                objects.check_content(kind, data, oid)
                read[oid] = kind, data
        return read

    def close(self) -> None:
        """Ends the process."""
        with self._lock:
            self._stop()

    def _ask(self, oid: str) -> tuple[str, bytes] | None:
        found = self._ask_all([oid])
        if found is None:
            return None
        if oid not in found:
            raise objects.missing(oid)
        return found[oid]

    def _ask_all(self, oids: Sequence[str]) -> dict[str, tuple[str, bytes]] | None:
        """Answers to all questions, without what is missing; None where the process died."""
        if self._process is None or self._owner != os.getpid():
            self._process = self._git.start(["cat-file", "--batch"], git_dir=self._git_dir)
            self._owner = os.getpid()
            # A reader that nobody closed ends its process all the same.
            self._end = weakref.finalize(self, _end, self._process)
        asked, answers = self._process.stdin, self._process.stdout
        if asked is None or answers is None:
            return None
        found: dict[str, tuple[str, bytes]] = {}
        try:
            asked.write("".join(f"{oid}\n" for oid in oids).encode())
            asked.flush()
            for oid in oids:
                head = answers.readline().split()
                if len(head) != 2 or head[1] != b"missing":
                    data = _exactly(answers, int(head[2]) + 1)
                    found[oid] = head[1].decode(), data[:-1]
        except (OSError, IndexError, ValueError, EOFError, MemoryError):
            # The last where a damaged object claims to be huge.
            self._stop()
            return None
        return found

    def _stop(self) -> None:
        self._process = None
        if self._end is not None and self._owner == os.getpid():
            self._end()


def _end(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    process.kill()
    process.wait()


def _exactly(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) != size:
        raise EOFError
    return data
