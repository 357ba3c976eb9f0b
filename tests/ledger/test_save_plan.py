"""What a commit of edits says of itself: which memories came, moved, changed and went."""

from __future__ import annotations

import pytest

from gitmem.core.names import archive_path
from gitmem.ledger.save_plan import describe

OLD = f"main/{archive_path('a.md')}"


def memory(name: str, text: str) -> bytes:
    return f"---\nname: {name}\ndescription: About {name}\ntype: project\n---\n\n{text}\n".encode()


A, B, C = (memory(name, f"Fact of {name}.") for name in "abc")
MORE = memory("a", "Fact of a.\n\nAnd another.")


@pytest.mark.parametrize(
    ("before", "edits", "op", "subject"),
    [
        ({}, {"main/a.md": A}, "add", "Add a"),
        ({"main/a.md": A}, {"main/a.md": MORE}, "update", "Update a"),
        ({"main/a.md": A}, {"main/a.md": None}, "delete", "Delete a"),
        ({"main/a.md": A}, {"main/a.md": None, "main/b.md": B}, "add", "Add b, delete a"),
        ({"main/a.md": A, "main/b.md": B}, {"main/a.md": None, "main/b.md": C},
         "update", "Update c, delete a"),
        ({"main/a.md": A}, {"main/a.md": None, "main/z.md": A}, "update", "Rename a.md to z.md"),
        ({"main/a.md": A, "main/b.md": B}, {"main/a.md": None, "main/z.md": A, "main/b.md": None},
         "update", "Rename a.md to z.md, delete b"),
        ({OLD: A}, {OLD: None, "main/a.md": MORE}, "update", "Update a"),
        ({}, {f"main/{name}.md": memory(name, name) for name in "abc"}, "add", "Add a, b, c"),
        ({}, {f"main/{name}.md": memory(name, name) for name in "abcd"}, "add", "Add 4 memories"),
        ({}, {"main/MEMORY.md": b"- [a](a.md)\n"}, "update", "Update the index"),
        ({}, {"main/logs/2026/11/2026-11-20.md": b"- 09:00:00Z [user] A.\n"}, "update", "Update the log"),
    ],
)  # fmt: skip
def test_a_commit_says_what_came_moved_changed_and_went(
    before: dict[str, bytes], edits: dict[str, bytes | None], op: str, subject: str
) -> None:
    assert describe(edits, before) == (op, subject)
