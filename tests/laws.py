"""Laws: which examples one is tried on (fixed ones, in CI more by chance), and where one holds."""

from __future__ import annotations

import os
from collections.abc import Mapping

from gitmem.core.memory import parse
from gitmem.core.merge import renames

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


def by_claims_alone(base: Mapping[str, bytes], tree: Mapping[str, bytes]) -> bool:
    """Whether a memory counts as moved though it bears another name, since half of its claims are there."""
    moved = renames(base, tree)
    return any(parse(old, base[old]).name != parse(new, tree[new]).name for old, new in moved.items())
