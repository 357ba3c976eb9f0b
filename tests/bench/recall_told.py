"""Measures what recall tells: with a prompt that some memory answers, and with one that none does.

usage: python tests/bench/recall_told.py DATA [--half tuned|held|all] [--misses] [--json]

DATA holds `sde` (developer chats and reports on what they decided), `memory` (folders that agents wrote),
`labelled` and `transcripts` (recorded sessions), `devmembench`, and `history/click.bundle`, whose commits
and changelog become notes. What is absent is left out, and the memory is smaller.

- chats: each chat is a memory (its last long turn; all of it), each report a prompt; and each report again
  where the chats that decide it are taken out.
- prompts: `recall_prompts.jsonl`, written over the memory before the gate that it measures; half of them
  have no answer.
- real: what people typed in recorded sessions, over the memory without what is from their projects.
- few: the same over the first dozen of each kind alone: a folder, chats, sessions, commits, a changelog.

Beside each stand the five best of SQLite's FTS5, told with every prompt. The halves are every other prompt;
thresholds were set on `tuned`.
"""

from __future__ import annotations

import json
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from figures import Figure, options, say
from memory_repository import DAY, REF, START, MemoryRepository, memory

from gitmem.search.catalog import Catalog
from gitmem.search.gate import PROMPT, select
from gitmem.search.query import RecallSource, search
from gitmem.search.recall import for_prompt, later_ones, recall
from gitmem.search.text import read_memory
from gitmem.transcripts.discover import read

HERE = Path(__file__).parent
MEMORIES = 500
DOZEN = 12
CHARS_OF_A_TOKEN = 4
LONG = 80
"""Characters of a turn that says something."""

Files = dict[str, str]
"""Id of a memory to its file's text."""


@dataclass(frozen=True)
class Told:
    """What came of one prompt."""

    prompt: str
    answers: frozenset[str]
    ids: tuple[str, ...]
    text: str

    @property
    def right(self) -> bool:
        """Whether one that answers it is told."""
        return bool(self.answers & set(self.ids))


def tally(told: Sequence[Told]) -> dict[str, tuple[str, float]]:
    """What came of some prompts: label to unit and figure."""
    asked = [one for one in told if one.answers]
    others = [one for one in told if not one.answers]
    items = sum(len(one.ids) for one in told)
    right = sum(len(one.answers & set(one.ids)) for one in asked)
    tokens = [len(one.text) // CHARS_OF_A_TOKEN for one in told if one.text]
    return {
        f"answered, of {len(asked)}": ("", sum(one.right for one in asked)),
        f"told in vain, of {len(others)}": ("", sum(bool(one.ids) for one in others)),
        "of what is told is right": ("%", 100 * right / max(1, items)),
        "told, median": ("tokens", statistics.median(tokens) if tokens else 0),
    }


class Ground:
    """A memory, and what is told of it."""

    def __init__(self, folder: Path, files: Files) -> None:
        self.repo, self.catalog = MemoryRepository(), Catalog.open(folder)
        self.source = RecallSource(self.repo, self.catalog, {REF: "project"})  # type: ignore[arg-type]
        self.ids = {f"main/m{number:04}.md": id for number, id in enumerate(files)}
        texts = dict(zip(self.ids, files.values(), strict=True))
        commit = ""
        for number in range(1, len(texts) + 1):  # each later one is taught a day later
            if number % (len(texts) // 100 + 1) == 0 or number == len(texts):
                some = dict(list(texts.items())[:number])
                commit = self.repo.put(some, *([commit] if commit else []), time=START + number * DAY)
        assert self.catalog.bring_up_to_date(self.repo, REF, commit, read_memory)  # type: ignore[arg-type]
        self.now = START + (len(texts) + 1) * DAY
        base = sqlite3.connect(":memory:")
        base.execute("CREATE VIRTUAL TABLE text USING fts5(words, tokenize='porter')")
        base.executemany("INSERT INTO text (rowid, words) VALUES (?, ?)", enumerate(texts.values()))
        self.base, self.paths = base, list(texts)

    def tell(self, prompt: str, answers: Sequence[str]) -> Told:
        """Asks through the prompt's gate."""
        found = search(self.catalog, prompt, (REF,), now=self.now)
        answer = recall(
            prompt,
            found,
            lambda one: self.repo.blob(one.blob),
            self.now,
            {REF: "project"},
            selection=select(found, gate=PROMPT),
            later=later_ones([self.source], now=self.now),
        )
        ids = tuple(self.ids[f"main/{item.file}"] for item in answer.items)
        return Told(prompt, frozenset(answers), ids, for_prompt(answer)[0])

    def tell_best(self, prompt: str, answers: Sequence[str]) -> Told:
        """Tells the five best of FTS5."""
        words = dict.fromkeys(re.findall(r"\w{2,}", prompt.lower())) or ("nothing",)
        rows = self.base.execute(
            "SELECT rowid FROM text WHERE words MATCH ? ORDER BY bm25(text) LIMIT 5",
            (" OR ".join(f'"{word}"' for word in words),),
        )
        paths = [self.paths[row] for (row,) in rows]
        ids = tuple(self.ids[path] for path in paths)
        return Told(prompt, frozenset(answers), ids, "x" * 1_000 * len(ids))

    def close(self) -> None:
        """Closes the indexes."""
        self.catalog.close()
        self.base.close()


def chats(data: Path, shape: str) -> Files:
    """Chats as memories, those that were amended before those that amend them."""
    found: Files = {}
    for line in (data / "sde/documents.jsonl").read_text().splitlines():
        chat = json.loads(line)
        turns = [turn["text"] for turn in chat["turns"]]
        long = [turn for turn in turns if len(turn) >= LONG] or turns
        body = "\n\n".join(turns) if shape == "whole" else long[-1]
        found[f"sde/{chat['id']}"] = memory(f"n{len(found)}", "", body, "project")
    return found


def notes(data: Path, scratch: Path) -> Files:
    """All that is real, as memories."""
    found: Files = {}
    for file in sorted((data / "memory").glob("*/*.md")):
        if file.name != "MEMORY.md":
            found[f"{file.parent.name}/{file.stem}"] = file.read_text()
    labels = data / "labelled/labels.jsonl"
    for number, line in enumerate(labels.read_text().splitlines() if labels.exists() else ()):
        label = json.loads(line)
        found[f"labelled/{number:02}"] = memory(f"l{number}", label["what"], label["what"], label["type"])
    sessions = data / "devmembench/sessions.json"
    for session in json.loads(sessions.read_text()) if sessions.exists() else ():
        turns = [turn["content"] for turn in session["messages"]]
        id = session["sessionId"]
        found[f"devmembench/{id}"] = memory(id.lower(), one_line(turns[0]), "\n\n".join(turns))
    if (data / "sde").exists():
        found |= chats(data, "last")
    bundle, click = data / "history/click.bundle", scratch / "click"
    if bundle.exists():
        subprocess.run(["git", "clone", "-q", str(bundle), str(click)], check=True, capture_output=True)
        for note, text in _of_click(click):
            if len(found) < MEMORIES:
                found[note] = text
    return found


def _of_click(click: Path) -> Iterator[tuple[str, str]]:
    """Commits with a body, then entries of the changelog."""
    log = ["git", "-C", str(click), "log", "--no-merges", "--since=2014", "--format=%H%x09%s%x09%b%x00"]
    for record in subprocess.run(log, capture_output=True, text=True, check=True).stdout.split("\0"):
        oid, _, rest = record.strip().partition("\t")
        subject, _, body = rest.partition("\t")
        if len(body.split()) >= 12 and "pre-commit" not in subject:
            yield f"click/{oid[:7]}", memory(f"c{oid[:7]}", one_line(subject), body, "project")
    entries = re.split(r"^- ", (click / "CHANGES.md").read_text(), flags=re.MULTILINE)[1:]
    for number, entry in enumerate(entries):
        text = " ".join(entry.split("\n\n")[0].split())
        yield f"changes/{number}", memory(f"e{number}", "", text, "project")


def one_line(text: str) -> str:
    """A description of a text."""
    return json.dumps(" ".join(text.split())[:120])


def typed(data: Path) -> list[str]:
    """What people typed in recorded sessions."""
    found = []
    for folder in ("labelled", "transcripts/entire"):
        for file in sorted((data / folder).glob("*_full.jsonl" if folder == "labelled" else "*.jsonl")):
            for message in read(file).messages:
                if message.role == "person" and message.text.strip():
                    found.append(message.text)
    return list(dict.fromkeys(found))


Value = TypeVar("Value")


def half(items: Sequence[Value], which: str) -> list[Value]:
    """Every other one, or all."""
    return list(items if which == "all" else items[(0 if which == "tuned" else 1) :: 2])


def measure(data: Path, which: str, folder: Path) -> dict[str, Mapping[str, Sequence[Told]]]:
    """All figures: of gitmem, and of FTS5 beside it."""
    found: dict[str, Mapping[str, Sequence[Told]]] = {}
    if (data / "sde").exists():
        lines = (data / "sde/queries.jsonl").read_text().splitlines()
        reports = half([json.loads(line) for line in lines], which)
        for shape in ("last", "whole"):
            files = chats(data, shape)
            found[f"chats_{shape}"] = _chats(folder / shape, files, reports)
    files = notes(data, folder)
    asked = [json.loads(line) for line in (HERE / "recall_prompts.jsonl").read_text().splitlines()]
    pairs = [asked[at : at + 2] for at in range(0, len(asked), 2)]
    prompts = [(one["prompt"], one["answers"]) for pair in half(pairs, which) for one in pair]
    found["prompts"] = _ask(folder / "prompts", files, prompts)
    files = {id: text for id, text in files.items() if not id.startswith("labelled/")}
    unanswered = [(text, list[str]()) for text in half(typed(data), which)]
    found["real"] = _ask(folder / "real", files, unanswered)
    few: dict[str, list[Told]] = {"gitmem": [], "fts5": []}
    for kind in dict.fromkeys(id.partition("/")[0] for id in files):
        alone = dict([pair for pair in files.items() if pair[0].startswith(f"{kind}/")][:DOZEN])
        for whose, told in _ask(folder / f"few-{kind}", alone, unanswered).items():
            few[whose] += told
    found["few"] = few
    return found


def _chats(folder: Path, files: Files, reports: Sequence[dict[str, str]]) -> Mapping[str, Sequence[Told]]:
    own, best = list[Told](), list[Told]()
    for report in reports:
        task, answers = report["task"], [f"sde/{report['answer']}"]
        family = f"sde/chat-{task.removesuffix('-amended')}"
        without = {id: text for id, text in files.items() if not id.startswith(family)}
        # One report may have a decision that was amended and one that was not: asked without the other.
        amended = task.endswith("-amended")
        mine = {
            id: text
            for id, text in files.items()
            if id in without or id.startswith(f"{family}-amended") == amended
        }
        for some, wanted in ((mine, answers), (without, [])):
            ground = Ground(folder / f"{task}{len(some)}", some)
            own.append(ground.tell(report["query"], wanted))
            best.append(ground.tell_best(report["query"], wanted))
            ground.close()
    return {"gitmem": own, "fts5": best}


def _ask(
    folder: Path, files: Files, prompts: Sequence[tuple[str, Sequence[str]]]
) -> Mapping[str, Sequence[Told]]:
    ground = Ground(folder, files)
    known = [(text, [one for one in answers if one in files]) for text, answers in prompts]
    asked = [
        (text, some)
        for (text, answers), (_, some) in zip(prompts, known, strict=True)
        if some or not answers
    ]
    own = [ground.tell(text, answers) for text, answers in asked]
    best = [ground.tell_best(text, answers) for text, answers in asked]
    ground.close()
    return {"gitmem": own, "fts5": best}


def rows(found: Mapping[str, Mapping[str, Sequence[Told]]]) -> Iterator[Figure]:
    """Each figure beside FTS5's."""
    for part, some in found.items():
        ours, theirs = tally(some["gitmem"]), tally(some["fts5"])
        for label, (unit, figure) in ours.items():
            if part not in ("real", "few") or not label.startswith("answered"):
                yield Figure(f"{part}: {label}", unit, figure, theirs[label][1], "FTS5, the five best")


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--half", choices=("tuned", "held", "all"), default="all")
    parser.add_argument("--misses", action="store_true", help="name what went wrong, on standard error")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(given.data, given.half, Path(folder))
    say(rows(found), given.json)
    for part, some in found.items() if given.misses else ():
        for one in some["gitmem"]:
            if one.answers and not one.right:
                print(
                    f"{part} missed {sorted(one.answers)}: {one.prompt[:90]!r} -> {one.ids}",
                    file=sys.stderr,
                )
            elif one.ids and not one.answers:
                print(f"{part} told in vain: {one.prompt[:90]!r} -> {one.ids}", file=sys.stderr)


if __name__ == "__main__":
    main()
