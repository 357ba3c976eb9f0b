"""From chats to the prompt: is a decision learned, and shown to a bug report that needs it?

    python tests/bench/decisions_shown.py FOLDER [--verbose]

FOLDER holds `documents.jsonl` (chats: `id`, `turns` of `role` and `text`) and `queries.jsonl` (bug
reports: `task`, `query`, `policy`, the decision in its author's words, and `answer`, the chat that
decides). Each chat is a session; what the offline engine gives as candidates is all accepted, as memories
of one project; each report is asked of them, and the default choice shows at most five.

A memory of the right chat says the decision where it shares `SHARED` content words with the policy. Reports
are told apart by their place among the tasks in order: the first, third, … were looked at while the engine
was written, the others were not.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from gitmem.app.bench_recall import CorpusLine, CorpusSpace, Query, QueryOutcome, RecallCorpus, measure
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


def told(title: str, asked: Sequence[QueryOutcome], verbose: bool) -> None:
    """Prints how many decisions were learned and shown."""
    learned = [one for one in asked if one.query.relevant]
    shown = [one for one in learned if set(one.selected) & set(one.query.relevant)]
    chat = [one for one in asked if any(name.startswith(f"{one.query.id}#") for name in one.selected)]
    print(f"{title}: {len(asked)} reports, learned {len(learned)}, shown {len(shown)}", end="")
    print(f" (anything of the right chat shown: {len(chat)})")
    for one in asked if verbose else ():
        print(
            f"   {one.query.id}: {len(one.query.relevant)} say it, first found {one.first}, {one.selected}"
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()
    chats: list[dict[str, object]] = [dict(row) for row in rows(given.folder / "documents.jsonl")]
    lines = [line for chat in chats for line in memories(chat)]
    reports = sorted(rows(given.folder / "queries.jsonl"), key=lambda row: row["task"])
    queries = []
    for row in reports:
        own = [line for line in lines if line.id.startswith(f"{row['answer']}#")]
        relevant = tuple(line.id for line in own if says(line.text, row["policy"]))
        queries.append(Query(row["answer"], row["query"], relevant))
    print(f"{len(chats)} chats, {len(lines)} memories")
    with tempfile.TemporaryDirectory() as folder:
        space = CorpusSpace("chats", tuple(lines), tuple(queries))
        measured = measure(RecallCorpus((space,), 0), GitCommand(os.environ), Path(folder), NOW, print)
    told("looked at", measured.asked[0::2], given.verbose)
    told("held out ", measured.asked[1::2], given.verbose)


if __name__ == "__main__":
    main()
