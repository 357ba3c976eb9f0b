"""Index upkeep when a dream is accepted: its branch never changes `MEMORY.md` (design.md section 6)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gitmem.core import index
from gitmem.core.account import claims_at
from gitmem.core.facts import lacking
from gitmem.core.limits import ENTRY_CHARS
from gitmem.core.memory import parse
from gitmem.core.merge import kind
from gitmem.core.names import is_agent_folder
from gitmem.core.text import decode, encode

_WORD = re.compile(r"\w+")


def tidy_indexes(ours: Mapping[str, bytes], merged: dict[str, bytes]) -> None:
    """Brings the indexes of agents in line with their memories, in `merged` itself.

    Every memory gets a line, lines that lead nowhere go, and a line that is too long is cut where the
    memory says what is cut off.

    Args:
        ours: path from the root to content, before the dream.
        merged: the same with the dream in it.
    """
    agents = {path.split("/", 1)[0] for path in {*ours, *merged} if "/" in path}
    for agent in sorted(filter(is_agent_folder, agents)):
        files = {
            path.removeprefix(f"{agent}/"): data
            for path, data in merged.items()
            if path.startswith(f"{agent}/")
        }
        path = f"{agent}/{index.INDEX}"
        before = decode(merged.get(path, b""))
        entries = index.targets(before)
        gone = [target for target in entries if "/" not in target and target not in files]
        added = {}
        for file, data in files.items():
            if "/" not in file and kind(file) == "memory" and file not in entries:
                memory = parse(file, data)
                added[file] = index.entry(memory.name, file, memory.description)
        text = index.reconcile(before, added, gone) if gone or added else before
        text = _cut(text, files)
        if text != before:
            merged[path] = encode(text)


def _cut(text: str, files: Mapping[str, bytes]) -> str:
    for unit in index.parse(text):
        data = files.get(unit.target)
        line = unit.text.rstrip()
        if data is None or len(line) <= ENTRY_CHARS or "\n" in line:
            continue
        short = line[: ENTRY_CHARS - 1].rsplit(" ", 1)[0].rstrip(" ,;:—-")
        # A link alone may be longer than that; a line without one is no entry any more.
        if index.targets(short + "…") == (unit.target,) and _says(unit.target, data, line[len(short) :]):
            text = index.with_entry(text, unit.target, f"{short}…\n")
    return text


def _says(file: str, data: bytes, surplus: str) -> bool:
    """Whether one claim of a memory holds every word and every fact of a text."""
    words = _words(surplus)
    return any(
        words <= _words(claim.text) and not lacking(" ".join(surplus.split()), claim.key)
        for claim in claims_at(file, data)
    )


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))
