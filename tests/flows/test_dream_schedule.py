"""When it is time to dream: each gate holds alone, and the lock is never taken from one that lives."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from dream_ground import ANN, DAY, NOW, TWICE, Ground, converse, memory, planted

from gitmem.dream.review import accept, reject
from gitmem.dream.schedule import (
    FILE,
    STALE_SECONDS,
    Gate,
    consolidation_lock,
    last_dream,
    lock_folder,
    prior_of,
)
from gitmem.flows.dream import dream, maybe_dream
from gitmem.git.locks import Locked, process_identity

ground = planted(TWICE)


def gate(ground: Ground, **given: object) -> Gate | None:
    return dream(ground.workspace, ground.edges, scope="project", **given).gate  # type: ignore[arg-type]


def name(ground: Ground, **given: object) -> str:
    held = gate(ground, **given)
    return held.name if held else ""


def test_dreams_can_be_switched_off(ground: Ground) -> None:
    converse(ground, 9, NOW - 10)
    ground.configure("dream", "false")
    assert name(ground) == "enabled"
    assert name(ground, force=True) == ""


def test_a_day_passes_between_dreams_and_sessions_before_the_last_do_not_count(ground: Ground) -> None:
    converse(ground, 9, NOW - 10)
    assert name(ground) == ""
    ground.now += DAY - 1
    assert gate(ground) == Gate("day", "the last dream was less than 24 hours ago", NOW + DAY)
    ground.now += 1
    assert name(ground) == "sessions"
    converse(ground, 9, NOW + 10)
    ground.now += 600
    assert name(ground) == "open"


def test_five_sessions_are_needed_and_the_present_one_does_not_count(ground: Ground) -> None:
    converse(ground, 5, NOW - 10)
    held = gate(ground, present={"session-4"})
    assert held == Gate("sessions", "4 of 5 sessions since the last dream", NOW + 600)
    # Nobody looks again for ten minutes.
    assert name(ground) == "sessions"
    ground.now += 600
    assert name(ground) == ""


def test_a_team_reviews_one_dream_at_a_time_and_rests_a_day(ground: Ground) -> None:
    done = dream(ground.workspace, ground.edges, scope="project", force=True)
    ground.now += 2 * DAY
    converse(ground, 9)
    assert name(ground) == "open"
    accept(ground.workspace, done.id, None, ANN, ground.now)
    assert gate(ground) == Gate("accepted", "a dream was accepted less than 24 hours ago", ground.now + DAY)
    ground.now += DAY
    assert name(ground) == ""


def test_a_rejected_dream_makes_nobody_rest(ground: Ground) -> None:
    done = dream(ground.workspace, ground.edges, scope="project", force=True)
    ground.now += 2 * DAY
    converse(ground, 9)
    reject(ground.workspace, done.id, None, "no", ANN, ground.now)
    assert name(ground) == ""


def test_private_scopes_wait_for_no_review(ground: Ground) -> None:
    ground.put(TWICE, "local")
    assert dream(ground.workspace, ground.edges, scope="local", force=True).id
    ground.now += 2 * DAY
    converse(ground, 9)
    assert dream(ground.workspace, ground.edges, scope="local").gate is None


@pytest.mark.parametrize(("age", "expected"), [(STALE_SECONDS - 1, "client"), (STALE_SECONDS, "")])
def test_the_lock_of_a_client_is_respected_and_never_written(ground, age: float, expected: str) -> None:
    folder = ground.repo / ".claude/agent-memory/reviewer"
    folder.mkdir(parents=True)
    (folder / "a.md").write_text(memory("x", "y"))
    lock = folder / FILE
    lock.write_text("1234")
    os.utime(lock, (NOW - age, NOW - age))
    assert name(ground, force=True) == expected
    assert lock.read_text() == "1234" and lock.stat().st_mtime == NOW - age


def test_a_lock_whose_process_lives_is_never_taken(ground: Ground) -> None:
    scope = ground.scope()
    with consolidation_lock(scope, NOW):
        body = (lock_folder(scope) / FILE).read_text()
        assert body == f"{process_identity()} 0.000000"
        with pytest.raises(Locked), consolidation_lock(scope, NOW + STALE_SECONDS - 1):
            raise AssertionError("it was taken")
        assert name(ground, force=True) == "lock"
        assert (lock_folder(scope) / FILE).read_text() == body


def killed(ground: Ground) -> None:
    """A process that takes the lock and dies with it."""
    code = (
        "import os, sys; sys.path.insert(0, sys.argv[1]); from pathlib import Path\n"
        "from gitmem.dream.schedule import consolidation_lock\n"
        "from gitmem.ledger.workspace import Scope\n"
        "scope = Scope('project', sys.argv[2], Path(sys.argv[3]), lambda: None, lambda: None)\n"
        "with consolidation_lock(scope, float(sys.argv[4])):\n    os._exit(9)\n"
    )
    scope = ground.scope()
    root = str(Path(__file__).resolve().parents[2])
    words = [sys.executable, "-c", code, root, scope.ref, str(scope.state), str(ground.now)]
    assert subprocess.run(words, check=False, env=dict(os.environ)).returncode == 9


def test_a_dream_that_was_killed_leaves_no_branch_and_is_as_if_it_never_began(ground: Ground) -> None:
    scope = ground.scope()
    with consolidation_lock(scope, NOW - 2 * DAY):
        pass
    converse(ground, 9, NOW - 10)
    killed(ground)
    assert last_dream(scope) == NOW and prior_of(scope) == NOW - 2 * DAY
    assert scope.repo.refs("refs/gitmem/dream/") == {}
    # The gates see the time before, and the lock of the dead is taken over.
    assert name(ground) == ""
    assert last_dream(scope) == NOW and (lock_folder(scope) / FILE).read_text() == ""


def test_a_dead_process_gives_its_lock_and_its_time_back_and_a_damaged_lock_is_free(ground: Ground) -> None:
    scope = ground.scope()
    path = lock_folder(scope) / FILE
    path.parent.mkdir(parents=True)
    path.write_text(f"1 0.00 {NOW - 5 * DAY:f}")
    with pytest.raises(RuntimeError), consolidation_lock(scope, NOW, lambda _: False) as held:
        assert held.prior == NOW - 5 * DAY
        raise RuntimeError
    assert last_dream(scope) == NOW - 5 * DAY
    for body in (b"\xff\x00 what", b"1 0.00 nan", b"1 0.00 inf", b"1 0.00 -5", b"1 0.00"):
        path.write_bytes(body)
        assert name(ground, force=True) == "", body


def test_after_an_hour_a_lock_is_taken_over_and_its_first_holder_does_no_harm(ground: Ground) -> None:
    scope = ground.scope()
    with consolidation_lock(scope, NOW) as first:
        # Another process would write another body; this one tells its two holds apart by the time before.
        os.utime(first.path, (NOW, NOW))
        (first.path).write_text(f"{process_identity()} 7.000000")
        os.utime(first.path, (NOW, NOW))
        assert not first.is_ours()
        with consolidation_lock(scope, NOW + STALE_SECONDS) as second:
            assert second.prior == 7 and second.is_ours()
    assert last_dream(scope) == NOW + STALE_SECONDS


def test_the_worker_dreams_where_it_is_time_and_only_logs_what_fails(ground, monkeypatch) -> None:
    converse(ground, 9, NOW - 10)
    done = maybe_dream(ground.workspace, ground.edges)
    assert [bool(outcome.id) for outcome in done] == [True, False, False]
    import gitmem.flows.dream as module

    def broken(*_: object) -> object:
        raise RuntimeError("no luck")

    monkeypatch.setattr(module, "plan_dream", broken)
    ground.now += 2 * DAY
    converse(ground, 9)
    maybe_dream(ground.workspace, ground.edges)
    assert "no luck" in (ground.workspace.state / "log").read_text()
    assert last_dream(ground.scope("local")) == NOW
