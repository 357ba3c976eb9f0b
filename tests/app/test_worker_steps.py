"""The worker's steps: each is done whatever became of the others, and one policy holds for what fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from workspaces import begun

from gitmem.app import worker
from gitmem.app.context import real_edges
from gitmem.app.spool import Job, put, take
from gitmem.app.steps import STEPS, RunningJob, WorkerStep, run_steps
from gitmem.core.errors import EngineError, RepositoryError, Resting
from gitmem.flows.extract.run import ExtractWatch
from gitmem.ledger import failures

NOW = 1_795_000_000.0
EVENTS = (
    *("commit", "merge", "checkout", "rewrite", "stop", "subagent-stop", "session-end", "pre-compact"),
    *("session-start", "select", "unknown"),
)


@pytest.fixture
def work(repo: Path, monkeypatch: pytest.MonkeyPatch) -> RunningJob:
    monkeypatch.setenv("GITMEM_NOW", str(int(NOW)))
    edges = real_edges(repo)
    return RunningJob(repo / ".git", Job("commit", str(repo)), begun(edges), edges, {}, ExtractWatch())


def at(work: RunningJob, later: float) -> RunningJob:
    return replace(work, edges=replace(work.edges, now=NOW + later), watch=ExtractWatch())


class Scripted:
    """Steps that do what they are told and note that they did."""

    def __init__(self, **raises: Exception | None) -> None:
        self.raises = raises
        self.ran: list[str] = []

    def step(self, name: str, *, stays: bool = False, asks: bool = False) -> WorkerStep:
        def run(_: RunningJob) -> None:
            self.ran.append(name)
            if (error := self.raises.get(name)) is not None:
                raise error

        return WorkerStep(name, run, stays=stays, asks=asks)


def failure(work: RunningJob, name: str) -> failures.Failure | None:
    return failures.last_failure(work.workspace.state, "step", name)


def called(event: str) -> list[str]:
    return [step.name for step in STEPS if step.called_by(frozenset({event}))]


def test_each_event_calls_for_these_steps() -> None:
    news = ["commits", "sessions", "notes"]
    always = ["dream", "upkeep"]
    assert {event: called(event) for event in EVENTS} == {
        "commit": ["rules", *news, "documents", *always],
        "merge": ["checkout", "merge", "rules", "documents", *always],
        "checkout": ["checkout", *always],
        "rewrite": ["rewrites", "rules", *news, "documents", *always],
        "session-start": ["rules", *news, *always],
        "select": ["choice"],
        "stop": [*news, *always],
        "subagent-stop": [*news, *always],
        "session-end": [*news, *always],
        "pre-compact": [*news, *always],
        "unknown": [*news, *always],
    }
    assert len({step.name for step in STEPS}) == len(STEPS)


def test_a_step_that_fails_keeps_no_other_from_being_done_and_is_on_record(work: RunningJob) -> None:
    made = Scripted(first=RepositoryError("no luck"), second=ValueError("a bug"))
    run_steps(work, [made.step("first"), made.step("second"), made.step("third")])
    assert made.ran == ["first", "second", "third"]
    assert work.watch.tally.skipped == [("first", "no luck"), ("second", "ValueError: a bug")]
    assert "first: no luck" in (work.common / "gitmem/log").read_text()
    one = failure(work, "first")
    assert one is not None and (one.times, one.why) == (1, "no luck")


def test_what_only_this_job_asked_for_fails_the_job_when_all_else_is_done(work: RunningJob) -> None:
    made = Scripted(first=RepositoryError("no luck"), second=EngineError("no answer"))
    with pytest.raises(RepositoryError, match="no luck"):
        run_steps(work, [made.step("second"), made.step("first", stays=True), made.step("third")])
    assert made.ran == ["second", "first", "third"]


def test_what_fails_again_rests_and_the_job_waits_for_it(work: RunningJob) -> None:
    made = Scripted(first=RepositoryError("no luck"))
    steps = [made.step("first", stays=True), made.step("second")]
    for _ in range(2):
        with pytest.raises(RepositoryError):
            run_steps(at(work, 0), steps)
    resting = at(work, 299)
    with pytest.raises(Resting, match="first: it failed 2 times: no luck; it rests until") as told:
        run_steps(resting, steps)
    assert "git mem jobs --retry" in told.value.hint
    assert made.ran == ["first", "second"] * 2 + ["second"]
    made.raises = {}
    run_steps(at(work, 300), steps)
    assert made.ran[-2:] == ["first", "second"] and failure(work, "first") is None


def test_a_step_that_any_job_makes_up_for_rests_without_keeping_the_job(work: RunningJob) -> None:
    made = Scripted(first=RepositoryError("no luck"))
    for _ in range(3):
        run_steps(at(work, 0), [made.step("first")])
    assert made.ran == ["first", "first"]


@pytest.mark.parametrize(("of_input", "ran"), [(False, ["sessions", "upkeep"]), (True, None)])
def test_an_engine_that_failed_is_not_asked_again_for_the_same_job(
    work: RunningJob, of_input: bool, ran: list[str] | None
) -> None:
    """Unless what it was given is to blame."""
    error = EngineError("over the ceiling")
    error.of_input = of_input
    made = Scripted(sessions=error)
    with pytest.raises(EngineError):
        run_steps(work, [made.step("sessions"), made.step("dream", asks=True), made.step("upkeep")])
    assert made.ran == (ran or ["sessions", "dream", "upkeep"])
    assert failure(work, "sessions") is None, "an engine's failure is not the step's"


def test_a_signal_ends_the_work_at_once(work: RunningJob) -> None:
    def end(_: RunningJob) -> None:
        raise KeyboardInterrupt

    made = Scripted()
    with pytest.raises(KeyboardInterrupt):
        run_steps(work, [WorkerStep("first", end), made.step("second")])
    assert made.ran == []


@pytest.fixture
def spooled(work: RunningJob) -> Callable[[], list[str]]:
    put(work.workspace.state / "spool", Job("commit", time=1))

    def names() -> list[str]:
        return [path.suffix for path, _ in take(work.workspace.state / "spool")]

    return names


def test_a_job_that_waits_for_a_step_is_not_given_up_for_it(work: RunningJob, spooled) -> None:
    def fail(*_: object) -> None:
        raise RepositoryError("no luck")

    def rest(*_: object) -> None:
        raise Resting("it rests")

    for run, left in ((fail, ".try1"), (rest, ".try1"), (fail, ".try2"), (rest, ".try2"), (rest, ".try2")):
        worker.work(work.common, {}, run)
        assert spooled() == [left]
    worker.work(work.common, {}, fail)
    worker.work(work.common, {}, fail)
    assert spooled() == [] and len(worker.failed_jobs(work.common)) == 1


def test_a_person_can_have_what_rests_tried_at_once(work: RunningJob, gitmem) -> None:
    for _ in range(3):
        failures.note_failure(work.workspace.state, "step", "sessions", NOW, why="no luck")
    status = gitmem("status")
    assert "step sessions failed 3 times: no luck; it rests until" in status.out
    [told] = gitmem("status", "--json").json["resting"]
    assert (told["what"], told["times"], told["why"]) == ("step sessions", 3, "no luck")
    gitmem("jobs", "--retry")
    assert gitmem("status", "--json").json["resting"] == []
    assert "rests until" not in gitmem("status").out
