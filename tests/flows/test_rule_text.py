"""The section of rules in an instruction file: byte for byte what it was around it."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from laws import examples

from gitmem.core.memory import create, parse
from gitmem.core.pointer import is_promoted, rule_file, with_pointer, without_pointer
from gitmem.flows.promote import is_part
from gitmem.flows.rule_text import (
    BEGIN,
    CLOSE,
    END,
    OddMarks,
    insert,
    mark,
    remove,
    rule_text,
    says_the_same,
    spoken,
)
from gitmem.flows.rule_text import parse as rules_of

ONE, TWO = "local/main/no-mocks", "project/reviewer/ports"
# What a section could trip over: line ends of both kinds, none at the end, marks, lists, a byte order mark.
PARTS = st.sampled_from(
    [
        "# Title",
        "text",
        " ",
        "\n",
        "\r\n",
        "\n\n",
        "- item\n",
        "\ufeff",
        "<!-- note -->\n",
        "a\r",
        "ü\n",
        "`x`",
    ]
)
TEXTS = st.lists(PARTS, max_size=8).map("".join)
RULES = st.sampled_from(["- Use it.", "- One\n  - Why: two", "- a\n\n  b", "- `x`\n  ```\n  code\n  ```"])


@given(TEXTS, RULES, RULES)
@example("abc", "- Use it.", "- b")
@example("abc\r\n", "- Use it.", "- b")
@example("\ufeff", "- Use it.", "- b")
@settings(max_examples=examples(150))
def test_taking_a_rule_out_gives_the_file_back_as_it_was(text: str, rule: str, other: str) -> None:
    one = insert(text, ONE, rule)
    both = insert(one, TWO, other)
    assert one.startswith(text)
    assert [r.text for r in rules_of(both).rules] == [rule, other]
    assert remove(both, TWO) == one
    assert remove(both, ONE) == insert(text, TWO, other)
    assert remove(one, ONE) == text
    assert insert(one, ONE, rule) == one


@given(TEXTS, TEXTS, RULES)
@settings(max_examples=examples(100))
def test_what_stands_around_the_section_is_never_touched(before: str, after: str, rule: str) -> None:
    made = insert(before, ONE, rule)
    made += ("" if made.endswith("\n") else "\n") + after
    changed = insert(made, ONE, "- Other words.")
    start, end = rules_of(made).section or (0, 0)
    assert changed[:start] == made[:start]
    assert changed.endswith(made[end:])


def test_the_file_keeps_its_line_ends_and_mark() -> None:
    made = insert("\ufeff# Team\r\n", ONE, "- Use it.\n  - Why: so.")
    assert made.startswith("\ufeff# Team\r\n\r\n" + BEGIN)
    assert "\n" not in made.replace("\r\n", "")


@pytest.mark.parametrize(
    "text",
    [
        f"{BEGIN}\n",
        f"{END}\n",
        f"{CLOSE}\n",
        f"{BEGIN}\n{BEGIN}\n{END}\n",
        f"{BEGIN}\n{END}\n{BEGIN}\n{END}\n",
        f"{BEGIN}\n{mark(ONE)}\n{END}\n",
        f"{BEGIN}\n{mark(ONE)}\n{mark(TWO)}\n{CLOSE}\n{CLOSE}\n{END}\n",
        f"{mark(ONE)}\n{CLOSE}\n{mark(ONE)}\n{CLOSE}\n",
        "<!-- gitmem rules: start -->\n",
        "<!-- gitmem local/main/%2e%2e%2fx -->\nx\n<!-- /gitmem -->\n",
        "<!-- gitmem other/main/x -->\nx\n<!-- /gitmem -->\n",
    ],
)
def test_odd_marks_are_refused_with_what_to_do(text: str) -> None:
    with pytest.raises(OddMarks) as raised:
        insert(text, TWO, "- Use it.")
    assert "line" in raised.value.message.lower()
    assert raised.value.hint


def test_marks_in_a_code_fence_are_none_and_an_open_fence_is_refused() -> None:
    shown = f"```\n{BEGIN}\n{mark(ONE)}\n```\n"
    made = insert(shown, ONE, "- Use it.")
    assert [rule.address for rule in rules_of(made).rules] == [ONE]
    assert remove(made, ONE) == shown
    with pytest.raises(OddMarks, match="fence"):
        insert("```\nopen\n", ONE, "- Use it.")


def test_a_section_with_words_of_a_person_stays() -> None:
    made = insert("", ONE, "- Use it.").replace(END, f"Ann's own line.\n{END}")
    left = remove(made, ONE)
    assert "Ann's own line." in left
    assert BEGIN in left
    assert ONE not in left


def test_any_name_can_stand_in_a_mark() -> None:
    """A comment must not hold two hyphens in a row, nor end in one."""
    for stem in ("a--b", "a-", "-->", "<!--", "ä b", "100%", "x>y", "--"):
        opening = mark(f"local/main/{stem}")
        assert "--" not in opening[4:-3]
        made = insert("", f"local/main/{stem}", "- Use it.")
        assert [rule.address for rule in rules_of(made).rules] == [f"local/main/{stem}"]


BODY = """Use the real database.

**Why:** Mocks hid a migration. It took days.

**How to apply:** In all tests."""


def test_a_rule_says_what_is_to_be_done_first_and_why_in_short() -> None:
    memory = create("no-mocks", "Real database", "feedback", BODY, "no-mocks.md")
    assert rule_text(memory) == (
        "- Use the real database.\n  - Why: Mocks hid a migration.\n  - How to apply: In all tests."
    )
    assert says_the_same(with_pointer(memory, "CLAUDE.md"), rule_text(memory))


@pytest.mark.parametrize("more", ["", "\n\nAsk **why** first.", "\n\n**Why:** Others are."])
def test_what_a_person_worded_is_told_from_what_a_memory_was_taught_since(more: str) -> None:
    memory = create("ports", "Ports", "project", f"Ports start at 4000.{more}", "ports.md")
    before = create(
        "ports", "Ports", "project", f"Tests are slow.\n\nPorts start at 4000.{more}", "ports.md"
    )
    assert is_part("- Ports start at 4000.\n", rule_text(memory))
    assert is_part(rule_text(memory), rule_text(before))
    assert not is_part("- Ports start at 5000.", rule_text(memory))
    assert not is_part("- Ports start at 4000.\n- And so on.", rule_text(memory))


def test_no_rule_can_close_a_comment_or_hold_a_mark() -> None:
    text = f"Say so.\n{CLOSE}\n{END}\n<!-- open\n\x1b[31m"
    rule = rule_text(create("x", "x", "feedback", text, "x.md"))
    made = insert("# Team\n", ONE, rule)
    assert "\x1b" not in made
    assert made.count("<!--") == 4
    assert len(rules_of(made).rules) == 1


def test_what_a_file_says_comes_without_its_marks() -> None:
    assert "gitmem" not in spoken(insert("Before.\n", ONE, "- Use it."))


@given(
    st.lists(
        st.sampled_from(["One.", "- a\n- b", "```\ncode\n```", "```\nopen", "**Why:** w", "x\r\ny"]),
        max_size=4,
    ),
    st.sampled_from(["", "\n", "\n\n"]),
    st.sampled_from(["CLAUDE.md", "docs/my rules [x].md", ".github/copilot-instructions.md"]),
)
@settings(max_examples=examples(80))
def test_a_pointer_comes_and_goes_without_a_trace(parts: list[str], tail: str, file: str) -> None:
    memory = parse("x.md", ("---\nname: x\n---\n\n" + "\n\n".join(parts) + tail).encode())
    pointed = with_pointer(memory, file)
    assert rule_file(pointed) == file
    assert with_pointer(pointed, file) == pointed
    assert [c.key for c in without_pointer(pointed).claims] == [c.key for c in memory.claims]
    assert rule_file(with_pointer(pointed, "AGENTS.md")) == "AGENTS.md"
    assert is_promoted("main/x.md", pointed.render())
    if "```\nopen" not in parts and parts:
        assert without_pointer(pointed) == memory
