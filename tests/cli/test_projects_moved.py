"""Moving, renaming and cloning a code repository again: its private memory is found, nobody else's is."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from machines import MEMORY, Machine
from once import Once

from gitmem.app.worker import work


@pytest.fixture
def desk(team, tmp_path, git, once: Once[int], monkeypatch, capsys) -> Machine:
    """A machine on which this project's memory is kept, one of `main` and one of a subagent."""
    monkeypatch.chdir(tmp_path)
    made = Machine(tmp_path / "desk", monkeypatch, capsys)

    def make() -> int:
        git("clone", "-q", team.as_uri(), made.code)
        made.run("init", "-y")
        made.run("remember", "Ports start at 4000.", "--type", "project")
        reviews = ("remember", "Reviews end on Fridays.", "--type", "project")
        made.run(*reviews, "--agent", "ops", "--scope", "local")
        return made.now

    made.now = once("desk", make)
    made.enter()
    assert {path.parent.name for path in laid_out(made)} == {"memory", "ops"}
    return made


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """`terminal("y\\n")`: a person sits there and answers so."""

    class Keys(io.StringIO):
        def isatty(self) -> bool:
            return True

    return lambda typed: monkeypatch.setattr("sys.stdin", Keys(typed))


def laid_out(one: Machine) -> list[Path]:
    """Memories of the local scope that stand in the live directories of the machine's present clone."""
    folders = (one.auto, one.code / ".claude/agent-memory-local/ops")
    return [path for folder in folders for path in sorted(folder.glob("*.md")) if path.name != "MEMORY.md"]


def text_of(one: Machine) -> str:
    return "".join(path.read_text() for path in laid_out(one))


def remove(path: Path) -> None:
    """Deletes a clone: out of its worker's way first, which may still be writing."""
    aside = path.with_name(f"{path.name}-removed")
    path.rename(aside)
    shutil.rmtree(aside, ignore_errors=True)


def clone_again(one: Machine, url: str, git) -> None:
    os.chdir(one.home)
    remove(one.code)
    git("clone", "-q", url, one.code)


def project(one: Machine) -> str:
    return one.git("config", "gitmem.projectId")


def test_an_origin_of_one_work_tree_makes_no_project(team, tmp_path, git, monkeypatch, capsys) -> None:
    """All work trees are one repository, whatever `config.worktree` of the one that is asked says."""
    one = Machine(tmp_path / "desk", monkeypatch, capsys)
    git("clone", "-q", team.as_uri(), one.code)
    origin = one.workspace.origin
    one.git("config", "extensions.worktreeConfig", "true")
    one.git("config", "--worktree", "remote.origin.url", "https://example.com/other/fork.git")
    assert origin is not None and one.workspace.origin == origin


def test_a_moved_repository_keeps_its_id_and_gets_its_memory_at_the_new_place(desk: Machine) -> None:
    """Before `init` runs again, saves and hooks work there, and the move alone is no deletion."""
    before, id = desk.memories(), project(desk)
    desk.move(desk.home / "elsewhere")
    desk.run("status")
    desk.run("save")
    (desk.code / "x").write_text("x\n")
    desk.git("add", "x")
    desk.git("commit", "-q", "-m", "Work")
    work(desk.code / ".git", {"HOME": str(desk.home), "PATH": "/usr/bin:/bin"})
    desk.run("sync", code=1)
    assert desk.memories() == before
    ran = desk.run("init", "-y")
    assert project(desk) == id and id in ran.out
    assert "nothing changed" not in ran.out and "laid out" in ran.out
    assert f"in {desk.auto}" in ran.err
    assert desk.memories() == before
    assert "4000" in text_of(desk) and "Fridays" in text_of(desk)
    assert "nothing changed" in desk.run("init", "-y").out


def test_doctor_lays_memory_out_at_the_new_place(desk: Machine) -> None:
    desk.move(desk.home / "elsewhere")
    assert f"folder: {desk.auto} is missing: agents see no local memory\n" in desk.run("doctor").out
    assert "4000" in text_of(desk)


def test_what_stands_unsaved_in_the_old_auto_memory_folder_is_taken_in(desk: Machine) -> None:
    old = desk.auto
    (old / "late.md").write_text(MEMORY.format("late", "Written just before the move."))
    files = {path.name: path.read_text() for path in old.iterdir()}
    desk.move(desk.home / "elsewhere")
    desk.run("init", "-y")
    assert "just before" in desk.memories()["main/late.md"]
    assert "just before" in text_of(desk)
    assert {path.name: path.read_text() for path in old.iterdir()} == files


def test_an_old_folder_that_is_gone_is_no_deletion(desk: Machine) -> None:
    before, old = desk.memories(), desk.auto
    desk.move(desk.home / "elsewhere")
    remove(old)
    desk.run("init", "-y")
    assert desk.memories() == before and "4000" in text_of(desk)


def test_an_unsaved_edit_and_a_deletion_in_a_moved_work_tree_are_that(desk: Machine) -> None:
    """The record of the directory goes along, so the edit is an edit and not a second memory."""
    desk.run("remember", "Reviewers rotate.", "--type", "project", "--agent", "ops", "--scope", "local")
    ops = [path for path in laid_out(desk) if path.parent.name == "ops"]
    edited, gone = sorted(ops, key=lambda path: "Fridays" not in path.read_text())
    edited.write_text(edited.read_text().replace("Fridays", "Mondays"))
    gone.unlink()
    desk.move(desk.home / "elsewhere")
    desk.run("save")
    found = {name: text for name, text in desk.memories().items() if name.startswith("ops/")}
    assert set(found) == {"ops/MEMORY.md", f"ops/{edited.name}"}
    text = found[f"ops/{edited.name}"]
    assert "Mondays" in text and "Fridays" not in text.split("---")[2]


def test_a_folder_made_from_scratch_in_a_new_work_tree_deletes_nothing(desk: Machine) -> None:
    before = desk.memories()
    desk.git("worktree", "add", "-q", desk.home / "other", "-b", "other")
    desk.run("init", "-y", cwd=desk.home / "other")
    desk.git("worktree", "remove", "--force", desk.home / "other")
    desk.git("worktree", "add", "-q", "-f", desk.home / "third", "other")
    folder = desk.home / "third/.claude/agent-memory-local/ops"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "fresh.md").write_text(MEMORY.format("fresh", "Fresh."))
    desk.run("save", cwd=desk.home / "third")
    assert before.keys() | {"ops/fresh.md"} == desk.memories().keys()


def test_a_new_clone_of_the_same_url_gets_the_same_memory(desk: Machine, team: Path, git) -> None:
    before, id = desk.memories(), project(desk)
    clone_again(desk, team.as_uri(), git)
    assert "another clone" in desk.run("init", "-n").out
    desk.run("init", "-y")
    assert (project(desk), desk.memories()) == (id, before)
    assert "4000" in text_of(desk) and "Fridays" in text_of(desk)


def test_a_url_that_changed_keeps_the_id_and_a_clone_from_it_is_asked_about(desk, team, git) -> None:
    id, moved = project(desk), team.with_name("moved.git")
    team.rename(moved)
    desk.git("remote", "set-url", "origin", moved.as_uri())
    assert "nothing changed" not in desk.run("remember", "More.", "--type", "project").out
    assert project(desk) == id
    clone_again(desk, moved.as_uri(), git)
    ran = desk.run("init", "-y")
    assert f"git mem init --project {id}" in ran.err and project(desk) != id
    assert "4000" not in text_of(desk)


@pytest.mark.parametrize("yes", [True, False])
def test_the_answer_says_whether_the_memory_that_is_kept_is_used(desk, team, git, terminal, yes) -> None:
    id, moved = project(desk), team.with_name("moved.git")
    team.rename(moved)
    clone_again(desk, moved.as_uri(), git)
    terminal("y\ny\n" if yes else "n\ny\n")
    ran = desk.run("init")
    assert f"you keep memory for {id}, and its history begins with the same commit" in ran.err
    assert (project(desk) == id) is yes and ("4000" in text_of(desk)) is yes
    clone_again(desk, moved.as_uri(), git)
    desk.run("init", "-y")
    assert (project(desk) == id) is yes, "the person has said so before"


def test_the_project_can_be_named_later_and_what_was_learned_meanwhile_comes_along(desk, team, git) -> None:
    id, moved = project(desk), team.with_name("moved.git")
    team.rename(moved)
    clone_again(desk, moved.as_uri(), git)
    desk.run("init", "-y")
    desk.run("remember", "Hosts end in .test.", "--type", "project")
    assert f"take this repository for {id}" in desk.run("init", "-n", "--project", id).out
    desk.run("init", "-y", "--project", id)
    assert project(desk) == id
    assert all(fact in text_of(desk) for fact in ("4000", "Fridays", ".test"))
    assert all(fact in "".join(desk.memories().values()) for fact in ("4000", ".test"))


def test_a_project_that_nobody_knows_is_refused(desk: Machine) -> None:
    ran = desk.run("init", "-y", "--project", "other-12345678", code=2)
    assert project(desk) in ran.err


def forged(desk: Machine, team: Path, git) -> Path:
    """A repository whose origin claims to be the team's."""
    path = desk.home / "forged"
    git("init", "-q", path)
    (path / "x").write_text("x\n")
    git("-C", path, "add", "x")
    git("-C", path, "commit", "-q", "-m", "Another beginning")
    git("-C", path, "remote", "add", "origin", team.as_uri())
    return path


def test_a_forged_origin_does_not_get_private_memory_unless_a_person_insists(desk, team, git) -> None:
    id = project(desk)
    desk.code = forged(desk, team, git)
    assert f"--project {id}" in desk.run("init", "-n").out
    ran = desk.run("init", "-y", "-q")
    assert f"git mem init --project {id}" in ran.err
    assert project(desk) != id and laid_out(desk) == [] and desk.memories() == {}
    value = desk.run("init", "-y", "--json").json
    assert (value["project"], value["changed"], value["others"]) == (project(desk), False, [])
    desk.run("init", "-y", "--project", id)
    assert project(desk) == id and "4000" in text_of(desk)


@pytest.mark.parametrize("how", ["an origin without a commit", "an id in a configuration"])
def test_what_anybody_can_write_proves_nothing(desk: Machine, team: Path, git, how: str) -> None:
    id = project(desk)
    if how == "an id in a configuration":
        desk.code = forged(desk, team, git)
        desk.git("remote", "remove", "origin")
        desk.git("config", "gitmem.projectId", id)
    else:
        desk.code = desk.home / "empty"
        git("init", "-q", desk.code)
        desk.git("remote", "add", "origin", team.as_uri())
    desk.run("init", "-y")
    assert project(desk) != id and laid_out(desk) == []


def test_a_cut_history_is_asked_about(desk: Machine, team: Path, git) -> None:
    id = project(desk)
    (desk.code / "x").write_text("x\n")
    desk.git("add", "x")
    # A worker at it would make the folder anew.
    desk.patch.setenv("GITMEM_DISABLE", "1")
    desk.git("commit", "-q", "-m", "More")
    desk.git("push", "-q", "origin", "main")
    desk.patch.delenv("GITMEM_DISABLE")
    os.chdir(desk.home)
    remove(desk.code)
    git("clone", "-q", "--depth", "1", team.as_uri(), desk.code)
    assert f"--project {id}" in desk.run("init", "-y").err
    desk.run("init", "-y", "--project", id)
    assert "4000" in text_of(desk)


def test_two_repositories_of_one_name_are_two_projects(desk, team, git, tmp_path) -> None:
    """`a/b-c` and `a-b/c` even have one slug, so the client keeps one folder for both."""
    id, first = project(desk), desk.code
    git("clone", "-q", "--bare", desk.home / "code", tmp_path / "x" / "team.git")
    other = forged(desk, team, git)
    git("-C", other, "remote", "set-url", "origin", "https://example.com/x/team.git")
    desk.code = other
    desk.run("init", "-y")
    assert project(desk) != id and desk.memories() == {}
    desk.code = first
    assert "main/" in "".join(desk.memories())


def test_another_repository_at_the_old_place_does_not_inherit_its_memory(desk, team, git) -> None:
    """The client names its folder for the path: what stands there belongs to the repository before."""
    id, ref = project(desk), f"refs/heads/local/{project(desk)}"
    (desk.auto / "late.md").write_text(MEMORY.format("late", "Written just before."))
    remove(desk.code)
    git("init", "-q", desk.code)
    (desk.code / "x").write_text("x\n")
    desk.git("add", "x")
    desk.git("commit", "-q", "-m", "Another beginning")
    desk.run("init", "-y")
    assert project(desk) != id
    assert "just before" in desk.git("show", f"{ref}:main/late.md", private=True)
    assert desk.memories() == {} and laid_out(desk) == []


def test_a_clone_of_a_clone_is_asked_about(desk: Machine, git) -> None:
    id, first = project(desk), desk.code
    desk.code = desk.home / "second"
    git("clone", "-q", first, desk.code)
    assert f"--project {id}" in desk.run("init", "-y").err
    assert project(desk) != id


def test_a_repository_without_commits_keeps_its_id_when_it_gets_one(desk: Machine, git) -> None:
    desk.code = desk.home / "fresh"
    git("init", "-q", desk.code)
    desk.run("init", "-y")
    id = project(desk)
    desk.run("remember", "Names are short.", "--type", "project")
    (desk.code / "x").write_text("x\n")
    desk.git("add", "x")
    desk.git("commit", "-q", "-m", "First")
    assert "nothing changed" in desk.run("init", "-y").out
    assert project(desk) == id
    root = desk.git("rev-parse", "HEAD")
    noted = desk.git("ls-tree", "-r", "--name-only", "refs/heads/projects", private=True).splitlines()
    assert f"{id}/root/{root}" in noted


def test_a_worktree_and_a_submodule_are_what_they_are(desk: Machine, team: Path, git) -> None:
    id, first = project(desk), desk.code
    desk.git("worktree", "add", "-q", desk.home / "other", "-b", "other")
    desk.git("submodule", "--quiet", "add", team.as_uri(), "part")
    desk.code = desk.home / "other"
    desk.run("init", "-y")
    assert project(desk) == id
    desk.code = first / "part"
    desk.run("init", "-y")
    assert project(desk) == id, "the same remote, the same history"
    assert "4000" in "".join(desk.memories().values())


def test_a_lost_note_costs_a_question_and_no_memory(desk: Machine, team: Path, git) -> None:
    before = desk.memories()
    desk.git("update-ref", "-d", "refs/heads/projects", private=True)
    clone_again(desk, team.as_uri(), git)
    desk.run("init", "-y")
    assert desk.memories() == before and "4000" in text_of(desk)


@pytest.mark.parametrize("named", [False, True])
def test_what_a_project_is_comes_with_a_backup(
    desk: Machine, team: Path, git, tmp_path: Path, monkeypatch, capsys, named: bool
) -> None:
    """So that a forged origin gets nothing on the next machine either; the project can be named at once."""
    git("init", "-q", "--bare", tmp_path / "safe.git")
    desk.run("backup", tmp_path / "safe.git", "-y")
    id = project(desk)
    laptop = Machine(tmp_path / "laptop", monkeypatch, capsys)
    laptop.code = forged(laptop, team, git)
    words = ("init", "-y", "--backup", tmp_path / "safe.git")
    if not named:
        assert f"git mem init --project {id}" in laptop.run(*words).err
        assert laid_out(laptop) == []
    laptop.run(*words, "--project", id)
    assert "4000" in text_of(laptop)
