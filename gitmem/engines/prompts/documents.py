"""The task of keeping a living document true, as a model is told it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from gitmem.core.text import counted, fence_for_model, one_line
from gitmem.engines import prompts
from gitmem.engines.engine import DocumentInput, Stale
from gitmem.engines.prompts.notes import without_runs

SYSTEM = "document-system.v1"

FILE = "local/main/document.md"
"""The document's copy in the tree that a model works on; all documents have one name there."""

STALE = 200
"""Statements that are listed; the rest is counted."""

FILE_CHARS, ALL_CHARS = 8_000, 60_000
"""Of one file's changes, and of all of them: some 20,000 tokens."""

_WISH_CHARS = 20_000
_LINE = 300


def task(given: DocumentInput, *, root: str = "memory") -> str:
    """Writes the task; secrets redacted, what is quoted marked as data.

    Args:
        given: the document, and what was found out about it.
        root: the tree as the model sees it.

    Raises:
        DetectorUnavailable: credentials cannot be looked for, so nothing may leave.
    """
    asks = one_line(given.instructions, 1_000)
    parts = {
        "path": one_line(given.path, _LINE),
        "title": one_line(given.title, _LINE),
        "file": f"{root}/{FILE}",
        "instructions": f"Its own line of instructions: {asks}" if asks else "",
        "wish": given.prompt.strip()[:_WISH_CHARS] or prompts.text("document-default.v1").strip(),
        "stale": _stale(given),
        "changed": "\n".join(_changed(given)),
        "today": datetime.fromtimestamp(given.now, UTC).strftime("%A, %Y-%m-%d"),
    }
    clean = dict(zip(parts, prompts.clean(list(parts.values())), strict=True))
    return without_runs(prompts.fill(prompts.text("document-task.v1"), **clean))


def said(one: Stale) -> str:
    """Says in a line what no longer holds."""
    became = f"; it is `{one.became}` today" if one.became else ""
    return f"line {one.line}: the {one.kind} `{one.name}`: {one.evidence}{became}"


def _stale(given: DocumentInput) -> str:
    if not given.stale:
        return "No name in it was found that no longer holds; look at what changed."
    lines = [f"- {one_line(said(one), _LINE)}" for one in given.stale[:STALE]]
    if len(given.stale) > STALE:
        lines.append(f"- and {counted(len(given.stale) - STALE, 'more statement')}")
    return "\n".join(["What it says and no longer holds (data):", "", *lines])


def _changed(given: DocumentInput) -> Iterator[str]:
    if given.changed:
        yield "What changed in files that it names, since it was last true:\n"
    room = ALL_CHARS
    for path, diff in given.changed.items():
        shown = diff[: min(FILE_CHARS, room)]
        if not shown.strip():
            yield f"- {one_line(path, _LINE)} (not shown)"
            continue
        room -= len(shown)
        more = "\n[… more left out]" if len(shown) < len(diff) else ""
        _, fenced = fence_for_model(shown + more, source="").split("\n", 1)
        yield f"- {one_line(path, _LINE)} (data):\n{fenced}"
