"""Messages of squashed commits: what each of the commits said that went into one.

Hosts and git keep the messages, one after the other: GitHub as `* subject` paragraphs, `git merge --squash`
under `commit <name>` / `Author:` / `Date:` headers, an interactive rebase without anything between.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from gitmem.memory.trailers import Provenance, parse

_HEADER = re.compile(r"^commit [0-9a-f]{7,64}$", re.MULTILINE)
_AUTHOR = re.compile(r"^Author: +(.+)$", re.MULTILINE)
_DATE = re.compile(r"^Date: +(.+)$", re.MULTILINE)
_STARRED = re.compile(r"(?:(?<=\A)|(?<=\n\n))\* (?=[^\n]+(?:\n\n|\n?\Z))")
_TRAILERS = re.compile(r"(?:^[ \t]*Gitmem-[A-Za-z-]+:.*(?:\n|\Z))+", re.MULTILINE)
_OPENING = re.compile(r"Gitmem-(?:Op|Writer):", re.IGNORECASE)
_TEACH_NOTHING = frozenset({"delete", "page", "merge"})
_DATE_FORM = "%a %b %d %H:%M:%S %Y %z"
"""git's default, which `git merge --squash` writes whatever is configured."""


@dataclass(frozen=True)
class Telling:
    """What one commit said that is part of a message.

    Attributes:
        subject: its first line.
        author: `Ann <ann@example.com>`, or empty where the form does not have it.
        time: author time in seconds since the epoch, or None where the form does not have it.
    """

    subject: str
    provenance: Provenance
    author: str = ""
    time: int | None = None


def tellings(message: str) -> tuple[Telling, ...]:
    """Cuts a message into what each of its commits said; a plain commit says one thing.

    Returns:
        In the order of the message. Commits without trailers are among them only where the form shows them.
    """
    if _HEADER.search(message):
        return tuple(_listed(message))
    ends = _ends(message)
    if not ends:
        return (_told(message),)
    starred = [match.start() for match in _STARRED.finditer(message)]
    parts = _cut(message, starred if len(starred) > 1 else [0, *ends])
    return tuple(_told(part) for part in parts if part.strip(" \n-"))


def fitting(told: Iterable[Telling], names: Iterable[str]) -> tuple[Telling, ...]:
    """Chooses those that can have taught a memory.

    Args:
        told: what a message's commits said.
        names: what the memory goes by: its name, its file's stem, its description.

    Returns:
        Those whose subject or trailers name the memory; where none does, all but deletions, pagings and
        merges, which teach nothing; each only once.
    """
    known = tuple(dict.fromkeys(told))
    sought = [plain for name in names if (plain := _plain(name)).strip()]
    teaching = tuple(one for one in known if one.provenance.op not in _TEACH_NOTHING) or known
    named = tuple(one for one in teaching if any(name in _said(one) for name in sought))
    return named or teaching


def _listed(message: str) -> Iterator[Telling]:
    for part in _cut(message, [match.start() for match in _HEADER.finditer(message)]):
        head, _, body = part.partition("\n\n")
        if _HEADER.match(head):
            author, date = _AUTHOR.search(head), _DATE.search(head)
            text = "\n".join(line.removeprefix("    ") for line in body.splitlines())
            one = _told(text)
            yield Telling(
                one.subject,
                one.provenance,
                author[1].strip() if author else "",
                _time(date[1].strip()) if date else None,
            )


def _told(text: str) -> Telling:
    text = text.strip("\n").removeprefix("* ")
    return Telling(text.split("\n", 1)[0].strip(), parse(text))


def _ends(message: str) -> list[int]:
    """Where the trailers of one commit end and another's message begins: before Op or Writer come again."""
    ends: list[int] = []
    opened, last = False, 0
    for block in _TRAILERS.finditer(message):
        if _OPENING.search(block[0]):
            if opened:
                ends.append(last)
            opened = True
        last = block.end()
    return ends


def _cut(message: str, starts: list[int]) -> list[str]:
    ends = [*starts[1:], len(message)]
    return [message[start:end] for start, end in zip(starts, ends, strict=True)]


def _time(date: str) -> int | None:
    try:
        return int(datetime.strptime(date, _DATE_FORM).timestamp())
    except (ValueError, OverflowError):
        return None


def _said(one: Telling) -> str:
    ends = (end for fate in one.provenance.claims for end in (fate.source, fate.target))
    return _plain(" ".join([one.subject, *ends]))


def _plain(text: str) -> str:
    """Words with single spaces around them, so that a name is only found as whole words."""
    words = re.findall(r"\w+", text.casefold().removesuffix(".md"))
    return f" {' '.join(words)} "
