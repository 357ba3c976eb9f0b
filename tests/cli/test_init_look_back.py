"""`git mem init` looks back at sessions that were recorded before, where the person says so."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest
from database import Database
from memory_files import proposed
from ran import Gitmem, Ran
from slices import often
from transcripts import Transcript

from gitmem.app.context import real_edges
from gitmem.cli import extract as verb
from gitmem.core.change import ChangeOrigin
from gitmem.engines.engine import ExtractInput, Extraction
from gitmem.engines.offline import OfflineEngine
from gitmem.flows import extraction
from gitmem.flows.context import initialised_at
from gitmem.flows.dream_sources import SaidSince
from gitmem.flows.extraction import context_of
from gitmem.flows.sessions import sessions_here
from gitmem.ledger.suggestions import open_suggestions

ASKED = "Please remember that we deploy from the release branch only."
STATED = (
    "We never mock the database in tests, because mocks hid a broken migration.",
    "Never squash commits, because bisecting needs them.",
    "Always use tabs in Makefiles, because make refuses spaces.",
    "We never force-push to main, because it lost work.",
    "Never log request bodies, because they hold personal data.",
    "Always pin the base image by digest, because a tag moved once.",
)


class Terminal(io.StringIO):
    """Somebody who types."""

    def isatty(self) -> bool:
        return True


class Plain(OfflineEngine):
    """Takes every message for a statement: what is tested here is not which ones are found."""

    def extract(self, given: ExtractInput) -> Extraction:
        said = [message for message in given.messages if message.role == "person"]
        return Extraction(
            tuple(
                proposed(
                    f"said-{one.uuid[:8]}",
                    description=one.text.removeprefix("Please remember that we ").strip("."),
                    body=one.text,
                    asked=one.text == ASKED,
                    origin=ChangeOrigin(given.session, one.uuid, one.uuid, one.time),
                )
                for one in said
            )
        )


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extraction, "OfflineEngine", Plain)
    monkeypatch.setattr(verb, "engine_for", lambda *_: Plain())


@pytest.fixture
def past(repo: Path, home: Path) -> list[Path]:
    """Seven sessions of one statement each, a day apart, oldest first."""
    made = []
    for number, text in enumerate((ASKED, *STATED)):
        session = Transcript(f"0000000{number}-0000-4000-8000-000000000000", str(repo))
        session.user(text)
        session.agent("Done.")
        path = session.record(home)
        os.utime(path, (1_794_000_000 + 86_400 * number,) * 2)
        made.append(path)
    return made


def typed(
    monkeypatch: pytest.MonkeyPatch, gitmem: Gitmem, *answers: str, more: tuple[str, ...] = ()
) -> Ran:
    monkeypatch.setattr("sys.stdin", Terminal("".join(f"{one}\n" for one in answers)))
    return gitmem("init", *more)


def waits(repo: Path) -> list[str]:
    return [one.change.body for one in open_suggestions(initialised_at(real_edges(repo)))]


def test_the_best_five_are_shown_and_taken_by_number(gitmem, repo, past, monkeypatch) -> None:
    done = typed(monkeypatch, gitmem, "y", "y", "1, 3")
    assert "7 recorded sessions of before: look through them now?" in done.err
    assert "looked through 7 sessions" in done.err and "1 more wait" in done.err
    shown = [line for line in done.out.splitlines() if line[:1].isdigit()]
    assert [line[0] for line in shown] == ["1", "2", "3", "4", "5"]
    assert "stored, as it was asked for: deploy from the release branch only" in done.out
    taken = [line for line in done.out.splitlines() if line.startswith("stored ")]
    assert len(taken) == 2 and len(waits(repo)) == 4
    assert len(gitmem("list", "--json").json) == 3
    # Nothing is asked twice.
    assert "recorded session" not in typed(monkeypatch, gitmem, more=("--since", "2020-01-01")).err


@pytest.mark.parametrize(
    ("answer", "left"), often([("", 6), ("none", 6), ("8 0 x", 6), ("all", 1)], "8 0 x", "all")
)
def test_what_was_named_is_stored_and_nothing_else(
    gitmem: Gitmem, repo: Path, past: list[Path], monkeypatch: pytest.MonkeyPatch, answer: str, left: int
) -> None:
    typed(monkeypatch, gitmem, "y", "y", answer)
    assert len(waits(repo)) == left and len(gitmem("list", "--json").json) == 7 - left


def test_after_a_no_nobody_looks_at_them(gitmem, repo, home, past, monkeypatch) -> None:
    """Neither the worker, of whichever client's sessions, nor a dream's engine."""
    Database(home / ".local/share/opencode", str(repo))
    assert "skipped" in typed(monkeypatch, gitmem, "y", "n").err
    told = gitmem("extract", "--json").json
    assert told["sessions"] == []
    assert waits(repo) == [] and gitmem("list", "--json").json == []
    edges = real_edges(repo)
    assert not len(SaidSince(initialised_at(edges), edges, 0.0))


def test_a_yes_given_beforehand_looks_and_accepts_nothing(gitmem, repo, past) -> None:
    done = gitmem("init", "-y")
    assert "looked through 7 sessions" in done.err
    assert len([line for line in done.out.splitlines() if line[:1].isdigit()]) == 5
    assert len(waits(repo)) == 6 and len(gitmem("list", "--json").json) == 1


def test_a_dry_run_says_how_many_and_since_narrows_it(gitmem: Gitmem, repo: Path, past: list[Path]) -> None:
    assert "look through 7 recorded sessions" in gitmem("init", "-n").out
    narrow = ("--since", "2026-11-09")
    assert "look through 4 recorded sessions" in gitmem("init", "-n", *narrow).out
    assert "looked through 4 sessions" in gitmem("init", "-y", *narrow).err
    assert len(waits(repo)) == 4 and gitmem("list", "--json").json == []
    assert gitmem("init", "--since", "long ago", ok=False).code == 2


def test_where_nobody_can_answer_the_worker_comes_to_them(gitmem, repo, past, monkeypatch) -> None:
    gitmem("init", "-y", "--since", "2030-01-01")
    monkeypatch.setattr("sys.stdin", io.StringIO())
    gitmem("init", "--since", "2020-01-01")
    assert waits(repo) == []
    gitmem("extract")
    assert len(waits(repo)) == 6


def test_it_ends_when_time_is_up_or_somebody_interrupts_and_shows_what_it_found(gitmem, repo, past) -> None:
    gitmem("init", "-y", "--since", "2030-01-01")
    edges = real_edges(repo)
    workspace = initialised_at(edges)
    ticks = iter((0.0, 1.0, extraction.PATIENCE - 1, extraction.PATIENCE))
    files = extraction.unread(workspace, sessions_here(workspace, edges))
    assert [file.path for file in files] == past[::-1]
    found = extraction.look_back(
        context_of(workspace, edges, by_hand=True), files, lambda _: None, lambda: next(ticks)
    )
    assert (found.looked, len(found.best), found.more) == (2, 2, 0)

    def interrupt(step: str) -> None:
        if "session 2" in step:
            raise KeyboardInterrupt

    left = extraction.unread(workspace, sessions_here(workspace, edges))
    found = extraction.look_back(context_of(workspace, edges, by_hand=True), left, interrupt, lambda: 0.0)
    assert (len(left), found.looked, len(found.best)) == (5, 1, 1)
    assert len(extraction.unread(workspace, sessions_here(workspace, edges))) == 4
