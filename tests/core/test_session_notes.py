"""Notes of a session: sections that survive being written and read, and limits that always hold."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitmem.core.session_notes import (
    TEMPLATE,
    TOTAL_TOKENS,
    Section,
    conform,
    fit,
    is_notice,
    parse,
    render,
    tokens,
)

LINES = ["# A", "## b", "```", "~~~~", "_it_", "*it*", "- one", "", "  ", "#", "text " * 9, "```py"]
line = st.one_of(st.sampled_from(LINES), st.text(max_size=12))
body = st.lists(line, max_size=12).map("\n".join)
title = st.one_of(st.sampled_from(["Worklog", "Learnings"]), st.sampled_from(["Own", "Zwei", "Own"]))
section = st.builds(Section, title, st.sampled_from(["", "_what_", "*what belongs here*"]), body)
sections = st.lists(section, max_size=6)


def test_the_template_has_the_ten_sections_with_a_line_of_guidance_each() -> None:
    found = parse(TEMPLATE)
    assert [one.title for one in found] == [
        "Session Title", "Current State", "Task specification", "Files and Functions", "Workflow",
        "Errors & Corrections", "Codebase and System Documentation", "Learnings", "Key results",
        "Worklog",
    ]  # fmt: skip
    assert all(one.guide and not one.body for one in found)
    assert render(found) == TEMPLATE


@given(sections)
@example([Section("A", "", "```\n# no heading"), Section("B", "", "x")])
def test_what_was_written_reads_and_writes_as_the_same(made: list[Section]) -> None:
    text = render(made)
    assert render(parse(text)) == text
    assert [one.title for one in parse(text)] == [one.title for one in made]


@given(st.text())
def test_any_text_can_be_read_and_settles_when_written(text: str) -> None:
    once = render(parse(text))
    assert render(parse(once)) == once


def test_a_body_neither_begins_a_section_nor_swallows_the_next() -> None:
    made = [Section("One", "_g_", "# Two\n```\n# code"), Section("Two", "", "said")]
    found = parse(render(made))
    assert found == (Section("One", "_g_", "## Two\n```\n# code\n```"), Section("Two", "", "said"))


@given(sections, st.integers(0, 200))
def test_limits_hold_and_headings_stay(made: list[Section], total: int) -> None:
    found = fit(made, total)
    assert [(one.title, one.guide) for one in found] == [(one.title, one.guide) for one in made]
    bare = tokens(render([Section(one.title, one.guide) for one in made]))
    assert tokens(render(found)) <= max(total, bare)
    assert fit(found, total) == found, "holding twice changes nothing"


@given(sections)
def test_what_is_within_its_limits_is_left_alone(made: list[Section]) -> None:
    settled = parse(render(made))
    assert fit(settled) == settled


def test_a_worklog_loses_its_oldest_lines_and_says_how_many() -> None:
    log = "\n".join(f"- step {number} was done" for number in range(5_000))
    (found,) = fit([Section("Worklog", "", log)])
    assert tokens(render([found])) <= TOTAL_TOKENS
    first, *rest = found.body.split("\n")
    assert rest[-1] == "- step 4999 was done" and first == f"[{5_000 - len(rest)} older lines cut]"
    again = f"{found.body}\n" + "\n".join(f"- step {number} was done" for number in range(5_000, 5_100))
    (later,) = fit([Section("Worklog", "", again)])
    first, *rest = later.body.split("\n")
    assert first == f"[{5_100 - len(rest)} older lines cut]", "what was cut before is counted in"


def test_each_section_has_a_share_and_what_short_ones_leave_goes_to_the_others() -> None:
    long = "\n".join(f"line {n}" for n in range(1_000))
    made = [Section(name, "", "short" if name == "B" else long) for name in "ABCD"]
    found = fit(made, 600)
    assert found[1].body == "short"
    sizes = [tokens(one.body) for one in found if one.title != "B"]
    assert max(sizes) - min(sizes) < 12 and 560 < tokens(render(found)) <= 600
    assert all(one.body.endswith("more lines cut]") for one in found if one.title != "B")


def test_an_engine_changes_bodies_and_nothing_else() -> None:
    before = parse("# One\n_about one_\nold\n\n# Two\n_about two_\nkept\n\n# Three\n_about three_\n")
    text = "# THREE\nnew three\n\n# One\n_other guidance_\nnew one\n\n# Mine\nextra\n"
    found = conform(before, text)
    assert [(one.title, one.guide) for one in found] == [(one.title, one.guide) for one in before]
    assert [one.body for one in found] == ["new one\n## Mine\nextra", "kept", "new three"]


@given(sections)
def test_what_was_given_back_unchanged_is_unchanged(made: list[Section]) -> None:
    before = parse(render(made))
    if len({one.title.casefold() for one in before}) == len(before):
        assert conform(before, render(before)) == before


TENS = "".join(f"{number}\n" for number in range(10, 100))
FIRST = "10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n21\n22\n"
LAST = "\n87\n88\n89\n90\n91\n92\n93\n94\n95\n96\n97\n98\n99"


@pytest.mark.parametrize(
    ("title", "body", "each", "cut"),
    [
        ("Own", "a" * 60 + "\nb\nc", 17, "a" * 60 + "\nb\nc"),
        ("Own", "a" * 60 + "\nb\nc", 16, "a" * 60 + "\nb\nc"),
        ("Own", f"{TENS}[7 more lines cut]", 20, FIRST + "[84 more lines cut]"),
        ("Own", TENS, 20, FIRST + "[77 more lines cut]"),
        ("Worklog", f"[7 older lines cut]\n{TENS}", 20, "[84 older lines cut]" + LAST),
        ("Worklog", f"[1 older line cut]\n{TENS}", 20, "[78 older lines cut]" + LAST),
        ("Own", "x" * 100, 20, "x" * 78 + "…"),
        ("Own", "x" * 100, 15, "[1 more line cut]"),
        ("Own", "x" * 100, 4, ""),
        ("Own", "```\n" + "a\n" * 50 + "```", 20, "```\n" + "a\n" * 18 + "```\n[33 more lines cut]"),
    ],
)
def test_a_body_is_cut_at_a_line_and_says_how_many_went(title: str, body: str, each: int, cut: str) -> None:
    (found,) = fit([Section(title, "", body)], tokens(render([Section(title)])) + each + 1)
    assert found.body == cut


@pytest.mark.parametrize(("text", "size"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("é" * 8, 2)])
def test_four_characters_are_a_token(text: str, size: int) -> None:
    assert tokens(text) == size


@pytest.mark.parametrize(
    ("line", "notice"),
    [
        ("[1 more line cut]", True),
        ("[12 older lines cut]", True),
        ("[12 older lines cut] and", False),
        ("a [12 older lines cut]", False),
        ("[older lines cut]", False),
    ],
)
def test_a_notice_is_what_a_cut_leaves(line: str, notice: bool) -> None:
    assert is_notice(line) is notice


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("before\n# One\nsaid", [("", "", "before"), ("One", "", "said")]),
        ("\n\n# One #\n\n_guide_ \n\n said \n\n", [("One", "_guide_", " said")]),
        ("# C#\n*guide*\n", [("C#", "*guide*", "")]),
        ("# #12 is open ##", [("#12 is open", "", "")]),
        ("# One ##  \r\nsaid\rmore", [("One", "", "said\nmore")]),
        ("#One\n## Two", [("", "", "#One\n## Two")]),
        ("# One\n_ no guide_\n", [("One", "", "_ no guide_")]),
        ("# One\n_a_\n_b_", [("One", "_a_", "_b_")]),
        ("# One\n```\n# no\n```\n# Two", [("One", "", "```\n# no\n```"), ("Two", "", "")]),
        ("# One\n~~~\n```\n# no\n~~~~\n# Two", [("One", "", "~~~\n```\n# no\n~~~~"), ("Two", "", "")]),
        ("# One\n``` a`b\n# Two", [("One", "", "``` a`b"), ("Two", "", "")]),
        ("# One\n```\n``` x\n``\n# no", [("One", "", "```\n``` x\n``\n# no")]),
        ("# One\n    ```\n# Two", [("One", "", "    ```"), ("Two", "", "")]),
    ],
)
def test_a_section_has_a_heading_guidance_and_a_body(text: str, found: list[tuple[str, str, str]]) -> None:
    assert [(one.title, one.guide, one.body) for one in parse(text)] == found


def test_what_looks_like_guidance_and_is_none_is_not_read_as_such() -> None:
    made = (Section("One", "", "_said_\nmore"),)
    assert render(made) == "# One\n _said_\nmore\n"
    assert parse(render(made))[0].guide == ""
    assert render([Section(""), Section("B")]) == "# B\n"
    assert render([]) == "" and render([Section("", "", "a"), Section("B")]) == "a\n\n# B\n"


@pytest.mark.parametrize(
    ("text", "bodies"),
    [
        ("# One\n_about one_\nnew", ["new", "two"]),
        ("# One\n_other_\nnew", ["new", "two"]),
        ("# One\nnew\n# one\nagain", ["new\n## one\nagain", "two"]),
        ("# Two\n_mine_", ["one", "_mine_"]),
        ("# Mine\n_g_\nextra", ["one\n## Mine\n_g_\nextra", "two"]),
        ("# Two\nnew\n# Mine\nextra", ["one", "new\n## Mine\nextra"]),
        ("stray\n# Two\nnew", ["one", "new"]),
        ("# One", ["", "two"]),
        ("", ["one", "two"]),
    ],
)
def test_what_an_engine_wrote_goes_under_the_headings_there_were(text: str, bodies: list[str]) -> None:
    before = (Section("One", "_about one_", "one"), Section("Two", "", "two"))
    assert [one.body for one in conform(before, text)] == bodies
    assert conform((), text) == ()
