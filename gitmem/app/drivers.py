"""What git runs by itself: `gitmem merge-driver %O %A %B %P`, and `gitmem textconv FILE`.

A merge of git's own reaches gitmem's: no git, no network, one file. What git shows of a memory in `git
diff`, `git show` and `git log -p` is for reading only: git never makes a patch of it that is meant to be
applied (`git format-patch`, `git add -p`, `git stash`). Nothing of it is kept: a purge need not look
there.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from gitmem.core.errors import UsageError

CONFLICT = 1


def merge(argv: Sequence[str]) -> int:
    """Merges one file for git: reads base, ours and theirs, writes the result over ours.

    Args:
        argv: paths of the three files, then the path in the tree, as git fills them in.

    Returns:
        0; 1 where a person has to merge, with ours untouched, as git expects of a driver.

    Raises:
        UsageError: the words do not fit.
    """
    if len(argv) != 4:
        raise UsageError("the merge driver's words are: gitmem merge-driver %O %A %B %P")
    try:
        base, ours, theirs = (Path(name).read_bytes() for name in argv[:3])
        merged = merge_file(argv[3], base, ours, theirs)
        if merged is None:
            sys.stderr.write(f"gitmem: {argv[3]!a} cannot be merged without losing a claim\n")
            return CONFLICT
        if merged != ours:
            Path(argv[1]).write_bytes(merged)
    except OSError as error:
        sys.stderr.write(f"gitmem: {argv[3]!a} was not merged: {error.strerror}\n")
        return CONFLICT
    return 0


def merge_file(path: str, base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """Merges one file by what its path says it is.

    Git hands an empty base where both sides added the file.

    Returns:
        The merged content; None where no single file can hold both sides.
    """
    if PurePosixPath(path).name == "snapshot.json":
        return _newest(base, ours, theirs)
    from gitmem.core.merge import merge_trees
    from gitmem.core.names import kind

    before = {path: base} if base else {}
    merged = merge_trees(before, {path: ours}, {path: theirs})
    if not merged.split:
        return merged.files.get(path)
    return _united(path, ours, theirs) if kind(path) == "memory" else None


def _united(path: str, ours: bytes, theirs: bytes) -> bytes | None:
    """Two memories at one path: a driver cannot add a file, so both stand in one, their names disputed."""
    from gitmem.core.memory import Memory, parse
    from gitmem.core.merge import merge_memory

    both = merge_memory(Memory(path, None, ""), parse(path, ours), parse(path, theirs), path)
    return both.memory.render() if both.memory else None


def _newest(base: bytes, ours: bytes, theirs: bytes) -> bytes:
    if base == ours or ours == theirs:
        return theirs
    if base == theirs:
        return ours
    return max(ours, theirs, key=lambda data: (_moment(data), data))


def _moment(data: bytes) -> float:
    from gitmem.rules.snapshot import parse_state, updated_at  # memories have none

    moment = updated_at(parse_state(data) or {})
    return -1.0 if moment is None else moment


def show(argv: Sequence[str]) -> int:
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
    from gitmem.flows.redaction import configure, shown_bytes  # a merge shows nothing

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
