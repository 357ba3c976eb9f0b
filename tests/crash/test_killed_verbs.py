"""Each verb killed before each call that changes a disk: nothing is lost, and the next command heals."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from pathlib import Path

import pytest
from scenarios import SCENARIOS, Scenario
from stage import Ended, Stage, damage, lines_kept, lines_known, locks, outcome, why_no_trace

pytestmark = pytest.mark.skipif(bool(why_no_trace()), reason=why_no_trace())


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    (tmp_path / "stage").mkdir()
    made = Stage(tmp_path / "stage")
    yield made
    made.close()


def run(stage: Stage, words: tuple[str, ...], **how: object) -> Ended:
    return stage.gitmem(*worded(stage, words), **how)


def worded(stage: Stage, words: tuple[str, ...]) -> list[str]:
    return [word.format(git_dir=stage.repo / ".git", tip=stage.tip) for word in words]


def go_on(stage: Stage, scenario: Scenario, told: str = "") -> None:
    stage.now += 1000
    for words in scenario.then:
        done = run(stage, words)
        assert done.code == 0, f"{told}, then {words}: {done}"


def check(stage: Stage, scenario: Scenario, strikes: Callable[[Ended], Iterator[str]]) -> None:
    """Lets a command be struck again and again, each time from the same beginning.

    Args:
        strikes: given the whole command, runs it struck and tells how, once for each way.
    """
    scenario.prepare(stage)
    stage.keep()
    before, known = outcome(stage), lines_known(stage)
    undone = None
    if not scenario.repeats:
        go_on(stage, scenario)
        undone = outcome(stage)
        stage.reset()
    whole = run(stage, scenario.words, count=True)
    assert whole.code == 0, whole
    assert outcome(stage) != before, whole.said
    go_on(stage, scenario)
    done = outcome(stage)
    wrong = []
    stage.reset()
    for told in strikes(whole):
        go_on(stage, scenario, told)
        lost = known - lines_kept(stage)
        now = outcome(stage)
        if now == undone:
            run(stage, scenario.words)
            go_on(stage, scenario, told)
            now = outcome(stage)
        found = [f"lost {lost}"] if lost else []
        found += [f"another outcome: {now}, not {done}"] if now != done else []
        found += [*locks(stage), *damage(stage)]
        if found:
            wrong.append(f"{told}: {found}")
        stage.reset()
    assert not wrong, "\n".join(wrong)


def killed(stage: Stage, name: str, moments: Callable[[int], Iterable[int]]) -> None:
    """Kills a command at some of its calls; `moments` chooses, given how many there are."""
    scenario = SCENARIOS[name]
    codes = []

    def strikes(whole: Ended) -> Iterator[str]:
        for call in [whole.calls[at] for at in moments(len(whole.calls))]:
            ended = run(stage, scenario.words, kill=call)
            codes.append(ended.code)
            yield f"killed at {call} after {ended.calls[-4:]}"

    check(stage, scenario, strikes)
    # A run may make a call less than the one that was counted.
    assert len(codes) - codes.count(-9) <= max(1, len(codes) // 10)


def git_killed(stage: Stage, name: str, verb: str, calls: Iterable[str], most: int) -> None:
    """Kills the git processes of a kind that a command starts, at their first calls of each name."""
    scenario = SCENARIOS[name]
    struck = []

    def strikes(_: Ended) -> Iterator[str]:
        for call, nth in product(calls, range(1, most + 1)):
            words = worded(stage, scenario.words)
            ended = stage.gitmem_with_a_killed_git(*words, verb=verb, call=call, nth=nth)
            if ended is not None:
                struck.append(call)
                yield f"git {verb} killed at {call} {nth}: {ended.said}"

    check(stage, scenario, strikes)
    assert struck


def test_a_verb_that_is_killed_loses_nothing(stage: Stage) -> None:
    """One moment of one; all verbs and moments by the marker `long`."""
    killed(stage, "remember", lambda calls: (calls * 2 // 3,))


@pytest.mark.long
@pytest.mark.parametrize("part", range(2))
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_verb_that_is_killed_at_any_call_loses_nothing(stage: Stage, name: str, part: int) -> None:
    """All calls; with `GITMEM_TEST_EVERY=n` each n-th of these, for who has less time."""
    every = SCENARIOS[name].every * int(os.environ.get("GITMEM_TEST_EVERY", "1"))
    killed(stage, name, lambda calls: range(part * every, calls, 2 * every))


@pytest.mark.long
def test_a_verb_whose_git_is_killed_loses_nothing(stage: Stage) -> None:
    """As where a whole group of processes is killed, or the kernel runs out of memory."""
    git_killed(stage, "remember in a SHA-256 repository", "update-ref", ("rename",), 1)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "verb"),
    [
        ("remember in a SHA-256 repository", "update-ref"),
        ("remember", "update-ref"),
        ("sync", "fetch"),
        ("sync", "push"),
        ("dream", "update-ref"),
    ],
)
def test_a_verb_whose_git_is_killed_at_any_call_loses_nothing(stage: Stage, name: str, verb: str) -> None:
    git_killed(stage, name, verb, ("write", "rename", "unlink", "link", "mkdir"), 4)
