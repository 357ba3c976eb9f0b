"""The repository through libgit2: no process for reading an object or ref, and for most writes.

What libgit2 cannot do, or not safely, goes through the `git` command: creating and deleting refs, revision
syntax, and all that walks a history.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from io import FileIO
from pathlib import Path

import pygit2
from pygit2.enums import ObjectType, ReferenceType

from gitmem.core.errors import RepositoryError
from gitmem.store import objects
from gitmem.store.git import GitCommand, Layout, identity
from gitmem.store.git_backend import GitRepository, moved, reflog_message
from gitmem.store.git_errors import explain
from gitmem.store.objects import Kinds
from gitmem.store.ref_locks import moving
from gitmem.store.repository import (
    Commit,
    Entry,
    MissingObject,
    RawStep,
    ReflogEntry,
    Signature,
    Step,
    Touch,
)
from gitmem.store.walks import Walks

_KINDS = {"commit": ObjectType.COMMIT, "tree": ObjectType.TREE, "blob": ObjectType.BLOB}
_NAMES = {int(kind): name for name, kind in _KINDS.items()}
_FAILURES = (pygit2.GitError, OSError, ValueError, KeyError)


class Pygit2Repository:
    """Objects and refs of one repository, through libgit2 (see `repository.Repository`)."""

    def __init__(self, git: GitCommand, where: Layout, handle: pygit2.Repository) -> None:
        self._git = git
        self._where = where
        self._repo = handle
        self._command = GitRepository(git, where)
        self._walks = Walks(git, where.git_dir, self.hex_length)
        self._objects = where.common_dir / "objects"
        self._kinds = Kinds(self._read)
        self._fast: bool | None = None

    @property
    def git_dir(self) -> Path:
        return self._where.common_dir

    @property
    def git(self) -> GitCommand:
        return self._git

    @property
    def hex_length(self) -> int:
        return 40

    def ref(self, name: str) -> str | None:
        objects.check_ref_name(name)
        try:
            found = self._repo.lookup_reference(name)
        except KeyError:
            return None
        except (pygit2.GitError, ValueError, OSError):
            # A broken ref, or a name that is not UTF-8: git has the right words, or reads it.
            return self._command.ref(name)
        return str(found.target) if found.type == ReferenceType.DIRECT else self._command.ref(name)

    def refs(self, prefix: str) -> dict[str, str]:
        return self._command.refs(prefix)

    def resolve(self, revision: str) -> str | None:
        return self._command.resolve(revision)

    def commit(self, oid: str) -> Commit:
        return objects.parse_commit(self._read(oid, "commit"), oid)

    def tree(self, oid: str) -> dict[str, Entry]:
        entries = objects.parse_tree(self._read(oid, "tree"), self.hex_length, oid)
        self._kinds.saw_tree(entries)
        return entries

    def entry(self, tree: str, path: str) -> Entry | None:
        return objects.entry_at(lambda oid: self._read(oid, "tree"), tree, path, self.hex_length)

    def files(self, tree: str) -> dict[str, str]:
        return self._command.files(tree)

    def sizes(self, oids: Sequence[str]) -> dict[str, int]:
        return self._command.sizes(oids)

    def blob(self, oid: str) -> bytes:
        return self._read(oid, "blob")

    def read_blobs(self, oids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        for oid in oids:
            with suppress(MissingObject):
                yield oid, self._read(oid, "blob")

    def _read(self, oid: str, wanted: str) -> bytes:
        objects.check_oid(oid, self.hex_length)
        kind, data = self._read_loose(oid) or self._read_packed(oid)
        if kind != wanted:
            raise objects.unfit(oid, kind, wanted)
        self._kinds.saw(oid, kind)
        return data

    def _read_loose(self, oid: str) -> tuple[str, bytes] | None:
        # Libgit2 (1.9) never returns from a loose object that was cut short, as a power cut leaves one.
        try:
            # Not through a `Path`: making one takes longer than the system's answer.
            with FileIO(f"{self._objects}/{oid[:2]}/{oid[2:]}") as file:
                data = file.readall()
        except FileNotFoundError:
            return None
        except OSError:
            raise objects.damaged(oid) from None
        return objects.parse_loose(data, oid)

    def _read_packed(self, oid: str) -> tuple[str, bytes]:
        try:
            kind, data = self._repo.read(oid)
        except KeyError:
            raise objects.missing(oid) from None
        except (pygit2.GitError, ValueError, OSError):
            raise objects.damaged(oid) from None
        return _NAMES.get(int(kind), "tag"), data

    def _write(self, kind: str, data: bytes) -> str:
        try:
            oid = str(self._repo.write(_KINDS[kind], data))
        except _FAILURES as error:
            raise self._failed(error) from error
        self._kinds.saw(oid, kind)
        return oid

    def _failed(self, error: Exception) -> RepositoryError:
        message, hint = explain(str(error), self.git_dir)
        return RepositoryError(f"{self.git_dir}: {message}", hint)

    def together(self) -> AbstractContextManager[None]:
        return nullcontext()

    def add_blob(self, data: bytes) -> str:
        return self._write("blob", data)

    def add_tree(self, entries: Mapping[str, Entry]) -> str:
        data = objects.encode_tree(entries, self.hex_length)
        self._kinds.expect_entries(entries)
        return self._write("tree", data)

    def add_commit(
        self, tree: str, parents: tuple[str, ...], author: Signature, committer: Signature, message: str
    ) -> str:
        self._kinds.expect(tree, "tree")
        for parent in parents:
            self._kinds.expect(parent, "commit")
        return self._write("commit", objects.encode_commit(tree, parents, author, committer, message))

    def move_ref(self, name: str, new: str | None, old: str | None, message: str) -> None:
        objects.check_ref_name(name)
        if new is None or old is None or new == old or not self._swap(name, new, old, message):
            self._command.move_ref(name, new, old, message)

    def _swap(self, name: str, new: str, old: str, message: str) -> bool:
        """Moves an existing ref under libgit2's lock; False where git has to, or has the better error."""
        if not self._can_log(name):
            return False
        objects.check_oid(old, self.hex_length)
        self._kinds.expect(new, "commit")
        try:
            with moving(self.git_dir, (name,), new), self._repo.transaction() as transaction:
                transaction.lock_ref(name)
                found = self._repo.lookup_reference(name)
                if found.type != ReferenceType.DIRECT:
                    raise ValueError("symbolic")
                if str(found.target) != old:
                    raise moved(name)
                transaction.set_target(name, new, message=reflog_message(message))
        except _FAILURES:
            return False
        return True

    def _can_log(self, name: str) -> bool:
        """Whether libgit2 would write the reflog: never where logs are off, nor where there is none yet."""
        if not (self.git_dir / "logs" / name).is_file():
            return False
        if self._fast is None:
            try:
                setting = self._repo.config["core.logallrefupdates"] or "true"
            except KeyError:
                setting = "false" if self._where.bare else "true"
            self._fast = setting.lower() in ("true", "always", "yes", "on", "1")
            if self._fast:
                # Libgit2 does not know all the ways in which git can be told who the person is.
                try:
                    who = identity(self._git, None, None, role="committer", git_dir=self._where.git_dir)
                    self._repo.set_ident(who.name, who.email)
                except RepositoryError:
                    self._fast = False
        return self._fast

    def history(self, tip: str, until: int | None = None) -> Iterator[Commit]:
        self._kinds.expect(tip, "commit")
        return map(self.commit, self._walks.history(tip, until))

    def touching(self, tip: str, paths: Sequence[str] = ()) -> Iterator[Touch]:
        return self._walks.touching(tip, paths)

    def steps(self, tip: str, paths: Sequence[str] = (), without: Sequence[str] = ()) -> Iterator[Step]:
        self._kinds.expect(tip, "commit")
        return self._walks.steps(tip, paths, without)

    def raw_steps(
        self, tip: str, paths: Sequence[str] = (), without: Sequence[str] = ()
    ) -> Iterator[RawStep]:
        self._kinds.expect(tip, "commit")
        return self._walks.raw_steps(tip, paths, without)

    def lineage(self, tip: str, paths: Sequence[str]) -> dict[str, tuple[str, ...]]:
        return self._walks.lineage(tip, paths)

    def merge_bases(self, one: str, other: str) -> tuple[str, ...]:
        return self._command.merge_bases(one, other)

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        return self._command.is_ancestor(ancestor, descendant)

    def reflog(self, name: str) -> tuple[ReflogEntry, ...]:
        return self._command.reflog(name)

    def close(self) -> None:
        self._command.close()
        self._repo.free()
