"""From what a model left behind to changes: claim by claim, and nothing believed that it merely says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.change import Change
from gitmem.core.limits import MEMORY_BYTES
from gitmem.core.memory import parse
from gitmem.engines.derivation import CHANGES, derive_changes, notes
from gitmem.engines.engine import ExtractInput
from gitmem.ledger.edits import sides
from gitmem.transcripts.model import Message, Role

FRIDAY = datetime(2026, 11, 20, 10, 0, tzinfo=UTC)
KEY = "local/main/dates.md"
KNOWN = (
    b"---\nname: dates\ndescription: Dates are written as ISO 8601\ntype: feedback\nextra: kept\n---\n\n"
    b"Dates are written as ISO 8601.\n\n**Why:** the parser takes nothing else.\n"
)
NEW = (
    b"---\nname: No mocks\ndescription: Tests use the real database\ntype: project\n---\n\n"
    b"Never mock the database in tests.\n"
)


def message(number: int, text: str = "hi", role: Role = "person") -> Message:
    return Message(f"m{number}", role, text, FRIDAY + timedelta(minutes=number), "prompt")


MESSAGES = (
    message(1, "earlier"),
    message(2, "earlier", "agent"),
    message(3, "Remember: never mock the database in our tests."),
    message(4, "ok", "agent"),
    message(5, "And dates are ISO 8601, in UTC."),
)


def given_with(memory: dict[str, bytes] | None = None) -> ExtractInput:
    return ExtractInput(
        MESSAGES[2:], session="s1", memory={KEY: KNOWN} if memory is None else memory, history=MESSAGES[:2]
    )


def changes(after: dict[str, bytes], answer: str = "", *asked: str) -> tuple[Change, ...]:
    return derive_changes(given_with(), {KEY: KNOWN} | after, answer, frozenset(asked))


def without_known(after: dict[str, bytes], answer: str = "") -> tuple[Change, ...]:
    return derive_changes(given_with(), after, answer, frozenset())


def test_nothing_done_is_nothing_proposed_nor_is_what_another_agent_loses() -> None:
    assert changes({}) == ()
    assert changes({}, "nothing") == ()
    memory = {"local/reviewer/a.md": NEW, "local/main/MEMORY.md": b"- x\n"}
    assert derive_changes(given_with(memory), {}, "", frozenset()) == ()


def test_a_new_file_is_an_add_with_the_messages_that_it_names() -> None:
    (change,) = changes(
        {"user/main/no-mocks.md": NEW}, "memory/user/main/no-mocks.md: 3: they said *so*", "m3"
    )
    assert (change.op, change.name, change.type) == ("add", "no-mocks", "project")
    assert change.description == "Tests use the real database"
    assert change.body == "Never mock the database in tests."
    assert (change.origin.session, change.origin.first, change.origin.last) == ("s1", "m3", "m3")
    assert change.origin.time == FRIDAY + timedelta(minutes=3)
    assert (change.reason, change.asked, change.confidence) == ("they said so", True, 0.7)
    assert (change.file, change.edited) == ("", None)


def test_without_a_line_about_it_a_change_stems_from_all_that_is_new_and_was_not_asked() -> None:
    (change,) = changes({"user/main/no-mocks.md": NEW}, "I saved it.", "m3", "m5")
    assert (change.origin.first, change.origin.last) == ("m3", "m5")
    assert (change.asked, change.confidence, change.reason) == (False, 0.5, "the model gave no reason")


@pytest.mark.parametrize(
    ("numbers", "body", "is_asked"),
    [
        ("3", "Never mock the database in tests.", True),
        ("3, 4", "Never mock the database in tests.", True),
        ("5", "Never mock the database in tests.", False),
        ("3, 5", "Never mock the database in tests.", False),
        ("1-999", "Never mock the database in tests.", False),
        ("2", "Never mock the database in tests.", False),
        ("3", "Push to the release branch without review.", False),
        ("", "Never mock the database in tests.", False),
    ],
)
def test_what_a_person_did_not_ask_for_is_not_asked(numbers: str, body: str, is_asked: bool) -> None:
    """The model chooses the numbers: they may not carry its own ideas past the review."""
    data = b"---\nname: a\ndescription: a\ntype: user\n---\n\n" + body.encode() + b"\n"
    (change,) = changes({"local/main/a.md": data}, f"local/main/a.md: {numbers}: because", "m3")
    assert change.asked is is_asked


def test_a_changed_file_is_an_update_with_its_new_claims_and_both_whole_files() -> None:
    after = KNOWN.replace(b"nothing else.\n", b"nothing else.\n\nThey are in UTC.\n")
    (change,) = changes({KEY: after}, f"- `{KEY}`: [5]: said so")
    assert (change.op, change.file, change.name) == ("update", "dates.md", "dates")
    assert change.body == "They are in UTC."
    assert change.edited is not None
    assert (change.edited.before, change.edited.after) == (KNOWN, after)
    assert sides(change) is not None
    assert change.origin.first == "m5"


def test_who_may_see_a_memory_is_not_changed_by_an_edit() -> None:
    """A type decides where a memory may go, and a name how it is found; a header left out comes back."""
    after = KNOWN.replace(b"type: feedback", b"type: project").replace(b"name: dates", b"name: other")
    assert changes({KEY: after}) == ()
    (change,) = changes({KEY: b"Dates are written as ISO 8601, with seconds.\n"})
    assert change.edited is not None
    kept = parse("dates.md", change.edited.after)
    assert (kept.name, kept.type, kept.description) == (
        "dates",
        "feedback",
        "Dates are written as ISO 8601",
    )
    assert kept.body == "Dates are written as ISO 8601, with seconds.\n"


def test_a_new_description_alone_is_an_update_without_claims() -> None:
    after = KNOWN.replace(
        b"description: Dates are written as ISO 8601", b"description: How dates are written"
    )
    (change,) = changes({KEY: after})
    assert (change.op, change.body, change.description) == ("update", "", "How dates are written")


def test_to_remember_one_thing_is_no_leave_to_take_out_others() -> None:
    first = KNOWN.partition(b"Dates are written as ISO 8601.\n")[0]
    line = f"{KEY}: 3: asked"
    (change,) = changes({KEY: first + b"Never mock the database in tests.\n"}, line, "m3")
    assert (change.op, change.asked) == ("update", False)
    grown = KNOWN + b"\nNever mock the database in tests.\n"
    (change,) = changes({KEY: grown}, line, "m3")
    assert change.asked


@pytest.mark.parametrize("after", [{}, {KEY: KNOWN.partition(b"Dates are written as ISO 8601.\n")[0]}])
def test_a_file_that_is_gone_or_emptied_is_a_delete_that_waits(after: dict[str, bytes]) -> None:
    (change,) = derive_changes(given_with(), after, f"{KEY}: 3: it no longer holds", frozenset({"m3"}))
    assert (change.op, change.file, change.name) == ("delete", "dates.md", "dates")
    assert (change.asked, change.reason) == (False, "it no longer holds")


def test_a_file_without_frontmatter_stays_private_and_is_named_after_itself() -> None:
    (change,) = changes({"project/main/Ship It.md": b"- **We** ship on Tuesdays.\n"})
    assert (change.name, change.type) == ("ship-it", "feedback")
    assert change.description == "We ship on Tuesdays."


def test_a_new_file_that_says_what_is_known_is_left_alone() -> None:
    said = b"---\nname: iso\ndescription: iso dates\ntype: project\n---\n\n%s\n"
    (change,) = changes({"local/main/iso.md": said % b"Dates are to be written as ISO 8601."})
    assert (change.op, change.asked) == ("noop", False)
    assert "known already (dates)" in change.reason
    (change,) = changes({"local/main/iso.md": said % b"Dates are never written as ISO 8601."})
    assert change.op == "add"
    (change,) = changes({"local/main/iso.md": said % b"Dates are written as ISO 8602."})
    assert change.op == "add"


def test_what_was_seen_and_left_alone_is_a_noop() -> None:
    found = changes({}, f"noop: 5: not lasting\nmemory/{KEY}: 5: known already")
    assert [(one.op, one.reason, one.origin.first) for one in found] == [
        ("noop", "known already", "m5"),
        ("noop", "not lasting", "m5"),
    ]
    assert found[0].name == "dates"
    assert [one.name for one in changes({}, "dates.md: 5: known already\nabsent.md: 5: x")] == ["dates"]


@pytest.mark.parametrize(
    "key",
    [
        "local/main/MEMORY.md", "local/main/.tombstones", "local/main/a.txt", "local/main/.sub/a.md",
        "local/reviewer/a.md", "team/main/a.md", "local/main/../../x.md", "/etc/x.md", "a.md", "",
        "local/main/archive/ab/a.md", "local/main/logs/2026/11/2026-11-20.md", "local/main/con.md",
        "local/../main/a.md", "local/main/a\0.md", "local/main/.git.md", "local/main/mеmory.md",
        "local/main/",
    ],
)  # fmt: skip
def test_a_path_that_is_no_memory_of_this_agent_is_passed_over(key: str) -> None:
    assert changes({key: NEW}, f"{key}: 3: because") == ()


@pytest.mark.parametrize(
    "data", [b"", b" \n", b"\xff\xfe", b"a\0b", b"x" * (MEMORY_BYTES + 1), b"---\nname: x\n---\n"]
)
def test_a_content_that_is_no_memory_is_passed_over(data: bytes) -> None:
    assert changes({"local/main/a.md": data}) == ()


def test_changes_come_in_the_order_in_which_they_were_said_and_are_few() -> None:
    files = {f"local/main/n{at:03}.md": NEW for at in range(CHANGES + 20)}
    answer = "local/main/n007.md: 3: first\nn005.md: 5: last"
    found = changes({"local/main/n005.md": NEW, "local/main/n007.md": NEW}, answer)
    assert [one.reason for one in found] == ["first", "last"]
    assert len(changes(files)) == CHANGES


def test_an_answer_is_read_whatever_its_form() -> None:
    found = notes(
        "Here you are:\n\n"
        "1. **`memory/local/main/a.md`**: [3] and [5]: so: it is\n"
        "* /tmp/x/memory/local/main/b.md: messages 2–4, 99999999: why\n"
        "local/main/c.md: because of 5 things\n"
        "local/main/d.md: 7\n"
        "local/main/e.md:\n"
        "NOOP: 1: known\n"
        "other: 1: not a path\n",
        5,
    )
    assert [(note.path, note.numbers, note.reason) for note in found] == [
        ("local/main/a.md", (3, 5), "so: it is"),
        ("local/main/b.md", (2, 3, 4), "why"),
        ("local/main/c.md", (), "because of 5 things"),
        ("local/main/d.md", (), ""),
        ("local/main/e.md", (), ""),
        ("noop", (1,), "known"),
    ]


def test_a_reason_is_one_short_line_without_hidden_signs() -> None:
    (note,) = notes("a.md: 1: " + "\x1b[31m\u202e" + "long " * 500, 1)
    assert len(note.reason) <= 300
    assert "\x1b" not in note.reason
    assert "\u202e" not in note.reason


@given(
    st.dictionaries(
        st.sampled_from([KEY, "local/main/a.md", "user/main/b.md", "x", "local/main/"])
        | st.text(max_size=12),
        st.binary(max_size=60) | st.sampled_from([KNOWN, NEW, KNOWN + b"\nMore.\n"]),
        max_size=4,
    ),
    st.text(max_size=80)
    | st.lists(st.sampled_from([KEY, ": ", "3", "-", "9" * 30, "noop", "\n", "[", "x"])).map("".join),
)
def test_nothing_that_a_model_leaves_behind_makes_it_fail(after: dict[str, bytes], answer: str) -> None:
    uuids = {one.uuid for one in MESSAGES}
    for change in without_known(after, answer):
        assert change.agent == "main"
        assert change.origin.first in uuids
        assert change.origin.last in uuids
        assert not change.asked
        assert change.op != "update" or (change.edited is not None and change.edited.before == KNOWN)
