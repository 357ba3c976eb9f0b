"""What commits say of lines of daily logs: which they account for, and when these were told."""

from __future__ import annotations

from collections.abc import Iterator

from gitmem.core.account import lines_named, path_of
from gitmem.core.trailers import parse
from gitmem.git.repository import Commit, MissingObject, Repository
from gitmem.git.trees import read_log


def distills(commit: Commit) -> Iterator[tuple[str, str]]:
    """Yields lines of logs that a commit accounts for, with its name; what it takes back, with no line."""
    told = parse(commit.message)
    lines = (fate.source for fate in told.claims if fate.source.isascii())
    yield from ((line, commit.oid) for line in lines if "/logs/" in line)
    if len(told.undoes) == len(commit.oid) and not told.undoes.strip("0123456789abcdef"):
        yield "", told.undoes


def told_at(repo: Repository, commit: Commit) -> dict[str, int]:
    """When the last of the lines was told that a commit made claims of, for each memory with such claims.

    No time is later than the commit's own: a day that is yet to come makes no fact young.

    Returns:
        Path to seconds since the epoch; nothing where the logs cannot be read.
    """
    fates = [fate for fate in parse(commit.message).claims if fate.kind == "merged"]
    try:
        lines = lines_named(fates, lambda path: read_log(repo, commit.tree, path))
    except MissingObject:
        return {}
    found: dict[str, int] = {}
    for fate in fates:
        if fate.source in lines:
            path, when = path_of(fate.target), int(lines[fate.source].when.timestamp())
            found[path] = max(found.get(path, 0), min(when, commit.author.time))
    return found
