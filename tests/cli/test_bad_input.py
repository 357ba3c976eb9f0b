"""Whatever is wrong, a person gets one clear message with what to do, and nothing is lost."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from once import Once
from ran import Command

from gitmem.ledger import layout

MEMORY = "---\nname: {0}\ndescription: About {0}\ntype: project\n---\n\nThe {0} fact.\n"


@pytest.fixture
def folder(gitmem: Command, repo: Path, once: Once[int]) -> Path:
    """A live directory of the project scope with two memories, saved."""
    path = repo / ".claude/agent-memory/reviewer"

    def make() -> int:
        path.mkdir(parents=True)
        gitmem("init", "-y")
        for name in ("one", "two"):
            (path / f"{name}.md").write_text(MEMORY.format(name))
        gitmem("save")
        return gitmem.now

    gitmem.now = once("folder", make)
    gitmem.patch.chdir(repo)
    return path


def test_a_bare_repository(gitmem, git, tmp_path: Path) -> None:
    git("init", "-q", "--bare", tmp_path / "bare.git")
    ran = gitmem("init", "-y", cwd=tmp_path / "bare.git", ok=False)
    assert ran.code == 3 and "no work tree" in ran.err


def test_a_repository_without_init(gitmem) -> None:
    ran = gitmem("remember", "x", ok=False)
    assert ran.code == 3 and "git mem init" in ran.err


def test_no_identity(gitmem, home: Path) -> None:
    (home / ".gitconfig").write_text("")
    ran = gitmem("init", "-y", ok=False)
    assert ran.code == 3 and "user.email" in ran.err and ran.err.startswith("gitmem: ")  # before any plan


def test_a_detached_head_and_an_unborn_branch(gitmem, git, repo: Path, tmp_path: Path) -> None:
    git("-C", repo, "checkout", "-q", "--detach")
    gitmem("init", "-y")
    gitmem("remember", "It works detached as well.")
    git("init", "-q", tmp_path / "empty")
    gitmem("init", "-y", cwd=tmp_path / "empty")
    gitmem("remember", "It works before the first commit.", cwd=tmp_path / "empty")
    assert "before the first commit" in gitmem("list", cwd=tmp_path / "empty").out


def test_odd_files_are_named_and_left_alone(gitmem, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("of the system")
    (folder / "link.md").symlink_to(tmp_path / "secret")
    (folder / "big.md").write_bytes(b"x" * 10_000_000)
    latin = b"---\nname: l\xe1tin\ndescription: th\xe9\ntype: project\n---\ncaf\xe9\n"
    (folder / "latin.md").write_bytes(latin)
    (folder / "yaml.md").write_text("---\nname: yaml\ndescription: a: b: c\ntype: project\n---\n\nFact.\n")
    ran = gitmem("save")
    assert "link.md: is a symbolic link" in ran.err and "big.md: is larger than 102,400 bytes" in ran.err
    listed = {entry["file"]: entry["description"] for entry in gitmem("list", "--json").json}
    assert listed["yaml.md"] == "a: b: c" and "latin.md" in listed
    assert "link.md" not in listed and "big.md" not in listed
    odd = gitmem("status", "--json").json["scopes"][0]["unreadable"]
    assert "not UTF-8 at byte" in odd["reviewer/latin.md"] and "not valid YAML" in odd["reviewer/yaml.md"]
    assert (folder / "latin.md").read_bytes() == latin
    shown = gitmem("list").out
    assert "l?tin" in shown and "th?" in shown and "udce" not in shown


def test_the_index_as_a_folder(gitmem, folder: Path) -> None:
    (folder / "MEMORY.md").unlink()
    (folder / "MEMORY.md").mkdir()
    (folder / "three.md").write_text(MEMORY.format("three"))
    ran = gitmem("save")
    assert "MEMORY.md: is a folder" in ran.err
    assert {"one", "two", "three"} == {entry["name"] for entry in gitmem("list", "--json").json}


def test_agents_that_differ_in_case_only(gitmem, git, repo: Path) -> None:
    for name in ("Reviewer", "reviewer"):
        (repo / ".claude/agent-memory" / name).mkdir(parents=True)
        (repo / ".claude/agent-memory" / name / "x.md").write_text(MEMORY.format(name))
    gitmem("init", "-y")
    names = git("-C", repo, "ls-tree", "--name-only", "refs/gitmem/project").split()
    assert names == [".gitmem", "^reviewer", "reviewer"]
    assert len({name.lower() for name in names}) == 3


def test_a_code_switch_that_removes_tracked_memory(gitmem, git, repo: Path) -> None:
    git("-C", repo, "checkout", "-q", "-b", "with-memory")
    folder = repo / ".claude/agent-memory/reviewer"
    folder.mkdir(parents=True)
    (folder / "one.md").write_text(MEMORY.format("one"))
    git("-C", repo, "add", "-f", ".claude")
    git("-C", repo, "commit", "-qm", "memory in code")
    ran = gitmem("init", "-y")
    assert "git rm -r --cached" in ran.err
    git("-C", repo, "checkout", "-q", "main")
    gitmem("save")
    assert {"one"} == {entry["name"] for entry in gitmem("list", "--json").json}
    git("-C", repo, "checkout", "-q", "with-memory")
    gitmem("save")
    assert {"one"} == {entry["name"] for entry in gitmem("list", "--json").json}


def test_a_hook_under_a_foreign_git_dir(gitmem, git, repo, folder, tmp_path, monkeypatch) -> None:
    git("init", "-q", tmp_path / "foreign")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "foreign/.git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    (folder / "three.md").write_text(MEMORY.format("three"))
    gitmem("save")
    monkeypatch.delenv("GIT_DIR")
    monkeypatch.delenv("GIT_INDEX_FILE")
    assert "reviewer/three.md" in git("-C", repo, "ls-tree", "-r", "--name-only", "refs/gitmem/project")
    assert git("-C", tmp_path / "foreign", "for-each-ref") == ""


def test_a_memory_is_stored_though_the_folder_cannot_be_written(gitmem, folder: Path) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    words = ("remember", "--scope", "project", "--agent", "reviewer", "--type", "project")
    with gitmem.patch.context() as patch:
        patch.setattr(layout, "_write_new", refuse)
        done = gitmem(*words, "The port is 9090.", "--name", "ports")
        assert "stored, but not in the agent's folder" in done.err and "Permission denied" in done.err
        assert "9090" in gitmem("show", "ports").out and not (folder / "ports.md").exists()
        told = gitmem(*words, "Another is 80.", "--name", "more", "--json").json
        assert "cannot be written" in told["not_laid_out"]
    gitmem("save")
    assert {"ports.md", "more.md"} <= {path.name for path in folder.iterdir()}


def test_the_persons_commit_is_never_blocked(gitmem, git, repo: Path, folder: Path) -> None:
    """Even with gitmem's state gone or in the way, `git commit` goes through."""
    gitmem.patch.delenv("GITMEM_DISABLE")
    shutil.rmtree(repo / ".git/gitmem")
    (repo / ".git/gitmem").write_text("in the way")
    (repo / "new").write_text("x")
    git("-C", repo, "add", "new")
    git("-C", repo, "commit", "-qm", "still works")
    assert git("-C", repo, "log", "-1", "--format=%s") == "still works"
