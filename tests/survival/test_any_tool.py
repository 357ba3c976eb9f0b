"""The runner of the survival suite for any tool tells what holds from what does not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent

STORE = """
import pathlib, sys
store = pathlib.Path("store.txt")
word, *rest = sys.argv[1:]
if word == "add": store.open("a").write(rest[1] + chr(10))
if word == "forgetful": print("yes")
if word == "dump": print(store.read_text() if store.exists() else "")
"""


def run(folder: Path, only: str, **told: list[str]) -> dict[str, Any]:
    """What the runner says of one case for a toy of an adapter."""
    (folder / "store.py").write_text(STORE)
    rows = ['name = "toy"', f'version = ["{sys.executable}", "--version"]']
    rows += [f"{key} = {json.dumps(words)}" for key, words in told.items()]
    adapter = folder / "toy.toml"
    adapter.write_text("\n".join(rows))
    words = [sys.executable, str(HERE / "any_tool.py"), str(adapter), "--only", only, "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=dict(os.environ))
    [row] = json.loads(done.stdout)
    assert row["version"] in ("", f"Python {sys.version.split()[0]}")
    return dict(row["cases"][only])


def toy(folder: Path, word: str, *rest: str) -> list[str]:
    return ["{python}", str(folder / "store.py"), word, *rest]


def test_what_a_tool_stores_and_forgets_is_told_apart(tmp_path: Path) -> None:
    """A store that takes everything holds eight writers, and a secret as well."""
    told = {"add": toy(tmp_path, "add", "{id}", "{text}"), "dump": toy(tmp_path, "dump")}
    assert run(tmp_path, "writers", **told) == {"mark": "●", "said": ""}
    secret = run(tmp_path, "secret", **told)
    assert secret["mark"] == "○" and secret["said"].startswith("stored in a/store.txt")
    forgetful = {**told, "add": toy(tmp_path, "forgetful")}
    assert run(tmp_path, "writers", **forgetful) == {"mark": "○", "said": "8 of 8 lost"}


def test_what_a_tool_has_no_command_for_is_not_asked(tmp_path: Path) -> None:
    """Nor is anything where the tool is not installed: it says why."""
    told = {"add": toy(tmp_path, "add", "{id}", "{text}"), "dump": toy(tmp_path, "dump")}
    assert run(tmp_path, "clones", **told) == {"mark": "–", "said": ""}
    missing = run(tmp_path, "writers", add=["no-such-tool"], dump=["no-such-tool"])
    assert missing == {"mark": "–", "said": "no-such-tool is not installed"}


@pytest.mark.parametrize("path", sorted((HERE / "adapters").glob("*.toml")), ids=lambda path: path.stem)
def test_each_adapter_is_whole(path: Path) -> None:
    """Each names what the runner asks for, as lists of words."""
    told = tomllib.loads(path.read_text())
    assert {"name", "version", "add", "dump"} <= told.keys()
    commands = {key: value for key, value in told.items() if key not in ("name", "setup", "files", "note")}
    assert all(isinstance(word, str) for value in commands.values() for word in value)


def test_plain_files_in_git_keep_two_clones_but_not_two_edits(tmp_path: Path) -> None:
    """The measure that others are held against: it works where nobody meets."""
    words = [
        sys.executable,
        str(HERE / "any_tool.py"),
        str(HERE / "adapters/markdown-in-git.toml"),
        "--json",
    ]
    for only, mark in (("clones", "●"), ("both-edit", "○")):
        done = subprocess.run([*words, "--only", only], capture_output=True, text=True, check=True)
        assert json.loads(done.stdout)[0]["cases"][only]["mark"] == mark
