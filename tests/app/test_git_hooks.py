"""Installed hooks with real git: they leave jobs, disturb no one, and go without a trace."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from gitmem.app import git_hooks
from gitmem.app.git_hooks import GitSetup, HookStep
from gitmem.app.spool import Job, take
from gitmem.core.errors import RepositoryError
from gitmem.git.command import GitCommand

OLD = GitSetup((2, 39))
NEW = GitSetup((2, 54))


class Ground:
    """A repository in which gitmem is set up, and a stand-in for gitmem."""

    def __init__(self, repo: Path, git) -> None:
        self.repo, self.git, self.common = repo, git, repo / ".git"
        self.spool = self.common / "gitmem" / "spool"
        self.hooks = self.common / "hooks"
        self.spool.mkdir(parents=True)
        shutil.rmtree(self.hooks, ignore_errors=True)
        self.hooks.mkdir()
        self.program = repo.parent / "bin" / "it's gitmem"
        self.program.parent.mkdir()
        self.started = repo.parent / "started"
        os.mkfifo(self.started)
        self.program.write_text("#!/bin/sh\n")
        self.program.chmod(0o755)
        self.argv = (str(self.program), "-m", "x y")
        self.runner = GitCommand(os.environ)

    def install(self, setup: GitSetup = OLD) -> tuple[HookStep, ...]:
        plan = git_hooks.plan_git_hooks(self.common, self.argv, setup)
        git_hooks.apply(plan, self.runner)
        return plan

    def remove(self, setup: GitSetup = OLD) -> None:
        git_hooks.apply(git_hooks.plan_removal(self.common, setup), self.runner)

    def foreign(self, hook: str, text: str, mode: int = 0o755) -> Path:
        path = self.hooks / hook
        path.write_text(text)
        path.chmod(mode)
        return path

    def change(self, text: str = "more", *args: str) -> str:
        (self.repo / "README").write_text(text)
        return self.git("-C", self.repo, "commit", "-qam", text, *args)

    def wait(self) -> list[str]:
        """Words that the worker was started with; blocks until it was."""
        return self.started.read_text().splitlines()

    def events(self) -> list[str]:
        return sorted(job.event for _, job in take(self.spool))

    def forget_jobs(self) -> None:
        for path, _ in take(self.spool):
            path.unlink()

    def state(self) -> dict[str, tuple[bytes, int]]:
        return {
            path.name: (path.read_bytes(), path.lstat().st_mode)
            for path in self.hooks.iterdir()
            if path.is_file()
        }


@pytest.fixture
def ground(repo: Path, git) -> Ground:
    return Ground(repo, git)


def test_a_commit_leaves_a_job_and_starts_the_worker_without_waiting_for_it(ground: Ground) -> None:
    """Its output is captured through a pipe, and the worker blocks until the test reads its own."""
    ground.program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$PWD" "$@" >"{ground.started}"\n')
    ground.install()
    assert ground.change() == ""
    [(_, job)] = take(ground.spool)
    assert (job.event, job.worktree) == ("commit", str(ground.repo))
    assert ground.wait() == [str(ground.common), "-m", "x y", "worker", "--git-dir", str(ground.common)]


def test_installing_twice_changes_nothing_and_removal_leaves_no_trace(ground: Ground) -> None:
    assert [step.hook for step in ground.install()] == list(git_hooks.HOOKS)
    before = ground.state()
    assert ground.install() == ()
    assert ground.state() == before
    states = git_hooks.inspect_git_hooks(ground.common, ground.argv, OLD)
    assert {state.standing for state in states} == {"ours"}

    ground.install()
    ground.remove()
    assert ground.state() == {}
    assert git_hooks.plan_removal(ground.common, OLD) == ()


def test_another_gitmem_path_is_renewed_in_place(ground: Ground) -> None:
    ground.foreign("post-commit", "#!/bin/sh\necho mine\n")
    ground.install()
    ground.argv = ("/elsewhere/gitmem",)  # type: ignore[assignment]
    standing = {s.hook: s.standing for s in git_hooks.inspect_git_hooks(ground.common, ground.argv, OLD)}
    # The push guard is plain sh and names no program.
    assert {hook for hook, state in standing.items() if state != "outdated"} == {"pre-push"}
    ground.install()
    text = (ground.hooks / "post-commit").read_text()
    assert text.count("# >>> gitmem >>>") == 1
    assert "/elsewhere/gitmem" in text
    assert str(ground.program) not in text
    ground.remove()
    assert (ground.hooks / "post-commit").read_text() == "#!/bin/sh\necho mine\n"


def test_a_shell_hook_keeps_its_bytes_mode_and_work(ground: Ground) -> None:
    ran = ground.repo.parent / "ran"
    for shell in ("#!/bin/sh", "#!/bin/sh -eu", "#!/usr/bin/env bash", "#! /bin/bash -e"):
        mine = ground.foreign("post-commit", f"{shell}\nprintf ran >'{ran}'\nexit 3\n", 0o750)
        before = ground.state()
        ground.install()
        assert mine.stat().st_mode & 0o777 == 0o750
        ground.change(shell)
        assert ran.read_text() == "ran"
        assert ground.events() == ["commit"]
        assert subprocess.run([mine], cwd=ground.repo).returncode == 3
        ground.remove()
        assert ground.state() == before
        ran.unlink()
        ground.forget_jobs()


def test_a_foreign_hook_that_ends_early_does_not_stop_ours(ground: Ground) -> None:
    ground.foreign("post-commit", "#!/bin/sh\nexec true\n")
    ground.install()
    ground.change()
    assert ground.events() == ["commit"]


def test_a_hook_that_is_no_shell_script_is_kept_aside_and_put_back(ground: Ground) -> None:
    python = "#!/usr/bin/env python3\nimport sys; sys.exit(4)\n"
    for text in (python, "#!/bin/sh", "echo no shebang\nexit 4\n"):
        ground.foreign("post-commit", text, 0o711)
        before = ground.state()
        ground.install()
        assert (ground.hooks / "post-commit.gitmem-kept").read_text() == text
        assert ground.install() == ()
        ground.change(text)
        assert ground.events() == ["commit"]
        ground.remove()
        assert ground.state() == before
        ground.forget_jobs()


def test_a_hook_kept_aside_is_found_where_a_process_died_before_ours_was_there(ground: Ground) -> None:
    """Or behind the first step of putting it back."""
    path, kept = ground.hooks / "post-commit", ground.hooks / "post-commit.gitmem-kept"
    ground.foreign("post-commit", "#!/usr/bin/env python3\n", 0o711)
    before = ground.state()
    path.rename(kept)
    ground.install()
    assert git_hooks.KEPT_MARK in path.read_bytes() and ground.install() == ()
    path.unlink()
    ground.remove()
    assert ground.state() == before


def test_a_kept_hook_gets_arguments_stdin_and_gives_its_exit_code(ground: Ground, git) -> None:
    remote = ground.repo.parent / "remote.git"
    git("init", "-q", "--bare", remote)
    seen = ground.repo.parent / "seen"
    ground.foreign(
        "pre-push",
        "#!/usr/bin/env python3\nimport sys\n"
        f"open({str(seen)!r}, 'w').write(repr((sys.argv[1:], sys.stdin.read())))\nsys.exit(9)\n",
    )
    ground.install()
    git("-C", ground.repo, "push", "-q", remote, "main", check=False)
    args, stdin = eval(seen.read_text())
    head = git("-C", ground.repo, "rev-parse", "HEAD")
    assert args == [str(remote), str(remote)]
    assert stdin == f"refs/heads/main {head} refs/heads/main {'0' * 40}\n"
    assert git("-C", remote, "for-each-ref") == ""


def test_a_linked_hook_is_not_written_through(ground: Ground) -> None:
    """Hooks that are links usually lead into the tracked code."""
    tracked = ground.repo / "hook.sh"
    tracked.write_text("#!/bin/sh\n")
    tracked.chmod(0o755)
    (ground.hooks / "post-commit").symlink_to("../../hook.sh")
    ground.install()
    assert tracked.read_text() == "#!/bin/sh\n"
    ground.remove()
    assert (ground.hooks / "post-commit").readlink() == Path("../../hook.sh")


def test_a_disabled_hook_stays_disabled(ground: Ground) -> None:
    ran = ground.repo.parent / "ran"
    ground.foreign("post-commit", f"#!/bin/sh\n: >'{ran}'\n", 0o644)
    ground.install()
    ground.change()
    assert ground.events() == ["commit"]
    assert not ran.exists()


def test_what_cannot_be_taken_apart_is_left_to_a_person(ground: Ground) -> None:
    ground.install()
    path = ground.hooks / "post-merge"
    path.write_text(path.read_text() + "echo mine\n")
    ground.remove()
    assert path.read_text() == "#!/bin/sh\necho mine\n"

    text = "#!/bin/sh\n# >>> gitmem >>>\necho mine\n"
    ground.foreign("post-commit", text)
    plan = ground.install()
    assert [step.edit for step in plan if step.hook == "post-commit"] == [None]
    assert (ground.hooks / "post-commit").read_text() == text


def test_rewrite_hands_its_pairs_to_both(ground: Ground, git) -> None:
    seen = ground.repo.parent / "seen"
    ground.foreign("post-rewrite", f"#!/bin/sh\ncat >'{seen}'\n")
    ground.install()
    old = git("-C", ground.repo, "rev-parse", "HEAD")
    ground.change("amended", "--amend")
    new = git("-C", ground.repo, "rev-parse", "HEAD")
    [job] = [job for _, job in take(ground.spool) if job.event == "rewrite"]
    assert job.rewritten == ((old, new),)
    assert job.args == ("amend",)
    assert seen.read_text() == f"{old} {new}\n"


def test_commits_of_a_rebase_under_way_leave_no_job_and_start_no_worker(ground: Ground) -> None:
    """Post-commit runs for every one of them, and post-rewrite follows at the end."""
    starts = ground.repo.parent / "starts"
    ground.program.write_text(f"#!/bin/sh\necho x >>'{starts}'\n: >'{ground.started}'\n")
    ground.install()
    (ground.common / "rebase-merge").mkdir()
    ground.change("under way")
    (ground.common / "rebase-merge").rmdir()
    ground.change("done")
    ground.wait()
    assert starts.read_text() == "x\n"
    assert ground.events() == ["commit"]


def test_a_hundred_commits_leave_one_job(ground: Ground, git) -> None:
    """Where no worker comes to it: the one that waits does for all; another work tree has its own."""
    ground.install()
    other = ground.repo.parent / "other tree"
    git("-C", ground.repo, "worktree", "add", "-q", other, "-b", "other")
    for number in range(5):
        git("-C", ground.repo, "commit", "-q", "--allow-empty", "-m", str(number))
    git("-C", other, "commit", "-q", "--allow-empty", "-m", "there")
    found = [job for _, job in take(ground.spool) if job.event == "commit"]
    assert sorted(job.worktree for job in found) == sorted([str(ground.repo), str(other)])


@pytest.mark.parametrize("backend", ["--merge", "--apply"])
def test_a_rebase_leaves_one_job_with_its_pairs_and_one_that_is_given_up_loses_nothing(
    ground: Ground, git, backend: str
) -> None:

    def commit(name: str, text: str = "") -> None:
        (ground.repo / name).write_text(text or name)
        git("-C", ground.repo, "add", name)
        git("-C", ground.repo, "commit", "-qm", name)

    def left() -> list[Job]:
        found = [job for _, job in take(ground.spool) if job.event != "checkout"]
        ground.forget_jobs()
        return found

    git("-C", ground.repo, "checkout", "-qb", "topic")
    for name in "abc":
        commit(name)
    git("-C", ground.repo, "checkout", "-q", "main")
    commit("c", "another")
    git("-C", ground.repo, "checkout", "-q", "topic")
    ground.install()
    stopped = subprocess.run(
        ["git", "-C", ground.repo, "rebase", "-q", backend, "main"], capture_output=True
    )
    assert stopped.returncode and left() == []
    git("-C", ground.repo, "rebase", "--abort")
    commit("d")
    # Given up, no post-rewrite comes: the next commit's job sees all that was said meanwhile.
    assert [job.event for job in left()] == ["commit"]
    git("-C", ground.repo, "rebase", "-q", backend, "main~1", "--force-rebase")
    (rewrite,) = left()
    assert rewrite.event == "rewrite" and len(rewrite.rewritten) == 4
    git("-C", ground.repo, "cherry-pick", "main", "--strategy-option=theirs")
    assert [job.event for job in left()] == ["commit"]


def test_merge_and_checkout_leave_jobs_and_a_file_checkout_none(ground: Ground, git) -> None:
    git("-C", ground.repo, "branch", "side")
    ground.change()
    ground.install()
    git("-C", ground.repo, "checkout", "-q", "side")
    (ground.repo / "README").write_text("dirty")
    git("-C", ground.repo, "checkout", "-q", "--", "README")
    git("-C", ground.repo, "merge", "-q", "main")
    assert ground.events() == ["checkout", "merge"]


def test_a_moved_repository_spools_into_itself(ground: Ground, git) -> None:
    ground.install()
    moved = ground.repo.with_name("moved")
    ground.repo.rename(moved)
    (moved / "README").write_text("moved")
    git("-C", moved, "commit", "-qam", "moved")
    assert [job.worktree for _, job in take(moved / ".git/gitmem/spool")] == [str(moved)]


def test_hooks_do_nothing_and_block_nothing(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    ground.install()

    def nothing_is_left(why: str) -> None:
        assert ground.change(why) == ""
        assert take(ground.spool) == [], why

    with monkeypatch.context() as patch:
        patch.setenv("GITMEM_DISABLE", "1")
        nothing_is_left("disabled")
    ground.spool.rmdir()
    ground.spool.write_text("in the way")
    nothing_is_left("the spool cannot be written")
    ground.spool.unlink()
    ground.change("all is well")
    assert ground.events() == ["commit"]
    shutil.rmtree(ground.common / "gitmem")
    nothing_is_left("the state is gone")
    ground.spool.mkdir(parents=True)
    ground.program.unlink()
    nothing_is_left("the program is gone")


def test_a_job_that_lies_for_long_gets_a_worker_whoever_has_the_old_process_id_now(ground: Ground) -> None:
    """After a restart the id of the worker that was to take it may be any other process's."""
    ground.install()
    starter, job = ground.common / "gitmem/starter", ground.spool / "commit-.git"
    starter.write_text(f"{os.getpid()}\n")
    job.write_text("gitmem-job 1\nevent=commit\nargs=\nworktree=/x\n")
    ground.change("soon after")
    assert starter.read_text() == f"{os.getpid()}\n"
    os.utime(job, (1, 1))
    ground.change("long after")
    assert starter.read_text() != f"{os.getpid()}\n"


def test_a_commit_waits_for_no_pipe_in_the_state(ground: Ground) -> None:
    """Whoever opens a named pipe waits for the other end, which never comes."""
    ground.install()
    job = ground.spool / "commit-.git"
    for path in (job, ground.common / "gitmem/starter", ground.common / "gitmem/worker.lock"):
        if path != job:
            job.write_text("gitmem-job 1\n")
        path.unlink(missing_ok=True)
        os.mkfifo(path)
        (ground.repo / "README").write_text(path.name)
        words = ["git", "-C", str(ground.repo), "commit", "-qam", path.name]
        subprocess.run(words, check=True, timeout=60)
        assert ground.git("-C", ground.repo, "log", "-1", "--format=%s").strip() == path.name
        path.unlink()


def test_hooks_of_a_gitmem_that_is_gone_are_told_apart(ground: Ground) -> None:
    ground.install()
    ground.program.unlink()
    found = git_hooks.inspect_git_hooks(ground.common, ground.argv, OLD)
    dead = {one.hook for one in found if one.standing == "dead"}
    assert dead == set(git_hooks.HOOKS) - {"pre-push"}
    ground.program.write_text("")
    assert {one.standing for one in git_hooks.inspect_git_hooks(ground.common, ground.argv, OLD)} == {
        "ours"
    }


@pytest.fixture
def remote(ground: Ground, git) -> Path:
    path = ground.repo.parent / "remote.git"
    git("init", "-q", "--bare", path)
    git("-C", ground.repo, "update-ref", "refs/gitmem/project", "HEAD")
    git("-C", ground.repo, "branch", "gitmem/foo")
    ground.install()
    return path


def push(ground: Ground, *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", "-C", ground.repo, "push", "-q", *map(str, words)], capture_output=True, text=True
    )


def test_a_foreign_pre_push_gets_all_its_lines_and_nothing_where_there_are_none(
    ground: Ground, git, remote: Path
) -> None:
    seen = ground.repo.parent / "seen"
    (ground.hooks / "pre-push").unlink()
    ground.foreign("pre-push", f"#!/bin/sh\ncat >>'{seen}'\necho end >>'{seen}'\n")
    ground.install()
    names = [f"b{number}" for number in range(60)]
    for name in names:
        git("-C", ground.repo, "branch", name)
    assert push(ground, remote, *names).returncode == 0
    lines = seen.read_text().splitlines()
    assert [line.split()[0] for line in lines[:-1]] == [f"refs/heads/{name}" for name in names]
    assert push(ground, remote, *names).returncode == 0
    assert seen.read_text().splitlines()[len(lines) :] == ["end"]


def test_a_hooks_path_of_another_tool_is_left_alone_until_the_person_has_them_chained(ground, git) -> None:
    git("-C", ground.repo, "config", "core.hooksPath", ".hooks")
    setup = git_hooks.read_setup(ground.runner, ground.repo)
    assert setup.hooks_path == ground.repo / ".hooks"
    offered = [step for step in ground.install(setup) if not step.edit]
    assert [step.hook for step in offered] == [",".join(git_hooks.HOOKS)]
    assert str(offered[0]).endswith(": git mem init --chain")
    assert not (ground.repo / ".hooks").exists()
    assert ground.state() == {}
    (ground.repo / ".hooks").mkdir()
    theirs = ground.repo / ".hooks/post-commit"
    theirs.write_text("#!/bin/sh -e\necho mine >>../mine\n")
    theirs.chmod(0o755)
    before = theirs.read_bytes()
    plan = git_hooks.plan_git_hooks(ground.common, ground.argv, setup, chain=True)
    git_hooks.apply(plan, ground.runner)
    assert ground.install(setup) == ()
    states = git_hooks.inspect_git_hooks(ground.common, ground.argv, setup)
    assert {state.standing for state in states} == {"ours"}
    ground.change()
    assert ground.events() == ["commit"]
    assert (ground.repo.parent / "mine").read_text() == "mine\n"
    assert str(ground.repo) not in theirs.read_text(), "the code may track it"
    ground.remove(setup)
    assert theirs.read_bytes() == before
    assert [path.name for path in (ground.repo / ".hooks").iterdir()] == ["post-commit"]


def test_a_chained_hook_reads_what_git_says_on_stdin_as_before(ground: Ground, git, remote: Path) -> None:
    """Git LFS sends its objects by what it reads there."""
    git("-C", ground.repo, "config", "core.hooksPath", ".hooks")
    (ground.repo / ".hooks").mkdir()
    theirs = ground.repo / ".hooks/pre-push"
    theirs.write_text("#!/bin/sh\ncat >../seen\n")
    theirs.chmod(0o755)
    setup = git_hooks.read_setup(ground.runner, ground.repo)
    git_hooks.apply(git_hooks.plan_git_hooks(ground.common, ground.argv, setup, chain=True), ground.runner)
    git("-C", ground.repo, "push", "-q", remote, "main")
    oid = git("-C", ground.repo, "rev-parse", "main")
    seen = (ground.repo.parent / "seen").read_text()
    assert seen == f"refs/heads/main {oid} refs/heads/main {'0' * len(oid)}\n"
    git("-C", ground.repo, "push", "-q", remote, "main")
    assert (ground.repo.parent / "seen").read_text() == ""
    git("-C", ground.repo, "update-ref", "refs/gitmem/project", "main")
    refused = ("push", "-q", remote, "refs/gitmem/project:refs/gitmem/project")
    git("-C", ground.repo, *refused, check=False)
    assert git("ls-remote", remote, "refs/gitmem/*") == ""


def test_a_hook_of_another_tool_that_is_no_shell_script_is_the_persons(ground: Ground, git) -> None:
    git("-C", ground.repo, "config", "core.hooksPath", ".hooks")
    (ground.repo / ".hooks").mkdir()
    (ground.repo / ".hooks/post-merge").write_text("#!/usr/bin/env python3\n")
    setup = git_hooks.read_setup(ground.runner, ground.repo)
    plan = git_hooks.plan_git_hooks(ground.common, ground.argv, setup, chain=True)
    assert [step.hook for step in plan if not step.edit] == ["post-merge"]


def test_husky_makes_its_own_folder_anew_so_the_lines_go_beside_it(ground: Ground, git) -> None:
    git("-C", ground.repo, "config", "core.hooksPath", ".husky/_")
    setup = git_hooks.read_setup(ground.runner, ground.repo)
    (offered,) = ground.install(setup)[-1:]
    assert offered.edit is None and str(offered).startswith(f"{ground.repo / '.husky'} has the hooks")
    (ground.repo / ".husky").mkdir()
    git_hooks.apply(git_hooks.plan_git_hooks(ground.common, ground.argv, setup, chain=True), ground.runner)
    states = git_hooks.inspect_git_hooks(ground.common, ground.argv, setup)
    assert {state.standing for state in states} == {"ours"}


def test_a_hooks_path_that_is_the_usual_one_is_used(ground: Ground, git) -> None:
    git("-C", ground.repo, "config", "core.hooksPath", str(ground.hooks))
    ground.install(git_hooks.read_setup(ground.runner, ground.repo))
    assert set(ground.state()) == set(git_hooks.HOOKS)


def test_a_linked_hooks_folder_belongs_to_someone_else(ground: Ground) -> None:
    ground.hooks.rmdir()
    (ground.repo / "hooks").mkdir()
    ground.hooks.symlink_to("../hooks")
    assert not all(step.edit for step in ground.install())
    assert list((ground.repo / "hooks").iterdir()) == []


def test_newer_git_gets_hooks_in_its_configuration(ground: Ground) -> None:
    ground.install()
    ground.install(NEW)
    assert ground.state() == {}
    setup = git_hooks.read_setup(ground.runner, ground.repo)
    assert setup.config["hook.gitmem-post-commit.event"] == "post-commit"
    configured = GitSetup((2, 54), None, setup.config)
    assert ground.install(configured) == ()
    states = git_hooks.inspect_git_hooks(ground.common, ground.argv, configured)
    assert {state.standing for state in states} == {"ours"}
    command = setup.config["hook.gitmem-post-commit.command"]
    subprocess.run(["/bin/sh", "-c", f'{command} "$@"', command], cwd=ground.repo, check=True)
    assert ground.events() == ["commit"]
    ground.remove(configured)
    assert git_hooks.read_setup(ground.runner, ground.repo).config == {}
    assert list((ground.common / "gitmem" / "hooks").iterdir()) == []


def test_inspection_tells_what_is_there(ground: Ground) -> None:
    ground.foreign("post-merge", "#!/bin/sh\n")
    states = {s.hook: s.standing for s in git_hooks.inspect_git_hooks(ground.common, ground.argv, OLD)}
    assert states["post-merge"] == "foreign"
    assert states["post-commit"] == "missing"


def test_a_plan_that_is_out_of_date_and_a_relative_program_are_refused(ground: Ground) -> None:
    plan = git_hooks.plan_git_hooks(ground.common, ground.argv, OLD)
    ground.foreign("pre-push", "#!/bin/sh\necho new\n")
    before = ground.state()
    with pytest.raises(RepositoryError, match="changed meanwhile"):
        git_hooks.apply(plan, ground.runner)
    assert ground.state() == before

    # A hook runs in whatever worktree it is called in: `gitmem` there could be anybody's.
    with pytest.raises(RepositoryError, match="absolute"):
        git_hooks.plan_git_hooks(ground.common, ("gitmem",), OLD)
