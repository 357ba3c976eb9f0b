"""Notes of a session: sections that survive being written and read, and limits that always hold."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from gitmem.core.session_notes import (
    LEAST_FIRST,
    SECTION_TOKENS,
    TEMPLATE,
    TOTAL_TOKENS,
    Section,
    conform,
    fit,
    parse,
    render,
    tokens,
)

LINES = ["# A", "## b", "```", "~~~~", "_it_", "*it*", "- one", "", "  ", "#", "text " * 9, "```py"]
line = st.one_of(st.sampled_from(LINES), st.text(max_size=12))
body = st.lists(line, max_size=12).map("\n".join)
title = st.one_of(st.sampled_from(LEAST_FIRST), st.sampled_from(["Own", "Zwei", "Own"]))
section = st.builds(Section, title, st.sampled_from(["", "_what_", "*what belongs here*"]), body)
sections = st.lists(section, max_size=6)


def test_the_template_has_the_ten_sections_with_a_line_of_guidance_each() -> None:
    found = parse(TEMPLATE)
    assert [one.title for one in found] == [
        "Session Title",
        "Current State",
        "Task specification",
        "Files and Functions",
        "Workflow",
        "Errors & Corrections",
        "Codebase and System Documentation",
        "Learnings",
        "Key results",
        "Worklog",
    ]
    assert all(one.guide and not one.body for one in found)
    assert render(found) == TEMPLATE
    assert {one.title for one in found} == set(LEAST_FIRST)


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


@given(sections, st.integers(0, 60), st.integers(40, 200))
def test_limits_hold_and_headings_stay(made: list[Section], each: int, total: int) -> None:
    found = fit(made, each, total)
    assert [(one.title, one.guide) for one in found] == [(one.title, one.guide) for one in made]
    bare = tokens(render([Section(one.title, one.guide) for one in made]))
    assert tokens(render(found)) <= max(total, bare)
    assert all(tokens(one.body) <= each for one in found)
    assert fit(found, each, total) == found, "holding twice changes nothing"


@given(sections)
def test_what_is_within_its_limits_is_left_alone(made: list[Section]) -> None:
    settled = parse(render(made))
    assert fit(settled) == settled


def test_a_worklog_loses_its_oldest_lines_and_says_how_many() -> None:
    log = "\n".join(f"- step {number} was done" for number in range(1_000))
    (found,) = fit([Section("Worklog", "", log)])
    assert tokens(found.body) <= SECTION_TOKENS
    first, *rest = found.body.split("\n")
    assert rest[-1] == "- step 999 was done" and first == f"[{1_000 - len(rest)} older lines cut]"
    again = f"{found.body}\n" + "\n".join(f"- step {number} was done" for number in range(1_000, 1_100))
    (later,) = fit([Section("Worklog", "", again)])
    first, *rest = later.body.split("\n")
    assert first == f"[{1_100 - len(rest)} older lines cut]", "what was cut before is counted in"


def test_the_least_important_section_gives_way_first() -> None:
    text = "\n".join("word " * 12 for _ in range(130))
    full = [Section(one.title, one.guide, text) for one in parse(TEMPLATE)]
    found = {one.title: one.body for one in fit(full)}
    assert tokens(render(fit(full))) <= TOTAL_TOKENS
    cut = [name for name in LEAST_FIRST if found[name] != text.strip().replace(" \n", "\n")]
    assert cut == list(LEAST_FIRST[: len(cut)]) and 2 <= len(cut) <= 6
    assert found["Learnings"].endswith("more lines cut]") and found["Worklog"].startswith("[")


def test_a_persons_own_heading_gives_way_after_the_files_and_before_the_errors() -> None:
    names = ["Own", "Errors & Corrections", "Files and Functions", "Other"]
    full = [Section(name, "", "\n".join(f"line {n}" for n in range(60))) for name in names]
    left = {one.title: len(one.body) for one in fit(full, total=200)}
    assert left["Files and Functions"] <= left["Other"] <= left["Own"] < left["Errors & Corrections"]


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
