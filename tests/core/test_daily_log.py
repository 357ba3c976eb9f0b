"""Daily logs as lines: every line once, in order, whoever merges what and when."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import examples

from gitmem.core import tombstone
from gitmem.core.daily_log import (
    LogLine,
    day_of,
    fact_in,
    fact_keys,
    fact_of,
    facts,
    in_order,
    is_timed,
    line_keys,
    log_claims,
    lost_lines,
    merge_lines,
    other_place,
    read_line,
    split,
    statements,
    stones_of,
    taken_out,
    with_every_line,
    with_lines,
    with_lost,
    without_lines,
)
from gitmem.core.merge import merge_trees
from gitmem.core.names import agent_folder, is_log

LOG = "main/logs/2026/11/2026-11-20.md"
LINES = st.lists(
    st.one_of(
        st.builds(
            "- {:02d}:{:02d}:00Z [project] {}".format,
            st.integers(0, 2),
            st.integers(0, 2),
            st.sampled_from("ab"),
        ),
        st.sampled_from(["09:30 free", "- 23:59 late", "# Day", "  more", "", "x\u2028y"]),
    ),
    max_size=8,
)
TEXTS = LINES.map(lambda lines: "".join(f"{line}\n" for line in lines))


def content(text: str) -> frozenset[str]:
    return frozenset(split(text))


def timed(text: str) -> list[str]:
    return [line for line in split(text) if is_timed(line)]


@settings(max_examples=examples(150))
@given(TEXTS, TEXTS, TEXTS)
def test_a_merge_is_the_same_whichever_side_is_ours_and_merging_again_changes_nothing(
    base: str, ours: str, theirs: str
) -> None:
    merged = merge_lines(base, ours, theirs)
    assert merged == merge_lines(base, theirs, ours)
    assert merge_lines(base, merged, theirs) == merged == merge_lines(base, ours, merged)
    assert merge_lines(merged, merged, merged) == merged == in_order(merged)
    moments = [line.removeprefix("- ")[:8].partition("Z")[0].split(" ")[0] for line in timed(merged)]
    assert moments == sorted(moments) and max(Counter(timed(merged)).values(), default=1) == 1


@settings(max_examples=examples(150))
@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_in_any_order_merges_keep_the_same_lines(base: str, a: str, b: str, c: str) -> None:
    """Nobody removes a line here, as nobody does: all that any of them has is there."""
    sides = [with_lines(base, split(side)) for side in (a, b, c)]
    one = merge_lines(base, merge_lines(base, sides[0], sides[1]), sides[2])
    other = merge_lines(base, sides[0], merge_lines(base, sides[2], sides[1]))
    assert content(one) == content(other) == content(base).union(*map(content, (a, b, c)))


@given(TEXTS)
def test_what_one_side_took_out_is_gone_and_what_follows_a_line_stays_behind_it(theirs: str) -> None:
    ours = "- 01:00:00Z [project] a\n  of ours\n"
    gone = "- 12:00:00Z [project] gone\n  with it\n"
    assert "gone" not in merge_lines(ours + gone, ours, in_order(ours + gone + ours + theirs))
    lines = split(merge_lines("", ours, theirs))
    assert "  of ours" in lines[lines.index("- 01:00:00Z [project] a") + 1 :]
    assert (
        merge_lines(gone, "", gone + "  and an edit of it\n")
        == gone.split("\n")[0] + "\n  and an edit of it\n"
    )


def test_what_a_text_merge_doubled_or_disordered_is_put_right() -> None:
    doubled = "- 10:00:00Z [project] b\n  why\n- 09:00:00Z [project] a\n- 10:00:00Z [project] b\n  why\n"
    assert in_order(doubled) == ("- 09:00:00Z [project] a\n- 10:00:00Z [project] b\n  why\n")
    assert lost_lines(doubled, "- 09:00:00Z [project] a\n") == ("- 10:00:00Z [project] b", "  why")


def test_forty_thousand_lines_merge() -> None:
    day = [
        f"- {n // 3600:02d}:{n // 60 % 60:02d}:{n % 60:02d}Z [project] fact {n}\n" for n in range(40_000)
    ]
    ours, theirs = "".join(day[:35_000]), "".join(day[5_000:])
    assert merge_lines("".join(day[5_000:35_000]), ours, theirs) == "".join(day)


def test_a_forgotten_line_stays_forgotten_in_logs_hot_and_archived() -> None:
    line = "- 10:00:00Z [project ab] Ship on Fridays. **Why:** so.\n"
    stone = tombstone.bury("Ship on Fridays.", "a1" * 16, "2026-11-20", "forgot").line().encode()
    base = {LOG: line.encode()}
    forgot = {LOG: b"", "main/.tombstones": stone} | {LOG: b"- 11:00:00Z [project] Other.\n"}
    again = {LOG: (line + "- 12:00:00Z [project] Ship on Fridays.\n").encode()}
    merged = merge_trees(base, forgot, again)
    assert merged.files[LOG] == b"- 11:00:00Z [project] Other.\n"
    assert [text for _, text in merged.buried] == ["- 12:00:00Z [project] Ship on Fridays."]
    assert merge_trees(base, again, forgot).files == merged.files
    moved = LOG.replace("main/", "main/archive/")
    assert merge_trees(base, {"main/.tombstones": stone}, {moved: line.encode()}).files.keys() == {
        "main/.tombstones"
    }
    assert agent_folder(moved) == agent_folder(LOG) == "main"


FORGOTTEN = "- 10:00:00Z [project ab] Ship on Fridays. **Why:** so."
OTHER = "- 11:00:00Z [project] Other."


@pytest.mark.parametrize(
    ("buried", "line", "gone"),
    [
        ("10:00:00Z [project ab] Ship on Fridays. **Why:** so.", FORGOTTEN, True),
        ("Ship on Fridays. **Why:** so.", FORGOTTEN, True),
        ("Ship on Fridays.", FORGOTTEN, True),
        ("**Why:** so.", FORGOTTEN, True),
        ("Ship on Fridays.", "- 12:00:00Z [user] Ship on Fridays.", True),
        ("Ship on Fridays. **Why:** so.", "- 12:00:00Z [user] Ship on Fridays.", False),
        ("Ship on Fridays.", "- 12:00:00Z [user] Ship on Fridays or later.", False),
        ("Ship on Fridays.", "Ship on Fridays.", False),
    ],
)
@pytest.mark.parametrize("swapped", [False, True])
def test_a_line_that_one_side_forgot_does_not_come_from_the_other(
    buried: str, line: str, gone: bool, swapped: bool
) -> None:
    """By the whole line, its fact or a claim in that; what is written freely stands under its heading."""
    stone = tombstone.bury(buried, "a1" * 16, "2026-11-20", "forgot").line().encode()
    base = {LOG: f"{OTHER}\n".encode()}
    sides = (base | {"main/.tombstones": stone}, {LOG: f"{OTHER}\n{line}\n".encode()})
    merged = merge_trees(base, *(sides[::-1] if swapped else sides))
    assert (line in merged.files[LOG].decode()) is not gone
    assert OTHER in merged.files[LOG].decode()
    assert merged.buried == (((LOG, line),) if gone else ())


@pytest.mark.parametrize("swapped", [False, True])
def test_a_forgotten_line_that_its_own_side_wrote_again_stays(swapped: bool) -> None:
    """Who has the tombstone and the line has both on purpose, whatever else the other side did."""
    stone = tombstone.bury("Ship on Fridays.", "a1" * 16, "2026-11-20", "forgot").line().encode()
    ours = {LOG: f"{FORGOTTEN}\n".encode(), "main/.tombstones": stone}
    theirs = {LOG: f"{OTHER}\n".encode()}
    merged = merge_trees({}, *((theirs, ours) if swapped else (ours, theirs)))
    assert merged.files[LOG].decode() == f"{FORGOTTEN}\n{OTHER}\n" and merged.buried == ()


def test_a_log_of_which_all_was_forgotten_is_no_file_any_more() -> None:
    stone = tombstone.bury("Ship on Fridays.", "a1" * 16, "2026-11-20", "forgot").line().encode()
    merged = merge_trees({}, {"main/.tombstones": stone}, {LOG: f"{FORGOTTEN}\n".encode()})
    assert merged.files == {"main/.tombstones": stone}


def test_what_git_merges_by_union_becomes_what_gitmem_would_have_merged(tmp_path: Path, git) -> None:
    base, ours, theirs = (
        "".join(f"- {hour}:00:00Z [project] {hour}\n" for hour in hours)
        for hours in ((10, 14), (10, 12, 14, 16, 18), (10, 11, 12, 14, 15, 16))
    )
    for name, text in (("base", base), ("ours", ours), ("theirs", theirs)):
        (tmp_path / name).write_text(text)
    git("merge-file", "--union", *(tmp_path / name for name in ("ours", "base", "theirs")))
    by_git = (tmp_path / "ours").read_text()
    merged = merge_lines(base, ours, theirs)
    assert by_git != merged == in_order(by_git)


@pytest.mark.parametrize(
    ("line", "timed"),
    [
        ("09:30 free", True),
        ("- 23:59:01 late", True),
        ("+\t23:59", True),
        ("-23:59", False),
        ("x 23:59", False),
        ("23:591", False),
        ("3:59", False),
    ],
)
def test_a_line_is_timed_that_begins_with_a_time(line: str, timed: bool) -> None:
    assert is_timed(line) is timed


def test_of_lines_that_repeat_one_may_go() -> None:
    twice = "- 10:00:00Z [project] A.\nsame\nsame\nsame\n"
    once = twice.removesuffix("same\n")
    assert merge_lines(twice, once, twice) == once and merge_lines(once, twice, once) == twice


FENCE = "```\n14:05:01 failed\n09:00 began\n```\n"


def test_what_a_program_printed_stays_as_it_was_printed() -> None:
    noon = "- 12:00:00Z [project] Noon.\n"
    early = "- 08:00:00Z [project] Early."
    text = noon + FENCE + "- 13:00:00Z [project] One.\n"
    assert with_lines(text, [early]) == f"{early}\n{text}"
    assert without_lines(text, {noon.strip()}) == "- 13:00:00Z [project] One.\n"
    assert merge_lines(text, text + "late\n", f"{early}\n{text}") == f"{early}\n{text}late\n"
    assert lost_lines(in_order("```\n" * 3 + text), "") == lost_lines("```\n" * 3 + text, "")


@pytest.mark.parametrize("around", ["```", "<!--", "    code", "> quote", "| a |\n|---|", "Title\n---"])
def test_a_fact_is_one_whatever_is_written_around_it(around: str) -> None:
    """A fence that somebody leaves open must not hide what is learned for the rest of the day."""
    lines = [
        "- 12:00:00Z [project ab] One.",
        "- 13:00:00Z [project ab] Two.",
        "- 13:00:00Z [project ab] Two.",
    ]
    text = f"{around}\n{lines[0]}\n  - below\nlazy\n{around}\n" + "\n".join(lines[1:])
    for data in (text, text.replace("\n", "\r\n")):
        told = facts(LOG, data.encode())
        assert [line.text for _, line in told] == ["One.", "Two.", "Two."]
        plain = facts(LOG, "\n".join(lines).encode())
        assert [claim.id for claim, _ in told] == [claim.id for claim, _ in plain]
        claims = log_claims(LOG, data.encode())
        assert len({claim.id for claim in claims}) == len(claims)
        assert any(claim.key.startswith("below") for claim in claims)


DAY = date(2026, 11, 20)


@pytest.mark.parametrize(
    ("line", "read"),
    [
        (
            "- 14:05:33Z [feedback 258c7280] Run it.",
            LogLine(datetime(2026, 11, 20, 14, 5, 33, tzinfo=UTC), "feedback", "258c7280", "Run it."),
        ),
        (
            "* 00:00:00Z [user] I am here.  ",
            LogLine(datetime(2026, 11, 20, tzinfo=UTC), "user", "", "I am here."),
        ),
        ("- 24:00:00Z [user] x", None),
        ("- 14:05Z [user] x", None),
        ("- 14:05:33 [user] x", None),
        ("- 14:05:33Z [secret] x", None),
        ("- 14:05:33Z [user a b] x", None),
        (f"- 14:05:33Z [user {'a' * 65}] x", None),
        ("- 14:05:33Z [user] ", None),
        ("+ 14:05:33Z [user] x", None),
        ("x - 14:05:33Z [user] x", None),
        ("# 14:05:33Z", None),
    ],
)
def test_a_line_of_a_log_is_read_only_in_its_form(line: str, read: LogLine | None) -> None:
    assert read_line(line, DAY) == read


def test_a_line_is_written_in_utc_with_the_beginning_of_its_session() -> None:
    when = datetime(2026, 11, 21, 0, 5, 33, tzinfo=timezone(timedelta(hours=1)))
    line = LogLine(when, "project", "0123456789abcdef", "One\n  two.")
    assert line.render() == "- 23:05:33Z [project 01234567] One two."
    assert line.path == "logs/2026/11/2026-11-20.md"
    assert LogLine(when, "project", "", "x").render() == "- 23:05:33Z [project] x"


@pytest.mark.parametrize(
    ("path", "day"),
    [
        ("main/logs/2026/11/2026-11-20.md", DAY),
        ("logs/2026/11/2026-11-20.md", DAY),
        ("main/archive/logs/2026/11/2026-11-20.md", DAY),
        ("main/logs/2026/11/2026-12-20.md", None),
        ("main/logs/2026/12/2026-11-20.md", None),
        ("main/logs/2026/02/2026-02-30.md", None),
        ("main/xlogs/2026/11/2026-11-20.md", None),
        ("main/logs/2026/11/2026-11-20.md.md", None),
        ("main/a.md", None),
    ],
)
def test_a_log_is_named_by_its_day(path: str, day: date | None) -> None:
    assert day_of(path) == day


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Ship. **Why:** so. **How to apply:** now.", ("Ship.", "**Why:** so.", "**How to apply:** now.")),
        ("Ship.  **why:**  so", ("Ship.", "**why:** so")),
        ("Ship **Whyever:** so", ("Ship **Whyever:** so",)),
        ("**Why:** so", ("**Why:** so",)),
        ("Ship.**Why:** so", ("Ship.**Why:** so",)),
    ],
)
def test_a_fact_is_cut_into_what_it_states_and_its_reasons(text: str, said: tuple[str, ...]) -> None:
    assert statements(text) == said


def test_a_line_is_known_by_all_that_it_says() -> None:
    line = "- 14:05:33Z [project ab] Ship  it. **Why:** so."
    whole = "14:05:33Z [project ab] Ship it. **Why:** so."
    assert line_keys(line) == (whole, "Ship it. **Why:** so.", "Ship it.", "**Why:** so.")
    assert line_keys("- 14:05:33Z [project] Ship.") == ("14:05:33Z [project] Ship.", "Ship.")
    assert line_keys("free  text") == ("free text",)
    assert fact_keys(line) == ("Ship it. **Why:** so.", "Ship it.") and fact_keys("free") == ()
    assert fact_keys(f"  {line}") == (), "what stands below a line is no line"
    assert fact_of(whole) == "Ship it. **Why:** so." and fact_of("free") == ""


def test_facts_are_claims_line_by_line_and_free_text_by_its_blocks() -> None:
    text = "- 10:00:00Z [project] One.\nmore\nof it\n\n- an item\n- 11:00:00Z [project] One.\n"
    assert [claim.text for claim in log_claims(LOG, text.encode())] == [
        "- 10:00:00Z [project] One.", "more\nof it", "- an item", "- 11:00:00Z [project] One.",
    ]  # fmt: skip


def test_a_fact_is_found_by_its_reference() -> None:
    data = b"- 10:00:00Z [project] One.\n- 11:00:00Z [project] Two.\n"
    for claim, line in facts(LOG, data):
        assert fact_in(f"{LOG}#{claim.short}", data) == (claim, line)
    assert fact_in(f"{LOG}#{'0' * 12}", data) is None


def test_places_of_logs() -> None:
    archived = LOG.replace("main/", "main/archive/")
    assert other_place(LOG) == archived and other_place(archived) == LOG and other_place("x") == ""
    assert stones_of(archived) == "main/.tombstones"
    assert is_log(LOG) and is_log(archived)
    assert not is_log(LOG.partition("/")[2].replace("logs/", "")) and not is_log(f".x/{LOG}")
    assert (
        log_claims("main/a.md", b"- 14:05:33Z [project] x\n") == () and facts("main/a.md", b"- a\n") == ()
    )


def test_lines_that_were_taken_out_are_told_and_put_back_unless_forgotten() -> None:
    before = "# Day\n- 10:00:00Z [project] One.\nfollows\n\n- 11:00:00Z [project] Two.\n"
    after = "- 12:00:00Z [project] New.\n"
    assert lost_lines(before, after) == (
        "# Day",
        "- 10:00:00Z [project] One.",
        "follows",
        "- 11:00:00Z [project] Two.",
    )
    assert lost_lines("a  \nb\n", "a\nb  \n") == ()
    line = "- 10:00:00Z [project] One.\n"
    assert with_lost(f"{line}- 11:00:00Z [project] Two.\n", f"{line}follows\n", ["follows"]) == (
        f"{line}follows\n- 11:00:00Z [project] Two.\n"
    )
    stone = tombstone.bury("Two.", "a1" * 16, "2026-11-20", "forgot").line()
    rejected = tombstone.bury("One.", "a1" * 16, "2026-11-20", "rejected").line()
    assert taken_out(before, after, stone + rejected) == lost_lines(before, after)[:3]
    assert taken_out(before, before, "") == ()
    files = with_every_line(
        {LOG: before.encode()}, {LOG: after.encode()}, {"main/.tombstones": stone.encode()}
    )
    assert files[LOG].decode() == "# Day\n- 10:00:00Z [project] One.\nfollows\n" + after
    archived = LOG.replace("main/", "main/archive/")
    moved = {archived: before.encode()}
    assert with_every_line({LOG: before.encode()}, moved, {}) == moved
    assert with_every_line({LOG: before.encode()}, {}, {})[LOG].decode() == before.replace("\n\n", "\n")
