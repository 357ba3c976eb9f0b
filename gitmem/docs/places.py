"""The files of one commit, and which of them a document means by a path."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from urllib.parse import unquote

from gitmem.docs.statements import Statement

_ASIDE = re.compile(
    r"(?:^|/)(?:tests?|fixtures?|testdata|examples?|samples?|vendor|third_party|node_modules)/",
    re.IGNORECASE,
)
"""Folders whose files a document means only where it names the folder."""

_OTHERS = re.compile(
    r"(?:^|/)(?:fixtures?|testdata|vendor|third_party|node_modules)/|\.min\.js$|\.lock$|(?:^|/)package-lock\.json$",
    re.IGNORECASE,
)


class Places:
    """The files and folders of a commit.

    Args:
        files: path to the object there.
        closed: paths below which nothing is known: submodules and links.
    """

    def __init__(self, files: Mapping[str, str], closed: Iterable[str] = ()) -> None:
        self.files = files
        self.closed = frozenset(closed)

    @cached_property
    def folders(self) -> frozenset[str]:
        """All folders that hold a file."""
        found: set[str] = set()
        for path in self.files:
            while path := path.rpartition("/")[0]:
                if path in found:
                    break
                found.add(path)
        return frozenset(found)

    @cached_property
    def _by_name(self) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in (*self.files, *self.folders, *self.closed):
            found.setdefault(path.rpartition("/")[2], []).append(path)
        return found

    def has(self, path: str) -> bool:
        """Whether something stands at a path, as far as is known."""
        return path in self.files or path in self.folders or self.is_closed(path)

    def is_closed(self, path: str) -> bool:
        """Whether a path is one below which nothing is known, or lies there."""
        while path:
            if path in self.closed:
                return True
            path = path.rpartition("/")[0]
        return False

    def meant(self, path: str, folder: str) -> tuple[str, ...]:
        """What a document means by a path that it names.

        From the top, or beside the document; else whatever ends so, as `memory/claim.py` does for
        `src/memory/claim.py`.

        Args:
            folder: that the document is in.
        """
        if full := self.exact(path, folder):
            return (full,)
        found = [
            other for other in self._by_name.get(path.rpartition("/")[2], ()) if other.endswith(f"/{path}")
        ]
        own = [other for other in found if not _ASIDE.search(other.removesuffix(path))]
        return tuple(sorted(own))

    def exact(self, path: str, folder: str) -> str:
        """What stands at a path, from the top or else beside the document; empty where nothing does."""
        return next((full for full in (path, below(folder, path)) if full and self.has(full)), "")

    def is_aside(self, path: str) -> bool:
        """Whether a file is one of tests' data, an example or somebody else's."""
        return bool(_OTHERS.search(path))

    def anywhere(self, path: str) -> bool:
        """Whether anything ends like a path."""
        name = path.rpartition("/")[2]
        return any(other == path or other.endswith(f"/{path}") for other in self._by_name.get(name, ()))

    @cached_property
    def _modules(self) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in self.files:
            stem, dot, _ = path.rpartition(".")
            stem = stem.removesuffix("/__init__") if dot else ""
            if stem:
                found.setdefault(stem.rpartition("/")[2], []).append(path)
        return found

    def module(self, dotted: str) -> str:
        """The one file that a dotted name like `gitmem.core.claim` means as a module; else empty."""
        path = dotted.replace(".", "/")
        found = [
            file
            for file in self._modules.get(path.rpartition("/")[2], ())
            if module_name(file) == path or module_name(file).endswith(f"/{path}")
        ]
        found = [file for file in found if module_name(file) == path] or found
        return found[0] if len(found) == 1 else ""


def module_name(file: str) -> str:
    """A file's path as a module's: without its suffix, a package by its folder."""
    return file.rpartition(".")[0].removesuffix("/__init__")


def below(folder: str, path: str) -> str:
    """A path as it is meant in a folder, from the top; empty where it leads out of the tree."""
    full = posixpath.normpath(posixpath.join(folder, path))
    return "" if full.startswith(("../", "/")) or full in ("..", ".") else full


def linked(statement: Statement, doc: str) -> tuple[str, str]:
    """Where a link leads: a path from the top, empty where out of the tree, and the anchor."""
    path, _, anchor = statement.target.partition("#")
    path = unquote(path.partition("?")[0])
    folder = doc.rpartition("/")[0]
    full = below("", path.lstrip("/")) if path.startswith("/") else below(folder, path) if path else doc
    return full, unquote(anchor)


def as_written(statement: Statement, then: str, now: str, doc: str) -> str:
    """How a document that named a path would name what became of it; empty where that is not plain.

    Args:
        then, now: from the top; what it meant, and what that became.
        doc: the document's path.
    """
    folder = doc.rpartition("/")[0]
    name = statement.name
    if not re.fullmatch(r"[\w./@+-]+", now):
        return ""
    if statement.kind == "link":
        path, mark, anchor = statement.target.partition("#")
        if path.startswith("/"):
            new = f"/{now}"
        else:
            new = posixpath.relpath(now, folder or ".")
            new = f"./{new}" if path.startswith("./") and not new.startswith("../") else new
        return f"{new}{'/' if path.endswith('/') else ''}{mark}{anchor}"
    end = "/" if name.endswith("/") else ""
    if then == statement.target:
        return now + end
    if then == below(folder, statement.target):
        new = posixpath.relpath(now, folder or ".")
        return "" if new.startswith("../") else new + end
    before = then.removesuffix(statement.target)
    return (now.removeprefix(before) if now.startswith(before) else now) + end
