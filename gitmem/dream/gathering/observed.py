"""What can be seen before an engine is asked, and not from the memories alone: logs, disputes, the code.

What the memories alone show (limits, index lines, claims that are alike) the engine sees for itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime, timedelta

from gitmem.core.account import claims_at, is_memory, reference
from gitmem.core.claim import Claim, with_dispute
from gitmem.core.merge import agent_folder, kind
from gitmem.core.text import counted, decode, one_line
from gitmem.dream.gathering.dates import moment
from gitmem.dream.gathering.history import Past, Spoken
from gitmem.dream.sources import CodeFacts
from gitmem.engines.engine import Observation

MOST_LOGS = 30
"""Logs that are told of, the newest."""

SHOWN = 100
"""Characters of a claim or a log line that are shown."""

Disputed = dict[tuple[str, str], list[Claim]]
"""Path and mark to the claims that stand there against one another."""


def logs(files: Mapping[str, bytes], since: float, agents: Collection[str] = ()) -> list[Observation]:
    """The logs of days since the last dream, with their size and how they begin.

    Args:
        since: epoch seconds; 0 for never.
        agents: folder names; empty for all.
    """
    # A log is named for a day of whoever wrote it, who may have been a day behind.
    first = (datetime.fromtimestamp(since, UTC) - timedelta(days=1)).date().isoformat() if since else ""
    found = []
    for path in sorted(files, key=lambda path: (path.rpartition("/")[2], path), reverse=True):
        day = path.rpartition("/")[2].removesuffix(".md")
        if kind(path) != "log" or day < first or not _asked(path, agents):
            continue
        lines = [line for line in decode(files[path]).splitlines() if line.strip()]
        size = f"{counted(len(lines), 'line')}, {len(files[path]):,} bytes"
        begins = one_line(" / ".join(lines[:3]), SHOWN) if lines else ""
        found.append(Observation("log", f"{_plain(path)}: {size}" + (f": {begins}" if begins else "")))
        if len(found) == MOST_LOGS:
            break
    return found


def disputed(files: Mapping[str, bytes], agents: Collection[str] = ()) -> Disputed:
    """Claims that stand twice because two writers changed one differently."""
    found: Disputed = {}
    for path, data in files.items():
        if b"*(disputed " in data and is_memory(path) and _asked(path, agents):
            for claim in claims_at(path, data):
                if claim.dispute:
                    found.setdefault((path, claim.dispute), []).append(claim)
    return found


def sides(asked: Disputed) -> Iterator[Spoken]:
    """The disputed claims, to ask history about."""
    for (path, _), claims in asked.items():
        yield from ((agent_folder(path), claim.key) for claim in claims)


def disputes(asked: Disputed, past: Past) -> list[Observation]:
    """Each dispute with its sides, and who said what and when."""
    found = []
    for (path, mark), claims in sorted(asked.items()):
        said = [_side(path, claim, past) for claim in claims]
        text = f"{_plain(path)}: {' against '.join(said)} (disputed {mark})"
        found.append(Observation("dispute", text, tuple(reference(path, claim) for claim in claims)))
    return found


def against_code(
    files: Mapping[str, bytes], code: CodeFacts, agents: Collection[str] = ()
) -> list[Observation]:
    """What the code says otherwise than memories do; those that agents see are asked about first."""
    paths = [path for path in files if is_memory(path) and _asked(path, agents)]
    paths.sort(key=lambda path: (path.count("/"), path))
    claims = {
        reference(path, claim): claim.text for path in paths for claim in claims_at(path, files[path])
    }
    return list(code(claims)) if claims else []


def _side(path: str, claim: Claim, past: Past) -> str:
    text = f"“{one_line(with_dispute(claim.text, ''), SHOWN)}”"
    commit = past.brought.get((agent_folder(path), claim.key))
    if commit is None:
        return text
    who = one_line(commit.author.name, 40)
    return f"{text} ({who}, {moment(commit.author).date().isoformat()})"


def _asked(path: str, agents: Collection[str]) -> bool:
    return not agents or agent_folder(path) in agents


def _plain(path: str) -> str:
    return one_line(path, 200)
