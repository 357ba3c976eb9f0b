"""How many examples a law is tried on: a share, and in CI, which sets GITMEM_TEST_LAWS=1, all of them."""

from __future__ import annotations

import os

USUAL = 100
"""Examples of a law that says nothing else; what hypothesis itself takes."""


def examples(most: int, share: float = 0.3) -> int:
    """How many to try.

    Args:
        most: all of them.
        share: of them, where nobody asks for more.
    """
    return max(1, round(most * float(os.environ.get("GITMEM_TEST_LAWS", share))))
