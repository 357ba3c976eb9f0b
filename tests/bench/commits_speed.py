"""Times the index of the code's commits on a history of N made-up commits, beside `git log --grep`.

usage: python tests/bench/commits_speed.py [--commits N] [--queries N] [--json]

Subjects and bodies of Zipf-distributed words, three files of 2,000 touched by each commit, one commit in
fifty takes another back. CPU, all processes included; a query is in this process and warm, or cold in a
process of its own, the interpreter's start included.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from figures import Figure, bench, cpu, quantile
from ground import START, Home, Made, Prose, spent

from gitmem.git.command import GitCommand
from gitmem.ledger.files import COMMITS
from gitmem.search.commits import CommitIndex, follow

MAIN = "refs/heads/main"
FILES = 2_000
NEW = 100
SECONDS = 3_600.0
COLD = """
import sys
from pathlib import Path
from gitmem.search.commits import CommitIndex
index = CommitIndex.open(Path(sys.argv[1]))
assert index is not None
index.search(sys.argv[2])
"""


def history(first: int, count: int, prose: Prose) -> Iterator[Made]:
    """Commits that go on from the tip."""
    subject = "Begin"
    for number in range(first, first + count):
        back = number % 50 == 49
        subject = f'Revert "{subject}"' if back else f"{prose.draw(6).capitalize()} {number}"
        touched = [prose.rng.randrange(FILES) for _ in range(3)]
        files = {f"src/part{n % 40}/{prose.words[n]}.py": f"{number} {n}\n".encode() for n in touched}
        message = f"{subject}\n\n{prose.draw(30)}.\n{prose.draw(12)}.\n"
        yield Made(message, files, () if number > first else (f"{MAIN}^0",), START + 60 * number)


def measure(commits: int, queries: int, folder: Path) -> Iterator[Figure]:
    """All figures, each beside one search by git."""
    prose, home, state = Prose(7), Home(folder / "home"), folder / "state"
    git = GitCommand(os.environ)
    home.import_commits(history(0, commits, prose), MAIN)

    def bring() -> None:
        if not follow(state, git, home.repo, home.git("rev-parse", MAIN), SECONDS):
            raise SystemExit("the index is not at the tip")

    question = prose.question()
    grep = ("log", "--oneline", "-i", "-E", MAIN, f"--grep={'|'.join(question.split())}")
    base = home.run("git", *grep).cpu / 1000
    beside = base, "git log --grep"
    yield Figure(f"{commits:,} commits are indexed", "s CPU", cpu(bring), *beside)
    yield Figure(
        "size of the index", "MB", sum(file.stat().st_size for file in state.glob(f"{COMMITS}*")) / 1e6
    )
    home.import_commits(history(commits, NEW, prose), MAIN)
    yield Figure(f"{NEW} commits are caught up with", "s CPU", cpu(bring), *beside)
    yield Figure("nothing new", "s CPU", cpu(bring), *beside)
    index = CommitIndex.open(state)
    assert index is not None
    times = []
    with closing(index):
        for _ in range(queries):
            asked = prose.question()
            times.append(1000 * cpu(lambda asked=asked: index.search(asked)))  # type: ignore[misc]
    for share, word in ((0.5, "median"), (0.95, "95th percentile")):
        yield Figure(f"a query, {word}", "ms CPU", quantile(times, share), 1000 * base, "git log --grep")
    words = [sys.executable, "-c", COLD, str(state), question]
    cold = [spent(words, home.home, home.environ).cpu for _ in range(5)]
    yield Figure("a query from a cold start", "ms CPU", quantile(cold, 0.5), 1000 * base, "git log --grep")


if __name__ == "__main__":
    bench(__doc__, measure, commits=100_000, queries=100)
