"""Conflict marks that somebody committed: all sides stay, and what the ancestor said does not come back."""

from __future__ import annotations

import pytest

from gitmem.ledger.foreign_commits import without_marks

LOG = "main/logs/2026/11/2026-11-20.md"


def line(name: str) -> str:
    return f"- 10:00:00Z [project] {name}"


def marked(text: str) -> bytes:
    """A log in which `<`, `|`, `=` and `>` stand for lines of marks, and each letter for a fact."""
    marks = {"<": "<<<<<<< ours", "|": "||||||| base", "=": "=======", ">": ">>>>>>> theirs"}
    return "".join(f"{marks.get(char) or line(char)}\n" for char in text).encode()


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("a<b=c>d", "abcd"),
        ("<b|x=c>", "bc"),
        ("<b=c>a<d=e>", "abcde"),
        ("<a<b=c>d=e>", "abcde"),
        ("<a<b|x=c>d=e>", "abcde"),
        ("<a=<b|x=c>d>", "abcd"),
        ("<a|<x|y=z>=b>", "ab"),
        ("<a=b<c=d>>", "abcd"),
        ("<=b>", "b"),
        ("<a<b=c>=<d=e>>", "abcde"),
    ],
)
def test_what_any_side_says_stays(text: str, facts: str) -> None:
    assert without_marks(LOG, marked(text)) == marked(facts)


@pytest.mark.parametrize("text", ["<a=b", "a=b>", "<a>b", "<a|b>", ">", "<a=b>>", "|a", "ab"])
def test_marks_that_do_not_belong_together_are_for_a_person(text: str) -> None:
    assert without_marks(LOG, marked(text)) is None


def test_a_file_that_gitmem_cannot_merge_is_for_a_person() -> None:
    assert without_marks("main/x.txt", marked("<a=b>")) is None
