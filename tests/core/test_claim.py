"""Claims: where each begins and ends, and what does and does not change its identity."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core import claim as claims
from gitmem.core.claim import Claim, dispute_of, normal_form, parse_body, with_dispute


def keys(body: str) -> list[str]:
    return [claim.key for claim in parse_body(body).claims]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Use the real\ndatabase.", "Use  the real database."),
        ("- an item\n  that goes on", "* an item that goes on"),
        ("1. first", "7) first"),
        ("  - indented", "- indented"),
        ("Cafe\u0301", "Caf\u00e9"),
        ("One.\r\nTwo.", "One. Two."),
        ("~~~sh\nmake\n~~~", "```sh\nmake\n```"),
        ("```\nopen", "```\nopen\n```"),
        ("- a\n\n  ```\n  x  y\n  ```", "10. a\n\n    ```\n    x  y\n    ```"),
        ("Use it. *(disputed 01234567)*", "Use it."),
        ("```\nx\n```\n\n*(disputed 01234567)*", "```\nx\n```"),
    ],
)
def test_wrapping_markers_and_marks_do_not_make_another_claim(one: str, other: str) -> None:
    (first,), (second,) = parse_body(one).claims, parse_body(other).claims
    assert first.id == second.id


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Use 3.11", "Use 3.12"),
        ("```\na  b\n```", "```\na b\n```"),
        ("```\na\n\nb\n```", "```\na\nb\n```"),
        ("```sh\na\n```", "```py\na\n```"),
        ("- [ ] task", "- [x] task"),
        ("Use it", "use it"),
    ],
)
def test_what_a_reader_would_call_different_is_another_claim(one: str, other: str) -> None:
    assert keys(one) != keys(other)


@pytest.mark.parametrize(
    ("body", "texts"),
    [
        ("One.\n\nTwo\nwrapped.\n", ["One.", "Two\nwrapped."]),
        ("- a\n  - child\n\n    more\n- b\n", ["- a\n  - child\n\n    more", "- b"]),
        ("Para\n- a\n- b", ["Para", "- a", "- b"]),
        ("1. a\n\n2. b\n", ["1. a", "2. b"]),
        ("```\na\n\n\nb\n```\nAfter", ["```\na\n\n\nb\n```", "After"]),
        ("Before\n```\nopen\n\nto the end", ["Before", "```\nopen\n\nto the end"]),
        ("| a |\n|---|\n| 1 |\nText", ["| a |\n|---|\n| 1 |\nText"]),
        ("# A\nText\n## B", ["# A", "Text", "## B"]),
        ("Title\n===\nText", ["Title\n===", "Text"]),
        ("<div>\n\nText\n\n</div>", ["<div>", "Text", "</div>"]),
        ("[a]: x\n[b]: y\n\n[c]: z\nText", ["[a]: x\n[b]: y", "[c]: z", "Text"]),
        ("> quote\nlazy\n\nText", ["> quote\nlazy", "Text"]),
        ("Fact.\n**Why:** x\n**How to apply:** y", ["Fact.", "**Why:** x", "**How to apply:** y"]),
        ("Fact.\n\n**Why:** x\n\n**How:** y", ["Fact.", "**Why:** x", "**How:** y"]),
        ("- a\n\n*(disputed 01234567)*\n\n- b", ["- a\n\n*(disputed 01234567)*", "- b"]),
        ("***\n---\n", ["***", "---"]),
        ("", []),
        (" \n\t\n", []),
        ("One.\r\rTwo.", ["One.", "Two."]),
        ("a\x00b", ["a\x00b"]),
    ],
)
def test_a_body_is_cut_where_its_blocks_end(body: str, texts: list[str]) -> None:
    parsed = parse_body(body)
    assert [claim.text for claim in parsed.claims] == texts
    assert parsed.render() == body


def test_repeats_are_told_apart_by_their_order() -> None:
    first, second = parse_body("- x\n- x\n").claims
    assert (first.ordinal, second.ordinal) == (0, 1) and first.id != second.id
    assert second.short == second.id[:12]


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("Use it.", "Use it. *(disputed 01234567)*"),
        ("- an item", "- an item *(disputed 01234567)*"),
        ("# A heading", "# A heading *(disputed 01234567)*"),
        ("Use it. *(disputed 89abcdef)*", "Use it. *(disputed 01234567)*"),
        ("```\nx\n```", "```\nx\n```\n\n*(disputed 01234567)*"),
        ("Title\n---", "Title\n---\n\n*(disputed 01234567)*"),
        ("| a |\n|---|\n| 1 |", "| a |\n|---|\n| 1 |\n\n*(disputed 01234567)*"),
        ("| a |\n|---|", "| a |\n|---|\n\n*(disputed 01234567)*"),
        ("    code", "    code\n\n*(disputed 01234567)*"),
        ("***", "***\n\n*(disputed 01234567)*"),
        ("[a]: x", "[a]: x\n\n*(disputed 01234567)*"),
        ("- a\n\n  ```\n  x\n  ```", "- a\n\n  ```\n  x\n  ```\n\n*(disputed 01234567)*"),
    ],
)
def test_a_mark_is_put_where_it_breaks_no_block(text: str, marked: str) -> None:
    assert with_dispute(text, "01234567") == marked
    assert dispute_of(marked) == "01234567"
    (before, after) = parse_body(with_dispute(text, "")).claims, parse_body(marked).claims
    assert [claim.id for claim in before] == [claim.id for claim in after]


def test_a_text_that_is_only_a_mark_keeps_it() -> None:
    assert with_dispute("*(disputed 01234567)*", "89abcdef") == "*(disputed 01234567)*"


@pytest.mark.parametrize(
    "body",
    [
        "a" + " " * 100_000 + "x",
        "x *(disputed 0123abcd)* " * 4_000,
        "**Why:** " * 11_000,
        "[" * 100_000,
        ">" * 100_000,
        "- " * 50_000,
        "".join(" " * (2 * depth) + "- x\n" for depth in range(300)),
        "\n" * 100_000,
        "```\n" * 25_000,
        "- item number one\n" * 5_000,
    ],
    ids=lambda body: ascii(body[:12]),
)
def test_hostile_bodies_of_the_largest_size_are_cut(body: str) -> None:
    """Each took a second at most when written, and some minutes with a pattern that goes back and forth."""
    assert parse_body(body).render() == body


def test_a_claim_knows_its_dispute() -> None:
    assert Claim("x *(disputed 01234567)*", "", normal_form("x", False)).dispute == "01234567"


_PIECES = ("word", "**Why:** so", "**bold** x", "**How to apply:** do", "É", "a | b", "x ---", "to <b>")
_ODD = (
    "  ",
    "\t",
    "-",
    "---",
    "| - |",
    "1. a",
    "[a]: b",
    "<p>",
    "```",
    "    x",
    "*a*",
    "**",
    "a\x0b",
    "\x0c",
    "ª",
    "_a",
)


@given(st.lists(st.sampled_from(["", *_PIECES, *_ODD]), max_size=8), st.sampled_from(["\n", "\r\n", "\r"]))
def test_prose_is_cut_without_the_parser_just_as_with_it(lines: list[str], end: str) -> None:
    """The short way is only for speed: it must never cut differently."""
    found = claims._LINE.findall(end.join(lines))
    assert claims._starts(found) == claims._parsed_starts(found)
