"""Hermetic ground for every test: own HOME, XDG folders and git configuration, fixed dates, no network."""

from __future__ import annotations

import gc
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from pathlib import Path
from shutil import disk_usage

import pytest
from copies import copy_tree
from git_config import GIT_CONFIG
from once import FIXTURES
from psutil import virtual_memory
from ran import Command

# Where the suite runs in the background of a shell, or under `nohup`, signals are ignored, and every
# process that a test starts would inherit that.
with suppress(ValueError):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


# Every program that a test starts would compile all that it imports: three times the CPU of `git mem list`;
# and each worker would rewrite the asserts of every file of tests anew: a tenth of the suite's CPU.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

MEMORY_FOLDER = Path("/dev/shm")
ROOM = 6 * 1024**3
"""Bytes: the suite's repositories take some 2 GB at once."""


def pytest_configure(config: pytest.Config) -> None:
    """Makes the many small repositories in memory where there is room: a fifth less CPU than on disk.

    Raises:
        UsageError: a path that was given is not there, which pytest tells in one process alone.
    """
    gone = [arg for arg in config.args if not Path(arg.partition("::")[0]).exists()]
    if gone and not hasattr(config, "workerinput"):
        raise pytest.UsageError(f"not there: {', '.join(gone)} (paths are read from {Path.cwd()})")
    has_room = MEMORY_FOLDER.is_dir() and os.access(MEMORY_FOLDER, os.W_OK)
    has_room = has_room and min(disk_usage(MEMORY_FOLDER).free, virtual_memory().available) > ROOM
    if has_room and sys.platform == "linux":
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY_FOLDER))
    _set_examples()


def _set_examples() -> None:
    """Says how many examples a law is tried on.

    Pytest rewrites the asserts of hypothesis, too: loaded ahead of the lines above, that would not be kept.
    """
    from hypothesis import HealthCheck, settings
    from laws import MORE, USUAL, examples

    settings.register_profile(
        "laws",
        max_examples=examples(USUAL),
        # Frozen examples hid two broken laws: where more are asked for they are others in every run, and a
        # failure prints what repeats it.
        derandomize=not MORE,
        print_blob=MORE,
        deadline=None,
        # How many of the first ten a law sifts out is chance: a word in its docstring draws others.
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.data_too_large,
            HealthCheck.filter_too_much,
        ],
    )
    settings.load_profile("laws")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Looks for no garbage among nine thousand cases, which all stay to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Lets each worker begin with other files, so that what one of them compiles the others only read."""
    report = yield
    worker = getattr(collector.config, "workerinput", None)
    if worker and isinstance(collector, pytest.Directory) and report.passed:
        first = len(report.result) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
        report.result = report.result[first:] + report.result[:first]
    return report


class FileOfTests(pytest.Module):
    """A file of tests."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Gives the file its own folder where it imports `Once`, or what takes it."""
        if {"Once", "planted"} & vars(self.obj).keys():
            vars(self.obj).update(FIXTURES)
        return super().collect()


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module:
    """Takes each file of tests as a `FileOfTests`."""
    return FileOfTests.from_parent(parent, path=module_path)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Puts them in the order in which every worker has them; first what takes longest by itself."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: (item.path.name != "test_readme.py", item.path))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints what each client was seen to do, in words of the table of clients."""
    reports = [one for some in terminalreporter.stats.values() for one in some]
    seen = [
        json.loads(value)
        for one in reports
        for name, value in getattr(one, "user_properties", ())
        if name == "client" and getattr(one, "when", "") == "call"
    ]
    for number, (title, cells) in enumerate(sorted(seen, key=lambda row: row[0])):
        if not number:
            terminalreporter.write_line(" | ".join(("client", *cells)))
        marks = ["●" if cell is True else cell or "no" for cell in cells.values()]
        terminalreporter.write_line(" | ".join((title, *marks)))


@pytest.fixture(scope="session")
def tmp_path_factory(tmp_path_factory: pytest.TempPathFactory) -> pytest.TempPathFactory:
    """Numbers folders by counting: pytest's looks through all that were made, thousands in the end."""
    base, numbers = tmp_path_factory.getbasetemp(), itertools.count()

    def mktemp(basename: str, numbered: bool = True) -> Path:
        path = base / (f"{basename}-{next(numbers)}" if numbered else basename)
        path.mkdir(mode=0o700)
        return path

    tmp_path_factory.mktemp = mktemp  # type: ignore[method-assign]
    return tmp_path_factory


@pytest.fixture
def home_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the test's HOME is; `once.py` has another."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="session")
def git_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What git lays into a new repository, less its samples: all are copied with each state put back."""
    made = tmp_path_factory.getbasetemp() / "git-template"
    (made / "hooks").mkdir(parents=True)
    (made / "info").mkdir()
    (made / "info/exclude").write_text("# what git is not to track\n")
    return made


@pytest.fixture(autouse=True)
def hermetic(home_folder: Path, git_template: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty HOME with a git identity; nothing of the machine's own configuration is seen."""
    home = home_folder
    foreign = (
        "GIT_", "CLAUDE", "ANTHROPIC", "GITMEM", "XDG_", "CODEX", "GEMINI", "QWEN", "OPENCODE",
        "COLUMNS", "NO_COLOR", "FORCE_COLOR",
    )  # fmt: skip
    for name in list(os.environ):
        if name.startswith(foreign) and not name.startswith(("GITMEM_TEST_", "GIT_DEFAULT_")):
            monkeypatch.delenv(name)
    if home_folder.parent.name.startswith("place-"):  # see once.py
        monkeypatch.setenv("GITMEM_DISABLE", "1")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / ".local/share"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_TEMPLATE_DIR", str(git_template))
    monkeypatch.setenv("GIT_TERMINAL_PROMPT", "0")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2026-11-20T10:00:00Z")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-11-20T10:00:00Z")
    (home / ".gitconfig").write_text(GIT_CONFIG)
    return home


@pytest.fixture
def home(hermetic: Path) -> Path:
    """The test's HOME."""
    return hermetic


Git = Callable[..., str]


@pytest.fixture
def git() -> Git:
    """`git("-C", repo, "log")` runs git, fails the test on an error and returns stripped stdout."""

    def run(*args: object, check: bool = True, input: str | None = None) -> str:
        done = subprocess.run(
            ["git", *map(str, args)], capture_output=True, text=True, input=input, check=False
        )
        if check and done.returncode:
            raise AssertionError(f"git {args} exited {done.returncode}: {done.stderr}")
        return done.stdout.strip()

    return run


@pytest.fixture
def repo(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, git: Git) -> Path:
    """A code repository with one commit on `main`; made once, since nothing in it names where it is."""
    made = tmp_path_factory.getbasetemp() / "repository"
    if not made.exists():
        git("init", "-q", made)
        (made / "README").write_text("code\n")
        git("-C", made, "add", "README")
        git("-C", made, "commit", "-q", "-m", "first")
    return copy_tree(made, tmp_path / "repo")


@pytest.fixture
def empty_team(repo: Path, tmp_path_factory: pytest.TempPathFactory, git: Git) -> Callable[[Path], Path]:
    """Makes a remote that holds the code of `repo`; cloned once, since nothing in it names where it is."""

    def make(path: Path) -> Path:
        made = tmp_path_factory.getbasetemp() / "team-repository"
        if not made.exists():
            git("clone", "-q", "--bare", repo, made)
            git("--git-dir", made, "remote", "remove", "origin")
        return copy_tree(made, path)

    return make


@pytest.fixture
def team(empty_team: Callable[[Path], Path], tmp_path: Path) -> Path:
    """The remote that holds code and memory."""
    return empty_team(tmp_path / "team.git")


@pytest.fixture
def gitmem(repo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """`gitmem("list", "--json")` runs a command in this process, in the test's repository.

    Keyword arguments: `cwd` for another folder, `ok=False` to allow any exit code.
    """
    return Command(repo, monkeypatch, capsys)
