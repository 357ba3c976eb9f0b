"""What stands in a live directory right now, and what of it is not for gitmem."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from urllib.parse import unquote

from gitmem.core.index import INDEX
from gitmem.core.limits import MEMORY_BYTES, OTHER_BYTES
from gitmem.core.names import is_memory_file, unsafe_segment
from gitmem.store.files import linked
from gitmem.store.objects import object_name
from gitmem.store.replace import read_regular
from gitmem.store.workspace import LiveDirectory
from gitmem.values import dataclass

_LOG = re.compile(r"logs/\d{4}/\d{2}/\d{4}-\d{2}-\d{2}\.md")


@dataclass(frozen=True)
class Scan:
    """A live directory as read.

    Attributes:
        exists: whether the folder is there at all.
        files: file (relative to the folder) to content.
        problems: name to why it was left alone, for names that look like memory.
        times: file to modification time, seconds since the epoch.
    """

    exists: bool
    files: Mapping[str, bytes]
    problems: Mapping[str, str] = field(default_factory=dict)
    times: Mapping[str, float] = field(default_factory=dict)

    def until(self, moment: float) -> Scan:
        """The same without the files that were written to later."""
        files = {name: data for name, data in self.files.items() if self.times[name] <= moment}
        return replace(self, files=files)


@dataclass(frozen=True)
class Displaced:
    """A file that a replacement moved aside.

    Attributes:
        at: where it is kept.
        file: where it stood, relative to the live directory.
        expected: blob name that it had when the replacement was planned; empty for none.
    """

    at: Path
    file: str
    expected: str
    content: bytes
    since: float


def scan(live: LiveDirectory) -> Scan:
    """Reads a live directory; links, dot files and foreign files are left alone and never followed."""
    if linked(live.anchor, live.path):
        return Scan(False, {}, {live.path.name: "is a symbolic link, or behind one"})
    if not live.path.is_dir():
        return Scan(False, {})
    files: dict[str, bytes] = {}
    problems: dict[str, str] = {}
    times: dict[str, float] = {}
    with os.scandir(live.path) as entries:
        names = sorted(entry.name for entry in entries)
    logs = sorted(live.path.glob("logs/*/*/*.md"))
    for name in [*names, *(path.relative_to(live.path).as_posix() for path in logs)]:
        if not is_laid_out(name):
            if name.endswith(".md") and not name.startswith(".") and "/" not in name:
                problems[name] = f"the name {unsafe_segment(name) or 'is taken for the index'}"
            continue
        path = live.path / name
        try:
            state = path.lstat()
        except OSError:
            continue
        limit = MEMORY_BYTES if is_memory_file(name) else OTHER_BYTES
        # A link at the path itself is not followed by the reader.
        data = None if "/" in name and linked(live.path, path) else read_regular(path, limit)
        if data is None:
            problems[name] = _not_regular(state.st_mode)
        elif len(data) > limit:
            problems[name] = f"is larger than {limit:,} bytes"
        else:
            files[name] = data
            times[name] = state.st_mtime
    return Scan(True, files, problems, times)


def is_laid_out(name: str) -> bool:
    """Whether a file of an agent's folder belongs in a live directory: the index, a memory, a daily log.

    Names come from trees that anyone may have written: whatever else they hold is never written to disk.
    """
    return name == INDEX or is_memory_file(name) or bool(_LOG.fullmatch(name))


def label(file: str, expected: str) -> str:
    """Names a displaced file so that it can be told later what it was: a folder, and its own name."""
    return f"{expected or 'none'}/{file.replace('%', '%25').replace('/', '%2F')}"


def displaced_files(*folders: Path) -> tuple[Displaced, ...]:
    """Files that replacements moved aside, oldest first."""
    found = []
    for path in [path for folder in folders if not folder.is_symlink() for path in folder.glob("*.*/*")]:
        expected = path.parent.name.partition(".")[2]
        content = read_regular(path, OTHER_BYTES)
        if content is not None:
            known = "" if expected == "none" else expected
            found.append(Displaced(path, unquote(path.name), known, content, path.stat().st_ctime))
    return tuple(sorted(found, key=lambda entry: (entry.since, str(entry.at))))


def blob_name(data: bytes, hex_length: int) -> str:
    """Name that git gives a blob, without storing it."""
    return object_name("blob", data, hex_length)


def _not_regular(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "is a symbolic link"
    if stat.S_ISDIR(mode):
        return "is a folder"
    return "cannot be read" if stat.S_ISREG(mode) else "is no regular file"
