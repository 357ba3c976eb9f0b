"""Lines of daily logs that are in what would be pushed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gitmem.core.daily_log import SOME_DAY, LogLine, day_of, is_log, read_line, split
from gitmem.core.merge import agent_folder
from gitmem.core.text import decode, one_line
from gitmem.store.repository import Repository
from gitmem.store.trees import changed_files, list_files, read_paths

SHOWN = 60
"""Characters of a line that name it."""


def fresh_lines(repo: Repository, tree: str, known: Iterable[str]) -> Iterator[tuple[str, str, str, str]]:
    """Lines that no log of the known trees has, wherever it stood there.

    Returns:
        Of each its path, agent, name (the day, and how it begins) and type: a project's where it says none.
    """
    for path, line, told in _fresh(repo, tree, known):
        day = day_of(path) or SOME_DAY
        text = f"{told.when:%H:%M} {told.text}" if told else line.strip()
        yield (
            path,
            agent_folder(path),
            f"log {day} {one_line(text, SHOWN)}",
            told.type if told else "project",
        )


def personal_lines(repo: Repository, tree: str, known: Iterable[str]) -> dict[str, set[str]]:
    """Those of them that are about a person, by the log in which they stand."""
    found: dict[str, set[str]] = {}
    for path, line, told in _fresh(repo, tree, known):
        if told is not None and told.type == "user":
            found.setdefault(path, set()).add(line)
    return found


def _fresh(repo: Repository, tree: str, known: Iterable[str]) -> Iterator[tuple[str, str, LogLine | None]]:
    trees = list(known)
    changed = [changed_files(repo, other, tree) for other in trees]
    paths = set.intersection(*changed) if changed else set(list_files(repo, tree))
    seen = set()
    for other, differs in zip(trees, changed, strict=True):
        for path, line in _lines(repo, other, differs):
            seen.add((agent_folder(path), line))
    for path, line in _lines(repo, tree, paths):
        agent = agent_folder(path)
        if (agent, line) not in seen:
            seen.add((agent, line))
            yield path, line, read_line(line, day_of(path) or SOME_DAY)


def _lines(repo: Repository, tree: str, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    for path, data in sorted(read_paths(repo, tree, set(filter(is_log, paths))).items()):
        yield from ((path, line) for line in dict.fromkeys(split(decode(data))) if line.strip())
