"""Rules about what hosts and git act on: such a change takes a person, whatever it says."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gitmem.core import attributes
from gitmem.core.text import decode
from gitmem.share.check.finding import Finding
from gitmem.share.check.side import Side
from gitmem.store.commits import FORMAT, FORMAT_FILE, FORMAT_TEXT

_ACTED_ON = frozenset(
    {".gitattributes", ".gitignore", ".gitmodules", ".mailmap", ".lfsconfig", "codeowners"}
)
_OWN = {
    FORMAT_FILE: (FORMAT_TEXT,),
    attributes.FILE: (
        attributes.BRANCH_TEXT.encode(),
        attributes.SNAPSHOTS_TEXT.encode(),
        *(f"{line}\n".encode() for line in attributes.FORMER),
    ),
}
_LINE = re.compile(r"^[ \t]*(format|epoch)[ \t]*=[ \t]*(.*?)[ \t]*$", re.MULTILINE)


def judge_hosts(before: Side | None, after: Side) -> Iterator[Finding]:
    """Finds changed host files, and an unknown format; without a side before, nothing was changed."""
    if after.files and not after.snapshots:
        yield from _format(after)
    if before is None:
        return
    for path in sorted({*before.files, *after.files}):
        old, new = before.files.get(path), after.files.get(path)
        if old == new or not (_acted_on(before, path) or _acted_on(after, path)):
            continue
        if new is not None and new.data in _OWN.get(path.rpartition("/")[2], ()):
            continue
        what = "changed" if old and new else "added" if new else "removed"
        yield Finding(path, 1, "host", f"is {what}: a person must look, for git and hosts act on it")


def _acted_on(side: Side, path: str) -> bool:
    return path in side.host or path.rpartition("/")[2].lower() in _ACTED_ON or "/" not in path


def judge_epoch(base: bytes, tip: bytes) -> Iterator[Finding]:
    """Finds a request from before or after a purge; it would bring back what was purged.

    Args:
        base, tip: `.gitmem` of what the request is to be merged into, and of the request.
    """
    if _said(base).get("epoch", "") != _said(tip).get("epoch", ""):
        what = "is of another epoch than its base: there was a purge in between. Run: git mem sync"
        yield Finding(FORMAT_FILE, 1, "epoch", what)


def _format(after: Side) -> Iterator[Finding]:
    file = after.host.get(FORMAT_FILE)
    number = _said(file.data or b"").get("format", "") if file else ""
    if not number.isdecimal():
        yield Finding(FORMAT_FILE, 1, "format", "does not say in which format this memory is")
    elif int(number[:9]) > FORMAT:
        yield Finding(FORMAT_FILE, 1, "format", f"says format {number[:9]}, which this gitmem cannot judge")


def _said(data: bytes) -> dict[str, str]:
    return dict(_LINE.findall(decode(data)))
