"""Rules about where things lie: paths, kinds of entries, names that collide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gitmem.core.daily_log import day_of
from gitmem.core.names import is_agent_folder, is_memory_file, log_path
from gitmem.core.tombstone import FILE as TOMBSTONES
from gitmem.guard.lookalike import skeleton
from gitmem.guard.paths import check_path
from gitmem.share.check.finding import Finding, quoted
from gitmem.share.check.side import File, Side
from gitmem.store.repository import BLOB, EXECUTABLE, LINK, SUBMODULE
from gitmem.store.snapshots import STATE_FILE

_MODES: Mapping[int, str] = {
    LINK: "is a symbolic link, which could lead anywhere",
    SUBMODULE: "is a submodule, which no memory needs",
    EXECUTABLE: "can be executed, which no memory needs: git update-index --chmod=-x",
}


def judge_place(side: Side, path: str, file: File) -> Iterator[Finding]:
    """Judges the path and mode of one file."""
    reason = check_path(path)
    if reason:
        yield Finding(path, 1, "path", reason)
    if file.mode != BLOB:
        yield Finding(path, 1, "path", _MODES.get(file.mode, f"has the unknown mode {file.mode:o}"))
    folder, name = _inside(side, path)
    if not folder:
        head = path.split("/", 1)[0]
        if "/" in path and not side.snapshots and not head.startswith(".") and not is_agent_folder(head):
            yield Finding(path, 1, "path", f"no agent has the folder {quoted(head)}")
        return
    yield from _foreign(side, path, name)


def collisions(side: Side) -> dict[str, frozenset[str]]:
    """Paths that a file system or a reader takes for one another: what they share to the paths."""
    found: dict[str, set[str]] = {}
    for path in side.files:
        parts, steps = path.split("/"), [skeleton(part) for part in path.split("/")]
        for length in range(1, len(parts) + 1):
            found.setdefault("/".join(steps[:length]), set()).add("/".join(parts[:length]))
    return {shared: frozenset(paths) for shared, paths in found.items() if len(paths) > 1}


def judge_collisions(before: Side, after: Side) -> Iterator[Finding]:
    """Finds names that became ambiguous."""
    known = collisions(before)
    for shared, paths in collisions(after).items():
        fresh = paths - known.get(shared, frozenset())
        if not fresh:
            continue
        new = [path for path in sorted(paths) if path not in before.files and path in fresh]
        shown = new[-1] if new else max(fresh)
        others = ", ".join(quoted(path) for path in sorted(paths) if path != shown)
        yield Finding(
            shown, 1, "collision", f"is easily taken for {others}, on some systems it is the same file"
        )


def _foreign(side: Side, path: str, name: str) -> Iterator[Finding]:
    """What lies in an agent's folder and is neither memory nor gitmem's own."""
    if side.snapshots:
        if name != STATE_FILE and name != "MEMORY.md" and not is_memory_file(name):
            yield Finding(path, 1, "foreign", "is not taken in with a snapshot", "notice")
        return
    flat = name.split("/")
    day = day_of(name)
    fits = (
        name in ("MEMORY.md", TOMBSTONES)
        or (day is not None and name.removeprefix("archive/") == log_path(day))
        or is_memory_file(name)
        or (len(flat) == 3 and flat[0] == "archive" and is_memory_file(flat[2]))
    )
    if not fits:
        yield Finding(
            path, 1, "foreign", "is neither a memory nor gitmem's own, so no agent reads it", "notice"
        )


def _inside(side: Side, path: str) -> tuple[str, str]:
    """The agent's folder that a path lies in, and the rest; empty for none."""
    for cut in (i for i, char in enumerate(path) if char == "/"):
        if path[:cut] in side.folders:
            return path[:cut], path[cut + 1 :]
    return "", path
