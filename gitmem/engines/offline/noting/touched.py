"""Files that an agent wrote, edited and read, with the names that it surely defined there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from gitmem.core.text import counted
from gitmem.engines.offline.noting.commands import code
from gitmem.engines.offline.noting.turns import Say, Turn
from gitmem.transcripts.model import EDITORS

MOST_CHANGED, MOST_READ, MOST_NAMES = 40, 20, 8
_PATH, _NAME = 200, 80

_WRITES = frozenset({"Write"})
_EDITS = frozenset(EDITORS) - _WRITES
_READS = frozenset({"Read", "NotebookRead", "read_file", "read_many_files", "view_image"})
_KEYS = ("file_path", "notebook_path", "absolute_path", "path")
_SUFFIXES = """
    c cc cjs cpp cs dart ex exs go h hpp java js jsx kt lua mjs php py pyi rb rs scala swift ts tsx zig
"""
_SOURCES = frozenset(_SUFFIXES.split())
_DEFINES = re.compile(
    r"^[ \t]*(?:(?:export|default|pub(?:\([a-z]+\))?|public|private|protected|static|abstract|async"
    r"|final)[ \t]+)*(?:def|defp|defmodule|class|func|fn|function\*?|interface|struct|enum|trait)[ \t]+"
    r"(?:\([^()\n]*\)[ \t]*)?"
    r"([^\W\d][\w.]*)",
    re.MULTILINE,
)


@dataclass
class Touched:
    """One file.

    Attributes:
        written, edited, read: how often, where it succeeded.
        names: what it was given that it defines, in order.
    """

    written: int = 0
    edited: int = 0
    read: int = 0
    names: dict[str, None] = field(default_factory=dict)

    @property
    def changes(self) -> int:
        """How often it was changed."""
        return self.written + self.edited


def touched_in(turns: Sequence[Turn], top: str) -> dict[str, Touched]:
    """Reads the calls of a session that succeeded.

    Args:
        top: of the work tree; paths below it are given from there. Empty for none.
    """
    found: dict[str, Touched] = {}
    for turn in turns:
        for call in turn.calls:
            if call.is_error or call.result is None or call.name not in _WRITES | _EDITS | _READS:
                continue
            for path in _paths(call.input):
                one = found.setdefault(_below(path, top), Touched())
                one.written += call.name in _WRITES
                one.edited += call.name in _EDITS
                one.read += call.name in _READS
                if PurePosixPath(path).suffix.lstrip(".").lower() in _SOURCES:
                    one.names |= dict.fromkeys(_defined(call.input))
    return found


def files(touched: Mapping[str, Touched], say: Say) -> Iterator[str]:
    """Yields files: those that were changed most first, then those that were only read."""
    changed = sorted((one for one in touched.items() if one[1].changes), key=lambda one: -one[1].changes)
    seen = sorted((one for one in touched.items() if not one[1].changes), key=lambda one: -one[1].read)
    for path, one in (*changed[:MOST_CHANGED], *seen[:MOST_READ]):
        did = Counter({"written": one.written, "edited": one.edited, "read": one.read})
        counts = ", ".join(f"{word} ×{count}" for word, count in did.items() if count)
        names = ", ".join(code(say(name, _NAME)) for name in list(one.names)[:MOST_NAMES])
        more = f" and {len(one.names) - MOST_NAMES} more" if len(one.names) > MOST_NAMES else ""
        yield f"- {code(say(path, _PATH))}: {counts}" + (f"; with {names}{more}" if names else "")
    for left, did_what in ((len(changed) - MOST_CHANGED, "changed"), (len(seen) - MOST_READ, "read")):
        if left > 0:
            yield f"- and {counted(left, 'more file')} {did_what}"


def _paths(given: Mapping[str, Any]) -> Iterator[str]:
    for key in _KEYS:
        value = given.get(key)
        if isinstance(value, str) and value.strip():
            yield value.strip()
            return
    several = given.get("paths", given.get("include"))
    for value in several if isinstance(several, list) else ():
        if isinstance(value, str) and value.strip() and not set(value) & set("*?["):
            yield value.strip()


def _below(path: str, top: str) -> str:
    lead = top.rstrip("/") + "/"
    return path[len(lead) :] if top and path.startswith(lead) else path


def _defined(given: Mapping[str, Any]) -> Iterator[str]:
    several = given.get("edits")
    edits = [one for one in several if isinstance(one, dict)] if isinstance(several, list) else []
    for one in (given, *edits):
        for key in ("new_string", "content", "new_source"):
            if isinstance(one.get(key), str):
                yield from _DEFINES.findall(one[key])
    if isinstance(patch := given.get("patch"), str) and patch.count("*** ") <= 4:
        # Of a patch of several files it is not sure which one defines a name.
        added = "\n".join(line[1:] for line in patch.split("\n") if line.startswith("+"))
        yield from _DEFINES.findall(added)
