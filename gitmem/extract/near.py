"""The memory that a new statement belongs to: an update beats a near-duplicate add, whoever found it."""

from __future__ import annotations

from collections.abc import Iterable

from gitmem.core.change import Change, Header
from gitmem.core.claim import parse_body
from gitmem.engines.offline.likeness import gist, near, same


def nearest(change: Change, headers: Iterable[Header]) -> Header | None:
    """The memory that is about the same thing, by its name and description; None where there is none.

    Likeness only proposes: what an update brings is joined to the memory, and takes nothing out of it.

    Args:
        change: an add.
        headers: memories that it may join.
    """
    claims = parse_body(change.body).claims
    said = [gist(text) for text in (change.description, claims[0].text if claims else "") if text]
    best: tuple[float, Header] | None = None
    for header in headers:
        named = gist(f"{header.name.replace('-', ' ').replace('_', ' ')} {header.description}")
        known = gist(header.description) if header.description else named
        for new in said:
            if not near(new, known):
                continue
            score = len(new.words & known.words) / len(new.words | known.words)
            if best is None or score > best[0]:
                best = (score, header)
    return best[1] if best else None


def says(text: str, known: Iterable[str]) -> bool:
    """Whether one of some texts says all that a text does, with the same numbers, names and negations."""
    new = gist(text)
    return any(same(new, gist(one)) for one in known if one)
