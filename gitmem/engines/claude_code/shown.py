"""What of a scope and its sessions is laid out for the client: files that hold text and no credentials."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from gitmem.core.limits import MEMORY_BYTES
from gitmem.core.names import kind
from gitmem.core.text import counted, decode, one_line
from gitmem.engines.engine import ConsolidateInput
from gitmem.engines.prompts import clean
from gitmem.rules.paths import check_path
from gitmem.rules.secrets import scan

SESSION_CHARS = 4_000_000
"""Of what was said, for one dream: searched for secrets at about a second for a million."""

_PLAIN = re.compile(r"\w[\w.-]{0,199}")
_WIDTH = 200


@dataclass(frozen=True)
class Shown:
    """What the client sees of what a dream was given.

    Attributes:
        given: all of it, with its files as they are.
        told: the same with what is laid out alone.
        hidden: files that are not; they stay as they are.
        log: what was left out, for a person.
    """

    given: ConsolidateInput
    told: ConsolidateInput
    hidden: Mapping[str, bytes]
    log: tuple[str, ...] = ()

    @property
    def tree(self) -> dict[str, bytes]:
        """Files of the scratch copy: `<scope>/<agent>/<file>` to content."""
        return {f"{self.given.scope}/{path}": data for path, data in self.told.files.items()}

    @property
    def sessions(self) -> Mapping[str, str]:
        """Files of what was said, secrets redacted."""
        return self.told.sessions


def shown(given: ConsolidateInput) -> Shown:
    """Chooses what the client sees.

    Raises:
        DetectorUnavailable: credentials cannot be looked for, so nothing may leave.
    """
    log: list[str] = []
    fit = [path for path, data in given.files.items() if _fits(path, data)]
    found = scan([decode(given.files[path]).encode("utf-8", "replace").decode() for path in fit])
    laid = {}
    for path, secrets in zip(fit, found, strict=True):
        if secrets:
            log.append(f"{one_line(path, _WIDTH)}: not shown to the model, it seems to hold a credential")
        else:
            laid[path] = given.files[path]
    told = replace(given, files=laid, sessions=_said(given.sessions, log))
    hidden = {path: data for path, data in given.files.items() if path not in laid}
    return Shown(given, told, hidden, tuple(log))


def _fits(path: str, data: bytes) -> bool:
    """Memories, indexes and logs; an empty file would count as deleted, a large one as written."""
    known = "/" in path and check_path(path) is None and kind(path) in ("memory", "index", "log")
    return known and bool(data.strip()) and len(data) <= MEMORY_BYTES


def _said(sessions: Mapping[str, str], log: list[str]) -> dict[str, str]:
    taken: dict[str, str] = {}
    room, left = SESSION_CHARS, 0
    for name, text in sessions.items():
        if len(text) > room or not _PLAIN.fullmatch(name):
            left += 1
            continue
        room -= len(text)
        taken[name] = text
    if left:
        log.append(f"{counted(left, 'session')} not shown to the model: too long")
    return dict(zip(taken, clean(list(taken.values())), strict=True))
