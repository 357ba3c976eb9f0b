"""What was taught on a branch is told wherever its code is, however it came there, and nowhere else."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from code_head import head_of
from once import Once

from gitmem.git.command import GitCommand
from gitmem.ledger.code_rewrites import keep_rewrites
from gitmem.search import ancestry
from gitmem.search.ancestry import FOLDER, Ancestry

BODY = "".join(f"line {number}\n" for number in range(40))


class Code:
    """A repository with a branch `main`."""

    def __init__(self, top: Path) -> None:
        self.top = top

    def run(self, *words: str) -> str:
        done = subprocess.run(["git", *words], cwd=self.top, capture_output=True, check=False)
        assert not done.returncode, done.stderr
        return done.stdout.decode().strip()

    def commit(self, **files: str) -> str:
        for name, text in files.items():
            (self.top / name).write_text(text)
        self.run("add", "-A")
        self.run("commit", "-q", "-m", f"change {' '.join(files)}")
        return self.head

    def branch(self, name: str, start: str = "main") -> None:
        self.run("switch", "-q", "-c", name, start)

    def on(self, name: str) -> None:
        self.run("switch", "-q", name)

    @property
    def head(self) -> str:
        return head_of(self.top)

    @property
    def common(self) -> Path:
        git_dir = self.top / ".git"
        linked = not git_dir.is_dir()
        return (
            Path(self.run("rev-parse", "--path-format=absolute", "--git-common-dir")) if linked else git_dir
        )

    def elsewhere(self, *commits: str, seconds: float = 20) -> dict[str, str]:
        """Asks anew, and again from what was remembered."""
        ask = lambda: dict(  # noqa: E731
            Ancestry(
                GitCommand(os.environ), self.top, self.common, self.common / "gitmem", seconds
            ).elsewhere(commits)
        )
        first = ask()
        assert ask() == first
        return first


@pytest.fixture
def code(tmp_path: Path, once: Once[Code]) -> Code:
    def make() -> Code:
        (tmp_path / "code").mkdir()
        code = Code(tmp_path / "code")
        code.run("init", "-q", "-b", "main")
        code.commit(shared=BODY, other="x\n")
        return code

    return once("code", make)


@pytest.fixture
def taught(code: Code, once: Once[str]) -> str:
    """A commit in the midst of a branch, which goes on after it; HEAD is main."""

    def make() -> str:
        code.branch("feature")
        code.commit(cache="redis\n", shared=BODY.replace("line 3\n", "line three\n"))
        taught = code.commit(cache="redis\nttl 300\n")
        code.commit(cache="redis\nttl 300\nretries 3\n")
        code.on("main")
        return taught

    return once("taught", make)


def busy(code: Code) -> None:
    """Main goes on, also near what the branch changed."""
    number = code.run("rev-list", "--count", "HEAD")
    shared = code.run("show", "main:shared").replace("line 20", "line twenty")
    code.commit(shared=f"{shared}\nline {number}\n")
    code.commit(other=f"{number}\n")


def test_unmerged(code: Code, taught: str) -> None:
    assert code.elsewhere(taught) == {taught: "feature"}
    busy(code)
    assert code.elsewhere(taught) == {taught: "feature"}
    code.on("feature")
    assert code.elsewhere(taught) == {}


def test_what_no_name_is_holds(code: Code) -> None:
    assert code.elsewhere("--all", "", "0" * 40, code.head[:12]) == {}


def test_merge(code: Code, taught: str) -> None:
    assert code.elsewhere(taught)
    busy(code)
    code.run("merge", "-q", "--no-edit", "feature")
    assert code.elsewhere(taught) == {}
    code.commit(other="z\n")
    assert code.elsewhere(taught) == {}


def test_fast_forward(code: Code, taught: str) -> None:
    code.run("merge", "-q", "--ff-only", "feature")
    assert code.elsewhere(taught) == {}


@pytest.mark.parametrize("deleted", [False, True])
def test_squash(code: Code, taught: str, deleted: bool) -> None:
    busy(code)
    code.run("merge", "-q", "--squash", "feature")
    code.run("commit", "-q", "-m", "All of it")
    if deleted:
        code.run("branch", "-q", "-D", "feature")
    busy(code)
    assert code.elsewhere(taught) == {}


def test_squash_of_a_part(code: Code, taught: str) -> None:
    """The branch went on after it was squashed: what came later is not here."""
    code.run("merge", "-q", "--squash", "feature")
    code.run("commit", "-q", "-m", "All of it")
    code.on("feature")
    later = code.commit(later="1\n")
    code.on("main")
    assert code.elsewhere(taught, later) == {later: "feature"}


def test_squash_of_a_branch_that_took_main_in(code: Code, taught: str) -> None:
    busy(code)
    code.on("feature")
    code.run("merge", "-q", "--no-edit", "main")
    merge = code.head
    code.on("main")
    assert code.elsewhere(taught, merge) == {taught: "feature", merge: "feature"}
    code.run("merge", "-q", "--squash", "feature")
    code.run("commit", "-q", "-m", "All of it")
    busy(code)
    assert code.elsewhere(taught, merge) == {}


def test_rebase(code: Code, taught: str) -> None:
    """Nobody noted it, as where it was rebased at a host: the equal change is found."""
    busy(code)
    code.run("switch", "-q", "--detach", "feature")
    code.run("rebase", "-q", "main")
    rebased = code.head
    code.on("main")
    assert code.elsewhere(taught) == {taught: "feature"}
    code.run("merge", "-q", "--ff-only", rebased)
    assert code.elsewhere(taught) == {}


def test_amend(code: Code) -> None:
    """What was rewritten by hand is followed by the record of git's hook."""
    code.branch("feature")
    taught = code.commit(cache="redis\n")
    (code.top / "cache").write_text("memcached\n")
    code.run("commit", "-q", "-a", "--amend", "-m", "Another cache")
    amended = code.head
    keep_rewrites(code.common / "gitmem", [(taught, amended)])
    assert code.elsewhere(taught) == {}
    code.on("main")
    assert code.elsewhere(taught) == {taught: "feature"}
    code.run("merge", "-q", "--no-ff", "--no-edit", "feature")
    assert code.elsewhere(taught) == {}


def test_rewritten_and_gone(code: Code) -> None:
    """The old commit may be no more; what it became still says where the memory holds."""
    code.branch("feature")
    amended = code.commit(cache="redis\n")
    code.on("main")
    keep_rewrites(code.common / "gitmem", [("1" * 40, amended)])
    assert code.elsewhere("1" * 40) == {"1" * 40: "feature"}


def test_cherry_pick(code: Code, taught: str) -> None:
    """Only the picked commit is here; the one before it is not."""
    code.on("feature")
    later = code.commit(own="1\n")
    code.on("main")
    busy(code)
    code.run("cherry-pick", later)
    assert code.elsewhere(taught, later) == {taught: "feature"}


def test_revert(code: Code, taught: str) -> None:
    """A merge that was taken back is history of HEAD all the same."""
    code.run("merge", "-q", "--no-ff", "--no-edit", "feature")
    code.run("revert", "-m", "1", "--no-edit", "HEAD")
    assert code.elsewhere(taught) == {}


def test_worktree(code: Code, taught: str, tmp_path: Path) -> None:
    code.run("worktree", "add", "-q", str(tmp_path / "linked"), "feature")
    linked = Code(tmp_path / "linked")
    assert linked.elsewhere(taught) == {}
    assert code.elsewhere(taught) == {taught: "feature"}


def test_detached_worktree(code: Code, tmp_path: Path) -> None:
    """No branch has it, but somebody stands on it."""
    code.run("worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    taught = Code(tmp_path / "linked").commit(cache="redis\n")
    assert code.elsewhere(taught) == {taught: "HEAD"}


def test_deleted_branch(code: Code, taught: str) -> None:
    """Nobody has it any more, so nobody else would tell."""
    assert code.elsewhere(taught)
    code.run("branch", "-q", "-D", "feature")
    assert code.elsewhere(taught) == {}


def test_restored_branch(code: Code, taught: str) -> None:
    tip = code.run("rev-parse", "feature")
    code.run("branch", "-q", "-D", "feature")
    assert code.elsewhere(taught) == {}
    code.run("branch", "other", "main")
    assert code.elsewhere(taught) == {}
    code.run("branch", "feature", tip)
    assert code.elsewhere(taught) == {taught: "feature"}


def test_what_is_lost_is_sought_again_only_where_refs_moved(code: Code, taught: str, monkeypatch) -> None:
    code.run("branch", "-q", "-D", "feature")
    code.elsewhere(taught)
    code.run("branch", "gitmem/team", "main")
    asked: list[str] = []
    peek = ancestry.peek
    monkeypatch.setattr(
        ancestry, "peek", lambda git, words, **how: asked.append(words[0]) or peek(git, words, **how)
    )
    code.elsewhere(taught)
    assert "for-each-ref" in asked
    assert "rev-list" not in asked


def test_deleted_here_but_not_at_the_remote(code: Code, taught: str) -> None:
    code.run("update-ref", "refs/remotes/origin/feature", "feature")
    code.run("branch", "-q", "-D", "feature")
    assert code.elsewhere(taught) == {taught: "origin/feature"}


def test_force_push(code: Code, taught: str) -> None:
    """Somebody else rebased the branch: no ref has the commit, but one has its equal."""
    busy(code)
    code.run("switch", "-q", "--detach", "feature")
    code.run("rebase", "-q", "main")
    code.run("update-ref", "refs/remotes/origin/feature", "HEAD")
    code.on("main")
    code.run("branch", "-q", "-D", "feature")
    assert code.elsewhere(taught) == {taught: "origin/feature"}
    code.run("merge", "-q", "origin/feature")
    assert code.elsewhere(taught) == {}


@pytest.mark.parametrize("depth", [1, 2])
def test_shallow(code: Code, taught: str, tmp_path: Path, depth: int) -> None:
    """A merge whose second parent was cut off may have brought it: in doubt it is told."""
    code.run("merge", "-q", "--no-ff", "--no-edit", "feature")
    code.commit(other="z\n")
    code.run("clone", "-q", f"--depth={depth}", f"file://{code.top}", str(tmp_path / "shallow"))
    shallow = Code(tmp_path / "shallow")
    assert shallow.elsewhere(taught) == {}
    shallow.run("fetch", "-q", "--depth=1", "origin", f"{taught}:refs/remotes/origin/old")
    assert shallow.elsewhere(taught) == {}


@pytest.mark.parametrize("filter", ["blob:none", "tree:0"])
def test_partial_clone(code: Code, taught: str, tmp_path: Path, filter: str, monkeypatch) -> None:
    """Nothing is fetched to find out; what cannot be compared is told, what need not be is decided."""
    code.run("config", "uploadpack.allowFilter", "true")
    partial = Code(tmp_path / "partial")
    words = ["clone", "-q", "--no-checkout", f"--filter={filter}", f"file://{code.top}", str(partial.top)]
    code.run(*words)
    trace = tmp_path / "trace"
    monkeypatch.setenv("GIT_TRACE2_EVENT", str(trace))
    found = partial.elsewhere(taught)
    assert found == ({taught: "origin/feature"} if filter == "blob:none" else {})
    objects = partial.run("count-objects", "-v")
    busy(code)
    monkeypatch.delenv("GIT_TRACE2_EVENT")
    code.run("merge", "-q", "--squash", "feature")
    code.run("commit", "-q", "-m", "All of it")
    assert partial.run("count-objects", "-v") == objects
    partial.run("fetch", "-q")
    partial.run("update-ref", "refs/heads/main", "origin/main")
    assert partial.elsewhere(taught) == {}


def test_what_a_head_has_a_later_one_has(code: Code, taught: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """History is walked anew only from the HEAD before."""
    first = code.head
    assert code.elsewhere(first) == {}
    code.commit(other="z\n")
    asked: list[list[str]] = []
    real = Ancestry._here

    def here(self: Ancestry, commits: set[str]) -> set[str]:
        asked.append(sorted(commits))
        return real(self, commits)

    monkeypatch.setattr(Ancestry, "_here", here)
    assert code.elsewhere(first) == {}
    assert all(first not in some for some in asked)


def test_without_time_all_is_told_and_nothing_remembered(code: Code, taught: str) -> None:
    assert code.elsewhere(taught, seconds=0) == {}
    assert not (code.common / "gitmem" / FOLDER).exists()
    assert code.elsewhere(taught) == {taught: "feature"}


@pytest.mark.parametrize("spoil", [bytes.upper, lambda data: data[:-9], lambda data: b"[]"])
def test_damaged_memory(code: Code, taught: str, spoil: Callable[[bytes], bytes]) -> None:
    assert code.elsewhere(taught)
    for file in (code.common / "gitmem" / FOLDER).iterdir():
        file.write_bytes(spoil(file.read_bytes()))
    assert code.elsewhere(taught) == {taught: "feature"}


def test_memory_branches_are_no_code(code: Code, taught: str) -> None:
    code.run("branch", "-q", "-m", "feature", "gitmem/project")
    assert code.elsewhere(taught) == {}


def test_no_commit_yet(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    new = Code(tmp_path / "new")
    new.run("init", "-q")
    assert new.elsewhere("1" * 40) == {}


def test_very_many_commits_are_asked_at_once(code: Code, taught: str) -> None:
    """More names than a pipe takes: neither side waits for the other."""
    many = [f"{number:040x}" for number in range(1, 6_000)]
    assert code.elsewhere(taught, *many) == {taught: "feature"}


def test_a_folder_that_is_a_link_is_neither_written_nor_cleared(code, taught: str, tmp_path: Path) -> None:
    """An archive may hold a `.git` with links; a prompt would clear away what they lead to."""
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    for number in range(2 * ancestry.HEADS_KEPT):
        (theirs / f"{number}.json").write_text("{}")
    (code.common / "gitmem").mkdir()
    (code.common / "gitmem" / FOLDER).symlink_to(theirs)
    before = sorted(theirs.iterdir())
    assert code.elsewhere(taught) == {taught: "feature"}
    assert sorted(theirs.iterdir()) == before


@pytest.mark.parametrize("hostile", [os.mkfifo, lambda path: path.write_text("[" * 100_000)])
def test_what_is_no_file_of_gitmems_is_as_if_it_were_not_there(
    code: Code, taught: str, hostile: Callable[[Path], object]
) -> None:
    folder = code.common / "gitmem" / FOLDER
    folder.mkdir(parents=True)
    hostile(folder / f"{code.head}.json")
    assert code.elsewhere(taught) == {taught: "feature"}
