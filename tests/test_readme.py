"""The README's sessions are run and compared: what it shows is what happens.

`python tests/test_readme.py` writes the sessions into the README as they come out now; read the difference.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from gitmem.cli.app import SUMMARIES
from gitmem.core.trailers import Provenance, format_message
from gitmem.ledger.settings import CHOICES, DEFAULTS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
REFERENCE = (ROOT / "docs/reference.md").read_text(encoding="utf-8")
NOW = 1_795_168_800
"""2026-11-20T10:00:00Z: what the commands take for the present."""

CONFIG = "[user]\n\tname = Ann\n\temail = ann@example.com\n[init]\n\tdefaultBranch = main\n"
MARK = "@@@"
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(text: str) -> list[str]:
    """The fenced console sessions."""
    return _BLOCK.findall(text)


def commands(block: str) -> list[str]:
    return [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]


def make_home(folder: Path) -> tuple[Path, dict[str, str]]:
    """A HOME with a git identity and `git mem` on PATH."""
    home, programs = folder / "ann", folder / "bin"
    (home / ".claude").mkdir(parents=True)
    programs.mkdir()
    (home / ".gitconfig").write_text(CONFIG)
    for name in ("gitmem", "git-mem"):
        path = programs / name
        path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m gitmem "$@"\n')
        path.chmod(0o755)
    return home, {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_DATE": f"{NOW} +0000",
        "GIT_COMMITTER_DATE": f"{NOW} +0000",
        "GITMEM_NOW": str(NOW),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONPATH": str(ROOT),
        "PYTHONUNBUFFERED": "1",
    }


def run_session(block: str, home: Path, environ: dict[str, str], *, disable: bool = True) -> str:
    """Runs the commands of a block in one shell and returns it with their real outputs."""
    script = "exec 2>&1\n" + "".join(f"printf '%s\\n' '{MARK}'\n{command}\n" for command in commands(block))
    if disable:
        # Nothing may run on in the background once the test is over.
        environ = {**environ, "GITMEM_DISABLE": "1"}
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=home,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    outputs = done.stdout.replace(str(home), "~").split(f"{MARK}\n")[1:]
    return "".join(f"$ {command}\n{out}" for command, out in zip(commands(block), outputs, strict=True))


def normalised(text: str) -> str:
    """The same with object names and ids made from them replaced, in the length they are shown in."""
    text = re.sub(r"\b[0-9a-f]{7,40}\b", lambda found: "0" * len(found[0]), text)
    return re.sub(r"(?<=app-)[0-9a-f]+", "0", text)


def test_the_sessions_come_out_as_shown(tmp_path: Path) -> None:
    home, environ = make_home(tmp_path)
    found = blocks(README)
    assert found, "the README shows no session"
    for block in found:
        assert normalised(run_session(block, home, environ)) == normalised(block)


def test_every_verb_is_named() -> None:
    for verb in SUMMARIES:
        assert f"### git mem {verb}\n" in REFERENCE, verb


def test_settings_and_their_values_are_those_that_are_read() -> None:
    for key, values in CHOICES.items():
        row = next(line for line in README.splitlines() if line.startswith(f"| `gitmem.{key}`"))
        assert [value for value in values if f"`{value}`" not in row] == []
        assert f"**`{DEFAULTS[key]}`**" in row, f"{key}: the default is not in bold"


def test_trailers_are_those_that_are_written() -> None:
    message = format_message(
        "subject",
        Provenance(
            "add", "extract", session="s", messages=("a", "b"), job="j", code_commit="c", engine="offline"
        ),
    )
    for trailer in re.findall(r"^(Gitmem-[A-Za-z-]+):", message, re.MULTILINE):
        assert f"{trailer}:" in README, trailer


def test_links_inside_the_repository_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        place = make_home(Path(folder).resolve())
        text = _BLOCK.sub(lambda found: f"```console\n{run_session(found[1], *place)}```", README)
    (ROOT / "README.md").write_text(text, encoding="utf-8")
