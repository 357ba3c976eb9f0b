"""What the ledger asks an index of memories, which is above it: what they say of themselves, their ages.

Whoever opens a workspace says what answers (`Surroundings.catalog`); `search/catalog.py` does.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from gitmem.git.repository import Repository


class Head(NamedTuple):
    """What is known of one content without opening it; there may be very many.

    Attributes:
        name: empty where the file gives none.
        disputed: whether it may hold a disputed claim.
        size: bytes.
        problems: what a reader would stumble over; None where nobody has looked yet.
    """

    name: str
    description: str
    type: str
    disputed: bool
    size: int
    problems: tuple[str, ...] | None = None


class CatalogEntry(NamedTuple):
    """One memory of a folder; there may be very many.

    Attributes:
        file: path, with that of the folder in front.
        blob: object name of its content.
        head: what its frontmatter says; None where the content is missing.
    """

    file: str
    blob: str
    head: Head | None


class MemoryCatalog(Protocol):
    """The answers; all of them can be made again from git, and no ref need have been followed."""

    def heads(
        self, repo: Repository, oids: Collection[str], *, checked: bool = False
    ) -> Mapping[str, Head]:
        """What the frontmatter of some blobs says; `checked` also asks for `Head.problems`."""

    def times(self, repo: Repository, ref: str, commit: str, files: Mapping[str, str]) -> Mapping[str, int]:
        """When memories (path to blob) were last taught as of a commit, seconds since the epoch."""

    def lessons(
        self, repo: Repository, ref: str, commit: str, files: Mapping[str, str]
    ) -> Mapping[str, tuple[int, str]]:
        """The same with the commit of the code that each was taught on; empty where nobody said."""

    def close(self) -> None:
        """Frees what was opened."""
