"""Daily logs as lines: every line once, in order, whoever merges what and when."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import examples

from gitmem.core import tombstone
from gitmem.core.daily_log import (
    facts,
    in_order,
    is_timed,
    log_claims,
    lost_lines,
    merge_lines,
    split,
    with_lines,
    without_lines,
)
from gitmem.core.merge import agent_folder, merge_trees
from gitmem.core.tidy import log_in_order

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
    assert log_in_order(doubled.encode()).decode() == (
        "- 09:00:00Z [project] a\n- 10:00:00Z [project] b\n  why\n"
    )
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
    assert by_git != merged == log_in_order(by_git.encode()).decode()


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
