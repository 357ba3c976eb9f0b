"""Headings of a document as anchors, for links that lead to one."""

from __future__ import annotations

import re

from gitmem.memory.truth import without_fences

_HEADING = re.compile(r"(?m)^ {0,3}(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t\r]*$")
_UNDERLINED = re.compile(r"(?m)^(?! {0,3}[#>|-])([^\n]*\S[^\n]*)\n {0,3}(?:=+|-+)[ \t\r]*$")
_SET = re.compile(r"(?:<a[^>]*\b(?:name|id)|\bid)=[\"']?([^\"'>\s]+)|\{#([^}\s]+)\}")


def anchors(text: str) -> tuple[str, ...]:
    """The anchors of a text in their order, as GitHub makes them; a second one alike ends in `-1`."""
    plain = without_fences(text)
    rows = [(match.start(), match[2]) for match in _HEADING.finditer(plain)]
    rows += [(match.start(), match[1]) for match in _UNDERLINED.finditer(plain)]
    found: dict[str, None] = {}
    for _, title in sorted(rows):
        slug = _slug(title)
        number, name = 0, slug
        while name in found:
            number += 1
            name = f"{slug}-{number}"
        found[name] = None
    return (*found, *(one or other for one, other in _SET.findall(text)))


def renamed(before: str, now: str, anchor: str) -> str:
    """What a heading is called now that is gone: the only new one, at the same place; else empty."""
    then, new = anchors(before), anchors(now)
    gone, come = set(then) - set(new), set(new) - set(then)
    if gone != {anchor} or len(come) != 1 or len(then) != len(new):
        return ""
    found = come.pop()
    return found if then.index(anchor) == new.index(found) else ""


def _slug(title: str) -> str:
    plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", title)
    plain = re.sub(r"[^\w\- ]", "", plain.strip().lower())
    return plain.replace(" ", "-")
