"""What becomes of tests/fixtures/blind_sentences.jsonl, written before the rules that it measures.

usage: python tests/bench/blind_sentences.py [--verbose] [--json]

Of each kind every second row, the first included, was looked at since; what holds is what the others say.
Each sentence is said in a session of its own, after a step of work and what the agent said before it, where
the row tells; a correction meets the memory that it corrects, where there is one. Right is: stored, for
what is asked; an update or deletion of that memory, or else a candidate, for a correction; a candidate, for
an answer, a preference or a fact; neither stored nor suggested, for what does not last.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from figures import Figure, options, say

from gitmem.core.change import Header
from gitmem.core.memory import create
from gitmem.engines.engine import ExtractInput
from gitmem.engines.offline.extract import candidates, extract
from gitmem.transcripts.model import Message

ROWS = Path(__file__).parent.parent / "fixtures" / "blind_sentences.jsonl"


def outcome(row: dict[str, str]) -> str:
    """What the engine makes of a row: `updated`, `stored`, `suggested`, `candidate` or `nothing`."""
    said = (
        Message("m0", "person", "ok, next one", None, "prompt"),
        Message("a0", "agent", row.get("before") or "Done.", None, "reply"),
        Message("m1", "person", row["text"], None, "prompt"),
    )
    memory: dict[str, bytes] = {}
    headers: tuple[Header, ...] = ()
    if row.get("memory"):
        text = row["memory"]
        memory["local/main/known.md"] = create("known", text, "project", f"{text}.", "known.md").render()
        headers = (Header("local", "main", "known.md", "known", text, "project"),)
    given = ExtractInput(said, headers, memory=memory)
    found = [change for change in extract(given) if change.op != "noop"]
    if any(change.op == "delete" or change.edited for change in found):
        return "updated"
    if found:
        return "stored" if any(change.asked for change in found) else "suggested"
    return "candidate" if candidates(given) else "nothing"


RIGHT = {
    "asked": ("stored",),
    "correction": ("updated", "suggested", "candidate"),
    "correction of a memory": ("updated",),
    "answer": ("suggested", "candidate"),
    "preference": ("suggested", "candidate", "stored"),
    "fact": ("suggested", "candidate"),
    "not_lasting": ("candidate", "nothing"),
}


def measure(verbose: bool) -> Iterator[Figure]:
    """How many of each kind come out right; what is wrong is named on standard error."""
    right: dict[str, list[bool]] = defaultdict(list)
    seen: dict[str, int] = defaultdict(int)
    for row in map(json.loads, ROWS.read_text("utf-8").splitlines()):
        kind, what = row["kind"], outcome(row)
        seen[kind] += 1
        half = "looked at" if seen[kind] % 2 else "held out"
        if kind == "correction" and row.get("memory"):
            kind = "correction of a memory"
        right[f"{kind}, {half}"].append(what in RIGHT[kind])
        if verbose and not right[f"{kind}, {half}"][-1]:
            print(f"{kind}, {half}: {what}: {row['text']}", file=sys.stderr)
    for kind, some in sorted(right.items()):
        yield Figure(f"sentences: {kind}", "", sum(some), len(some), "all")


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()
    say(measure(given.verbose), given.json)


if __name__ == "__main__":
    main()
