"""What a dream made unfindable, told over a search whose answers are written down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from gitmem.core.account import references
from gitmem.core.limits import CANDIDATES
from gitmem.core.merge import Files
from gitmem.core.trailers import Fate
from gitmem.rules.findable import RecallWitness, lost_to_search

Answers = Mapping[tuple[str, bool], Sequence[str]]
"""A question, and whether the tree after is asked, to the paths that are found."""


class Written:
    """A search that answers what was written down."""

    def __init__(self, before: Files, after: Files, answers: Answers) -> None:
        self.before, self.after, self.answers = before, after, answers
        paths = {*before, *after}
        self.changed = sorted(path for path in paths if before.get(path) != after.get(path))

    def first(self, query: str, *, after: bool) -> Sequence[str]:
        said = [*self.before.values(), *self.after.values()]
        assert query == "q" or any(f'" {query} "'.encode() in one for one in said), "nobody asks that"
        return self.answers.get((query, after), ())[:CANDIDATES]


def memory(description: str, body: str = "Ship it.") -> bytes:
    head = f'description: " {description} "\n' if description else ""
    return f"---\nname: a\n{head}type: project\n---\n\n{body}\n".encode()


def told(
    before: Files,
    after: Files,
    answers: Answers,
    *fates: Fate,
    asked: Sequence[RecallWitness] = (),
) -> list[str]:
    """What is found."""
    found = lost_to_search(before, after, fates, asked, search=lambda old, new: Written(old, new, answers))
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
        ("", {("Old", False): [B] * 5 + [A]}, []),
        ("", {("Old", True): [B] * 5 + [A]}, [f"{OLD}; {B} comes first"]),
        ("New", {("Old", True): [A]}, ['main/a.md: its new description, "New", no longer finds it']),
        ("New", {("Old", True): [A], ("New", True): [A]}, []),
    ],
)
def test_what_a_description_found_it_finds_again(after: str, answers: Answers, said: list[str]) -> None:
    before, now = ({A: one, B: memory("")} for one in (memory("Old"), memory(after, "Ship.")))
    assert told(before, now, {("Old", False): [A], **answers}) == said


NEW = 'main/a.md: its own description, "New", no longer finds it'
SHOWN = f'main/a.md: a recall that showed it, "q", no longer finds it; {B} comes first'
RECALL = (RecallWitness("q", A), RecallWitness("q", B))


def test_a_new_memory_is_found_by_its_own_description() -> None:
    assert told({}, {A: memory("New")}, {}) == [NEW]
    for found in ([B], [B] * 5 + [A]):
        assert told({}, {A: memory("New")}, {("New", True): found}) == [f"{NEW}; {B} comes first"]
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


def test_the_neighbours_of_what_differs_are_looked_after_by_their_own_description() -> None:
    """The first five that stood before and stand after."""
    near = [f"main/n{number}.md" for number in range(6)]
    standing = {path: memory(f"Of {path}") for path in near}
    before, after = {**standing, A: memory("Old", "One.")}, {**standing, A: memory("Old", "Two.")}
    answers = {(f"Of {path}", False): [path] for path in near}
    answers |= {("Old", False): [A, *near], ("Old", True): [A]}
    lost = [f'{path}: its own description, "Of {path}", no longer finds it' for path in near[:5]]
    assert told(before, after, answers) == lost


def test_what_only_an_index_says_by_now_is_sought_nowhere() -> None:
    before, after = {A: memory("Old", "One.")}, {"main/MEMORY.md": b"One.\n"}
    assert told(before, after, {("Old", False): [A]}) == told(before, before, {}) == []


def test_words_and_paths_are_told_as_far_as_they_go_on_a_line() -> None:
    path, words = f"main/{'p' * 200}.md", "w" * 200
    (said,) = told({}, {path: memory(words)}, {(words, True): [path[:-3] + "q.md"]})
    assert f'"{words[:159]}…", no longer finds it; ' in said
    assert said.endswith(f"; {path[:119]}… comes first")


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


def test_what_is_lost_is_told_in_the_order_of_paths() -> None:
    files = {f"main/{name}.md": memory(f"Of {name}") for name in "hgfedcba"}
    assert [one.partition(":")[0] for one in told({}, files, {})] == sorted(files)
