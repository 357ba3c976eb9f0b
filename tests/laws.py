"""Which examples a law is tried on: some fixed ones, and in CI (GITMEM_TEST_LAWS=1) more, by chance."""

from __future__ import annotations

import os

USUAL = 100
"""Examples of a law that says nothing else; what hypothesis itself takes."""

MORE = "GITMEM_TEST_LAWS" in os.environ
"""Whether other examples are asked for than those of every run; what fails prints how to repeat it."""


def examples(most: int, share: float = 0.3) -> int:
    """How many to try.

    Args:
        most: all of them.
        share: of them, where nobody asks for more.
    """
    return max(1, round(most * float(os.environ.get("GITMEM_TEST_LAWS", share))))
