"""The repository through the `git` command: for all that git can open, at a few processes a write."""

from __future__ import annotations

import os
import re
import subprocess
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

from gitmem.errors import RepositoryError
from gitmem.store import objects
from gitmem.store.git import GitCommand, Layout, Result, failure
from gitmem.store.repository import Commit, Entry, MissingObject, ReflogEntry, RefMoved, Signature

# How long git waits for a ref that another process holds, in milliseconds (git's own default is 100).
LOCK_PATIENCE = 500


class ObjectReader:
    """A `git cat-file --batch` process that answers question after question; started at the first one.

    Safe between threads, and after a fork: a child starts a process of its own.
    """

    def __init__(self, git: GitCommand, git_dir: Path, hex_length: int) -> None:
        self._git = git
        self._git_dir = git_dir
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
        with self._lock:
            # A process that was killed, or that died of a damaged object before, gets one successor.
            found = self._ask(oid) or self._ask(oid)
        if found is None:
            raise objects.damaged(oid)
        kind, data = found
        objects.check_content(kind, data, oid)
        return kind, data

    def close(self) -> None:
        """Ends the process."""
        with self._lock:
            self._stop()

    def _ask(self, oid: str) -> tuple[str, bytes] | None:
        if self._process is None or self._owner != os.getpid():
            self._process = self._git.start(["cat-file", "--batch"], git_dir=self._git_dir)
            self._owner = os.getpid()
            # A reader that nobody closed ends its process all the same.
            self._end = weakref.finalize(self, _end, self._process)
        asked, answers = self._process.stdin, self._process.stdout
        if asked is None or answers is None:
            return None
        try:
            asked.write(oid.encode() + b"\n")
            asked.flush()
            head = answers.readline().split()
            if len(head) == 2 and head[1] == b"missing":
                raise objects.missing(oid)
            data = _exactly(answers, int(head[2]) + 1)
            return head[1].decode(), data[:-1]
        except (OSError, IndexError, ValueError, EOFError):
            self._stop()
            return None

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


class GitRepository:
    """Objects and refs of one repository, through the `git` command (see `repository.Repository`)."""

    def __init__(self, git: GitCommand, where: Layout) -> None:
        self._git = git
        self._where = where
        self._hex_length = 64 if where.object_format == "sha256" else 40
        self._reader = ObjectReader(git, where.git_dir, self._hex_length)

    @property
    def git_dir(self) -> Path:
        return self._where.common_dir

    @property
    def hex_length(self) -> int:
        return self._hex_length

    def _run(self, *words: str, input: bytes | None = None, check: bool = True) -> Result:
        return self._git.run(words, git_dir=self._where.git_dir, input=input, check=check)

    def ref(self, name: str) -> str | None:
        return self._each_ref(objects.check_ref_name(name)).get(name)

    def refs(self, prefix: str) -> dict[str, str]:
        return self._each_ref(prefix)

    def _each_ref(self, pattern: str) -> dict[str, str]:
        # Not rev-parse: for a ref that is missing it would take a branch named `refs/…` instead.
        result = self._run("for-each-ref", "--format=%(refname)%00%(objectname)", pattern)
        if "broken ref" in result.stderr:
            raise failure(result, self.git_dir)
        return dict(line.split("\0") for line in result.text.split("\n") if line)

    def resolve(self, revision: str) -> str | None:
        # `^rev` and `a..b` are ranges, which `--verify` lets through in part; NUL cannot be an argument.
        if revision.startswith("^") or "\0" in revision:
            return None
        if revision.startswith(":/"):
            # The rest of such a revision is a pattern, to which a suffix would belong.
            return self._verify(revision)
        return self._verify(revision + "^{commit}")

    def _verify(self, revision: str) -> str | None:
        result = self._run("rev-parse", "--verify", "--quiet", "--end-of-options", revision, check=False)
        oid = result.text if result.returncode == 0 else ""
        return oid if len(oid) == self._hex_length and re.fullmatch("[0-9a-f]+", oid) else None

    def commit(self, oid: str) -> Commit:
        return objects.parse_commit(self._read(oid, "commit"), oid)

    def tree(self, oid: str) -> dict[str, Entry]:
        return objects.parse_tree(self._read(oid, "tree"), self._hex_length, oid)

    def blob(self, oid: str) -> bytes:
        return self._read(oid, "blob")

    def _read(self, oid: str, wanted: str) -> bytes:
        kind, data = self._reader.read(oid)
        if kind != wanted:
            raise MissingObject(f"Object {oid} is a {kind}, not a {wanted}")
        return data

    def add_blob(self, data: bytes) -> str:
        return self._run("hash-object", "-w", "--stdin", input=data).text

    def add_tree(self, entries: Mapping[str, Entry]) -> str:
        rows = b"".join(
            b"%06o %s %s\t%s\0"
            % (
                entry.mode,
                objects.kind_of(entry.mode).encode(),
                objects.check_oid(entry.oid, self._hex_length).encode(),
                objects.encode_name(name),
            )
            for name, entry in entries.items()
        )
        result = self._run("mktree", "-z", input=rows, check=False)
        if result.returncode and re.search(
            r"is unavailable|but specified type was|doesn't match mode", result.stderr
        ):
            raise MissingObject(failure(result).message, "See what else is missing: git fsck")
        return self._checked(result).text

    def add_commit(
        self, tree: str, parents: tuple[str, ...], author: Signature, committer: Signature, message: str
    ) -> str:
        for oid, kind in ((tree, "tree"), *((parent, "commit") for parent in parents)):
            self._read(oid, kind)
        data = objects.encode_commit(tree, parents, author, committer, message)
        return self._run("hash-object", "-t", "commit", "-w", "--stdin", input=data).text

    def _checked(self, result: Result) -> Result:
        if result.returncode:
            raise failure(result, self.git_dir)
        return result

    def move_ref(self, name: str, new: str | None, old: str | None, message: str) -> None:
        objects.check_ref_name(name)
        for oid in (new, old):
            if oid is not None:
                objects.check_oid(oid, self._hex_length)
        if new == old:
            if self.ref(name) != old:
                raise moved(name)
            return
        if new is None:
            order = f"delete {name}\0{old}\0"
        elif old is None:
            order = f"create {name}\0{new}\0"
        else:
            order = f"update {name}\0{new}\0{old}\0"
        words = ["-c", f"core.filesRefLockTimeout={LOCK_PATIENCE}", "update-ref", "--create-reflog"]
        words += ["-m", reflog_message(message), "-z", "--stdin"]
        # A lock that is gone by the time git has failed belonged to a writer who left the ref where it was.
        for _ in range(3):
            result = self._run(*words, input=order.encode("utf-8", "surrogateescape"), check=False)
            if result.returncode == 0:
                return
            if self.ref(name) != old:
                raise moved(name)
            held = re.search(r"Unable to create '([^']+\.lock)': File exists", result.stderr)
            if not held or Path(held[1]).exists():
                break
        if "nonexistent object" in result.stderr or "non-commit object" in result.stderr:
            raise MissingObject(failure(result).message, "See what else is missing: git fsck")
        raise failure(result, self.git_dir)

    def history(self, tip: str) -> Iterator[Commit]:
        self._read(tip, "commit")
        return self.walk(tip, self.commit)

    def walk(self, tip: str, read: Callable[[str], Commit]) -> Iterator[Commit]:
        """Yields `history` in git's own order, each commit from `read`."""
        process = self._git.start(["rev-list", "--date-order", tip, "--"], git_dir=self._where.git_dir)
        ended = False
        try:
            for line in process.stdout or ():
                yield read(line.decode().strip())
            ended = True
        finally:
            if process.stdin:
                process.stdin.close()
            if process.stdout:
                process.stdout.close()
            if not ended:
                process.kill()
            process.wait()
        if process.returncode:
            raise MissingObject(f"The history of {tip} is damaged", "See what is missing: git fsck")

    def merge_bases(self, one: str, other: str) -> tuple[str, ...]:
        return tuple(sorted(self._related("--all", one, other).text.split()))

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        return self._related("--is-ancestor", ancestor, descendant).returncode == 0

    def _related(self, question: str, one: str, other: str) -> Result:
        for oid in (one, other):
            objects.check_oid(oid, self._hex_length)
        result = self._run("merge-base", question, one, other, check=False)
        if result.returncode > 1:
            raise MissingObject(failure(result).message, "See what is missing: git fsck")
        return result

    def reflog(self, name: str) -> tuple[ReflogEntry, ...]:
        objects.check_ref_name(name)
        if (self.git_dir / "reftable").is_dir():
            return self._reflog_by_command(name)
        try:
            return objects.parse_reflog((self.git_dir / "logs" / name).read_bytes())
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return ()
        except OSError as error:
            raise RepositoryError(f"The log of {name} cannot be read: {error.strerror}") from error

    def _reflog_by_command(self, name: str) -> tuple[ReflogEntry, ...]:
        # Git prints no old value: it is the entry before, and none for the first.
        fields = "%H%x00%gn%x00%ge%x00%gd%x00%gs"
        result = self._run("log", "-g", "--date=raw", f"--format={fields}", name, "--", check=False)
        if result.returncode:
            return ()
        rows = [line.split("\0") for line in result.text.split("\n") if line.count("\0") == 4]
        befores = [row[0] for row in rows[1:]] + [None]
        return tuple(
            ReflogEntry(
                before,
                row[0],
                objects.parse_signature(
                    f"{row[1]} <{row[2]}> {row[3].rpartition('{')[2].rstrip('}')}".encode()
                ),
                row[4],
            )
            for row, before in zip(rows, befores, strict=True)
        )

    def close(self) -> None:
        self._reader.close()


def reflog_message(message: str) -> str:
    """Fits a message on the one line that a reflog has for it."""
    return " ".join("".join(c if c.isprintable() else " " for c in message).split()) or "gitmem"


def moved(name: str) -> RefMoved:
    """Makes the error for a ref that is not where it was read."""
    return RefMoved(f"{name} was moved by someone else meanwhile", "Run it again.")
