"""In what two sentences differ: one kind of word, or nothing that can be named."""

from __future__ import annotations

import pytest

from gitmem.engines.offline.difference import difference
from gitmem.engines.offline.equivalence import sequence

PORT = "The worker listens on port 8080."


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        (PORT, PORT, ""),
        (PORT, "The worker listens on port 9090.", "number"),
        (PORT, "The worker never listens on port 8080.", "negation"),
        (PORT, "The worker may listen on port 8080.", "modal"),
        (PORT, "The worker listens on port 8080 when CI runs.", "condition"),
        (PORT, "When CI runs the worker listens on port 8080.", "condition"),
        (PORT, "The worker in Oslo listens on port 8080.", ""),
        ("Wait 30 seconds for it.", "Wait 30 minutes for it.", "unit"),
        ("Merge from main into release.", "Merge from release into main.", "direction"),
        ("Deploy, test, tag.", "Test, tag, deploy.", ""),
        ("Phase 2 is done.", "Phase 3 is done.", ""),
        ("It was decided on 2026-11-01.", "It was decided on 2026-11-09.", "date"),
        ("It ends on May 3.", "It ends on May 9.", "date"),
        ("All requests need a review.", "Some requests need a review.", "quantifier"),
        ("Ask Ann for it.", "Ask Ben for it.", "name"),
        ("Read `src/a.py` first.", "Read `src/b.py` first.", "path"),
        ("It is fast.", "It is slow.", ""),
        ("Ann merges, Ben tags.", "Cid merges, Dan tags.", ""),
    ],
)
def test_one_kind_of_word_makes_the_difference(one: str, other: str, kind: str) -> None:
    for first, second in ((one, other), (other, one)):
        found, words = difference(sequence(first), sequence(second), (first, second))
        assert (found, bool(words)) == (kind, bool(kind))
