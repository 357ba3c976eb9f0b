"""The narrow interface to git's objects and refs: everything else is built on these few calls.

`by_command.GitRepository` implements it, over two stores of objects; one test suite holds both to it. No
call touches a work tree, an index or HEAD, and none reads `GIT_*` variables of the calling process.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from gitmem.core.errors import RepositoryError
from gitmem.values import dataclass

if TYPE_CHECKING:
    from gitmem.git.command import GitCommand

BLOB = 0o100644
EXECUTABLE = 0o100755
LINK = 0o120000
TREE = 0o040000
SUBMODULE = 0o160000


def short_name(ref: str) -> str:
    """A branch as people say it: without `refs/heads/`."""
    return ref.removeprefix("refs/heads/")


class TreeEntry(NamedTuple):
    """One line of a tree; there may be very many.

    Attributes:
        mode: git's file mode, e.g. `BLOB` or `TREE`.
        oid: full hexadecimal object name.
    """

    mode: int
    oid: str


@dataclass(frozen=True)
class Signature:
    """Who and when.

    Attributes:
        time: seconds since the epoch, UTC.
        offset: minutes east of UTC.
    """

    name: str
    email: str
    time: int
    offset: int = 0

    @property
    def moment(self) -> datetime:
        """The time in its own time zone; the beginning of time where no calendar has it."""
        try:
            return datetime.fromtimestamp(self.time, timezone(timedelta(minutes=self.offset)))
        except (ValueError, OverflowError, OSError):
            return datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True)
class Commit:
    """A commit as read; `message` is decoded as UTF-8 with replacement."""

    oid: str
    tree: str
    parents: tuple[str, ...]
    author: Signature
    committer: Signature
    message: str

    @property
    def subject(self) -> str:
        """The first line of the message."""
        return self.message.split("\n", 1)[0]


@dataclass(frozen=True)
class ReflogEntry:
    """One move of a ref, newest first in listings. `old` is None where the ref was created."""

    old: str | None
    new: str
    who: Signature
    message: str


@dataclass(frozen=True)
class Touch:
    """What one commit changed: against its parent, and for a merge against every one of them.

    Attributes:
        commit: its name.
        paths: files that it changed, those that were asked about, in git's order.
    """

    commit: str
    paths: tuple[str, ...]


T = TypeVar("T")

Difference = tuple[str, str | None, str | None]
"""A path, and the regular file there before and after: names of blobs, None where there is none."""


@dataclass(frozen=True)
class CommitDiff:
    """A commit, and all in which it differs from each of its parents.

    Attributes:
        commit: the commit; its message in UTF-8, without blank lines around it.
        before: for each parent in turn, else for the empty tree alone, what differs.
    """

    commit: Commit
    before: tuple[tuple[Difference, ...], ...]


RawDifference = tuple[str, TreeEntry | None, TreeEntry | None]
"""A path, and the line of a tree there before and after, whatever it is."""


@dataclass(frozen=True)
class RawStep:
    """A commit as it lies in history, and every line of a tree in which it differs from each parent.

    Attributes:
        commit: the commit; its message in UTF-8, without blank lines around it.
        header: what stands before the message, as git stored it.
        before: for each parent in turn, else for the empty tree alone, what differs.
    """

    commit: Commit
    header: str
    before: tuple[tuple[RawDifference, ...], ...]


def own(
    before: Sequence[Sequence[tuple[str, T | None, T | None]]],
) -> tuple[tuple[dict[str, T], ...], dict[str, T]]:
    """What the parents of a commit, and it, have at the paths in which it differs from all of them.

    Args:
        before: of a step, raw or not; one row for a commit without parents, too.
    """
    rows = [{path: (old, new) for path, old, new in side} for side in before]
    paths = sorted(set.intersection(*map(set, rows))) if rows else []
    parents = tuple({path: old for path in paths if (old := row[path][0]) is not None} for row in rows)
    return parents, {path: new for path in paths if (new := rows[0][path][1]) is not None}


class RefMoved(RepositoryError):
    """A compare-and-swap found the ref somewhere else; plan the change again on the new tip."""

    kind = "ref-moved"


class Repository(Protocol):
    """Objects and refs of one repository."""

    @property
    def git_dir(self) -> Path:
        """The common git directory (not a worktree's own)."""

    @property
    def git(self) -> GitCommand:
        """The `git` command, for what is done to a repository as a whole."""

    @property
    def hex_length(self) -> int:
        """Length of an object name: 40, or 64 for SHA-256 repositories."""

    def ref(self, name: str) -> str | None:
        """Object name that the full ref name points at, or None where it does not exist.

        Raises:
            RepositoryError: it cannot be read, or is a symbolic ref: a write would move another one.
        """

    def refs(self, prefix: str) -> dict[str, str]:
        """Full name to object name of refs under `prefix` (ending in a slash), sorted; no symbolic ones."""

    def resolve(self, revision: str) -> str | None:
        """Commit that a git revision expression names, or None."""

    def commit(self, oid: str) -> Commit:
        """Reads a commit. Raises MissingObject."""

    def tree(self, oid: str) -> dict[str, TreeEntry]:
        """Reads one level of a tree: name to entry. Raises MissingObject."""

    def entry(self, tree: str, path: str) -> TreeEntry | None:
        """Reads the one line that a path has in a tree, at any depth; None where there is none.

        Raises:
            MissingObject: the tree, or a folder on the way, is missing or damaged.
        """

    def files(self, tree: str) -> dict[str, str]:
        """Regular files of a tree at any depth, path to blob, in git's order: one process, however many.

        What was added and is not on disk yet (see `together`) cannot be listed.

        Raises:
            MissingObject: the tree, or one below it.
        """

    def blob(self, oid: str) -> bytes:
        """Reads a blob. Raises MissingObject."""

    def read_blobs(self, oids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Reads blobs in one stream, in order; what is missing, damaged or no blob is left out."""

    def sizes(self, oids: Sequence[str]) -> dict[str, int]:
        """Bytes of each object, without reading it: one process, however many.

        Raises:
            MissingObject: one is missing.
        """

    def together(self) -> AbstractContextManager[None]:
        """What is added inside is on disk at the end of it; nothing of it where that fails before."""

    def add_blob(self, data: bytes) -> str:
        """Stores a blob and returns its name."""

    def add_tree(self, entries: Mapping[str, TreeEntry]) -> str:
        """Stores one level of a tree and returns its name."""

    def add_commit(
        self, tree: str, parents: tuple[str, ...], author: Signature, committer: Signature, message: str
    ) -> str:
        """Stores a commit, unsigned, and returns its name. The bytes are git's own canonical form."""

    def history(self, tip: str, until: int | None = None) -> Iterator[Commit]:
        """Commits reachable from `tip`, children before parents, newest first among equals.

        Args:
            until: only those committed no later, in seconds since the epoch.
        """

    def touching(self, tip: str, paths: Sequence[str] = ()) -> Iterator[Touch]:
        """Commits that changed one of these paths, in the order of `history`.

        Args:
            paths: files or folders, taken literally but for a leading `*/`, which is any one folder;
                none means all.

        Raises:
            MissingObject: history is damaged; it may have given some commits before.
        """

    def steps(
        self, tip: str, paths: Sequence[str] = (), without: Sequence[str] = ()
    ) -> Iterator[CommitDiff]:
        """Commits with what they changed, parents before children: one process, and no tree is read here.

        Args:
            paths: as for `touching`: only what differs there, and the commits in which something does.
            without: commits that are left out with all their ancestors; ignored where they are gone.

        Raises:
            MissingObject: history is damaged; it may have given some commits before.
        """

    def raw_steps(
        self, tip: str, paths: Sequence[str] = (), without: Sequence[str] = ()
    ) -> Iterator[RawStep]:
        """Commits with every line of a tree that they changed, links and submodules too; see `steps`.

        Raises:
            MissingObject: history is damaged; it may have given some commits before.
        """

    def lineage(self, tip: str, paths: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """The history of some paths with all else left out (`git rev-list --simplify-merges`).

        Args:
            paths: as for `touching`.

        Returns:
            Commits that changed a path, and merges of lines in which they differ, children first; each
            with its nearest ancestors among them. Between the two, the paths are as in the ancestor.

        Raises:
            MissingObject: history is damaged.
        """

    def merge_bases(self, one: str, other: str) -> tuple[str, ...]:
        """Best common ancestors, sorted by name; empty where histories are unrelated."""

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        """Whether `ancestor` is reachable from `descendant` (a commit is its own ancestor)."""

    def reflog(self, name: str) -> tuple[ReflogEntry, ...]:
        """Moves of the ref, newest first; empty where there is no log."""

    def close(self) -> None:
        """Ends helper processes and frees handles."""
