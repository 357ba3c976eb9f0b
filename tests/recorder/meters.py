"""A meter for engines that says what it was told."""

from __future__ import annotations

from gitmem.core.trailers import Usage


class Counting:
    """Remembers; `left` requests are allowed, then `refusal` is raised."""

    def __init__(self, left: int = 1_000, refusal: Exception | None = None) -> None:
        self.left, self.refusal = left, refusal
        self.told: list[tuple[str, str, Usage]] = []

    def begin(self) -> None:
        """Lets any run begin."""

    def allow(self) -> None:
        if self.left <= 0 and self.refusal is not None:
            raise self.refusal
        self.left -= 1

    def spent(self, job: str, model: str, usage: Usage) -> None:
        self.told.append((job, model, usage))
