"""Questions that share no content word with their memory: what the default makes of them."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest

from gitmem.app.bench_recall import RecallCorpus, measure, read_given
from gitmem.core.memory import parse
from gitmem.git.command import GitCommand
from gitmem.search.catalog import Catalog
from gitmem.search.words import STOP, indexed

FOLDER = Path(__file__).parents[1] / "fixtures/paraphrases"

MOST_WRONG = 0.25
"""Share of the questions that may be answered with memories that do not: what finds nothing by words should
say nothing. One in five was, when the questions were written."""


@pytest.fixture(scope="module")
def given() -> RecallCorpus:
    return read_given(FOLDER / "corpus.jsonl", FOLDER / "queries.jsonl")


def test_every_memory_is_whole_and_asked_for(given: RecallCorpus) -> None:
    (space,) = given.spaces
    assert len(space.queries) >= 120
    assert {one for query in space.queries for one in query.relevant} == {line.id for line in space.lines}
    assert len({query.text for query in space.queries}) == len(space.queries)
    for line in space.lines:
        memory = parse(f"{line.id}.md", line.text.encode())
        assert (memory.name, bool(memory.description), bool(memory.body.strip())) == (line.id, True, True)
        assert memory.front is not None
        assert memory.front.text("type") in ("user", "feedback", "project", "reference")


def test_no_question_shares_a_content_word_with_its_memory(given: RecallCorpus, tmp_path: Path) -> None:
    """Else it measures the stemmer, and a search that knows no meaning could pass."""
    (space,) = given.spaces
    memories = [parse("", line.text.encode()) for line in space.lines]
    texts = {one.name: f"{one.name}\n{one.description}\n{one.body}" for one in memories}
    with closing(Catalog.open(tmp_path)) as catalog:
        stop = set(" ".join(catalog.stems(STOP)).split())
        asked = [set(stems.split()) for stems in catalog.stems(indexed(one.text) for one in space.queries)]
        kept = dict(zip(texts, catalog.stems(map(indexed, texts.values())), strict=True))
    shared = {
        query.id: words & set(kept[one].split()) - stop
        for query, words in zip(space.queries, asked, strict=True)
        for one in query.relevant
    }
    assert {id: words for id, words in shared.items() if words} == {}


def test_what_words_cannot_find_is_mostly_met_with_silence(given, home: Path, tmp_path: Path) -> None:
    found = measure(given, GitCommand(dict(os.environ)), tmp_path / "ground", 1_800_000_000, lambda _: None)
    wrong = [one.query.text for one in found.asked if one.selected and not one.selected_share]
    right = [one.query.text for one in found.asked if one.share(5)]
    print(f"found among five: {len(right)} of {len(found.asked)}; wrongly answered: {len(wrong)}")
    assert len(wrong) <= MOST_WRONG * len(found.asked), wrong
