"""Processes that write memories to one ref at once: is all of it there, and how long against plain git.

usage: python tests/bench/writers.py [--writers N] [--memories N] [--backend auto|git] [--no-plain]
                                      [--json [FILE]]

Plain git is as many processes that each do `git add` and `git commit` in one work tree, one at a time by a
lock, since git has one index.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from figures import Figure, say

REF = "refs/gitmem/project"
TEXT = "---\nname: {0}\ndescription: About {0}\ntype: project\n---\n\nWhat {0} taught.\n"


def write_memories(folder: Path, backend: str, writer: int, count: int) -> None:
    """Writes memories through gitmem, a commit each."""
    from gitmem.core.trailers import Provenance
    from gitmem.git.command import GitCommand
    from gitmem.git.open import open_repository
    from gitmem.git.repository import Signature
    from gitmem.ledger.land import Ref, Write, land

    store = open_repository(folder, GitCommand(os.environ), "git" if backend == "git" else "auto")
    ready(folder)
    for number in range(count):
        name = f"w{writer}-m{number}"
        edits = {f"main/{name}.md": TEXT.format(name).encode()}
        write = Write(edits, f"Learn {name}", Provenance(op="add"))
        made = land(Ref(store, REF), lambda _, write=write: write, Signature("Ann", "ann@example.com", 1))
        assert made is not None
    store.close()


def write_plainly(folder: Path, _backend: str, writer: int, count: int) -> None:
    """Writes the same files with `git add` and `git commit`."""
    ready(folder)
    with (folder / ".git/turn").open("w") as lock:
        for number in range(count):
            name = f"w{writer}-m{number}"
            path = folder / f"main/{name}.md"
            path.parent.mkdir(exist_ok=True)
            path.write_text(TEXT.format(name))
            fcntl.flock(lock, fcntl.LOCK_EX)
            for words in (["add", str(path)], ["commit", "-q", "-m", f"Learn {name}"]):
                subprocess.run(["git", "-C", str(folder), *words], check=True)
            fcntl.flock(lock, fcntl.LOCK_UN)


def ready(folder: Path) -> None:
    """Says so, and waits for the others."""
    with (folder / "../begin").open("rb") as begin:
        print("ready", flush=True)
        fcntl.flock(begin, fcntl.LOCK_SH)


def race(how: str, folder: Path, backend: str, writers: int, memories: int) -> float:
    """Runs the processes; returns the seconds from the moment when all were ready."""
    with (folder / "../begin").open("wb") as begin:
        fcntl.flock(begin, fcntl.LOCK_EX)
        runs = [
            subprocess.Popen(
                [sys.executable, __file__, how, str(folder), backend, str(number), str(memories)],
                stdout=subprocess.PIPE,
            )
            for number in range(writers)
        ]
        for run in runs:
            assert run.stdout is not None
            assert run.stdout.readline() == b"ready\n"
        start = time.perf_counter()
        fcntl.flock(begin, fcntl.LOCK_UN)
        codes = [run.wait() for run in runs]
        taken = time.perf_counter() - start
    for run in runs:
        assert run.stdout is not None
        run.stdout.close()
    assert codes == [0] * writers, codes
    return taken


def judge(folder: Path, revision: str) -> dict[str, object]:
    """How many memories a revision has, how many commits, and what `git fsck` says."""
    git = ["git", "-C", str(folder)]

    def lines(*words: str) -> list[str]:
        done = subprocess.run([*git, *words], capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    fsck = subprocess.run([*git, "fsck", "--strict", "--no-dangling"], capture_output=True, text=True)
    return {
        "present": sum(path.endswith(".md") for path in lines("ls-tree", "-r", "--name-only", revision)),
        "commits": sum("Learn" in line for line in lines("log", "--format=%s", revision)),
        "fsck": "clean" if fsck.returncode == 0 and "error" not in fsck.stderr else fsck.stderr,
    }


def measure(folder: Path, backend: str, writers: int, memories: int, plain: bool) -> dict[str, object]:
    """Runs both kinds in `folder`; seconds, and what is there in the end."""
    found: dict[str, object] = {"backend": backend, "writers": writers, "memories": writers * memories}
    sha256 = ["--object-format=sha256"] if backend == "git" else []
    subprocess.run(["git", "init", "-q", *sha256, str(folder / "gitmem")], check=True)
    seconds = race("gitmem", folder / "gitmem", backend, writers, memories)
    found |= {"seconds": round(seconds, 2), **judge(folder / "gitmem", REF)}
    if plain:
        subprocess.run(["git", "init", "-q", *sha256, str(folder / "plain")], check=True)
        plainly = race("plain", folder / "plain", backend, writers, memories)
        there = judge(folder / "plain", "HEAD")["present"]
        found |= {"plain_seconds": round(plainly, 2), "plain_present": there}
        found["ratio"] = round(seconds / plainly, 3)
    return found


KINDS: dict[str, Callable[[Path, str, int, int], None]] = {"gitmem": write_memories, "plain": write_plainly}


def main() -> None:
    """Measures, prints and perhaps writes JSON; or is one of the writers."""
    if len(sys.argv) == 6 and sys.argv[1] in KINDS:
        how, folder, backend, writer, count = sys.argv[1:]
        sys.path.insert(0, str(Path(__file__).parents[2]))
        KINDS[how](Path(folder), backend, int(writer), int(count))
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--memories", type=int, default=100, help="of each writer")
    parser.add_argument("--backend", choices=("auto", "git"), default="auto")
    parser.add_argument("--no-plain", action="store_true")
    parser.add_argument("--json", nargs="?", const="", metavar="FILE", help="the rows, or all into a file")
    given = parser.parse_args()
    who = {f"GIT_{role}_{k}": v for role in ("AUTHOR", "COMMITTER") for k, v in WHO.items()}
    os.environ.update(who | {"GIT_CONFIG_NOSYSTEM": "1"})
    with tempfile.TemporaryDirectory() as folder:
        # What git needs to know of the person comes from a file: gitmem drops the variables.
        config = Path(folder, "config")
        config.write_text(
            "[user]\n\tname = Ann\n\temail = ann@example.com\n[init]\n\tdefaultBranch = main\n"
        )
        os.environ["GIT_CONFIG_GLOBAL"] = str(config)
        found = measure(Path(folder), given.backend, given.writers, given.memories, not given.no_plain)
    wanted = found["memories"], "written"
    rows = [Figure("memories of writers at once that are there", "", found["present"], *wanted)]
    if not given.no_plain:
        plain = found["plain_seconds"], "as many git processes"
        rows.append(Figure("how long that takes", "s", found["seconds"], *plain))
    say(rows, given.json == "")
    if given.json:
        Path(given.json).write_text(json.dumps(found, indent=2) + "\n")


WHO = {"NAME": "Ann", "EMAIL": "ann@example.com"}

if __name__ == "__main__":
    main()
