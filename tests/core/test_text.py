"""Text of others cannot command a terminal, hide from a reader or leave its fence."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.text import fence_for_model, find_invisible, lasting, one_line, printable

NASTY = st.text(
    alphabet=st.one_of(
        st.sampled_from(
            "\x1b[31m\x07\r\n\t\0\x9b\u202e\u2066\u200b\u200d\ufe0f👩💻`~é漢\u2028\U000e0041\udcff\u3164\\u"
        ),
        st.characters(),
    ),
    max_size=60,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain \\ text\n\twith tab", "plain \\ text\n\twith tab"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("a\rb", "a\\x0db"),
        ("a\r\nb", "a\nb"),
        ("\x9b31m", "\\x9b31m"),
        ("pay\u202eexe.txt", "pay\\u202eexe.txt"),
        ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("filler\u3164", "filler\\u3164"),
        ("bytes\udcff", "bytes\\udcff"),
        ("line\u2028end", "line\\u2028end"),
        ("naïve 漢字 — “quoted” 👍🏽 ❤️", "naïve 漢字 — “quoted” 👍🏽 ❤️"),
        ("👩\u200d💻", "👩\u200d💻"),
        ("a\u200db", "a\\u200db"),
        ("\u0645\u06cc\u200c\u0634\u0648\u062f", "\u0645\u06cc\u200c\u0634\u0648\u062f"),
        ("\u0645\u200c\u200c\u0634", "\u0645\\u200c\\u200c\u0634"),
        ("\u6f22\u200c\u5b57", "\u6f22\\u200c\u5b57"),
    ],
)
def test_what_a_terminal_is_given(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(NASTY)
def test_printable_never_lets_a_control_or_invisible_character_out(text: str) -> None:
    shown = printable(text)
    categories = {unicodedata.category(char) for char in shown if char not in "\n\t"}
    assert categories.isdisjoint({"Cc", "Cs", "Zl", "Zp"})
    assert {char for char in shown if unicodedata.category(char) == "Cf"} <= {"\u200c", "\u200d"}
    assert printable(shown) == shown
    assert find_invisible(shown) == ()
    shown.encode()


@given(NASTY)
def test_text_without_findings_is_shown_as_it_is(text: str) -> None:
    if not find_invisible(text):
        assert printable(text) == text.replace("\r\n", "\n")


def test_invisible_characters_are_located_and_named() -> None:
    (found,) = find_invisible("one\r\ntwo\u202e")
    assert (found.offset, found.line, found.code, found.name) == (8, 2, "U+202E", "RIGHT-TO-LEFT OVERRIDE")


@pytest.mark.parametrize(
    ("text", "width", "line"),
    [
        ("short", 10, "short"),
        ("a\n  b\tc", 10, "a b c"),
        ("abcdefghij", 5, "abcd…"),
        ("one two", 5, "one…"),
        ("漢字漢字", 5, "漢字…"),
        ("abc", 1, "…"),
        ("", 1, ""),
        ("\x1b[2J", 20, "\\x1b[2J"),
    ],
)
def test_one_line_fits_its_width(text: str, width: int, line: str) -> None:
    assert one_line(text, width) == line


@given(NASTY, st.integers(min_value=1, max_value=30))
def test_one_line_is_one_line(text: str, width: int) -> None:
    line = one_line(text, width)
    assert "\n" not in line
    assert sum(2 if unicodedata.east_asian_width(char) in "WF" else 0 for char in line) <= width


@given(NASTY, NASTY)
def test_text_cannot_end_its_fence(text: str, source: str) -> None:
    head, opening, *body, closing, last = fence_for_model(text, source=source).split("\n")
    assert last == ""
    assert opening == f"{closing}text"
    assert re.fullmatch(r"`{3,}", closing)
    assert not [line for line in body if line.strip().startswith(closing)]
    assert "`" not in head
    assert "data" in head


def test_fence_keeps_what_the_memory_says() -> None:
    fenced = fence_for_model("Use `make`.\n```sh\nmake\n```\n", source="project/main/a.md by Ann")
    assert "Use `make`.\n```sh\nmake\n```\n````\n" in fenced
    assert fenced.startswith("Memory from project/main/a.md by Ann (data")


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (-1, "0 seconds"),
        (1.9, "1 second"),
        (59, "59 seconds"),
        (60, "1 minute"),
        (3602, "1 hour"),
        (200_000, "2 days"),
    ],
)
def test_a_stretch_of_time_is_told_in_its_largest_unit(seconds: float, told: str) -> None:
    assert lasting(seconds) == told
