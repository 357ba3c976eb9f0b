"""`gitmem textconv FILE`: what git shows of a memory in `git diff`, `git show` and `git log -p`.

For reading only: git never makes a patch of it that is meant to be applied (`git format-patch`, `git add
-p`, `git stash`). Nothing of it is kept, so that a purge need not look for it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from gitmem.core.errors import UsageError
from gitmem.flows.exit import configure, shown_bytes


def main(argv: Sequence[str]) -> int:
    """Writes a file to stdout, claim by claim where it is a memory.

    Args:
        argv: the one path that git gives; its last part is that of the file in the tree.

    Raises:
        UsageError: the words do not fit.
        OSError: the file cannot be read.
    """
    if len(argv) != 1:
        raise UsageError("git shows one file at a time: gitmem textconv FILE")
    data = Path(argv[0]).read_bytes()
    configure(_allowed)
    sys.stdout.flush()
    sys.stdout.buffer.write(shown_bytes(shown(Path(argv[0]).name, data)))
    return 0


def shown(name: str, data: bytes) -> bytes:
    """The text that git shows for a file.

    Args:
        name: its name without folders, which is all that git tells.

    Returns:
        The bytes as they are for an index, a log, and a file that has not the head of a memory.
    """
    from gitmem.core.memory import memory_text, parse
    from gitmem.core.names import kind
    from gitmem.core.text import encode

    if kind(name) != "memory":
        return data
    memory = parse(name, data)
    if memory.front is None or not (memory.front.text("name") or memory.front.text("description")):
        return data
    return encode(memory_text(memory))


def _allowed() -> frozenset[str]:
    from gitmem.app.context import real_edges
    from gitmem.flows.context import workspace_at  # few hold a secret

    return workspace_at(real_edges()).allowed
