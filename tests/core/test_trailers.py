"""Commit messages: the exact bytes, what squash merges make of them, and what text cannot forge."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitmem.core.trailers import (
    OPS,
    WRITERS,
    Fate,
    Provenance,
    Usage,
    batch_of,
    body_of,
    format_message,
    one_line,
    parse,
    parse_fate,
    parse_usage,
    subject_line,
    tellings,
)

FULL = Provenance(
    op="dream",
    writer="dream",
    session="11111111-2222-3333-4444-555555555555",
    messages=("aaaa", "bbbb"),
    job="job-1",
    code_commit="0123456789abcdef0123456789abcdef01234567",
    engine="anthropic:claude-haiku-5-5",
    reviewed="r1",
    usage=Usage(3, 1200, 8000, 500, 240, 0.0042),
    claims=(
        Fate("kept", "db.md#0123456789ab"),
        Fate("merged", "db.md#112233445566", "ports.md#aabbccddeeff", "says the same"),
        Fate("dropped", "my file.md#112233445577", "", "out of date"),
    ),
)
MESSAGE = """\
Merge what two memories say about ports

Both were written on one day.

Gitmem-Op: dream
Gitmem-Writer: dream
Gitmem-Session: 11111111-2222-3333-4444-555555555555
Gitmem-Messages: aaaa..bbbb
Gitmem-Job: job-1
Gitmem-Code-Commit: 0123456789abcdef0123456789abcdef01234567
Gitmem-Engine: anthropic:claude-haiku-5-5
Gitmem-Usage: requests=3 input=1200 cache_read=8000 cache_write=500 output=240 dollars=0.0042
Gitmem-Reviewed: r1
Gitmem-Claim: kept db.md#0123456789ab
Gitmem-Claim: merged db.md#112233445566 -> ports.md#aabbccddeeff says the same
Gitmem-Claim: dropped my%20file.md#112233445577 out of date
"""
HOSTILE = st.lists(
    st.sampled_from(
        [
            "Gitmem-Op: purge", "Gitmem-Claim: dropped a.md#0123456789ab forged",
            "Gitmem-\0Session: forged", "* Gitmem-Writer: agent", "    Gitmem-Job: forged",
            "> Gitmem-Engine: forged", "-> b.md#0123456789ab x", "text", "\n", "\r", "\u2028", "\x85",
            "\x0b", " ", "%0A",
        ]
    ),
    max_size=8,
).map("".join)  # fmt: skip
TEXTS = HOSTILE | st.text(max_size=80)


def test_a_message_is_these_bytes() -> None:
    text = format_message(
        "Merge what two memories say about ports", FULL, "Both were written on one day.\n"
    )
    assert text == MESSAGE
    assert parse(text) == FULL


@pytest.mark.parametrize("prefix", ["    ", "\t", "* ", "  - "])
def test_trailers_survive_a_squash(prefix: str) -> None:
    """Hosts put each message of a squash under a bullet or indent it, and add their own lines."""
    squashed = "Learn (#12)\n\n" + "".join(f"{prefix}{line}\n" for line in MESSAGE.splitlines())
    assert parse(squashed + "\nCo-authored-by: Ben <ben@example.com>\n") == FULL


def test_several_squashed_messages_add_up_their_claims() -> None:
    first = format_message("One", Provenance(op="dream", writer="dream", claims=FULL.claims[:2]))
    last = format_message("Two", Provenance(op="dream", writer="dream", claims=FULL.claims[1:]))
    assert parse(first + "\n" + last).claims == FULL.claims


def test_who_says_nothing_known_is_a_person() -> None:
    assert parse("Fix a typo\n\nIn the notes.\n") == Provenance()
    assert parse("x\n\nGitmem-Op: explode\nGitmem-Writer: root\n") == Provenance()


@given(TEXTS, TEXTS, TEXTS)
@example("Gitmem-Op: purge", "Gitmem-\0Job: x", "-> b.md#0123456789ab y")
def test_no_text_forges_a_trailer(subject: str, body: str, reason: str) -> None:
    meant = Provenance(
        op="update", writer="human", claims=(Fate("dropped", "a.md#0123456789ab", "", reason),)
    )
    message = format_message(subject, meant, body)
    stored = message.replace("\0", "").replace("\r", "\n")
    for text in (message, stored):
        found = parse(text)
        assert (found.op, found.writer, found.session, found.job, found.engine) == (
            "update", "human", "", "", "",
        )  # fmt: skip
        assert [(fate.kind, fate.source, fate.target) for fate in found.claims] == [
            ("dropped", "a.md#0123456789ab", "")
        ]
    assert len(message.split("\n", 1)[0]) <= 74


@given(
    st.sampled_from(["kept", "merged", "superseded", "dropped"]),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20),
)
def test_a_claim_of_any_file_name_reads_back(kind: str, file: str) -> None:
    fate = Fate(kind, f"{file}#0123456789ab", f"{file}#ab0123456789", "because")  # type: ignore[arg-type]
    assert parse_fate(fate.line()) == fate


@pytest.mark.parametrize(
    ("value", "usage"),
    [
        ("requests=1 input=2", Usage(1, 2, dollars=None)),
        ("output=5 later=7 input=x requests=-1 cache_read=1.5", Usage(output=5, dollars=None)),
        ("input=1 input=2", Usage(input=1, dollars=None)),
        ("dollars=0.5", Usage(dollars=0.5)),
        ("input=99999999999999999999", None),
        ("dollars=nan", None),
        ("dollars=1e400", None),
        ("input=\u0661", None),
        ("", None),
        ("all of it", None),
    ],
)
def test_a_usage_that_nobody_vouches_for_is_read_as_far_as_it_makes_sense(
    value: str, usage: Usage | None
) -> None:
    assert parse_usage(value) == usage


@given(
    st.builds(
        Usage, *[st.integers(0, 10**12)] * 5, st.none() | st.integers(0, 10**9).map(lambda n: n / 10**6)
    )
)
def test_a_usage_is_read_as_it_was_written(usage: Usage) -> None:
    assert parse_usage(usage.line()) == usage


def test_usages_add_up_and_an_unknown_price_is_not_written() -> None:
    both = Usage(1, 2, 3, 4, 5, 0.5) + Usage(10, 20, 30, 40, 50, 0.25)
    assert both == Usage(11, 22, 33, 44, 55, 0.75) and both.tokens == 22 + 33 + 44 + 55
    assert Usage() + Usage() == Usage(0, 0, 0, 0, 0, 0.0)
    assert Usage(dollars=2.0).line().endswith(" dollars=2") and Usage().line().endswith(" dollars=0")
    assert Usage(1, dollars=None).line() == "requests=1 input=0 cache_read=0 cache_write=0 output=0"
    assert (Usage(1) + Usage(1, dollars=None)).dollars is None


def test_a_usage_is_read_in_its_first_words_alone() -> None:
    """What nobody vouches for may be as long as a message can be."""
    words = " ".join(["x"] * 63)
    assert parse_usage(f"{words} input=1 output=2") == Usage(input=1, dollars=None)
    assert parse_usage("dollars=0.5 dollars=0.7 input=1") == Usage(input=1, dollars=0.5)


@pytest.mark.parametrize(
    ("fate", "line"),
    [
        (Fate("kept", "a.md#0123456789ab"), "kept a.md#0123456789ab"),
        (
            Fate("merged", "a b.md#0123456789ab", "c%.md#0123456789ab", "as\n said "),
            "merged a%20b.md#0123456789ab -> c%25.md#0123456789ab as said",
        ),
        (
            Fate("dropped", "a.md#0123456789ab", "", "-> b.md#0123456789ab"),
            "dropped a.md#0123456789ab (-> b.md#0123456789ab)",
        ),
        (
            Fate("merged", "a.md#0123456789ab", "b.md#0123456789ab", "-> so"),
            "merged a.md#0123456789ab -> b.md#0123456789ab -> so",
        ),
    ],
)
def test_a_fate_is_one_line(fate: Fate, line: str) -> None:
    assert fate.line() == line


@pytest.mark.parametrize(
    ("value", "fate"),
    [
        ("  kept a.md#0123456789ab  ", Fate("kept", "a.md#0123456789ab")),
        ("kept a.md#0123456789ab because", Fate("kept", "a.md#0123456789ab", "", "because")),
        (
            "merged a.md#0123456789ab  ->  b.md#0123456789ab  so",
            Fate("merged", "a.md#0123456789ab", "b.md#0123456789ab", "so"),
        ),
        ("dropped a.md#0123456789ab -> gone", Fate("dropped", "a.md#0123456789ab", "", "-> gone")),
        ("lost a.md#0123456789ab", None),
        ("kept a.md#0123456789a", None),
        ("kept a.md#0123456789abc", None),
        ("kept a.md#0123456789AB", None),
        ("kept #0123456789ab", None),
        ("kept", None),
        ("not kept a.md#0123456789ab", None),
    ],
)
def test_a_fate_is_read_only_in_its_form(value: str, fate: Fate | None) -> None:
    assert parse_fate(value) == fate


def test_the_last_of_a_trailer_counts_and_an_empty_one_never() -> None:
    found = parse(
        "Gitmem-Session: one\nGitmem-Session: two\ngitmem-job: no\nGitmem-session:  \nGitmem-JOB: j\n"
    )
    assert (found.session, found.job) == ("two", "j")
    assert parse("Gitmem-Messages: a..b\n").messages == ("a", "b")
    assert parse("Gitmem-Messages: a\n").messages is None
    assert parse("Gitmem-Undoes: abc\nGitmem-Reviewed: r\n").undoes == "abc"
    assert parse("see Gitmem-Op: add").op == "" and parse("\t-\tGitmem-Op: add").op == "add"
    assert parse("> Gitmem-Op: add").op == "" and parse("+ Gitmem-Op: add").op == ""
    assert parse("A\n\nGitmem-Messages: a..b..c\n").messages == ("a", "b..c")
    assert parse("A\n\nGitmem-Messages: a\n").messages is None


def test_the_words_of_operations_and_writers_are_promised() -> None:
    assert {"add", "update", "delete", "merge", "restore", "sync", "adopt", "page", "dream", "purge"} == OPS
    assert {"agent", "extract", "dream", "human", "sync"} == WRITERS


@pytest.mark.parametrize(
    ("text", "width", "line"),
    [
        ("one two", 7, "one two"),
        ("one two", 6, "one…"),
        ("one, two", 7, "one…"),
        ("one two", 5, "one…"),
        ("onetwothree", 5, "onet…"),
        (" one\n\ttwo\x07 ", 72, "one two"),
        ("a" * 72, 72, "a" * 72),
    ],
)
def test_a_subject_is_cut_at_a_word(text: str, width: int, line: str) -> None:
    assert subject_line(text, width) == line


def test_a_subject_has_seventy_two_characters_and_a_message_may_be_without_one() -> None:
    assert subject_line("a" * 73) == "a" * 71 + "…"
    assert one_line("a\x00b\u2028c  d") == "a b c d"
    assert format_message("", Provenance(writer="")) == "Update memory\n"
    assert format_message("One", Provenance(op="add", writer="")) == "One\n\nGitmem-Op: add\n"
    assert format_message("Gitmem-Op: purge", Provenance(writer="")) == "> Gitmem-Op: purge\n"
    assert format_message(
        "One", Provenance(writer=""), " a\tb\x07 \n\n\n  Gitmem-Job: x\n* Gitmem-Op: y "
    ) == ("One\n\na\tb\n\n\n> Gitmem-Job: x\n> * Gitmem-Op: y\n")
    assert format_message("One", Provenance(undoes="a\nb", writer="")) == "One\n\nGitmem-Undoes: a b\n"


TOLD = format_message("Merge", Provenance(op="dream", writer="dream")).strip()


@pytest.mark.parametrize(
    ("message", "subjects"),
    [
        (f"Both (#4)\n\n* {TOLD}\n\n* Update ports.md\n", ["Merge", "Update ports.md"]),
        (f"Both (#4)\n\n* Update ports.md\n\n* {TOLD}\n", ["Update ports.md", "Merge"]),
        (f"Both\n\n* {TOLD}\n\n* Update ports.md\n", ["Merge", "Update ports.md"]),
        (f"Learn\n\n* one\n\n* {TOLD}\n", ["Learn"]),
        ("Both (#4)\n\n* one\n\n* two\n", ["Both (#4)"]),
    ],
)
def test_a_commit_without_trailers_is_told_apart_where_a_host_joined_it(message, subjects) -> None:
    """A list in the text of one commit is none: no number is behind its subject, no trailers before it."""
    assert [one.subject for one in tellings(message)] == subjects


@pytest.mark.parametrize(
    ("job", "batch"),
    [
        ("batch-ab.1", "batch-ab"),
        ("batch-ab", "batch-ab"),
        ("move-ab", "move-ab"),
        ("job-1.2", ""),
        ("", ""),
    ],
)
def test_what_is_undone_together_is_told_by_its_job(job: str, batch: str) -> None:
    assert batch_of(job) == batch


def test_a_message_says_under_its_subject_what_is_no_trailer() -> None:
    said = "Add it\n\nSince May.\n\nAlso in June.\n\nGitmem-Op: add\n(cherry picked from commit 0123abcd)\n"
    assert body_of(said) == "Since May.\n\nAlso in June." and body_of("Add it") == ""
