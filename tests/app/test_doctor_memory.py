"""A memory ref whose newest commit is damaged beyond repair: the doctor clears the way for a save."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_ground import Ground, memory
from once import Once
from slices import often

from gitmem.app import doctor

Git = Callable[..., str]


@pytest.fixture
def known(ground: Ground, home: Path, monkeypatch: pytest.MonkeyPatch, once: Once[int]) -> Ground:
    """One memory in the ref and in the agent's folder."""

    def make() -> int:
        (home / ".claude").mkdir()
        ground.folder("local")
        ground.run("init", "-y")
        listed = {"reviewer/MEMORY.md": "- [ports](ports.md)\n"}
        ground.learn({"reviewer/ports.md": memory("ports"), **listed}, "local")
        ground.run("save")
        return ground.now

    ground.now = once("known", make)
    ground.tick(0)
    monkeypatch.delenv("GITMEM_DISABLE")
    monkeypatch.setattr(doctor, "start_worker", lambda *given: None)
    return ground


def folder(ground: Ground) -> Path:
    return ground.folder("local")


def break_tip(ground: Ground, git: Git, what: str) -> str:
    """Overwrites an object that the tip needs; returns the tip."""
    scope = ground.workspace.scope("local")
    tip = ground.tip("local")
    name = {"commit": tip, "tree": f"{tip}^{{tree}}", "agent's tree": f"{tip}:reviewer"}[what]
    oid = git("--git-dir", scope.repo.git_dir, "rev-parse", name)
    path = scope.repo.git_dir / "objects" / oid[:2] / oid[2:]
    path.chmod(0o644)
    path.write_bytes(b"garbage")
    return tip


def fsck(ground: Ground, git: Git) -> str:
    """What git says of all that memory refs reach, what was set aside apart."""
    scope = ground.workspace.scope("local")
    where = ("--git-dir", scope.repo.git_dir)
    return git(*where, "rev-list", "--objects", "--quiet", "--exclude=refs/gitmem/rescued/*", "--all")


PARTS = ["commit", "tree", "agent's tree"]


@pytest.mark.parametrize("what", often(PARTS, "tree"))
@pytest.mark.parametrize("older", [True, False], ids=["older sound one", "nothing sound"])
def test_what_stands_in_folders_is_stored_again(known: Ground, git: Git, what: str, older: bool) -> None:
    scope = known.workspace.scope("local")
    before = known.tip("local")
    if older:
        known.run("remember", "Deploys go out on Tuesdays.", "--name", "deploys", "--agent", "reviewer")
    standing = {path.name: path.read_text() for path in folder(known).glob("*.md")}
    broken = break_tip(known, git, what)
    (folder(known) / "new.md").write_text(memory("new"))
    assert known.run("save", code=3).err

    if what != "commit" or not older:
        told = known.run("doctor", code=1)
        assert broken[:12] in told.out and "-y" in told.out
        assert scope.repo.ref(scope.ref) == broken, "it asks first"
    known.run("doctor", "-y", code=0 if older else 1)
    assert scope.repo.ref(scope.ref) == (before if older else None)
    known.run("save")

    stored = known.tree("local")
    for name, text in {**standing, "new.md": memory("new")}.items():
        if name != "MEMORY.md":
            assert stored[f"reviewer/{name}"] == text
            assert (folder(known) / name).read_text() == text
    assert fsck(known, git) == ""
    rescued = scope.repo.refs("refs/gitmem/rescued/")
    if what == "commit":
        # Git makes no ref to what it cannot read.
        logs = [path.read_text() for path in (scope.state / "rescued").glob("*.log")]
        assert any(broken in log for log in logs)
    else:
        assert list(rescued.values()) == [broken]
    assert known.run("doctor", "-n").out == "all is well\n"
    assert "ports" in known.run("list").out


def test_history_shows_a_sound_commit_where_there_is_no_log(known: Ground, git: Git) -> None:
    before = known.tip("local")
    known.run("remember", "Deploys go out on Tuesdays.", "--name", "deploys", "--agent", "reviewer")
    break_tip(known, git, "tree")
    shutil.rmtree(known.workspace.private.git_dir / "logs")
    known.run("doctor", "-y")
    assert known.tip("local") == before


def test_a_format_file_that_cannot_be_read_is_put_back(known: Ground, git: Git) -> None:
    """Its content is always the same."""
    where = known.workspace.scope("local").repo.git_dir
    oid = git("--git-dir", where, "rev-parse", f"{known.tip('local')}:.gitmem")
    (where / "objects" / oid[:2] / oid[2:]).unlink()
    (folder(known) / "new.md").write_text(memory("new"))
    known.run("doctor")
    known.run("save")
    assert "reviewer/new.md" in known.tree("local")


def test_verbs_point_to_the_doctor_where_the_private_repository_is_gone(known: Ground) -> None:
    """`init` would ask what to take in and know nothing of what was lost."""
    for emptied in (True, False):
        shutil.rmtree(known.workspace.private_path)
        if emptied:
            known.workspace.private_path.mkdir()
        for words in (["status"], ["list"], ["save"]):
            told = known.run(*words, code=3).err
            assert "git mem doctor" in told and "git mem init" not in told
        known.run("doctor", "-y")
        assert "ports" in known.run("list").out
        assert "reviewer/ports.md" in known.tree("local")
