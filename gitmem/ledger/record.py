"""The record of a live directory: what gitmem last saw or laid out there.

JSON, one file a directory, in the state folder of the owning repository. It can be deleted at no loss of
memory: without it the next save unites what is on disk with the ref.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from gitmem.ledger.files import write_atomically
from gitmem.values import dataclass

VERSION = 1


@dataclass(frozen=True)
class Record:
    """What a live directory looked like when gitmem last touched it.

    Attributes:
        path: the folder, for a person who reads the file.
        base: commit of the memory ref that it showed.
        files: file (relative to the folder) to blob name of what was there: the base of the next merge.
        before: file to blob names, newest first and separated by spaces, of what stood there until the
            last layouts, for a writer that read the file before it was replaced.
        afresh: files that someone else made while a layout had the old one moved away; whoever appended
            there knew nothing of what it held.
        laid_out: when that last layout was, in seconds since the epoch.
        pinned: revision that `checkout` laid out; empty on the tip.
        code_head: code commit at that time, for folders that the code branch tracks.
        home: git directory of the code repository whose memory is shown, where the folder's name alone does
            not tell: the client gives `a-b` and `a/b` one folder.
        written: when this record was written, by the file system's clock; 0 for one not on disk.
    """

    path: str
    base: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    before: Mapping[str, str] = field(default_factory=dict)
    afresh: tuple[str, ...] = ()
    laid_out: float = 0.0
    pinned: str = ""
    code_head: str = ""
    home: str = ""
    written: float = 0.0


def record_key(path: Path) -> str:
    """Name of a live directory's record and lock."""
    return hashlib.sha256(str(path.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def record_path(state: Path, key: str) -> Path:
    """Where the record of a live directory is kept."""
    return state / "live" / f"{key}.json"


def read_record(state: Path, key: str) -> Record | None:
    """Reads a record; None where there is none, or none that can be read."""
    try:
        with record_path(state, key).open("rb") as file:
            data, written = json.loads(file.read()), os.fstat(file.fileno()).st_mtime
        if data["version"] != VERSION:
            return None
        return Record(
            path=str(data["path"]),
            base=str(data["base"]),
            files=_strings(data["files"]),
            before=_strings(data["before"]),
            afresh=tuple(str(name) for name in data.get("afresh", [])),
            laid_out=float(data["laid_out"]),
            pinned=str(data["pinned"]),
            code_head=str(data["code_head"]),
            home=str(data.get("home", "")),
            written=written,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def records(state: Path) -> Iterator[tuple[str, Record]]:
    """All records of one repository's state folder, each with its key, in a fixed order."""
    for file in sorted((state / "live").glob("*.json")):
        record = read_record(state, file.stem)
        if record is not None:
            yield file.stem, record


def write_record(state: Path, key: str, record: Record) -> None:
    """Writes a record whole or not at all."""
    path = record_path(state, key)
    data = {
        "version": VERSION,
        "path": record.path,
        "base": record.base,
        "files": dict(record.files),
        "before": dict(record.before),
        "afresh": list(record.afresh),
        "laid_out": record.laid_out,
        "pinned": record.pinned,
        "code_head": record.code_head,
        "home": record.home,
    }
    write_atomically(path, (json.dumps(data, indent=1, sort_keys=True) + "\n").encode())


def _strings(data: Any) -> dict[str, str]:
    return {str(key): str(value) for key, value in data.items()}
