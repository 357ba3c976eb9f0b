"""What gitmem's hooks add to a commit: commits with and without them, alternately, in one run.

python tests/bench/commit_cost.py [--rounds 30] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from gitmem.app.git_hooks import apply, plan_git_hooks, read_setup
from gitmem.app.launcher import Launcher
from gitmem.git.command import GitCommand

TARGET_MS = 10.0


def make_repository(path: Path, env: dict[str, str], hooks: bool) -> None:
    """Makes a repository with one commit and, if wanted, the installed hooks."""
    subprocess.run(["git", "init", "-q", path], env=env, check=True)
    (path / "file").write_text("start\n")
    subprocess.run(["git", "-C", path, "add", "file"], env=env, check=True)
    subprocess.run(["git", "-C", path, "commit", "-qm", "first"], env=env, check=True)
    if hooks:
        git, common = GitCommand(env), path / ".git"
        (common / "gitmem" / "spool").mkdir(parents=True)
        launcher = Launcher(Path(env["HOME"], ".local/share/gitmem"))
        launcher.write()
        apply(plan_git_hooks(common, launcher.argv, read_setup(git, path)), git)


def commit(path: Path, env: dict[str, str], number: int) -> float:
    """Milliseconds of one commit whose output is captured, as an agent's shell tool does."""
    (path / "file").write_text(f"{number}\n")
    start = time.perf_counter()
    subprocess.run(
        ["git", "-C", path, "commit", "-qam", str(number)], env=env, check=True, capture_output=True
    )
    return (time.perf_counter() - start) * 1000


def settle(path: Path) -> None:
    """Waits for the worker: what is measured is the commit, not two workers racing for the processor."""
    lock = path / ".git" / "gitmem" / "worker.json"
    spool = path / ".git" / "gitmem" / "spool"
    until = time.monotonic() + 5
    while time.monotonic() < until and (lock.exists() or any(spool.glob("*-commit"))):
        time.sleep(0.02)
    time.sleep(0.05)


def main() -> None:
    """Measures, prints and perhaps writes JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        env = {
            **{key: value for key, value in os.environ.items() if not key.startswith("GIT_")},
            "HOME": folder,
            "GIT_CONFIG_NOSYSTEM": "1",
            **{
                f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in WHO.items()
            },
        }
        bare, hooked = Path(folder, "without"), Path(folder, "with")
        make_repository(bare, env, hooks=False)
        make_repository(hooked, env, hooks=True)
        times: dict[str, list[float]] = {"without": [], "with": []}
        for number in range(options.rounds):
            times["without"].append(commit(bare, env, number))
            times["with"].append(commit(hooked, env, number))
            settle(hooked)
    medians = {key: round(statistics.median(values), 2) for key, values in times.items()}
    added = round(medians["with"] - medians["without"], 2)
    print(
        f"without {medians['without']} ms, with {medians['with']} ms, added {added} ms (target {TARGET_MS})"
    )
    if options.json:
        result = {"rounds": options.rounds, "median_ms": medians, "added_ms": added, "target_ms": TARGET_MS}
        options.json.write_text(json.dumps({**result, "times_ms": times}, indent=2) + "\n")


WHO = {"NAME": "Ann", "EMAIL": "ann@example.com"}

if __name__ == "__main__":
    main()
