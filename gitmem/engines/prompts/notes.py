"""The task of writing a session's notes on, as a model is told it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from gitmem.core.text import one_line
from gitmem.engines import prompts
from gitmem.engines.engine import ExtractInput, NotesInput

FILE = "local/main/session-notes.md"
"""The notes in the tree that a model works on."""

REPAIR = "file-repair.v1"
_WIDTH = 300
_PROBLEMS = 20


def task(given: NotesInput, part: ExtractInput, *, root: str = "memory", quote: bool = False) -> str:
    """Writes the task that stands behind the record.

    Args:
        given: the session and its notes.
        part: the session with what of it is to be noted now as its new messages.
        root: the tree as the model sees it.
        quote: repeat what the person said in the new messages, for a model whose record carries no numbers.

    Raises:
        DetectorUnavailable: credentials cannot be looked for, so nothing may leave.
    """
    filled = prompts.fill(
        prompts.text("notes-task.v1"),
        new=prompts.new(part, quote),
        file=f"{root}/{FILE}",
        today=datetime.fromtimestamp(given.now, UTC).strftime("%A, %Y-%m-%d"),
    )
    return "\n".join([prompts.text("notes-system.v1"), without_runs(filled)])


def repair(problems: Sequence[str], file: str) -> str:
    """Writes what a model is told of a file that cannot be taken.

    Args:
        problems: what is wrong, one line each.
        file: as the model sees it.
    """
    lines = [f"- {one_line(line, _WIDTH)}" for line in prompts.clean(problems[:_PROBLEMS])]
    return prompts.fill(prompts.text(REPAIR), problems="\n".join(lines), file=file)


def without_runs(text: str) -> str:
    """A text with one blank line where several follow one another."""
    lines = text.split("\n")
    kept = [line for at, line in enumerate(lines) if line or (at and lines[at - 1])]
    return "\n".join(kept)
