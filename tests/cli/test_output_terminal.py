"""What a person sees at a terminal: its width, a pager, colours, and what a mistake is answered with."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import sys
import termios
from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path

import pytest
from cli_ground import HOUR, Ground, memory
from once import Once

from gitmem.cli import output
from gitmem.cli.app import SUMMARIES, load_verb
from gitmem.cli.output import Output, fitted

ROOT = Path(__file__).parents[2]
COLOUR = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z=>]|\x1b[=>]")
LONG = "Deploys go from the release branch alone, since the pipeline signs what it builds there."


@pytest.fixture
def full(ground: Ground, once: Once[int]) -> Ground:
    """A memory with something of everything that verbs show."""
    ground.now = once("full", lambda: filled(ground))
    ground.patch.delenv("GITMEM_DISABLE")
    ground.tick(0)
    return ground


def filled(ground: Ground) -> int:
    ground.learn({"main/deploys.md": memory("deploys", f"{LONG}\n\n**Why:** {LONG}", LONG)}, subject=LONG)
    text = f"{LONG} *(disputed 1a2b3c4d)*\n\n{LONG[:-1]}, ever. *(disputed 1a2b3c4d)*"
    ground.learn({"main/signing.md": memory("signing", text, LONG)}, "local")
    ground.learn({"main/gone.md": memory("gone")})
    return ground.now


def at_terminal(
    ground: Ground, columns: int, *words: str, environ: Mapping[str, str] | None = None
) -> tuple[str, int]:
    """Runs `gitmem WORDS` in a terminal of so many columns; returns what it showed and its exit code."""
    seen = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "GIT_PAGER": "cat", **(environ or {})}
    seen.pop("COLUMNS", None)
    child, terminal = pty.fork()
    if child == 0:
        size = struct.pack("HHHH", 24, columns, 0, 0)
        fcntl.ioctl(0, termios.TIOCSWINSZ, size)
        os.chdir(ground.repo)
        os.execve(sys.executable, [sys.executable, "-P", "-m", "gitmem", *words], seen)
    shown = b"".join(_read(terminal))
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    return shown.decode().replace("\r\n", "\n"), os.waitstatus_to_exitcode(status)


def _read(terminal: int) -> Iterator[bytes]:
    while True:
        try:
            piece = os.read(terminal, 65_536)
        except OSError:  # the other end is closed
            return
        if not piece:
            return
        yield piece


SHOWN = [
    ("status", "-v"),
    ("list",),
    ("show", "deploys"),
    ("log",),
    ("blame", "deploys"),
    ("diff", "~2"),
    ("review",),
    ("review", "show", "x-1a2b3c"),
    ("recall", "deploys", "signs"),
    ("dream", "-n", "--force", "--engine", "offline"),
    ("engine",),
    ("stats",),
    ("jobs",),
    ("doctor", "-n"),
    ("share", "-n"),
    ("snapshot",),
    ("docs",),
    ("session",),
    ("init", "-n"),
    ("uninstall", "-n"),
    ("forget", "gone", "-n"),
    ("move", "gone", "--to", "local", "-n"),
    ("restore", "gone", "-n"),
    ("undo", "-n"),
    ("bench",),
    ("show", "nothing-of-the-kind-is-known-here"),
    ("help", "settings"),
]

CODES: dict[tuple[str, ...], int] = {
    ("doctor", "-n"): 1,
    ("share", "-n"): 3,
    ("show", "nothing-of-the-kind-is-known-here"): 2,
}
"""Exit codes that are not 0: hooks are missing, there is no remote, there is no such memory."""


def seen_at(ground: Ground, columns: int, *words: str) -> str:
    """What a person behind a pager sees of a command, at one and the same time."""
    ground.patch.setenv("COLUMNS", str(columns))
    ground.now -= HOUR
    ran = ground.run(*words, code=CODES.get(words, 0))
    return COLOUR.sub("", ran.out + ran.err)


def unbroken(shown: str, columns: int, whole: str) -> None:
    """Asserts that no line is too long, but for one word that is, and that no word was cut in two."""
    known = set(whole.split())
    for line in COLOUR.sub("", shown).split("\n"):
        assert len(line) <= columns or len(line.split()) == 1, (columns, line)
        assert [word for word in line.split() if word not in known] == [], (columns, line)


@pytest.mark.parametrize("words", SHOWN, ids=lambda words: " ".join(words))
def test_every_verb_keeps_to_the_terminals_width(full: Ground, words: tuple[str, ...]) -> None:
    full.patch.setenv("GIT_PAGER_IN_USE", "true")
    wide = seen_at(full, 4000, *words)
    for columns in (60, 120):
        unbroken(seen_at(full, columns, *words), columns, wide)


def test_help_keeps_to_it_too(ground: Ground) -> None:
    ground.patch.setenv("COLUMNS", "4000")
    pages = [(), *((verb,) for verb in SUMMARIES)]
    whole = "".join(ground.run("help", *words).out for words in pages)
    for columns in (60, 120):
        ground.patch.setenv("COLUMNS", str(columns))
        for words in pages:
            unbroken(ground.run("help", *words).out, columns, whole)


def test_a_line_goes_on_further_in_and_an_address_stays_whole() -> None:
    url = "https://example.com/" + "a" * 60
    assert fitted("  one two three", 11) == "  one two\n     three"
    assert fitted(f"see {url} there", 30) == f"see\n    {url}\n    there"
    assert fitted("\x1b[33mone\x1b[0m two", 7) == "\x1b[33mone\x1b[0m two"


def test_a_reading_verb_goes_through_the_pager_of_git(full: Ground) -> None:
    shown, code = at_terminal(full, 80, "log", environ={"GIT_PAGER": "sed s/^/paged:/"})
    assert code == 0 and all(line.startswith("paged:") for line in shown.splitlines()), shown
    assert "\x1b[33m" in shown
    started: list[object] = []
    full.patch.setattr("gitmem.cli.context.start_pager", started.append)
    for number, line in enumerate(("log", "list", "show deploys", "diff ~2", "blame deploys"), 1):
        full.run(*line.split())
        assert len(started) == number, line


def test_none_is_started_where_it_is_left_off(full: Ground) -> None:
    shown, _ = at_terminal(full, 80, "--no-pager", "log", environ={"GIT_PAGER": "sed s/^/paged:/"})
    assert "paged:" not in shown and "\x1b[33m" in shown


def test_gits_settings_choose_the_pager_and_none_is_started_without_a_terminal(full: Ground, git) -> None:
    git("config", "--global", "core.pager", "sed s/^/own:/")
    full.patch.delenv("GIT_PAGER", raising=False)
    shown, _ = at_terminal(full, 80, "log", environ={"GIT_PAGER": "", "PAGER": "sed s/^/no:/"})
    assert ":" in shown
    assert "own:" not in full.run("log").out


def test_a_pager_that_is_left_early_ends_it_quietly(full: Ground) -> None:
    shown, _ = at_terminal(full, 80, "log", environ={"GIT_PAGER": "head -n 1"})
    assert len(shown.splitlines()) == 1 and "Traceback" not in shown


def test_colours_stay_where_a_person_reads(full: Ground) -> None:
    assert "\x1b[" not in at_terminal(full, 80, "log", environ={"NO_COLOR": "1"})[0]
    assert "\x1b[33m" in full.run("--color", "always", "log").out
    assert "\x1b[" not in full.run("log").out


def test_n_is_a_dry_run_where_a_verb_writes_and_a_number_where_it_lists() -> None:
    """One rule in all verbs, git's own: `git clean -n`, `git log -n 5`."""
    found = {}
    for verb in SUMMARIES:
        command = load_verb(verb)
        for name, each in ((verb, command), *getattr(command, "commands", {}).items()):
            for option in each.params:
                if "-n" in option.opts:
                    found[f"{verb} {name}"] = next(word for word in option.opts if word.startswith("--"))
    assert set(found.values()) == {"--dry-run", "--max-count"}
    counted = {name.split()[0] for name, option in found.items() if option == "--max-count"}
    assert counted == {"log", "jobs", "session"}


class Watched(StringIO):
    """Standard error as a person watches it."""

    def isatty(self) -> bool:
        return True


def test_what_takes_a_while_is_told_and_taken_away_before_anything_is_said(monkeypatch, capsys) -> None:
    seen = Watched()
    monkeypatch.setattr(sys, "stderr", seen)
    monkeypatch.setattr(output, "PATIENCE", 0)
    monkeypatch.setenv("TERM", "xterm")
    output.begin("doctor", quiet=False)
    (going,) = output._begun
    assert going._timer is not None
    going._timer.join()
    told = "looking at refs, objects and hooks …"
    assert seen.getvalue() == told
    Output().data("all is well")
    assert seen.getvalue() == f"{told}\r{' ' * len(told)}\r" and capsys.readouterr().out == "all is well\n"
    output.begin("doctor", quiet=True)
    output.settle()
    assert seen.getvalue().count(told) == 1


def test_what_is_told_is_of_verbs_that_there_are() -> None:
    assert set(output.DOING) <= set(SUMMARIES)


def test_an_interrupt_at_a_question_leaves_all_as_it_was(repo: Path) -> None:
    before = sorted(path.name for path in (repo / ".git").rglob("*"))
    seen = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(repo)
        os.execve(sys.executable, [sys.executable, "-P", "-m", "gitmem", "init"], seen)
    shown = b""
    for piece in _read(terminal):
        asked = b"[y/N]" in shown
        shown += piece
        if b"[y/N]" in shown and not asked:
            os.write(terminal, b"\x03")
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 130, shown
    assert b"Traceback" not in shown
    assert sorted(path.name for path in (repo / ".git").rglob("*")) == before
