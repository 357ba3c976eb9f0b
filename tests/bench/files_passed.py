"""How much of gitmem a verb, and the job of a session's end, passes through.

usage: python tests/bench/files_passed.py [--memories N] [--names] [--json]

Files of gitmem of which a function is called in the verb's own process, beside what it should pass through
at most; `--names` says which, by room. The job is the worker's, over the end of a recorded session, by the
offline engine.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import tracing
from figures import Figure, bench
from ground import ROOT, Home, service

from gitmem.core import index

RECORDED = ROOT / "tests/fixtures/sessions/plain.jsonl"
VERBS = {
    "list": ("list",), "status": ("status",), "review": ("review",), "save": ("save",),
    "remember": ("remember", "We deploy on Tuesdays, turn {}."), "undo": ("undo",), "sync": ("sync",),
}  # fmt: skip
MOST = {"remember": 35, "save": 40, "sync": 60, "review": 45, "job": 130}
"""Files that each should pass through at most."""

JOB = """
import json, os, sys, time
from pathlib import Path
from tracing import tracing
from gitmem.app import spool, worker
common, report = map(Path, sys.argv[1:])
spool.put(common / "gitmem/spool", spool.Job("session-end", str(common.parent), time=time.time()))
with tracing() as found:
    worker.work(common, dict(os.environ))
report.write_text(json.dumps(found))
"""


def ground(home: Home, count: int) -> Home:
    """Some memories, shared with a remote, and suggestions of a recorded session that wait for a person."""
    home.folder.mkdir(parents=True)
    known = [service(number) for number in range(count)]
    for one in known:
        (home.folder / one.path).write_bytes(one.render())
    listed = (index.entry(one.name, one.path, one.description) for one in known)
    (home.folder / index.INDEX).write_text("".join(listed))
    home.share(home.home / "remote.git")
    home.git("config", "--global", "gitmem.engine", "offline")
    home.gitmem("extract", "--session", str(RECORDED))
    return home


def traced(home: Home, verb: str) -> list[str]:
    """Files of gitmem that a verb passes through."""
    report = home.home / "report.json"
    words = ["-y", *(word.format(10**6) for word in VERBS[verb])]
    home.python(tracing.__file__, report, *words)
    return list(json.loads(report.read_text())["ran"])


def job(home: Home) -> list[str]:
    """Files that the job of the end of a session passes through, which was recorded here."""
    home.gitmem("init")
    home.git("config", "--global", "gitmem.engine", "offline")
    rows = [json.loads(line) for line in RECORDED.read_text("utf-8").splitlines()]
    rows = [row | {"cwd": str(home.repo)} if "cwd" in row else row for row in rows]
    home.project.mkdir(parents=True, exist_ok=True)
    record = home.project / "00000001-0000-4000-8000-000000000000.jsonl"
    record.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    home.environ["CLAUDE_PROJECT_DIR"] = str(home.repo)
    home.environ["PYTHONPATH"] += f":{Path(__file__).parent}"
    report = home.home / "report.json"
    home.python("-c", JOB, home.repo / ".git", report)
    run = json.loads(home.gitmem("jobs", "--json").out)["runs"][-1]
    if run["error"] or not run["suggested"] + run["stored"]:
        raise SystemExit(f"the job does nothing: {run}")
    return list(json.loads(report.read_text())["ran"])


def measure(memories: int, names: bool, folder: Path) -> Iterator[Figure]:
    """Files of each verb and of the job."""
    home = ground(Home(folder / "home"), memories)
    passed = {verb: traced(home, verb) for verb in VERBS} | {"job": job(Home(folder / "job"))}
    for what, files in passed.items():
        most = MOST.get(what)
        yield Figure(f"files that {what} passes through", "", len(files), most, "at most" if most else "")
        for room, some in sorted(tracing.by_room(files).items()) if names else ():
            print(f"{len(some):4} {room}: {' '.join(some)}", file=sys.stderr)


if __name__ == "__main__":
    bench(__doc__, measure, memories=50, names=False)
