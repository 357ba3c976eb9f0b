"""Times what a person or an agent waits for: `recall` and the hooks, each in a process of its own.

usage: python tests/bench/recall_start.py [--gitmem PATH] [--memories N] [--hooked N] [--rounds N] [--json]
       [--write FILE]

CPU milliseconds (user and system, children that were waited for included) of whole processes, the median of
some rounds that take turns; `x python` and `x git status` are ratios against `python -c pass` and
`git status` in the same run. PATH is the installed `gitmem`: a command line as a person starts it, and the
Python beside it for the hooks, as `init` writes them. Without it the source tree is run.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from look_speed import REF, ROOT, START, Place, _write
from recall_speed import Prose

from gitmem.core import index
from gitmem.core.limits import HOT_MEMORIES
from gitmem.core.names import archive_path
from gitmem.flows.context import Edges, workspace_at
from gitmem.flows.place import default_argv
from gitmem.git.repository import Signature
from gitmem.ledger.land import Ref, land

CODE_FILES = 500
QUESTIONS = 5
SESSION = "5f0c3a52-0000-4000-8000-000000000001"


class Ground(Place):
    """A code repository whose memories name files of it, some of them gone."""

    def _fill(self, memories: int, layout: str) -> None:
        prose = Prose(7)
        for number in range(CODE_FILES):
            path = self.repo / f"src/{number // 50}/{prose.words[number]}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"def {prose.words[number]}(): ...\n")
        self.run(["git", "add", "."])
        self.run(["git", "commit", "-q", "-m", "code"])
        edits: dict[str, bytes] = {}
        listed = ""
        texts = [prose.memory(number) for number in range(memories)]
        for number, text in enumerate(texts):
            file = f"m{number}.md"
            hot = number >= memories - HOT_MEMORIES
            place = f"`src/{number % CODE_FILES // 50}/{prose.words[number % (CODE_FILES + 50)]}.py`"
            edits[f"main/{file if hot else archive_path(file)}"] = text + (
                f"\n**How to apply:** see {place}, `--{prose.draw(1)}`\n".encode()
            )
            if hot:
                listed += index.entry(f"m{number}", file, prose.draw(10))
        edits[f"main/{index.INDEX}"] = listed.encode()
        scope = workspace_at(Edges(self.environ, self.repo, START)).scope("project")
        land(Ref(scope.repo, REF), _write(edits), Signature("Ann", "ann@example.com", START))
        # Else a command looks for work that a clone of this age would have had done long ago.
        self.environ["GITMEM_NOW"] = str(START + 86_400 * 3)


@dataclass(frozen=True)
class Case:
    """One process: its words, a place to run it in, and what it reads."""

    words: Sequence[str]
    place: Ground
    stdin: bytes = b""
    answers: bool = False


def cpu(case: Case) -> tuple[float, float]:
    """CPU and elapsed milliseconds of one process and the children that it waited for."""
    start = time.perf_counter()
    process = subprocess.Popen(
        case.words,
        cwd=case.place.repo,
        env=case.place.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin and process.stdout and process.stderr
    process.stdin.write(case.stdin)
    process.stdin.close()
    said = process.stdout.read()
    _, status, spent = os.wait4(process.pid, 0)
    elapsed = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode or (case.answers and not said):
        raise RuntimeError(f"{case.words} exited {process.returncode}: {process.stderr.read().decode()}")
    process.stdout.close()
    process.stderr.close()
    return 1000 * (spent.ru_utime + spent.ru_stime), 1000 * elapsed


def hook(event: str, place: Ground, python: Sequence[str], **more: str) -> Case:
    """A hook as the client calls it."""
    recording = place.repo.parent / "session.jsonl"
    recording.touch()
    payload = {"session_id": SESSION, "transcript_path": str(recording), "cwd": str(place.repo)}
    data = json.dumps({**payload, "hook_event_name": event, **more}).encode()
    return Case([*python, "hook", "claude", event], place, data, answers=event != "Stop")


def cases(found: Mapping[str, Ground], gitmem: str | None) -> dict[str, list[Case]]:
    """Each case, in as many forms as there are questions."""
    command = [gitmem] if gitmem else [sys.executable, "-m", "gitmem"]
    beside = str(Path(gitmem).with_name("python")) if gitmem else sys.executable
    hooks = default_argv(beside)
    many, some = found["many"], found["some"]
    prose = Prose(7)
    known = [prose.memory(0).decode().split("description: ")[1].split("\n")[0] for _ in range(QUESTIONS)]
    asked = [f"What is the best way to do this with {text}?" for text in known]
    return {
        "python -c pass": [Case([beside, "-c", "pass"], some)],
        "git status": [Case(["git", "status"], many)],
        "gitmem --version": [Case([*command, "--version"], some)],
        "recall": [Case([*command, "recall", text], many) for text in asked],
        "recall --json": [Case([*command, "recall", "--json", text], many) for text in asked],
        "UserPromptSubmit": [
            # A session of its own each, or what was shown would not be shown again.
            hook("UserPromptSubmit", some, hooks, prompt=f"{text} {number}", session_id=f"s{number}")
            for number, text in enumerate(asked * 20)
        ],
        "SessionStart": [hook("SessionStart", some, hooks, source="startup")],
        "Stop": [hook("Stop", some, hooks)],
        "remember": [
            Case([*command, "remember", f"{text} {number}", "--scope", "local"], found["write"])
            for number, text in enumerate(asked * 20)
        ],
        "status": [Case([*command, "status"], some)],
        "save -n": [Case([*command, "save", "-n"], some)],
        "list": [Case([*command, "list"], some)],
    }


def in_turns(found: Mapping[str, list[Case]], rounds: int) -> dict[str, tuple[float, float]]:
    """Medians of each case; the cases take turns, so that a busy moment hits all of them."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in found}
    for number in range(rounds + 1):
        for name, each in found.items():
            spent = cpu(each[number % len(each)])
            if number:  # the first fills caches and catalogs
                taken[name].append(spent)
    return {
        name: (statistics.median(t[0] for t in times), statistics.median(t[1] for t in times))
        for name, times in taken.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Times recall and the hooks from a cold start.")
    parser.add_argument("--gitmem", help="the installed command", default=None)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--hooked", type=int, default=1_000, help="memories where the hooks run")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", nargs="*", default=())
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        wanted = {"many": given.memories, "some": given.hooked, "write": given.hooked}
        found = {name: Ground(folder / name, count, "paged") for name, count in wanted.items()}
        if given.gitmem:
            for place in found.values():
                del place.environ["PYTHONPATH"]
        else:
            assert all(place.environ["PYTHONPATH"] == str(ROOT) for place in found.values())
        chosen = cases(found, given.gitmem)
        references = ("python -c pass", "git status")
        kept = {n: c for n, c in chosen.items() if not given.only or n in (*references, *given.only)}
        times = in_turns(kept, given.rounds)
    python, git = (times[name][0] for name in references)
    figures = {
        name: {
            "cpu_ms": round(spent, 1),
            "wall_ms": round(elapsed, 1),
            "x python": round(spent / python, 2),
            "x git status": round(spent / git, 2),
        }
        for name, (spent, elapsed) in times.items()
    }
    text = json.dumps({"memories": given.memories, "hooked": given.hooked, "cases": figures})
    if given.write:
        given.write.write_text(text + "\n")
    if given.json:
        print(text)
        return
    print(f"{'':20} {'cpu ms':>8} {'wall ms':>8} {'x python':>9} {'x git status':>13}")
    for name, figure in figures.items():
        print(f"{name:20} {figure['cpu_ms']:>8} {figure['wall_ms']:>8}", end="")
        print(f" {figure['x python']:>9} {figure['x git status']:>13}")


if __name__ == "__main__":
    main()
