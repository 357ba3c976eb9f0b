"""How answers to programs say where, what, and what changed: text that JSON can hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gitmem.ledger.log import LogEntry
    from gitmem.ledger.lookup import FoundMemory
    from gitmem.ledger.signatures import SignatureVerdict


def aside_hint(why: str) -> str:
    """What to do about a file that stays in the tree alone, since nobody can or should lay it out.

    Args:
        why: as `ledger.merge.set_aside` says it.
    """
    from gitmem.ledger.merge import TOO_LARGE

    if why.startswith(TOO_LARGE):
        return "To keep what matters of it: git mem show it, remember that, and git mem forget it"
    return "To rename it: git mem show it, remember it under another name, and git mem forget it"


def place_value(found: FoundMemory) -> dict[str, object]:
    """Which memory it is, for what tells of a change to one."""
    return {
        "scope": found.scope,
        "agent": sound(found.agent),
        "file": sound(found.file),
        "name": sound(found.memory.name),
    }


def entry_value(scope: str, entry: LogEntry, signed: SignatureVerdict | None = None) -> dict[str, object]:
    """One commit of a scope's memory; empty strings where a trailer is missing."""
    from gitmem.core.text import iso
    from gitmem.ledger.log import fates  # few answers list commits

    told = entry.provenance
    return {
        "commit": entry.commit,
        "scope": scope,
        "time": iso(entry.time),
        "author": sound(entry.author),
        "op": told.op,
        "writer": told.writer,
        "engine": sound(told.engine),
        "session": sound(told.session),
        "code_commit": sound(told.code_commit),
        "undoes": sound(told.undoes),
        "subject": sound(entry.subject),
        "paths": [sound(path) for path in entry.paths],
        "claims": fates(told),
        "signed": signed.value if signed else None,
    }


def sound(text: str) -> str:
    """Text that UTF-8 can carry: what was no text in a file is replaced."""
    return text.encode("utf-8", "replace").decode()


def difference(path: str, before: str, after: str) -> Iterator[str]:
    """What changed in a file, as `git diff` has it: a line each, without its end."""
    import difflib  # few answers show one

    old, new = (text.splitlines(keepends=True) for text in (before, after))
    for line in difflib.unified_diff(old, new, f"a/{path}", f"b/{path}"):
        yield line.removesuffix("\n")
        if not line.endswith("\n"):
            yield "\\ No newline at end of file"
