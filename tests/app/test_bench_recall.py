"""Measuring recall on a corpus, and on a repository's own memories."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from cli_ground import Ground, memory

from gitmem.app.bench_recall import (
    Measured,
    RecallCorpus,
    figures,
    measure,
    moment,
    normal,
    number_of,
    path_of,
    read_given,
    read_line,
)
from gitmem.cli.bench import each
from gitmem.core.errors import UsageError
from gitmem.git.command import GitCommand

NOW = 1_800_000_000
CORPUS = [
    {"id": "queue", "text": "Deploys go through the blue queue.", "time": "2026-03-01", "space": "team"},
    {"id": "green", "text": "Deploys go through the green queue.", "time": "2026-05-01", "space": "team"},
    {"id": "tabs", "name": "tabs", "text": "Makefiles want tabulators.", "space": "team", "more": 1},
    {"id": "queue", "text": "The blue queue is for parrots.", "space": "zoo"},
]
QUERIES = [
    {"id": "1", "query": "which queue takes deploys?", "relevant": ["queue", "green"], "space": "team"},
    {
        "id": "2",
        "query": "which queue takes deploys?",
        "relevant": ["queue", "green"],
        "at": "2026-04-01",
        "space": "team",
    },
    {"id": "3", "query": "do makefiles want tabulators?", "relevant": ["tabs"], "space": "team"},
    {"id": "4", "query": "which queue is for parrots?", "relevant": ["queue"], "space": "zoo"},
    {"id": "5", "query": "who feeds the elephants?", "relevant": [], "space": "zoo"},
    {"id": "6", "query": "parrots", "relevant": ["absent"], "space": "zoo"},
    {"id": "7", "query": "makefiles", "relevant": ["tabs"], "at": "1 May 2020", "space": "zoo"},
]


def lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def given(folder: Path, corpus: Any = CORPUS, queries: Any = QUERIES) -> RecallCorpus:
    return read_given(lines(folder / "corpus.jsonl", corpus), lines(folder / "queries.jsonl", queries))


def run(folder: Path, read: RecallCorpus) -> Measured:
    return measure(read, GitCommand(dict(os.environ)), folder / "ground", NOW, lambda _: None)


def test_a_query_sees_its_own_space_as_of_its_own_time(tmp_path: Path) -> None:
    found = {one["id"]: one for one in each(run(tmp_path, given(tmp_path)).asked)}
    assert set(found["1"]["found"]) == {"queue", "green"}
    assert found["2"]["found"] == ["queue"]
    assert (found["2"]["relevant"], found["2"]["missing"]) == (["queue"], ["green"])
    assert found["3"]["found"] == ["tabs"]
    assert found["4"]["found"] == ["queue"]
    assert (found["6"]["relevant"], found["7"]["missing"]) == ([], ["tabs"])


def test_the_figures_have_a_stable_form(ground: Ground, tmp_path: Path) -> None:
    """What reads them, reads these keys: some may be added, none may go or change its meaning."""
    given(tmp_path)
    files = ("--corpus", tmp_path / "corpus.jsonl", "--queries", tmp_path / "queries.jsonl")
    ran = ground.run("bench", "recall", *files, "--json", "--verbose")
    total = ran.json
    assert "3 relevant ids" in ran.err
    ms, index, rows = total.pop("ms"), total.pop("index"), total.pop("per_query")
    assert ms.keys() == {"p50", "p95"}
    assert 0 < ms["p50"] <= ms["p95"]
    assert index.keys() == {"seconds", "bytes"}
    assert min(index.values()) > 0
    assert rows[3] == {
        "space": "zoo",
        "id": "4",
        "query": "which queue is for parrots?",
        "relevant": ["queue"],
        "missing": [],
        "first": 1,
        "found": ["queue"],
        "selected": ["queue"],
    }
    sure = {"mean": 100.0, "low": 100.0, "high": 100.0}
    assert total == {
        "spaces": 2,
        "memories": 4,
        "threads": 0,
        "queries": 4,
        "recall@1": {"mean": 87.5, "low": 63.0, "high": 100.0},
        "recall@5": sure,
        "recall@10": sure,
        "mrr": 1.0,
        "selected": {"answered": 4, "shown": 1.25, "recall@5": sure},
        "nothing_relevant": {"queries": 1, "answered": 0},
        "missing_relevant": 3,
        "unanswerable": 2,
        "unread_times": 0,
        "interval": "95 %, normal over queries",
    }
    shown = ground.run("bench", "recall", *files).out
    assert "recall@5                           mean 100.0, low 100.0, high 100.0\n" in shown
    assert "queries                            4\n" in shown


def test_a_query_that_finds_nothing_counts_as_nothing(tmp_path: Path) -> None:
    asked = [{"id": 1, "query": "elephants", "relevant": ["tabs"], "space": "team"}]
    total = figures(run(tmp_path, given(tmp_path, CORPUS, asked)))
    assert total["recall@10"]["mean"] == total["mrr"] == total["selected"]["answered"] == 0


def test_a_line_is_read_as_a_memory_with_its_own_name() -> None:
    head = json.dumps({"id": "a", "name": "n"})
    fields = read_line("main/0/0.md", f"{head}\nbody".encode())
    assert (fields.name, fields.body) == ("n", "body")
    text = "---\nname: real\ndescription: about\ntype: user\n---\n\nbody"
    head = json.dumps({"id": "a", "name": ""})
    fields = read_line("main/0/0.md", f"{head}\n{text}".encode())
    assert (fields.name, fields.description, fields.type) == ("real", "about", "user")


@pytest.mark.parametrize(
    ("corpus", "queries", "said"),
    [
        ([{"id": "a"}], [], "corpus.jsonl, line 1: no `text`"),
        ([{"id": "a", "text": 3}], [], "`text` is no text"),
        (
            [{"id": "a", "text": "x"}, {"id": "a", "text": "y"}],
            [],
            "line 2: the id 'a' is in its space twice",
        ),
        ([], [{"id": "q", "query": "x"}], "queries.jsonl, line 1: `relevant` is no list"),
        ([], [{"id": "q", "query": "x", "relevant": [], "at": "some day"}], "`at` is no clear time"),
        ([], [{"id": "q", "query": "x", "relevant": []}] * 2, "line 2: the id 'q'"),
    ],
)
def test_a_line_of_another_form_is_told_by_file_and_number(
    tmp_path: Path, corpus: list[dict[str, Any]], queries: list[dict[str, Any]], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        given(tmp_path, corpus, queries)


def test_what_is_no_json_is_told_too(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"id": "a", "text": "x"}\n\n{"id"\n', "utf-8")
    with pytest.raises(UsageError, match="line 3: no JSON"):
        read_given(path, path)
    with pytest.raises(UsageError, match=r"line 1: no JSON object"):
        read_given(lines(path, [[]]), path)  # type: ignore[list-item]
    with pytest.raises(UsageError, match="cannot be read"):
        read_given(tmp_path / "absent", path)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2023-05-08T13:56:00+00:00", 1_683_554_160),
        ("2023-05-08 13:56", 1_683_554_160),
        ("1:56 pm on 8 May, 2023", 1_683_554_160),
        ("May 8th, 2023 at 1:56 p.m.", 1_683_554_160),
        ("Monday, 2023-05-08, 13:56:00", 1_683_554_160),
        (1_683_554_160, 1_683_554_160),
        ("12:00 am on 8 May 2023", 1_683_504_000),
        ("8 May 2023", 1_683_504_000),
        ("3/4/2023", None),
        ("8 May", None),
        ("30 February 2023", None),
        ("13:56 pm on 8 May 2023", None),
        ("8 May 2023 to 9 May 2023", None),
        ("last summer", None),
        (True, None),
        (None, None),
    ],
)
def test_a_time_is_read_where_it_is_clear(written: object, read: int | None) -> None:
    assert moment(written) == read


def test_a_day_as_of_which_is_asked_means_its_end() -> None:
    """As `--at` takes it."""
    for day in ("2023-05-08", "8 May 2023"):
        assert moment(day, end=True) == moment("2023-05-08T23:59:59Z")
    assert moment("2023-05-08 13:56", end=True) == moment("2023-05-08 13:56")


def test_the_interval_of_a_mean() -> None:
    """Mean and standard error of 0, 0, 1, 1 are 0.5 and 0.2887."""
    assert [round(value, 3) for value in normal([0, 0, 1, 1])] == [0.5, 0.0, 1.0]
    assert [round(value, 3) for value in normal([0, 1] * 50)] == [0.5, 0.402, 0.598]
    assert normal([1.0]) == (1.0, 0.0, 1.0)


def test_own_memories_are_asked_for_by_their_descriptions(ground: Ground) -> None:
    ground.learn(
        {
            "main/deploys.md": memory("deploys", "Before noon.", "Deploys happen before noon"),
            "reviewer/tabs.md": memory("tabs", "Makefiles.", "Indent Makefiles with tabs"),
            "main/vague.md": memory("vague", "Text.", "...!"),
            "main/none.md": "no frontmatter, no name\n",
        }
    )
    told = ground.run("bench", "recall", "--own", "--json").json
    assert (told["memories"], told["found"]) == (4, 2)
    assert [(one["scope"], one["path"]) for one in told["not_found"]] == [
        ("project", "main/none.md"),
        ("project", "main/vague.md"),
    ]
    assert told["not_found"][0]["why"] == "it has no description and no name"
    assert told["not_found"][1].keys() == {"scope", "path", "query", "rank", "why"}
    said = ground.run("bench", "recall", "--own").out
    assert "2 of 4 are found by their own description" in said
    assert "project/main/none.md: it has no description" in said


def test_files_and_own_do_not_go_together(ground: Ground, tmp_path: Path) -> None:
    ground.run("bench", "recall", "--own", "--corpus", tmp_path, code=2)
    ground.run("bench", "recall", "--corpus", tmp_path, code=2)


def test_a_line_whose_context_holds_the_one_before_continues_its_session(tmp_path: Path) -> None:
    corpus = [
        {"id": "b", "text": "What do herons eat?", "context": "Fish, mostly."},
        {"id": "a", "text": "Fish, mostly.", "context": "What do herons eat?"},
        {"id": "c", "text": "Fish, of course."},
        *({"id": f"n{n}", "text": f"Line {n} says nothing."} for n in range(300)),
    ]
    measured = run(
        tmp_path, given(tmp_path, corpus, [{"id": "q", "query": "what do herons eat", "relevant": ["a"]}])
    )
    assert figures(measured)["threads"] == 1
    assert set(measured.asked[0].ranked) == {"a", "b"}
    paths = [path_of(number) for number in range(600)]
    assert paths == sorted(paths)
    assert [number_of(path) for path in paths] == list(range(600))
