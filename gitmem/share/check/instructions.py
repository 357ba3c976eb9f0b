"""Rules about text that speaks to the model as its master would (see `guard.instructions`)."""

from __future__ import annotations

from collections.abc import Iterator

from gitmem.guard.instructions import find_instructions
from gitmem.share.check.finding import Finding, quoted
from gitmem.share.check.side import Text


def judge_instructions(text: Text) -> Iterator[Finding]:
    """Finds text that addresses the model: one finding for each line and kind."""
    for found in find_instructions(text.text):
        what = f"{found.what}: {quoted(found.text)}"
        yield Finding(text.path, found.line, "instruction", what, found.level)
