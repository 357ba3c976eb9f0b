"""What asking a model cost, and how a commit says so."""

from __future__ import annotations

import re

from gitmem.values import dataclass

_WORD = re.compile(r"([a-z_]{1,32})=([0-9]{1,15}(?:\.[0-9]{1,12})?)")
_COUNTS = ("requests", "input", "cache_read", "cache_write", "output")


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

    @property
    def tokens(self) -> int:
        """Tokens of all kinds."""
        return self.input + self.cache_read + self.cache_write + self.output

    def line(self) -> str:
        """The value of a `Gitmem-Usage` trailer; `dollars` is left out where it is unknown."""
        words = [f"{name}={getattr(self, name)}" for name in _COUNTS]
        if self.dollars is not None:
            words.append(f"dollars={f'{self.dollars:.6f}'.rstrip('0').rstrip('.')}")
        return " ".join(words)


def parse_usage(value: str) -> Usage | None:
    """Reads the value of a `Gitmem-Usage` trailer, which nobody vouches for.

    Returns:
        what the words that can be read say, the first of each; None where there is none.
    """
    counts: dict[str, int] = {}
    dollars: float | None = None
    for word in value.split()[:64]:
        found = _WORD.fullmatch(word)
        if found is None:
            continue
        name, number = found.groups()
        if name in _COUNTS and "." not in number:
            counts.setdefault(name, int(number))
        elif name == "dollars" and dollars is None:
            dollars = float(number)
    return Usage(**counts, dollars=dollars) if counts or dollars is not None else None
