"""Completion of `gitmem`, `git-mem` and `git mem` in the shells themselves, as they are installed."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from cli_ground import Ground, memory

GITS = Path("/usr/share/bash-completion/completions/git")
PATIENCE = 60.0
"""Seconds after which a shell that says nothing is given up."""


def needs(shell: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(shell) is None, reason=f"{shell} is not installed")


@pytest.fixture
def environ(ground: Ground, tmp_path: Path) -> Mapping[str, str]:
    """A repository with a memory, and the two commands on PATH; completion is installed for every shell."""
    ground.learn({"reviewer/no-mocks.md": memory("no-mocks")})
    text = "Port 80. *(disputed 1a2b3c4d)*\n\nPort 90. *(disputed 1a2b3c4d)*"
    ground.learn({"reviewer/ports.md": memory("ports", text)})
    ground.run("remote", "add", "team-store", "--store", "memstore_01Abc")
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("gitmem", "git-mem"):
        path = programs / name
        path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m gitmem "$@"\n')
        path.chmod(0o755)
    for shell in ("bash", "zsh", "fish"):
        assert "undo: rm " in ground.run("completion", shell, "--install").err
    root = str(Path(__file__).parents[2])
    search = f"{programs}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": search, "PYTHONPATH": root, "TERM": "xterm", "PS1": "> "}


def test_an_undo_takes_a_folder_with_a_blank_whole(ground: Ground, tmp_path: Path) -> None:
    data = tmp_path / "a b"
    ground.patch.setenv("XDG_DATA_HOME", str(data))
    for words in (("completion", "bash", "--install"), ("install-man",)):
        _, _, undo = ground.run(*words).err.strip().rpartition("undo: ")
        assert [path for path in data.rglob("*") if path.is_file()]
        subprocess.run(["bash", "-c", undo], check=True)
        assert not [path for path in data.rglob("*") if path.is_file()]


def spoken(words: list[str], environ: Mapping[str, str], folder: Path) -> str:
    done = subprocess.run(words, cwd=folder, env=environ, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout


LINES = [
    ("{} stat", "status"),
    ("{} show no-", "no-mocks"),
    ("{} log --onel", "--oneline"),
    ("{} review show x-", "x-1a2b3c"),
    ("{} engine set off", "offline"),
    ("{} sync te", "team-store"),
]
ASKED = [("gitmem", LINES[:1]), ("git-mem", LINES[:1]), ("git mem", LINES)]
"""By each name, since a shell finds a script by it; all kinds of words by one, as all ask the same
(test_app_options.py has what is answered)."""


@needs("bash")
@pytest.mark.parametrize(("program", "lines"), [("gitmem", LINES[1:3]), ("git-mem", LINES[:1])])
def test_bash_finds_it_by_the_name_of_the_command(
    ground: Ground, environ: Mapping[str, str], program: str, lines: list[tuple[str, str]]
) -> None:
    """By both names it is one function that asks."""
    found = Path(environ["HOME"]) / ".local/share/bash-completion/completions" / program
    for line, wanted in lines:
        words = line.format(program).split()
        script = (
            f"source {found}; COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; "
            f'_gitmem; printf "%s\\n" "${{COMPREPLY[@]}}"'
        )
        assert wanted in spoken(["bash", "--norc", "-c", script], environ, ground.repo), line


@needs("bash")
@pytest.mark.skipif(not GITS.is_file(), reason="bash-completion or git's completion is not installed")
def test_gits_own_completion_in_bash_asks_for_mem(ground: Ground, environ: Mapping[str, str]) -> None:
    found = Path(environ["HOME"]) / ".local/share/bash-completion/completions/git-mem"
    asked = [("git mem", LINES[1]), ("git -C . mem", LINES[2])]
    for program, (line, wanted) in asked:
        given = line.format(program)
        words = given.split()
        script = (
            f"source {GITS}; source {found}; COMP_WORDS=({' '.join(words)}); COMP_LINE='{given}'; "
            f"COMP_POINT={len(given)}; COMP_CWORD={len(words) - 1}; __git_wrap__git_main; "
            f'printf "%s|\\n" "${{COMPREPLY[@]}}"'
        )
        out = spoken(["bash", "--norc", "-c", script], environ, ground.repo)
        assert f"{wanted} |" in out, given


@pytest.mark.long
@needs("fish")
@pytest.mark.parametrize(("program", "lines"), ASKED)
def test_fish_reads_it_at_its_start(ground, environ, program: str, lines: list[tuple[str, str]]) -> None:
    for line, wanted in lines:
        given = line.format(program)
        out = spoken(["fish", "-c", f'complete -C "{given}"'], environ, ground.repo)
        assert wanted in [row.split("\t")[0] for row in out.splitlines()], given


@pytest.mark.long
@needs("zsh")
@pytest.mark.parametrize(("program", "lines"), ASKED)
def test_zsh_completes_at_its_prompt(ground, environ, program: str, lines: list[tuple[str, str]]) -> None:
    functions = Path(environ["HOME"]) / ".local/share/zsh/site-functions"
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(ground.repo)
        os.execvpe("zsh", ["zsh", "-f", "-i"], dict(environ))
    try:
        typed(
            terminal,
            f"fpath+=({functions}); autoload -U compinit; compinit -u -D; PS1='re''ady> '\n",
            "ready> ",
        )
        for line, wanted in lines:
            typed(terminal, line.format(program) + "\t", wanted)
            typed(terminal, "\x15PS1='ne''xt> '\n", "next> ")
    finally:
        os.close(terminal)
        os.waitpid(child, 0)


def typed(terminal: int, keys: str, until: str) -> None:
    """Types into a terminal, and reads until something stands there."""
    os.write(terminal, keys.encode())
    seen = ""
    while until not in seen:
        ready, _, _ = select.select([terminal], [], [], PATIENCE)
        assert ready, f"{until!r} did not come after {keys!r}: {seen!r}"
        seen += os.read(terminal, 4096).decode(errors="replace")


def test_a_script_is_printed_for_the_persons_own_shell(ground: Ground) -> None:
    ground.patch.setenv("SHELL", "/bin/zsh")
    assert ground.run("completion").out.startswith("#compdef git-mem gitmem\n")
    ground.patch.setenv("SHELL", "/usr/bin/fish")
    assert "complete -c git" in ground.run("completion").out
    ground.patch.setenv("SHELL", "/bin/sh")
    assert "git mem completion bash|zsh|fish" in ground.run("completion", code=2).err
