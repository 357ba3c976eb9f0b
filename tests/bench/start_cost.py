"""What a person or an agent waits for: commands and hooks, each in a process of its own.

usage: python tests/bench/start_cost.py [--memories N] [--hooked N] [--rounds N] [--gitmem PATH] [--json]

CPU of whole processes with the children that were waited for, medians of rounds that take turns. PATH is an
installed `gitmem`: a command line as a person starts it, and the Python beside it for the hooks, as `init`
writes them; without it the source tree is run. `recall` is timed where there are many memories
(--memories), all else where there are some (--hooked); texts name files of the code, some of them gone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import cycle
from pathlib import Path

from figures import Figure, bench, medians
from ground import START, Home, Prose, tree

from gitmem.flows.place import default_argv

CODE_FILES = 500
QUESTIONS = 5
DAY = 86_400


def made(folder: Path, memories: int) -> Home:
    """A repository whose memories name files of it."""
    home, prose = Home(folder), Prose(7)
    files = [f"src/{number // 50}/{prose.words[number]}.py" for number in range(CODE_FILES + 50)]
    for path in files[:CODE_FILES]:
        (home.repo / path).parent.mkdir(parents=True, exist_ok=True)
        (home.repo / path).write_text(f"def {Path(path).stem}(): ...\n")
    home.git("add", ".")
    home.git("commit", "-q", "-m", "code")
    home.gitmem("init")
    known = [prose.memory(number) for number in range(memories)]
    home.fill(
        tree(
            replace(
                one,
                body=f"{one.body}\n**How to apply:** see `{files[n % len(files)]}`, `--{prose.draw(1)}`\n",
            )
            for n, one in enumerate(known)
        )
    )
    # Else a command looks for work that a clone of this age would have had done long ago.
    home.environ["GITMEM_NOW"] = str(START + 3 * DAY)
    return home


def questions() -> list[str]:
    """Some that the first memories answer."""
    prose = Prose(7)
    known = [prose.memory(number).description for number in range(QUESTIONS)]
    return [f"What is the best way to do this with {text}?" for text in known]


def hook(home: Home, python: Sequence[str], event: str, **more: str) -> float:
    """A hook as the client calls it."""
    recording = home.home / "session.jsonl"
    recording.touch()
    payload = {"session_id": "s", "transcript_path": str(recording), "cwd": str(home.repo)}
    given = json.dumps({**payload, "hook_event_name": event, **more}).encode()
    ran = home.run(*python, "hook", "claude", event, given=given)
    if not ran.out and event != "Stop":
        raise SystemExit(f"{event} says nothing")
    return ran.cpu


def measure(gitmem: str, memories: int, hooked: int, rounds: int, folder: Path) -> Iterator[Figure]:
    """A row for each command and hook, with the number of memories."""
    many, some, write = (
        made(folder / name, count)
        for name, count in (("many", memories), ("some", hooked), ("write", hooked))
    )
    command = [gitmem] if gitmem else [sys.executable, "-m", "gitmem"]
    python = str(Path(gitmem).with_name("python")) if gitmem else sys.executable
    if gitmem:
        for home in (many, some, write):
            del home.environ["PYTHONPATH"]
    hooks = default_argv(python)
    asked = cycle(questions())
    # A session of its own each, or what was shown would not be shown again; each memory is a new one.
    number = iter(range(10**9))
    cases: dict[str, Callable[[], float]] = {
        "python -c pass": lambda: some.run(python, "-c", "pass").cpu,
        "git status": lambda: some.run("git", "status").cpu,
        "--version": lambda: some.run(*command, "--version").cpu,
        "recall": lambda: many.run(*command, "recall", next(asked)).cpu,
        "recall --json": lambda: many.run(*command, "recall", "--json", next(asked)).cpu,
        "UserPromptSubmit": lambda: hook(
            some, hooks, "UserPromptSubmit", prompt=next(asked), session_id=f"s{next(number)}"
        ),
        "SessionStart": lambda: hook(some, hooks, "SessionStart", source="startup"),
        "Stop": lambda: hook(some, hooks, "Stop"),
        "remember": lambda: write.run(*command, "remember", f"{next(asked)} {next(number)}").cpu,
        "status": lambda: some.run(*command, "status").cpu,
        "save -n": lambda: some.run(*command, "save", "-n").cpu,
        "list": lambda: some.run(*command, "list").cpu,
    }
    times = medians(cases, rounds)
    references = "python -c pass", "git status"
    for name in [one for one in cases if one not in references]:
        count = memories if name.startswith("recall") else hooked
        for reference in references:
            yield Figure(f"{name}, {count:,} memories", "ms CPU", times[name], times[reference], reference)


if __name__ == "__main__":
    bench(__doc__, measure, gitmem="", memories=10_000, hooked=1_000, rounds=9)
