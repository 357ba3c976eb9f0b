"""A recall that a dream must not spoil."""

from __future__ import annotations

from gitmem.values import dataclass


@dataclass(frozen=True, order=True)
class Recalled:
    """A recall that showed a memory.

    Attributes:
        query: what was asked, or the words of it that count.
        path: of the memory, from the root of its scope's tree.
    """

    query: str
    path: str
