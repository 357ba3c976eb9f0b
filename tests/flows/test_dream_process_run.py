"""A dream while it goes on: who thinks, how far it is, how it is ended, and what is said of it later."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from dream_ground import DAY, NOW, TWICE, Ground, converse, planted
from partial_engine import PartialEngine
from ran import Gitmem

from gitmem.app import steps
from gitmem.app.spool import Job, put
from gitmem.app.spool import take as take_jobs
from gitmem.cli.dream import _how_far
from gitmem.core.account import references
from gitmem.core.errors import EngineError
from gitmem.core.trailers import Fate
from gitmem.dream.schedule import FILE, consolidation_lock, last_dream, lock_folder, prior_of
from gitmem.engines.engine import ConsolidateInput, Consolidation, DreamChange, DreamProgress, Tell, untold
from gitmem.flows import dream as dreaming
from gitmem.flows import dream_process as dream_kill
from gitmem.flows import engines
from gitmem.flows.dream import dream, dream_status, maybe_dream
from gitmem.flows.dream_process import SIGNALS, Stopped, kill_dreams, running_dream
from gitmem.flows.notices import leave, leave_proposal, take
from gitmem.git.locks import process_identity
from gitmem.git.refs import move_ref
from gitmem.ledger import failures
from gitmem.ledger.dreams import dreams_of
from gitmem.ledger.job_record import RunTally, read_runs
from gitmem.ledger.proposals import dreams_in

MERGED = "main/real-database.md"
GONE = "main/no-mocks.md"


class Double(PartialEngine):
    """An engine that merges the planted duplicates, and does something before that."""

    name = "scripted:model"
    reads_history = False

    def __init__(self, before: Callable[[Tell], object] = lambda _: None) -> None:
        self.before = before
        self.asked = 0

    def consolidate(self, given: ConsolidateInput, tell: Tell = untold) -> Consolidation:
        self.asked += 1
        self.before(tell)
        if GONE not in given.files:
            return Consolidation()
        known = {claim.key: ref for ref, claim in references({MERGED: given.files[MERGED]}).items()}
        fates = tuple(
            Fate("merged" if claim.key in known else "dropped", ref, known.get(claim.key, ""), "said twice")
            for ref, claim in references({GONE: given.files[GONE]}).items()
        )
        edits = {GONE: None, MERGED: given.files[MERGED] + b"\n"}
        change = DreamChange(
            "merge", edits, fates, "They say the same", "Merge no-mocks into real-database"
        )
        return Consolidation((change,), (), None, ("Bash: refused",))


ground = planted(TWICE)


def use(monkeypatch: pytest.MonkeyPatch, engine: object) -> None:
    monkeypatch.setattr(engines, "engine_for", lambda *_: engine)


def failure_of(ground: Ground) -> failures.Failure | None:
    place = ground.scope()
    return failures.last_failure(place.state, "dream", place.ref)


def no_trace(ground: Ground, prior: float, before: dict[str, str]) -> None:
    """A scope is as if its dream had never begun."""
    scope = ground.scope()
    assert ground.tree() == before and dreams_of(scope) == ()
    assert last_dream(scope) == prior and running_dream(scope) is None
    path = lock_folder(scope) / FILE
    assert not prior or path.read_bytes() == b""
    assert not list(path.parent.glob(f"{FILE}.*"))


def dreamt(ground: Ground, time: float) -> None:
    with consolidation_lock(ground.scope(), time):
        pass


def test_the_engine_that_is_set_dreams_and_never_silently_another(ground: Ground) -> None:
    dreamt(ground, NOW - 2 * DAY)
    before = ground.tree()
    ground.configure("engine", "anthropic", "global")
    with pytest.raises(EngineError, match="cannot run"):
        dream(ground.workspace, ground.edges, scope="project", force=True)
    no_trace(ground, NOW - 2 * DAY, before)
    made = dream(
        ground.workspace,
        ground.edges,
        scope="project",
        force=True,
        engine=engines.engine_for(ground.workspace, ground.edges, "offline"),
    )
    assert made.plan and made.plan.engine == "offline"


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_a_dream_and_all_is_as_it_was(ground: Ground, number: int) -> None:
    dreamt(ground, NOW - 2 * DAY)
    before, handlers = ground.tree(), [signal.getsignal(one) for one in SIGNALS]

    def struck(tell: Tell) -> None:
        tell(DreamProgress("consolidate", 1, 5))
        try:
            os.kill(os.getpid(), number)
        except Exception as error:
            raise AssertionError("an engine may catch this") from error
        raise AssertionError("the engine went on")

    with pytest.raises(Stopped):
        dream(ground.workspace, ground.edges, scope="project", force=True, engine=Double(struck))
    no_trace(ground, NOW - 2 * DAY, before)
    assert [signal.getsignal(one) for one in SIGNALS] == handlers


def test_a_signal_that_an_engine_swallows_ends_the_dream_at_its_next_step(ground: Ground) -> None:
    """What a handler raises inside a callback of a library is lost."""
    before = ground.tree()

    def deaf(tell: Tell) -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        except BaseException:
            tell(DreamProgress("consolidate", 2, 5))
        raise AssertionError("the engine went on")

    with pytest.raises(Stopped):
        dream(ground.workspace, ground.edges, scope="project", force=True, engine=Double(deaf))
    no_trace(ground, 0, before)


def test_a_signal_that_comes_too_late_leaves_the_dream_and_begins_no_other(ground, monkeypatch) -> None:
    real = dreaming.carry_out

    def late(*given: object) -> str:
        id = real(*given)  # type: ignore[arg-type]
        os.kill(os.getpid(), signal.SIGTERM)
        return id

    monkeypatch.setattr(dreaming, "carry_out", late)
    use(monkeypatch, Double())
    ground.put(TWICE, "local")
    converse(ground)
    first, second = maybe_dream(ground.workspace, ground.edges)
    assert first.id == dreams_of(ground.scope())[0].id and last_dream(ground.scope()) == NOW
    assert second.failed == dreaming.ENDED and last_dream(ground.scope("local")) == 0


def test_control_c_prints_one_line_and_says_what_other_scopes_made(ground, gitmem, monkeypatch) -> None:
    ground.put(TWICE, "local")
    before = ground.tree("local")

    def struck(_: Tell) -> None:
        if engine.asked == 2:
            signal.raise_signal(signal.SIGINT)

    engine = Double(struck)
    use(monkeypatch, engine)
    done = gitmem("dream", "--force", ok=False)
    assert done.code == 130 and "project: dream d-" in done.out and "local" not in done.out
    last = "local: stopped; no dream was made, and memory is as it was"
    assert done.err.strip().splitlines()[-1] == last and "Traceback" not in done.err
    assert ground.tree("local") == before and dreams_of(ground.scope("local")) == ()


def test_status_and_jobs_tell_of_a_dream_that_goes_on(ground: Ground, gitmem: Gitmem) -> None:
    seen: list[Any] = []

    def look(_: Tell) -> None:
        (one,) = [status for status in dream_status(ground.workspace, ground.edges) if status.running]
        assert one.scope == "project" and one.running
        seen.append((one.running.process.pid, one.running.since, one.last))
        held = {status.scope: status.gate for status in dream_status(ground.workspace, ground.edges)}
        assert held["project"] and held["project"].name == "lock"
        seen.append(json.loads(gitmem("dream", "status", "--scope", "project", "--json").out))
        seen.append(json.loads(gitmem("jobs", "--json").out)["dreaming"])
        seen.append((gitmem("jobs").out, gitmem("dream", "status").out))

    dreamt(ground, NOW - 2 * DAY)
    dream(ground.workspace, ground.edges, scope="project", force=True, engine=Double(look))
    assert seen[0] == (os.getpid(), NOW, NOW - 2 * DAY)
    going = {"scope": "project", "pid": os.getpid(), "since": "2026-11-18T11:06:40Z"}
    ((status,), (listed,)) = seen[1:3]
    assert going == status["running"] == listed
    assert list(status) == ["scope", "gate", "last", "waiting", "running"]
    assert status["last"] == "2026-11-16T11:06:40Z"
    for text in seen[3]:
        assert f"(process {os.getpid()})" in text
    assert running_dream(ground.scope()) is None


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (DreamProgress("orient"), "orient"),
        (DreamProgress("consolidate", 2, 0), "consolidate, turn 2"),
        (DreamProgress("consolidate", 2, 5, ("a", "b")), "consolidate, turn 2 of 5, 2 files changed"),
    ],
)
def test_a_person_who_waits_is_told_how_far_it_is(step: DreamProgress, said: str) -> None:
    assert _how_far(step) == said


def test_what_failed_rests_longer_each_time_unless_somebody_asks(ground: Ground) -> None:
    def broken(_: Tell) -> None:
        raise EngineError("over the day's ceiling", "Wait until tomorrow.")

    converse(ground)
    waits = []
    for _ in range(3):
        with pytest.raises(EngineError):
            dream(ground.workspace, ground.edges, scope="project", engine=Double(broken))
        held = dream(ground.workspace, ground.edges, scope="project", wanted=False).gate
        assert held and held.name == "failed" and held.until and "over the day's ceiling" in held.reason
        waits.append(held.until - ground.now)
        ground.now = held.until
    assert waits == [3600, 7200, 14400]
    assert dream(ground.workspace, ground.edges, scope="project", wanted=False, engine=Double()).id
    assert failure_of(ground) is None


def test_a_failure_noted_by_a_clock_that_was_set_back_holds_up_nothing(ground: Ground) -> None:
    converse(ground)
    place = ground.scope()
    failures.note_failure(place.state, "dream", place.ref, NOW + 90 * DAY, why="no luck")
    assert dream(ground.workspace, ground.edges, scope="project", wanted=False, engine=Double()).id
    assert failure_of(ground) is None


def test_the_worker_dreams_of_each_scope_whatever_befalls_another_and_says_why(ground, monkeypatch) -> None:
    ground.put(TWICE, "local")
    dreamt(ground, NOW - 2 * DAY)
    converse(ground)
    engine = Double(lambda _: broken() if engine.asked == 3 else None)

    def broken() -> None:
        raise EngineError("no answer came")

    use(monkeypatch, engine)
    tally = RunTally()
    done = maybe_dream(ground.workspace, ground.edges, frozenset({"session-0"}), tally)
    assert {one.gate.name for one in done if one.gate} == {"sessions"}, "the session that goes on"
    ground.now += 600
    tally = RunTally()
    done = maybe_dream(ground.workspace, ground.edges, frozenset(), tally)
    # The one that waits longest comes first: of the others none was ever dreamt.
    assert [one.scope for one in done] == ["local", "user", "project"]
    id = done[0].id
    assert tally.dreamt == [
        ("local", "made", f"made {id}: 1 change"),
        ("user", "nothing", "nothing to propose"),
        ("project", "failed", "no answer came"),
    ]
    assert tally.log == ["Bash: refused"]
    assert "no answer came" in (ground.workspace.state / "log").read_text()
    assert prior_of(ground.scope()) == NOW - 2 * DAY
    said = f"A dream proposes 1 change: git mem review show {id}"
    assert take(ground.workspace.state, "some-session") == said
    assert take(ground.workspace.state, "some-session") == ""


def test_a_job_whose_dream_is_ended_is_done_all_the_same(ground, gitmem, monkeypatch) -> None:
    monkeypatch.delenv("GITMEM_DISABLE")
    monkeypatch.setenv("GITMEM_NOW", str(NOW))
    kept: list[object] = []

    def keep(*given: object) -> tuple[str, ...]:
        kept.append(given)
        return ()

    monkeypatch.setattr("gitmem.app.upkeep.keep_house", keep)
    use(monkeypatch, Double(lambda _: signal.raise_signal(signal.SIGTERM)))
    converse(ground)
    steps.run(ground.repo / ".git", Job("commit", str(ground.repo)), dict(os.environ))
    (run,) = read_runs(ground.workspace.state)
    assert run["dreams"] == [{"scope": "project", "outcome": "failed", "why": dreaming.ENDED}]
    assert kept and run["error"] is None
    assert f"the dream failed of project: {dreaming.ENDED}" in gitmem("jobs").out
    assert dreams_of(ground.scope()) == ()


def test_sessions_in_other_repositories_count_for_what_is_known_of_the_person_alone(ground: Ground) -> None:
    converse(ground, 2)
    converse(ground, 3, folder="-elsewhere")
    held = {status.scope: status.gate for status in dream_status(ground.workspace, ground.edges)}
    assert held["user"] is None
    assert held["local"] and held["local"].reason == "2 of 5 sessions since the last dream"


def test_an_agents_own_session_counts_not_for_the_dream_it_asks_for(ground, gitmem, monkeypatch) -> None:
    converse(ground, 5)
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "session-3")
    (status,) = json.loads(gitmem("dream", "status", "--scope", "project", "--json").out)
    assert status["gate"]["reason"] == "4 of 5 sessions since the last dream"


def test_a_dream_that_waits_is_said_once_and_not_when_it_is_decided(ground: Ground, gitmem: Gitmem) -> None:
    state = ground.workspace.state
    id = dream(ground.workspace, ground.edges, scope="project", force=True, engine=Double()).id
    maybe = f"A dream proposes 1 change: git mem review show {id}"
    leave_proposal(state, id, 1)
    leave(state, "mine", "job", ["ports"], 2)
    assert take(state, "mine") == f"Saved 1 memory: ports. 2 finds wait: git mem review · {maybe}"
    leave_proposal(state, id, 1)
    gitmem("review", "accept", id)
    assert take(state, "another", all_sessions=True) == ""


SCRIPT = """
import os, signal, subprocess, sys, time
from pathlib import Path
sys.path[:0] = [sys.argv[1]]
from gitmem.engines.engine import DreamProgress
from gitmem.flows.dream import dream
from gitmem.flows.context import Edges, workspace_at
from gitmem.flows.dream_process import Stopped
if sys.argv[4] == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)

class Hanging:
    name = "scripted:model"
    def consolidate(self, given, tell):
        tell(DreamProgress("consolidate", 2, 5, ("main/a.md",)))
        child = subprocess.Popen(["sleep", "600"], start_new_session=True)
        try:
            print(child.pid, flush=True)
            time.sleep(600)
        finally:
            child.kill()
            child.wait()

edges = Edges(dict(os.environ), Path(sys.argv[2]), float(sys.argv[3]))
try:
    dream(workspace_at(edges), edges, scope="project", force=True, engine=Hanging())
except Stopped:
    raise SystemExit(7)
"""


@pytest.fixture
def hanging(ground: Ground) -> Iterator[Callable[[str], tuple[subprocess.Popen[str], int]]]:
    started: list[subprocess.Popen[str]] = []

    def start(how: str) -> tuple[subprocess.Popen[str], int]:
        root = str(Path(__file__).resolve().parents[2])
        words = [sys.executable, "-c", SCRIPT, root, str(ground.repo), str(ground.now), how]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout
        return process, int(process.stdout.readline())

    yield start
    for process in started:
        process.kill()
        process.wait()
        assert process.stdout
        process.stdout.close()


def ends(pid: int) -> bool:
    """Whether a process ends; who takes in an orphan that was killed may reap it a moment later."""
    until = time.monotonic() + 20
    while process_identity(pid) is not None and time.monotonic() < until:
        time.sleep(0.01)
    return process_identity(pid) is None


def test_kill_ends_a_dream_in_another_process_and_what_it_started(ground, gitmem, hanging) -> None:
    dreamt(ground, NOW - 2 * DAY)
    before = ground.tree()
    process, child = hanging("")
    held = dream(ground.workspace, ground.edges, scope="project", force=True, engine=Double()).gate
    assert held and held.reason == f"process {process.pid} is dreaming", "of two at once one dreams"
    (said,) = json.loads(gitmem("dream", "kill", "--json").out)
    assert (said["pid"], said["how"], said["ids"]) == (process.pid, "ended", [])
    assert process.wait() == 7 and ends(child)
    no_trace(ground, NOW - 2 * DAY, before)
    none = gitmem("dream", "kill", ok=False)
    assert none.code == 1 and "No dream is running here" in none.err


def test_kill_puts_down_a_dream_that_does_not_end(ground, hanging) -> None:
    dreamt(ground, NOW - 2 * DAY)
    before = ground.tree()
    process, child = hanging("deaf")
    (killed,) = kill_dreams(ground.workspace, ground.edges, patience=0.2)
    assert killed.how == "killed" and process.wait() == -signal.SIGKILL
    assert ends(child)
    no_trace(ground, NOW - 2 * DAY, before)
    rest = failure_of(ground)
    assert rest and rest.tried == NOW, "the worker does not begin it again at once"


def test_kill_that_comes_too_late_says_which_dream_was_made(ground, gitmem, monkeypatch) -> None:
    scope = ground.scope()
    tip = ground.tip()

    def made_meanwhile(*_: object) -> bool:
        move_ref(scope.repo, f"{dreams_in(scope).waiting}d-abcdef", tip, None, "made")
        return True

    monkeypatch.setattr(dream_kill, "_asked", made_meanwhile)
    with consolidation_lock(scope, NOW):
        done = gitmem("dream", "kill", ok=False)
    assert done.code == 1 and "was made before it could be ended" in done.out
    assert "git mem review reject d-abcdef" in done.err


@pytest.mark.long
def test_kill_ends_a_workers_dream_amid_a_request_and_its_job_is_done(ground, gitmem, monkeypatch) -> None:
    """The whole way: a job, a worker of its own, a server that takes the request and never answers."""
    monkeypatch.delenv("GITMEM_DISABLE")
    converse(ground)
    before = ground.tree()
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        for key, value in {"engine": "anthropic", "baseUrl": url}.items():
            ground.configure(key, value, "global")
        spool = ground.workspace.state / "spool"
        put(spool, Job("commit", str(ground.repo)))
        root = str(Path(__file__).resolve().parents[2])
        worker = subprocess.Popen(
            [sys.executable, "-m", "gitmem", "worker", "--git-dir", str(ground.repo / ".git")],
            env={**os.environ, "GITMEM_NOW": str(NOW), "PYTHONPATH": root, "no_proxy": "*"},
        )
        try:
            server.settimeout(60)
            asked, _ = server.accept()
            with asked:
                assert asked.recv(1 << 16).startswith(b"POST /v1/messages")
                (status,) = json.loads(gitmem("dream", "status", "--scope", "project", "--json").out)
                assert status["running"]["pid"] == worker.pid
                (said,) = json.loads(gitmem("dream", "kill", "--json").out)
                assert (said["how"], said["pid"]) == ("ended", worker.pid)
            assert worker.wait(60) == 0
        finally:
            worker.kill()
            worker.wait()
    no_trace(ground, 0, before)
    assert take_jobs(spool) == []
    (run,) = read_runs(ground.workspace.state)
    assert run["dreams"] == [{"scope": "project", "outcome": "failed", "why": dreaming.ENDED}]
