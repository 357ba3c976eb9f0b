"""What was found out about the code, kept by the HEAD that it holds for; can be deleted at no loss."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gitmem.store.files import is_own_folder, keep_newest, read_json
from gitmem.store.record import write_atomically

VERSION = 1
HEADS_KEPT = 8
"""Work trees have a HEAD each."""

MOMENTS_KEPT = 200
NAMES_KEPT = 4_000
"""Names above which the answers for a HEAD are begun anew."""

BYTES = 8 << 20
"""Of a file that is read: 4,000 names and what eight former commits had of them are a tenth of it."""

_COMMIT = re.compile(r"[0-9a-f]{40,64}")

Fact = tuple[str, str, str, int]
"""(kind, now, commit, time) as in `Finding`; `never` and `unknown` are kinds of which nothing is said."""

Spot = tuple[str, str]
"""A file that has a word, and its blob; both empty where the word is nowhere."""


@dataclass
class Known:
    """What is known for one HEAD.

    Attributes:
        paths: None where time ran out.
        words: None as above.
        then: commit to words, and whether it had them.
        moments: moment to the newest commit until then.
        tries: looks that ran out of time.
    """

    paths: dict[str, Fact | None] = field(default_factory=dict)
    words: dict[str, Spot | None] = field(default_factory=dict)
    then: dict[str, dict[str, bool]] = field(default_factory=dict)
    moments: dict[str, str] = field(default_factory=dict)
    tries: int = 0


class Shelf:
    """A folder with a file for each of the last few HEADs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, head: str) -> Known | None:
        """What is known for a HEAD; None where nothing is, or it cannot be read."""
        return _read(self._folder / f"{head}.json")

    def newest(self) -> Known:
        """What was known last, for whatever HEAD."""
        return next((known for path in self._files()[:1] if (known := _read(path))), Known())

    def write(self, head: str, known: Known) -> None:
        """Keeps what is known, where the folder can be written."""
        if len(known.paths) + len(known.words) > NAMES_KEPT:
            known = Known()
        value = {
            "version": VERSION,
            "paths": known.paths,
            "words": known.words,
            "then": dict(list(known.then.items())[-HEADS_KEPT:]),
            "moments": dict(list(known.moments.items())[-MOMENTS_KEPT:]),
            "tries": known.tries,
        }
        with suppress(OSError, ValueError):
            if not is_own_folder(self._folder):
                return
            write_atomically(self._folder / f"{head}.json", json.dumps(value).encode())
            keep_newest(self._files(), HEADS_KEPT)

    def _files(self) -> list[Path]:
        with suppress(OSError):
            files = [path for path in self._folder.iterdir() if path.suffix == ".json"]
            return sorted(files, key=lambda path: path.lstat().st_mtime, reverse=True)
        return []


def _read(file: Path) -> Known | None:
    value = read_json(file, BYTES)
    with suppress(ValueError, LookupError, TypeError, AttributeError, OverflowError):
        if value["version"] == VERSION:
            return Known(
                {str(name): _fact(fact) for name, fact in value["paths"].items()},
                {str(word): _spot(spot) for word, spot in value["words"].items()},
                {
                    _commit(commit): {str(word): bool(had) for word, had in words.items()}
                    for commit, words in value["then"].items()
                },
                {str(moment): commit and _commit(commit) for moment, commit in value["moments"].items()},
                int(value["tries"]),
            )
    return None


def _commit(value: Any) -> str:
    """A commit's name: it becomes an argument of git's, and the file may be anyone's."""
    if not _COMMIT.fullmatch(value):
        raise ValueError("no name of a commit")
    return str(value)


def _fact(value: Any) -> Fact | None:
    return None if value is None else (str(value[0]), str(value[1]), str(value[2]), int(value[3]))


def _spot(value: Any) -> Spot | None:
    return None if value is None else (str(value[0]), str(value[1]))
