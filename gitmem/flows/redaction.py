"""Redaction as this process does it: `rules.redaction` with the detector, and what the person allows.

The detector is loaded for a text that may hold a credential and was not judged before. What it found
harmless is noted by hash, so that a memory with a long name in it costs its 0.1 s once, not at every look.
Nothing is noted of a text in which something was found, and the note can be deleted at no loss.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from gitmem.rules.redaction import Hole
    from gitmem.rules.secrets import Secret

NOTE = "judged-harmless"
"""In the folder of the private repository: the detector's stamp, then a line for each text."""

NOTED = 8_192
"""Texts that are noted; then the note begins anew."""

_HASH = 24

T = TypeVar("T")


class _Process:
    """What the exit knows of the process that it belongs to; `configure` sets it.

    Attributes:
        allowed: gives the fingerprints that the person accepts.
        folder: where the note stands; None for none.
        harmless: hashes of what was judged; None before they were read.
        found: by hash, what was found in others.
        stamp: the detector's, by which they were.
        in_key: whether the last line was one of a private key that goes on.
    """

    def __init__(self) -> None:
        self.allowed: Callable[[], frozenset[str]] = frozenset
        self.folder: Path | None = None
        self.harmless: set[str] | None = None
        self.found: dict[str, list[Secret]] = {}
        self.stamp = ""
        self.in_key = False


_process = _Process()


def configure(allowed: Callable[[], frozenset[str]], folder: Path | None = None) -> None:
    """Says whose memory this process shows.

    Args:
        allowed: gives the fingerprints that the person accepts; asked when something was found.
        folder: of the private repository, where what was judged is noted; None for no note.
    """
    _process.allowed = allowed
    if folder != _process.folder:
        _process.folder, _process.harmless = folder, None


def redact(text: str) -> str:
    """Returns a text as it may be shown; see `redaction.redact`."""
    from gitmem.rules import redaction

    return redaction.redact(text, credentials)


def row(text: str) -> str:
    """The same for one of the lines that this process shows one after another."""
    from gitmem.rules import redaction

    safe, _process.in_key = redaction.row(text, credentials, in_key=_process.in_key)
    return safe


def shown_bytes(data: bytes) -> bytes:
    """The same for a file; letters of an encoding that is not UTF-8 stay as they are."""
    from gitmem.rules import redaction

    with suppress(UnicodeDecodeError):
        return redact(data.decode()).encode()
    text = data.decode("utf-8", "surrogateescape")
    parts = re.split("([\udca0-\udcff]+)", redaction.cut(text, credentials(text)))
    return b"".join(
        part.encode("utf-8", "surrogateescape") if at % 2 else redact(part).encode()
        for at, part in enumerate(parts)
    )


def line(text: str, width: int) -> str:
    """The same on one line of at most `width` terminal cells."""
    from gitmem.rules import redaction

    return redaction.line(text, width, credentials)


def value(given: T) -> T:
    """The same for every text of a value, as JSON and dataclasses hold them."""
    from gitmem.rules import redaction

    made: T = redaction.value(given, credentials)
    return made


def credentials(text: str) -> Sequence[Hole]:
    """Finds the credentials that the person did not allow; of a password in prose it only warns elsewhere.

    Where the detector cannot be used, all that looks like one counts as one.
    """
    from gitmem.rules import redaction

    if not redaction.suspects(text):
        return ()
    name = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
    if name in _harmless():
        return ()
    if (found := _process.found.get(name)) is None:
        from gitmem.rules.secrets import DetectorUnavailable, find_secrets  # 30 MB, 0.1 s

        try:
            found = [one for one in find_secrets(text) if one.severity == "block"]
        except DetectorUnavailable:
            return redaction.suspects(text)
        if not found:
            _note(name)
            return ()
        if len(_process.found) < NOTED:
            _process.found[name] = found
    allowed = _process.allowed()
    return [(*span, one.rule) for one in found if one.fingerprint not in allowed for span in one.spans]


def _harmless() -> set[str]:
    if _process.harmless is None:
        _process.stamp = _stamp()
        lines: list[str] = []
        if _process.folder is not None:
            with suppress(OSError, ValueError):
                lines = (_process.folder / NOTE).read_text("ascii").splitlines()
        fresh = lines[:1] == [_process.stamp] and len(lines) <= NOTED
        _process.harmless = {each for each in lines[1:] if len(each) == _HASH} if fresh else set()
    return _process.harmless


def _note(name: str) -> None:
    known = _harmless()
    if _process.folder is not None and _process.folder.is_dir():
        text = f"{name}\n" if known else f"{_process.stamp}\n{name}\n"
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | (os.O_APPEND if known else os.O_TRUNC)
        with (
            suppress(OSError),
            os.fdopen(os.open(_process.folder / NOTE, flags, 0o600), "w", encoding="ascii") as file,
        ):
            file.write(text)
    known.add(name)


def _stamp() -> str:
    """Tells one detector from the next: what an old one let pass is judged again."""
    from importlib.util import find_spec

    from gitmem.rules import redaction

    found = find_spec("betterleaks")
    here = Path(redaction.__file__)
    files = [here.with_name(name) for name in ("secrets.py", "secrets.toml", "secrets_prose.toml")]
    files += [Path(found.origin)] if found is not None and found.origin else []
    times = []
    for file in files:
        with suppress(OSError):
            times.append(str(file.stat().st_mtime_ns))
    return " ".join(times)
