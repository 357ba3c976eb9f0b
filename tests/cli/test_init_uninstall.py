"""init and uninstall: what is written, what is adopted, and that leaving takes only gitmem's own."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

MEMORY = "---\nname: {0}\ndescription: About {0}\ntype: project\n---\n\nThe {0} fact.\n"


def everything(top: Path) -> dict[str, bytes]:
    """All files below a folder, git's objects and gitmem's own state aside."""
    skip = {"objects", "gitmem", "logs"}
    return {
        path.relative_to(top).as_posix(): path.read_bytes()
        for path in sorted(top.rglob("*"))
        if path.is_file() and not skip & set(path.relative_to(top).parts)
    }


def auto_memory(home: Path, repo: Path) -> Path:
    slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in str(repo.resolve()))
    folder = home / ".claude/projects" / slug / "memory"
    folder.mkdir(parents=True)
    return folder


def test_what_others_taught_is_told_of_before_it_is_taken(gitmem, git, repo: Path, tmp_path: Path) -> None:
    gitmem("init", "-y")
    gitmem("remember", "Deploys go out on Tuesdays.", "--scope", "project")
    gitmem("snapshot", "create")
    git("-C", repo, "add", ".claude")
    git("-C", repo, "commit", "-q", "-m", "Add what the agent knows")
    for name, told in (
        ("one", "memory of main starts from its snapshot (2 files, origin/main)"),
        ("two", "project memory starts from the remote's memory branch"),
    ):
        git("clone", "-q", repo.as_uri(), tmp_path / name)
        assert told in gitmem("init", "-n", cwd=tmp_path / name).out
        assert gitmem("init", "-y", cwd=tmp_path / name).err.count(told) == 1
        assert gitmem("list", "--scope", "project", "--json", cwd=tmp_path / name).json
        git("-C", repo, "update-ref", "refs/heads/gitmem/project", "refs/gitmem/project")


def test_init_says_what_it_touches_and_does_nothing_unanswered(gitmem, repo: Path, home: Path) -> None:
    before = everything(repo)
    ran = gitmem("init", "-n")
    assert "private.git" in ran.out and "post-commit" in ran.out and "settings.local.json" in ran.out
    ran = gitmem("init", ok=False)
    assert ran.code == 1 and "-y" in ran.err
    assert everything(repo) == before and not (repo / ".git/gitmem").exists()
    assert not (home / ".local/share/gitmem").exists()


def test_init_adopts_every_memory_directory_and_changes_none(gitmem, git, repo: Path, home: Path) -> None:
    folders = {
        "project": repo / ".claude/agent-memory/reviewer",
        "local": repo / ".claude/agent-memory-local/Reviewer",
        "user": home / ".claude/agent-memory/helper",
        "auto": auto_memory(home, repo),
    }
    for name, folder in folders.items():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.md").write_text(MEMORY.format(name))
        (folder / "MEMORY.md").write_text(f"# Notes\n- [{name}]({name}.md) - x\n")
    before = {name: everything(folder) for name, folder in folders.items()}
    ran = gitmem("init", "-y", "--json").json
    assert len(ran["adopted"]) == 4
    assert {name: everything(folder) for name, folder in folders.items()} == before
    private = home / ".local/share/gitmem/private.git"
    assert (private.stat().st_mode & 0o777) == 0o700
    local = f"refs/heads/local/{ran['project']}"
    assert git("--git-dir", private, "show", f"{local}:main/auto.md") == MEMORY.format("auto").strip()
    assert git("--git-dir", private, "show", f"{local}:^reviewer/local.md")
    assert git("--git-dir", private, "show", "refs/heads/user:helper/user.md")
    assert git("-C", repo, "show", "refs/gitmem/project:reviewer/project.md")
    assert git("-C", repo, "status", "--porcelain") == ""


def test_init_twice_changes_nothing(gitmem, git, repo: Path) -> None:
    (repo / ".claude/agent-memory/reviewer").mkdir(parents=True)
    (repo / ".claude/agent-memory/reviewer/a.md").write_text(MEMORY.format("a"))
    gitmem("init", "-y")
    before, refs = everything(repo), git("-C", repo, "for-each-ref")
    ran = gitmem("init", "-y")
    assert "nothing changed" in ran.out
    foretold = gitmem("init", "-n")
    assert foretold.out == "" and foretold.err.endswith("nothing would change\n")
    assert everything(repo) == before and git("-C", repo, "for-each-ref") == refs


def test_what_is_typed_all_day_starts_few_processes(gitmem, git, repo, tmp_path, monkeypatch) -> None:
    """A process of git costs some milliseconds, and a verb asks for the same thing once."""
    told, folder = tmp_path / "told", tmp_path / "bin"
    folder.mkdir()
    script = f'#!/bin/sh\necho "$*" | head -n 1 >> "{told}"\nexec "{shutil.which("git")}" "$@"\n'
    (folder / "git").write_text(script)
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def started(*words: str) -> list[str]:
        told.write_text("")
        assert gitmem(*words).code == 0
        return told.read_text().splitlines()

    assert 0 < len(started("init", "-y")) <= 8
    assert len(started("remember", "Lint before every push", "--name", "lint")) <= 5
    assert len(started("save")) <= 1
    assert len(started("list")) <= 1
    assert len(started("status")) <= 2

    git("init", "-q", "--bare", tmp_path / "origin.git")
    git("-C", repo, "remote", "add", "origin", tmp_path / "origin.git")
    git("-C", repo, "push", "-q", "-u", "origin", "HEAD")
    gitmem("share", "--mode", "direct", "-y")
    gitmem("sync", "-y")
    for verb in ("status", "review", "sync", "list", "save", "log"):
        asked = [one for one in started(verb) if re.search(r"(^| )(config|var|rev-parse|remote)( |$)", one)]
        assert asked == [], verb


def test_a_folder_that_vanished_is_one_line_with_both_ways_out(gitmem, repo: Path) -> None:
    gitmem("init", "-y")
    folder = repo / ".claude/agent-memory/main"
    folder.mkdir(parents=True)
    project = ("--scope", "project", "--type", "project")
    for name in ("lint", "ports", "tone"):
        gitmem("remember", f"A rule about {name}.", "--name", name, *project)
    shutil.rmtree(folder)
    told = gitmem("status").out
    assert "held: project/main: 4 files: the whole folder vanished\n" in told and told.count("held:") == 1
    assert "git mem save writes again" in told
    assert "git mem save --delete" in told
    assert gitmem("save").err.count("held:") == 1
    assert len(list(folder.iterdir())) == 4


def test_init_works_from_a_subdirectory_and_a_worktree(gitmem, git, repo: Path, tmp_path: Path) -> None:
    (repo / "deep/er").mkdir(parents=True)
    gitmem("init", "-y", cwd=repo / "deep/er")
    gitmem("remember", "Ports start at 4000.", "--scope", "project", "--agent", "ops", "--type", "project")
    git("-C", repo, "worktree", "add", "-q", tmp_path / "other", "-b", "other")
    gitmem("init", "-y", cwd=tmp_path / "other")
    assert "4000" in "".join(
        path.read_text() for path in (tmp_path / "other/.claude/agent-memory/ops").glob("*.md")
    )


def test_uninstall_takes_only_its_own(gitmem, git, repo: Path) -> None:
    hook = repo / ".git/hooks/post-commit"
    hook.write_text("#!/bin/sh\necho mine\n")
    hook.chmod(0o755)
    (repo / ".claude").mkdir()
    (repo / ".claude/settings.local.json").write_text(json.dumps({"model": "x"}))
    before = everything(repo)
    gitmem("init", "-y")
    gitmem("remember", "Ports start at 4000.", "--scope", "project", "--agent", "ops", "--type", "project")
    assert everything(repo) != before
    told = gitmem("uninstall", "-n").out
    assert "take /.claude/agent-memory/, /.claude/agent-memory-local/ out of .git/info/exclude" in told
    ran = gitmem("uninstall", "-y")
    after = everything(repo)
    live = {path for path in after if path.startswith(".claude/agent-memory/")}
    assert live and {p: d for p, d in after.items() if p not in live and "refs/gitmem" not in p} == before
    assert "memory of the project: refs/gitmem/project in" in ran.err and "update-ref" not in ran.err
    assert "git mem purge" in ran.err
    assert not (repo / ".git/gitmem").exists()
    assert git("-C", repo, "config", "--get-regexp", "^gitmem", check=False) == ""
    again = gitmem("uninstall", "-y")
    assert (again.out, again.err) == ("", "nothing of gitmem is in this repository\n")
    assert everything(repo) == after and gitmem("uninstall", "-y", "--json").json["steps"] == []


def test_a_foreign_hooks_path_is_left_alone_and_the_last_line_says_how_to_chain(gitmem, git, repo) -> None:
    git("-C", repo, "config", "core.hooksPath", ".husky")
    (repo / ".husky").mkdir()
    for words in (("init", "-y"), ("init", "-y"), ("init", "-n")):
        ran = gitmem(*words)
        assert list((repo / ".husky").iterdir()) == []
        assert ran.err.splitlines()[-1].startswith("gitmem: not installed: ")
        assert ran.err.splitlines()[-1].endswith("pre-push: git mem init --chain")
    assert any("--chain" in step for step in gitmem("init", "-n", "--json").json["steps"])
    assert "not installed" not in gitmem("init", "-y", "--chain").err
    assert "git mem init" not in gitmem("status").out
    assert gitmem("doctor").out.strip() == "all is well"
    gitmem("uninstall", "-y")
    assert list((repo / ".husky").iterdir()) == []


def test_a_tracked_settings_file_is_the_last_line(gitmem, git, repo: Path) -> None:
    settings = repo / ".claude/settings.local.json"
    settings.parent.mkdir()
    settings.write_text("{}\n")
    git("-C", repo, "add", "-f", settings)
    git("-C", repo, "commit", "-qm", "Track it")
    last = gitmem("init", "-y").err.splitlines()[-1]
    assert last.startswith("gitmem: not installed: ") and "is tracked by the code" in last
    assert settings.read_text() == "{}\n"


def test_uninstall_writes_nothing_through_a_link(gitmem, git, repo: Path, home: Path) -> None:
    """A teammate's tree chooses the names, and a committed link the place."""
    from gitmem.core.names import archive_path

    gitmem("init", "-y")
    (home / ".claude").mkdir()
    (repo / ".claude/agent-memory").symlink_to(home / ".claude")
    blob = git("-C", repo, "hash-object", "-w", "--stdin", input="evil")
    name = archive_path("evil.md").split("/")[1]
    tree = git("-C", repo, "mktree", input=f"100644 blob {blob}\tevil.md\n")
    for folder in (name, "archive", "agents"):
        tree = git("-C", repo, "mktree", input=f"040000 tree {tree}\t{folder}\n")
    commit = git("-C", repo, "commit-tree", tree, "-m", "evil")
    git("-C", repo, "update-ref", "refs/gitmem/project", commit)
    gitmem("uninstall", "-y")
    assert list((home / ".claude").rglob("*.md")) == []


def test_the_persons_own_agents_are_no_projects_where_home_is_a_work_tree(gitmem, git, home: Path) -> None:
    git("init", "-q", home)
    folder = home / ".claude/agent-memory/helper"
    folder.mkdir(parents=True)
    (folder / "me.md").write_text(MEMORY.format("me"))
    ran = gitmem("init", "-y", "--json", cwd=home).json
    assert [one["scope"] for one in ran["adopted"]] == ["user"]
    gitmem("save", cwd=home)
    assert git("-C", home, "for-each-ref", "refs/gitmem", "refs/heads/gitmem") == ""


def test_sharing_that_a_repository_brought_along_is_off_after_init(gitmem, git, repo: Path) -> None:
    git("-C", repo, "config", "gitmem.share", "direct")
    assert "turn gitmem.share off" in gitmem("init", "-n").out
    gitmem("init", "-y")
    assert gitmem("status", "--json").json["sharing"] == "off"
    gitmem("remember", "Ports start at 4000.", "--scope", "project", "--type", "project")
    assert git("-C", repo, "for-each-ref", "refs/heads/gitmem") == ""


def test_the_folder_of_agents_stays_in_the_work_tree(gitmem, git, repo: Path) -> None:
    for name in ("../", "..", ".git", ".git/", "a/b", "/abs", ".GIT"):
        git("-C", repo, "config", "gitmem.claudeDir", name)
        ran = gitmem("init", "-y", ok=False)
        assert ran.code == 2 and "gitmem.claudeDir" in ran.err, name
    git("-C", repo, "config", "gitmem.claudeDir", "")
    gitmem("init", "-y")


def test_a_broken_gitmem_does_not_open_the_gate_for_a_push(gitmem, git, repo: Path, tmp_path: Path) -> None:
    git("init", "-q", "--bare", tmp_path / "remote.git")
    git("-C", repo, "remote", "add", "origin", tmp_path / "remote.git")
    gitmem("init", "-y")
    gitmem("remember", "Ports start at 4000.", "--scope", "project", "--type", "project")
    shutil.rmtree(repo / ".git/gitmem")
    git("-C", repo, "push", "-q", "--mirror", "origin", check=False)
    assert git("--git-dir", tmp_path / "remote.git", "for-each-ref") == ""
