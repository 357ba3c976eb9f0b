"""Rules about text that a reader cannot see, or that is no text."""

from __future__ import annotations

from collections.abc import Iterator

from gitmem.core.text import find_invisible
from gitmem.share.check.finding import Finding
from gitmem.share.check.side import Text

SHOWN = 5
"""Characters that a finding names."""


def judge_hidden(text: Text) -> Iterator[Finding]:
    """Finds bytes that are not UTF-8, and invisible or bidirectional characters: one finding a line."""
    try:
        text.data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = text.data.count(b"\n", 0, error.start) + 1
        yield Finding(text.path, line, "encoding", "is not UTF-8 text")
    if text.kind == "host" and b"\0" in text.data:
        return
    shown = text.text[1:] if text.text.startswith("\ufeff") else text.text
    lines: dict[int, list[str]] = {}
    for found in find_invisible(shown):
        # A byte that is not UTF-8 was told already, and stands as a surrogate here.
        if not 0xD800 <= int(found.code[2:], 16) <= 0xDFFF:
            lines.setdefault(found.line, []).append(f"{found.code} {found.name}")
    for line, names in lines.items():
        several = list(dict.fromkeys(names))
        more = f" and {len(several) - SHOWN} more kinds" if len(several) > SHOWN else ""
        what = f"holds what nobody can see: {', '.join(several[:SHOWN])}{more}"
        yield Finding(text.path, line, "invisible", what)
