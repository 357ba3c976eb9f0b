"""What a claim may be taught by: the texts that say it, and no more than they say."""

from __future__ import annotations

import pytest

from gitmem.rules.source import Source, said_in, says_again, untaught

PORT = "The staging port is 4000."


@pytest.mark.parametrize(
    ("new", "sources", "again"),
    [
        (PORT, [PORT], True),
        ("As agreed, the staging port is 4000.", [PORT], True),
        ("The staging port is 4001.", [PORT], False),
        ("The staging port is not 4000.", [PORT], False),
        ("The staging host is 4000.", [PORT], False),
        ("Staging is on 9090.", ["Staging is on 8080.", "Production is on 9090."], False),
    ],
)
def test_what_is_said_again(new: str, sources: list[str], again: bool) -> None:
    assert says_again(new, sources) is again


@pytest.mark.parametrize(
    ("source", "taught"),
    [
        ("The staging port is 4001.", True),
        ("The production port is 4001.", False),
        ("Ann has 4001 unread mails.", False),
        ("Ann left. It is 4001.", False),
    ],
)
def test_a_source_about_something_else_teaches_nothing(source: str, taught: bool) -> None:
    missing = untaught("The staging port is 4001.", [PORT], [Source("main/b.md", source)])
    assert (missing == ()) is taught, missing


@pytest.mark.parametrize(
    ("source", "missing"),
    [
        ("Ann left. The staging port since noon is 4001.", ()),
        (
            "The staging port since noon is 4001 on Ann.",
            ("the number 4001", "the word since", "the word noon"),
        ),
        ("The staging port since May is 4001.", ("the number 4001", "the word since", "the word noon")),
    ],
)
def test_a_sentence_teaches_one_that_is_cut_into_other_clauses(
    source: str, missing: tuple[str, ...]
) -> None:
    new = "The staging port is 4001, since noon."
    assert untaught(new, [PORT], [Source("main/b.md", source)]) == missing


def test_a_sentence_with_the_same_facts_of_other_things_teaches_nothing() -> None:
    new, known = "Staging is on 9090, production is on 8080.", ["Staging and production are up."]
    for source, missing in (
        ("Production is on 9090, staging is on 8080.", ("the number 8080", "the number 9090")),
        ("Staging on 9090, production is on 8080.", ()),
    ):
        assert untaught(new, known, [Source("main/b.md", source)]) == missing


@pytest.mark.parametrize(
    ("new", "missing"),
    [
        (
            "ONLY the staging port is 4000, until noon.",
            ("the word ONLY", "the word until", "the word noon"),
        ),
        ("Now the staging port is just 4000.", ()),
        ("Ann opens the two staging ports.", ("the number 2", "the name Ann", "the word opens")),
    ],
)
def test_what_is_new_is_told_once_each_by_its_kind(new: str, missing: tuple[str, ...]) -> None:
    assert untaught(new, [PORT]) == missing


@pytest.mark.parametrize(
    ("conversation", "taught"),
    [
        (["The staging port is 4001 now.", "Fine.", "Thanks."], True),
        (["The staging port is 4001."], True),
        (["The staging port?", "Hm.", "It is 4001."], True),
        (["The staging port?", "Hm.", "No.", "It is 4001."], False),
        (["It is 4001.", "The staging port!"], False),
    ],
)
def test_a_message_teaches_what_one_of_two_before_it_may_name(
    conversation: list[str], taught: bool
) -> None:
    assert said_in(conversation, "The staging port is 4001.", [PORT]) is taught
