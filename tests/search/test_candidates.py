"""How candidates are found: by passages, links and times, within a budget, whatever stands in a file."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from memory_repository import DAY, REF, START, MemoryRepository, follow, memory

from gitmem.core.dates import asked_days
from gitmem.core.limits import MEMORY_BYTES
from gitmem.search import candidates, postings
from gitmem.search.candidates import SearchQuery
from gitmem.search.catalog import Catalog
from gitmem.search.query import Candidate, may_name_time, search
from gitmem.search.score import Corpus, QueryTerm, rarity, read_text
from gitmem.search.text import MANY_LINES, MOST, links, passages, read_memory
from gitmem.search.words import FIELD, HEADED, KIND_BITS, PASSAGE, STRONG, WEAK, char, number_of, unpack

FILLER = "\n\n".join(
    f"Paragraph {n} says nothing of note, as paragraphs {n + 1} and others do." for n in range(40)
)


def by_path(found: tuple[Candidate, ...]) -> dict[str, Candidate]:
    return {candidate.path: candidate for candidate in found}


def test_a_long_memory_is_found_by_one_claim(catalog: Catalog, fake: MemoryRepository) -> None:
    """Its length does not weigh against the claim that answers."""
    files = {
        "main/long.md": f"{FILLER}\n\nThe staging gateway restarts at midnight.\n\n{FILLER}",
        "main/a.md": f"The gateway is grey.\n\n{FILLER}\n\nSomething restarts.",
        "main/b.md": "Midnight is dark.",
    }
    follow(catalog, fake, files)
    assert search(catalog, "when does the gateway restart?", [REF])[0].path == "main/long.md"


@pytest.mark.parametrize(
    "body",
    ["- x\n" * 60_000, "word " * 60_000, "\n".join(f"{n:x}{n * n:x}" for n in range(20_000)), "[" * 90_000],
    ids=["items", "one paragraph", "no words", "brackets"],
)
def test_a_very_long_memory_stays_a_few_passages(catalog: Catalog, fake, body: str) -> None:
    follow(catalog, fake, {"main/a.md": memory("flamingo", body=body), "main/b.md": "pelican"})
    assert [c.path for c in search(catalog, "flamingo", [REF])] == ["main/a.md"]
    assert len(passages(body[:MEMORY_BYTES])) <= MOST


def test_blank_lines_at_the_ends_of_a_very_long_memory_are_no_passages() -> None:
    lines = "\n\n".join(f"Line {number} of it." for number in range(MANY_LINES))
    assert passages(f"\n\n{lines}\n\n \n") == passages(lines) and len(passages(lines)) <= MOST


def test_what_a_candidate_links_to_or_is_linked_from_shares_its_score(catalog: Catalog, fake) -> None:
    files = {
        "main/deploys.md": memory("deploys", "How deploys run", "See [[Freeze Window]] and [[nowhere]]."),
        "main/freeze-window.md": memory("Freeze Window", "Nothing ships in the last week of a quarter"),
        "main/rollback.md": memory("rollback", "Undoing", "Comes after [[deploys]]."),
        "main/archive/ab/undo.md": memory("undo", "Long ago", "Came after [[deploys]]."),
        "main/other.md": memory("other", "Nothing of it"),
        "reviewer/freeze-window.md": memory("freeze-window", "Another agent's"),
    }
    follow(catalog, fake, files)
    found = search(catalog, "how do deploys run", [REF], ["main", "reviewer"])
    assert found[0].path == "main/deploys.md"
    shared = by_path(found[1:])
    assert shared.keys() == {f"main/{name}.md" for name in ("freeze-window", "rollback", "archive/ab/undo")}
    assert all("links" in one.why for one in shared.values())
    assert 0 < shared["main/freeze-window.md"].why["links"] < found[0].score / 2
    assert shared["main/freeze-window.md"].parts["told"] == 0


def test_a_question_that_names_a_time_prefers_what_was_learned_then(catalog: Catalog, fake) -> None:
    old = {"main/a.md": memory("a", "The incident in the queue"), "main/c.md": memory("c", "Lunch at noon")}
    tip = follow(catalog, fake, old)
    new = old | {
        "main/b.md": memory("b", "The incident in the queue, again"),
        "main/d.md": memory("d", "Notes", "On 2026-09-21 the incident was in the queue."),
        "main/e.md": memory("e", "Moving", "The office moves on 2026-12-24."),
    }
    follow(catalog, fake, new, tip, time=START + 30 * DAY)
    now = START + 31 * DAY
    assert search(catalog, "the incident yesterday", [REF], now=now)[0].path == "main/b.md"
    assert "times" not in search(catalog, "the incident yesterday", [REF])[0].why
    named = by_path(search(catalog, "which incident was on 2026-09-21?", [REF], now=now))
    assert named["main/d.md"].why["times"] > named["main/a.md"].why["times"] > 0  # named, and taught then
    assert "main/b.md" not in named or "times" not in named["main/b.md"].why
    assert {c.path for c in search(catalog, "yesterday", [REF], now=now)} == {
        "main/b.md",
        "main/d.md",
        "main/e.md",
    }
    christmas = START + 94 * DAY
    assert {c.path for c in search(catalog, "today", [REF], now=christmas)} == {"main/e.md"}, "named alone"
    then = {c.path for c in search(catalog, "the incident yesterday", [REF], when={REF: tip}, now=now)}
    assert then == set()


def test_what_the_strategies_contribute_adds_up(catalog: Catalog, fake: MemoryRepository) -> None:
    files = {
        f"main/m{n}.md": memory(f"m{n}", f"queue {n}", f"[[m{n + 1}]] on 2026-09-{n + 10}")
        for n in range(9)
    }
    follow(catalog, fake, files)
    for candidate in search(catalog, "the queue on 2026-09-12", [REF], now=START):
        assert sum(candidate.why.values()) == pytest.approx(candidate.score)
        assert candidate.why.keys() <= {"words", "links", "times"}


def test_common_words_are_looked_at_without_walking_their_lists(catalog, fake, monkeypatch) -> None:
    """The budget is spent on the rarest words; the others still decide among what those found."""
    files = {f"main/m{n:03}.md": f"the queue {'flamingo ' * (n % 30 == 7)}has {n}" for n in range(180)}
    files |= {"main/x.md": "a flamingo beside the road"}
    follow(catalog, fake, files)
    monkeypatch.setattr(candidates, "BUDGET", 10)
    question = candidates.ask(catalog, "flamingo in a queue")
    found, whole = candidates.seek(catalog, question, 10)
    assert (len(found), whole) == (10, False)
    every, _ = candidates.seek(catalog, question)
    first, whole = candidates.seek(catalog, question, window=3)
    assert (len(first), whole) == (7, False) and first.items() <= every.items()
    order = [c.path for c in search(catalog, "flamingo in a queue", [REF], limit=7)]
    assert order[-1] == "main/x.md"


def test_of_as_good_texts_none_is_left_out_for_being_found_by_a_later_word(catalog: Catalog, fake) -> None:
    """The newest of equal ones is wanted, and the second word alone finds it."""
    follow(
        catalog,
        fake,
        {f"main/{word}-{n}.md": f"# {word} {n}" for word in ("heron", "lynx") for n in range(4)},
    )
    found, _ = candidates.seek(catalog, candidates.ask(catalog, "heron lynx"), window=3)
    assert len(found) == 8 and len(set(found.values())) == 1


@pytest.mark.parametrize(
    ("asked", "few", "found"), [("heron queue", 8, 8), ("heron queue", 7, 2), ("queue", 7, 8)]
)
def test_a_common_word_finds_nothing_where_there_are_many_texts_and_a_rarer_word(
    catalog: Catalog,
    fake: MemoryRepository,
    monkeypatch: pytest.MonkeyPatch,
    asked: str,
    few: int,
    found: int,
) -> None:
    """One that a quarter of all has is still a rare one."""
    monkeypatch.setattr(candidates, "COMMON_FROM", few)
    follow(catalog, fake, {f"main/m{n}.md": f"queue {n}{' heron' * (n < 2)}" for n in range(8)})
    assert len(candidates.seek(catalog, candidates.ask(catalog, asked))[0]) == found


@pytest.mark.parametrize("each", [1, 3])
def test_what_leads_is_read_with_four_passages_around_it_and_two_memories(each: int) -> None:
    """One that cannot be read has none."""
    thread = [candidates.SearchEntry(n, n + 100, REF, f"main/{n:02}.md", 0, n, 1, "") for n in range(14)]
    alone = {
        n + 100: read_text(FIELD.join(("", "", PASSAGE.join(f"{n}.{at}" for at in range(each)))))
        for n in range(14)
        if n != 5
    }
    found = candidates._beside({1, 7}, {1: thread}, alone)
    assert list(found) == [0, 1, 2, 3, 6, 7, 8, 9]
    assert all(found[n].body == alone[n + 100].body for n in found)
    around = [
        " ".join([*(one.words for one in found[n].before), "|", *(one.words for one in found[n].after)])
        for n in (1, 7, 9)
    ]
    assert (
        around
        == {
            1: [
                "0.0 | 2.0 3.0 4.0",
                "3.0 4.0 6.0 | 8.0 9.0 10.0 11.0",
                "6.0 7.0 8.0 | 10.0 11.0 12.0 13.0",
            ],
            3: [
                "0.0 0.1 0.2 | 2.0 2.1 2.2 3.0",
                "4.2 6.0 6.1 6.2 | 8.0 8.1 8.2 9.0",
                "7.2 8.0 8.1 8.2 | 10.0 10.1 10.2 11.0",
            ],
        }[each]
    )


def term(term: str, way: str, count: int, tells: bool = True) -> QueryTerm:
    return QueryTerm(term, (way,) if count else (), tells, count, count, 0)


ASKED = (
    term("alpha", "a", 5), term("beta", "b", 30), term("none", "", 0), term("use", "u", 60, False),
    term("gone", "", 0, False),
)  # fmt: skip


@pytest.mark.parametrize(
    ("texts", "words", "parts"),
    [
        (100, "a\x01u\x01a b", (15.236779, 2.053883, 0.473609, 3, 2, 2, 1)),
        (100, "\x01\x01b", (15.236779, 2.053883, 0.138425, 1, 0, 1, 0)),
        (60, "u\x01a\x01x", (12.715546, 1.549636, 0.342744, 2, 2, 1, 1)),
    ],
)
def test_what_a_text_has_of_a_question_is_counted(texts: int, words: str, parts: tuple[float, ...]) -> None:
    """A word that no memory has is as large a share as any, but where there are few memories."""
    found = candidates.Parts(SearchQuery(ASKED, {}, Corpus(texts, 0, 0, 0, 0))).of(words)
    assert (found["asked"], found["telling"]) == (5, 3)
    names = "worth", "word", "covered", "matched", "headed", "told", "decisive"
    assert [found[name] for name in names] == pytest.approx(parts, abs=1e-6)


def test_of_a_question_whose_words_nothing_has_a_word_is_worth_what_one_text_makes_it() -> None:
    found = candidates.Parts(SearchQuery(ASKED[2:3], {}, Corpus(9, 0, 0, 0, 0))).of("a")
    assert found["word"] == rarity(9, 1) and found["covered"] == 0.0
    assert candidates.Parts(SearchQuery((), {}, Corpus(0, 0, 0, 0, 0))).of("a")["covered"] == 0.0


@pytest.mark.parametrize(
    ("scores", "window", "best"),
    [
        ({1: 1.0, 2: 2.0, 3: 1.0, 4: 1.0}, 3, [2, 4, 3]),
        ({1: 1.0, 2: 2.0, 3: 1.0, 4: 1.0}, 4, [1, 2, 3, 4]),
        ({1: 3.0, 2: 2.0, 3: 1.0}, 2, [1, 2]),
    ],
)
def test_the_best_are_the_highest_and_of_equal_ones_the_newest(
    scores: dict[int, float], window: int, best: list[int]
) -> None:
    assert candidates._best(scores, window) == best


@pytest.mark.parametrize(
    ("texts", "counts", "sought"),
    [
        (200, [50, 51, 150], [50, 51, 150]),
        (201, [50, 51, 150], [50]),
        (204, [51, 52], [51]),
        (201, [51], [51]),
    ],
)
def test_a_word_in_more_than_a_quarter_of_many_texts_is_common(
    texts: int, counts: list[int], sought: list[int]
) -> None:
    asked = SearchQuery(
        (), {char(at): count for at, count in enumerate(counts, 1)}, Corpus(texts, 0, 0, 0, 0)
    )
    found = [*candidates._lists(asked)]
    assert [one.size for one in found] == sought
    assert found[0] == (rarity(texts, sought[0]), 1, sought[0])


ALL = {1: 4.523, 2: 4.941, 3: 2.262, 4: 3.016, 5: 0.0, 6: 2.009}
FIRST = {1: 4.523, 2: 2.262, 3: 2.262, 4: 3.016}


class Postings:
    """Lists of texts by word: (number, kind) each."""

    def __init__(self, **lists: list[tuple[int, int]]) -> None:
        self.lists = {int(word[1:]): rows for word, rows in lists.items()}

    def read(self, query: str) -> list[tuple[int, bytes]]:
        return [
            (word, b"".join((number << KIND_BITS | kind).to_bytes(4, "little") for number, kind in rows))
            for word, rows in self.lists.items()
            if re.search(rf"\b{word}\b", query)
        ]


@pytest.mark.parametrize(
    ("budget", "window", "enough", "found", "whole"),
    [
        (7, None, 9, ALL, True),
        (6, None, 9, ALL | {2: 2.262}, False),
        (6, None, 4, FIRST, False),
        (5, None, 5, FIRST | {6: 2.009}, False),
        (5, None, 4, FIRST, False),
        (2, None, 9, {1: 4.523, 2: 2.262}, False),
        (9, 1, 9, FIRST | {2: 4.941}, False),
        (9, 2, 9, ALL, True),
    ],
)
def test_words_are_added_up_from_the_rarest_on_as_far_as_the_budget_goes(
    monkeypatch: pytest.MonkeyPatch, budget: int, window: int | None, enough: int,
    found: dict[int, float], whole: bool,
) -> None:  # fmt: skip
    """Of a list that is too long the newest is read, until enough was; what cannot lead is left out."""
    monkeypatch.setattr(candidates, "ENOUGH", enough)
    lists = Postings(
        w1=[(1, HEADED), (2, WEAK)], w2=[(2, STRONG), (5, 3), (6, WEAK)], w3=[(3, WEAK), (4, STRONG)]
    )
    counts = {char(word): len(rows) for word, rows in lists.lists.items()}
    question = SearchQuery((), counts, Corpus(50, 0, 0, 0, 0))
    made, all_there = candidates.seek(lists, question, budget, window)  # type: ignore[arg-type]
    assert ({number: round(score, 3) for number, score in made.items()}, all_there) == (found, whole)


def test_a_phrase_counts_as_often_as_its_rarest_word(catalog: Catalog, fake: MemoryRepository) -> None:
    more = {f"main/{name}.md": f"bar: {name}\n\nA bar." for name in "bc"}
    follow(catalog, fake, more | {"main/a.md": "foo: the bar\n\nA foo."})
    bar, foo, both = (
        (one.count, one.passages, one.labels) for one in candidates.ask(catalog, "bar foo foo_bar").asked
    )
    assert both == foo and all(map(int.__gt__, bar, foo))


def test_a_line_of_a_log_is_named_by_its_time(catalog: Catalog, fake: MemoryRepository) -> None:
    line = "- 14:05:33Z [feedback ab] The heron howls.\n"
    follow(catalog, fake, {"main/logs/2026/11/2026-11-20.md": line})
    (found,) = search(catalog, "heron", [REF])
    assert (found.kind, found.name) == ("log", "log 2026-11-20 14:05")
    for days, there in ((7, (found,)), (8, ())):
        assert search(catalog, "heron", [REF], now=found.time + days * DAY) == there


def test_a_line_of_a_log_that_a_memory_says_is_not_found_beside_it(catalog: Catalog, fake) -> None:
    lines = "- 14:05:33Z [feedback ab] The heron howls at night.\n- 15:05:33Z [feedback ab] Herons sleep.\n"
    files = {"main/logs/2026/11/2026-11-20.md": lines, "main/a.md": "The heron howls at night, often.\n"}
    follow(catalog, fake, files)
    assert sorted(found.kind for found in search(catalog, "heron", [REF])) == ["log", "memory"]


def test_a_build_that_is_stopped_goes_on_where_it_was(tmp_path: Path, fake, monkeypatch) -> None:
    monkeypatch.setattr(postings, "BATCH", 10)
    tip = fake.put({f"main/m{n}.md": f"fact {n}" for n in range(35)})
    catalog = Catalog.open(tmp_path)
    read = 0

    def stopping(path: str, data: bytes) -> object:
        nonlocal read
        read += 1
        if read > 25:
            raise KeyboardInterrupt
        return read_memory(path, data)

    with pytest.raises(KeyboardInterrupt):
        catalog.bring_up_to_date(fake, REF, tip, stopping)  # type: ignore[arg-type]
    catalog.close()
    fake.opened.clear()
    again = Catalog.open(tmp_path)
    assert again.bring_up_to_date(fake, REF, tip, read_memory)
    assert len(fake.opened) == 15
    assert len(search(again, "fact", [REF])) == 35


def test_provenance_is_kept_where_the_text_carries_it(catalog: Catalog, fake: MemoryRepository) -> None:
    text = "---\nname: a\nmetadata:\n  originSessionId: 0b5e\n  type: user\n---\n\nx\n"
    follow(catalog, fake, {"main/a.md": text})
    assert catalog.read("SELECT session FROM blob") == [("0b5e",)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see [[No Mocks]], [[no-mocks.md]] and [[Déploi|there]]", ("no-mocks", "deploi")),
        ("[[1, 2]] [[]] [[a\nb]]", ()),
    ],
)
def test_links_are_names_as_slugs(text: str, expected: tuple[str, ...]) -> None:
    assert links(text) == expected


@given(st.integers(0, 0x110000 - 0x800 - 17))
def test_a_word_has_a_character_that_can_be_written(number: int) -> None:
    assert number_of(char(number)) == number
    assert char(number).encode("utf-8").decode() == char(number)
    assert char(number) > "\x0f"


@given(st.lists(st.integers(0, 1 << 29)), st.binary(max_size=3))
def test_a_list_gives_its_numbers_back(numbers: list[int], torn: bytes) -> None:
    data = b"".join((number << KIND_BITS | WEAK).to_bytes(4, "little") for number in numbers)
    assert [entry >> KIND_BITS for entry in unpack(data + torn)] == numbers


TIMES = """
the|in|on|of|port|3|15|2026|2026-03-04|May|march|week|ago|last|two|days|next|Monday|yesterday|tonight|quarter
|the day before yesterday|1999|decide|3rd|.|since|this|months
""".replace("\n", "").split("|")


@given(st.lists(st.sampled_from(TIMES), max_size=7).map(" ".join))
@example("last month")
def test_what_names_a_time_is_looked_at(query: str) -> None:
    if asked_days(query, date(2026, 5, 20)):
        assert may_name_time(query)
    assert not may_name_time("to our dismay it is marked so")
