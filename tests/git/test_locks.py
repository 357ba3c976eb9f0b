"""One writer at a time, across processes that live, die and leave their locks behind."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitmem.core.errors import RepositoryError
from gitmem.git import locks
from gitmem.git.locks import Locked, ProcessIdentity, is_alive, locks_below, process_identity, writer_lock

HOLD = """\
import pathlib, sys
from gitmem.core.errors import RepositoryError
from gitmem.git.locks import process_identity, writer_lock
with writer_lock(pathlib.Path(sys.argv[1]), "extract"):
    print(process_identity(), flush=True)
    sys.stdin.read()
"""


def holder(directory: Path) -> tuple[subprocess.Popen[str], ProcessIdentity]:
    """A process that holds the lock until its input ends."""
    run = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(directory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert run.stdout is not None
    who = ProcessIdentity.parse(run.stdout.readline())
    assert who is not None
    return run, who


def end(run: subprocess.Popen[str]) -> None:
    run.communicate()


def test_a_second_writer_is_told_who_writes(tmp_path: Path) -> None:
    run, who = holder(tmp_path)
    with (
        pytest.raises(Locked, match=f"process {run.pid}") as caught,
        writer_lock(tmp_path, "extract", blocking=False),
    ):
        pass
    assert str(tmp_path / "extract.lock") in caught.value.message and caught.value.kind == "locked"
    assert who.pid == run.pid
    with writer_lock(tmp_path, "dream", blocking=False) as path:
        assert path == tmp_path / "dream.lock"
    end(run)


def test_a_name_in_the_lock_that_is_no_holders_is_not_told(tmp_path: Path) -> None:
    run, who = holder(tmp_path)
    for text in (f"{who.pid} {who.start - 60}", "nobody"):
        (tmp_path / "extract.lock").write_text(text)
        with (
            pytest.raises(Locked, match="another process") as caught,
            writer_lock(tmp_path, "extract", blocking=False),
        ):
            pass
        assert caught.value.hint == "Wait until it is done, and run it again."
    end(run)


def test_a_waiting_writer_gives_up_in_time(tmp_path: Path) -> None:
    run, _ = holder(tmp_path)
    with pytest.raises(Locked), writer_lock(tmp_path, "extract", timeout=0.05):
        pass
    end(run)


def test_a_writer_that_was_killed_blocks_nobody(tmp_path: Path) -> None:
    run, _ = holder(tmp_path)
    run.kill()
    end(run)
    with writer_lock(tmp_path, "extract", blocking=False):
        body = (tmp_path / "extract.lock").read_text()
        assert ProcessIdentity.parse(body) == ProcessIdentity.parse(str(process_identity()))


def test_the_lock_is_free_again_after_an_error_and_makes_its_folder(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), writer_lock(tmp_path / "a/b", "extract"):
        raise ZeroDivisionError
    run, _ = holder(tmp_path / "a/b")
    end(run)
    assert run.returncode == 0


def test_what_cannot_be_locked_is_named_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RepositoryError) as raised, writer_lock(tmp_path / "file", "extract"):
        pass
    assert raised.value.message == f"{tmp_path}/file/extract.lock cannot be locked: File exists"


def test_threads_of_one_process_exclude_each_other_too(tmp_path: Path) -> None:
    inside: list[int] = []
    together: list[int] = []

    def work() -> None:
        for _ in range(20):
            with writer_lock(tmp_path, "extract"):
                inside.append(1)
                together.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == [1] * 80


def test_a_lock_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(RepositoryError, match="file"), writer_lock(tmp_path / "file", "extract"):
        pass


def test_a_link_in_place_of_the_lock_file_is_not_followed(tmp_path: Path) -> None:
    """Nor is the file under a lock that is held: its text is another's."""
    target = tmp_path / "precious"
    target.write_text("precious")
    (tmp_path / "extract.lock").symlink_to(target)
    with pytest.raises(RepositoryError), writer_lock(tmp_path, "extract", blocking=False):
        pass
    assert target.read_text() == "precious"


def test_a_live_process_is_alive_and_a_dead_one_is_not(tmp_path: Path) -> None:
    me = process_identity()
    assert me is not None
    assert me.pid == os.getpid()
    assert is_alive(me)
    run, who = holder(tmp_path)
    assert is_alive(who)
    end(run)
    assert not is_alive(who)


def test_a_process_that_got_a_dead_one_s_number_is_not_it(monkeypatch: pytest.MonkeyPatch) -> None:
    me = process_identity()
    assert me is not None
    monkeypatch.setattr(locks, "_own_start", lambda: 100.0)
    for start in (97.0, 98.0, 102.0, 103.0):
        assert is_alive(ProcessIdentity(me.pid, start)) is (abs(start - 100) <= 2), (
            "boot time is in seconds"
        )


def test_a_process_that_may_not_be_looked_at_is_not_called_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(number: int) -> None:
        raise psutil.AccessDenied(number)

    monkeypatch.setattr(psutil, "Process", denied)
    assert process_identity(1) == ProcessIdentity(1, -1)
    assert is_alive(ProcessIdentity(1, 7.0))


def test_a_process_that_ended_but_was_not_yet_reaped_is_dead() -> None:
    run = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
    who = process_identity(run.pid)
    assert who is not None
    assert run.stdout is not None
    run.stdout.read()
    os.waitid(os.P_PID, run.pid, os.WEXITED | os.WNOWAIT)
    assert not is_alive(who)
    run.wait()
    run.stdout.close()


def test_locks_are_sought_below_a_folder_and_nowhere_that_a_link_leads(tmp_path: Path) -> None:
    """The repository itself may be reached by a link."""
    for folder in ("real/.git/refs/a", "real/out"):
        (tmp_path / folder).mkdir(parents=True)
        for name in ("x", "x.lock"):
            (tmp_path / folder / name).touch()
    (tmp_path / "link").symlink_to("real")
    git_dir = tmp_path / "link/.git"
    (git_dir / "refs/out").symlink_to(tmp_path / "real/out")
    assert locks_below(git_dir, "refs") == [git_dir / "refs/a/x.lock"]
    assert locks_below(git_dir, "refs/out") == []


@given(st.integers(1, 2**31 - 1), st.floats(0, 2**40 - 1))
@example(2**31 - 1, 2**40 - 1)
def test_an_identity_survives_the_body_of_a_lock(pid: int, start: float) -> None:
    read = ProcessIdentity.parse(f"{ProcessIdentity(pid, start)} 1763632800.5\n")
    assert read is not None
    assert read.pid == pid
    assert abs(read.start - start) <= 0.01


@given(st.text(max_size=30))
def test_any_text_as_a_lock_s_body_is_an_identity_or_none(text: str) -> None:
    found = ProcessIdentity.parse(text)
    assert found is None or (found.pid > 0 and found.start >= 0)


def test_a_lock_body_that_is_no_identity_is_none() -> None:
    for text in ("", "12", "x 1", "0 1", "-5 1", "1 nan", "1 inf", "99999999999 1", "1 -1", "1 1e13"):
        assert ProcessIdentity.parse(text) is None


def test_a_writer_names_itself_as_others_see_it() -> None:
    """Its own start is read without the library that looks at other processes: both say the same."""
    seen = psutil.Process().create_time() - (psutil.boot_time() if psutil.LINUX else 0)
    name = Path("/proc/self/comm" if psutil.LINUX else os.devnull)
    before = name.read_text()
    name.write_text("odd) 1 (name")
    mine = process_identity()
    name.write_text(before)
    assert mine is not None and abs(mine.start - seen) < 0.05
    assert is_alive(mine) and not is_alive(ProcessIdentity(mine.pid, mine.start - 60))


def test_a_lock_that_is_given_back_by_another_thread_is_free(tmp_path: Path) -> None:
    held = writer_lock(tmp_path, "extract")
    thread = threading.Thread(target=held.__enter__)
    thread.start()
    thread.join()
    with pytest.raises(Locked), writer_lock(tmp_path, "extract", blocking=False):
        pass
    held.__exit__(None, None, None)
    with writer_lock(tmp_path, "extract", blocking=False):
        pass
