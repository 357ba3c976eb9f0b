"""How what strategies say becomes one order: contributions, scales of repositories, times."""

from __future__ import annotations

from dataclasses import replace

import pytest
from memory_repository import REF, MemoryRepository, follow

from gitmem.search.catalog import Catalog
from gitmem.search.query import (
    MOST_RAISED,
    Candidate,
    RecallSource,
    fuse,
    gather,
    may_name_time,
    search,
)
from gitmem.search.query import _on_one_scale as on_one_scale

ONE = Candidate(
    "refs/x", "main", "main/a.md", "a", 6.0, {"worth": 10.0}, "a", "", "", False, 0, why={"words": 6.0}
)


@pytest.mark.parametrize(
    ("path", "file", "kind"),
    [
        ("main/a.md", "a.md", "memory"),
        ("main/topic/a.md", "topic/a.md", "memory"),
        ("main/logs/2026/11/2026-11-20.md#0123456789ab", "logs/2026/11/2026-11-20.md", "log"),
        ("main/a#b.md#0123456789ab", "a#b.md", "log"),
        ("main/a#b.md", "a#b.md", "memory"),
    ],
)
def test_a_candidate_is_a_file_or_a_line_of_one(path: str, file: str, kind: str) -> None:
    one = replace(ONE, path=path)
    assert (one.file, one.kind) == (file, kind)


def test_what_strategies_say_is_gathered_to_six_digits_and_nothing_is_left_out() -> None:
    said = {"words": {1: 1.2345678, 2: 0.0000004, 3: 0.0000006}, "links": {1: 0.5, 4: 0.0}}
    assert fuse(said) == {1: {"words": 1.234568, "links": 0.5}, 3: {"words": 0.000001}}


def test_a_score_in_a_small_repository_is_raised_so_far() -> None:
    """As its question is worth less there; not without end, and nothing that no question has."""
    large, small, tiny, none = (replace(ONE, parts={"worth": worth}) for worth in (10.0, 4.0, 0.1, 0.0))
    made = on_one_scale([[(None, one)] for one in (large, small, tiny, none)])  # type: ignore[list-item]
    assert [one.score for _, one in made] == [6.0, 15.0, 6.0 * MOST_RAISED, 6.0]
    assert [one.why["words"] for _, one in made] == [6.0, 15.0, 6.0 * MOST_RAISED, 6.0]
    assert made[0][1] is large and on_one_scale([[]]) == []
    pair = on_one_scale([[(None, replace(small, parts={})), (None, small)], [(None, large)]])  # type: ignore[list-item]
    assert [one.score for _, one in pair] == [15.0, 15.0, 6.0]


MONTHS = """Jan January Feb february March mar Apr april May June jul July AUG august sep sept September Oct
    november nov dec December"""


@pytest.mark.parametrize(
    "query",
    [
        *(f"what was done in {month}?" for month in (*MONTHS.split(), "1999", "2026")),
        *(f"last {unit}" for unit in ("day", "Week", "month", "quarter", "year")),
        "tonight",
        "yesterday",
    ],
)
def test_a_question_may_name_a_time(query: str) -> None:
    assert may_name_time(query)


@pytest.mark.parametrize(
    "query", ["which port?", "marching ants", "maybe", "the augur says", "junes", "18 ports"]
)
def test_most_questions_name_none(query: str) -> None:
    assert not may_name_time(query)


def test_the_best_ten_share_with_what_they_link_to(catalog: Catalog, fake: MemoryRepository) -> None:
    files = {f"main/m{n:02}.md": f"heron [[t{n:02}]]" for n in range(11)}
    follow(catalog, fake, files | {f"main/t{n:02}.md": f"crane {n}" for n in range(11)})
    found = search(catalog, "heron", [REF])
    linked = [one for one in found if one.why.keys() == {"links"}]
    assert [one.name for one in linked] == [f"t{n:02}" for n in range(10)]
    assert [one.score for one in linked] == [pytest.approx(0.15 * found[0].score, abs=5e-7)] * 10
    assert [one.file for one in search(catalog, "heron", [REF], limit=1)] == ["m00.md"]
    assert search(catalog, "heron", [REF], limit=0) == search(catalog, "heron", []) == ()


def test_of_several_repositories_so_many_are_told_together(catalog: Catalog, fake, monkeypatch) -> None:
    tip = follow(catalog, fake, {f"main/m{n}.md": f"heron {n}" for n in range(3)})
    source = RecallSource(fake, catalog, {REF: "user"}, {REF: tip})  # type: ignore[arg-type]
    assert len(gather("heron", [source, source], limit=4)) == 4
    # What another process takes out between two looks is passed over.
    monkeypatch.setattr(Catalog, "described", lambda *_: {})
    assert search(catalog, "heron", [REF]) == ()
