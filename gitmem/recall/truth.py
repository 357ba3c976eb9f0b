"""Whether what a memory names still exists."""

from __future__ import annotations

import re
from collections.abc import Callable

MOST_CHECKED = 20
"""Paths of one memory that are looked up: a hostile memory may name thousands."""

_CODE = re.compile(r"(?<!`)`([^`\n]{1,200})`(?!`)")
_PATH = re.compile(r"^(?:\./)?((?:[\w.@+-]+/)*[\w.@+-]+\.(\w{1,6}))(?::\d+(?:[:-]\d+)?)?$")
_SOURCE_SUFFIXES = """
    bash bat c cc cfg cjs conf cpp cs css csv dart ex exs fish gradle go h hpp html ini ipynb java
    js json jsonc jsx kt less lock lua m md mjs mk php pl proto ps1 py pyi r rb rs rst sass scala
    scss sh sql svelte swift tf toml ts tsx txt vue xml yaml yml zig zsh
"""
_SUFFIXES = frozenset(_SOURCE_SUFFIXES.split())


def named_paths(text: str) -> tuple[str, ...]:
    """Lists the file paths that a memory names in backticks, without repeats, in order.

    A path is relative, without blanks, and ends in a suffix known from source trees; a lone `x.md` is
    rather another memory than a file.
    """
    found: dict[str, None] = {}
    for code in _CODE.findall(text):
        match = _PATH.match(code.strip())
        if not match or ".." in match[1].split("/") or match[2].lower() not in _SUFFIXES:
            continue
        if "/" in match[1] or match[2].lower() != "md":
            found.setdefault(match[1])
    return tuple(found)[:MOST_CHECKED]


def missing_note(text: str, exists: Callable[[str], bool] | None) -> str:
    """Says which of the named paths are gone; empty where none is, or nothing can be asked.

    Args:
        exists: whether HEAD has a path, or for a bare file name any file of that name.
    """
    gone = [f"`{path}`" for path in named_paths(text) if not exists(path)] if exists else []
    if not gone:
        return ""
    return f"{', '.join(gone)} {'is' if len(gone) == 1 else 'are'} not in HEAD"
