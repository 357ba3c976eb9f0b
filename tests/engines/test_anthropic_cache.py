"""How much of a session is read from the provider's cache, by the model of it in prompt_cache.py."""

from __future__ import annotations

from typing import Any

import pytest
from cache_reads import Run, simulate
from prompt_cache import PromptCache


def request(*texts: str, marks: dict[int, str]) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": text} for text in texts]
    for at, ttl in marks.items():
        content[at]["cache_control"] = {"type": "ephemeral", "ttl": ttl}
    return {"model": "m", "messages": [{"role": "user", "content": content}]}


LONG = "x" * 6_000


def test_a_prefix_is_read_until_its_lifetime_has_passed_since_its_last_use() -> None:
    cache = PromptCache()
    asked = request(LONG, "new", marks={0: "5m"})
    assert cache.usage(asked)["cache_creation_input_tokens"] == 2_000
    for at, read in ((299.9, 2_000), (599.8, 2_000), (899.8, 0)):
        cache.now = at
        assert cache.usage(asked)["cache_read_input_tokens"] == read


def test_a_lookup_goes_back_over_twenty_blocks_and_no_further() -> None:
    for more, read in ((19, 2_000), (20, 0)):
        cache = PromptCache()
        cache.usage(request(LONG, marks={0: "1h"}))
        found = cache.usage(request(LONG, *(f"m{at}" for at in range(more)), marks={more: "1h"}))
        assert found["cache_read_input_tokens"] == read


def test_what_is_read_was_written_at_a_breakpoint_of_the_same_bytes_and_long_enough() -> None:
    for written, asked in (
        (request(LONG, LONG, marks={1: "1h"}), request(LONG, "other", marks={0: "1h"})),
        (request("a", LONG, marks={1: "1h"}), request("b", LONG, marks={1: "1h"})),
    ):
        cache = PromptCache()
        cache.usage(written)
        assert cache.usage(asked)["cache_read_input_tokens"] == 0
    assert PromptCache().usage(request("short", marks={0: "1h"}))["cache_creation_input_tokens"] == 0


@pytest.mark.parametrize("ttl", [pytest.param("5m", marks=pytest.mark.long), "1h"])
def test_a_short_session_is_read_from_the_cache(ttl: Any) -> None:
    """Much of a short one is new each time; a whole one is measured below."""
    found = simulate(Run(messages=60, each=15, ttl=ttl, requests=2))
    assert found.cold == 0
    assert found.read > 0.8


@pytest.mark.long
@pytest.mark.parametrize(
    ("ttl", "requests", "every"), [("1h", 1, 300.0), ("1h", 2, 300.0), ("5m", 2, 300.0), ("5m", 1, 299.0)]
)
def test_nine_tenths_of_a_long_session_are_read_from_the_cache(
    ttl: Any, requests: int, every: float
) -> None:
    """500 messages, an extraction every five minutes, from the second one on."""
    assert simulate(Run(ttl=ttl, requests=requests, every=every)).read >= 0.9


@pytest.mark.long
def test_many_memories_and_turns_that_are_left_out_cost_no_cache() -> None:
    """One request an extraction: what stands behind the session weighs most then."""
    found = simulate(Run(requests=1, memories=150, left_out=True))
    assert found.read >= 0.9
    assert found.cold == 0


@pytest.mark.long
def test_five_minutes_are_gone_after_five_minutes_where_an_extraction_took_one_request() -> None:
    """Why the default lifetime is an hour."""
    assert simulate(Run(messages=100, ttl="5m", requests=1)).read < 0.1
