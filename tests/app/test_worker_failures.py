"""Jobs in the background while an engine fails: nothing asked for is lost, done twice or paid for twice."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from background_ground import ASKED, ID, KEY, MORE, NOW, Engine, Ground, add, ground
from memory_files import learned

from gitmem.app import worker
from gitmem.app.spool import Job, put, take
from gitmem.core.errors import EngineError
from gitmem.core.trailers import Provenance, Usage, parse
from gitmem.engines.agent import AgentEngine
from gitmem.engines.engine import ExtractInput, Extraction
from gitmem.engines.offline import OfflineEngine
from gitmem.git.trees import read_files
from gitmem.ledger import job_record
from gitmem.ledger.job_record import RunTally, read_runs, recorded
from gitmem.ledger.suggestions import open_suggestions

__all__ = ["ground"]


def test_a_run_leaves_a_line_without_a_word_that_was_said(ground: Ground) -> None:
    ground.write("My cat is called Miez.")
    ground.use(Engine(add("ship"), add("bugs", asked=False), log=(f"Bash: refused curl {KEY}",)))
    ground.do("stop", session_id=ID)
    (run,) = read_runs(ground.workspace.state)
    assert (run["events"], run["sessions"], run["stored"], run["suggested"]) == (["stop"], 1, 1, 1)
    assert (run["engine"], run["usage"]["input"], run["error"]) == ("scripted", 10, None)
    text = json.dumps(read_runs(ground.workspace.state)) + (ground.workspace.state / "log").read_text()
    assert "Bash: refused" in text and KEY not in text and "Miez" not in text
    scope = ground.workspace.scope("local")
    told = parse(scope.repo.commit(scope.repo.ref(scope.ref) or "").message)
    assert told.usage == Usage(requests=1, input=10, output=2, dollars=0.01)


def test_the_newest_runs_stay_and_one_that_is_damaged_is_passed_over(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(job_record, "_RUNS", replace(job_record._RUNS, kept=3))
    for number in range(5):
        with recorded(tmp_path, RunTally((f"event {number}",)), NOW, lambda: 0.0):
            pass
    assert [run["events"] for run in read_runs(tmp_path)] == [[f"event {number}"] for number in (2, 3, 4)]
    job_record._RUNS.put_all(tmp_path, {"odd": "odd", "words": {"events": "stop"}})
    assert [run["events"] for run in read_runs(tmp_path)] == [["event 4"]]


def test_an_engine_that_fails_leaves_the_cursor_and_the_job(ground: Ground) -> None:
    ground.write(ASKED)
    engine = ground.use(Engine(add("ship"), fails=1))
    put(ground.workspace.state / "spool", Job("stop", str(ground.repo), time=1))
    worker.work(ground.repo / ".git", dict(os.environ))
    # What was plainly asked does not wait for the engine.
    stored = {"main/deploy-release-branch-only.md"}
    assert ground.memories() == stored and len(take(ground.workspace.state / "spool")) == 1
    (run,) = read_runs(ground.workspace.state)
    assert run["error"]["message"] == "over the day's ceiling" and "failed" in run["skipped"][0]["why"]
    assert run["error"]["hint"].endswith("What was plainly asked for is stored: 1 memory.")
    worker.work(ground.repo / ".git", dict(os.environ))
    assert ground.memories() == {"main/ship.md", *stored} and take(ground.workspace.state / "spool") == []
    assert [m.text for m in engine.given[1].messages if m.role == "person"] == [ASKED]


def test_jobs_wait_for_an_engine_as_long_as_it_takes_and_ask_it_once_a_worker(ground: Ground) -> None:
    ground.write(ASKED)
    engine = ground.use(Engine(add("ship"), fails=6))
    for number in range(6):
        put(ground.workspace.state / "spool", Job("stop", str(ground.repo), time=number + 1))
        worker.work(ground.repo / ".git", dict(os.environ))
        assert len(engine.given) == number + 1
    assert (
        len(take(ground.workspace.state / "spool")) == 6 and worker.failed_jobs(ground.repo / ".git") == ()
    )
    worker.work(ground.repo / ".git", dict(os.environ))
    stored = {"main/ship.md", "main/deploy-release-branch-only.md"}
    assert take(ground.workspace.state / "spool") == [] and ground.memories() == stored


def test_what_a_model_did_of_a_long_session_before_a_ceiling_is_not_paid_for_again(ground: Ground) -> None:
    ground.patch.setattr("gitmem.flows.extract.run.MOST_FOR_MODEL", 2_000)
    said = [f"{number} {'x' * 1_000}" for number in range(4)]
    ground.write(*said)
    engine = ground.use(Engine(add("ship"), passes=1, fails=1))
    with pytest.raises(EngineError):
        ground.do()
    assert ground.memories() == {"main/ship.md"}
    ground.do()
    heard = [[m.text[0] for m in given.messages if m.role == "person"] for given in engine.given]
    first, failed, *rest = heard
    assert first and failed == rest[0] and not set(first) & set(failed)
    assert [*first, *(number for part in rest for number in part)] == ["0", "1", "2", "3"]


def test_sessions_that_a_model_always_declines_keep_no_other_out_and_are_not_paid_for_each_time(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Picky(Engine):
        def extract(self, given: ExtractInput) -> Extraction:
            if any("declined" in message.text for message in given.messages):
                self.given.append(given)
                error = EngineError("declined")
                error.of_input = True
                raise error
            return Extraction(self.changes)

    for number in range(3):
        ground.write("declined", id=f"0000000{number}-0000-4000-8000-000000000000")
    ground.write(MORE, id="00000009-0000-4000-8000-000000000000")
    engine = ground.use(Picky(add("ship")))
    for _ in range(2):
        with pytest.raises(EngineError):
            ground.do()
    assert ground.memories() == {"main/ship.md"} and len(engine.given) == 6
    ground.do()
    assert len(engine.given) == 6
    assert "failed at it 2 times" in read_runs(ground.workspace.state)[-1]["skipped"][0]["why"]
    monkeypatch.setenv("GITMEM_NOW", str(NOW + 3_601))
    with pytest.raises(EngineError):
        ground.do()
    assert len(engine.given) == 9
    # Another engine is asked at once.
    engine.name = "another"
    with pytest.raises(EngineError):
        ground.do()
    assert len(engine.given) == 12


def test_a_session_that_an_engine_cannot_take_keeps_no_other_out(ground: Ground) -> None:
    ground.write(ASKED)
    ground.write(MORE, id="00000002-0000-4000-8000-000000000000")
    ground.use(Engine(add("ship"), fails=1))
    with pytest.raises(EngineError):
        ground.do()
    assert ground.memories() == {"main/ship.md", "main/deploy-release-branch-only.md"}


def test_what_was_asked_is_stored_once_while_an_engine_fails_and_the_rest_is_looked_at_later(
    ground: Ground,
) -> None:
    """Nor does it come back where somebody took it out meanwhile."""
    said = f"{ASKED} By the way, Friday is Ann's last day."
    ground.write(said)
    engine = ground.use(Engine(add("anns-last-day"), fails=4))
    local = ground.workspace.scope("local")
    for _ in range(2):
        with pytest.raises(EngineError):
            ground.do()
    tip = local.repo.ref(local.ref)
    assert tip and ground.memories() == {"main/deploy-release-branch-only.md"}
    told = [parse(one.message) for one in local.repo.history(tip)]
    assert [one.engine for one in told if one.writer == "extract"] == ["offline"]
    gone = {"main/deploy-release-branch-only.md": None}
    learned(local, gone, NOW, "Reword it elsewhere", Provenance("delete"))
    for _ in range(2):
        with pytest.raises(EngineError):
            ground.do()
    assert ground.memories() == set()
    ground.do()
    assert ground.memories() == {"main/anns-last-day.md"}
    assert [m.text for m in engine.given[-1].messages if m.role == "person"] == [said]
    assert engine.given[-1].answered == {m.uuid for m in engine.given[-1].messages if m.role == "person"}
    assert not engine.given[0].answered


@pytest.mark.parametrize("engine", [OfflineEngine, AgentEngine])
def test_what_was_asked_while_an_engine_failed_and_was_taken_back_is_not_done_again_by_another(
    ground: Ground, engine: type[OfflineEngine]
) -> None:
    ground.write(ASKED)
    ground.use(Engine(fails=1))
    with pytest.raises(EngineError):
        ground.do()
    (path,) = ground.memories()
    local = ground.workspace.scope("local")
    learned(local, {path: None}, NOW, "Delete it", Provenance("delete", "human"))
    ground.use(engine())  # type: ignore[arg-type]
    ground.do()
    assert ground.memories() == set() and open_suggestions(ground.workspace) == ()
    ground.write(ASKED, MORE)
    ground.do()
    assert len(ground.memories()) == 1


def test_a_deletion_asked_for_while_an_engine_failed_and_undone_is_not_made_again(ground: Ground) -> None:
    ground.write(ASKED, id="00000002-0000-4000-8000-000000000000")
    ground.use(OfflineEngine())  # type: ignore[arg-type]
    ground.do()
    (path,) = ground.memories()
    local = ground.workspace.scope("local")
    before = read_files(local.repo, local.repo.commit(local.repo.ref(local.ref) or "").tree)[path]
    ground.write("please forget what I said about the release branch")
    ground.use(Engine(fails=1))
    with pytest.raises(EngineError):
        ground.do()
    assert ground.memories() == set()
    learned(local, {path: before}, NOW, "Undo it", Provenance("restore", "human"))
    ground.use(OfflineEngine())  # type: ignore[arg-type]
    ground.do()
    assert ground.memories() == {path}


def test_what_was_asked_in_sessions_that_no_engine_was_asked_about_is_stored_too(ground: Ground) -> None:
    """After two failures the engine is left alone, and what people asked for does not wait for it."""
    ports = ("the docs", "the database", "the proxy", "the mail")
    for number, what in enumerate(ports):
        id = f"0000000{number}-0000-4000-8000-000000000000"
        ground.write(f"Remember that port 400{number} is for {what}.", id=id)
    engine = ground.use(Engine(fails=99))
    with pytest.raises(EngineError):
        ground.do()
    assert len(engine.given) == 2 and len(ground.memories()) == len(ports)
    assert read_runs(ground.workspace.state)[-1]["stored"] == len(ports)


def test_what_was_asked_at_the_end_of_a_long_session_is_stored_while_an_engine_fails(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gitmem.flows.extract.run.MOST_FOR_MODEL", 2_000)
    ground.write(*(f"{number} {'x' * 1_000}" for number in range(4)), ASKED)
    ground.use(Engine(fails=9))
    with pytest.raises(EngineError):
        ground.do()
    assert ground.memories() == {"main/deploy-release-branch-only.md"}


def test_no_job_looks_twice_for_what_was_asked_while_an_engine_fails(ground: Ground) -> None:
    looked: list[str] = []
    extract = OfflineEngine.extract

    def counted(self: OfflineEngine, given: ExtractInput) -> Extraction:
        looked.extend(message.text for message in given.messages if message.role == "person")
        return extract(self, given)

    ground.patch.setattr(OfflineEngine, "extract", counted)
    ground.use(Engine(fails=9))
    for said in (("The tests are slow.",), ("The tests are slow.", ASKED), ("The tests are slow.", ASKED)):
        ground.write(*said)
        with pytest.raises(EngineError):
            ground.do()
    assert looked == ["The tests are slow.", ASKED]
    assert ground.memories() == {"main/deploy-release-branch-only.md"}


def test_what_was_asked_is_stored_though_a_crash_came_between(ground: Ground) -> None:
    class Killed(Exception):
        pass

    def crash(*_: object, **__: object) -> None:
        raise Killed

    ground.write(ASKED)
    engine = ground.use(Engine(add("ship"), fails=1))
    with ground.patch.context() as patch, pytest.raises(Killed):
        patch.setattr("gitmem.flows.extract.run.land_change", crash)
        ground.do()
    assert ground.memories() == set()
    ground.do()
    assert ground.memories() == {"main/ship.md", "main/deploy-release-branch-only.md"}
    assert [m.text for m in engine.given[-1].messages if m.role == "person"] == [ASKED]
