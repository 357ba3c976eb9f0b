"""What is indexed of a memory file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from gitmem.values import dataclass

MOST_LINKS = 64
MOST_PERIODS = 64
LONGEST_SESSION = 200

_LINK = re.compile(r"\[\[(\w[^\[\]\n|#]{0,200})(?:[|#][^\[\]\n]*)?\]\]")


@dataclass(frozen=True)
class Fields:
    """The texts of one memory; empty where the file has none.

    Attributes:
        near: what stands around it and is no part of it; only measurements have that.
        links: names of memories that it links to, as slugs.
        dates: first and last day of each date or month that it names, as proleptic ordinals.
        session: the session that it was learned in, as the client that wrote it says: what one agent
            learned in one session stands side by side.
        given: the name that its frontmatter gives.
    """

    name: str
    description: str
    type: str
    body: str
    near: str = ""
    links: tuple[str, ...] = ()
    dates: tuple[tuple[int, int], ...] = ()
    session: str = ""
    given: str = ""


Read = Callable[[str, bytes], Fields]
"""Parses a memory file from (path in the tree, content); never raises for bad content."""


def read_memory(path: str, data: bytes) -> Fields:
    """Reads the fields of a memory file, whatever its bytes."""
    from gitmem.core.dates import named_days
    from gitmem.core.memory import parse

    memory = parse(path, data)
    text = f"{memory.description}\n{memory.body}"
    days = dict.fromkeys(
        (first.toordinal(), last.toordinal()) for first, last in named_days(text, MOST_PERIODS)
    )
    front = memory.front
    return Fields(
        memory.name,
        memory.description,
        memory.type,
        memory.body,
        links=links(text),
        dates=tuple(days),
        session=front.text("originSessionId")[:LONGEST_SESSION] if front else "",
        given=front.text("name") if front else "",
    )


def links(text: str) -> tuple[str, ...]:
    """Names that a text links to as `[[name]]`, as slugs, the first `MOST_LINKS`."""
    if "[[" not in text:
        return ()
    from gitmem.core.names import slugify

    found: Iterable[str] = (match[1].strip().removesuffix(".md") for match in _LINK.finditer(text))
    named = dict.fromkeys(slugify(link) for link in found if any(char.isalpha() for char in link))
    return tuple(named)[:MOST_LINKS]
