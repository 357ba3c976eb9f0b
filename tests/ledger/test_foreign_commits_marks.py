"""Conflict marks that somebody committed: all sides stay, and what the ancestor said does not come back."""

from __future__ import annotations

import pytest

from gitmem.core.memory import parse
from gitmem.ledger.foreign_commits import without_marks

LOG = "main/logs/2026/11/2026-11-20.md"


def line(name: str) -> str:
    return f"- 10:00:00Z [project] {name}"


def marked(text: str) -> bytes:
    """A log in which `<`, `|`, `=` and `>` stand for lines of marks, and each letter for a fact."""
    marks = {"<": "<<<<<<< ours", "|": "||||||| base", "=": "=======", ">": ">>>>>>> theirs"}
    return "".join(f"{marks.get(char) or line(char)}\n" for char in text).encode()


@pytest.mark.parametrize(
    ("text", "facts"), [("a<b=c>d", "abcd"), ("<b|x=c>", "bc"), ("<b=c>a<d=e>", "abcde"), ("<=b>", "b")]
)
def test_what_any_side_says_stays(text: str, facts: str) -> None:
    assert without_marks(LOG, marked(text)) == marked(facts)


UNFIT = ["<a=b", "a=b>", "<a>b", "<a|b>", ">", "<a=b>>", ">a<b=c>", "|a", "ab"]
NESTED = ["<a<b=c>d=e>", "<a=<b|x=c>d>", "<a|<x|y=z>=b>", "<a|<x=b>", "<a=b<c=d>>"]


@pytest.mark.parametrize("text", [*UNFIT, *NESTED])
def test_marks_that_do_not_belong_together_are_for_a_person(text: str) -> None:
    assert without_marks(LOG, marked(text)) is None


def test_a_file_that_gitmem_cannot_merge_is_for_a_person() -> None:
    assert without_marks("main/x.txt", marked("<a=b>")) is None


def test_each_of_a_thousand_conflicts_is_a_dispute_of_its_own() -> None:
    """What somebody pushed to keep others busy is gone through once."""
    one = "<<<<<<< a\nPort {0}.\n\nBoth {0}.\n=======\nHost {0}.\n\nBoth {0}.\n>>>>>>> b\n\n"
    text = "Above.\n\n" + "".join(one.format(number) for number in range(1000)) + "Below.\n"
    whole = without_marks("main/a.md", text.encode())
    assert whole is not None
    disputes = {claim.key: claim.dispute for claim in parse("a.md", whole).parsed.claims}
    assert not any(disputes[f"Both {number}."] for number in range(1000))
    pairs = [(disputes[f"Port {number}."], disputes[f"Host {number}."]) for number in range(1000)]
    assert all(mark == other != "" for mark, other in pairs) and len(set(pairs)) == 1000
    assert not disputes["Above."] and not disputes["Below."]
