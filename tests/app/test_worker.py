"""The worker: one at a time, nothing left lying, nothing removed before it is done."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gitmem.app import worker
from gitmem.app.spool import Job, put, take
from gitmem.core.errors import RepositoryError, UsageError
from gitmem.git.locks import process_identity, writer_lock

ROOT = Path(__file__).parents[2]


@pytest.fixture
def common(repo: Path) -> Path:
    (repo / ".git" / "gitmem" / "spool").mkdir(parents=True)
    return repo / ".git"


def leave(common: Path, event: str = "commit", session: str = "", time: float = 1) -> Path:
    return put(common / "gitmem" / "spool", Job(event, "/r", session_id=session, time=time))


def waiting(common: Path) -> list[Job]:
    return [job for _, job in take(common / "gitmem" / "spool")]


def recorder(into: list[Job], then: Callable[[], object] = lambda: None) -> worker.Runner:
    def run(common_dir, job, environ) -> None:
        into.append(job)
        then()

    return run


def failing(common_dir, job, environ) -> None:
    raise ValueError("no luck")


def test_jobs_are_united_run_and_removed_and_nothing_to_do_is_fine(common: Path) -> None:
    ran: list[Job] = []
    assert worker.work(common, {}, recorder(ran)) == 0
    assert ran == []
    leave(common, "stop", "s1", 1)
    leave(common, "stop", "s2", 2)
    assert worker.work(common, {}, recorder(ran)) == 0
    [job] = ran
    assert [part.session_id for part in job.all] == ["s1", "s2"]
    assert waiting(common) == []
    assert worker.read_state(common) is None


def test_a_second_worker_ends_at_once(common: Path) -> None:
    leave(common)
    ran: list[Job] = []
    with writer_lock(common / "gitmem", "worker"):
        assert worker.work(common, {}, recorder(ran)) == 0
    assert ran == []
    assert len(waiting(common)) == 1


def test_a_job_left_while_the_lock_is_let_go_is_not_lost(common: Path, monkeypatch) -> None:
    """Its hook's own worker found the lock taken and ended."""
    real = worker._drain
    rounds: list[int] = []

    def drain(*args) -> None:
        real(*args)
        rounds.append(1)
        if len(rounds) == 1:
            leave(common, "stop")

    monkeypatch.setattr(worker, "_drain", drain)
    ran: list[Job] = []
    leave(common)
    worker.work(common, {}, recorder(ran))
    assert [job.event for job in ran] == ["commit", "stop"]


def test_the_state_names_the_process_and_the_job(common: Path) -> None:
    seen: list[object] = []
    leave(common, "stop")
    worker.work(common, {}, recorder([], lambda: seen.append(worker.read_state(common))))
    [state] = seen
    assert isinstance(state, worker.WorkerState)
    assert state.events == ("stop",)
    assert state.process.pid == os.getpid()
    mine = process_identity()
    assert mine is not None
    assert abs(state.process.start - mine.start) < 1


def test_a_failing_job_is_kept_tried_again_and_put_aside_in_the_end(common: Path) -> None:
    leave(common)
    for left in (1, 1, 1, 0):
        worker.work(common, {}, failing)
        assert len(waiting(common)) == left
    [report] = (common / "gitmem/spool/failed").glob("*.error")
    assert "ValueError: no luck" in report.read_text()
    assert len(list((common / "gitmem/spool/failed").iterdir())) == 2
    assert "no luck" in (common / "gitmem/log").read_text()


def test_a_failed_job_does_not_spoil_a_new_one(common: Path) -> None:
    leave(common, "stop", "bad")
    worker.work(common, {}, failing)
    leave(common, "stop", "good", 2)
    ran: list[str] = []

    def run(common_dir, job, environ) -> None:
        ran.extend(part.session_id for part in job.all)
        if "bad" in ran:
            raise ValueError("no luck")

    worker.work(common, {}, run)
    assert ran == ["good", "bad"]
    assert [job.session_id for job in waiting(common)] == ["bad"]


def test_a_job_that_kills_its_worker_is_counted(common: Path) -> None:
    """Else it would take every worker down with it, for ever."""

    class Killed(BaseException):
        pass

    def die() -> None:
        raise Killed

    leave(common)
    for _ in range(worker.RETRIES + 1):
        with pytest.raises(Killed):
            worker.work(common, {}, recorder([], die))
    ran: list[Job] = []
    worker.work(common, {}, recorder(ran))
    assert ran == []
    assert waiting(common) == []
    [report] = (common / "gitmem/spool/failed").glob("*.error")
    assert "died" in report.read_text()


def test_a_half_written_job_triggers_and_is_run_again_when_whole(common: Path) -> None:
    """The hook was still writing when the worker looked."""
    file = common / "gitmem/spool/77-rewrite"
    file.write_text("gitmem-job 1\nevent=rew")
    ran: list[Job] = []

    def finish() -> None:
        if len(ran) == 1:
            [path] = (common / "gitmem/spool").glob("77-*")
            path.write_text("gitmem-job 1\nevent=rewrite\npair=a b\nworktree=/r\n")

    worker.work(common, {}, recorder(ran, finish))
    assert [job.event for job in ran] == ["unknown", "rewrite"]
    assert ran[1].rewritten == (("a", "b"),)
    assert waiting(common) == []


def test_variables_of_the_git_that_ran_the_hook_do_not_reach_jobs(common: Path, tmp_path: Path) -> None:
    """The whole command, detached as it is started by a hook, with the flow replaced by a recorder."""
    package = tmp_path / "stand-in"
    package.mkdir()
    seen = tmp_path / "seen"
    package.joinpath("sitecustomize.py").write_text(
        "import sys, types, os\n"
        "jobs = types.ModuleType('gitmem.app.steps')\n"
        "def run(common_dir, job, environ):\n"
        f"    with open({str(seen)!r}, 'w') as file:\n"
        "        print(job.event, sorted(k for k in environ if k.startswith('GIT_')), os.nice(0) >= 10,\n"
        "              os.getsid(0) == os.getpid(), file=file)\n"
        "jobs.run = run\n"
        "sys.modules['gitmem.app.steps'] = jobs\n"
    )
    leave(common)
    subprocess.run(
        [sys.executable, "-P", "-m", "gitmem", "worker", "--git-dir", common],
        env={**os.environ, "GIT_DIR": "/x", "GIT_INDEX_FILE": "i", "PYTHONPATH": f"{package}:{ROOT}"},
        check=True,
        start_new_session=True,
    )
    assert seen.read_text() == "commit ['GIT_CONFIG_NOSYSTEM'] True True\n"
    assert waiting(common) == []


def test_words_that_do_not_fit_are_refused(repo: Path) -> None:
    with pytest.raises(UsageError):
        worker.main([], {})
    with pytest.raises(RepositoryError, match="not set up"):
        worker.main(["--git-dir", str(repo / ".git")], {})
