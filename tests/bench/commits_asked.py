"""Measures which commits who asks is told: entries of a changelog, which say a commit in other words.

usage: python tests/bench/commits_asked.py HISTORY [--changelog PATH] [--others FILE] [--half HALF] [--json]

HISTORY is a repository or bundle whose changelog names numbers of issues and requests, as click's does; the
answers to an entry are the commits that name one of its numbers, or were merged under it. Each entry is
asked twice: as it is, and with its answers left out of what is found. OTHERS has questions about something
else: a JSON list or lines with `query` or `question`. The gate was set on the even ones (`--half tuned`).
"""

from __future__ import annotations

import os
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from commits_told import SECONDS, prompts
from figures import Figure, bench

from gitmem.flows.code_commits import choose
from gitmem.git.command import GitCommand
from gitmem.search.commits import CommitIndex, Hit, follow

FOUND = 25
MOST_MERGED = 3
"""Commits of a merged request that answer for its number: more decide several things."""

_NAMED = re.compile(r"#(\d+)")
_NUMBER = re.compile(r"#(\d+)|[`}](\d{2,5})`")
_ROLE = re.compile(r"\{\w+\}`[^`]*`|:(?:issue|pr):`\d+`|#\d+|\{\w+\}")


def git(top: Path, *words: str) -> str:
    """What a command of git prints."""
    done = subprocess.run(["git", "-C", str(top), *words], capture_output=True, text=True, check=True)
    return done.stdout


def numbered(top: Path, tip: str) -> dict[str, set[str]]:
    """Number to the commits that name it, or were merged under it."""
    found: dict[str, set[str]] = defaultdict(set)
    for record in git(top, "log", tip, "--no-merges", "--format=%H%x09%B%x00").split("\0"):
        oid, _, message = record.strip().partition("\t")
        for number in _NAMED.findall(message):
            found[number].add(oid)
    for line in git(top, "log", tip, "--merges", "--format=%P%x09%s").splitlines():
        parents, _, subject = line.partition("\t")
        first, _, second = parents.partition(" ")
        if number := re.search(r"pull request #(\d+)", subject):
            merged = git(top, "log", "--no-merges", "--format=%H", f"{first}..{second}").split()
            if len(merged) <= MOST_MERGED:
                found[number[1]].update(merged)
    return found


def entries(changelog: str, answers: dict[str, set[str]]) -> list[tuple[str, set[str]]]:
    """What the changelog says, without its numbers, and the commits that it says it of."""
    found = []
    for entry in re.split(r"^- +", changelog, flags=re.MULTILINE)[1:]:
        text = " ".join(entry.split("\n\n")[0].split())
        numbers = {one or other for one, other in _NUMBER.findall(text)}
        right = set[str]().union(*(answers.get(number, set()) for number in numbers))
        asked = _ROLE.sub("", text).strip(" .")
        if right and 4 <= len(asked.split()) <= 40:
            found.append((asked, right))
    return found


def told(hits: Sequence[Hit]) -> set[str]:
    """What somebody who asks is told."""
    return {hit.oid for hit in choose(hits[:5], unasked=False)}


def measure(history: Path, changelog: str, others: str, half: str, folder: Path) -> Iterator[Figure]:
    """The figures of a half, beside how many are asked."""
    top = folder / "code.git"
    subprocess.run(["git", "clone", "-q", "--bare", str(history), str(top)], check=True)
    questions = prompts(others)
    tip = git(top, "log", "--all", "--format=%H", "-1").strip()
    assert follow(top / "gitmem", GitCommand(os.environ), top, tip, SECONDS)
    step = slice(None) if half == "all" else slice(int(half == "held"), None, 2)
    asked = entries(git(top, "show", f"{tip}:{changelog}"), numbered(top, tip))[step]
    index = CommitIndex.open(top / "gitmem")
    assert index is not None
    with closing(index):
        found = [(index.search(text, FOUND), right) for text, right in asked]
        vain = sum(bool(told(index.search(text))) for text in questions[step])
    entry = len(asked), "entries of a changelog"
    said = [(told(hits), right) for hits, right in found]
    without = [told([hit for hit in hits if hit.oid not in right]) for hits, right in found]
    first = sum(bool(hits) and hits[0].oid in right for hits, right in found)
    yield Figure("commits asked for: found first", "", first, *entry)
    yield Figure("commits asked for: told", "", sum(bool(some & right) for some, right in said), *entry)
    yield Figure(
        "commits asked for: told besides", "", sum(len(some - right) for some, right in said), *entry
    )
    yield Figure("commits asked for: told without an answer", "", sum(map(bool, without)), *entry)
    if questions:
        yield Figure("commits: told to who asks for others", "", vain, len(questions[step]), "questions")


if __name__ == "__main__":
    bench(__doc__, measure, "history", changelog="CHANGES.md", others="", half="all")
