"""The repository: refs and history by the `git` command, objects by whichever store can read them.

There are two (`git/objects.py`, and libgit2 in `git/open.py`); nothing else differs between them.
"""

from __future__ import annotations

import os
import re
import stat
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from gitmem.core.errors import MissingObject, RepositoryError
from gitmem.git import objects
from gitmem.git.command import GitCommand, GitResult, Layout, failure
from gitmem.git.ref_files import BAD_REF, GitRefs, check_ref_name, ref_value
from gitmem.git.repository import Commit, CommitDiff, RawStep, ReflogEntry, Signature, Touch, TreeEntry

if TYPE_CHECKING:
    from gitmem.git.history import Walks

_PARENTS = re.compile(rb"tree [0-9a-f]+\n((?:parent [0-9a-f]+\n)*)author ")

LOOSE_STEPS = 32
"""Commits that are gone through without a process of git, which costs as much as to read some forty."""

KEPT_BYTES = 16 * 1024**2
"""Bytes of commits and trees that a repository holds on to."""


class _Unwritten(threading.local):
    """What one thread has added inside `together`: object name to (kind, content); None outside."""

    objects: dict[str, tuple[str, bytes]] | None = None


class GitRepository(GitRefs):
    """Objects and refs of one repository (see `repository.Repository`).

    Args:
        git: the command, with the environment whose configuration counts.
        where: the repository's folders and object format.
        store: what reads its objects; None for processes of git.
    """

    def __init__(self, git: GitCommand, where: Layout, store: objects.ObjectStore | None = None) -> None:
        super().__init__(git, where)
        if store is not None:
            self.store = store
        self._unwritten = _Unwritten()
        # What was asked of git and never changes. Of ten commits and trees that a merge reads, it has read
        # nine before; blobs may hold what a purge takes out, and are not kept.
        self._kept: dict[str, tuple[str, bytes]] = {}
        self._kept_bytes = 0
        self._relations: dict[tuple[str, str, str], GitResult] = {}
        self._sizes: dict[str, int] = {}

    @cached_property
    def store(self) -> objects.ObjectStore:
        """What reads its objects."""
        return objects.CommandObjects(self.git, self.git_dir, self.hex_length)

    @cached_property
    def _walks(self) -> Walks:
        from gitmem.git.history import Walks

        return Walks(self.git, self._where.git_dir, self.hex_length)

    def _run(self, *words: str, input: bytes | None = None, check: bool = True) -> GitResult:
        return self.git.run(words, git_dir=self._where.git_dir, input=input, check=check)

    def refs(self, prefix: str) -> dict[str, str]:
        try:
            return refs_below(self.git_dir, prefix, self.hex_length)
        except _Unusual:
            return {name: oid for name, (oid, link) in self._each_ref(prefix).items() if not link}

    def resolve(self, revision: str) -> str | None:
        # `^rev` and `a..b` are ranges, which `--verify` lets through in part; NUL cannot be an argument.
        if revision.startswith("^") or "\0" in revision:
            return None
        if re.fullmatch(f"[0-9a-f]{{{self.hex_length}}}", revision):
            # A full name is that object, whatever refs are called.
            loose = objects.read_loose(f"{self.git_dir}/objects", revision)
            if loose is not None and loose[0] == "commit":
                return revision
        if revision.startswith(":/"):
            # The rest of such a revision is a pattern, to which a suffix would belong.
            return self._verify(revision)
        return self._verify(revision + "^{commit}")

    def _verify(self, revision: str) -> str | None:
        result = self._run("rev-parse", "--verify", "--quiet", "--end-of-options", revision, check=False)
        oid = result.text if result.returncode == 0 else ""
        return oid if len(oid) == self.hex_length and re.fullmatch("[0-9a-f]+", oid) else None

    def commit(self, oid: str) -> Commit:
        return objects.parse_commit(self._read(oid, "commit"), oid)

    def tree(self, oid: str) -> dict[str, TreeEntry]:
        return objects.parse_tree(self._read(oid, "tree"), self.hex_length, oid)

    def entry(self, tree: str, path: str) -> TreeEntry | None:
        return objects.entry_at(lambda oid: self._read(oid, "tree"), tree, path, self.hex_length)

    def files(self, tree: str) -> dict[str, str]:
        objects.check_oid(tree, self.hex_length)
        if (loose := self._loose_files(tree)) is not None:
            return loose
        result = self._run("ls-tree", "-r", "-z", "--full-tree", tree, check=False)
        if result.returncode:
            raise MissingObject(failure(result).message, objects.MISSING_HINT)
        # `<mode> blob <name>\t<path>`: links and submodules have other modes.
        start = len("100644 blob ")
        end = start + self.hex_length
        return {row[end + 1 :]: row[start:end] for row in result.text.split("\0") if row.startswith("100")}

    def _loose_files(self, tree: str) -> dict[str, str] | None:
        """The same from loose objects; None where git has to say."""
        found, todo = dict[str, str](), [("", tree)]
        for prefix, oid in todo:
            if len(todo) > LOOSE_STEPS or self._loose(oid, "tree") is None:
                return None
            for name, entry in self.tree(oid).items():
                if stat.S_ISDIR(entry.mode):
                    todo.append((f"{prefix}{name}/", entry.oid))
                elif stat.S_ISREG(entry.mode):
                    found[prefix + name] = entry.oid
        return dict(sorted(found.items(), key=lambda one: one[0].encode("utf-8", "surrogateescape")))

    def sizes(self, oids: Sequence[str]) -> dict[str, int]:
        known, folder = self._sizes, f"{self.git_dir}/objects"
        for oid in oids:
            objects.check_oid(oid, self.hex_length)
            if oid not in known and (size := objects.loose_size(folder, oid)) is not None:
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
                raise objects.missing_object(oid)
            known[oid] = int(told)
        return {oid: known[oid] for oid in oids}

    def blob(self, oid: str) -> bytes:
        return self._read(oid, "blob")

    def read_blobs(self, oids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        unwritten = self._unwritten.objects or {}
        for start in range(0, len(oids), objects.STREAMED):
            some = oids[start : start + objects.STREAMED]
            read = self.store.read_many([oid for oid in some if oid not in unwritten])
            for oid in some:
                found = unwritten.get(oid) or read.get(oid)
                if found and found[0] == "blob":
                    yield oid, found[1]

    def _read(self, oid: str, wanted: str) -> bytes:
        found = (self._unwritten.objects or {}).get(oid) or self._kept.get(oid)
        kind, data = found or self.store.read(oid)
        if kind != wanted:
            raise objects.unfit(oid, kind, wanted)
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
                self._writer.write(self._unwritten.objects.values())
        finally:
            self._unwritten.objects = None

    @cached_property
    def _writer(self) -> objects.ObjectWriter:
        return objects.ObjectWriter(self.git, self.git_dir, self.hex_length)

    def _add(self, kind: str, data: bytes) -> str:
        oid = objects.object_name(kind, data, self.hex_length)
        if self._unwritten.objects is None:
            self._writer.write([(kind, data)])
        else:
            self._unwritten.objects[oid] = (kind, data)
        return oid

    def add_blob(self, data: bytes) -> str:
        return self._add("blob", data)

    def add_tree(self, entries: Mapping[str, TreeEntry]) -> str:
        return self._add("tree", objects.encode_tree(entries, self.hex_length))

    def add_commit(
        self, tree: str, parents: tuple[str, ...], author: Signature, committer: Signature, message: str
    ) -> str:
        return self._add("commit", objects.encode_commit(tree, parents, author, committer, message))

    def history(self, tip: str, until: int | None = None) -> Iterator[Commit]:
        self._read(tip, "commit")
        found = {oid: self.commit(oid) for oid in (until is None and self._ancestors(tip)) or ()}
        # A date that no calendar has is read as 0, and git orders by it; memory's first commit has that.
        odd = (oid for oid, one in found.items() if not one.committer.time)
        if not found or any(b"> 0 +0000\n" not in self._read(oid, "commit") for oid in odd):
            return map(self.commit, self._walks.history(tip, until))
        from gitmem.git.history import in_order

        return in_order(found, tip)

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

    def _ancestors(self, oid: str, until: str = "") -> dict[str, tuple[str, ...]] | None:
        """A commit and those before it with their parents, as far as `until`; None where git has to say:
        history is long, cut short, odd or not in loose objects.
        """
        if any((self.git_dir / name).exists() for name in ("shallow", "info/grafts")):
            return None
        found: dict[str, tuple[str, ...]] = {}
        todo = [objects.check_oid(oid, self.hex_length)]
        for here in todo:
            if here in found:
                continue
            data = self._loose(here, "commit")
            head = _PARENTS.match(data) if data is not None else None
            if head is None or len(found) == LOOSE_STEPS:
                return None
            found[here] = tuple(head[1].decode().split()[1::2])
            if here == until:
                break
            todo += found[here]
        return found

    def _loose(self, oid: str, wanted: str) -> bytes | None:
        """Content of a commit or a tree that is known or loose; None where git has to say."""
        known = self._kept.get(oid)
        read = known or objects.read_loose(f"{self.git_dir}/objects", oid)
        if read is None or read[0] != wanted:
            return None
        if known is None:
            self._keep(oid, *read)
        return read[1]

    def merge_bases(self, one: str, other: str) -> tuple[str, ...]:
        sides = self._ancestors(one), self._ancestors(other)
        if sides[0] is not None and sides[1] is not None:
            common = sides[0].keys() & sides[1].keys()
            return tuple(sorted(common.difference(*(sides[0][oid] for oid in common))))
        return tuple(sorted(self._related("--all", one, other).text.split()))

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        if ancestor == descendant:
            self._read(ancestor, "commit")
            return True
        before = self._ancestors(descendant, ancestor)
        if before is not None and (ancestor in before or self._ancestors(ancestor, ancestor)):
            return ancestor in before
        return self._related("--is-ancestor", ancestor, descendant).returncode == 0

    def _related(self, question: str, one: str, other: str) -> GitResult:
        for oid in (one, other):
            objects.check_oid(oid, self.hex_length)
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


_OWN = ("refs/bisect/", "refs/worktree/", "refs/rewritten/")
"""Refs that each work tree has for itself, in its own git directory."""


class _Unusual(Exception):
    """Git has to say which refs there are."""


def refs_below(git_dir: Path, folder: str, hex_length: int) -> dict[str, str]:
    """Full name to object name of each ref below a folder, sorted, without symbolic ones: from git's files.

    Loose refs first and `packed-refs` after them, as git reads them: a ref that is being packed is in one
    of the two. Format: gitrepository-layout in git's documentation.

    Args:
        git_dir: the common git directory.
        folder: e.g. `refs/gitmem/`; any other pattern is git's to match.
        hex_length: length of the repository's object names.

    Raises:
        _Unusual: git has to say.
    """
    if not folder.endswith("/") or not _is_plain(folder[:-1]) or (git_dir / "reftable").is_dir():
        raise _Unusual
    try:
        # One that has no value any more was deleted meanwhile.
        loose = {
            name: value
            for name in _files(git_dir, folder)
            if (value := ref_value(git_dir, name, hex_length)) != ""
        }
        found = _packed(git_dir, folder) | loose
    except OSError:
        raise _Unusual from None
    is_oid = re.compile(f"[0-9a-f]{{{hex_length}}}").fullmatch
    listed = {}
    for name in sorted(found, key=os.fsencode):
        oid = found[name] or ""
        if oid.startswith("ref:"):
            # One that leads nowhere is broken or passed over: that depends on how, and on git's version.
            target = oid.removeprefix("ref:").strip()
            oid = (ref_value(git_dir, target, hex_length) or "") if _is_plain(target) else ""
        else:
            listed[name] = oid
        if not _is_plain(name) or not is_oid(oid) or not oid.strip("0"):
            raise _Unusual
    return listed


def _is_plain(name: str) -> bool:
    return name.startswith("refs/") and not f"{name}/".startswith(_OWN) and not BAD_REF.search(name)


def _files(git_dir: Path, folder: str) -> Iterator[str]:
    """Names of the files at any depth; nothing that is no regular file is followed."""
    folders = [folder]
    while folders:
        folder = folders.pop()
        try:
            rows = os.scandir(git_dir / folder)
        except FileNotFoundError:
            continue
        with rows:
            for row in rows:
                if row.name.startswith(".") or row.name.endswith(".lock"):
                    continue
                if row.is_dir(follow_symlinks=False):
                    folders.append(f"{folder}{row.name}/")
                elif row.is_file(follow_symlinks=False):
                    yield folder + row.name
                else:
                    raise _Unusual


def _packed(git_dir: Path, folder: str) -> dict[str, str]:
    try:
        lines = b"\n" + (git_dir / "packed-refs").read_bytes()
    except FileNotFoundError:
        return {}
    if not lines.endswith(b"\n"):
        raise _Unusual
    found = {}
    for row in re.finditer(b" (%s[^\n]*)\n" % re.escape(os.fsencode(folder)), lines):
        oid = lines[lines.rfind(b"\n", 0, row.start()) + 1 : row.start()]
        found[os.fsdecode(row[1])] = oid.decode("ascii", "replace")
    return found
