"""How answers to programs say where and what: text that JSON can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gitmem.store.lookup import Found


def place_value(found: Found) -> dict[str, object]:
    """Which memory it is, for what tells of a change to one."""
    return {
        "scope": found.scope,
        "agent": sound(found.agent),
        "file": sound(found.file),
        "name": sound(found.memory.name),
    }


def sound(text: str) -> str:
    """Text that UTF-8 can carry: what was no text in a file is replaced."""
    return text.encode("utf-8", "replace").decode()
