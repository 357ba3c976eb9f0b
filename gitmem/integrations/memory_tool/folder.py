"""One agent's folder of a memory tree as the tool sees it: nothing hidden, and no link followed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from gitmem.core.names import ARCHIVE, INDEX, archive_path, hot_file, is_memory_file
from gitmem.git.repository import BLOB, EXECUTABLE, TREE, Entry, Repository
from gitmem.git.trees import list_files, subtree
from gitmem.integrations.memory_tool import words
from gitmem.integrations.memory_tool.paths import is_visible


@dataclass(frozen=True)
class Folder:
    """An agent's folder as of one tree.

    Attributes:
        tree: object name of the whole tree; None where nothing was ever stored.
        agent: the agent's folder in it.
    """

    repo: Repository
    tree: str | None
    agent: str

    @cached_property
    def oid(self) -> str | None:
        """Object name of the folder; None where there is none."""
        return subtree(self.repo, self.tree, self.agent) if self.tree else None

    def entry(self, inner: str, path: str) -> Entry | None:
        """What stands at a path, hidden or not.

        Raises:
            Refused: a link stands there, or on the way.
        """
        parts = inner.split("/")
        found: Entry | None = None
        for count in range(1, len(parts) + 1):
            found = self.repo.entry(self.oid, "/".join(parts[:count])) if self.oid else None
            if found is None:
                return None
            if found.mode not in (BLOB, EXECUTABLE, TREE):
                raise words.escapes(path)
        return found

    def place(self, inner: str, path: str) -> str | None:
        """Where a file stands: at its path, or in the archive, where it was paged out; None for nowhere.

        Raises:
            Refused: a link stands there, or on the way.
        """
        for at in (inner, archive_path(inner)) if is_memory_file(inner) else (inner,):
            found = self.entry(at, path) if inner and is_visible(inner) else None
            if found is not None and found.mode != TREE:
                return at
        return None

    def below(self, inner: str) -> dict[str, str]:
        """Visible files of a folder at any depth: path in the agent's folder to blob."""
        if self.oid is None:
            return {}
        aside = frozenset() if inner else frozenset({ARCHIVE})
        return {
            at: oid for at, oid in list_files(self.repo, self.oid, inner, aside).items() if is_visible(at)
        }

    def is_folder(self, inner: str, path: str) -> bool:
        """Whether something is to be seen in a folder; `/memories` itself is always there.

        Raises:
            Refused: a link stands there, or on the way.
        """
        if not inner:
            return True
        found = self.entry(inner, path)
        return found is not None and found.mode == TREE and bool(self.below(inner))

    def read(self, at: str) -> bytes | None:
        """Content of a file; None where there is none."""
        found = self.repo.entry(self.oid, at) if self.oid else None
        return self.repo.blob(found.oid) if found is not None and found.mode in (BLOB, EXECUTABLE) else None

    def names(self, inner: str) -> frozenset[str]:
        """Names right below a folder, hidden ones too."""
        at = subtree(self.repo, self.oid, inner) if inner and self.oid else self.oid
        return frozenset(self.repo.tree(at)) if at else frozenset()

    def everything(self) -> tuple[str, ...]:
        """Paths of all files that the tool may ever show, the index and what was paged out among them."""
        if self.oid is None:
            return ()
        paged = list_files(self.repo, self.oid, ARCHIVE)
        return (*self.below(""), *(at for at in paged if at == archive_path(hot_file(at))))


def listing(folder: Folder, inner: str, path: str) -> str:
    """A folder as `view` shows it, two levels deep, each in the order of names."""
    files = folder.below(inner)
    sizes = folder.repo.sizes(sorted(set(files.values())))
    held: dict[str, int] = {}
    for at, oid in files.items():
        parts = at.removeprefix(f"{inner}/" if inner else "").split("/")
        for depth in (1, 2):
            if depth <= len(parts):
                name = "/".join(parts[:depth]) + ("/" if depth < len(parts) else "")
                held[name] = held.get(name, 0) + sizes[oid]
    order = sorted(held, key=lambda name: [part for part in name.split("/") if part])
    return words.folder_view(path, sum(sizes[oid] for oid in files.values()), [(held[n], n) for n in order])


def is_index(inner: str) -> bool:
    """Whether a path is the index, which gitmem keeps in line with the files."""
    return inner == INDEX
