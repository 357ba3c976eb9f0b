"""Where memories and logs stand: hot, or paged out to `archive/`. Paths are those of a ref's tree."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from gitmem.memory.index import INDEX
from gitmem.memory.names import ARCHIVE, archive_path, is_memory_file
from gitmem.values import dataclass

_ARCHIVED = re.compile(r"(?P<agent>[^/]+)/(?P<place>archive/[0-9a-f]{2}/(?P<file>[^/]+))")
_LOG = re.compile(r"([^/]+)/(archive/)?(logs/(\d{4})/(\d{2})/\4-\5-\d{2}\.md)")


@dataclass(frozen=True)
class Folded:
    """One side of a merge with every memory and log at its hot path.

    Attributes:
        files: path to content.
        archived: hot paths of those that stand in the archive.
        twice: hot path to the archived content of memories that stand in both places.
    """

    files: dict[str, bytes]
    archived: frozenset[str]
    twice: Mapping[str, bytes]


def hot_path(path: str) -> str | None:
    """Where an archived memory or log stands when it is hot; None for a path outside the archive."""
    if log := _log(path):
        return f"{log[1]}/{log[3]}" if log[2] else None
    match = _ARCHIVED.fullmatch(path)
    if match is None or not is_memory_file(match["file"]) or archive_path(match["file"]) != match["place"]:
        return None
    return f"{match['agent']}/{match['file']}"


def archived_path(path: str) -> str | None:
    """Where a hot memory or log goes when it is paged out; None for what is neither."""
    if log := _log(path):
        return None if log[2] else f"{log[1]}/{ARCHIVE}/{log[3]}"
    agent, _, file = path.partition("/")
    return f"{agent}/{archive_path(file)}" if agent and is_memory_file(file) else None


def twins(paths: Iterable[str]) -> set[str]:
    """What a merge of these paths must see besides: the other place of each, and indexes of memories."""
    found: set[str] = set()
    for path in paths:
        other = hot_path(path) or archived_path(path)
        if other:
            found.add(other)
            if not _log(path):
                found.add(f"{path.partition('/')[0]}/{INDEX}")
    return found


def fold(files: Mapping[str, bytes]) -> Folded:
    """Moves what is archived to its hot path; a hot memory of that path stays and is named in `twice`."""
    homes = {path: home for path in files if (home := hot_path(path))}
    folded = {path: data for path, data in files.items() if path not in homes}
    twice = {home: files[path] for path, home in homes.items() if home in folded}
    moved = {home: files[path] for path, home in homes.items() if home not in twice}
    return Folded(folded | moved, frozenset(moved), twice)


def stays_archived(path: str, base: Folded, ours: Folded, theirs: Folded) -> bool:
    """Whether a merged memory belongs in the archive.

    It does where both sides have it there, and where one paged it out while the other left it as it was:
    who changed it, or brought it back, wants it where the agent sees it.

    Args:
        path: the hot path.
    """
    sides = [side for side in (ours, theirs) if path in side.files]
    hot = [side for side in sides if path not in side.archived]
    if not hot:
        return bool(sides)
    if len(hot) == len(sides) or path in base.archived:
        return False
    return hot[0].files[path] == base.files.get(path)


def _log(path: str) -> re.Match[str] | None:
    """A log's agent, `archive/` where it is archived, and its place while it is hot."""
    return _LOG.fullmatch(path) if "/logs/" in path else None
