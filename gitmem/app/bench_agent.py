"""`gitmem bench agent`: whether what the prompt hook tells an agent lets it fix what it could not guess.

A task is a JSON object on a line of a file that the person gives:

    {"id": "rounding", "prompt": "Half cents are rounded the wrong way …",
     "memory": ["Half cents round down …"], "files": {"pay.py": "…"},
     "tests": {"test_pay.py": "…"}, "check": ["{python}", "test_pay.py"],
     "guesses": [{"pay.py": "…"}], "fixes": [{"told": ["half", "down"], "files": {"pay.py": "…"}}]}

The agent is scripted: it knows each task's fixes and guesses beforehand, and writes the first fix of which
every word in `told` stands in what the hook printed for the prompt; else its guesses, one after the other.
`check` is run with the hidden tests in place, and exit code 0 is solved. So the figure says whether the
decision reaches the agent in words that name it, in time and among others, not how clever a model is.
A line without `prompt` is a memory of something else (`id` and `memory`), among which it has to be found.

Three arms, a repository each: `none`; `memory`, with all memories; `others`, with all but the task's own,
which what is right by chance cannot pass. `check` runs the file's own programs, as its giver would, and
first on the code as it stands: what passes then is no task, and would be put down to whoever writes first.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from gitmem.app.bench_extract import bad_line, objects
from gitmem.app.demo import make_home
from gitmem.core.errors import RepositoryError, UsageError

Arm = Literal["none", "memory", "others"]
ARMS: tuple[Arm, ...] = ("none", "memory", "others")

SECONDS = 120
"""For one run of anything: a test that takes longer is not passed."""

BYTES_OF_A_TOKEN = 4
"""No tokenizer is at hand here; this is near what those of today make of English and code."""

Files = Mapping[str, str]


@dataclass(frozen=True)
class Fix:
    """What the agent writes once it was told.

    Attributes:
        told: words, in any case, that all have to stand in what the hook printed.
        files: path to content.
    """

    told: tuple[str, ...]
    files: Files


@dataclass(frozen=True)
class BenchTask:
    """One line of the file; `prompt` is empty for a memory of something else.

    Attributes:
        memory: what somebody taught of it, a memory each.
        files: the code as it stands.
        tests: hidden from the agent, laid out when `check` runs.
        check: the command that says whether it is solved; `{python}` is this interpreter.
        guesses: files as one writes them who knows no better, most obvious first.
    """

    id: str
    memory: tuple[str, ...]
    prompt: str = ""
    files: Files = field(default_factory=dict)
    tests: Files = field(default_factory=dict)
    check: tuple[str, ...] = ()
    guesses: tuple[Files, ...] = ()
    fixes: tuple[Fix, ...] = ()


@dataclass(frozen=True)
class Run:
    """What came of one task in one arm.

    Attributes:
        printed: by the hook, in bytes.
        told: whether the agent was told a fix.
        tries: how often it wrote; at the last one it was solved, or it knew nothing more.
        spent: bytes that a model would have read and written: with each try the prompt, the code and what
            the hook printed, what it wrote, and what a failed check said.
    """

    task: str
    arm: Arm
    printed: int
    told: bool
    tries: int
    solved: bool
    spent: int


def read_tasks(path: Path) -> tuple[BenchTask, ...]:
    """Reads the file.

    Raises:
        UsageError: it cannot be read, a line is not as it should be, or gives its own answer away.
    """
    found = tuple(_task(path, number, value) for number, value in objects(path, "tasks"))
    if not any(one.prompt for one in found):
        raise bad_line(path, 1, "no task: none has a prompt")
    return found


def _task(path: Path, number: int, value: Mapping[str, Any]) -> BenchTask:
    try:
        task = BenchTask(
            str(value["id"]), _texts(value["memory"]), str(value.get("prompt") or ""),
            _files(value.get("files", {})), _files(value.get("tests", {})), _texts(value.get("check", [])),
            tuple(_files(one) for one in value.get("guesses", [])),
            tuple(Fix(_texts(one["told"]), _files(one["files"])) for one in value.get("fixes", [])),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise bad_line(path, number, f"not in the form of a task ({error})") from error
    if task.prompt and not (task.check and task.fixes and all(one.told for one in task.fixes)):
        raise bad_line(path, number, "a task needs `check`, and `fixes` with words in `told`")
    visible = _plain("\n".join([task.prompt, *task.files.values()]))
    if any(_told(one, visible) for one in task.fixes):
        raise bad_line(path, number, "the words in `told` stand in the prompt or the code already")
    return task


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) and one.strip() for one in value):
        raise ValueError("a list of texts is expected")
    return tuple(value)


def _files(value: Any) -> Files:
    if not all(isinstance(text, str) and _inside(name) for name, text in dict(value).items()):
        raise ValueError("files are paths inside the folder, and texts")
    return dict(value)


def _inside(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return bool(parts) and not name.startswith("/") and not {".", "..", ".git"} & set(parts)


def _told(fix: Fix, printed: str) -> bool:
    return all(_plain(word) in printed for word in fix.told)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def run_tasks(
    tasks: Sequence[BenchTask], folder: Path, environ: Mapping[str, str], say: Callable[[str], None]
) -> Iterator[Run]:
    """Runs each task in each arm, by the real commands in throw-away repositories.

    Args:
        folder: an empty one, to be thrown away.
        environ: of the caller, of which only what starts programs is passed on.
        say: is told how far it is.

    Raises:
        UsageError: a task is solved before anything is written.
        RepositoryError: a command of gitmem failed.
    """
    asked = [one for one in tasks if one.prompt]
    every = [(one.id, text) for one in tasks for text in one.memory]
    for arm in ARMS:
        for number, task in enumerate(asked, 1):
            say(f"{arm}: {number} of {len(asked)}")
            if arm == "others":
                ground = _Ground(folder / f"{arm}-{number}", environ)
                ground.teach([text for id, text in every if id != task.id])
            elif number == 1:
                ground = _Ground(folder / arm, environ)
                ground.teach([text for _, text in every if arm == "memory"])
            if arm == "none" and ground.check(task, {})[0]:
                raise UsageError(
                    f"The check of {task.id} passes with the code as it stands", "Let its tests fail first."
                )
            yield _run(task, arm, ground, ground.hook(task.prompt, f"bench-{number}"))


def _run(task: BenchTask, arm: Arm, ground: _Ground, printed: str) -> Run:
    fix = next((one for one in task.fixes if _told(one, _plain(printed))), None)
    plans = [fix.files] if fix else list(task.guesses)
    shown = len("".join([task.prompt, printed, *task.files.values()]).encode())
    spent, solved, tries = 0, False, 0
    for files in plans:
        tries += 1
        solved, said = ground.check(task, files)
        spent += shown + len("".join(files.values()).encode()) + (0 if solved else len(said))
        if solved:
            break
    return Run(task.id, arm, len(printed.encode()), fix is not None, tries, solved, spent or shown)


class _Ground:
    """A HOME and a repository with gitmem set up in it."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self.home, self.repo, self.work = folder / "home", folder / "repo", folder / "work"
        self.environ = make_home(self.home, "Ann", environ)
        self.repo.mkdir()
        self._start("git", "init", "-q")
        self._start("git", "commit", "-q", "--allow-empty", "-m", "Begin")
        self._gitmem("init", "-y")

    def teach(self, texts: Sequence[str]) -> None:
        """Has memory say these, as an import that a person accepts does."""
        if texts:
            rows = [{"id": str(number), "memory": text} for number, text in enumerate(texts)]
            source = self.home / "taught.json"
            source.write_text(json.dumps(rows), "utf-8")
            made = json.loads(self._gitmem("import", str(source), "--json"))
            if made["id"]:
                self._gitmem("review", "accept", made["id"])

    def hook(self, prompt: str, session: str) -> str:
        """What the prompt hook prints for the agent; empty where it says nothing."""
        recording = self.home / "session.jsonl"
        recording.touch()
        event = "UserPromptSubmit"
        payload = {"session_id": session, "transcript_path": str(recording), "cwd": str(self.repo),
                   "hook_event_name": event, "prompt": prompt}  # fmt: skip
        said = self._gitmem("hook", "claude", event, input=json.dumps(payload))
        try:
            answer = json.loads(said) if said.strip() else {}
        except ValueError:
            return said
        return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))

    def check(self, task: BenchTask, files: Files) -> tuple[bool, bytes]:
        """Whether a task is solved with these files, and what its check said."""
        shutil.rmtree(self.work, ignore_errors=True)
        for name, text in {**task.files, **files, **task.tests}.items():
            path = self.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        words = [word.replace("{python}", sys.executable) for word in task.check]
        environ = {**self.environ, "PYTHONPATH": "", "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(
                words, cwd=self.work, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, timeout=SECONDS, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return False, b"it took too long"
        except OSError as error:
            raise RepositoryError(f"The check of {task.id} cannot be started: {error.strerror}") from error
        return done.returncode == 0, done.stdout

    def _gitmem(self, *words: str, input: str = "") -> str:
        return self._start(sys.executable, "-m", "gitmem", *words, input=input)

    def _start(self, *words: str, input: str = "") -> str:
        done = subprocess.run(
            words, cwd=self.repo, env=self.environ, input=input, capture_output=True, text=True,
            timeout=10 * SECONDS, check=False, errors="replace",
        )  # fmt: skip
        if done.returncode:
            raise RepositoryError(f"{' '.join(words[-4:])} failed: {done.stderr[-300:]}")
        return done.stdout


def figures(runs: Sequence[Run]) -> dict[str, Any]:
    """What the runs come to, by arm: counts of tasks, and tokens of a task on average."""
    arms = {}
    for arm in ARMS:
        mine = [run for run in runs if run.arm == arm]
        each = max(1, len(mine))
        arms[arm] = {
            "tasks": len(mine),
            "answered": sum(run.printed > 0 for run in mine),
            "told": sum(run.told for run in mine),
            "solved": sum(run.solved for run in mine),
            "solved_at_once": sum(run.solved and run.tries == 1 for run in mine),
            "tries": sum(run.tries for run in mine),
            "tokens_of_memory": round(sum(run.printed for run in mine) / BYTES_OF_A_TOKEN / each),
            "tokens": round(sum(run.spent for run in mine) / BYTES_OF_A_TOKEN / each),
        }
    per_task = [
        {"task": one.task, "arm": one.arm, "told": one.told, "tries": one.tries, "solved": one.solved,
         "memory_bytes": one.printed, "bytes": one.spent}
        for one in runs
    ]  # fmt: skip
    return {"arms": arms, "per_task": per_task}
