"""Jobs survive whatever a hook or a crash leaves in the spool."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.app.spool import UNKNOWN, Job, coalesce, put, read, take

TEXT = st.text(max_size=20)


@given(TEXT, TEXT, TEXT)
def test_a_job_is_read_as_it_was_put(worktree, path, agent) -> None:
    job = Job("stop", worktree, path, "s1", agent, 5.0, ("a",))
    with TemporaryDirectory() as folder:
        assert take(Path(folder)) == []
        file = put(Path(folder), job)
        assert take(Path(folder)) == [(file, job)]


def test_lines_of_a_shell_hook_are_read(tmp_path: Path) -> None:
    """The worktree comes last, so that a path with a line break in it cannot pose as another field."""
    file = tmp_path / "12-rewrite"
    file.write_text(
        "gitmem-job 1\nevent=rewrite\nargs=amend\npair=a b\npair=c d x\nworktree=/r\nevent=no\n"
    )
    os.utime(file, (7, 7))
    assert read(file) == Job(
        "rewrite", "/r\nevent=no", time=7, args=("amend",), rewritten=(("a", "b"), ("c", "d"))
    )


@given(st.binary(max_size=60))
def test_garbage_still_is_a_job(data: bytes) -> None:
    """A half-written file means that something happened: it triggers, whatever it says."""
    with TemporaryDirectory() as folder:
        Path(folder, "x").write_bytes(data)
        [(path, job)] = take(Path(folder))
    assert path.name == "x"
    assert isinstance(job, Job) and job.event


@pytest.mark.parametrize(
    "text", ["", "gitmem-job 1\nevent=com", '{"event": "stop"', "[1]\n", '{"event": 3}\n']
)
def test_a_half_written_job_is_unknown(tmp_path: Path, text: str) -> None:
    (tmp_path / "x").write_text(text)
    [(_, job)] = take(tmp_path)
    assert job.event == UNKNOWN


def test_links_folders_pipes_and_dot_files_are_no_jobs(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("{}")
    folder = tmp_path / "spool"
    (folder / "failed").mkdir(parents=True)
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / ".half").write_text("{}")
    os.mkfifo(folder / "pipe")
    assert take(folder) == []


def test_jobs_come_oldest_first_and_are_united_and_twice_is_once() -> None:
    one = Job("commit", "/a", time=1, rewritten=(("x", "y"),))
    two = Job("stop", "/a", "/t/1.jsonl", "s1", "main", 2)
    three = Job("stop", "/b", "/t/2.jsonl", "s2", "main", 3)
    united = coalesce([three, one, two, two])
    assert united.events == ("commit", "stop")
    assert united.worktrees == ("/a", "/b")
    assert united.rewritten == (("x", "y"),)
    assert (united.event, united.worktree, united.time) == ("stop", "/b", 3)
    assert coalesce([coalesce([one, two]), coalesce([three])]) == coalesce([one, two, three])
    assert coalesce([one]) == one
    with pytest.raises(ValueError, match="no jobs"):
        coalesce([])


def test_where_the_disk_is_full_nothing_half_written_stays(tmp_path: Path, monkeypatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr("gitmem.ledger.files.os.fchmod", full)
    with pytest.raises(OSError, match="no space"):
        put(tmp_path / "spool", Job("stop"))
    assert list((tmp_path / "spool").iterdir()) == []
