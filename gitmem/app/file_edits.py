"""Edits of files and settings that are not gitmem's alone: planned as values, made by one function.

What gitmem adds to such a file stands in a block between two marks, by which it is renewed and taken out.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Collection, Sequence
from pathlib import Path

from gitmem.core.errors import RepositoryError
from gitmem.git.command import GitCommand
from gitmem.git.config import config_set, config_unset
from gitmem.ledger.files import read_theirs, replace_file
from gitmem.values import dataclass

BEGIN, END = b"# >>> gitmem >>>", b"# <<< gitmem <<<"
LARGEST = 4 * 1024 * 1024
MODE = 0o644

_FENCE = re.compile(
    rb"^" + re.escape(BEGIN) + rb"[^\n]*\n.*?^" + re.escape(END) + rb"[^\n]*(?:\n|\Z)",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class FileEdit:
    """What is to become of one file.

    Attributes:
        before: the bytes that the plan saw; None where there was no file that can be edited.
        after: what to write; None deletes the file.
        mode: permission bits; None leaves those of the file, and gives a new one `MODE`.
        to: the name that the file gets instead, as it is.
    """

    path: Path
    before: bytes | None
    after: bytes | None = None
    mode: int | None = None
    to: Path | None = None


@dataclass(frozen=True)
class ConfigEdit:
    """A setting of a repository's own configuration; no value takes it out."""

    git_dir: Path
    key: str
    value: str | None = None


Edit = FileEdit | ConfigEdit


def make_edits(edits: Sequence[Edit], git: GitCommand) -> None:
    """Makes edits, in order.

    Raises:
        RepositoryError: a file is no longer as the plan saw it, or cannot be written. Nothing was changed
            in the first case; in the second earlier edits stand, and planning again goes on from there.
    """
    for edit in edits:
        if isinstance(edit, FileEdit) and read(edit.path) != edit.before:
            raise RepositoryError(f"{edit.path} changed meanwhile", "Run the command again.")
    for edit in edits:
        if isinstance(edit, FileEdit):
            try:
                _make(edit)
            except OSError as error:
                hint = "Make it writable, then run the command again."
                raise RepositoryError(f"{edit.path}: {error.strerror or error}", hint) from error
        elif edit.value is None:
            config_unset(git, None, edit.key, git_dir=edit.git_dir)
        else:
            config_set(git, None, edit.key, edit.value, git_dir=edit.git_dir)


def _make(edit: FileEdit) -> None:
    if edit.to is not None:
        edit.path.rename(edit.to)
    elif edit.after is None:
        edit.path.unlink(missing_ok=True)
    elif edit.after != edit.before or edit.mode is not None:
        edit.path.parent.mkdir(parents=True, exist_ok=True)
        _replace(edit.path, edit.after, edit.mode)


def read(path: Path) -> bytes | None:
    """A file's bytes; None where there is none, or none to be edited: a link, or one over `LARGEST`.

    Raises:
        RepositoryError: it is there and cannot be read.
    """
    found = read_theirs(path, LARGEST)
    return found if found is not None and len(found) <= LARGEST else None


def fenced(*lines: bytes) -> bytes:
    """A block of lines, given without their ends."""
    return b"\n".join([BEGIN, *lines, END, b""])


def blocks(data: bytes) -> list[bytes]:
    """Our whole blocks in a file."""
    return [found.group() for found in _FENCE.finditer(data)]


def has_fence(data: bytes) -> bool:
    """Whether a file holds a whole block of ours, or a stray mark of one."""
    return BEGIN in data or END in data


def with_fence(data: bytes, block: bytes) -> bytes:
    """Puts the block where one already stands, else right below the first line.

    Above the rest of a script it runs whatever that does: `exit`, `exec` or `cd`.
    """
    without = without_fence(data)
    found = _FENCE.search(data)
    at = found.start() if found else without.index(b"\n") + 1
    return without[:at] + block + without[at:]


def without_fence(data: bytes) -> bytes:
    """A file without our blocks."""
    return _FENCE.sub(b"", data)


def add_text(path: Path, text: bytes) -> None:
    """Puts whole lines at the end of a file; its folder is made where missing, a link is followed."""
    path.parent.mkdir(exist_ok=True)
    data = path.read_bytes() if path.is_file() else b""
    gap = b"" if not data or data.endswith(b"\n") else b"\n"
    _replace(path.resolve(), data + gap + text)


def take_out(path: Path, lines: Collection[str], *, fenced: bool = False) -> None:
    """Takes lines out of a file; nothing happens where it is none, a link is followed.

    Args:
        lines: without their ends and the white space around them.
        fenced: only out of our blocks, whose marks go, too: a line of a person's own stays.
    """
    if not path.is_file():
        return
    ours = {*(line.encode() for line in lines), *((BEGIN, END) if fenced else ())}

    def rest(data: bytes) -> bytes:
        return b"".join(line for line in data.splitlines(keepends=True) if line.strip() not in ours)

    data = path.read_bytes()
    left = _FENCE.sub(lambda found: rest(found.group()), data) if fenced else rest(data)
    _replace(path.resolve(), left)


def _replace(path: Path, data: bytes, mode: int | None = None) -> None:
    if mode is None:
        mode = stat.S_IMODE(path.stat().st_mode) if path.is_file() else MODE
    replace_file(path, data, mode)
