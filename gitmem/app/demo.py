"""`gitmem demo`: all of it, by the real commands, in a throw-away folder with a HOME of its own.

Two people have a HOME, a clone and one bare remote. The steps are values: a command as a person would type
it, and what is read off its output for later ones. A command that fails ends the demo.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import gitmem
from gitmem.core.errors import CheckFailed, GitmemError
from gitmem.transcripts.claude_home import memory_folder, slug

Show = Callable[[str], None]

STEP_SECONDS = 60
"""A command that takes longer hangs."""
WORKER_SECONDS = 20
POLL_SECONDS = 0.05
PASSED_ON = ("PATH", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SSL_CERT_FILE")
"""Of the caller's environment nothing else is seen."""
CONFIG = "[user]\n\tname = {name}\n\temail = {email}\n[init]\n\tdefaultBranch = main\n"

SESSION = "d3300000-0000-4000-8000-000000000001"
SESSION_AGE = 7_200
"""Seconds before the present at which the recorded session began: it is over, and no agent is told."""
TURN_SECONDS = 60
SPOKEN = (
    ("Please add a command that lists the orders of one day.", "I added `orders_of_day` to app.py."),
    (
        "Remember that the staging database is wiped every Sunday night, so never leave test data there.",
        "I will keep that in mind.",
    ),
    (
        "No, don't mock the database in tests, the mocks hid a broken migration.",
        "Understood, tests will use the real database.",
    ),
)
"""(what the person says, what the agent answers): a task, something to remember, a correction."""

TWINS = {
    "small-pull-requests": "Keep pull requests small: one concern each.\n\nReviewers give up at 400 lines.",
    "keep-pull-requests-small": "Keep pull requests small:\none concern each.",
}
"""Two memories, of which the first says all that the second says."""
DOCUMENT = "# MAGIC DOC: Layout\n\nOrders are read in `app.py`.\n"
DEPLOYS = '--name deploy-day --description "When deploys go out" --type project --scope project'


@dataclass(frozen=True)
class Person:
    """Someone with a HOME and a clone of their own.

    Attributes:
        prompt: what stands before their commands.
        clone: real path of their clone.
        environ: the whole environment of their commands.
    """

    prompt: str
    home: Path
    clone: Path
    environ: Mapping[str, str]

    def run(self, words: Sequence[str]) -> str:
        """Runs `git …`, or `git mem …` by the gitmem that runs now; returns all that it wrote.

        Raises:
            CheckFailed: it fails, hangs, or cannot be started.
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
        text = done.stdout.decode("utf-8", "replace")
        if done.returncode:
            raise CheckFailed(f"exit status {done.returncode}: {text.strip()}")
        return text

    def settle(self) -> None:
        """Waits until this person's worker has nothing left to do.

        Raises:
            CheckFailed: it does not come to an end, or gave up on a job.
        """
        state, until = self.clone / ".git" / "gitmem", time.monotonic() + WORKER_SECONDS
        while any(path.is_file() for path in (*state.glob("spool/*"), *state.glob("worker.json"))):
            if time.monotonic() > until:
                break
            time.sleep(POLL_SECONDS)
        else:
            if not list(state.glob("spool/failed/*.error")):
                return
        raise CheckFailed("the worker left a job undone", "Look at it: git mem demo --keep DIR")


@dataclass
class Stage:
    """Everything that steps share; `facts` are what earlier ones found out, for `{name}` in commands."""

    folder: Path
    you: Person
    mate: Person
    facts: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class DemoCommand:
    """One command of the demo.

    Attributes:
        title: what is shown above; empty for a step that goes on with the one before.
        mate: whether it runs in the teammate's clone.
        learns: found in what it writes; its named groups are facts.
        before: what happens outside gitmem just before: an agent's or person's own doing.
        works: whether the worker has something to do afterwards.
    """

    command: str
    title: str = ""
    mate: bool = False
    learns: str = ""
    before: Callable[[Person], None] = lambda _: None
    works: bool = False


def record_session(you: Person) -> None:
    """A session with the agent took place, as Claude Code records one, and left work to commit."""
    folder = you.home / ".claude/projects" / slug(you.clone)
    folder.mkdir(parents=True, exist_ok=True)
    begun, lines, parent = time.time() - SESSION_AGE, [], None
    message: dict[str, Any]
    for number, said in enumerate(text for turn in SPOKEN for text in turn):
        kind, message = "user", {"role": "user", "content": said}
        if number % 2:
            kind = "assistant"
            message = {
                "id": f"msg_{number:08d}",
                "type": "message",
                "role": "assistant",
                "content": [{"type": "text", "text": said}],
                "stop_reason": "end_turn",
            }
        at = datetime.fromtimestamp(begun + number * TURN_SECONDS / 2, UTC)
        record = {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": str(you.clone),
            "sessionId": SESSION,
            "version": "2.1.197",
            "gitBranch": "main",
            "type": kind,
            "message": message,
            "uuid": (parent := f"d3300000-0000-4000-9000-{number:012x}"),
            "timestamp": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }
        lines.append(json.dumps(record) + "\n")
    path = folder / f"{SESSION}.jsonl"
    path.write_text("".join(lines), encoding="utf-8")
    os.utime(path, (begun + len(lines) * TURN_SECONDS / 2,) * 2)
    code = "def orders():\n    return []\n\n\ndef orders_of_day(day):\n    return []\n"
    (you.clone / "app.py").write_text(code, encoding="utf-8")


def write_twins(you: Person) -> None:
    """The agent writes two memories, and an index line that leads nowhere."""
    folder = memory_folder(you.home / ".claude", you.clone)
    index = folder / "MEMORY.md"
    lines = index.read_text(encoding="utf-8")
    for name, body in TWINS.items():
        front = f"---\nname: {name}\ndescription: Keep pull requests small\ntype: feedback\n---\n"
        (folder / f"{name}.md").write_text(f"{front}\n{body}\n", encoding="utf-8")
        lines += f"- [{name}]({name}.md) — Keep pull requests small\n"
    index.write_text(f"{lines}- [gone](gone.md)\n", encoding="utf-8")


def write_document(you: Person) -> None:
    """A document that names a file is committed, and then the file is renamed."""
    (you.clone / "LAYOUT.md").write_text(DOCUMENT, encoding="utf-8")
    you.run(["git", "add", "LAYOUT.md"])
    you.run(["git", "commit", "-q", "-m", "Say where things are"])
    you.settle()
    you.run(["git", "mv", "app.py", "orders.py"])


STEPS = (
    DemoCommand("git mem init -y", "Start keeping memory in a repository. Nothing leaves the machine."),
    DemoCommand(
        'git commit -q -am "List the orders of a day"',
        "A session with the agent was recorded; the next commit teaches what was said in it.",
        before=record_session,
        works=True,
    ),
    DemoCommand("git mem log"),
    DemoCommand("git mem recall staging data", "A prompt, or a question, recalls it."),
    DemoCommand(
        "git mem review",
        "What nobody plainly asked to be remembered waits for you.",
        learns=r"^(?P<suggestion>s-\w+)",
    ),
    DemoCommand("git mem review accept {suggestion}"),
    DemoCommand(
        f'git mem remember "Deploys go out on Tuesdays." {DEPLOYS}',
        "Tell it something yourself, change your mind, take that back.",
    ),
    DemoCommand("git mem forget deploy-day"),
    DemoCommand("git mem undo"),
    DemoCommand(
        "git mem save",
        "The agent wrote the same thing down twice, and an index line that leads nowhere.",
        before=write_twins,
        learns=r"git mem undo (?P<before_dream>\w+)",
    ),
    DemoCommand(
        "git mem dream --force",
        "A dream proposes; nothing changes before you accept.",
        learns=r"dream (?P<dream>d-\w+)[\s\S]*Merge (?P<twin>\S+) into",
    ),
    DemoCommand("git mem review show {dream}"),
    DemoCommand("git mem review accept {dream}"),
    DemoCommand(
        "git mem restore {twin} --at {before_dream}",
        "Any earlier state comes back as a new commit.",
    ),
    DemoCommand(
        "git mem list",
        "What has to hold always becomes a rule in the code, which you commit.",
        learns=r"(?P<standing>\S*mock-database\S*)",
    ),
    DemoCommand("git mem promote {standing} -y"),
    DemoCommand("git add CLAUDE.md"),
    DemoCommand("git commit -q -F .git/gitmem/promotion.txt", works=True),
    DemoCommand(
        'git commit -q -m "Name the module after what it holds"',
        "A document of the code named a file that you renamed: it is put right on a branch.",
        before=write_document,
        works=True,
    ),
    DemoCommand("git mem review"),
    DemoCommand("git merge -q gitmem/docs"),
    DemoCommand(
        "git mem snapshot create",
        "Project memory travels with the code as a snapshot; a teammate's clone starts from it.",
    ),
    DemoCommand("git add .claude/agent-memory-snapshots"),
    DemoCommand('git commit -q -m "Add what the agent knows"'),
    DemoCommand("git push -q origin main"),
    DemoCommand("git clone -q ../remote.git app", mate=True),
    DemoCommand("git mem init -y", mate=True),
    DemoCommand("git mem share --mode direct -y", "Or share it through a branch of the remote."),
    DemoCommand("git mem sync -y"),
    DemoCommand("git mem share --mode direct -y", mate=True),
    DemoCommand("git mem sync -y", mate=True),
    DemoCommand(
        f'git mem remember "Deploys go out on Wednesdays." {DEPLOYS}',
        "Both change the same claim: neither is lost, and a person decides.",
    ),
    DemoCommand(f'git mem remember "Deploys go out on Thursdays." {DEPLOYS}', mate=True),
    DemoCommand("git mem sync -y"),
    DemoCommand("git mem sync -y", mate=True),
    DemoCommand("git mem review show x-", mate=True, learns=r"(?P<theirs>\d+)\. .*Thursdays"),
    DemoCommand("git mem review accept x- {theirs}", mate=True),
    DemoCommand("git mem sync -y", mate=True),
    DemoCommand("git mem sync -y"),
    DemoCommand("git mem status", "Where it stands."),
)


def run_demo(
    environ: Mapping[str, str],
    show: Show,
    keep: Path | None = None,
    steps: Sequence[DemoCommand] = STEPS,
) -> None:
    """Runs the demo in a throw-away folder.

    Args:
        environ: the caller's environment; hardly anything of it is passed on.
        show: prints one line.
        keep: a folder to use and to leave; it must not exist, or be empty.

    Raises:
        CheckFailed: a command failed, or `keep` holds something.
    """
    if keep is not None and keep.is_dir() and any(keep.iterdir()):
        raise CheckFailed(f"{keep} is not empty", "Name a folder that does not exist yet.")
    try:
        folder = keep or Path(mkdtemp(prefix="gitmem-demo-"))
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CheckFailed(f"{keep} cannot be made: {error.strerror}") from error
    try:
        begun = time.monotonic()
        stage = make_stage(folder, environ)
        try:
            for number, step in enumerate(steps, 1):
                try:
                    _take(stage, step, show)
                except GitmemError as error:
                    what = f"The demo failed at step {number} ({step.command}): {error.message}"
                    raise CheckFailed(what, error.hint) from error
        finally:
            for person in (stage.you, stage.mate):
                with suppress(GitmemError):
                    person.settle()
        show("")
        show(f"{len(steps)} steps in {time.monotonic() - begun:.0f} s")
    finally:
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)
    if keep is not None:
        show(f"kept in {folder}")


def _take(stage: Stage, step: DemoCommand, show: Show) -> None:
    person = stage.mate if step.mate else stage.you
    if step.title:
        show("")
        show(f"# {step.title}")
    step.before(person)
    command = step.command.format_map(stage.facts)
    show(f"{person.prompt} {command}")
    text = person.run(shlex.split(command))
    for line in text.replace(str(person.home), "~").replace(str(stage.folder), "…").rstrip().splitlines():
        show(line)
    if step.works:
        person.settle()
    if step.learns:
        found = re.search(step.learns, text, re.MULTILINE)
        if found is None:
            raise CheckFailed("it does not say what the next step needs")
        stage.facts |= found.groupdict()


def make_stage(folder: Path, environ: Mapping[str, str]) -> Stage:
    """Builds two HOMEs, a bare remote and the clone of the first person, with code in it.

    Args:
        folder: an existing empty folder.
        environ: the caller's environment; only `PASSED_ON` is taken from it.
    """
    folder = folder.resolve()
    you = _person(folder / "you", "You", "", environ)
    remote = str(folder / "remote.git")
    you.run(["git", "init", "-q", "--bare", "--initial-branch=main", remote])
    you.run(["git", "clone", "-q", remote, str(you.clone)])
    (you.clone / "app.py").write_text("def orders():\n    return []\n", encoding="utf-8")
    you.run(["git", "add", "app.py"])
    you.run(["git", "commit", "-q", "-m", "Start"])
    you.run(["git", "push", "-q", "origin", "HEAD:main"])
    return Stage(folder, you, _person(folder / "teammate", "Teammate", "teammate", environ))


def _person(home: Path, name: str, prompt: str, environ: Mapping[str, str]) -> Person:
    return Person(f"{prompt}$", home, home / "app", make_home(home, name, environ))


def make_home(home: Path, name: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Makes a HOME with a client's folder and a git identity.

    Args:
        home: a folder that does not exist yet.
        environ: the caller's environment; only `PASSED_ON` is taken from it.

    Returns:
        The whole environment of commands that are to see nothing else.
    """
    (home / ".claude").mkdir(parents=True)
    text = CONFIG.format(name=name, email=f"{name.lower()}@example.com")
    (home / ".gitconfig").write_text(text, encoding="utf-8")
    own = {"PATH": os.defpath} | {key: environ[key] for key in PASSED_ON if key in environ}
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
    return own
