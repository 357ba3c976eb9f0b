"""Commits with what they changed, from one git process: the same as told by the trees, on both backends."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from test_repository import Ground, command, ground
from test_walks import Line, line

from gitmem.core.errors import MissingObject
from gitmem.git.repository import CommitDiff
from gitmem.search.ages import torn_steps
from gitmem.search.trees import is_memory

__all__ = ["command", "ground", "line"]


def told(line: Line, tip: str, *paths: str) -> list[CommitDiff]:
    return list(line.store.steps(tip, paths))


@pytest.fixture
def history(line: Line) -> list[str]:
    """A root, two lines, their merge, a merge that takes one side alone, a deletion, an empty commit."""
    made = [line.put({"main/a.md": "1", "main/ä b.md": "1", "main/logs/x.txt": "1"})]
    made.append(
        line.put({"main/a.md": "2"}, made[0], message="Learn\n\n:100644 is no row\n\nGitmem-Op: add")
    )
    made.append(line.put({"main/ä b.md": "2\n", "other/c.md": "1"}, made[0]))
    made.append(line.put({"main/ä b.md": "3"}, made[1], made[2]))
    made.append(line.put({}, made[3], made[2]))
    made.append(line.put({"main/a.md": None}, made[4], message=""))
    made.append(line.put({}, made[5]))
    return made


def test_steps_are_those_that_the_trees_tell(line: Line, history: list[str]) -> None:
    found = told(line, history[-1])
    kept = [
        CommitDiff(s.commit, tuple(tuple(d for d in one if is_memory(d[0])) for one in s.before))
        for s in found
    ]
    slow = list(torn_steps(line.store, history[-1]))
    assert {s.commit.oid: s.commit for s in found} == {s.commit.oid: s.commit for s in slow}
    as_sets = [{s.commit.oid: [set(one) for one in s.before] for s in steps} for steps in (kept, slow)]
    assert as_sets[0] == as_sets[1]
    order = [s.commit.oid for s in found]
    assert all(order.index(p) < order.index(s.commit.oid) for s in found for p in s.commit.parents)


def test_steps_of_a_path_are_those_in_which_it_differs_from_any_parent(line: Line, history) -> None:
    found = told(line, history[-1], "main/a.md")
    assert {s.commit.oid for s in found} == {history[n] for n in (0, 1, 3, 4, 5)}
    assert {path for s in found for one in s.before for path, _, _ in one} == {"main/a.md"}


def test_what_is_known_is_left_out_and_what_is_gone_counts_for_nothing(line: Line, history) -> None:
    gone = "1" * line.store.hex_length
    steps = line.store.steps(history[-1], without=[history[4], gone])
    assert [s.commit.oid for s in steps] == history[5:]
    with pytest.raises(MissingObject):
        list(line.store.steps(gone))


def test_configuration_changes_no_step(ground: Ground, line: Line, history: list[str]) -> None:
    before = told(line, history[-1])
    for setting in (
        ("log.decorate", "full"),
        ("log.abbrevCommit", "true"),
        ("log.diffMerges", "first-parent"),
        ("log.showRoot", "false"),
        ("notes.displayRef", "refs/notes/*"),
        ("i18n.logOutputEncoding", "latin-1"),
        ("diff.renames", "copies"),
        ("color.ui", "always"),
    ):
        ground.git("config", *setting)
    assert told(line, history[-1]) == before
