"""Records of live directories that are not where they were: followed to the new place, or told apart."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from gitmem.store.record import Record, read_record, record_path, write_record
from gitmem.store.repository import MissingObject, Repository
from gitmem.store.scan import scan
from gitmem.store.workspace import LIVE_FOLDERS, LiveDirectory


def moved_record(live: LiveDirectory) -> tuple[str, Record] | None:
    """Finds the record of a directory that moved here with its work tree, and the key it is filed under.

    It is the one record for the same agent and memory whose directory is gone, and most of its files must
    be here: a folder made from scratch in a new work tree has deleted nothing.
    """
    state = live.scope.state
    if live.path.parent.name not in LIVE_FOLDERS.values() or read_record(state, live.key) is not None:
        return None
    here = scan(live).files.keys()
    gone = [
        (key, record)
        for key, record in records(state)
        if Path(record.path).parts[-3:] == live.path.parts[-3:]
        and not os.path.lexists(record.path)
        and 2 * len(record.files.keys() & here) > len(record.files)
    ]
    # Opening the private repository makes it where it is missing: not for a mere look.
    tip = live.scope.repo.ref(live.scope.ref) if gone else None
    found = [one for one in gone if tip and in_history(live.scope.repo, tip, one[1].base)]
    return found[0] if len(found) == 1 else None


def follow_move(live: LiveDirectory) -> None:
    """Files the record of a directory that moved under its new place.

    Without it an unsaved edit would be united with what it replaces, and a deletion taken back.
    """
    if found := moved_record(live):
        key, record = found
        write_record(live.scope.state, live.key, replace(record, path=str(live.path)))
        record_path(live.scope.state, key).unlink(missing_ok=True)


def records(state: Path) -> Iterator[tuple[str, Record]]:
    """All records of one repository's state folder, each with its key, in a fixed order."""
    for file in sorted((state / "live").glob("*.json")):
        record = read_record(state, file.stem)
        if record is not None:
            yield file.stem, record


def in_history(repo: Repository, tip: str, base: str) -> bool:
    """Whether a record's base is a commit of this ref; the empty root, which all refs share, is of none."""
    try:
        return bool(base and repo.commit(base).parents) and repo.is_ancestor(base, tip)
    except MissingObject:
        return False
