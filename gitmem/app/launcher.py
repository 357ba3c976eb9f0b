"""The launcher: one small script in the person's data folder that all hooks start, and that finds gitmem.

Hooks, drivers and settings of every repository name this script alone, so no upgrade, new Python or moved
environment changes them. It tries the gitmem that wrote it, then the `git-mem` on PATH or in
`~/.local/bin`; where there is none it notes that, and every hook goes on without gitmem.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from contextlib import suppress
from pathlib import Path

import gitmem
from gitmem.app.git_hooks import template
from gitmem.core.errors import RepositoryError
from gitmem.ledger.files import read_theirs, replace_file
from gitmem.values import dataclass

LARGEST = 64 * 1024

_STARTS = re.compile(rb"^for gitmem_package in (.+); do\n.*-x (.+) \]; then exec ", re.MULTILINE)
_MINOR = re.compile(r"/python3\.\d+/")
"""The folder of an environment's packages is named for its Python: a new one there may have another."""


@dataclass(frozen=True)
class Launcher:
    """The launcher of one person.

    Attributes:
        data: their data folder, e.g. `~/.local/share/gitmem`.
    """

    data: Path

    @property
    def path(self) -> Path:
        """Where it is. It is called as the program is, by which its words are known for gitmem's."""
        return self.data / "bin" / "gitmem"

    @property
    def argv(self) -> tuple[str, ...]:
        """The words that start gitmem from anywhere, and go on doing so."""
        return (str(self.path),)

    @property
    def works(self) -> bool:
        """Whether it is of this version's form, and the gitmem that wrote it is still where it was."""
        text = read_theirs(self.path, LARGEST) or b""
        found = _STARTS.search(text)
        if not found or not os.access(self.path, os.X_OK):
            return False
        package, python = (os.fsdecode(words) for words in found.groups())
        try:
            (pattern,), (program,) = shlex.split(package), shlex.split(python)
            there = any(Path("/").glob(pattern[1:]))
        except (ValueError, IndexError, NotImplementedError):
            # Words of another form: a later gitmem's, or a person's.
            return False
        return there and text == _text(package, python) and os.access(program, os.X_OK)

    @property
    def missed(self) -> float | None:
        """Since when hooks have found no gitmem at all, epoch seconds; None where the last one did."""
        try:
            return self._note.stat().st_mtime
        except OSError:
            return None

    @property
    def is_ours(self) -> bool:
        """Whether it starts this very gitmem."""
        return self.missed is None and self.works and read_theirs(self.path, LARGEST) == _own()

    def write(self) -> None:
        """Has hooks start this gitmem from now on.

        Raises:
            OSError: it cannot be written.
        """
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(self.path, _own(), 0o700)
        self._note.unlink(missing_ok=True)

    def renew(self) -> None:
        """Writes it anew where what it starts is gone; another gitmem that still works keeps it."""
        with suppress(OSError, RepositoryError):
            if self.works:
                self._note.unlink(missing_ok=True)
            else:
                self.write()

    @property
    def _note(self) -> Path:
        return self.path.with_name(f"{self.path.name}.missing")


def _own() -> bytes:
    """The launcher that starts this very gitmem."""
    halves = _MINOR.split(str(Path(gitmem.__file__)), maxsplit=1)
    return _text("/python3.*/".join(map(shlex.quote, halves)), shlex.quote(sys.executable))


def _text(package: str, python: str) -> bytes:
    text = template("launcher.sh").replace("@PACKAGE@", package).replace("@PYTHON@", python)
    return text.encode(errors="surrogateescape")
