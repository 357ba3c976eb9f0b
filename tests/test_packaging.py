"""What a release is made of: names, shipped files, the two commands that set all up."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import gitmem
from gitmem.app.git_hooks import EVENTS, hooks_folder, script
from gitmem.core import attributes
from gitmem.core.memory import parse, problems
from gitmem.rules.snapshot import digest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
TOP_LEVEL = {
    "pyproject.toml", "docs", "gitmem", "snapshots", "hooks", "tests", "README.md", "LICENSE",
    "CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md",
}  # fmt: skip


def test_the_distribution_has_its_own_name_and_two_commands() -> None:
    """`gitmem` on the package index is another project; git finds `git mem` by the name git-mem."""
    assert PROJECT["project"]["name"] == "gitmem-vcs"
    assert PROJECT["project"]["requires-python"] == ">=3.11"
    scripts = PROJECT["project"]["scripts"]
    assert set(scripts) == {"gitmem", "git-mem"}
    assert set(scripts.values()) == {"gitmem.entry:main"}


def test_every_dependency_gives_a_lower_bound() -> None:
    for requirement in PROJECT["project"]["dependencies"]:
        assert ">=" in requirement, requirement


def test_hooks_are_shipped_inside_the_wheel_and_found_in_a_checkout() -> None:
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert included["hooks"] == "gitmem/_hooks"
    assert hooks_folder().is_dir()
    for hook in EVENTS:
        assert script(hook, ("/usr/bin/python3", "-m", "gitmem")).startswith(b"#!/bin/sh\n")


def test_the_package_is_typed() -> None:
    assert (Path(gitmem.__file__).parent / "py.typed").is_file()


def test_the_top_level_holds_what_it_should_and_nothing_else() -> None:
    if not (ROOT / ".git").exists():  # a source distribution
        found = {path.name for path in ROOT.iterdir()} - {"PKG-INFO"}
    else:
        words = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
        found = {line.partition("/")[0] for line in listed.stdout.splitlines()}
    assert {name for name in found if not name.startswith(".")} == TOP_LEVEL


def test_the_source_distribution_holds_what_git_has() -> None:
    """Whoever packages gitmem from it runs its tests, which read the papers and the scripts of CI."""
    included = set(PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"])
    assert {*(f"/{name}" for name in TOP_LEVEL - {"pyproject.toml"}), "/.ci", "/.claude-plugin"} == included


def test_the_changelog_names_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## \[{re.escape(gitmem.__version__)}\]", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (README, "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/gitmem demo"),
        (CONTRIBUTING, "python3 -m venv .venv && .venv/bin/pip install -e '.[test]'"),
    ],
    ids=["README", "CONTRIBUTING"],
)
def test_one_command_sets_all_up(text: str, line: str) -> None:
    assert line in (found.strip() for found in text.splitlines())


def test_ci_runs_the_line_of_the_paper_and_names_no_host() -> None:
    """A mirror or proxy that the clients are configured for has to be used."""
    for path in sorted((ROOT / ".ci").iterdir()):
        text = path.read_text(encoding="utf-8")
        assert "://" not in text, path
        assert path.stat().st_mode & stat.S_IXUSR, path
        if path.suffix == ".py":
            compile(text, path, "exec")
        else:
            assert subprocess.run(["bash", "-n", path], capture_output=True).returncode == 0, path
    assert 'grep -m1 -F ".[test]" CONTRIBUTING.md' in (ROOT / ".ci/run").read_text(encoding="utf-8")


def test_each_step_of_ci_can_be_asked_for() -> None:
    """The names that are listed are those of the functions, and those that CONTRIBUTING gives exist."""
    run = ROOT / ".ci/run"
    functions = re.findall(r"^run_(\w+)\(\)", run.read_text(encoding="utf-8"), re.MULTILINE)
    listed = subprocess.run([run, "--list"], capture_output=True, text=True, check=True).stdout
    names = [line.split()[0] for line in listed.splitlines()]
    assert len(names) > 10
    assert sorted(names) == sorted(functions)
    assert subprocess.run([run, "no-such-step"], capture_output=True).returncode == 2
    for step in re.findall(r"\.ci/run (\w+)", CONTRIBUTING):
        assert step in names


def test_the_module_can_be_run_without_the_commands() -> None:
    """Hooks start `python -P -m gitmem`: scripts may be off PATH or moved."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "gitmem", "--version"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, f"gitmem {gitmem.__version__}\n")


def test_the_repositorys_own_memory_is_whole() -> None:
    """A clone starts from it; edited by hand, its digest would say so."""
    assert (ROOT / "snapshots" / attributes.FILE).read_text(encoding="utf-8") == attributes.SNAPSHOTS_TEXT
    for folder in filter(Path.is_dir, (ROOT / "snapshots").iterdir()):
        files = {path.name: path.read_bytes() for path in folder.glob("*.md")}
        state = json.loads((folder / "snapshot.json").read_text(encoding="utf-8"))
        assert state["digest"] == digest(files)
        for name, data in files.items():
            if name != "MEMORY.md":
                memory = parse(name, data)
                assert problems(memory) == (), name
                assert b"**Why:**" in data, name
                assert f"({name})".encode() in files["MEMORY.md"], name


def test_the_floor_of_libgit2_has_what_creates_a_ref() -> None:
    """`Repository.transaction()` came with pygit2 1.19; `.ci/run` tries the lowest versions."""
    (bound,) = [one for one in PROJECT["project"]["dependencies"] if one.startswith("pygit2")]
    assert tuple(map(int, bound.partition(">=")[2].split("."))) >= (1, 19)
