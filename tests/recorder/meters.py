"""A meter for engines whose cost does not matter to a test."""

from __future__ import annotations

from gitmem.core.trailers import Usage


class Unmetered:
    """Counts nothing and allows everything."""

    def begin(self) -> None:
        """Allows it."""

    def allow(self) -> None:
        """Allows it."""

    def spent(self, job: str, model: str, usage: Usage) -> None:
        """Forgets it."""
