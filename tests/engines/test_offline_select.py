"""Which memories the offline engine picks for a query."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.change import Header
from gitmem.engines.offline import OfflineEngine

HEADERS = tuple(
    Header("local", "main", f"{name}.md", name, description, "project")
    for name, description in (
        (
            "no-mocks-repository-tests",
            "Don't use mocks for the repository tests; the migration failed in production",
        ),
        ("feature-freeze", "The feature freeze starts on 2026-12-01"),
        ("bugs-linear-ingest", "Bugs are tracked in the Linear project INGEST"),
        ("deploy-on-tuesdays", "We always deploy on Tuesdays"),
        ("small-commits", "I prefer small commits with one concern each"),
        ("linear-roadmap", "The roadmap lives in Linear"),
    )
)


def select(query: str, limit: int = 5) -> tuple[int, ...]:
    return OfflineEngine().choose(query, HEADERS, limit)


def test_the_fitting_memory_comes_first() -> None:
    assert select("may I use a mock in this repository test?")[0] == 0
    assert select("where do I file a bug?")[:1] == (2,)
    assert select("when can we deploy?") == (3,)


def test_nothing_fits_is_an_empty_answer() -> None:
    assert select("what colour is the sky above Lisbon?") == ()
    assert select("") == ()
    assert select("the and of to") == ()


def test_one_common_word_of_many_is_not_enough() -> None:
    assert (
        select("rewrite the tokenizer so that nested templates parse without a linear scan of every buffer")
        == ()
    )


def test_limit_is_kept() -> None:
    assert len(select("linear", 1)) == 1
    assert select("linear", 0) == ()
    assert OfflineEngine().choose("linear", (), 5) == ()


@given(st.text(max_size=80), st.integers(-1, 8))
def test_indices_are_distinct_and_within(query: str, limit: int) -> None:
    picked = select(query, limit)
    assert len(set(picked)) == len(picked) <= max(0, limit)
    assert all(0 <= i < len(HEADERS) for i in picked)
