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

from gitmem.guard.text import find_invisible
from gitmem.share.check.finding import Finding, quoted
from gitmem.share.check.lookalike import plain
from gitmem.share.check.phrases import MARKUP, PHRASES
from gitmem.share.check.side import Text

_EMPHASIS = str.maketrans("", "", "*`~")
_NAMED = re.compile(r"(?<!`)`[^`\n]{1,80}`(?!`)")
_QUOTE = re.compile(r"^(?:[ \t]*>)+[ \t]?", re.MULTILINE)


def judge_instructions(text: Text) -> Iterator[Finding]:
    """Finds text that addresses the model: one finding for each line and kind."""
    whole = _as_read(text.text)
    spoken = whole.translate(_EMPHASIS)
    told: set[tuple[int, str]] = set()
    for phrase in PHRASES:
        for match in phrase.pattern.finditer(spoken):
            line = spoken.count("\n", 0, match.start()) + 1
            if (line, phrase.what) not in told:
                told.add((line, phrase.what))
                what = f"{phrase.what}: {quoted(match[0])}"
                yield Finding(text.path, line, "instruction", what, phrase.level)
    shown = _NAMED.sub(lambda match: " " * len(match[0]), whole)
    for match in MARKUP.finditer(shown):
        line = shown.count("\n", 0, match.start()) + 1
        yield Finding(
            text.path, line, "instruction", f"poses as the client's own markup: {quoted(match[0])}"
        )


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
