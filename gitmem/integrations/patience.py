"""Waiting after a lost race."""

from __future__ import annotations

import random
import time

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 3.0
"""Seconds; a remote takes about four pushes a second (interop.md)."""


class Patience:
    """Pauses that grow with every lost race, and shrink again for whoever has waited long."""

    def __init__(self) -> None:
        self.begun = time.monotonic()

    def __call__(self, lost: int) -> None:
        """Waits a random time after the `lost`-th race."""
        ceiling = min(LONGEST_PAUSE, FIRST_PAUSE * 2**lost)
        waited = time.monotonic() - self.begun
        time.sleep(random.uniform(0, ceiling / (1 + waited / LONGEST_PAUSE)))  # noqa: S311 - no secret in a pause
