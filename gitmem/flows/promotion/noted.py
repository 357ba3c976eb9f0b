"""What a session's start and a recall need of `gitmem/promotions.json`: one small file is read, no more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gitmem.ledger.files import read_json

FILE = "promotions.json"
LARGEST = 1024 * 1024


def standing_files(state_folder: Path, scope: str, agent: str) -> frozenset[str]:
    """Files of an agent whose rule stood in HEAD at the last look: one small file is read."""
    value = read_json(state_folder / FILE, LARGEST)
    standing = value.get("standing") if isinstance(value, dict) else None
    prefix = f"{scope}/{agent}/"
    return frozenset(
        one["memory"].removeprefix(prefix)
        for _, one in rows(standing, "memory")
        if one.get("here") is True and one["memory"].startswith(prefix)
    )


def taken_over(state_folder: Path) -> dict[str, frozenset[str]]:
    """Memories (`scope/agent/file stem`) to ids of the claims that their rules took over."""
    value = read_json(state_folder / FILE, LARGEST)
    standing = value.get("standing") if isinstance(value, dict) else None
    return {
        one["memory"].removesuffix(".md"): frozenset(texts(one.get("claims")))
        for _, one in rows(standing, "memory")
    }


def rows(value: Any, *keys: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Entries of decoded JSON that are objects and have a text under each of some keys."""
    for address, one in value.items() if isinstance(value, dict) else ():
        if isinstance(one, dict) and all(isinstance(one.get(key), str) for key in keys):
            yield address, one


def texts(value: Any) -> list[str]:
    """The texts of a decoded JSON list."""
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
