"""Merges in which two files want one path, or one moves to where another stands: no claim may go."""

from __future__ import annotations

import hashlib

from gitmem.core.memory import create
from gitmem.core.merge import merge_trees
from gitmem.core.names import archive_path


def memory(name: str, *claims: str) -> bytes:
    return create(name, f"About {name}", "feedback", "\n\n".join(claims), "x.md").render()


LARGE = memory("large", "The first claim of the large one.", "Its second.")
SMALL = memory("small", "Gamma.")
ASIDE = f"main/x-{hashlib.sha256(LARGE).hexdigest()[:6]}.md"
EDITED = memory("large", "The first claim of the large one.", "Its second.", "One that was added since.")


def test_a_file_that_moved_aside_before_and_was_edited_since_keeps_its_edit() -> None:
    """A third clone still has the file that two others split off, and edited where it went."""
    there = {"main/x.md": SMALL, ASIDE: EDITED}
    for sides in (({"main/x.md": LARGE}, there), (there, {"main/x.md": LARGE})):
        merged = merge_trees({}, *sides)
        assert merged.files == there
        assert merged.split == (ASIDE,)


def test_a_file_that_moves_aside_leaves_another_memory_of_that_path_whole() -> None:
    other = memory("other", "It stands there and has another name.")
    there = {"main/x.md": SMALL, ASIDE: other}
    one = merge_trees({}, {"main/x.md": LARGE}, there).files
    assert one == merge_trees({}, there, {"main/x.md": LARGE}).files
    assert sorted(one.values()) == sorted([SMALL, LARGE, other])


def test_a_side_that_holds_a_memory_hot_and_archived_keeps_what_moved_aside_before() -> None:
    side = {"main/x.md": SMALL, f"main/{archive_path('x.md')}": LARGE, ASIDE: EDITED}
    files = merge_trees({}, side, {}).files
    assert EDITED in files.values()
    assert SMALL in files.values()


def test_a_memory_that_stands_where_the_other_side_moved_one_to_stays() -> None:
    """Ours renamed b to a and made a new c; theirs renamed b to c."""
    moved = memory("b", "One fact of b.", "Another fact of b.")
    new = memory("c", "A fact that stands nowhere else.")
    ours, theirs = {"main/a.md": moved, "main/c.md": new}, {"main/c.md": moved}
    files = merge_trees({"main/b.md": moved}, ours, theirs).files
    assert files == merge_trees({"main/b.md": moved}, theirs, ours).files
    assert {moved, new} <= set(files.values())
