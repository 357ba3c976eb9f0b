"""Times the index of the code's commits on a history of N made-up commits, beside `git log --grep`.

usage: python tests/bench/commits_speed.py [--commits N] [--queries N] [--repo DIR] [--write FILE]

The history is made with `git fast-import`: subjects and bodies of Zipf-distributed words, three files of
2,000 touched by each commit, one commit in fifty takes another back. DIR is where it is made, and kept; one
that is there already is used as it is. Seconds and milliseconds of CPU, all processes included; a query is
in this process and warm, as `cold_cpu_ms` is one in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from recall_speed import Prose, quantiles, timed

from gitmem.git.command import GitCommand
from gitmem.ledger.files import COMMITS
from gitmem.search.commits import CommitIndex, follow

START = 1_500_000_000
FILES = 2_000
NEW = 100
SECONDS = 3_600.0


def make(top: Path, first: int, count: int, prose: Prose) -> None:
    """Adds commits to a repository's default branch."""
    words = ["git", "-C", str(top), "fast-import", "--quiet", "--force"]
    process = subprocess.Popen(words, stdin=subprocess.PIPE)
    assert process.stdin is not None
    rng = prose.rng
    subject = "Begin"
    for number in range(first, first + count):
        back = number % 50 == 49
        subject = f'Revert "{subject}"' if back else f"{prose.draw(6).capitalize()} {number}"
        message = f"{subject}\n\n{prose.draw(30)}.\n{prose.draw(12)}.\n".encode()
        lines = [f"commit refs/heads/main\nmark :{number + 1}\n"]
        lines.append(f"committer Ann <ann@example.com> {START + 600 * number} +0000\ndata {len(message)}\n")
        process.stdin.write("".join(lines).encode() + message + b"\n")
        if number == first and first:
            process.stdin.write(b"from refs/heads/main^0\n")
        for _ in range(3):
            file = rng.randrange(FILES)
            path = f"src/part{file % 40}/{prose.words[file]}.py"
            content = f"{number} {file}\n".encode()
            process.stdin.write(f"M 100644 inline {path}\ndata {len(content)}\n".encode() + content + b"\n")
    process.stdin.close()
    if process.wait():
        raise RuntimeError("git fast-import failed")


def spent(work: Callable[[], object]) -> float:
    """CPU seconds of a call, with those of the processes that it waited for."""
    before = os.times()
    work()
    return sum(os.times()[:4]) - sum(before[:4])


def cold(top: Path, state: Path, question: str) -> float:
    """CPU milliseconds of one search in a process of its own, the interpreter's start included."""
    code = (
        "import sys\nfrom pathlib import Path\nfrom gitmem.search.commits import CommitIndex\n"
        "index = CommitIndex.open(Path(sys.argv[1]))\nassert index is not None\nindex.search(sys.argv[2])"
    )
    root = str(Path(__file__).parent.parent.parent)
    words = [sys.executable, "-c", code, str(state), question]
    runs = [spent(lambda: subprocess.run(words, cwd=root, check=True)) for _ in range(5)]
    return 1000 * sorted(runs)[2]


def measure(commits: int, queries: int, top: Path, state: Path) -> dict[str, float]:
    """Figures of one history: seconds, milliseconds, megabytes."""
    prose = Prose(7)
    git = GitCommand(os.environ)
    if not (top / ".git").exists():
        subprocess.run(["git", "init", "-q", "-b", "main", str(top)], check=True)
        make(top, 0, commits, prose)

    def tip() -> str:
        words = ["git", "-C", str(top), "rev-parse", "refs/heads/main"]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()

    def bring() -> None:
        if not follow(state, git, top, tip(), SECONDS):
            raise RuntimeError("the index is not at the tip")

    figures: dict[str, float] = {"commits": commits, "queries": queries}
    start = time.perf_counter()
    figures["first_cpu_s"] = spent(bring)
    figures["first_wall_s"] = time.perf_counter() - start
    figures["index_mb"] = sum(file.stat().st_size for file in state.glob(f"{COMMITS}*")) / 1e6
    make(top, commits, NEW, prose)
    figures[f"catch_up_{NEW}_cpu_s"] = spent(bring)
    figures["nothing_new_cpu_s"] = spent(bring)
    questions = [prose.question() for _ in range(queries)]
    index = CommitIndex.open(state)
    assert index is not None
    with closing(index):
        cpu: list[float] = []
        wall = [timed(lambda q=q: index.search(q), cpu) for q in questions]
    figures |= quantiles("query_cpu", cpu) | quantiles("query", wall)
    figures["cold_cpu_ms"] = cold(top, state, questions[0])
    grep = ["git", "-C", str(top), "log", "--oneline", "-i", "-E", "main"]
    grep += [f"--grep={'|'.join(questions[0].split())}"]
    figures["git_log_grep_cpu_s"] = spent(lambda: subprocess.run(grep, capture_output=True, check=True))
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description="Times the index of the code's commits.")
    parser.add_argument("--commits", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--repo", type=Path, help="where the history is made, and kept")
    parser.add_argument("--write", type=Path, help="file that the figures are written to, as JSON")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        top = given.repo or Path(folder) / "code"
        figures = measure(given.commits, given.queries, top, Path(folder) / "state")
    text = json.dumps({name: round(value, 3) for name, value in figures.items()}, indent=1)
    if given.write:
        given.write.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
