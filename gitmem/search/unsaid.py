"""Lines of logs that some memory says already are not worth finding; loaded only where there are lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gitmem.search.ground import Entry
from gitmem.search.vocabulary import ASKS, FIELD, LABEL, PASSAGE

LEAST_WORDS = 3
"""Words of a line from which on having them in a row says it; fewer must be a passage of their own."""

_MARKS = str.maketrans("", "", LABEL + PASSAGE + ASKS)  # a colon or a question mark changes no word


def unsaid(order: Sequence[tuple[Entry, float]], words: Mapping[int, str]) -> list[tuple[Entry, float]]:
    """Leaves out lines whose words stand, one after another, in a memory that was found as well.

    A memory that says what a line says has all the words of it that were asked for.

    Args:
        order: what was found, with its score.
        words: text to its words as the catalog keeps them.
    """
    memories = [_said(words[entry.blob]) for entry, _ in order if not entry.is_line and entry.blob in words]
    lines: dict[int, bool] = {}
    for entry, _ in order:
        if entry.is_line and entry.blob in words and entry.blob not in lines:
            line = _bare(words[entry.blob].rpartition(FIELD)[2])
            lines[entry.blob] = bool(line) and any(
                line in pieces or (len(line) >= LEAST_WORDS and any(line in piece for piece in pieces))
                for pieces in memories
            )
    return [one for one in order if not lines.get(one[0].blob)]


def _said(words: str) -> list[str]:
    """The description of a memory, its passages and its whole body, without marks."""
    _, description, _, body = words.split(FIELD)
    return [description, _bare(body), *map(_bare, body.split(PASSAGE))]


def _bare(words: str) -> str:
    return words.translate(_MARKS)
