"""What a claim may be taught by: the texts that say it, and no more than they say."""

from __future__ import annotations

import pytest

from gitmem.rules.source import Source, says_again, untaught

PORT = "The staging port is 4000."


@pytest.mark.parametrize(
    ("new", "sources", "again"),
    [
        (PORT, [PORT], True),
        ("As agreed, the staging port is 4000.", [PORT], True),
        ("The staging port is 4001.", [PORT], False),
        ("The staging port is not 4000.", [PORT], False),
        ("The staging host is 4000.", [PORT], False),
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
    ],
)
def test_a_source_about_something_else_teaches_nothing(source: str, taught: bool) -> None:
    missing = untaught("The staging port is 4001.", [PORT], [Source("main/b.md", source)])
    assert (missing == ()) is taught, missing
