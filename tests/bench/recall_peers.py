"""Times indexing and `git mem recall` beside searches of the same memories by others, as whole processes.

usage: python tests/bench/recall_peers.py [--memories N] [--rounds N] [--fastkb PATH] [--write FILE]

References in the same run: `fts5` is a bare script over SQLite's FTS5, with no option, no ranking but
bm25's and no output but five paths; `fastkb` is that command (from PyPI, where PATH says that it is), which
does the same with a store and a command line. They are given the memories as files of a folder. CPU
milliseconds (user and system, children included), medians of rounds that take turns. An index is what a
search takes without one, less what it takes with one; nothing is downloaded.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from recall_speed import Prose
from recall_start import QUESTIONS, Ground

GITMEM = (sys.executable, "-m", "gitmem")
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


def cpu(words: Sequence[str], folder: Path, environ: Mapping[str, str]) -> float:
    """CPU milliseconds of a process and its children."""
    process = subprocess.Popen(
        words, cwd=folder, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr
    said = process.stderr.read()
    _, status, spent = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{words} exited {process.returncode}: {said.decode()}")
    return 1000 * (spent.ru_utime + spent.ru_stime)


def measure(memories: int, rounds: int, fastkb: str | None, folder: Path) -> dict[str, float]:
    """Figures in milliseconds, and ratios of them."""
    place = Ground(folder / "ours", memories, "paged")
    prose = Prose(7)
    files = folder / "files"
    files.mkdir()
    for number in range(memories):
        (files / f"m{number}.md").write_bytes(prose.memory(number))
    again = Prose(7)
    known = [again.memory(0).decode().split("description: ")[1].split("\n")[0] for _ in range(QUESTIONS)]
    questions = [f"What is the best way to do this with {text}?" for text in known]
    python, environ = sys.executable, place.environ
    taken: dict[str, list[float]] = {}

    def take(name: str, words: Sequence[str], where: Path) -> None:
        taken.setdefault(name, []).append(cpu(words, where, environ))

    stores = {name: folder / name for name in ("fts5", "fastkb")}
    for _ in range(rounds):
        place.forget()
        take("recall without an index", [*GITMEM, "recall", questions[0]], place.repo)
        for store in stores.values():
            shutil.rmtree(store, ignore_errors=True)
            store.mkdir()
        take("fts5 index", [python, "-c", INDEX, str(files), "text.sqlite"], stores["fts5"])
        if fastkb:
            cpu([fastkb, "init"], stores["fastkb"], environ)
            take("fastkb index", [fastkb, "index", str(files)], stores["fastkb"])
        for question, words in zip(questions, known, strict=True):
            take("python -c pass", [python, "-c", "pass"], folder)
            take("recall", [*GITMEM, "recall", question], place.repo)
            take("fts5 search", [python, "-c", SEARCH, "text.sqlite", question], stores["fts5"])
            if fastkb:
                take("fastkb search", [fastkb, "query", words], stores["fastkb"])
    figures = {name: statistics.median(times) for name, times in taken.items()}
    figures["index"] = figures["recall without an index"] - figures["recall"]
    others = [name for name in stores if f"{name} search" in figures]
    for what, ours in (("search", "recall"), ("index", "index")):
        quickest = min(figures[f"{name} {what}"] for name in others)
        figures[f"{ours} x quickest"] = figures[ours] / quickest
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description="Times recall beside other searches of the same memories.")
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--fastkb", help="that command, where it is installed")
    parser.add_argument("--write", type=Path, help="file that the figures are written to, as JSON")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        figures = measure(given.memories, given.rounds, given.fastkb, Path(folder))
    text = json.dumps({name: round(value, 2) for name, value in figures.items()}, indent=1)
    if given.write:
        given.write.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
