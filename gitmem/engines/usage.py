"""What asking a model costs, and who counts it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Usage:
    """What requests to a model cost.

    Attributes:
        requests: how many were answered.
        input: tokens that were read anew; neither of the two below counts in it.
        cache_read, cache_write: tokens read from, and written to, the provider's prompt cache.
        output: tokens that were written.
        dollars: cost in US dollars; None where the price is unknown.
    """

    requests: int = 0
    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    dollars: float | None = 0.0

    def __add__(self, other: Usage) -> Usage:
        dollars = (
            None if None in (self.dollars, other.dollars) else (self.dollars or 0) + (other.dollars or 0)
        )
        return Usage(
            self.requests + other.requests,
            self.input + other.input,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.output + other.output,
            dollars,
        )


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
            job: `extract`, `select`, `consolidate` or `test`.
        """
        ...


class Unmetered:
    """Counts nothing and allows everything."""

    def allow(self) -> None:
        """Allows it."""

    def spent(self, job: str, model: str, usage: Usage) -> None:
        """Forgets it."""
