"""What became of the lines of daily logs, and which of them only mattered on their day."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gitmem.core.account import (
    account,
    by_target,
    line_fates,
    line_key,
    line_mark,
    lines_at,
    lines_named,
    log_references,
    passing,
    path_of,
    paths_named,
    references,
    reject_keys,
)
from gitmem.core.daily_log import LogLine, MemoryType
from gitmem.core.trailers import Fate

LOG = "main/logs/2026/11/2026-11-20.md"
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
LINES = b"- 10:00:00Z [project ab] Ship on Fridays.\n- 11:00:00Z [user] I like tea.\nfree text\n"
MEMORY = b"---\nname: a\ndescription: About a\ntype: project\n---\n\nShip on Fridays.\n"


@pytest.mark.parametrize(
    ("text", "type", "is_passing"),
    [
        ("CI is down today.", "project", True),
        ("The staging box is slow right now.", "reference", True),
        ("Skip the e2e tests just for today.", "project", True),
        ("Use port 81 today only", "project", True),
        ("Keep the flag on until tonight.", "project", True),
        ("Ann isn’t here this afternoon.", "project", True),
        ("Builds aren't green tonight.", "project", True),
        ("AT THE MOMENT it hangs", "project", True),
        ("CI is down today.", "feedback", False),
        ("CI is down today.", "user", False),
        ("CI is down.", "project", False),
        ("CI was down right now.", "project", False),
        ("CI WAS DOWN RIGHT NOW.", "project", False),
        ("We have decided it right now.", "project", False),
        ("We moved it right now.", "project", False),
        ("CI is down today. **Why:** disk full.", "project", False),
        ("It is here. We ship today.", "project", False),
        ("It is so in the red building today.", "project", True),
        ("The lamp is bright now.", "project", False),
        ("It fails at the momentary switch.", "project", False),
        ("Axis labels change today.", "project", False),
        ("It issues tokens today.", "project", False),
        ("The bots are todaybot and bottoday.", "project", False),
        ("Chad and Wasabi are out today.", "project", True),
    ],
)
def test_a_fact_of_one_day_is_told_by_its_words(text: str, type: MemoryType, is_passing: bool) -> None:
    """What happened on a day lasts, and so does what has a reason."""
    assert passing(LogLine(NOON, type, "", text)) is is_passing


def refs() -> tuple[str, str]:
    return tuple(lines_at(LOG, LINES))  # type: ignore[return-value]


def test_the_facts_of_a_log_are_named_like_claims() -> None:
    found = lines_at(LOG, LINES)
    assert [line.text for line in found.values()] == ["Ship on Fridays.", "I like tea."]
    assert list(log_references({LOG: LINES}))[:2] == list(found)
    assert len(log_references({LOG: LINES, "main/a.md": MEMORY})) == 3


def test_only_lines_that_fates_name_are_read() -> None:
    one, other = refs()
    asked = []

    def read(path: str) -> bytes | None:
        asked.append(path)
        return LINES if path == LOG else None

    fates = [
        Fate("merged", one, "main/a.md#0"),
        Fate("merged", f"{LOG}#000000000000", "main/a.md#0"),
        Fate("merged", "main/a.md#1", one),
        Fate("merged", LOG.replace("20.md", "21.md") + "#0", "main/a.md#0"),
    ]
    assert [line.text for line in lines_named(fates, read).values()] == ["Ship on Fridays."]
    assert asked == [LOG, LOG.replace("20.md", "21.md")]
    assert list(lines_named([Fate("merged", other, "")], read)) == [other]


def test_a_line_is_the_same_in_the_archive() -> None:
    one, _ = refs()
    archived = one.replace("main/", "main/archive/")
    assert line_mark(one) == line_mark(archived) == ("main", "2026-11-20.md", one.partition("#")[2])
    assert line_key(one) == f"dream distil {one.partition('#')[2]}"


def test_lines_are_gathered_by_the_claims_that_they_went_into() -> None:
    one, other = refs()
    lines = lines_at(LOG, LINES)
    ends = {
        one: (Fate("merged", one, "a"), Fate("merged", one, "b"), Fate("dropped", one)),
        other: (Fate("superseded", other, "a"), Fate("merged", other, "a")),
        "gone": (Fate("merged", "gone", "a"),),
    }
    assert by_target(lines, ends) == {"a": {one: lines[one], other: lines[other]}, "b": {one: lines[one]}}


def test_a_line_is_followed_to_where_it_stands_in_the_end() -> None:
    one, other = refs()
    fates = [
        Fate("merged", one, "main/a.md#1", "first"),
        Fate("superseded", "main/a.md#1", "main/b.md#2", "then"),
        Fate("merged", one, "main/c.md#3"),
        Fate("merged", other, "main/d.md#4"),
        Fate("dropped", other, "", "for nothing"),
        Fate("kept", other, other),
        Fate("merged", "main/x.md#5", "main/c.md#3"),
    ]
    assert line_fates(fates, {"main/b.md#2", "main/c.md#3"}) == {
        one: (Fate("superseded", one, "main/b.md#2", "first; then"), Fate("merged", one, "main/c.md#3")),
        other: (Fate("merged", other, "main/d.md#4"),),
    }


def test_a_line_of_a_log_is_accounted_for_where_what_was_made_of_it_stands() -> None:
    one, _ = refs()
    (target,) = (ref for ref, claim in references({"main/a.md": MEMORY}).items() if "Ship" in claim.text)
    fate = Fate("merged", one, target)
    made = account({LOG: LINES}, {LOG: LINES, "main/a.md": MEMORY}, [fate])
    assert made.fates == (fate,) and made.unaccounted == ()
    assert account({LOG: LINES}, {LOG: LINES}, [fate]).fates == ()
    went = Fate("dropped", target, "", "done")
    both = account({LOG: LINES, "main/a.md": MEMORY}, {LOG: LINES}, [fate, went]).fates
    assert [(one.kind, one.source) for one in both] == [("dropped", target), ("dropped", one)]
    assert account({}, {"main/a.md": MEMORY}, [fate]).fates == ()


def test_a_claim_that_is_said_to_be_kept_keeps_the_reason_and_one_that_went_is_lost() -> None:
    before = {"main/b.md": MEMORY.replace(b"name: a", b"name: b")}
    after = {"main/a.md": MEMORY}
    source = next(ref for ref, claim in references(before).items() if "Ship" in claim.text)
    target = next(ref for ref, claim in references(after).items() if "Ship" in claim.text)
    kept = account(before, after, [Fate("kept", source, target, "moved")])
    assert Fate("kept", source, target, "moved") in kept.fates and kept.unaccounted == ()
    (lost,) = (one for one in account(before, {}, []).unaccounted if one.source == source)
    assert (lost.text, lost.problem, lost.false_merge) == (
        "Ship on Fridays.",
        "it is gone and nothing says where",
        False,
    )


def test_what_is_said_to_be_kept_stands_where_it_stands_and_nowhere_else() -> None:
    """A fate is an account to be checked: its words are looked for, whatever target it names."""
    body = MEMORY.replace(b"Ship on Fridays.", b"Ship on Fridays.\n\nOther.")
    before, after = {"main/b.md": body.replace(b"name: a", b"name: b")}, {"main/a.md": body}
    here, there = references(before), references(after)
    source = next(ref for ref, claim in here.items() if "Ship" in claim.text)
    true = next(ref for ref, claim in there.items() if "Ship" in claim.text)
    other = next(ref for ref, claim in there.items() if claim.text == "Other.")
    assert Fate("kept", source, true) in account(before, after, [Fate("kept", source, other)]).fates
    gone = {"main/a.md": MEMORY.replace(b"Ship on Fridays.", b"Other.")}
    (lost,) = (
        one
        for one in account(before, gone, [Fate("kept", source, other)]).unaccounted
        if one.source == source
    )
    assert lost.problem == "it is gone and nothing says where"


def test_a_false_merge_is_told_from_a_target_that_is_not_there() -> None:
    before = {"main/b.md": MEMORY.replace(b"Fridays", b"Mondays")}
    after = {"main/a.md": MEMORY}
    source = next(ref for ref, claim in references(before).items() if "Ship" in claim.text)
    target = next(ref for ref, claim in references(after).items() if "Ship" in claim.text)
    for fate, false_merge in (
        (Fate("merged", source, target), True),
        (Fate("merged", source, "main/x.md#000000000000"), False),
        (Fate("dropped", source, target), False),
    ):
        lost = [one for one in account(before, after, [fate]).unaccounted if one.source == source]
        assert [one.false_merge for one in lost] == [false_merge]


def test_paths_are_told_from_both_ends_of_a_fate() -> None:
    assert paths_named([Fate("merged", "main/a%20b.md#1", "main/c.md#2"), Fate("dropped", "x/d.md#3")]) == {
        "main/a b.md",
        "main/c.md",
        "x/d.md",
    }
    assert path_of("main/%E9%zz.md#1") == "main/\udce9%zz.md"


def test_reasons_of_a_long_way_are_told_once_each_and_not_all() -> None:
    steps = [Fate("merged", f"main/a.md#{n}", f"main/a.md#{n + 1}", f"r{n}; r0") for n in range(12)]
    one, _ = refs()
    (end,) = line_fates([Fate("merged", one, "main/a.md#0", "r0"), *steps], {"main/a.md#12"})[one]
    assert end.target == "main/a.md#12"
    assert end.reason.split("; ")[:2] == ["r0", "r1"] and len(end.reason.split("; ")) == 8


def test_a_long_way_is_followed_where_its_steps_are_known_and_else_so_far() -> None:
    """An account is hostile, and may be one long chain."""
    steps = [Fate("merged", f"main/a.md#{n}", f"main/a.md#{n - 1}") for n in range(1, 1500)]
    lines = [Fate("merged", f"{LOG}#{n}", f"main/a.md#{n}") for n in range(1500)]
    ends = {"main/a.md#0"}
    assert {far[0].target for far in line_fates([*lines, *steps], ends).values()} == ends
    assert line_fates([lines[1000], *steps], ends)[lines[1000].source][0].target == "main/a.md#0"
    assert line_fates([lines[1001], *steps], ends)[lines[1001].source][0].target == "main/a.md#1"


def test_a_moved_claim_that_more_goes_into_is_named_with_it() -> None:
    """Which of two was to go does not count where the target stood before, there or elsewhere."""
    into = Fate("merged", "main/a#b.md#1", "main/c.md#2")
    moved, too = Fate("kept", "main/b.md#2", "main/c.md#2"), Fate("merged", "main/a.md#3", "main/c.md#2")
    assert reject_keys([into, moved, too], ()) == ("dream merged 1 2", "dream merged 2 3")
    assert reject_keys([into], ()) == ("dream merged 1",)
    assert reject_keys([into], {"main/c.md#2"}) == ("dream merged 1 2",)
    assert reject_keys([into, Fate("merged", "main/b.md#0", "main/c.md#2")], ()) == ("dream merged 0 1",)
    assert reject_keys([Fate("dropped", "main/a.md#1")], ()) == ("dream dropped 1",)
    assert reject_keys([Fate("merged", f"{LOG}#7", "main/c.md#2")], ()) == ("dream distil 7",)
