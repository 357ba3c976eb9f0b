"""Objects in bulk bytes: what a repository reads them from and writes them to."""

from __future__ import annotations

import os
import stat
import subprocess
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Protocol

from gitmem.core.errors import MissingObject
from gitmem.git import objects
from gitmem.git.command import GitCommand, failure

STREAMED = 128
"""Objects that are asked for at once: as many questions fit a pipe, and all answers memory."""


LARGEST_LOOSE = 16 * 1024**2
"""Bytes of a loose object, and of its file, that are read without git."""

_HEAD_BYTES = 1024
"""Beginning of a loose object's file in which its kind and size are, however it is compressed."""


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

    def write(self, contents: Iterable[tuple[str, bytes]]) -> None:
        """Stores objects. Raises RepositoryError where that fails."""

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

    def write(self, contents: Iterable[tuple[str, bytes]]) -> None:
        """Stores objects: one process, however many.

        Raises:
            RepositoryError: git cannot store them.
        """
        pack = objects.encode_pack(contents, self._hex_length)
        result = self._git.run(["unpack-objects", "-q"], git_dir=self._git_dir, input=pack, check=False)
        if result.returncode:
            raise failure(result, self._git_dir)

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
