"""The demo's ground: two people with a HOME each, a bare remote, and how a command is run there."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import gitmem
from gitmem.core.errors import CheckFailed

STEP_SECONDS = 60
"""A command that takes longer hangs."""
WORKER_SECONDS = 20
POLL_SECONDS = 0.05
GRACE_SECONDS = 1.0
"""A job that was tried, and that no worker is at, was given up."""
PASSED_ON = ("PATH", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SSL_CERT_FILE")
"""Of the caller's environment nothing else is seen."""
CONFIG = "[user]\n\tname = {name}\n\temail = {email}\n[init]\n\tdefaultBranch = main\n"


@dataclass(frozen=True)
class Answer:
    """What a command gave back: exit status, and what it wrote, talk and data as a terminal shows them."""

    code: int
    text: str


@dataclass(frozen=True)
class Person:
    """Someone with a HOME and a clone of their own.

    Attributes:
        prompt: what stands before their commands.
        home: their HOME.
        clone: real path of their clone.
        environ: the whole environment of their commands.
    """

    prompt: str
    home: Path
    clone: Path
    environ: Mapping[str, str]

    @property
    def config(self) -> Path:
        """The client's folder."""
        return self.home / ".claude"

    @property
    def auto_memory(self) -> Path:
        """Where the client keeps its memory of the clone."""
        from gitmem.transcripts.claude_home import memory_folder

        return memory_folder(self.config, self.clone)

    def run(self, words: Sequence[str]) -> Answer:
        """Runs `git …`, or `git mem …` by the gitmem that runs now.

        Raises:
            CheckFailed: it hangs, or cannot be started.
        """
        mem = list(words[:2]) == ["git", "mem"]
        argv = [sys.executable, "-P", "-m", "gitmem", *words[2:]] if mem else list(words)
        try:
            done = subprocess.run(
                argv,
                cwd=self.clone if self.clone.is_dir() else self.home,
                env=dict(self.environ),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=STEP_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise CheckFailed(f"{shlex.join(words)} took over {STEP_SECONDS} s") from error
        except OSError as error:
            raise CheckFailed(f"{words[0]} cannot be run: {error.strerror}", "Install git.") from error
        return Answer(done.returncode, done.stdout.decode("utf-8", "replace"))

    def must(self, *words: str) -> str:
        """Runs a command that has to succeed, and returns what it wrote, stripped."""
        done = self.run(words)
        if done.code:
            raise CheckFailed(f"{shlex.join(words)} exited {done.code}: {done.text.strip()}")
        return done.text.strip()


@dataclass
class Stage:
    """Everything that steps share.

    Attributes:
        folder: real path of the throw-away folder.
        facts: what earlier steps found out, for `{name}` in later commands.
    """

    folder: Path
    you: Person
    mate: Person
    facts: dict[str, str] = field(default_factory=dict)

    @property
    def remote(self) -> Path:
        """The bare remote of the code repository."""
        return self.folder / "remote.git"

    def settle(self, person: Person) -> None:
        """Waits until a person's worker has nothing left to do.

        Raises:
            CheckFailed: it does not come to an end, or gave up on a job.
        """
        state = person.clone / ".git" / "gitmem"
        until = time.monotonic() + WORKER_SECONDS
        stuck = 0.0
        while jobs := _jobs(state):
            alone = not (state / "worker.json").exists() and all(".try" in path.name for path in jobs)
            stuck = stuck + POLL_SECONDS if alone else 0.0
            if stuck > GRACE_SECONDS or time.monotonic() > until:
                log = state / "log"
                words = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else "no log\n"
                raise CheckFailed(f"the worker left a job undone: {words.splitlines()[-1]}")
            time.sleep(POLL_SECONDS)


def _jobs(state: Path) -> list[Path]:
    """What a worker still has to do, or gave up."""
    spool = state / "spool"
    try:
        left = [path for path in spool.iterdir() if path.is_file()]
        left += (spool / "failed").glob("*.error")
        return [*left, *state.glob("worker.json")]
    except OSError:
        return []


def make_stage(folder: Path, environ: Mapping[str, str]) -> Stage:
    """Builds two HOMEs, a bare remote and the clone of the first person, with code in it.

    Args:
        folder: an existing empty folder.
        environ: the caller's environment; only `PASSED_ON` is taken from it.
    """
    folder = folder.resolve()
    stage = Stage(
        folder,
        _person(folder / "you", "You", "", environ),
        _person(folder / "teammate", "Teammate", "teammate", environ),
    )
    you = stage.you
    you.must("git", "init", "-q", "--bare", "--initial-branch=main", str(stage.remote))
    you.must("git", "clone", "-q", str(stage.remote), str(you.clone))
    (you.clone / "app.py").write_text("def orders():\n    return []\n", encoding="utf-8")
    you.must("git", "add", "app.py")
    you.must("git", "commit", "-q", "-m", "Start")
    you.must("git", "push", "-q", "origin", "HEAD:main")
    return stage


def _person(home: Path, name: str, prompt: str, environ: Mapping[str, str]) -> Person:
    (home / ".claude").mkdir(parents=True)
    text = CONFIG.format(name=name, email=f"{name.lower()}@example.com")
    (home / ".gitconfig").write_text(text, encoding="utf-8")
    own = {key: environ[key] for key in PASSED_ON if key in environ}
    own.setdefault("PATH", os.defpath)
    own |= {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local" / "share"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_STATE_HOME": str(home / ".local" / "state"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
        "PYTHONUNBUFFERED": "1",
        # `-P` leaves the current folder out, and a checkout need not be installed.
        "PYTHONPATH": str(Path(gitmem.__file__).parents[1]),
    }
    return Person(f"{prompt}$", home, home / "app", own)
