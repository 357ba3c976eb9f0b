"""Headings of a document as anchors, for links that lead to one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gitmem.core.references import without_fences

LONGEST = 400
"""Characters of a heading, or of a tag with an anchor, that are read."""

_HEADING = re.compile(r" {0,3}#{1,6}[ \t](.*)")
_LINE = re.compile(r" {0,3}(?:=+|-+)[ \t\r]*")
_OTHER = re.compile(r" {0,3}[#>|-]")
_SET = re.compile(r"(?:<a\b[^<>]{0,400}?\b(?:name|id)|\bid)=[\"']?([^\"'>\s]{1,400})|\{#([^{}\s]{1,400})\}")


def anchors(text: str) -> tuple[str, ...]:
    """The anchors of a text in their order, as GitHub makes them; a second one alike ends in `-1`."""
    found: dict[str, int] = {}
    for title in _titles(without_fences(text)):
        slug = name = _slug(title[:LONGEST])
        while name in found:
            found[slug] += 1
            name = f"{slug}-{found[slug]}"
        found[name] = 0
    return (*found, *(one or other for one, other in _SET.findall(text)))


def _titles(plain: str) -> Iterator[str]:
    """What stands behind `#`, or above a line of `=` or `-`. Line by line, so that no text takes long."""
    above = ""
    for line in plain.split("\n"):
        if heading := _HEADING.match(line):
            title = heading[1].strip()
            if title := title.rstrip("#").rstrip() or title:
                yield title
        elif above.strip() and _LINE.fullmatch(line) and not _OTHER.match(above):
            yield above.strip()
        above = line


def renamed(before: str, now: str, anchor: str) -> str:
    """What a heading is called now that is gone: the only new one, at the same place; else empty."""
    then, new = anchors(before), anchors(now)
    gone, come = set(then) - set(new), set(new) - set(then)
    if gone != {anchor} or len(come) != 1 or len(then) != len(new):
        return ""
    found = come.pop()
    return found if then.index(anchor) == new.index(found) else ""


def _slug(title: str) -> str:
    plain = re.sub(r"!?\[([^\[\]]*)\]\([^()]*\)", r"\1", title)
    plain = re.sub(r"[^\w\- ]", "", plain.strip().lower())
    return plain.replace(" ", "-")
