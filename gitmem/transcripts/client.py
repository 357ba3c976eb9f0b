"""What a reader of one client's recordings offers; `clients.py` lists them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from gitmem.transcripts.discover import SessionFile
from gitmem.transcripts.model import Session


class Read(Protocol):
    """Reads a session, see `read_on`."""

    def __call__(
        self, path: Path, start: int = 0, *, bookmarks: Path | None = None, keep: bool = True, most: int = 0
    ) -> Session:
        """Reads from a byte offset on."""


@dataclass(frozen=True)
class Client:
    """One client and its reader.

    Attributes:
        name: e.g. `codex`.
        read: reads one recording.
        recognises: whether a record, one of a file's first, is of this client.
        folder: names the client's own folder, from the environment and the home directory.
        sessions: finds under that folder the sessions begun in one of a repository's work trees (real
            paths), oldest change first.
    """

    name: str
    read: Read
    recognises: Callable[[Mapping[str, Any]], bool]
    folder: Callable[[Mapping[str, str], Path], Path]
    sessions: Callable[[Path, Sequence[Path]], tuple[SessionFile, ...]]
