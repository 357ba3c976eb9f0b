"""What each commit said that was squashed into one."""

from __future__ import annotations

import pytest

from gitmem.core.trailers import Provenance, Telling, fitting, format_message, tellings

ONE = format_message("Add ports", Provenance(op="add", writer="agent", session="s-1"), "Since Monday.")
TWO = format_message("Add db", Provenance(op="add", writer="extract", session="s-2"))


def sessions(message: str) -> list[tuple[str, str]]:
    return [(one.subject, one.provenance.session) for one in tellings(message)]


def test_a_plain_commit_says_one_thing() -> None:
    assert tellings(ONE) == (Telling("Add ports", Provenance("add", "agent", "s-1")),)
    assert tellings("Fix a typo") == (Telling("Fix a typo", Provenance()),)
    assert sessions("Split trailers\n\nGitmem-Op: add\nGitmem-Writer: agent\n\nGitmem-Session: s-1\n") == [
        ("Split trailers", "s-1")
    ]
    listed = format_message("Add a list", Provenance(op="add", session="s-1"), "* one\n* two")
    assert sessions(listed) == [("Add a list", "s-1")]


@pytest.mark.parametrize(
    "message",
    [
        f"Both (#7)\n\n* {ONE}\n* {TWO}\n---------\n\nCo-authored-by: Ben <ben@example.com>\n",
        f"{ONE}\n{TWO}",
        f"Both (#7)\r\n\r\n* {ONE}\n* {TWO}".replace("\r\n", "\n"),
    ],
)
def test_every_part_is_found(message: str) -> None:
    assert sessions(message) == [("Add ports", "s-1"), ("Add db", "s-2")]


def test_a_list_by_git_has_authors_and_dates() -> None:
    head = "commit {0}\nAuthor: {1} <{2}@example.com>\nDate:   Fri Nov 20 10:00:00 2026 +0100\n\n"
    parts = [
        head.format(letter * 40, who, who.lower())
        + "".join(f"    {line}\n" if line else "\n" for line in text.splitlines())
        for letter, who, text in (("a", "Ann", ONE), ("b", "Ben", TWO), ("c", "Cy", "Fix a typo\n"))
    ]
    found = tellings("Squashed commit of the following:\n\n" + "\n".join(parts))
    assert [(one.subject, one.author, one.provenance.session) for one in found] == [
        ("Add ports", "Ann <ann@example.com>", "s-1"),
        ("Add db", "Ben <ben@example.com>", "s-2"),
        ("Fix a typo", "Cy <cy@example.com>", ""),
    ]
    assert {one.time for one in found} == {1_795_165_200}
    odd = tellings("commit abcdef1\nDate: some day\n\n    Add ports\n")
    assert odd == (Telling("Add ports", Provenance()),)


def test_the_part_that_names_the_memory_is_chosen() -> None:
    told = tellings(f"{ONE}\n{TWO}")
    assert fitting(told, ["Ports"]) == told[:1]
    assert fitting(told, ["no-such", "add-db.md"]) == told[1:]
    assert fitting(told, ["port", ""]) == told, "no whole word, so either could be it"
    gone = tellings(f"{ONE}\n{format_message('Delete db', Provenance(op='delete'))}")
    assert fitting(gone, ["db"]) == gone[:1], "a deletion teaches nothing"
    assert fitting(told + told, ["db"]) == told[1:]
    assert fitting(gone[1:], ["x"]) == gone[1:]
