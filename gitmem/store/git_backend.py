"""The repository through the `git` command: for all that git can open, at a few processes a write."""

from __future__ import annotations

import os
import re
import subprocess
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from gitmem.core.errors import RepositoryError
from gitmem.store import objects
from gitmem.store.git import GitCommand, Layout, Result, failure
from gitmem.store.objects import Kinds
from gitmem.store.repository import (
    Commit,
    Entry,
    MissingObject,
    RawStep,
    ReflogEntry,
    RefMoved,
    Signature,
    Step,
    Touch,
)
from gitmem.store.walks import Walks

# How long git waits for a ref that another process holds, in milliseconds (git's own default is 100).
LOCK_PATIENCE = 500


class _Unwritten(threading.local):
    """What one thread has added inside `together`: object name to (kind, content); None outside."""

    objects: dict[str, tuple[str, bytes]] | None = None


STREAMED = 128
"""Objects that are asked for at once: as many questions fit a pipe, and all answers memory."""


class GitRepository:
    """Objects and refs of one repository, through the `git` command (see `repository.Repository`)."""

    def __init__(self, git: GitCommand, where: Layout) -> None:
        self._git = git
        self._where = where
        self._hex_length = 64 if where.object_format == "sha256" else 40
        self._reader = ObjectReader(git, where.git_dir, self._hex_length)
        self._walks = Walks(git, where.git_dir, self._hex_length)
        self._kinds = Kinds(self._read)
        self._unwritten = _Unwritten()

    @property
    def git_dir(self) -> Path:
        return self._where.common_dir

    @property
    def git(self) -> GitCommand:
        return self._git

    @property
    def hex_length(self) -> int:
        return self._hex_length

    def _run(self, *words: str, input: bytes | None = None, check: bool = True) -> Result:
        return self._git.run(words, git_dir=self._where.git_dir, input=input, check=check)

    def ref(self, name: str) -> str | None:
        objects.check_ref_name(name)
        if (found := self._ref_from_files(name)) is not None:
            return found or None
        oid, link = self._each_ref(name).get(name, ("", ""))
        if link:
            raise _symbolic(name, link)
        return oid or None

    def refs(self, prefix: str) -> dict[str, str]:
        return {name: oid for name, (oid, link) in self._each_ref(prefix).items() if not link}

    def _ref_from_files(self, name: str) -> str | None:
        """A ref from its file or `packed-refs`; empty where it is in neither, None where git must say."""
        if (self.git_dir / "reftable").is_dir():
            return None
        try:
            # In this order, as git reads them: a ref that is being packed is in one of the two.
            text = (self.git_dir / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return self._packed_ref(name)
        except OSError:
            return None
        found = text.strip().decode("ascii", "replace")
        if found.startswith("ref:"):
            raise _symbolic(name, found.removeprefix("ref:").strip())
        sound = re.fullmatch(rf"[0-9a-f]{{{self._hex_length}}}", found) and found.strip("0")
        return found if sound else None

    def _packed_ref(self, name: str) -> str:
        try:
            lines = b"\n" + (self.git_dir / "packed-refs").read_bytes()
        except FileNotFoundError:
            return ""
        end = lines.find(b" %s\n" % os.fsencode(name))
        return lines[end - self._hex_length : end].decode("ascii", "replace") if end > 0 else ""

    def _each_ref(self, pattern: str) -> dict[str, tuple[str, str]]:
        """Full ref name to object name, and the ref that a symbolic one names."""
        # Not rev-parse: for a ref that is missing it would take a branch named `refs/…` instead.
        result = self._run("for-each-ref", "--format=%(refname)%00%(objectname)%00%(symref)", pattern)
        if "broken ref" in result.stderr:
            raise failure(result, self.git_dir)
        rows = (line.split("\0") for line in result.text.split("\n") if line)
        return {name: (oid, link) for name, oid, link in rows}

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
        entries = objects.parse_tree(self._read(oid, "tree"), self._hex_length, oid)
        self._kinds.saw_tree(entries)
        return entries

    def entry(self, tree: str, path: str) -> Entry | None:
        return objects.entry_at(lambda oid: self._read(oid, "tree"), tree, path, self._hex_length)

    def files(self, tree: str) -> dict[str, str]:
        objects.check_oid(tree, self._hex_length)
        result = self._run("ls-tree", "-r", "-z", "--full-tree", tree, check=False)
        if result.returncode:
            raise MissingObject(failure(result).message, objects.MISSING_HINT)
        # `<mode> blob <name>\t<path>`: links and submodules have other modes.
        start = len("100644 blob ")
        end = start + self._hex_length
        return {row[end + 1 :]: row[start:end] for row in result.text.split("\0") if row.startswith("100")}

    def sizes(self, oids: Sequence[str]) -> dict[str, int]:
        if not oids:
            return {}
        asked = "".join(f"{objects.check_oid(oid, self._hex_length)}\n" for oid in oids)
        form = "--batch-check=%(objectname) %(objectsize)"
        rows = self._run("cat-file", "--buffer", form, input=asked.encode()).text.splitlines()
        found: dict[str, int] = {}
        for row in rows:
            oid, _, size = row.partition(" ")
            if not size.isdigit():
                raise objects.missing(oid)
            found[oid] = int(size)
        return found

    def blob(self, oid: str) -> bytes:
        return self._read(oid, "blob")

    def read_blobs(self, oids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        unwritten = self._unwritten.objects or {}
        for start in range(0, len(oids), STREAMED):
            some = oids[start : start + STREAMED]
            read = self._reader.read_many([oid for oid in some if oid not in unwritten])
            for oid in some:
                found = unwritten.get(oid) or read.get(oid)
                if found and found[0] == "blob":
                    self._kinds.saw(oid, "blob")
                    yield oid, found[1]

    def _read(self, oid: str, wanted: str) -> bytes:
        kind, data = (self._unwritten.objects or {}).get(oid) or self._reader.read(oid)
        if kind != wanted:
            raise objects.unfit(oid, kind, wanted)
        self._kinds.saw(oid, kind)
        return data

    @contextmanager
    def together(self) -> Iterator[None]:
        if self._unwritten.objects is not None:
            yield
            return
        self._unwritten.objects = {}
        try:
            yield
            if self._unwritten.objects:
                self._write(self._unwritten.objects.values())
        finally:
            self._unwritten.objects = None

    def _add(self, kind: str, data: bytes) -> str:
        oid = objects.object_name(kind, data, self._hex_length)
        if self._unwritten.objects is None:
            self._write([(kind, data)])
        else:
            self._unwritten.objects[oid] = (kind, data)
        self._kinds.saw(oid, kind)
        return oid

    def _write(self, contents: Iterable[tuple[str, bytes]]) -> None:
        pack = objects.encode_pack(contents, self._hex_length)
        self._checked(self._run("unpack-objects", "-q", input=pack, check=False))

    def add_blob(self, data: bytes) -> str:
        return self._add("blob", data)

    def add_tree(self, entries: Mapping[str, Entry]) -> str:
        data = objects.encode_tree(entries, self._hex_length)
        self._kinds.expect_entries(entries)
        return self._add("tree", data)

    def add_commit(
        self, tree: str, parents: tuple[str, ...], author: Signature, committer: Signature, message: str
    ) -> str:
        self._kinds.expect(tree, "tree")
        for parent in parents:
            self._kinds.expect(parent, "commit")
        return self._add("commit", objects.encode_commit(tree, parents, author, committer, message))

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
        words = ["-c", f"core.filesRefLockTimeout={LOCK_PATIENCE}", "update-ref", "--no-deref"]
        words += ["--create-reflog", "-m", reflog_message(message), "-z", "--stdin"]
        from gitmem.store.ref_locks import moving  # a look moves no ref

        with moving(self.git_dir, self._locked_for(name), new) as turn:
            # A lock that is gone by the time git has failed was a writer's who left the ref where it was.
            for _ in range(3):
                result = self._git.run(
                    words,
                    git_dir=self._where.git_dir,
                    input=order.encode("utf-8", "surrogateescape"),
                    check=False,
                    keep=turn.keep,
                )
                if result.returncode == 0:
                    return
                if result.returncode < 0:
                    turn.clear_up()
                if self.ref(name) != old:
                    raise moved(name)
                held = re.search(r"Unable to create '([^']+\.lock)': File exists", result.stderr)
                if not held or Path(held[1]).exists():
                    break
        if "nonexistent object" in result.stderr or "non-commit object" in result.stderr:
            raise MissingObject(failure(result).message, objects.MISSING_HINT)
        raise failure(result, self.git_dir)

    def _locked_for(self, name: str) -> tuple[str, ...]:
        """The ref, and HEAD where it names that: git locks it along."""
        with suppress(OSError):
            if (self.git_dir / "HEAD").read_bytes() == f"ref: {name}\n".encode("utf-8", "surrogateescape"):
                return (name, "HEAD")
        return (name,)

    def history(self, tip: str, until: int | None = None) -> Iterator[Commit]:
        self._read(tip, "commit")
        return map(self.commit, self._walks.history(tip, until))

    def touching(self, tip: str, paths: Sequence[str] = ()) -> Iterator[Touch]:
        return self._walks.touching(tip, paths)

    def steps(self, tip: str, paths: Sequence[str] = (), without: Sequence[str] = ()) -> Iterator[Step]:
        self._read(tip, "commit")
        return self._walks.steps(tip, paths, without)

    def raw_steps(
        self, tip: str, paths: Sequence[str] = (), without: Sequence[str] = ()
    ) -> Iterator[RawStep]:
        self._read(tip, "commit")
        return self._walks.raw_steps(tip, paths, without)

    def lineage(self, tip: str, paths: Sequence[str]) -> dict[str, tuple[str, ...]]:
        return self._walks.lineage(tip, paths)

    def merge_bases(self, one: str, other: str) -> tuple[str, ...]:
        return tuple(sorted(self._related("--all", one, other).text.split()))

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        if ancestor == descendant:
            self._kinds.expect(ancestor, "commit")
            return True
        return self._related("--is-ancestor", ancestor, descendant).returncode == 0

    def _related(self, question: str, one: str, other: str) -> Result:
        for oid in (one, other):
            objects.check_oid(oid, self._hex_length)
        result = self._run("merge-base", question, one, other, check=False)
        if result.returncode > 1:
            raise MissingObject(failure(result).message, objects.MISSING_HINT)
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


def _symbolic(name: str, link: str) -> RepositoryError:
    # Written through it, a branch of the person's would move, under HEAD and index.
    return RepositoryError(
        f"{name} is a symbolic ref to {link}, and no memory",
        f"If nobody wants it: git symbolic-ref -d {name}. To bring memory back: git mem doctor",
    )


def reflog_message(message: str) -> str:
    """Fits a message on the one line that a reflog has for it."""
    return " ".join("".join(c if c.isprintable() else " " for c in message).split()) or "gitmem"


def moved(name: str) -> RefMoved:
    """Makes the error for a ref that is not where it was read."""
    return RefMoved(f"{name} was moved by someone else meanwhile", "Run it again.")


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

    def read_many(self, oids: Sequence[str]) -> dict[str, tuple[str, bytes]]:
        """Reads objects with one question for all; what is missing or damaged is left out.

        Args:
            oids: no more than a pipe holds unread (64 KB): the process answers while it is asked.
        """
        for oid in oids:
            objects.check_oid(oid, self._hex_length)
        with self._lock:
            found = self._ask_all(oids)
        if found is None:  # the process died over one of them
            found = {}
            for oid in oids:
                with suppress(MissingObject):
                    found[oid] = self.read(oid)
            return found
        read = {}
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
        except (OSError, IndexError, ValueError, EOFError):
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
