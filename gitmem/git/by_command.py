"""The repository: refs and history by the `git` command, objects by whichever store can read them.

There are two (`git/object_store.py`, and libgit2 in `git/by_pygit2.py`); nothing else differs between them.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from gitmem.core.errors import MissingObject, RepositoryError
from gitmem.git import objects
from gitmem.git.command import GitCommand, GitResult, Layout, failure
from gitmem.git.objects import Kinds
from gitmem.git.ref_files import check_ref_name, read_ref, symbolic
from gitmem.git.repository import Commit, CommitDiff, RawStep, ReflogEntry, Signature, Touch, TreeEntry

# A prompt's hook looks at refs alone, and loads nothing that reads objects or walks history.
if TYPE_CHECKING:
    from gitmem.git.history import Walks
    from gitmem.git.object_store import ObjectStore

KEPT_BYTES = 16 * 1024**2
"""Bytes of commits and trees that a repository holds on to."""


class _Unwritten(threading.local):
    """What one thread has added inside `together`: object name to (kind, content); None outside."""

    objects: dict[str, tuple[str, bytes]] | None = None


class GitRepository:
    """Objects and refs of one repository (see `repository.Repository`).

    Args:
        git: the command, with the environment whose configuration counts.
        where: the repository's folders and object format.
        store: what reads and writes its objects; None for processes of git.
    """

    def __init__(self, git: GitCommand, where: Layout, store: ObjectStore | None = None) -> None:
        self._git = git
        self._where = where
        self._hex_length = where.hex_length
        if store is not None:
            self.store = store
        self._kinds = Kinds(self._read)
        self._unwritten = _Unwritten()
        # What was asked of git and never changes. Of ten commits and trees that a merge reads, it has read
        # nine before; blobs may hold what a purge takes out, and are not kept.
        self._kept: dict[str, tuple[str, bytes]] = {}
        self._kept_bytes = 0
        self._relations: dict[tuple[str, str, str], GitResult] = {}
        self._sizes: dict[str, int] = {}

    @cached_property
    def store(self) -> ObjectStore:
        """What reads and writes its objects."""
        from gitmem.git.object_store import CommandObjects

        return CommandObjects(self._git, self._where.common_dir, self._hex_length)

    @cached_property
    def _walks(self) -> Walks:
        from gitmem.git.history import Walks

        return Walks(self._git, self._where.git_dir, self._hex_length)

    @property
    def git_dir(self) -> Path:
        return self._where.common_dir

    @property
    def git(self) -> GitCommand:
        return self._git

    @property
    def hex_length(self) -> int:
        return self._hex_length

    def _run(self, *words: str, input: bytes | None = None, check: bool = True) -> GitResult:
        return self._git.run(words, git_dir=self._where.git_dir, input=input, check=check)

    def ref(self, name: str) -> str | None:
        if (found := read_ref(self.git_dir, name, self._hex_length)) is not None:
            return found or None
        oid, link = self._each_ref(name).get(name, ("", ""))
        if link:
            raise symbolic(name, link)
        return oid or None

    def refs(self, prefix: str) -> dict[str, str]:
        from gitmem.git.ref_folders import Unusual, refs_below

        try:
            return refs_below(self.git_dir, prefix, self._hex_length)
        except Unusual:
            return {name: oid for name, (oid, link) in self._each_ref(prefix).items() if not link}

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
        from gitmem.git.object_store import read_loose

        if re.fullmatch(f"[0-9a-f]{{{self._hex_length}}}", revision):
            # A full name is that object, whatever refs are called.
            loose = read_loose(f"{self.git_dir}/objects", revision)
            if loose is not None and loose[0] == "commit":
                return revision
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

    def tree(self, oid: str) -> dict[str, TreeEntry]:
        entries = objects.parse_tree(self._read(oid, "tree"), self._hex_length, oid)
        self._kinds.saw_tree(entries)
        return entries

    def entry(self, tree: str, path: str) -> TreeEntry | None:
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
        from gitmem.git.object_store import loose_size

        known, folder = self._sizes, f"{self.git_dir}/objects"
        for oid in oids:
            objects.check_oid(oid, self._hex_length)
            if oid not in known and (size := loose_size(folder, oid)) is not None:
                known[oid] = size
        unknown = [oid for oid in oids if oid not in known]
        if not unknown:
            return {oid: known[oid] for oid in oids}
        asked = "".join(f"{oid}\n" for oid in unknown)
        form = "--batch-check=%(objectname) %(objectsize)"
        rows = self._run("cat-file", "--buffer", form, input=asked.encode()).text.splitlines()
        for row in rows:
            oid, _, told = row.partition(" ")
            if not told.isdigit():
                raise objects.missing(oid)
            known[oid] = int(told)
        return {oid: known[oid] for oid in oids}

    def blob(self, oid: str) -> bytes:
        return self._read(oid, "blob")

    def read_blobs(self, oids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        from gitmem.git.object_store import STREAMED

        unwritten = self._unwritten.objects or {}
        for start in range(0, len(oids), STREAMED):
            some = oids[start : start + STREAMED]
            read = self.store.read_many([oid for oid in some if oid not in unwritten])
            for oid in some:
                found = unwritten.get(oid) or read.get(oid)
                if found and found[0] == "blob":
                    self._kinds.saw(oid, "blob")
                    yield oid, found[1]

    def _read(self, oid: str, wanted: str) -> bytes:
        found = (self._unwritten.objects or {}).get(oid) or self._kept.get(oid)
        kind, data = found or self.store.read(oid)
        if kind != wanted:
            raise objects.unfit(oid, kind, wanted)
        self._kinds.saw(oid, kind)
        if found is None and kind != "blob":
            self._keep(oid, kind, data)
        return data

    def _keep(self, oid: str, kind: str, data: bytes) -> None:
        self._kept_bytes += len(data)
        if self._kept_bytes > KEPT_BYTES:
            self._kept.clear()
            self._kept_bytes = len(data)
        self._kept[oid] = kind, data

    @contextmanager
    def together(self) -> Iterator[None]:
        if self._unwritten.objects is not None:
            yield
            return
        self._unwritten.objects = {}
        try:
            yield
            if self._unwritten.objects:
                self.store.write(self._unwritten.objects.values())
        finally:
            self._unwritten.objects = None

    def _add(self, kind: str, data: bytes) -> str:
        oid = objects.object_name(kind, data, self._hex_length)
        if self._unwritten.objects is None:
            self.store.write([(kind, data)])
        else:
            self._unwritten.objects[oid] = (kind, data)
        self._kinds.saw(oid, kind)
        return oid

    def add_blob(self, data: bytes) -> str:
        return self._add("blob", data)

    def add_tree(self, entries: Mapping[str, TreeEntry]) -> str:
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

    def history(self, tip: str, until: int | None = None) -> Iterator[Commit]:
        self._read(tip, "commit")
        return map(self.commit, self._walks.history(tip, until))

    def touching(self, tip: str, paths: Sequence[str] = ()) -> Iterator[Touch]:
        return self._walks.touching(tip, paths)

    def steps(
        self, tip: str, paths: Sequence[str] = (), without: Sequence[str] = ()
    ) -> Iterator[CommitDiff]:
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

    def _related(self, question: str, one: str, other: str) -> GitResult:
        for oid in (one, other):
            objects.check_oid(oid, self._hex_length)
        asked = (question, one, other)
        if (known := self._relations.get(asked)) is not None:
            return known
        # How two commits are related never changes, but where history is cut short, which a fetch may mend:
        # also one that goes on meanwhile.
        shallow = self.git_dir / "shallow"
        cut = shallow.exists()
        result = self._run("merge-base", question, one, other, check=False)
        if result.returncode > 1:
            raise MissingObject(failure(result).message, objects.MISSING_HINT)
        if not cut and not shallow.exists():
            self._relations[asked] = result
        return result

    def reflog(self, name: str) -> tuple[ReflogEntry, ...]:
        check_ref_name(name)
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
        if "store" in vars(self):
            self.store.close()
