"""What asking a model costs, and who counts it."""

from __future__ import annotations

from typing import Protocol

from gitmem.core.trailers import Usage as Usage


class Meter(Protocol):
    """Counts what an engine spends, and holds it back where the day's ceiling is reached."""

    def allow(self) -> None:
        """Is asked before each request.

        Raises:
            EngineError: nothing more may be spent today.
        """
        ...

    def spent(self, job: str, model: str, usage: Usage) -> None:
        """Is told after each request.

        Args:
            job: `extract`, `select`, `consolidate`, `notes`, `document` or `test`.
        """
        ...


class Unmetered:
    """Counts nothing and allows everything."""

    def allow(self) -> None:
        """Allows it."""

    def spent(self, job: str, model: str, usage: Usage) -> None:
        """Forgets it."""
