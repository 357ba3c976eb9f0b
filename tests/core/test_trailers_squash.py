"""What each commit said that was squashed into one."""

from __future__ import annotations

import pytest

from gitmem.core.trailers import Fate, Provenance, Telling, fitting, format_message, tellings

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
        f"{ONE}\n{TWO}".replace("Gitmem-Op", "Gitmem-OP").replace("Gitmem-Writer", "Gitmem-WRITER"),
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


def test_a_list_has_bullets_only_where_more_than_one_commit_stands() -> None:
    starred = f"Both\n\n* {ONE}\nText of Ben's\n\n* Fix a typo\n\n* {TWO}"
    assert sessions(starred) == [("Add ports", "s-1"), ("Fix a typo", ""), ("Add db", "s-2")]
    one = f"* {ONE}"
    assert sessions(one) == [("Add ports", "s-1")]


def test_messages_without_anything_between_are_cut_before_the_next_opening() -> None:
    three = ONE + "\n" + TWO + "\n" + ONE.replace("ports", "hosts").replace("s-1", "s-3")
    assert sessions(three) == [("Add ports", "s-1"), ("Add db", "s-2"), ("Add hosts", "s-3")]
    assert sessions("One\n\nGitmem-Session: a\n\nTwo\n\nGitmem-Session: b\n") == [("One", "b")]
    assert sessions("One\n\ngitmem-writer: a\n\nTwo\n\nGitmem-Op: b\n") == [("One", "")]


def test_a_list_by_git_is_read_though_its_commits_say_nothing() -> None:
    date = "Date: Fri Nov 20 10:00:00 2026 +0000"
    text = f"commit abcdef1\nAuthor:  Ann <a@example.com> \n{date}\n\n    One\n\n    Two\n"
    (only,) = tellings(f"About it\n\n{text}")
    assert (only.subject, only.author, only.time) == ("One", "Ann <a@example.com>", 1_795_168_800)
    assert tellings("commit abcdef\n")[0].subject == "commit abcdef", "no name of a commit is so short"
    assert tellings(" commit abcdef1\n")[0].subject == "commit abcdef1"
    late = tellings(text.replace("2026", "99999"))
    assert late[0].time is None


def test_what_teaches_nothing_is_left_out_where_anything_else_is_there() -> None:
    def said(op: str) -> Telling:
        return Telling(f"About db by {op}", Provenance(op=op))

    teaching = tuple(map(said, ("add", "update", "restore", "sync", "adopt", "dream", "")))
    silent = tuple(map(said, ("delete", "page", "merge")))
    assert fitting([*silent, *teaching], ["db"]) == teaching
    assert fitting([*silent, *teaching], ["other"]) == teaching
    assert fitting(silent, ["db"]) == silent


def test_a_memory_is_named_by_claims_too_and_by_whole_words_in_any_case() -> None:
    fate = Fate("merged", "main/old-name.md#0123456789ab", "main/new-name.md#0123456789ab")
    told = (Telling("Tidy up", Provenance(claims=(fate,))), Telling("Add other", Provenance()))
    assert fitting(told, ["old-name"]) == told[:1]
    assert fitting(told, ["New_Name.md"]) == told, "an underscore is part of a word"
    assert fitting(told, ["NEW name"]) == told[:1]
    assert fitting(told, ["OTHER.md"]) == told[1:]
    assert fitting(told, ["...", ""]) == told
