"""What an index says of a memory, where a step takes it over: then nobody made it up."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gitmem.core import index
from gitmem.core.account import path_of
from gitmem.core.merge import agent_folder
from gitmem.core.text import decode
from gitmem.core.trailers import Fate


def listed(fates: Iterable[Fate], read: Callable[[str], bytes | None]) -> dict[str, str]:
    """The lines of indexes that fates name as where a claim comes from.

    Args:
        read: gives the content of a path of the tree; None where there is no such file.

    Returns:
        Path of a memory to its line.
    """
    found: dict[str, str] = {}
    for path in sorted({path_of(fate.source) for fate in fates}):
        if path.count("/") != 1 or not path.endswith(f"/{index.INDEX}"):
            continue
        for unit in index.parse(decode(read(path) or b"")):
            if unit.target:
                found[f"{agent_folder(path)}/{unit.target}"] = unit.text
    return found
