"""What the frontmatter of memories says, kept by blob and by folder: what was read once is not read again.

A folder of the archive that did not change is one row.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence

from gitmem.git.repository import TREE, Repository
from gitmem.ledger.workspace import DISPUTED, CatalogEntry, Head, by_folder, read_heads
from gitmem.search import database

KEPT = 2_048
"""Folders that are remembered, the last ones: eight archives of an agent."""

_FEW = 8

_NEW_HEAD = "INSERT OR REPLACE INTO head(oid, value) VALUES(?, ?)"
_NEW_FOLDER = "INSERT OR IGNORE INTO folder(oid, checked, value) VALUES(?, ?, ?)"
_OLD_FOLDERS = "DELETE FROM folder WHERE id <= (SELECT max(id) FROM folder) - ?"

# JSON in ASCII holds what SQLite's text cannot: bytes that were no UTF-8, as lone surrogates.
_JSON = json.JSONEncoder(separators=(",", ":")).encode


def heads(
    connection: sqlite3.Connection, repo: Repository, oids: Collection[str], *, checked: bool = False
) -> dict[str, Head]:
    """Gives what the frontmatter of some blobs says, opening only those that nobody has opened before.

    Args:
        checked: whether `Head.problems` is wanted.

    Returns:
        Blob to head; without those that are missing from the repository.
    """
    found = known(connection, oids)
    lacking = [
        oid for oid in dict.fromkeys(oids) if oid not in found or (checked and found[oid].problems is None)
    ]
    if not lacking:
        return found
    from gitmem.core.memory import parse, problems

    read: dict[str, Head] = {}
    for oid, data in repo.read_blobs(list(lacking)):
        memory = parse("", data)
        name = memory.front.text("name") if memory.front else ""
        head = head_of(name, memory.description, memory.type, data)
        read[oid] = head._replace(problems=problems(memory)) if checked else head
    if read:
        rows = [(bytes.fromhex(oid), stored(head)) for oid, head in read.items()]
        database.keep(connection, [(_NEW_HEAD, rows)])
    return {oid: head for oid, head in found.items() if oid not in lacking} | read


def head_of(name: str, description: str, type: str, data: bytes) -> Head:
    """The head of a content whose frontmatter was read."""
    return Head(name, description, type, DISPUTED in data, len(data))


def known(connection: sqlite3.Connection, oids: Iterable[str]) -> dict[str, Head]:
    """The heads of some blobs, as far as they are known; nothing is opened."""
    found: dict[str, Head] = {}
    for some in database.portions(dict.fromkeys(bytes.fromhex(oid) for oid in oids)):
        slots = ",".join("?" * len(some))
        # What was looked at more closely comes last, and counts.
        rows = connection.execute(
            f"SELECT oid, head FROM blob WHERE oid IN ({slots})"  # noqa: S608
            f" UNION ALL SELECT oid, value FROM head WHERE oid IN ({slots})",
            (*some, *some),
        ).fetchall()
        try:
            read = read_heads([value for _, value in rows])
        except (ValueError, TypeError):
            continue  # whatever wrote that: they are read again
        found.update((oid.hex(), head) for (oid, _), head in zip(rows, read, strict=True))
    return found


def stored(head: Head) -> str:
    """A head as it is kept."""
    return _JSON(head)


def folders(
    connection: sqlite3.Connection, repo: Repository, tree: str, under: str, *, checked: bool = False
) -> dict[str, list[CatalogEntry]]:
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
    found = _known_folders(connection, trees, checked)
    lacking = {path: oid for path, oid in trees.items() if path not in found}
    if not lacking:
        return found
    from gitmem.core.names import kind
    from gitmem.git.trees import list_files  # a prompt reads no folder

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
            CatalogEntry(f"{path}/{file}", some[file], read.get(some[file]))
            for file in sorted(some, key=by_folder)
            if kind(f"{path}/{file}") == "memory"
        ]
        found[path] = kept
        if all(each.head for each in kept):
            rows.append((bytes.fromhex(lacking[path]), checked, _stored(path, kept)))
    database.keep(
        connection,
        [
            ("DELETE FROM folder WHERE oid = ?", [row[:1] for row in rows]),
            (_NEW_FOLDER, rows),
            (_OLD_FOLDERS, [(KEPT,)]),
        ],
    )
    return found


def _known_folders(
    connection: sqlite3.Connection, trees: Mapping[str, str], checked: bool
) -> dict[str, list[CatalogEntry]]:
    values: dict[bytes, str] = {}
    for some in database.portions(dict.fromkeys(bytes.fromhex(oid) for oid in trees.values())):
        slots = ",".join("?" * len(some))
        words = f"SELECT oid, value FROM folder WHERE oid IN ({slots}) AND checked >= ?"  # noqa: S608
        values.update(connection.execute(words, (*some, checked)))
    found: dict[str, list[CatalogEntry]] = {}
    at = [(path, value) for path, oid in trees.items() if (value := values.get(bytes.fromhex(oid)))]
    try:
        loaded = json.loads(f"[{','.join(value for _, value in at)}]")
        for (path, _), rows in zip(at, loaded, strict=True):
            found[path] = [
                CatalogEntry(
                    f"{path}/{file}",
                    blob,
                    Head(name, about, type, disputed, size, trouble and tuple(trouble)),
                )
                for file, blob, name, about, type, disputed, size, trouble in rows
            ]
    except (ValueError, TypeError):
        return {}  # whatever wrote that: they are read again
    return found


def _stored(path: str, kept: Sequence[CatalogEntry]) -> str:
    start = len(path) + 1
    return _JSON([[file[start:], blob, *head] for file, blob, head in kept if head])
