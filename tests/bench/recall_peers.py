"""Times indexing and `git mem recall` beside searches of the same memories by others, as whole processes.

usage: python tests/bench/recall_peers.py [--memories N] [--rounds N] [--fastkb PATH] [--json]

References in the same run: `fts5` is a bare script over SQLite's FTS5, with no option, no ranking but
bm25's and no output but five paths; `fastkb` is that command (from PyPI, where PATH says that it is), which
does the same with a store and a command line. They are given the memories as files of a folder. CPU of
whole processes, medians of rounds that take turns. An index is what a search takes without one, less what
it takes with one; nothing is downloaded.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from figures import Figure, options, say
from ground import Prose
from look_speed import forget
from start_cost import made, questions

INDEX = """
import sqlite3, sys
from pathlib import Path
table = sqlite3.connect(sys.argv[2])
table.execute("CREATE VIRTUAL TABLE text USING fts5(path, body, tokenize='porter unicode61')")
rows = ((str(file), file.read_text()) for file in sorted(Path(sys.argv[1]).iterdir()))
table.executemany("INSERT INTO text VALUES(?, ?)", rows)
table.commit()
"""
SEARCH = """
import re, sqlite3, sys
table = sqlite3.connect(sys.argv[1])
match = " OR ".join(f'"{word}"' for word in re.findall(r"\\w+", sys.argv[2]))
rows = table.execute("SELECT path FROM text WHERE text MATCH ? ORDER BY bm25(text) LIMIT 5", (match,))
print("\\n".join(path for path, in rows))
"""


def measure(memories: int, rounds: int, fastkb: str | None, folder: Path) -> Iterator[Figure]:
    """Two rows for each of the others."""
    home, prose = made(folder / "ours", memories), Prose(7)
    files = folder / "files"
    files.mkdir()
    for number in range(memories):
        (files / f"m{number}.md").write_bytes(prose.memory(number).render())
    stores = {name: folder / name for name in ("fts5", *(["fastkb"] if fastkb else []))}
    taken: dict[tuple[str, str], list[float]] = {}

    def take(who: str, what: str, cpu: float) -> None:
        taken.setdefault((who, what), []).append(cpu)

    for _ in range(rounds):
        forget(home)
        take("gitmem", "index", home.gitmem("recall", questions()[0]).cpu)
        for store in stores.values():
            shutil.rmtree(store, ignore_errors=True)
            store.mkdir()
        take("fts5", "index", home.python("-c", INDEX, files, "text.sqlite", cwd=stores["fts5"]).cpu)
        if fastkb:
            home.run(fastkb, "init", cwd=stores["fastkb"])
            take("fastkb", "index", home.run(fastkb, "index", files, cwd=stores["fastkb"]).cpu)
        for question in questions():
            take("gitmem", "search", home.gitmem("recall", question).cpu)
            search = home.python("-c", SEARCH, "text.sqlite", question, cwd=stores["fts5"])
            take("fts5", "search", search.cpu)
            if fastkb:
                words = question.partition(" with ")[2].rstrip("?")
                take("fastkb", "search", home.run(fastkb, "query", words, cwd=stores["fastkb"]).cpu)
    times = {key: statistics.median(cpu) for key, cpu in taken.items()}
    times["gitmem", "index"] -= times["gitmem", "search"]
    for who in stores:
        for what in ("search", "index"):
            yield Figure(f"recall: {what}", "ms CPU", times["gitmem", what], times[who, what], who)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--fastkb", help="that command, where it is installed")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        say(measure(given.memories, given.rounds, given.fastkb, Path(folder)), given.json)


if __name__ == "__main__":
    main()
