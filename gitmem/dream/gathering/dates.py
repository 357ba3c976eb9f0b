"""When claims were first said, as history tells it: what "yesterday" was, and which of two is the later."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime, timedelta, timezone

from gitmem.core.account import claims_at, is_memory, lines_named, reference
from gitmem.core.dates import relative_dates
from gitmem.core.merge import agent_folder
from gitmem.core.names import homes
from gitmem.core.trailers import Fate, parse
from gitmem.dream.gathering.history import Past, Spoken
from gitmem.git.repository import Signature

_TEACHERS = frozenset({"agent", "extract", "human"})
_TAUGHT = frozenset({"add", "update", ""})
"""Operations whose commit is made when something is said: an adopted file is older than its commit."""

MOST_MEMORIES = 1_000
"""Memories up to which it is found out when every claim was said: most of history is parsed for it."""


def spoken(files: Mapping[str, bytes], agents: Collection[str] = ()) -> dict[str, Spoken]:
    """The claims of which it matters when they were said, as `<file>#<12 hex>`.

    Those that hold a relative date; and where memories are not too many, all, since of two claims that
    speak against each other the later one mostly holds.

    Args:
        agents: folder names of those whose memories count; empty for all.
    """
    paths = [path for path in files if is_memory(path) and (not agents or agent_folder(path) in agents)]
    return {
        reference(path, claim): (agent_folder(path), claim.key)
        for path in paths
        for claim in claims_at(path, files[path])
        if len(paths) <= MOST_MEMORIES or relative_dates(claim.text)
    }


def said_when(
    asked: Mapping[str, Spoken], past: Past, files: Mapping[str, bytes] | None = None
) -> dict[str, datetime]:
    """Tells when claims came into memory.

    Args:
        files: the tree, with the daily logs that claims were made of.

    Returns:
        `<file>#<12 hex>` to author time of the commit that brought the claim, in its author's time zone; of
        one that was made of lines of a log, to when the last of them was said.
        A claim that was adopted, restored or merged in from elsewhere was said nobody knows when, and
        is left out.
    """
    found = {}
    for ref, said in asked.items():
        commit = past.brought.get(said)
        provenance = parse(commit.message) if commit else None
        if commit is None or provenance is None:
            continue
        if provenance.writer in _TEACHERS and provenance.op in _TAUGHT:
            found[ref] = moment(commit.author)
        elif files and (days := _logged(provenance.claims, ref, files)):
            found[ref] = max(days)
    return found


def _logged(fates: Iterable[Fate], ref: str, files: Mapping[str, bytes]) -> list[datetime]:
    """When the lines of logs were said that a dream made a claim of."""

    def read(path: str) -> bytes | None:
        return next((files[home] for home in homes(path) if home in files), None)

    digits = ref.rpartition("#")[2]
    mine = (fate for fate in fates if fate.target.rpartition("#")[2] == digits)
    return [line.when for line in lines_named(mine, read).values()]


def moment(who: Signature) -> datetime:
    """A signature's time in its own time zone."""
    zone = timezone(timedelta(minutes=who.offset)) if who.offset else UTC
    return datetime.fromtimestamp(who.time, zone)
