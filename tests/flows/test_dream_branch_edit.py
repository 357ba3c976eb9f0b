"""A person edits a dream's branch: the commit is theirs, and what it takes out needs a word."""

from __future__ import annotations

import io
import stat
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from dream_ground import ANN, Ground, notes, planted
from dream_parked import DREAM_ID, Made, park, ref_of

from gitmem.core.errors import CheckFailed
from gitmem.core.trailers import Fate, parse
from gitmem.dream.review import Dream, accept, find_dream
from gitmem.git.refs import move_ref

BUILD = "The build takes nine minutes."
NOW = "The build takes four minutes."
FACTS = notes(
    build=("How long the build takes", f"{BUILD}\n\nIt runs on every push."),
    deploys=("How deploys go", "Deploy from the release branch with `make ship`."),
)
PATH = "main/build.md"
MEASURED = {"main/logs/2026/11/2026-11-16.md": f"- 10:00:00Z [project 0123abcd] {NOW}\n"}


def waiting(ground: Ground) -> None:
    text = FACTS[PATH]
    after = text.replace(BUILD, NOW)
    fate = Fate("superseded", ref_of(PATH, text, BUILD), ref_of(PATH, after, NOW), "Measured.")
    park(ground, [Made({PATH: after}, [fate], "Say how long the build takes")])


ground = planted({**FACTS, **MEASURED}, then=waiting)


@pytest.fixture
def dream(ground: Ground) -> Dream:
    return find_dream(ground.workspace, DREAM_ID)


def edits_by(script: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Makes `script` the person's editor, its name with a space and an option as people have them."""
    program = folder / "my editor"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("GIT_EDITOR", f"'{program}' --wait")
    return folder / "called"


def given(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(
        sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode()), isatty=lambda: False)
    )


def on_branch(ground: Ground, dream: Dream) -> str:
    repo = ground.scope().repo
    entry = repo.entry(repo.commit(find_dream(ground.workspace, dream.id).tip).tree, PATH)
    assert entry is not None
    return repo.blob(entry.oid).decode()


def test_an_edit_is_of_its_files_and_a_persons_commit(ground, dream, gitmem, tmp_path, monkeypatch) -> None:
    called = tmp_path / "called"
    script = f'pwd >{called}; echo "$@" >>{called}; shift; sed -i s/four/five/ "$@"; : >{PATH}~'
    edits_by(script, tmp_path, monkeypatch)
    done = gitmem("review", "edit", dream.id)
    folder, words = called.read_text().splitlines()
    assert words == f"--wait {PATH}" and not Path(folder).exists()
    assert "takes five minutes" in on_branch(ground, dream)
    (_, mine) = find_dream(ground.workspace, dream.id).changes
    commit = ground.scope().repo.commit(mine.commit)
    assert mine.by == commit.author.name and parse(commit.message).writer == "human"
    assert "proved" in done.err and "edited 1 memory" in done.out
    assert f"undo: git mem undo {mine.commit[:12]}" in done.err
    accept(ground.workspace, dream.id, None, ANN, ground.now)
    assert "takes five minutes" in ground.tree()[PATH]


def test_an_edit_is_taken_back_by_its_commit(ground, dream, gitmem, tmp_path, monkeypatch) -> None:
    """The branch goes back to the dream's own commit, and memory is not touched."""
    edits_by('shift; sed -i s/four/five/ "$@"', tmp_path, monkeypatch)
    undo = gitmem("review", "edit", dream.id).err.split("git mem undo ")[1].split()[0]
    assert "would undo" in gitmem("undo", undo, "-n").out and "five" in on_branch(ground, dream)
    assert dream.id in gitmem("undo", undo).out
    assert find_dream(ground.workspace, dream.id).tip == dream.tip
    assert gitmem("undo", dream.tip, ok=False).code == 2


def test_no_change_says_so_and_leaves_the_branch(ground, dream, gitmem, tmp_path, monkeypatch) -> None:
    edits_by("true", tmp_path, monkeypatch)
    assert "nothing was changed" in gitmem("review", "edit", dream.id, "1").out
    edits_by("exit 3", tmp_path, monkeypatch)
    assert "ended with 3" in gitmem("review", "edit", dream.id, ok=False).err
    assert find_dream(ground.workspace, dream.id).tip == dream.tip
    assert gitmem("review", "edit", dream.id, "7", ok=False).code == 2


def test_a_secret_is_refused_and_the_words_are_kept(ground, dream, gitmem, tmp_path, monkeypatch) -> None:
    key = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    edits_by(
        f"pwd >{tmp_path}/called; shift; printf '\\nThe token is {key}.\\n' >>$1", tmp_path, monkeypatch
    )
    refused = gitmem("review", "edit", dream.id, ok=False)
    assert refused.code == 1 and key not in refused.err
    folder = Path((tmp_path / "called").read_text().strip())
    assert str(folder) in refused.err and key in (folder / PATH).read_text()
    assert folder.stat().st_mode & 0o077 == 0
    assert find_dream(ground.workspace, dream.id).tip == dream.tip


class TestTakingOut:
    @pytest.fixture(autouse=True)
    def without(self, monkeypatch: pytest.MonkeyPatch, ground: Ground, dream: Dream) -> None:
        given(monkeypatch, on_branch(ground, dream).replace("It runs on every push.\n", ""))

    def test_without_a_word_it_cannot_be_accepted(self, ground: Ground, dream: Dream, gitmem) -> None:
        value = gitmem("review", "edit", dream.id, "--file", PATH, "--json").json
        assert [one["text"] for one in value["silent"]] == ["It runs on every push."]
        assert value["proof"]["proved"] is False
        assert "nothing says why" in gitmem("review", "show", dream.id).out
        with pytest.raises(CheckFailed, match="would lose main/build"):
            accept(ground.workspace, dream.id, None, ANN, ground.now)

    def test_with_a_reason_it_is_dropped_by_the_person(self, ground: Ground, dream: Dream, gitmem) -> None:
        done = gitmem("review", "edit", dream.id, "--file", PATH, "-m", "It does not.")
        assert "not proved" not in done.err
        gitmem("review", "accept", dream.id)
        assert "every push" not in ground.tree()[PATH]
        (line,) = gitmem("blame", "--text", "runs on every push", "--json").json
        assert (line["gone"]["fate"], line["gone"]["reason"]) == ("dropped", "It does not.")


def test_a_file_that_the_dream_does_not_touch_is_a_usage_error(dream, gitmem, monkeypatch) -> None:
    for path in ("main/deploys.md", "../../outside.md", "main/MEMORY.md"):
        given(monkeypatch, "---\nname: x\n---\n\nText.\n")
        refused = gitmem("review", "edit", dream.id, "--file", path, ok=False)
        assert refused.code == 2 and PATH in refused.err


def test_a_branch_that_is_checked_out_is_edited_there(ground: Ground, dream: Dream, git, gitmem) -> None:
    from gitmem.ledger.workspace import SHARED_REF

    repo = ground.scope().repo
    tip = repo.ref("refs/gitmem/project")
    assert tip is not None
    shared = "refs/heads/gitmem/dream/d-aaaaaa"
    move_ref(repo, SHARED_REF, tip, None, "test")
    move_ref(repo, shared, dream.tip, None, "test")
    git("-C", ground.repo, "config", "gitmem.share", "direct")
    git("-C", ground.repo, "worktree", "add", "-q", ground.repo.parent / "tree", "gitmem/dream/d-aaaaaa")
    refused = gitmem("review", "edit", "d-aaaaaa", ok=False)
    assert refused.code == 1 and "checked out" in refused.err
