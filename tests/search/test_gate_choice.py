"""Which candidates are shown: what fits, each fact once, and nothing that is known to be in use."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from memory_repository import REF, MemoryRepository, follow, memory

from gitmem.core.change import Header
from gitmem.core.errors import EngineError
from gitmem.flows.recall import kept_here, select_by
from gitmem.search.catalog import Catalog
from gitmem.search.gate import (
    PROMPT,
    QUESTION,
    RecallGate,
    fits,
    headed_alike,
    said_by,
    select,
    warns,
)
from gitmem.search.query import Candidate, search
from gitmem.transcripts.privacy import NOTHING, compile_ignore

DAY = 86_400
PARTS = {
    "covered": 0.8, "word": 2.0, "worth": 5.0, "matched": 2.0, "headed": 2.0, "asked": 2.0,
    "telling": 2.0, "told": 2.0, "decisive": 2.0,
}  # fmt: skip
TOKEN = "ghp_" + "x7Kq2LmN8pRs4TvW6yZa1BcD3eFg5HjK9uXo"


def candidate(file: str = "a.md", description: str = "", score: float = 5.0, **more: object) -> Candidate:
    made = Candidate(
        ref="refs/gitmem/project",
        agent="main",
        path=f"main/{file}",
        blob=file,
        score=score,
        parts=PARTS,
        name=file.removesuffix(".md"),
        description=description,
        type="project",
        archived=False,
        time=DAY,
    )
    return replace(made, **more)  # type: ignore[arg-type]


def reasons(selection: object) -> list[tuple[str, str]]:
    return [(left.candidate.file, left.why) for left in selection.left]  # type: ignore[attr-defined]


def asked(folder: Path, files: dict[str, str], query: str, gate: RecallGate) -> list[str]:
    """What passes a gate, of memories among two hundred others."""
    others = {
        f"main/o{n}.md": memory(f"other-{n}", f"Notes on topic{n}", f"Colour {n}.") for n in range(200)
    }
    with closing(Catalog.open(folder)) as catalog:
        follow(catalog, MemoryRepository(), {**others, **files})
        return [one.file for one in select(search(catalog, query, [REF]), gate=gate).chosen]


@pytest.mark.parametrize(
    ("covered", "prompt", "question"), [(0.6, True, True), (0.4, False, True), (0.2, False, False)]
)
def test_who_asks_is_told_more_than_who_does_not(covered: float, prompt: bool, question: bool) -> None:
    one = candidate(score=6.0, parts=PARTS | {"covered": covered, "telling": 4.0})
    assert [fits(one, 2.5, gate) for gate in (PROMPT, QUESTION)] == [prompt, question]


def test_who_asks_is_told_what_says_most_and_a_warning_is_known_by_its_words() -> None:
    one = candidate(score=3.0)
    assert [fits(one, 2.5, gate) for gate in (PROMPT, QUESTION)] == [False, True]
    assert warns("kubectl drain hangs without --force") and warns("Never apply to prod")
    assert not warns("kubectl get pods -n apps lists the pods")


@pytest.mark.parametrize("gate", [PROMPT, QUESTION])
def test_words_that_no_memory_has_count_against_all(tmp_path: Path, gate: RecallGate) -> None:
    """What a request is about may be nowhere here, though a word beside it is."""
    limits = {"main/a.md": memory("limits", "The quota of the importer", "It is 500 rows.")}
    query = "raise the quota of Kubernetes, Elasticsearch and Grafana"
    assert asked(tmp_path / "elsewhere", limits, query, gate) == []
    assert asked(tmp_path / "here", limits, "raise the quota of the importer", gate) == ["a.md"]


def test_a_prompt_that_says_nothing_is_told_nothing(tmp_path: Path) -> None:
    """Who asks "do we have a test for this?" of memory means what is headed so; who types it does not."""
    test = {"main/a.md": memory("test-for-all", "We have a test for all", "Also for this.")}
    told = [
        asked(tmp_path / str(number), test, "do we have a test for this?", gate)
        for number, gate in enumerate((PROMPT, QUESTION))
    ]
    assert told == [[], ["a.md"]]


def test_a_word_in_a_description_weighs_more_than_one_deep_in_a_body(tmp_path: Path) -> None:
    deep = "\n\n".join([*["Something else altogether."] * 30, "The importer and the quota.", "More."])
    query = "raise the quota of the importer for large customers"
    for number, (file, told) in enumerate(
        (
            (memory("limits", "The quota of the importer", "It is 500 rows."), True),
            (memory("limits", "How we work", deep), False),
        )
    ):
        assert bool(asked(tmp_path / str(number), {"main/a.md": file}, query, PROMPT)) is told


def test_what_every_memory_shares_with_a_prompt_is_told_of_none(tmp_path: Path) -> None:
    """A hit is weighed against what others score: of twenty alike none is the answer."""
    alike = {
        f"main/a{n}.md": memory(f"shop-{n}", f"Shop part {n}", "The shop's checkout.") for n in range(40)
    }
    query = "the checkout of the shop is slow"
    assert asked(tmp_path / "alike", alike, query, PROMPT) == []
    one = {"main/a1.md": alike["main/a1.md"]}
    assert asked(tmp_path / "one", one, query, PROMPT) == ["a1.md"]


SAYS = "Integration tests run on the real database"


@pytest.mark.parametrize(
    ("first", "second", "turned"),
    [
        ((SAYS, DAY), (SAYS, DAY), False),
        ((SAYS, DAY), (SAYS, DAY + 43_199), False),
        ((SAYS, DAY), (SAYS, DAY + 43_200), True),
        ((SAYS, DAY + 43_200), (f"{SAYS} in Docker", DAY), False),
        ((SAYS, DAY), (f"{SAYS} in Docker", DAY), True),
        ((f"{SAYS} in Docker", DAY), (SAYS, DAY), False),
        (("Port 8080 is taken by the proxy", DAY), ("Port 9090 is taken by the proxy", 9 * DAY), False),
        (("Always squash pull requests here", DAY), ("Never squash pull requests here", 9 * DAY), False),
    ],
)
def test_of_two_that_say_the_same_the_fresher_or_fuller_comes_first(
    first: tuple[str, int], second: tuple[str, int], turned: bool
) -> None:
    given = [
        candidate("a.md", first[0], time=first[1]),
        candidate("b.md", second[0], time=second[1], ref="refs/heads/user"),
    ]
    assert [one.file for one in headed_alike(given)] == (["b.md", "a.md"] if turned else ["a.md", "b.md"])


def test_a_memory_comes_before_a_line_of_a_log_that_says_the_same() -> None:
    """However much fresher that is."""
    line = candidate("2026-11-20.md#0123456789ab", SAYS, time=9 * DAY)
    one = candidate("a.md", SAYS)
    assert headed_alike([line, one]) == headed_alike([one, line]) == (one, line)


def test_a_body_goes_only_where_another_says_all_of_it() -> None:
    known = "Integration tests run on the real database in Docker, port 5433."
    assert said_by("Integration tests run on the real database.", ["Elsewhere.", known]) == 1
    assert said_by("Integration tests run on the real database, port 5434.", [known]) is None
    assert said_by("Integration tests never run on the real database.", [known]) is None


class Asked:
    """An engine that takes the headers with these names."""

    name = "scripted"
    reads_history = False

    def __init__(self, *names: str) -> None:
        self.names = names
        self.told: list[str] = []

    def choose(self, query: str, headers: Sequence[Header], limit: int) -> tuple[int, ...]:
        self.told = [header.name for header in headers]
        if not self.names:
            raise EngineError("no answer")
        return tuple(self.told.index(name) for name in self.names)[:limit]


def test_a_model_chooses_by_one_line_each_and_never_learns_of_a_secret() -> None:
    given = [
        candidate("ports.md", "Which ports are taken"),
        candidate("login.md", f"The token is {TOKEN}"),
        candidate("hush.md", "<private>of Ann</private>"),
        candidate("codename.md", "About project Bluebird"),
        candidate("tone.md", "Answers are short"),
    ]
    engine = Asked("tone", "ports")
    scopes = {"refs/gitmem/project": "project"}
    selection = select_by(engine, "q", given, scopes, 5, compile_ignore(["bluebird"]))  # type: ignore[arg-type]
    assert engine.told == ["ports", "tone"]
    assert [one.file for one in selection.chosen] == ["tone.md", "ports.md"]
    assert reasons(selection) == [(f"{n}.md", "not-chosen") for n in ("login", "hush", "codename")]


def test_a_question_with_what_is_to_stay_here_is_not_sent() -> None:
    assert kept_here("which port?", NOTHING) == ""
    assert kept_here("which <private>port</private>?", NOTHING) == "it holds <private>"
    assert kept_here("about Bluebird", compile_ignore(["bluebird"])) == "gitmem.ignore matches it"
    assert kept_here(f"why is {TOKEN} refused", NOTHING) == "it holds what looks like a secret"
