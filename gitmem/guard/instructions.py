"""Text that speaks to the model as its master would: memory is data, and must not smuggle orders in.

Ordinary memory is full of imperatives ("Always run the linter"), so an order is no finding. What counts is
what no honest memory needs: orders about the reader's own orders, text in the dress of a client's markup,
secrecy towards the person, commands that carry secrets away. Markup that is only named, in code within a
line, is not counted.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from gitmem.core.text import find_invisible
from gitmem.guard.lookalike import plain
from gitmem.guard.phrases import MARKUP, PHRASES, Level
from gitmem.values import dataclass

_EMPHASIS = str.maketrans("", "", "*`~")
_NAMED = re.compile(r"(?<!`)`[^`\n]{1,80}`(?!`)")
_QUOTE = re.compile(r"^(?:[ \t]*>)+[ \t]?", re.MULTILINE)


@dataclass(frozen=True)
class Instruction:
    """One piece of text that addresses the model.

    Attributes:
        line: on which it begins, from 1.
        what: what it does, as a phrase for a person.
        text: the piece, in lower case and without emphasis; hostile text.
    """

    line: int
    what: str
    text: str
    level: Level = "error"


def find_instructions(text: str) -> Iterator[Instruction]:
    """Finds text that addresses the model: one for each line and kind."""
    whole = _as_read(text)
    spoken = whole.translate(_EMPHASIS)
    told: set[tuple[int, str]] = set()
    for phrase in PHRASES:
        for match in phrase.pattern.finditer(spoken):
            line = spoken.count("\n", 0, match.start()) + 1
            if (line, phrase.what) not in told:
                told.add((line, phrase.what))
                yield Instruction(line, phrase.what, match[0], phrase.level)
    shown = _NAMED.sub(lambda match: " " * len(match[0]), whole)
    for match in MARKUP.finditer(shown):
        line = shown.count("\n", 0, match.start()) + 1
        yield Instruction(line, "poses as the client's own markup", match[0])


def _as_read(text: str) -> str:
    """The text as a model reads it: look-alikes, quotation marks of mail and what is hidden taken out.

    Lines stay where they are.
    """
    if not text.isascii():
        hidden = {found.offset for found in find_invisible(text)}
        if hidden:
            text = "".join(char for at, char in enumerate(text) if at not in hidden)
        text = plain(unicodedata.normalize("NFKC", text))
    return _QUOTE.sub("", text.lower())
