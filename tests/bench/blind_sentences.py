"""What becomes of tests/fixtures/blind_sentences.jsonl, written before the rules that it measures.

Of each kind every second row, the first included, was looked at since; what holds is what the others say.

    python tests/bench/blind_sentences.py [--verbose]

Each sentence is said in a session of its own, after a step of work and what the agent said before it, where
the row tells; a correction meets the memory that it corrects, where there is one. Right is: stored, for
what is asked; an update or deletion of that memory, or else a candidate, for a correction; a candidate, for
an answer, a preference or a fact; neither stored nor suggested, for what does not last.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path

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
    "answer": ("suggested", "candidate"),
    "preference": ("suggested", "candidate", "stored"),
    "fact": ("suggested", "candidate"),
    "not_lasting": ("candidate", "nothing"),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()
    table: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    seen: dict[str, int] = defaultdict(int)
    for line in ROWS.read_text("utf-8").splitlines():
        row = json.loads(line)
        what = outcome(row)
        kind = row["kind"]
        if kind == "correction" and row.get("memory"):
            kind = "correction of a memory"
        seen[row["kind"]] += 1
        kind += ", looked at" if seen[row["kind"]] % 2 else ", held out"
        table[kind][what].append(row["text"])
    for kind, found in sorted(table.items()):
        plain = kind.partition(",")[0]
        wanted = ("updated",) if plain == "correction of a memory" else RIGHT[plain]
        right = sum(len(found[what]) for what in wanted)
        counts = ", ".join(f"{what} {len(texts)}" for what, texts in sorted(found.items()) if texts)
        print(f"{kind}: {right} of {sum(map(len, found.values()))} right ({counts})")
        for what, texts in sorted(found.items()) if given.verbose else ():
            for text in texts if what not in wanted else ():
                print(f"   {what}: {text}")


if __name__ == "__main__":
    main()
