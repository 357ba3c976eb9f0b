"""What `.gitattributes` says where memory lies: how git merges and shows it, with gitmem and without.

A line may end in the attribute `gitmem-merge`. Where gitmem is installed, the clone's `info/attributes`
defines it as a macro for `merge=gitmem`; elsewhere it means nothing, and what stands before it counts. So
nothing that a clone sets reaches a `MEMORY.md` which is no memory. `merge=gitmem` itself is a text merge to
a git that has no such driver.
"""

from __future__ import annotations

FILE = ".gitattributes"

MACRO = "gitmem-merge"
"""Attribute that stands for `merge=gitmem` in a clone with gitmem, and for nothing in another."""

BRANCH = (
    "*.md merge=gitmem diff=gitmem",
    f"*/**/logs/*/*/*.md merge=union diff=gitmem {MACRO}",
    f"MEMORY.md merge=union diff=gitmem {MACRO}",
    f".tombstones merge=union {MACRO}",
)
"""Lines at the root of a memory branch: without gitmem, an index never conflicts."""

SNAPSHOTS = (
    "* -text",
    "*.md merge=gitmem diff=gitmem",
    f"MEMORY.md merge=union diff=gitmem {MACRO}",
    f".tombstones merge=union {MACRO}",
    f"snapshot.json merge=union {MACRO}",
)
"""Lines in the folder that holds the snapshots: their digest is over bytes, so line ends stay.

Without gitmem, both sides' `updatedAt` stand in one `snapshot.json`, which is JSON still; the newer counts.
"""

CLONE = (
    f"[attr]{MACRO} merge=gitmem",
    "/main/*.md diff=gitmem",
)
"""Lines of a clone's `info/attributes`.

Attributes are read from what is checked out, so `git show gitmem/project` run beside the code would not
know how to show memory; these lines tell it for the agent that everybody has.
"""

BRANCH_TEXT = "".join(f"{line}\n" for line in BRANCH)
SNAPSHOTS_TEXT = "".join(f"{line}\n" for line in SNAPSHOTS)


def complete(text: str, lines: tuple[str, ...]) -> str:
    """The file with all of these lines.

    They stand in front, where each line of the person's own that follows wins over them.

    Args:
        text: the file as it is; empty for none.
        lines: `BRANCH` or `SNAPSHOTS`.
    """
    present = text.splitlines()
    if all(line in present for line in lines):
        return text
    own = [line for line in text.splitlines(keepends=True) if line.rstrip("\r\n") not in lines]
    return "".join(f"{line}\n" for line in lines) + "".join(own)
