"""What the `anthropic` engine needs to know of a person's configuration and of single models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from gitmem.values import dataclass

DEFAULT_MODEL = "claude-haiku-5-5"
OFFICIAL_URL = "https://api.anthropic.com"

Lifetime = Literal["5m", "1h"]


@dataclass(frozen=True)
class ApiSettings:
    """Where to ask, as whom, which model, and how patiently.

    Attributes:
        api_key: the person's key; empty where there is none, which only a server of one's own accepts.
        base_url: address of a server that speaks the Messages API; empty for Anthropic's.
        model: the model's id.
        max_tokens: output tokens an answer may take, thinking included.
        timeout: seconds without a byte from the server until it counts as hanging.
        patience: seconds that one answer may take in all, whatever comes meanwhile.
        must_call: an answer before which no tool was called is not believed: many local models cannot call
            any, and would seem to have found nothing.
        questions: extraction asks one short question a sentence, without tools.
        proxy: what https requests go through; empty for none.
        ca_file: certificates to trust beside the system's; empty for none.
        retries: how often the SDK tries again after a rate limit, an overload or a lost connection.
        ttl: how long the provider keeps the session's prefix after its last use. An hour, since that counts
            from the start of a request: extractions five minutes apart miss a cache of five minutes
            wherever the earlier one took a single request (tests/bench/cache_reads.py has figures).
    """

    api_key: str = field(default="", repr=False)
    base_url: str = ""
    model: str = DEFAULT_MODEL
    max_tokens: int = 8_192
    timeout: float = 120.0
    patience: float = 600.0
    proxy: str = field(default="", repr=False)
    ca_file: str = ""
    retries: int = 2
    ttl: Lifetime = "1h"
    must_call: bool = False
    questions: bool = False

    @property
    def url(self) -> str:
        """Where requests go."""
        return self.base_url or OFFICIAL_URL


LONG_PROMPT = 100_000
"""Prompt tokens, cached ones included, above which a request to Haiku 5.5 costs its second price."""


@dataclass(frozen=True)
class Price:
    """US dollars for a million tokens.

    Attributes:
        input, output: tokens read anew and written.
        write_5m, write_1h: tokens written to the cache, by lifetime.
        read: tokens read from the cache.
        long: the price of a request whose prompt is over `LONG_PROMPT`; None where it is the same.
    """

    input: float
    output: float
    write_5m: float
    write_1h: float
    read: float
    long: Price | None = None


@dataclass(frozen=True)
class Spent:
    """Tokens of one request, as its answer counts them."""

    input: int = 0
    output: int = 0
    write_5m: int = 0
    write_1h: int = 0
    read: int = 0

    @property
    def prompt(self) -> int:
        """All input tokens."""
        return self.input + self.write_5m + self.write_1h + self.read


PRICES: Mapping[str, Price] = {
    "claude-haiku-5-5": Price(0.10, 0.50, 0.125, 0.20, 0.01, long=Price(0.50, 2.50, 0.625, 1.00, 0.05)),
    "claude-sonnet-5-5": Price(2.00, 10.00, 2.50, 4.00, 0.10),
    "claude-opus-5-5": Price(4.00, 20.00, 5.00, 8.00, 0.20),
    "claude-sonnet-5": Price(2.00, 10.00, 2.50, 4.00, 0.20),
    "claude-opus-5": Price(5.00, 25.00, 6.25, 10.00, 0.50),
    "claude-haiku-4-5": Price(1.00, 5.00, 1.25, 2.00, 0.10),
}
"""List prices of the model pages at platform.claude.com/docs/en/models/<model>/overview, as of 2026-11-22;
cache reads of Sonnet 5.5 as lowered on 2026-10-07, which the release notes of two price tables name
(claudit 1.9.2, PromptFuel 1.0.23)."""

_QUIET: Mapping[str, Mapping[str, Any]] = {
    "claude-haiku-5-5": {"thinking": {"type": "disabled"}},
    "claude-opus-5": {"thinking": {"type": "disabled"}},
    "claude-sonnet-5": {"thinking": {"type": "disabled"}},
    "claude-sonnet-5-5": {"thinking": {"type": "between_tools"}},
}
_ALWAYS_THINKS = ("claude-opus-5-5", "claude-fable-5", "claude-mythos-5")
THINKING_ROOM = 2_048
"""Output tokens added for a model whose thinking cannot be switched off: it counts in `max_tokens`."""


def dollars(model: str, spent: Spent) -> float | None:
    """Returns what a request costs at the list price, None where the price is unknown."""
    price = PRICES.get(_bare(model))
    if price is None:
        return None
    if price.long is not None and spent.prompt > LONG_PROMPT:
        price = price.long
    return (
        spent.input * price.input
        + spent.output * price.output
        + spent.write_5m * price.write_5m
        + spent.write_1h * price.write_1h
        + spent.read * price.read
    ) / 1_000_000


def brief(model: str, max_tokens: int) -> dict[str, Any]:
    """Returns the parameters for an answer of at most `max_tokens`, without thinking before it.

    Which model takes which value is documented in the migration guides at platform.claude.com/docs; for
    a model that is not known, a local one above all, nothing is asked for.
    """
    name = _bare(model)
    if name.startswith(_ALWAYS_THINKS):
        return {"max_tokens": max_tokens + THINKING_ROOM, "output_config": {"effort": "low"}}
    return {"max_tokens": max_tokens, **_QUIET.get(name, {})}


def _bare(model: str) -> str:
    """The id without the mark of a long context (`[1m]`) or a date."""
    name = model.partition("[")[0]
    stem, _, date = name.rpartition("-")
    return stem if len(date) == 8 and date.isdigit() else name
