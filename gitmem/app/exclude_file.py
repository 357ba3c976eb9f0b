"""`.git/info/exclude`: lines of gitmem's put in and taken out; all else keeps its bytes."""

from __future__ import annotations

import stat
from collections.abc import Collection, Sequence
from pathlib import Path

from gitmem.ledger.files import replace_file


def add_lines(path: Path, lines: Sequence[str]) -> None:
    """Puts lines at the end.

    Args:
        path: the file; its folder is made where missing, a link is followed.
        lines: without their ends.
    """
    path.parent.mkdir(exist_ok=True)
    data = path.read_bytes() if path.is_file() else b""
    gap = b"" if not data or data.endswith(b"\n") else b"\n"
    _replace(path, data + gap + "".join(f"{line}\n" for line in lines).encode())


def take_out(path: Path, lines: Collection[str], fence: tuple[str, str] | None = None) -> None:
    """Takes lines out.

    Args:
        path: as for `add_lines`; nothing happens where it is no file.
        lines: without their ends and the white space around them.
        fence: lines around them, which go, too: a line outside is a person's own, and stays.
    """
    if not path.is_file():
        return
    ours = {line.encode() for line in (*lines, *(fence or ()))}
    kept, inside = [], fence is None
    for line in path.read_bytes().splitlines(keepends=True):
        word = line.strip()
        inside = inside or bool(fence and word == fence[0].encode())
        if not inside or word not in ours:
            kept.append(line)
        inside = inside and not (fence and word == fence[1].encode())
    _replace(path, b"".join(kept))


def _replace(path: Path, data: bytes) -> None:
    mode = stat.S_IMODE(path.stat().st_mode) if path.is_file() else 0o644
    replace_file(path.resolve(), data, mode)
