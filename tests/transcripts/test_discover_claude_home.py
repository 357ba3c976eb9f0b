"""Finding a repository's sessions and auto-memory folder under the client's names."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from gitmem.app.clients import CLAUDE
from gitmem.flows.context import Edges
from gitmem.transcripts.claude_home import (
    auto_memory_dir,
    claude_config_dir,
    memory_folder,
    project_dirs,
    read_settings,
    sessions_of,
    slug,
)
from gitmem.transcripts.reader import belongs, first_cwd


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config"
    (path / "projects").mkdir(parents=True)
    return path


@pytest.fixture
def app(tmp_path: Path) -> Path:
    path = tmp_path / "app"
    (path / ".git").mkdir(parents=True)
    return path


def put(config: Path, name: str, cwd: object, id: str = "s1", mtime: int = 1) -> Path:
    folder = config / "projects" / name
    folder.mkdir(exist_ok=True)
    path = folder / f"{id}.jsonl"
    head = '{"type": "mode"}\nbroken\n'
    path.write_text(head + json.dumps({"type": "user", "uuid": "u", "cwd": str(cwd)}) + "\n")
    os.utime(path, (mtime, mtime))
    return path


@pytest.mark.parametrize("given", [None, "", "/etc/claude"])
def test_config_dir_is_the_variable_else_in_home_for_all_who_ask(given: str | None) -> None:
    """A hook loads neither the sessions' reader nor the table of clients, and finds the same folder."""
    environ = {"HOME": "/home/dev"} | ({} if given is None else {"CLAUDE_CONFIG_DIR": given})
    expected = Path(given or "/home/dev/.claude")
    home = Path("/home/dev")
    assert claude_config_dir(environ, home) == CLAUDE.home(environ, home) == expected
    assert Edges(environ, home, 0.0).config == expected


def test_slug_replaces_every_other_character_and_collapses_nothing() -> None:
    assert slug(Path("/home/dev/my_app.v2--x y")) == "-home-dev-my-app-v2--x-y"


def test_slug_is_the_same_for_both_unicode_forms() -> None:
    assert slug(Path("/a/caf\u00e9")) == slug(Path("/a/cafe\u0301")) == "-a-caf-"


def test_sessions_of_all_worktrees_come_oldest_first(config: Path, app: Path, tmp_path: Path) -> None:
    other = tmp_path / "worktree"
    other.mkdir()
    late = put(config, slug(app), app, "late", 9)
    early = put(config, slug(other), other, "early", 5)
    found = sessions_of(config, [app, other])
    assert [(file.path, file.id) for file in found] == [(early, "early"), (late, "late")]
    assert [file.mtime_ns for file in found] == [5 * 10**9, 9 * 10**9]
    assert found[0].size == early.stat().st_size


def test_a_session_started_in_a_subdirectory_counts(config: Path, app: Path) -> None:
    put(config, slug(app / "src"), app / "src")
    assert len(sessions_of(config, [app])) == 1


def test_a_neighbour_whose_slug_begins_the_same_does_not_count(config: Path, app: Path) -> None:
    """`app-two` and `app/two` have one slug; only the recorded directory tells them apart."""
    put(config, slug(app / "two"), app.with_name("app-two"))
    put(config, slug(app), app.with_name("app "), "s2")
    assert len(project_dirs(config, [app])) == 2
    assert sessions_of(config, [app]) == ()


def test_a_session_without_a_recorded_directory_does_not_count(config: Path, app: Path) -> None:
    path = put(config, slug(app), app)
    path.write_text('{"type": "mode"}\n')
    assert sessions_of(config, [app]) == ()


def test_a_repository_nested_in_a_worktree_keeps_its_sessions(config: Path, app: Path) -> None:
    nested = app / "vendor/lib"
    (nested / ".git").mkdir(parents=True)
    put(config, slug(nested), nested)
    assert sessions_of(config, [app]) == ()
    assert len(sessions_of(config, [nested])) == 1


def test_a_worktree_inside_the_worktree_counts_when_named(config: Path, app: Path) -> None:
    inner = app / ".claude/worktrees/fix"
    inner.mkdir(parents=True)
    (inner / ".git").write_text("gitdir: x\n")
    put(config, slug(inner), inner / "src")
    assert sessions_of(config, [app]) == ()
    assert len(sessions_of(config, [app, inner])) == 1


def test_symlinks_agents_files_and_folders_are_no_sessions(config: Path, app: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    real = put(config, "elsewhere", app)
    folder = config / "projects" / slug(app)
    folder.mkdir()
    (folder / "link.jsonl").symlink_to(real)
    (folder / "dir.jsonl").mkdir()
    (folder / "agent-1.jsonl").write_bytes(real.read_bytes())
    (folder / "notes.txt").write_bytes(real.read_bytes())
    (outside / "s.jsonl").write_bytes(real.read_bytes())
    (config / "projects" / f"{slug(app)}-x").symlink_to(outside)
    assert sessions_of(config, [app]) == ()


def test_no_projects_folder_means_no_sessions(tmp_path: Path, app: Path) -> None:
    assert sessions_of(tmp_path / "none", [app]) == ()
    assert first_cwd(tmp_path / "none.jsonl") == ""


def test_a_slug_over_200_characters_matches_by_its_beginning(config: Path, tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 120) / ("y" * 120)
    deep.mkdir(parents=True)
    put(config, f"{slug(deep)[:200]}-1a2b3c", deep)
    assert len(sessions_of(config, [deep])) == 1
    assert memory_folder(config, deep) == config / "projects" / f"{slug(deep)[:200]}-1a2b3c" / "memory"
    twin = deep.with_name("y" * 120 + "z")
    assert memory_folder(config, twin) == config / "projects" / slug(twin)[:200] / "memory"


@pytest.mark.parametrize(
    "cwd", ["", "app", "/", "/home/dev/app/../other", "/home/dev/app\0", "/home/dev/application"]
)
def test_a_hostile_directory_does_not_belong(cwd: str) -> None:
    assert not belongs(cwd, [Path("/home/dev/app")])


class TestAutoMemory:
    home = Path("/home/dev")
    root = Path("/home/dev/app")

    def find(self, environ: dict[str, str], settings: dict[str, object]) -> Path | None:
        return auto_memory_dir(environ, self.home, self.root, settings)

    def test_the_default_is_keyed_by_the_repository(self) -> None:
        assert self.find({}, {}) == Path("/home/dev/.claude/projects/-home-dev-app/memory")

    def test_the_variable_wins_over_the_setting_and_both_over_the_default(self) -> None:
        environ = {"CLAUDE_COWORK_MEMORY_PATH_OVERRIDE": "/m/one"}
        assert self.find(environ, {"autoMemoryDirectory": "~/two"}) == Path("/m/one")
        assert self.find({}, {"autoMemoryDirectory": "~/two"}) == Path("/home/dev/two")
        assert self.find({}, {"autoMemoryDirectory": "/m/three"}) == Path("/m/three")

    @pytest.mark.parametrize(
        "given", ["notes", "", 5, None, "/home/dev", "/", "~/", "~/../eve", "/m/../etc", "/a\0"]
    )
    def test_an_unfit_setting_is_passed_over(self, given: object) -> None:
        assert self.find({}, {"autoMemoryDirectory": given}) == self.find({}, {})

    def test_switched_off_there_is_none(self) -> None:
        assert self.find({"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"}, {}) is None
        assert self.find({}, {"autoMemoryEnabled": False}) is None
        assert self.find({"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "0"}, {}) is not None

    def test_settings_are_read_from_the_persons_folder_and_bad_ones_are_empty(self, tmp_path: Path) -> None:
        assert read_settings(tmp_path) == {}
        (tmp_path / "settings.json").write_text('{"autoMemoryEnabled": false}')
        assert read_settings(tmp_path) == {"autoMemoryEnabled": False}
        for bad in ("[]", "{", "[" * 100_000):
            (tmp_path / "settings.json").write_text(bad)
            assert read_settings(tmp_path) == {}
