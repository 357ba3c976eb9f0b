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
from gitmem.app.hook_scripts import EVENTS, hooks_folder, script
from gitmem.core import attributes
from gitmem.core.memory import parse, problems
from gitmem.rules.snapshot import digest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
README = (ROOT / "README.md").read_text(encoding="utf-8")
TOP_LEVEL = {
    "pyproject.toml",
    "gitmem",
    "snapshots",
    "hooks",
    "tests",
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "ARCHITECTURE.md",
}


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
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if listed.returncode:
        pytest.skip("not a checkout")
    found = {line.partition("/")[0] for line in listed.stdout.splitlines()}
    assert {name for name in found if not name.startswith(".")} == TOP_LEVEL


def test_the_changelog_names_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## \[{re.escape(gitmem.__version__)}\]", text, re.MULTILINE)


@pytest.mark.parametrize(
    "line",
    [
        "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/gitmem demo",
        "python3 -m venv .venv && .venv/bin/pip install -e '.[test]' && .venv/bin/python -m pytest",
    ],
)
def test_the_readme_gives_the_two_commands_that_set_all_up(line: str) -> None:
    assert line in (found.strip() for found in README.splitlines())


def test_ci_runs_the_readmes_line_and_names_no_host() -> None:
    """A mirror or proxy that the clients are configured for has to be used."""
    for path in sorted((ROOT / ".ci").iterdir()):
        text = path.read_text(encoding="utf-8")
        assert "://" not in text, path
        assert path.stat().st_mode & stat.S_IXUSR, path
        if path.suffix == ".py":
            compile(text, path, "exec")
        else:
            assert subprocess.run(["bash", "-n", path], capture_output=True).returncode == 0, path
    assert 'grep -m1 -F ".[test]" README.md' in (ROOT / ".ci/run").read_text(encoding="utf-8")


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
