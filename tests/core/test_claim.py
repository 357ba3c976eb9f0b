"""Claims: where each begins and ends, and what does and does not change its identity."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core import claim as claims
from gitmem.core.claim import Claim, dispute_of, disputed, normal_form, parse_body, repetition, with_dispute


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


def test_a_claim_knows_its_dispute_and_of_several_marks_the_last_counts() -> None:
    assert Claim("x *(disputed 01234567)*", "", normal_form("x", False)).dispute == "01234567"
    assert with_dispute("*(disputed 01234567)*", "89abcdef") == "*(disputed 01234567)*"
    text = "a *(disputed 01234567)*  *(disputed 89abcdef)* \n"
    assert dispute_of(text) == "89abcdef" and with_dispute(text, "") == "a"
    assert with_dispute("a \n", "") == "a \n" and dispute_of("a") == ""


_PIECES = ("word", "**Why:** so", "**bold** x", "**How to apply:** do", "É", "a | b", "x ---", "to <b>")
_ODD = (
    "  ", "\t", "-", "---", "| - |", "1. a", "[a]: b", "<p>", "```", "    x", "*a*", "**", "a\x0b",
    "\x0c", "ª", "_a",
)  # fmt: skip


@given(st.lists(st.sampled_from(["", *_PIECES, *_ODD]), max_size=8), st.sampled_from(["\n", "\r\n", "\r"]))
def test_prose_is_cut_without_the_parser_just_as_with_it(lines: list[str], end: str) -> None:
    """The short way is only for speed: it must never cut differently."""
    found = claims._LINE.findall(end.join(lines))
    assert claims._starts(found) == claims._parsed_starts(found)


@pytest.mark.parametrize(
    ("text", "item", "key"),
    [
        ("-word", True, "-word"),
        ("- word", True, "word"),
        ("- word", False, "- word"),
        ("-", True, ""),
        ("-\tword", True, "word"),
        ("123456789. word", True, "word"),
        ("1234567890. word", True, "1234567890. word"),
        ("1) word", True, "word"),
        ("1] word", True, "1] word"),
        ("    - word", True, "- word"),
        ("   + word\n     more", True, "word more"),
        ("- a\n  ```sh  \n  x  \n    y\n  ```\n  b", True, "a\n```sh\nx\n  y\n```\nb"),
        ("- a\n ```\n x\n ```", True, "a\n```\nx\n```"),
        ("~~~ a`b\nx\n~~~~", False, "```a`b\nx\n```"),
        ("``` a`b\nx", False, "``` a`b x"),
        ("````\n```\nx\n````", False, "```\n```\nx\n```"),
        ("```\n``` x\n```", False, "```\n``` x\n```"),
        ("```\nx\n\n\n", False, "```\nx\n```"),
        ("    ```\nx", False, "``` x"),
        ("   ```\nx", False, "```\nx\n```"),
        ("a\rb\r\nc", False, "a b c"),
        ("a *(disputed 01234567)* *(disputed 89abcdef)*\n", False, "a"),
        ("a *(disputed 0123456)*", False, "a *(disputed 0123456)*"),
        ("a*(disputed 01234567)*", False, "a"),
        ("*(disputed 01234567)* a", False, "*(disputed 01234567)* a"),
    ],
)
def test_the_form_that_an_identity_is_taken_over(text: str, item: bool, key: str) -> None:
    """A promise: blame, accounts and tombstones of earlier versions name claims by its hash."""
    assert normal_form(text, item) == key


def test_an_identity_is_a_hash_of_the_form_and_of_which_repeat_it_is() -> None:
    """A promise, too."""
    form = hashlib.sha256(b"x").hexdigest()
    again = hashlib.sha256(b"x\x001").hexdigest()
    one, other = parse_body("x\n\nx\n").claims
    assert (one.id, other.id) == (form, again)
    assert (one.short, len(one.short)) == (form[:12], 12)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Use it.", "use it", True),
        ("Use it. ", "USE IT!;:", True),
        ("Use it?", "Use it", False),
        (".Use it", "Use it", False),
    ],
)
def test_case_and_what_ends_a_sentence_make_no_other_text(one: str, other: str, same: bool) -> None:
    assert (repetition(one) == repetition(other)) is same


@pytest.mark.parametrize(
    ("body", "items"),
    [
        ("- a\n- b\n", [True, True]),
        ("text\n", [False]),
        ("1. a\n\n> b\n", [True, False]),
        ("- **a**\n- _b_\n", [True, True]),
        ("**Why:** a\n**why** b\n**How to apply:** c\n**How far** d\n**Whyever** e", [False] * 3 + [False]),
        ("Fact.\n   **How:** x", [False, False]),
        ("Fact.\n    **How:** x", [False]),
        ("> a\n**Why:** x", [False]),
        (f"Fact.\n**Why{'x' * 3} {'y' * 41}** z", [False]),
    ],
)
def test_items_and_reasons_are_claims(body: str, items: list[bool]) -> None:
    assert [claim.item for claim in parse_body(body).claims] == items


def test_leads_and_tail_are_what_stands_between() -> None:
    body = parse_body("\n\n a\n\n\nb \n- c\n\n")
    assert [(claim.lead, claim.text) for claim in body.claims] == [
        ("\n\n", " a"),
        ("\n\n\n", "b "),
        ("\n", "- c"),
    ]
    assert body.tail == "\n\n" and parse_body("\n").claims == () and parse_body("\n").tail == "\n"


def test_a_mark_alone_belongs_to_the_block_before_it_and_to_none_where_it_is_first() -> None:
    (first, second) = parse_body("*(disputed 01234567)*\n\na\n\n*(disputed 89abcdef)*\n").claims
    assert first.text == "*(disputed 01234567)*" and first.key == ""
    assert (second.key, second.dispute) == ("a", "89abcdef")


def test_the_claim_parser_takes_time_in_proportion_to_the_text() -> None:
    """Counted in calls, which no other process slows down: eight times the text, not sixty-four."""

    def calls(body: str) -> int:
        count = 0

        def seen(*_: object) -> None:
            nonlocal count
            count += 1

        sys.setprofile(seen)
        try:
            parse_body(body)
        finally:
            sys.setprofile(None)
        return count

    shapes: dict[str, Callable[[int], str]] = {
        "items": lambda size: "\n".join(f"- item {number}" for number in range(size)),
        "equal items": lambda size: "- item\n" * size,
        "paragraphs": lambda size: "\n\n".join(f"text {number}" for number in range(size)),
        "nested": lambda size: "\n".join("  " * (number % 40) + "- item" for number in range(size)),
        "fences": lambda size: "```\n" * size,
        "brackets": lambda size: "[a](" * size,
        "ticks": lambda size: "".join("`" * (number % 60) + " " for number in range(size)),
    }
    for name, shape in shapes.items():
        small, large = calls(shape(200)), calls(shape(1600))
        assert large < 16 * small, f"{name}: {small} calls, then {large}"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("A.", ""),
        ("A. *(disputed 0123abcd)*", "1 claim of it is disputed, and not settled yet"),
        (
            "A. *(disputed 0123abcd)*\n\nB. *(disputed 0123abcd)*",
            "2 claims of it are disputed, and not settled yet",
        ),
        ("A. *(disputed 0123abc)*", ""),
    ],
)
def test_disputes_are_counted(body: str, said: str) -> None:
    assert disputed(body) == said
