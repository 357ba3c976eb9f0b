"""What a dream made unfindable, told over a search whose answers are written down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from gitmem.core.account import references
from gitmem.core.memory import Memory
from gitmem.core.merge import Files
from gitmem.core.trailers import Fate
from gitmem.rules.findable import (
    NEIGHBOURS,
    FoundVersion,
    RecallWitness,
    lost_to_search,
    surely_among,
    surely_not_among,
)

Answers = Mapping[tuple[str, bool], Sequence[str]]
"""A question, and whether the tree after is asked, to the paths that are found."""


class Written:
    """A search that answers what was written down, and takes no short cut."""

    def __init__(
        self, before: Files, after: Files, answers: Answers, rows: Sequence[FoundVersion], moved: bool
    ) -> None:
        self.before, self.after, self.answers = before, after, answers
        self.rows, self.moved = rows, moved
        paths = {*before, *after}
        self.changed = sorted(path for path in paths if before.get(path) != after.get(path))

    def look(self, query: str) -> Sequence[FoundVersion]:
        said = [*self.before.values(), *self.after.values()]
        assert query == "q" or any(f'" {query} "'.encode() in one for one in said), "nobody asks that"
        return self.rows

    def first(self, query: str, *, after: bool, most: int) -> Sequence[str]:
        return self.answers.get((query, after), ())[:most]

    def may_lose(self, memory: Memory) -> bool:
        return self.moved


def memory(description: str, body: str = "Ship it.") -> bytes:
    head = f'description: " {description} "\n' if description else ""
    return f"---\nname: a\n{head}type: project\n---\n\n{body}\n".encode()


def told(
    before: Files,
    after: Files,
    answers: Answers,
    *fates: Fate,
    asked: Sequence[RecallWitness] = (),
    rows: Sequence[FoundVersion] = (),
    moved: bool = True,
) -> list[str]:
    """What is found; `rows` is what every look answers, `moved` whether a neighbour may be lost at all."""
    found = lost_to_search(
        before, after, fates, asked, search=lambda old, new: Written(old, new, answers, rows, moved)
    )
    assert all((one.line, one.rule, one.level) == (1, "found", "error") for one in found)
    return [str(one) for one in found]


A, B, C, D = (f"main/{name}.md" for name in "abcd")
OLD = 'main/a.md: the description that it had, "Old", no longer finds it'


@pytest.mark.parametrize(
    ("after", "answers", "said"),
    [
        ("Old", {("Old", True): [A]}, []),
        ("", {}, [OLD]),
        ("", {("Old", True): [B]}, [f"{OLD}; {B} comes first"]),
        ("", {("Old", False): [A, B], ("Old", True): [B, C]}, [f"{OLD}; {C} comes first"]),
        ("", {("Old", False): [B], ("Old", True): [B]}, []),
        ("New", {("Old", True): [A]}, ['main/a.md: its new description, "New", no longer finds it']),
        ("New", {("Old", True): [A], ("New", True): [A]}, []),
    ],
)
def test_what_a_description_found_it_finds_again(after: str, answers: Answers, said: list[str]) -> None:
    assert told({A: memory("Old")}, {A: memory(after, "Ship.")}, {("Old", False): [A], **answers}) == said


NEW = 'main/a.md: its own description, "New", no longer finds it'
SHOWN = f'main/a.md: a recall that showed it, "q", no longer finds it; {B} comes first'
RECALL = (RecallWitness("q", A), RecallWitness("q", B))


def test_a_new_memory_is_found_by_its_own_description() -> None:
    assert told({}, {A: memory("New")}, {}) == [NEW]
    assert told({}, {A: memory("New")}, {("New", True): [B]}) == [f"{NEW}; {B} comes first"]
    assert told({}, {A: memory("New")}, {("New", True): [B, A]}) == told({}, {A: memory("")}, {}) == []


@pytest.mark.parametrize(
    ("before", "after", "lost"), [(0, 1, 0), (0, 5, 1), (7, 7, 0), (7, 8, 1), (50, 50, 0)]
)
def test_what_a_recall_showed_is_shown_as_far_down_as_it_was(before: int, after: int, lost: int) -> None:
    """Of the first fifty; among the first five wherever it stood there."""
    others = [B] * 50
    answers = {("q", side): [*others[:at], A] for side, at in ((False, before), (True, after))}
    files = {A: memory("")}, {A: memory("", "Ship.")}
    assert told(*files, answers, asked=RECALL) == [SHOWN] * lost


@pytest.mark.parametrize("after", [True, False])
def test_what_is_surely_found_is_looked_for_no_further(after: bool) -> None:
    """It has to be in the tree after."""
    rows = [FoundVersion(A, not after, after, 3, 3)]
    lost = [] if after else [OLD]
    assert told({A: memory("Old")}, {A: memory("Old", "S")}, {("Old", False): [A]}, rows=rows) == lost
    assert told({}, {A: memory("New")}, {}, rows=rows) == ([] if after else [NEW])
    files = {A: memory("")}, {A: memory("", "S")}
    answers = {("q", False): [A], ("q", True): [B]}
    assert told(*files, answers, asked=RECALL, rows=rows) == ([] if after else [SHOWN])


def test_the_neighbours_of_what_differs_are_looked_after_by_their_own_description() -> None:
    """The first five that stood before and stand after, unless nothing new can come before them."""
    near = [f"main/n{number}.md" for number in range(NEIGHBOURS + 1)]
    standing = {path: memory(f"Of {path}") for path in near}
    rows = [FoundVersion(path, True, True, 0, 0) for path in near]
    rows[:0] = [FoundVersion(path, side, not side, 9, 0) for path, side in ((B, True), (C, False))]
    before, after = {**standing, A: memory("", "One.")}, {**standing, A: memory("Old", "One.")}
    answers = {(f"Of {path}", False): [path] for path in near} | {("Old", True): [A]}
    lost = [f'{path}: its own description, "Of {path}", no longer finds it' for path in near[:NEIGHBOURS]]
    assert told(before, after, answers, rows=rows) == lost
    assert told(before, after, answers, rows=rows, moved=False) == []


def test_fates_in_a_ring_lead_nowhere() -> None:
    before, after = {A: memory("Old", "One.")}, {B: memory("", "One.")}
    (one,) = (ref for ref, claim in references(before).items() if claim.text == "One.")
    ring = (
        Fate("merged", one, f"{D}#1"),
        Fate("merged", f"{D}#1", f"{D}#2"),
        Fate("merged", f"{D}#2", f"{D}#1"),
    )
    for now, lost in ((B, []), (C, [f"{OLD}, nor {B}, which took its claims; {C} comes first"])):
        assert told(before, after, {("Old", False): [A], ("Old", True): [now]}, *ring) == lost


@pytest.mark.parametrize("home", [B, C, D])
def test_a_memory_that_went_is_sought_where_its_claims_went_and_went_on(home: str) -> None:
    """Of its two claims one went to b.md, the other by d.md, which went itself, to c.md."""
    before = {A: memory("Old", "One."), D: memory("", "Two.")}
    after = {B: memory("", "One."), C: memory("", "Two.")}
    (one,) = (ref for ref, claim in references({A: before[A]}).items() if claim.text == "One.")
    (hook,) = references({A: before[A]}).keys() - {one}
    fates = (
        Fate("merged", one, f"{B}#1"),
        Fate("merged", hook, f"{D}#2"),
        Fate("merged", f"{D}#2", f"{C}#3"),
    )
    said = told(before, after, {("Old", False): [A], ("Old", True): [home]}, *fates)
    lost = f"{OLD}, nor {B}, which took its claims; {D} comes first"
    assert said == ([lost] if home == D else [])


SCORED = ((A, 3, 3), (B, 2, 1), (C, 1.5, 0))
ROWS = [FoundVersion(path, True, True, score, bare) for path, score, bare in SCORED]


def test_the_short_cuts_are_sure_whatever_links_give() -> None:
    """A comes first; B may come behind C."""
    among = {(path, most) for path in (A, B, C, D) for most in (1, 2, 3)
             if surely_among(ROWS, {path}, most, after=True)}  # fmt: skip
    assert among == {(A, 1), (A, 2), (A, 3), (B, 3)}
    absent = {
        (path, most) for path in (A, B, C, D) for most in (1, 2) if surely_not_among(ROWS, path, most)
    }
    assert absent == {(B, 1), (C, 1), (D, 1)}


def test_what_is_lost_is_told_in_the_order_of_paths() -> None:
    files = {f"main/{name}.md": memory(f"Of {name}") for name in "hgfedcba"}
    assert [one.partition(":")[0] for one in told({}, files, {})] == sorted(files)
