"""The memories in whole folders, kept by tree: a folder of the archive that did not change is one row."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from typing import NamedTuple

from gitmem.core.names import kind
from gitmem.search import database
from gitmem.search.heads import Head, heads
from gitmem.store.repository import TREE, Repository
from gitmem.store.trees import list_files

KEPT = 2_048
"""Folders that are remembered, the last ones: eight archives of an agent."""

_FEW = 8

_NEW = "INSERT OR IGNORE INTO folder(oid, checked, value) VALUES(?, ?, ?)"
_OLD = "DELETE FROM folder WHERE id <= (SELECT max(id) FROM folder) - ?"


class Kept(NamedTuple):
    """One memory of a folder; there may be very many.

    Attributes:
        file: path, with that of the folder in front.
        blob: object name of its content.
        head: what its frontmatter says; None where the content is missing.
    """

    file: str
    blob: str
    head: Head | None


def folders(
    connection: sqlite3.Connection, repo: Repository, tree: str, under: str, *, checked: bool = False
) -> dict[str, list[Kept]]:
    """Gives the memories in each folder right below a tree.

    Args:
        under: the tree's own path, put in front of all files.
        checked: whether `Head.problems` is wanted.

    Returns:
        The folder's path to its memories by path; those of folders that were read once come from one row.

    Raises:
        MissingObject: a tree cannot be read.
    """
    trees = {f"{under}/{name}": e.oid for name, e in repo.tree(tree).items() if e.mode == TREE}
    found = _known(connection, trees, checked)
    lacking = {path: oid for path, oid in trees.items() if path not in found}
    if not lacking:
        return found
    files: dict[str, dict[str, str]] = {path: {} for path in lacking}
    if len(lacking) > _FEW:  # one process lists them quicker than one question each
        for file, blob in repo.files(tree).items():
            name, slash, rest = file.partition("/")
            if slash and f"{under}/{name}" in lacking:
                files[f"{under}/{name}"][rest] = blob
    else:
        files = {path: list_files(repo, oid) for path, oid in lacking.items()}
    read = heads(
        connection, repo, {blob for some in files.values() for blob in some.values()}, checked=checked
    )
    rows: list[tuple[bytes, bool, str]] = []
    for path, some in files.items():
        kept = [
            Kept(f"{path}/{file}", some[file], read.get(some[file]))
            for file in sorted(some, key=by_folder)
            if kind(f"{path}/{file}") == "memory"
        ]
        found[path] = kept
        if all(each.head for each in kept):
            rows.append((bytes.fromhex(lacking[path]), checked, _stored(path, kept)))
    database.keep(
        connection,
        [("DELETE FROM folder WHERE oid = ?", [row[:1] for row in rows]), (_NEW, rows), (_OLD, [(KEPT,)])],
    )
    return found


def by_folder(file: str) -> str:
    """Sorts paths folder by folder."""
    return file.replace("/", "\0")


def _known(
    connection: sqlite3.Connection, trees: Mapping[str, str], checked: bool
) -> dict[str, list[Kept]]:
    values: dict[bytes, str] = {}
    for some in database.portions(dict.fromkeys(bytes.fromhex(oid) for oid in trees.values())):
        slots = ",".join("?" * len(some))
        words = f"SELECT oid, value FROM folder WHERE oid IN ({slots}) AND checked >= ?"  # noqa: S608
        values.update(connection.execute(words, (*some, checked)))
    found: dict[str, list[Kept]] = {}
    at = [(path, value) for path, oid in trees.items() if (value := values.get(bytes.fromhex(oid)))]
    try:
        loaded = json.loads(f"[{','.join(value for _, value in at)}]")
        for (path, _), rows in zip(at, loaded, strict=True):
            found[path] = [
                Kept(
                    f"{path}/{file}",
                    blob,
                    Head(name, about, type, disputed, size, trouble and tuple(trouble)),
                )
                for file, blob, name, about, type, disputed, size, trouble in rows
            ]
    except (ValueError, TypeError):
        return {}  # whatever wrote that: they are read again
    return found


def _stored(path: str, kept: list[Kept]) -> str:
    # JSON in ASCII holds what SQLite's text cannot: bytes that were no UTF-8, as lone surrogates.
    start = len(path) + 1
    rows = [[file[start:], blob, *head] for file, blob, head in kept if head]
    return json.dumps(rows, separators=(",", ":"))
