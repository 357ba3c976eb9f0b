"""Log mode (`gitmem.mode=log`): what a change says anew becomes lines of the log of that day."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime

from gitmem.core.change import Change
from gitmem.core.claim import Claim, normal_form, parse_body
from gitmem.core.daily_log import SESSION_CHARS, LogLine, line_keys, split
from gitmem.core.names import log_path
from gitmem.extract.edits import is_reason, said_anew, sides

_FIRST_YEAR, _LAST_YEAR = 1970, 9998
"""Outside of them a message's time is no time, and near the ends no time zone can be applied to it."""


def as_logged(change: Change, is_known: Callable[[str], bool], said: datetime) -> Change | None:
    """The change that puts what another one says anew into a log; carried out, it touches nothing else.

    A statement and its reasons are one line, and go together where either is news.

    Args:
        change: an add or update; of an edit of a whole file only what it brings counts.
        is_known: whether a claim (by its normal form) stands in a memory or a log.
        said: when it was said, with time zone.

    Returns:
        An add whose file is the log and whose time is that of its lines; None where nothing is new.
    """
    news = {claim.key for claim in said_anew(change) if not is_known(claim.key)}
    both = sides(change)
    claims = both[1].parsed.claims if both else parse_body(change.body or change.description).claims
    groups = [group for group in _groups(claims) if any(claim.key in news for claim in group)]
    if not groups:
        return None
    body = "\n\n".join(claim.text for group in groups for claim in group)
    when = said.astimezone(UTC).replace(microsecond=0)
    return replace(
        change,
        op="add",
        body=body,
        file=log_path(when.date()),
        origin=replace(change.origin, time=when),
        edited=None,
    )


def moment(said: datetime | None, now: float) -> datetime:
    """When a line was said, where that can be told; else now (epoch seconds)."""
    if said is None or not _FIRST_YEAR < said.year < _LAST_YEAR:
        return datetime.fromtimestamp(int(now), UTC)
    return said


def is_logged(change: Change) -> bool:
    """Whether a change is one that `as_logged` made."""
    time = change.origin.time
    return time is not None and change.op == "add" and change.file == log_path(time.astimezone(UTC).date())


def log_lines(change: Change) -> tuple[LogLine, ...]:
    """The lines of a change that `as_logged` made."""
    session = re.sub(r"[^A-Za-z0-9_-]", "", change.origin.session)[:SESSION_CHARS]
    when = change.origin.time or datetime.fromtimestamp(0, UTC)
    texts = (" ".join(claim.key for claim in group) for group in _groups(parse_body(change.body).claims))
    return tuple(LogLine(when, change.type, session, text) for text in texts)


def missing_lines(change: Change, logs: Iterable[str]) -> list[str]:
    """The lines of a change whose facts none of these logs has."""
    there = {key for text in logs for line in split(text) for key in line_keys(line)}
    found = (line for line in log_lines(change) if normal_form(line.text, item=False) not in there)
    return [line.render() for line in found]


def _groups(claims: Iterable[Claim]) -> Iterator[tuple[Claim, ...]]:
    """Each statement with the reasons that follow it; headings state nothing."""
    group: list[Claim] = []
    for claim in claims:
        if claim.key.startswith("#"):
            continue
        if group and not is_reason(claim.text):
            yield tuple(group)
            group = []
        group.append(claim)
    if group:
        yield tuple(group)
