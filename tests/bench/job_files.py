"""How many of gitmem's files one job of the worker passes through: the end of a recorded session.

python tests/bench/job_files.py [SESSION.jsonl] [--json FILE] [--names]

The offline engine is asked. A file counts where a function of it ran for the job; what is only imported is
counted apart. Everything happens in a repository and a home of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tracing import print_rooms, tracing

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "tests/fixtures/sessions/plain.jsonl"
OTHERS = ("GIT", "XDG_", "CLAUDE")
"""Variables that would lead a run elsewhere."""
MOST = 130
"""Files that a job passes through at most; 110 is what it should come to, and it has been 131."""


def main() -> None:
    """Measures, prints and perhaps writes JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("session", type=Path, nargs="?", help="a recording of Claude Code")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--names", action="store_true", help="names every file")
    parser.add_argument("--job", nargs=2, metavar=("COMMON_DIR", "REPORT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        trace(Path(options.job[0]), Path(options.job[1]))
        return
    session = options.session or RECORDED
    found = measure(session)
    ran, loaded = found["ran"], found["loaded"]
    print(f"{len(ran)} files run (at most {MOST}), {len(loaded)} loaded")
    print(f"{found['passes']:,} times from one file to another")
    print(f"{found['stored']} stored, {found['suggested']} suggested of {session.name}")
    print_rooms(ran, names=options.names)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


def measure(session: Path) -> dict:
    """Sets a repository up, records the session in it, and runs the job of its end."""
    with tempfile.TemporaryDirectory() as folder:
        home, repo = Path(folder, "home"), Path(folder, "home", "code")
        env = {
            **{
                key: value
                for key, value in os.environ.items()
                if not key.startswith(("GIT", "XDG_", "CLAUDE"))
            },
            "HOME": str(home),
            "GIT_CONFIG_NOSYSTEM": "1",
            "PYTHONPATH": f"{ROOT}{os.pathsep}{Path(__file__).parent}",
        }
        repo.mkdir(parents=True)
        git(env, "init", "-q", str(repo))
        git(env, "config", "--global", "user.name", "Ann")
        git(env, "config", "--global", "user.email", "ann@example.com")
        git(env, "config", "--global", "gitmem.engine", "offline")
        (repo / "README.md").write_text("A project.\n")
        git(env, "-C", str(repo), "add", ".")
        git(env, "-C", str(repo), "commit", "-qm", "first")
        (home / ".claude").mkdir()
        gitmem(env, repo, "init", "-y")
        place = home / ".claude" / "projects" / "".join(c if c.isalnum() else "-" for c in str(repo))
        place.mkdir(parents=True, exist_ok=True)
        record = place / "00000001-0000-4000-8000-000000000000.jsonl"
        moved(session, record, repo)
        env["CLAUDE_PROJECT_DIR"] = str(repo)
        report = Path(folder, "report.json")
        words = [sys.executable, "-P", __file__, "--job", str(repo / ".git"), str(report)]
        subprocess.run(words, env=env, cwd=repo, check=True)
        found = json.loads(report.read_text())
        run = json.loads(gitmem(env, repo, "jobs", "--json"))["runs"][-1]
        if run["error"]:
            raise SystemExit(f"the job failed: {run['error']}")
        shutil.rmtree(repo, ignore_errors=True)
        return {**found, "stored": run["stored"], "suggested": run["suggested"]}


def moved(session: Path, to: Path, repo: Path) -> None:
    """Copies a recording as if it had been made in a repository."""
    rows = []
    for line in session.read_text("utf-8").splitlines():
        value = json.loads(line)
        if "cwd" in value:
            value["cwd"] = str(repo)
        rows.append(json.dumps(value))
    to.write_text("\n".join(rows) + "\n")


def git(env: Mapping[str, str], *words: str) -> None:
    """Runs git."""
    subprocess.run(["git", *words], env=env, check=True)


def gitmem(env: Mapping[str, str], cwd: Path, *words: str) -> bytes:
    """Runs gitmem, and gives what it printed."""
    run = [sys.executable, "-P", "-m", "gitmem", *words]
    return subprocess.run(run, env=env, cwd=cwd, check=True, capture_output=True).stdout


def trace(common_dir: Path, report: Path) -> None:
    """Runs the worker over one job, and notes whose functions ran."""
    import time

    from gitmem.app import spool, worker

    at, name = str(common_dir.parent), "session-end"
    spool.put(common_dir / "gitmem" / "spool", spool.Job(name, at, time=time.time()))
    with tracing() as found:
        worker.work(common_dir, dict(os.environ))
    report.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
