"""Leaving destroys nothing: neither what was written late, nor what the doctor put aside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cli_ground import Ground, memory

from gitmem.app.file_edits import END
from gitmem.app.uninstall import UninstallPlan
from gitmem.git.locks import writer_lock
from gitmem.ledger.layout import LiveDirectory
from gitmem.ledger.workspace import Scope


def test_uninstall_takes_in_what_was_written_to_a_file_that_a_layout_moved_aside(gitmem, git, repo) -> None:
    """Who holds the file open writes to what was displaced, which is in the state that is deleted."""
    gitmem("init", "-y")
    folder = repo / ".claude" / "agent-memory" / "main"
    folder.mkdir(parents=True)
    (folder / "one.md").write_text(memory("one"))
    gitmem("save")
    with (folder / "one.md").open("a") as late:
        gitmem("remember", "Another fact.", "--type", "project", "--scope", "project", "--name", "one")
        late.write("\nWritten while it was replaced.\n")
    gitmem("uninstall", "-y")
    assert "Written while it was replaced." in (folder / "one.md").read_text()
    assert "Written while it was replaced." in git("-C", repo, "show", "refs/gitmem/project:main/one.md")
    assert not (repo / ".git" / "gitmem").exists()


def test_uninstall_keeps_what_is_not_its_own(gitmem, repo: Path) -> None:
    """What the doctor put aside, what is kept for all repositories, and a person's own lines of what git
    does not track: what they hide may be private, and once they are gone, `git add -A` takes it."""
    exclude = repo / ".git/info/exclude"
    mine, own = b"# mine\r\n/.claude/agent-memory-local/\r\n*.swp\r\n", b"/notes/\n"
    exclude.write_bytes(mine)
    gitmem("init", "-y")
    assert exclude.read_bytes().startswith(mine) and exclude.read_bytes() != mine
    exclude.write_bytes(exclude.read_bytes().replace(END, own + END))
    gitmem("remember", "I like tea.", "--type", "user", "--scope", "user")
    gitmem("remember", "The port is 8080.", "--type", "project", "--scope", "local")
    rescued = repo / ".git/gitmem/rescued/a-damaged-ref"
    rescued.parent.mkdir()
    rescued.write_text("all that is left of it")
    told = gitmem("uninstall", "-y")
    said = told.out + told.err
    assert "your memory of this repository: refs/heads/local/" in said and "refs/heads/user" not in said
    assert exclude.read_bytes() == mine + own
    assert rescued.read_text() == "all that is left of it"
    assert [path.name for path in rescued.parents[1].iterdir()] == ["rescued"]


def test_the_plan_counts_many_archived_files_and_names_few(repo: Path) -> None:
    unused: Any = None
    scope = Scope("project", "refs/gitmem/project", repo, unused, unused)
    many, few = (LiveDirectory(scope, name, repo / name, repo) for name in ("many", "few"))
    archived = [(many, f"{n}.md", b"") for n in range(6)] + [(few, f"{n}.md", b"") for n in range(5)]
    lines = UninstallPlan((), (), tuple(archived), (), repo).lines()
    assert [line for line in lines if str(many.path) in line] == [f"write 6 archived files to {many.path}"]
    assert len([line for line in lines if str(few.path) in line]) == 5


def test_a_worker_that_is_at_it_is_waited_for_and_leaves_nothing_behind(ground: Ground) -> None:
    """It would write its log and notes to the folder that has just gone."""
    ground.patch.setattr("gitmem.app.uninstall.WORKER_SECONDS", 0.1)
    state = ground.workspace.state
    with writer_lock(state, "worker"):
        ran = ground.run("uninstall", "-y", code=3)
        assert "worker.lock" in ran.err and "run it again" in ran.err
    assert state.is_dir() and not (ground.repo / ".git/hooks/post-commit").exists()
    ground.run("uninstall", "-y")
    assert not state.exists()


def test_a_hook_file_of_a_home_in_git_stays_while_another_uses_it(gitmem, git, repo, home) -> None:
    """There the file of the work tree is the person's own, for all repositories."""
    hooks = home / ".codex" / "hooks.json"
    git("init", "-q", home)
    gitmem("init", "-y", "--client", "codex", cwd=home)
    (repo / ".codex").mkdir()
    (repo / ".codex" / "hooks.json").write_text("{}\n")
    git("-C", repo, "add", ".codex")
    git("-C", repo, "commit", "-qm", "hooks of the team")
    gitmem("init", "-y", "--client", "codex")
    gitmem("uninstall", "-y", cwd=home)
    assert "gitmem" in hooks.read_text()
    gitmem("uninstall", "-y")
    assert not hooks.exists()
