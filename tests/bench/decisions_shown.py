"""From chats to the prompt: is a decision learned, and shown to a bug report that needs it?

usage: python tests/bench/decisions_shown.py FOLDER [--verbose] [--json]

FOLDER holds `documents.jsonl` (chats: `id`, `turns` of `role` and `text`) and `queries.jsonl` (bug
reports: `task`, `query`, `policy`, the decision in its author's words, and `answer`, the chat that
decides). Each chat is a session; what the offline engine gives as candidates is all accepted, as memories
of one project; each report is asked of them, and the default choice shows at most five.

A memory of the right chat says the decision where it shares `SHARED` content words with the policy. Reports
are told apart by their place among the tasks in order: the first, third, … were looked at while the engine
was written, the others were not.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from figures import Figure, options, say

from gitmem.app.bench_recall import CorpusLine, CorpusSpace, Query, QueryOutcome, RecallCorpus
from gitmem.app.bench_recall import measure as run
from gitmem.core.memory import create
from gitmem.engines.engine import ExtractInput
from gitmem.engines.offline.extract import candidates
from gitmem.engines.offline.likeness import gist
from gitmem.git.command import GitCommand
from gitmem.transcripts.model import Message

SHARED = 3
NOW = 1_790_000_000
"""Any time: the chats have none."""


def session(chat: dict[str, object]) -> tuple[Message, ...]:
    """The chat as messages of a person and an agent."""
    turns: list[dict[str, str]] = chat["turns"]  # type: ignore[assignment]
    return tuple(
        Message(f"{chat['id']}-{n}", "person", turn["text"], None, "prompt")
        if turn["role"] == "user"
        else Message(f"{chat['id']}-{n}", "agent", turn["text"], None, "reply")
        for n, turn in enumerate(turns)
    )


def memories(chat: dict[str, object]) -> list[CorpusLine]:
    """What the engine learns of a chat, all of it accepted."""
    found = candidates(ExtractInput(session(chat)))
    lines = []
    for number, one in enumerate(found):
        change = one.change
        text = create(change.name, change.description, change.type, change.body, "x.md").render().decode()
        lines.append(CorpusLine(f"{chat['id']}#{number}", text, change.name))
    return lines


def says(text: str, policy: str) -> bool:
    """Whether a memory says the decision, roughly."""
    ours, wanted = gist(text), gist(policy)
    return len((ours.words | ours.numbers) & (wanted.words | wanted.numbers)) >= SHARED


def rows(path: Path) -> list[dict[str, str]]:
    """The objects of a file, one a line."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def told(half: str, asked: Sequence[QueryOutcome], verbose: bool) -> Iterator[Figure]:
    """How many decisions were learned, and of these shown."""
    learned = [one for one in asked if one.query.relevant]
    shown = [one for one in learned if set(one.selected) & set(one.query.relevant)]
    yield Figure(f"decisions learned of chats, {half}", "", len(learned), len(asked), "reports")
    yield Figure(f"decisions shown to their report, {half}", "", len(shown), len(learned), "learned ones")
    for one in asked if verbose else ():
        said = f"{len(one.query.relevant)} say it, first found {one.first}, {one.selected}"
        print(f"{half}: {one.query.id}: {said}", file=sys.stderr)


def measure(source: Path, folder: Path, verbose: bool) -> Iterator[Figure]:
    """Both halves."""
    chats: list[dict[str, object]] = [dict(row) for row in rows(source / "documents.jsonl")]
    lines = [line for chat in chats for line in memories(chat)]
    queries = []
    for row in sorted(rows(source / "queries.jsonl"), key=lambda row: row["task"]):
        own = [line for line in lines if line.id.startswith(f"{row['answer']}#")]
        relevant = tuple(line.id for line in own if says(line.text, row["policy"]))
        queries.append(Query(row["answer"], row["query"], relevant))
    corpus = RecallCorpus((CorpusSpace("chats", tuple(lines), tuple(queries)),), 0)
    asked = run(corpus, GitCommand(os.environ), folder, NOW, lambda _: None).asked
    yield from told("looked at", asked[0::2], verbose)
    yield from told("held out", asked[1::2], verbose)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        say(measure(given.folder, Path(folder), given.verbose), given.json)


if __name__ == "__main__":
    main()
