"""Logs that are aged out: one side moves them, the other appends, and no line is lost or doubled."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.claim import _parsed_starts, parse_body
from gitmem.core.merge import merge_trees
from gitmem.core.names import agent_folder, archived_path, hot_path, kind, twins

HOT = "main/logs/2026/11/2026-11-20.md"
COLD = "main/archive/logs/2026/11/2026-11-20.md"
LINES = [f"- 0{hour}:00:00Z [project abcd1234] Fact {hour}." for hour in range(8)]

some = st.sets(st.sampled_from(LINES))


def text(lines: set[str]) -> bytes:
    return "".join(f"{line}\n" for line in sorted(lines)).encode()


def at(place: str, lines: set[str]) -> dict[str, bytes]:
    return {place: text(lines)} if lines else {}


def test_an_archived_log_is_a_log_of_its_agent() -> None:
    assert kind(COLD) == "log" and agent_folder(COLD) == agent_folder(HOT) == "main"
    assert (hot_path(COLD), archived_path(HOT)) == (HOT, COLD)
    assert (hot_path(HOT), archived_path(COLD)) == (None, None)
    assert twins({HOT}) == {COLD}, "it has no line in an index"
    assert archived_path("main/logs/2026/11/2026-12-20.md") is None, "no day of that folder"


@given(some, some, some, st.sampled_from([HOT, COLD]), st.sampled_from([HOT, COLD]))
def test_no_line_is_lost_or_doubled_wherever_a_log_stands(
    base: set[str], one: set[str], other: set[str], here: str, there: str
) -> None:
    """Sides only append, and each may have archived the log."""
    sides = [at(HOT, base), at(here, base | one), at(there, base | other)]
    merged = merge_trees(*sides).files
    assert merged == merge_trees(sides[0], sides[2], sides[1]).files
    lines = [line for data in merged.values() for line in data.decode().splitlines()]
    assert lines == sorted(base | one | other)
    assert len(merged) <= 1 and set(merged) <= {HOT, COLD}
    again = merge_trees(sides[1], merged, sides[1]).files
    assert again == merged


def test_what_was_appended_elsewhere_brings_the_log_back() -> None:
    old, more = {LINES[0]}, {LINES[0], LINES[1]}
    assert merge_trees(at(HOT, old), at(COLD, old), at(HOT, more)).files == at(HOT, more)
    assert merge_trees(at(HOT, old), at(COLD, old), at(HOT, old)).files == at(COLD, old)


ITEM = st.text(st.sampled_from("ab1 -*_`[]()<>#|:.~\\\"'&!"), max_size=12)


@given(st.lists(st.tuples(st.sampled_from("-*+"), st.sampled_from(["a", "7", "**b", "14:05"]), ITEM)))
def test_flat_items_are_cut_without_the_parser_as_with_it(items: list[tuple[str, str, str]]) -> None:
    """A hook reads logs: loading the parser would cost it more than all else."""
    lines = [f"{mark} {first}{rest}\n" for mark, first, rest in items]
    claims = parse_body("".join(lines)).claims
    assert [claim.text for claim in claims] == [line.rstrip("\n") for line in lines]
    assert _parsed_starts(lines) == [(number, True) for number in range(len(lines))]
