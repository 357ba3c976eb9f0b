"""Where a file may stand: paths, kinds of entries, names that collide, files that git and hosts act on.

Trees come from remotes and models: none is trusted.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import unquote

from gitmem.core import attributes
from gitmem.core.daily_log import day_of
from gitmem.core.limits import PATH_BYTES, PATH_SEGMENTS
from gitmem.core.names import (
    FORMAT,
    FORMAT_FILE,
    FORMAT_TEXT,
    INDEX,
    TOMBSTONES,
    collision_key,
    hot_file,
    is_agent_folder,
    is_memory_file,
    log_path,
    skeleton,
    unsafe_segment,
)
from gitmem.core.text import beginning, decode
from gitmem.rules.rule import EMPTY, PLAIN, File, Finding, RuleContext, Side, new_ones, quote
from gitmem.rules.snapshot import STATE_FILE

EXECUTABLE = 0o100755
_MODES: Mapping[int, str] = {
    0o120000: "is a symbolic link, which could lead anywhere",
    0o160000: "is a submodule, which no memory needs",
    EXECUTABLE: "can be executed, which no memory needs: git update-index --chmod=-x",
}
_ACTED_ON = frozenset(
    {".gitattributes", ".gitignore", ".gitmodules", ".mailmap", ".lfsconfig", "codeowners"}
)
_OWN = {
    FORMAT_FILE: (FORMAT_TEXT,),
    attributes.FILE: (
        attributes.BRANCH_TEXT.encode(),
        attributes.SNAPSHOTS_TEXT.encode(),
    ),
}
_SAID = re.compile(r"^[ \t]*(format|epoch)[ \t]*=[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_DRIVE = re.compile(r"[A-Za-z]:")
_DECODE_ROUNDS = 3


def check_path(path: str) -> str | None:
    """Returns why a relative path may not be in a memory tree, or None where it may.

    Args:
        path: segments separated by `/`, as in a git tree.
    """
    if not path:
        return "the path is empty"
    if path.startswith(("/", "\\")) or _DRIVE.match(path):
        return "the path is absolute"
    segments = path.split("/")
    for segment in segments:
        reason = unsafe_segment(segment)
        if reason is not None:
            return f"the part {beginning(segment, 60)!a} {reason}"
    if len(segments) > PATH_SEGMENTS:
        return f"the path has more than {PATH_SEGMENTS} parts"
    if len(path.encode()) > PATH_BYTES:
        return f"the path is longer than {PATH_BYTES} bytes"
    plain = path if path.isascii() else unicodedata.normalize("NFKC", path)
    if "%" in plain and _hides_traversal(plain):
        return "the path hides a separator or a way out in percent signs"
    return None


def collision(paths: Iterable[str]) -> tuple[str, str] | None:
    """Returns two paths of one tree that read as the same one, since Unicode writes some letters twice.

    Those that differ in case alone are left to the file system: two people may well have named two memories
    so, and nobody takes one for the other.

    Args:
        paths: of one tree; folders on the way are looked at, too.
    """
    seen: dict[str, str] = {}
    for path in paths:
        whole = path
        while whole:
            known = seen.setdefault(whole.lower() if whole.isascii() else collision_key(whole), whole)
            if known.lower() != whole.lower():
                return known, whole
            whole = whole.rpartition("/")[0]
    return None


def misfits(paths: Iterable[str]) -> dict[str, str]:
    """Paths that no memory tree should hold, each with the reason; of those that read as one, all but one.

    Args:
        paths: of one tree, or of two that are merged.
    """
    found: dict[str, str] = {}
    for path in paths:
        if reason := check_path(path):
            found[path] = reason
    left = set(paths) - found.keys()
    while twins := collision(sorted(left)):
        kept, other = sorted(twins, key=lambda one: (one != collision_key(one), one))
        gone = {path for path in left if path == other or path.startswith(f"{other}/")}
        found |= dict.fromkeys(gone, f"reads as {kept!a}, which is there too")
        left -= gone
    return found


def judge_places(before: Side | None, after: Side, context: RuleContext) -> Iterator[Finding]:
    """Finds changed files where none may stand, or of a kind that no memory is."""
    past = before or EMPTY
    for path in context.changed:
        old = past.files.get(path)
        known = _judge_place(past, path, old) if old else ()
        yield from new_ones(_judge_place(after, path, after.files[path]), known)


def odd_mode(file: File) -> str:
    """What is wrong with a file that is not a plain one."""
    return _MODES.get(file.mode, f"has the unknown mode {file.mode:o}")


def judge_collisions(before: Side | None, after: Side, _context: RuleContext) -> Iterator[Finding]:
    """Finds names that became ambiguous."""
    known = _collisions(before) if before else {}
    for shared, paths in _collisions(after).items():
        fresh = paths - known.get(shared, frozenset())
        if not fresh:
            continue
        new = [path for path in sorted(paths) if not (before and path in before.files) and path in fresh]
        shown = new[-1] if new else max(fresh)
        others = ", ".join(quote(path) for path in sorted(paths) if path != shown)
        yield Finding(
            shown, 1, "collision", f"is easily taken for {others}, on some systems it is the same file"
        )


def judge_hosts(before: Side | None, after: Side, _context: RuleContext) -> Iterator[Finding]:
    """Finds changed files that hosts and git act on: such a change takes a person, whatever it says.

    Without a side before, nothing was changed.
    """
    if before is None:
        return
    for path in before.files.keys() | after.files.keys():
        old, new = before.files.get(path), after.files.get(path)
        if old == new or not (_acted_on(before, path) or _acted_on(after, path)):
            continue
        if new is not None and new.data in _OWN.get(path.rpartition("/")[2], ()):
            continue
        what = "changed" if old and new else "added" if new else "removed"
        yield Finding(path, 1, "host", f"is {what}: a person must look, for git and hosts act on it")


def judge_format(_before: Side | None, after: Side, _context: RuleContext) -> Iterator[Finding]:
    """Finds a memory tree in an unknown format."""
    if not after.files or after.snapshots:
        return
    file = after.host.get(FORMAT_FILE)
    number = _said(file.data or b"").get("format", "")[:9] if file else ""
    if not number.isdecimal():
        yield Finding(FORMAT_FILE, 1, "format", "does not say in which format this memory is")
    elif int(number) > FORMAT:
        yield Finding(FORMAT_FILE, 1, "format", f"says format {number}, which this gitmem cannot judge")


def judge_epoch(base: bytes, tip: bytes) -> Iterator[Finding]:
    """Finds a request from before or after a purge; it would bring back what was purged.

    Args:
        base, tip: `.gitmem` of what the request is to be merged into, and of the request.
    """
    if _said(base).get("epoch", "") != _said(tip).get("epoch", ""):
        what = "is of another epoch than its base: there was a purge in between. Run: git mem sync"
        yield Finding(FORMAT_FILE, 1, "epoch", what)


def _judge_place(side: Side, path: str, file: File) -> Iterator[Finding]:
    """Judges the path and mode of one file."""
    reason = check_path(path)
    if reason:
        yield Finding(path, 1, "path", reason)
    if file.mode != PLAIN:
        yield Finding(path, 1, "path", odd_mode(file))
    name = _inside(side, path)
    if name is None:
        head = path.partition("/")[0]
        if "/" in path and not side.snapshots and not head.startswith(".") and not is_agent_folder(head):
            yield Finding(path, 1, "path", f"no agent has the folder {quote(head)}")
        return
    yield from _foreign(side, path, name)


def _collisions(side: Side) -> dict[str, frozenset[str]]:
    """Paths that a file system or a reader takes for one another: what they share to the paths."""
    found: dict[str, set[str]] = {}
    for path in side.files:
        parts, steps = path.split("/"), [skeleton(part) for part in path.split("/")]
        for length in range(1, len(parts) + 1):
            found.setdefault("/".join(steps[:length]), set()).add("/".join(parts[:length]))
    return {shared: frozenset(paths) for shared, paths in found.items() if len(paths) > 1}


def _foreign(side: Side, path: str, name: str) -> Iterator[Finding]:
    """What lies in an agent's folder and is neither memory nor gitmem's own."""
    if side.snapshots:
        if name != STATE_FILE and name != INDEX and not is_memory_file(name):
            yield Finding(path, 1, "foreign", "is not taken in with a snapshot", "notice")
        return
    day = day_of(name)
    fits = (
        name in (INDEX, TOMBSTONES)
        or (day is not None and name.removeprefix("archive/") == log_path(day))
        or is_memory_file(hot_file(name))
    )
    if not fits:
        yield Finding(
            path, 1, "foreign", "is neither a memory nor gitmem's own, so no agent reads it", "notice"
        )


def _inside(side: Side, path: str) -> str | None:
    """A path inside the agent's folder that it lies in; None for one that lies in none."""
    for cut in (i for i, char in enumerate(path) if char == "/"):
        if path[:cut] in side.folders:
            return path[cut + 1 :]
    return None


def _acted_on(side: Side, path: str) -> bool:
    return path in side.host or path.rpartition("/")[2].lower() in _ACTED_ON


def _said(data: bytes) -> dict[str, str]:
    return dict(_SAID.findall(decode(data)))


def _hides_traversal(path: str) -> bool:
    decoded = path
    for _ in range(_DECODE_ROUNDS):
        further = unquote(decoded, errors="replace")
        if further == decoded:
            return False
        if further.count("/") != path.count("/") or "\\" in further or "\0" in further:
            return True
        if any(segment in ("", ".", "..") for segment in further.split("/")):
            return True
        decoded = further
    return True
