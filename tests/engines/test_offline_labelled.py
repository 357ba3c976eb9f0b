"""How right the offline engine is on labelled statements: those it was fitted on, and those seen since.

Neither half is held out: labels of the second were mended as rules were written. What the engine does on
data of others is measured by `gitmem bench extract` and `tests/bench/extract_weights.py`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitmem.engines.engine import ExtractInput
from gitmem.engines.offline.extract import candidates, extract
from gitmem.transcripts.model import Message

LABELLED = Path(__file__).parent.parent / "fixtures" / "labelled"


@dataclass
class Score:
    """Rows that hold something, and what became of them and of the others."""

    keep: int = 0
    asked: int = 0
    asked_stored: int = 0
    stored: int = 0
    stored_right: int = 0
    suggested: int = 0
    suggested_right: int = 0
    typed: int = 0
    wide: int = 0


def score(*names: str) -> Score:
    """Scores each row as a session of one message: right where a find holds the key words of a label."""
    total = Score()
    for name in names:
        for number, line in enumerate((LABELLED / f"{name}.jsonl").read_text("utf-8").splitlines()):
            row = json.loads(line)
            message = Message(f"{name}-{number}", "person", row["text"], None, row.get("source", "prompt"))
            given = ExtractInput((message,))
            found = extract(given)
            stored = [change for change in found if change.asked]
            texts = [f"{c.name} {c.description} {c.body}".lower() for c in found]
            right = [one for one in row["keep"] if any(all(w in t for w in one["words"]) for t in texts)]
            total.keep += bool(row["keep"])
            total.wide += bool(row["keep"]) and bool(candidates(given))
            total.asked += any(one["asked"] for one in row["keep"])
            total.asked_stored += bool(stored) and any(one["asked"] for one in right)
            total.stored += bool(stored)
            total.stored_right += bool(stored) and bool(right)
            total.suggested += bool(found) and not stored
            total.suggested_right += bool(found) and not stored and bool(right)
            total.typed += any(one["type"] == change.type for one in right for change in found)
    return total


@pytest.mark.parametrize("names", [("tuned", "told"), ("seen", "told-seen")], ids="+".join)
def test_what_is_asked_is_stored_and_what_is_suggested_is_mostly_right(names: tuple[str, ...]) -> None:
    """Half of the rows hold nothing, and many of those are worded like something; a session has one row."""
    result = score(*names)
    print(f"\n{'+'.join(names)}: {result}")
    assert result.asked_stored >= 0.9 * result.asked, result
    assert result.stored_right >= 0.9 * result.stored, result
    assert result.suggested_right >= 0.6 * result.suggested, result
    assert result.wide >= 0.6 * result.keep, result
    assert result.typed >= 0.7 * (result.stored_right + result.suggested_right), result


def test_half_of_the_labelled_statements_hold_nothing() -> None:
    """Precision means something only beside as many hard negatives."""
    rows = [
        json.loads(line)
        for name in ("tuned", "seen")
        for line in (LABELLED / f"{name}.jsonl").read_text("utf-8").splitlines()
    ]
    kept = sum(bool(row["keep"]) for row in rows)
    assert len(rows) >= 120
    assert 0.4 <= kept / len(rows) <= 0.6
