"""How much one scope's tree may hold: counted before anything of it is expanded or laid out.

A tree of a few kilobytes can stand for any number of files, since one folder may be in it many times, and
one blob, too. So folders are counted once each, and sizes are asked for before content is read.
"""

from __future__ import annotations

from gitmem.core.errors import RepositoryError
from gitmem.core.limits import SCOPE_AGENTS, SCOPE_BYTES, SCOPE_ENTRIES
from gitmem.git.repository import BLOB, EXECUTABLE, TREE, Repository, TreeEntry
from gitmem.git.trees import DEEPEST

TREE_BYTES = 33_554_432
"""Largest single folder that is opened: `SCOPE_ENTRIES` names of some 100 bytes."""

SCOPE_FOLDERS = 1_000_000
"""Folders that a tree stands for: a scope's memories, archives and logs are in far fewer."""

SHOWN = 80
"""Characters of a folder's path in a message."""


class TooLarge(RepositoryError):
    """A tree holds more than a scope may."""

    kind = "too-large"


def check_caps(repo: Repository, tree: str, what: str) -> None:
    """Raises where a tree holds more than a scope may; opens each folder once and no file.

    Args:
        what: what the tree belongs to, for the message.

    Raises:
        TooLarge: it has too many files, agents or bytes, or is deeper than trees are gone into. One large
            file alone is set aside, and so is what merely lies too deep (`merge.set_aside`).
        MissingObject: it is incomplete.
    """
    folders = _folders(repo, tree, what)
    agents = sum(entry.mode == TREE for entry in folders[tree].values())
    if agents > SCOPE_AGENTS:
        raise _too_large(what, f"has {agents:,} agents, and {SCOPE_AGENTS:,} are the most")
    blobs = {entry.oid for entries in folders.values() for entry in entries.values() if _is_file(entry)}
    sizes = repo.sizes(sorted(blobs))
    held = _held(tree, folders, sizes, {})
    most = {"files": SCOPE_ENTRIES, "bytes": SCOPE_BYTES, "folders": SCOPE_FOLDERS}
    for number, (unit, limit) in zip(held, most.items(), strict=True):
        if number > limit:
            raise _too_large(what, f"holds {number:,} {unit}, and {limit:,} are the most")


def _folders(repo: Repository, tree: str, what: str) -> dict[str, dict[str, TreeEntry]]:
    """Every different folder of a tree, level by level."""
    found: dict[str, dict[str, TreeEntry]] = {}
    level = {tree: ""}
    for _ in range(DEEPEST):
        for oid, size in repo.sizes(sorted(level)).items():
            if size > TREE_BYTES:
                raise _too_large(
                    what, f"has a folder whose list alone takes {size:,} bytes: {level[oid]!a}"
                )
            found[oid] = repo.tree(oid)
        level = {
            entry.oid: f"{where}{name}/"
            for oid, where in level.items()
            for name, entry in found[oid].items()
            if entry.mode == TREE and entry.oid not in found
        }
        if not level:
            return found
        if len(found) + len(level) > SCOPE_ENTRIES:
            raise _too_large(what, f"has more than {SCOPE_ENTRIES:,} folders")
    where = next(iter(level.values()))
    raise _too_large(what, f"has folders more than {DEEPEST} deep, as {where[:SHOWN]!a}")


def _held(
    tree: str,
    folders: dict[str, dict[str, TreeEntry]],
    sizes: dict[str, int],
    known: dict[str, tuple[int, int, int]],
) -> tuple[int, int, int]:
    """Files and bytes below a folder, and folders with itself; each folder is added up once."""
    if tree not in known:
        count = size = 0
        opened = 1
        for entry in folders[tree].values():
            if entry.mode == TREE:
                below = _held(entry.oid, folders, sizes, known)
                count, size, opened = count + below[0], size + below[1], opened + below[2]
            elif _is_file(entry):
                count, size = count + 1, size + sizes[entry.oid]
        known[tree] = count, size, opened
    return known[tree]


def _is_file(entry: TreeEntry) -> bool:
    return entry.mode in (BLOB, EXECUTABLE)


def _too_large(what: str, why: str) -> TooLarge:
    return TooLarge(
        f"{what} {why}",
        "Nothing of it was merged. Take it out of the branch; who put it there: git log --stat",
    )
