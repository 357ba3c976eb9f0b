"""How right the offline engine is on statements labelled by hand, tuned and held out apart."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitmem.engines.engine import ExtractInput
from gitmem.engines.offline import OfflineEngine
from gitmem.transcripts.model import Message

LABELLED = Path(__file__).parent.parent / "fixtures" / "labelled"


@dataclass
class Score:
    right: int = 0
    wrong: int = 0
    missed: int = 0
    typed: int = 0
    asked_right: int = 0
    asked_wrong: int = 0

    @property
    def precision(self) -> float:
        return self.right / max(1, self.right + self.wrong)

    @property
    def recall(self) -> float:
        return self.right / max(1, self.right + self.missed)

    @property
    def asked(self) -> float:
        return self.asked_right / max(1, self.asked_right + self.asked_wrong)

    def __str__(self) -> str:
        return (
            f"precision {self.precision:.2f}, recall {self.recall:.2f}, type {self.typed}/{self.right}, "
            f"asked {self.asked_right}/{self.asked_right + self.asked_wrong} "
            f"({self.right} right, {self.wrong} wrong, {self.missed} missed)"
        )


def score(*names: str) -> Score:
    """Scores the finds: one is right when it holds all key words of a label not yet taken."""
    total = Score()
    for name in names:
        for number, line in enumerate((LABELLED / f"{name}.jsonl").read_text("utf-8").splitlines()):
            row = json.loads(line)
            labels = list(row["keep"])
            message = Message(f"{name}-{number}", "person", row["text"], None, row.get("source", "prompt"))
            for change in OfflineEngine().extract(ExtractInput((message,))).changes:
                text = f"{change.name} {change.description} {change.body}".lower()
                label = next((one for one in labels if all(w in text for w in one["words"])), None)
                if label is None:
                    total.wrong += 1
                else:
                    labels.remove(label)
                    total.right += 1
                    total.typed += label["type"] == change.type
                if change.asked:
                    total.asked_right += label is not None and label["asked"]
                    total.asked_wrong += label is None or not label["asked"]
            total.missed += len(labels)
    return total


SETS = [("tuned",), ("heldout",), ("told",), ("told-heldout",), ("tuned", "heldout")]


@pytest.mark.parametrize("names", SETS, ids="+".join)
def test_few_and_right_on_labelled_statements(names: tuple[str, ...]) -> None:
    """A false memory is worse than a missed one; what is stored unasked must be right."""
    result = score(*names)
    print(f"\n{'+'.join(names)}: {result}")
    assert result.asked >= 0.9, result
    assert result.precision >= 0.75, result
    assert result.recall >= 0.6, result
    assert result.typed >= 0.8 * result.right, result


def test_half_of_the_labelled_statements_hold_nothing() -> None:
    """Precision means something only beside as many hard negatives."""
    rows = [
        json.loads(line)
        for name in ("tuned", "heldout")
        for line in (LABELLED / f"{name}.jsonl").read_text("utf-8").splitlines()
    ]
    kept = sum(bool(row["keep"]) for row in rows)
    assert len(rows) >= 120
    assert 0.4 <= kept / len(rows) <= 0.6
