"""Lock files that git or libgit2 left when their process was killed: ours go, all others stay."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitmem.core.errors import RepositoryError
from gitmem.git import locks as ref_locks
from gitmem.git.command import GitCommand
from gitmem.git.config import config_get, config_set
from gitmem.git.locks import Locked, process_identity, ref_turn
from gitmem.git.open import open_repository
from gitmem.git.refs import move_ref
from gitmem.git.repository import Repository, Signature

ANN = Signature("Ann", "ann@example.com", 1_795_000_000)
REF = "refs/gitmem/project"

DIES = """\
import os, pathlib, sys
from gitmem.git.locks import ref_turn
git_dir, names, new, files = pathlib.Path(sys.argv[1]), sys.argv[2].split(), sys.argv[3], sys.argv[4:]
with ref_turn(git_dir, tuple(names), new or None):
    for file in files:
        name, _, text = file.partition("=")
        (git_dir / name).parent.mkdir(parents=True, exist_ok=True)
        (git_dir / name).write_text(text)
    os.kill(os.getpid(), 9)
"""

HOLDS = """\
import pathlib, sys
from gitmem.git.locks import ref_turn
git_dir = pathlib.Path(sys.argv[1])
with ref_turn(git_dir, (sys.argv[2],), None):
    (git_dir / f"{sys.argv[2]}.lock").write_text("")
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(params=["auto", "git"])
def store(request: pytest.FixtureRequest, repo: Path) -> Iterator[Repository]:
    opened = open_repository(repo, GitCommand(dict(os.environ)), request.param)
    yield opened
    opened.close()


@pytest.fixture
def git_dir(repo: Path) -> Path:
    return repo / ".git"


def commits(store: Repository, count: int) -> list[str]:
    made: list[str] = []
    for number in range(count):
        made.append(store.add_commit(store.add_tree({}), tuple(made[-1:]), ANN, ANN, str(number)))
    return made


def die(git_dir: Path, new: str | None, *files: str, names: str = REF) -> None:
    """A process makes these `name=text` files in the git directory and is killed while it moves refs."""
    done = subprocess.run([sys.executable, "-c", DIES, str(git_dir), names, new or "", *files])
    assert done.returncode == -9


@pytest.mark.parametrize("end", ["", "\n"])  # two writes of git's
def test_what_a_killed_writer_locked_is_free_for_the_next(store, git_dir: Path, end: str) -> None:
    one, two = commits(store, 2)
    die(git_dir, one, f"{REF}.lock=")
    move_ref(store, REF, one, None, "made")
    die(git_dir, two, f"{REF}.lock={two}{end}")
    move_ref(store, REF, two, one, "moved")
    die(git_dir, None, f"{REF}.lock=", "packed-refs.lock=", "packed-refs.new=# pack-refs")
    move_ref(store, REF, None, two, "deleted")
    assert store.ref(REF) is None
    assert not list(git_dir.rglob("*.lock"))[1:], "all but gitmem's own are gone"
    assert (git_dir / "gitmem/refs.lock").read_bytes() == b""


def test_a_killed_writer_of_another_ref_is_cleared_up_after_too(store: Repository, git_dir: Path) -> None:
    one, two = commits(store, 2)
    die(git_dir, two, f"refs/heads/gitmem/dream/x.lock={two}\n", names="refs/heads/gitmem/dream/x")
    move_ref(store, REF, one, None, "made")
    assert not (git_dir / "refs/heads/gitmem/dream/x.lock").exists()


def test_head_that_git_locks_along_is_free_too(tmp_path: Path) -> None:
    command = GitCommand(dict(os.environ))
    command.run(["init", "-q", "--bare", "--object-format=sha256", "-b", "user", str(tmp_path / "p.git")])
    store = open_repository(tmp_path / "p.git", command)
    [one] = commits(store, 1)
    die(tmp_path / "p.git", one, "refs/heads/user.lock=", "HEAD.lock=", names="refs/heads/user HEAD")
    move_ref(store, "refs/heads/user", one, None, "made")
    assert store.ref("refs/heads/user") == one
    store.close()


def test_a_lock_that_no_note_explains_is_never_removed(store: Repository, git_dir: Path) -> None:
    one, two = commits(store, 2)
    move_ref(store, REF, one, None, "made")
    lock = git_dir / f"{REF}.lock"
    lock.write_text("")
    with pytest.raises(RepositoryError, match="File exists") as caught:
        move_ref(store, REF, two, one, "moved")
    assert str(lock) in caught.value.hint
    assert lock.exists()


@pytest.mark.parametrize(
    "text", ["f" * 40 + "\n", "ref: refs/heads/main\n", "aa", "a" * 39, "a" * 41 + "\n"]
)
def test_a_lock_with_something_else_in_it_is_somebody_elses(git_dir: Path, text: str) -> None:
    die(git_dir, "a" * 40, f"{REF}.lock={text}")
    with ref_turn(git_dir, (REF,), "b" * 40):
        assert (git_dir / f"{REF}.lock").exists()


@pytest.mark.parametrize("seconds", [-1, ref_locks.NEAR_SECONDS + 1])
def test_a_lock_from_another_time_is_somebody_elses(git_dir: Path, seconds: float) -> None:
    die(git_dir, None, f"{REF}.lock=")
    written = (git_dir / "gitmem/refs.lock").stat().st_mtime
    os.utime(git_dir / f"{REF}.lock", (written + seconds, written + seconds))
    with ref_turn(git_dir, (REF,), None):
        assert (git_dir / f"{REF}.lock").exists()


def test_a_lock_that_changes_meanwhile_has_an_owner(git_dir: Path, monkeypatch) -> None:
    die(git_dir, "a" * 40, f"{REF}.lock=")
    lock = git_dir / f"{REF}.lock"
    monkeypatch.setattr(ref_locks.time, "sleep", lambda _: lock.write_text("a" * 40))
    with ref_turn(git_dir, (REF,), None):
        assert lock.exists()


def test_the_lock_of_a_writer_who_lives_is_waited_for(git_dir: Path, monkeypatch) -> None:
    lock = git_dir / f"{REF}.lock"
    lock.parent.mkdir(parents=True)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(git_dir), REF],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout
    assert holder.stdout.readline() == "held\n"
    monkeypatch.setattr(ref_locks, "PATIENCE", 0.0)
    with pytest.raises(Locked, match=f"process {holder.pid}"), ref_turn(git_dir, (REF,), None):
        pass
    assert lock.exists()
    holder.communicate()
    with ref_turn(git_dir, (REF,), None):
        assert lock.exists(), "who ended well left no note"


def test_a_note_of_one_who_lives_removes_nothing(git_dir: Path) -> None:
    """The kernel's lock is free, yet the process is there: on a file system that keeps no promise."""
    die(git_dir, None, f"{REF}.lock=")
    note = git_dir / "gitmem/refs.lock"
    words = json.loads(note.read_text()) | {"process": str(process_identity())}
    note.write_text(json.dumps(words))
    with ref_turn(git_dir, (REF,), None):
        assert (git_dir / f"{REF}.lock").exists()


@pytest.mark.parametrize(
    "note",
    [
        "",
        "{",
        "[]",
        '{"process": "1 2"}',
        '{"process": "x", "names": [], "new": ""}',
        "\0" * 99,
        "[" * 100_000,
    ],
)
def test_a_damaged_note_says_nothing(git_dir: Path, note: str) -> None:
    (git_dir / "gitmem").mkdir()
    (git_dir / "gitmem/refs.lock").write_text(note)
    (git_dir / "refs/gitmem").mkdir()
    (git_dir / f"{REF}.lock").write_text("")
    with ref_turn(git_dir, (REF,), None):
        assert (git_dir / f"{REF}.lock").exists()


def test_a_note_without_end_says_nothing(git_dir: Path) -> None:
    """As of a `.git` that came out of an archive."""
    note = git_dir / "gitmem/refs.lock"
    note.parent.mkdir(exist_ok=True)
    note.touch()
    os.truncate(note, 1 << 42)
    with ref_turn(git_dir, (REF,), None):
        assert 0 < note.stat().st_size < 1_000


def test_a_hostile_note_reaches_nothing_outside(git_dir: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (git_dir / "refs/gitmem").symlink_to(outside)
    names = ["../../outside/a", str(outside / "a"), "refs/gitmem/a", "refs/gitmem/"]
    for name in names:
        die(git_dir, None, names=REF)
        note = git_dir / "gitmem/refs.lock"
        note.write_text(json.dumps(json.loads(note.read_text()) | {"names": [name]}))
        (outside / "a.lock").write_text("")
        with ref_turn(git_dir, (REF,), None):
            assert (outside / "a.lock").exists(), name


def test_a_turn_is_over_though_what_a_hook_started_goes_on(git_dir, tmp_path: Path, monkeypatch) -> None:
    """It inherited the lock's handle."""
    pipe, fake = tmp_path / "pipe", tmp_path / "git"
    os.mkfifo(pipe)
    fake.write_text(f"#!/bin/sh\n(read line <'{pipe}') >/dev/null 2>&1 &\n")
    fake.chmod(0o755)
    monkeypatch.setattr(ref_locks, "PATIENCE", 0.0)
    with ref_turn(git_dir, (REF,), None) as turn:
        turn.run(GitCommand(dict(os.environ), str(fake)), ["update-ref"])
    try:
        with ref_turn(git_dir, (REF,), None):
            pass
    finally:
        pipe.write_text("end\n")


def test_the_turn_lasts_as_long_as_a_git_that_works_in_it(repo, git_dir: Path, tmp_path: Path) -> None:
    """Its lock file is no leftover although the process that started it was killed."""
    pipe, fake = tmp_path / "pipe", tmp_path / "git"
    os.mkfifo(pipe)
    lock = git_dir / f"{REF}.lock"
    fake.write_text(f"#!/bin/sh\n: >'{lock}'\nread line <'{pipe}'\nrm '{lock}'\n")
    fake.chmod(0o755)
    code = f"""\
import os, pathlib
from gitmem.git.command import GitCommand
from gitmem.git.locks import ref_turn
with ref_turn(pathlib.Path({str(git_dir)!r}), ({REF!r},), None) as turn:
    turn.run(GitCommand(dict(os.environ), {str(fake)!r}), ["update-ref"])
"""
    lock.parent.mkdir(parents=True)
    writer = subprocess.Popen([sys.executable, "-c", code])
    with pipe.open("w") as says:
        writer.kill()
        writer.wait()
        assert not _is_free(git_dir)
        assert lock.exists()
        says.write("go on\n")
    with ref_turn(git_dir, (REF,), None):
        assert not lock.exists()


def _is_free(git_dir: Path) -> bool:
    import fcntl

    with (git_dir / "gitmem/refs.lock").open("r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def test_what_a_git_that_was_killed_locked_goes_at_once(repo: Path, git_dir: Path, tmp_path: Path) -> None:
    command = GitCommand(dict(os.environ))
    store = open_repository(repo, command, "git")
    [one] = commits(store, 1)
    fake = tmp_path / "git"
    dies = f': >"{git_dir}/{REF}.lock"; kill -9 $$'
    fake.write_text(f'#!/bin/sh\ncase "$*" in *update-ref*) {dies};; esac\nexec git "$@"\n')
    fake.chmod(0o755)
    (git_dir / "refs/gitmem").mkdir()
    killed = open_repository(repo, GitCommand(dict(os.environ), str(fake)), "git")
    with pytest.raises(RepositoryError):
        move_ref(killed, REF, one, None, "made")
    assert not (git_dir / f"{REF}.lock").exists()
    move_ref(store, REF, one, None, "made")
    assert store.ref(REF) == one
    store.close()
    killed.close()


def test_a_lock_on_the_configuration_is_cleared_up_too(git_dir: Path) -> None:
    command = GitCommand(dict(os.environ))
    config_set(command, None, "gitmem.x", "0", git_dir=git_dir)
    assert not (git_dir / "gitmem").exists(), "where nothing of gitmem is, a setting brings nothing along"
    (git_dir / "gitmem").mkdir()
    with pytest.raises(RepositoryError, match="config"):
        (git_dir / "config.lock").write_text("")
        config_set(command, None, "gitmem.x", "1", git_dir=git_dir)
    (git_dir / "config.lock").unlink()
    code = DIES.replace("new or None)", "new or None, 'config')")
    subprocess.run([sys.executable, "-c", code, str(git_dir), "config", "*", "config.lock=[core]\n"])
    assert (git_dir / "config.lock").exists()
    config_set(command, None, "gitmem.x", "1", git_dir=git_dir)
    assert config_get(command, None, "gitmem.x", git_dir=git_dir) == "1"


def test_without_a_kernel_lock_refs_move_all_the_same(store: Repository, git_dir: Path) -> None:
    """As in a folder that may not be written, or on a file system that has no such locks."""
    (git_dir / "gitmem").write_text("in the way")
    one, two = commits(store, 2)
    move_ref(store, REF, one, None, "made")
    move_ref(store, REF, two, one, "moved")
    assert store.ref(REF) == two


@pytest.mark.parametrize(
    ("names", "new", "goes"),
    [(f"{REF} HEAD", "", True), (REF, "*", True), (REF, "a" * 40, False), ("config", "", False)],
)
def test_packed_refs_are_locked_by_who_may_delete_one(git_dir, names: str, new: str, goes: bool) -> None:
    die(git_dir, new, "packed-refs.new=# pack-refs", "packed-refs.lock=", names=names)
    with ref_turn(git_dir, (REF,), None):
        left = {name for name in ("packed-refs.new", "packed-refs.lock") if (git_dir / name).exists()}
    assert left == (set() if goes else {"packed-refs.new", "packed-refs.lock"})


@pytest.mark.parametrize(
    ("new", "seconds", "stays"),
    [
        ("a" * 40, 0, False),
        ("a" * 40, ref_locks.NEAR_SECONDS, False),
        ("a" * 40, ref_locks.NEAR_SECONDS + 1, True),
        ("*", ref_locks.NEAR_SECONDS + 1, False),
        ("*", ref_locks.LONG_SECONDS, False),
        ("*", ref_locks.LONG_SECONDS + 1, True),
    ],
)
def test_what_takes_long_may_have_left_a_lock_later(git_dir, new: str, seconds: float, stays: bool) -> None:
    die(git_dir, new, f"{REF}.lock=", "refs/remotes/x/y.lock=", names=f"{REF} refs/remotes/")
    written = (git_dir / "gitmem/refs.lock").stat().st_mtime_ns + int(seconds * 1e9)
    for name in (REF, "refs/remotes/x/y"):
        os.utime(git_dir / f"{name}.lock", ns=(written, written))
    with ref_turn(git_dir, (REF,), None):
        left = [(git_dir / f"{name}.lock").exists() for name in (REF, "refs/remotes/x/y")]
    assert left == [stays, stays]


def test_the_file_of_a_turn_is_its_owners_alone_and_names_them_while_it_lasts(git_dir: Path) -> None:
    path = git_dir / "gitmem/refs.lock"
    for _ in range(2):  # its folder is missing, then the file alone
        with ref_turn(git_dir, (REF, "HEAD"), None):
            assert path.stat().st_mode & 0o777 == 0o600
            assert json.loads(path.read_text()) == {
                "process": str(process_identity()),
                "names": [REF, "HEAD"],
                "new": "",
            }
        assert path.read_bytes() == b""
        path.unlink()


def test_a_git_that_was_interrupted_is_cleared_up_after_at_once(git_dir: Path) -> None:
    class Interrupted:
        def run(self, *_: object, **__: object) -> None:
            raise KeyboardInterrupt

    lock = git_dir / f"{REF}.lock"
    lock.parent.mkdir(parents=True)
    with ref_turn(git_dir, (REF,), None) as turn:
        lock.write_text("")
        with pytest.raises(KeyboardInterrupt):
            turn.run(Interrupted(), ["update-ref"])  # type: ignore[arg-type]
        assert not lock.exists()
