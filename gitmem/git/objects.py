"""Git's objects and reflogs as pure functions over bytes, and what a repository reads and writes them with.

Formats: gitformat-* and git-check-ref-format in git's documentation.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import subprocess
import threading
import weakref
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import IO, Protocol

from gitmem.core.errors import MissingObject, RepositoryError
from gitmem.core.limits import LATEST
from gitmem.git.command import GitCommand, read_configuration
from gitmem.git.repository import TREE, Commit, ReflogEntry, Signature, TreeEntry

KINDS = ("commit", "tree", "blob", "tag")

_LONGEST_HEADER = 32
_WHO = re.compile(rb"(.*?) ?<([^<>\n]*)> ?(-?\d{1,20})? ?([+-]\d{4})?")
_HEX = re.compile(r"[0-9a-f]+")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*")
TREE_ROWS = {
    size: re.compile(rb"([0-7]{5,6}) ([^\0]+)\0(.{%d})" % (size // 2), re.DOTALL) for size in (40, 64)
}


def check_oid(oid: str, hex_length: int) -> str:
    """Returns `oid` where it is a full object name; raises MissingObject for anything else."""
    if len(oid) != hex_length or not _HEX.fullmatch(oid):
        raise MissingObject(f"Not an object name: {oid!r}")
    return oid


MISSING_HINT = "See what cannot be read, and mend what can be: git mem doctor"


def missing_object(oid: str) -> MissingObject:
    """Makes the error for an object that is not there."""
    return MissingObject(f"Object {oid} is missing", MISSING_HINT)


def damaged_object(oid: str) -> MissingObject:
    """Makes the error for an object that cannot be read."""
    return MissingObject(f"Object {oid} is damaged", MISSING_HINT)


def unfit(oid: str, kind: str, wanted: str) -> MissingObject:
    """Makes the error for an object that is of another kind than what names it says."""
    return MissingObject(f"Object {oid} is a {kind}, not a {wanted}", MISSING_HINT)


def object_name(kind: str, data: bytes, hex_length: int) -> str:
    """The name that git gives an object."""
    algorithm = hashlib.sha1 if hex_length == 40 else hashlib.sha256
    return algorithm(b"%s %d\0" % (kind.encode(), len(data)) + data, usedforsecurity=False).hexdigest()


def check_content(kind: str, data: bytes, oid: str) -> None:
    """Raises MissingObject where the content is not the one that the name was made of."""
    if object_name(kind, data, len(oid)) != oid:
        raise damaged_object(oid)


def loose_head(data: bytes, oid: str) -> tuple[str, int]:
    """Kind and size of a loose object, from the beginning of its file; nothing else of it is checked.

    Raises:
        MissingObject: it is damaged.
    """
    try:
        head, end, _ = zlib.decompressobj().decompress(data, _LONGEST_HEADER).partition(b"\0")
        kind, size = head.decode("ascii").split(" ")
        if not end or kind not in KINDS or not size.isdigit():
            raise ValueError
        return kind, int(size)
    except (zlib.error, ValueError):
        raise damaged_object(oid) from None


def parse_loose(data: bytes, oid: str) -> tuple[str, bytes]:
    """Reads the file of a loose object.

    Returns:
        (kind, content), the content checked against the object's name.

    Raises:
        MissingObject: it is damaged.
    """
    # The header first: its size bounds what a hostile file can inflate to.
    kind, size = loose_head(data, oid)
    try:
        whole = zlib.decompressobj().decompress(data, _LONGEST_HEADER + size + 1)
    except zlib.error:
        raise damaged_object(oid) from None
    content = whole.partition(b"\0")[2]
    check_content(kind, content, oid)
    return kind, content


def is_entry_name(name: str) -> bool:
    """Whether git takes a name into a tree; a tree that somebody made to do harm may hold others."""
    return name not in ("", ".", "..") and name.lower() != ".git" and "/" not in name and "\0" not in name


def encode_name(name: str) -> bytes:
    """Encodes the name of a tree entry, odd bytes from surrogates.

    Raises:
        RepositoryError: git does not allow that name.
    """
    if _PLAIN_NAME.fullmatch(name):
        return name.encode()
    if not is_entry_name(name):
        raise RepositoryError(f"Not a file name that git allows: {name!r}")
    try:
        return name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise RepositoryError(f"Not a file name: {name!r}") from None


def encode_tree(entries: Mapping[str, TreeEntry], hex_length: int) -> bytes:
    """Writes one level of a tree in git's order: by bytes, a directory as if its name ended in a slash.

    Raises:
        RepositoryError: git does not allow a name.
        MissingObject: an entry's object name is none.
    """
    rows = []
    for name, entry in entries.items():
        raw = encode_name(name)
        oid = bytes.fromhex(check_oid(entry.oid, hex_length))
        rows.append((raw + b"/" if entry.mode == TREE else raw, b"%o %s\0%s" % (entry.mode, raw, oid)))
    rows.sort()
    return b"".join([row for _, row in rows])


def parse_tree(data: bytes, hex_length: int, oid: str) -> dict[str, TreeEntry]:
    """Reads one level of a tree.

    Raises:
        MissingObject: it is damaged, or has one name twice (of which one would be lost unseen).
    """
    rows = TREE_ROWS[hex_length].findall(data)
    found = {
        name.decode("utf-8", "surrogateescape"): TreeEntry(int(mode, 8), raw.hex())
        for mode, name, raw in rows
    }
    # The search passes over what is no row: then the rows are shorter than the whole.
    size = sum([len(mode) + len(name) for mode, name, _ in rows]) + len(rows) * (hex_length // 2 + 2)
    if size != len(data) or len(rows) != len(found):
        raise damaged_object(oid)
    return found


def tree_entry(data: bytes, name: str, hex_length: int, oid: str) -> TreeEntry | None:
    """Reads one line of a tree, passing over the others; None where the name is not there.

    Raises:
        MissingObject: the tree is damaged.
    """
    raw = name.encode("utf-8", "surrogateescape")
    if b" %s\0" % raw not in data:
        return None
    row = TREE_ROWS[hex_length]
    at = 0
    while match := row.match(data, at):
        if match[2] == raw:
            return TreeEntry(int(match[1], 8), match[3].hex())
        at = match.end()
    if at != len(data):
        raise damaged_object(oid)
    return None


def entry_at(read: Callable[[str], bytes], tree: str, path: str, hex_length: int) -> TreeEntry | None:
    """Follows a path from a tree down, one level after the other.

    Args:
        read: content of a tree by its name.
    """
    found: TreeEntry | None = TreeEntry(TREE, tree)
    for name in path.split("/"):
        if found is None or found.mode != TREE:
            return None
        found = tree_entry(read(found.oid), name, hex_length, found.oid)
    return found


def encode_commit(
    tree: str, parents: tuple[str, ...], author: Signature, committer: Signature, message: str
) -> bytes:
    """Writes a commit in the bytes that `git commit-tree` would.

    The message ends in exactly one line break; what git forbids in names is left out, as git does.
    """
    lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
    lines += [f"author {format_signature(author)}", f"committer {format_signature(committer)}", ""]
    body = message.replace("\0", "").strip("\n")
    return "\n".join([*lines, body + "\n" if body else ""]).encode("utf-8", "replace")


def format_signature(who: Signature) -> str:
    """Writes a signature as in a commit header."""
    sign = "-" if who.offset < 0 else "+"
    hours, minutes = divmod(abs(who.offset), 60)
    return f"{_clean(who.name)} <{_clean(who.email)}> {max(who.time, 0)} {sign}{hours:02}{minutes:02}"


def _clean(text: str) -> str:
    # ident.c: angle brackets and line breaks anywhere, and "crud" at either end, are dropped.
    inner = re.sub(r"[<>\n\0]", "", text)
    return inner.strip("".join(map(chr, range(33))) + ".,:;\"\\'")


def parse_signature(raw: bytes) -> Signature:
    """Reads a signature; a date that no calendar has becomes 0, as git shows it."""
    found = _WHO.match(raw)
    if not found:
        return Signature(raw.decode("utf-8", "replace").strip(), "", 0)
    name, email = (part.decode("utf-8", "replace").strip() for part in found.group(1, 2))
    time, zone = int(found[3] or b"0"), found[4] or b"+0000"
    offset = int(zone[1:3]) * 60 + int(zone[3:5])
    offset = 0 if offset >= 24 * 60 else -offset if zone[:1] == b"-" else offset
    return Signature(name, email, time if 0 <= time <= LATEST else 0, offset)


def parse_commit(data: bytes, oid: str) -> Commit:
    """Reads a commit.

    Raises:
        MissingObject: it is damaged.
    """
    head, _, body = data.partition(b"\n\n")
    headers: dict[bytes, list[bytes]] = {}
    for line in head.split(b"\n"):
        key, _, value = line.partition(b" ")
        headers.setdefault(key, []).append(value)
    if not all(key in headers for key in (b"tree", b"author", b"committer")):
        raise damaged_object(oid)
    return Commit(
        oid,
        headers[b"tree"][0].decode("ascii", "replace"),
        tuple(parent.decode("ascii", "replace") for parent in headers.get(b"parent", [])),
        parse_signature(headers[b"author"][0]),
        parse_signature(headers[b"committer"][0]),
        body.decode("utf-8", "replace"),
    )


def parse_reflog(data: bytes) -> tuple[ReflogEntry, ...]:
    """Reads the log file of a ref, newest first; lines cut short by a crash are left out."""
    found = []
    for line in data.split(b"\n"):
        head, _, message = line.partition(b"\t")
        ids, _, who = head.partition(b" ")[2].partition(b" ")
        old, new = head.partition(b" ")[0].decode("ascii", "replace"), ids.decode("ascii", "replace")
        if len(old) == len(new) >= 40 and _HEX.fullmatch(old) and _HEX.fullmatch(new) and b"<" in who:
            started = old if old.strip("0") else None
            found.append(
                ReflogEntry(started, new, parse_signature(who), message.decode("utf-8", "replace"))
            )
    return tuple(reversed(found))


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
        if data is None or max(len(data), loose_head(data, oid)[1]) > LARGEST_LOOSE:
            return None
        return parse_loose(data, oid)
    except MissingObject:
        return None


def loose_size(folder: str, oid: str) -> int | None:
    """Bytes of a loose object by its head; None where git has to say. Arguments as for `read_loose`."""
    with suppress(MissingObject):
        data = _loose_file(folder, oid, _HEAD_BYTES)
        return None if data is None else loose_head(data, oid)[1]
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
            oid = object_name(kind, data, hex_length)
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
        check_oid(oid, self._hex_length)
        if (loose := read_loose(self._folder, oid)) is not None:
            return loose
        with self._lock:
            # A process that was killed, or that died of a damaged object before, gets one successor.
            found = self._ask(oid) or self._ask(oid)
        if found is None:
            raise damaged_object(oid)
        kind, data = found
        check_content(kind, data, oid)
        return kind, data

    def read_many(self, oids: Sequence[str]) -> dict[str, tuple[str, bytes]]:
        """Reads objects with one question for all; what is missing or damaged is left out.

        Args:
            oids: no more than a pipe holds unread (64 KB): the process answers while it is asked.
        """
        read = {}
        for oid in oids:
            check_oid(oid, self._hex_length)
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
                check_content(kind, data, oid)
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
            raise missing_object(oid)
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
