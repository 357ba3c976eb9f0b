"""How sure a measured share is."""

from __future__ import annotations

import math
from collections.abc import Sequence

Z = 1.959964
"""Standard normal quantile of a two-sided interval of 95 %."""


def wilson(right: int, of: int) -> tuple[float, float]:
    """The interval of 95 % for a share (E. B. Wilson, 1927), from 0 to 1."""
    if not of:
        return 0.0, 1.0
    share = right / of
    middle = (share + Z * Z / (2 * of)) / (1 + Z * Z / of)
    half = Z * (share * (1 - share) / of + Z * Z / (4 * of * of)) ** 0.5 / (1 + Z * Z / of)
    return max(0.0, middle - half), min(1.0, middle + half)


def normal(shares: Sequence[float]) -> tuple[float, float, float]:
    """The mean of some queries' shares and its interval of 95 %, normal over queries.

    Args:
        shares: each from 0 to 1.

    Returns:
        Mean, lower and upper end; the ends of what is possible where there are fewer than two queries.
    """
    if not shares:
        return 0.0, 0.0, 1.0
    mean = math.fsum(shares) / len(shares)
    if len(shares) < 2:
        return mean, 0.0, 1.0
    variance = math.fsum((share - mean) ** 2 for share in shares) / (len(shares) - 1)
    half = Z * math.sqrt(variance / len(shares))
    return mean, max(0.0, mean - half), min(1.0, mean + half)
