"""Sentences of typed prose, with the neighbours they lean on."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ITEM = re.compile(r"^\s*(?:[-*•+]|\(?\d{1,2}[.):]|[a-z]\))\s+")
_END = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|approx|incl|resp|mr|mrs|dr|no|nr|st|cf)|(?:^|[\s,])\d{1,2})\.$", re.I
)
# A program wraps lines at a width; a person who types in lower case begins a new line for a new sentence.
WRAPPED = range(45, 131)

_QUOTED = re.compile(
    r"\"[^\"\n]{2,}\"|“[^”\n]+”|«[^»\n]+»|`[^`\n]+`|(?<!\w)'[^'\n]{2,}'(?!\w)|(?<!\w)‘[^’\n]+’(?!\w)"
)

QUOTE_MARK = "¤"


@dataclass(frozen=True)
class Sentence:
    """One sentence in its place.

    Attributes:
        text: the words as typed, on one line.
        before, after: the neighbouring sentences of the same paragraph; empty at its ends.
        opening: the sentence under which it stands: the first one of its paragraph, or of the message.
    """

    text: str
    before: str = ""
    after: str = ""
    opening: str = ""


def _units(lines: tuple[str, ...]) -> list[list[str]]:
    """Joins soft-wrapped lines; a list item begins a unit of its own."""
    units: list[list[str]] = []
    for line in lines:
        bare = _ITEM.sub("", line)
        wrapped = (
            units
            and bare == line
            and line[:1].islower()
            and units[-1][-1][-1:] not in ".!?:"
            and len(units[-1][-1]) in WRAPPED
        )
        if wrapped:
            units[-1].append(line)
        else:
            units.append([bare])
    return units


def _split(text: str) -> list[str]:
    parts: list[str] = []
    start = 0
    blank = masked(text)
    for m in _END.finditer(text):
        quoted = blank[m.end() - 1] == QUOTE_MARK
        if quoted or _ABBREVIATION.search(text[start : m.start()].rstrip("\"'”’)]")):
            continue
        parts.append(text[start : m.end()].strip())
        start = m.end()
    parts.append(text[start:].strip())
    return [p for p in parts if p]


def sentences(paragraph: tuple[str, ...]) -> tuple[Sentence, ...]:
    """Splits a paragraph into sentences.

    Args:
        paragraph: its lines.

    Returns:
        sentences in order; neighbours are those of the same paragraph, list items apart.
    """
    found: list[Sentence] = []
    texts: list[str] = []
    for unit in _units(paragraph):
        texts.extend(_split(" ".join(" ".join(unit).split())))
    for i, text in enumerate(texts):
        before = texts[i - 1] if i else ""
        after = texts[i + 1] if i + 1 < len(texts) else ""
        found.append(Sentence(text, before, after, texts[0]))
    return tuple(found)


def masked(text: str) -> str:
    """Gives the text in lower case with whatever stands in quotes or code marks blanked.

    Args:
        text: one sentence.

    Returns:
        a string of the same length, so that positions agree; typographic apostrophes become plain ones.
    """
    blanked = _QUOTED.sub(lambda m: QUOTE_MARK * len(m.group()), text.replace("’", "'"))
    low = blanked.lower()
    return low if len(low) == len(text) else blanked
