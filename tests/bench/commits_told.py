"""Measures which commits prompts are told of: reports whose decision is a commit, in a real history.

usage: python tests/bench/commits_told.py HISTORY REPORTS [--others FILE] [--half HALF] [--json]

HISTORY is a bundle or repository with a history of some other code. REPORTS has a line a report, JSON with
`task`, `query`, `module`, `decision` (`subject`, `body`) and `broken_by`, the subject of what broke it.
All decisions are planted on its tip, then all that broke them. Each report is asked twice: with all of
them, and with its own decision taken out. OTHERS has prompts that are about something else: a JSON list or
lines with `query` or `question`. The gate was tuned on the reports with an even number (`--half tuned`);
`held` are the others, and `all` is both.

The reference, in the same run, is one FTS5 table over the same messages, all words joined by OR.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from figures import Figure, bench

from gitmem.flows.code_commits import choose, undoing
from gitmem.git.command import GitCommand
from gitmem.ledger.files import COMMITS
from gitmem.search.commits import CommitIndex, follow, messages

SECONDS = 600.0


class History:
    """A repository with plants on the tip of somebody's history."""

    def __init__(self, source: Path, top: Path) -> None:
        self.top, self.git = top, GitCommand(os.environ)
        subprocess.run(["git", "clone", "-q", "--bare", str(source), str(top)], check=True)
        self.base = self._run("rev-parse", "HEAD")
        self.state = top / "gitmem"

    def plant(
        self, reports: Sequence[dict[str, Any]], without: int | None = None
    ) -> dict[int, tuple[str, str]]:
        """Plants all reports but one; number to the commits that decided and that broke it."""
        tip, made = self.base, {}
        for number, one in enumerate(reports):
            if number != without:
                lines = [f"# {line}" for line in re.split(r"(?<=[.;])\s", one["decision"]["body"])]
                text = "\n".join([*lines, "def apply(value):", "    return value", ""])
                message = f"{one['decision']['subject']}\n\n{one['decision']['body']}\n"
                tip = self._commit(tip, f"{one['task']}/{one['module']}", text, message)
                made[number] = tip, ""
        for number, one in enumerate(reports):
            text = "def apply(value):\n    return value\n"
            tip = self._commit(tip, f"{one['task']}/{one['module']}", text, f"{one['broken_by']}\n")
            if number in made:
                made[number] = made[number][0], tip
        assert follow(self.state, self.git, self.top, tip, SECONDS)
        return made

    def _commit(self, parent: str, path: str, text: str, message: str) -> str:
        blob = self._run("hash-object", "-w", "--stdin", given=text)
        env = {"GIT_INDEX_FILE": str(self.top / "bench-index")}
        self._run("read-tree", parent, env=env)
        self._run("update-index", "--add", "--cacheinfo", f"100644,{blob},{path}", env=env)
        tree = self._run("write-tree", env=env)
        return self._run("commit-tree", tree, "-p", parent, given=message)

    def _run(self, *words: str, given: str = "", env: dict[str, str] | None = None) -> str:
        done = subprocess.run(
            ["git", "-c", "user.name=bench", "-c", "user.email=bench@example.com", *words],
            cwd=self.top,
            env={**os.environ, **(env or {})},
            input=given.encode(),
            capture_output=True,
            check=True,
        )
        return done.stdout.decode().strip()


def plain_first(history: History, queries: Sequence[str]) -> list[str]:
    """The best commit for each query by FTS5 used plainly."""
    connection = sqlite3.connect(":memory:")
    connection.execute(
        "CREATE VIRTUAL TABLE t USING fts5(oid UNINDEXED, text, tokenize='porter unicode61')"
    )
    with closing(sqlite3.connect(history.state / COMMITS)) as index:
        oids = [oid.hex() for (oid,) in index.execute("SELECT oid FROM entry WHERE length > 0")]
    said = messages(history.git, history.top, oids, SECONDS)
    rows = [(one.oid, f"{one.subject}\n{one.body}") for one in said.values()]
    connection.executemany("INSERT INTO t VALUES(?, ?)", rows)
    first = []
    for query in queries:
        asked = " OR ".join(f'"{word}"' for word in dict.fromkeys(re.findall(r"\w+", query.lower())))
        found = connection.execute("SELECT oid FROM t WHERE t MATCH ? ORDER BY bm25(t) LIMIT 1", (asked,))
        first.append(str((found.fetchone() or [""])[0]))
    return first


def prompts(path: str) -> list[str]:
    """The prompts of a file, if any: a JSON list, or lines of JSON."""
    text = Path(path).read_text() if path else ""
    rows = json.loads(text) if text.lstrip().startswith("[") else map(json.loads, text.splitlines())
    return [row.get("query") or row["question"] for row in rows]


def measure(history: Path, reports: Path, others: str, half: str, folder: Path) -> Iterator[Figure]:
    """The figures of one half, beside how many reports there are."""
    rows = [json.loads(line) for line in reports.read_text().splitlines()]
    yield from told_of(History(history, folder / "code.git"), rows, half, prompts(others))


def told_of(
    history: History, reports: Sequence[dict[str, Any]], half: str, others: Sequence[str]
) -> Iterator[Figure]:
    """Plants the reports, and asks."""
    chosen = [at for at in range(len(reports)) if half == "all" or at % 2 == (half == "held")]
    queries = {at: reports[at]["query"] for at in chosen}
    made = history.plant(reports)
    index = CommitIndex.open(history.state)
    assert index is not None
    with closing(index):
        told, asked = (
            {
                at: [hit.oid for hit in choose(index.search(query), unasked=unasked)]
                for at, query in queries.items()
            }
            for unasked in (True, False)
        )
        said = messages(history.git, history.top, [made[at][0] for at in chosen], SECONDS)
        ends = {at: undoing(index, history.git, history.top, said[made[at][0]], SECONDS) for at in chosen}
        vain = sum(bool(choose(index.search(one), unasked=True)) for one in others)
    plain = plain_first(history, list(queries.values()))
    right = sum(made[at][0] in told[at] for at in chosen)
    first = sum(made[at][0] == one for at, one in zip(chosen, plain, strict=True))
    without = 0
    for at in chosen:
        history.plant(reports, without=at)
        index = CommitIndex.open(history.state)
        assert index is not None
        with closing(index):
            without += bool(choose(index.search(queries[at]), unasked=True))
    report = len(chosen), "reports"
    by_hand = sum(made[at][0] in asked[at] for at in chosen)
    broken = sum(end is not None and end.oid == made[at][1] for at, end in ends.items())
    yield Figure("commits of reports: told", "", right, first, "found first by FTS5")
    yield Figure("commits of reports: told besides", "", sum(map(len, told.values())) - right, *report)
    yield Figure("commits of reports: told without an answer", "", without, *report)
    yield Figure("commits of reports: told to who asks", "", by_hand, *report)
    yield Figure("commits of reports: what broke them is found", "", broken, *report)
    if others:
        yield Figure("commits: told to other prompts", "", vain, len(others), "prompts")


if __name__ == "__main__":
    bench(__doc__, measure, "history", "reports", others="", half="all")
