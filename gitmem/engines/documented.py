"""What a model left of a living document, held against what it was and why it was asked for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

from gitmem.core.errors import EngineError
from gitmem.core.text import counted, one_line
from gitmem.engines.noted import new_problems
from gitmem.engines.writing import Document, DocumentInput

DOCUMENT_BYTES = 262_144
"""Of a document, at most."""

SHARE = 0.5
"""Of a document's lines, how many may change that name nothing stale."""

FEW_LINES = 2
"""Lines that may always change: half of a short document is less than a sentence."""

NEW_LINES = 40
"""Lines that may always be added: a page, as where a document is nothing but its heading yet."""

REASONS = 60
_WIDTH = 300
_NOTE = re.compile(r"[-*•\s]*\**(changed|left)\**\s*:\**\s*(\S.*)", re.IGNORECASE)
# What a diff names: where something is defined or called, what looks like no word, flags.
_DEFINED = re.compile(
    r"\b(?:def|class|fn|func|function|struct|enum|trait|interface|type|const|let|var|module|package)\s+"
    r"([^\W\d]\w+)"
)
_SHAPED = re.compile(r"(?<!\w)(?:[^\W\d]\w*(?=\()|[^\W\d]\w*_\w+|[^\W\d]*[a-z0-9][A-Z]\w*|--[a-z][\w-]+)")
_SHORTEST = 3
_MOST_NAMES = 20_000


def documented(given: DocumentInput, after: str, answer: str) -> tuple[Document, tuple[str, ...]]:
    """Takes of a model's work on a document what it was asked for.

    A change that has to do with nothing stale and nothing that changed in the code is left out, and said in
    the log.

    Args:
        after: its copy of the document.
        answer: its last words: `changed: …` and `left: …`, a line each.

    Returns:
        the document, and why it cannot be taken, a line each; empty where it can.

    Raises:
        DetectorUnavailable: credentials cannot be looked for.
    """
    before = given.text
    if "\r\n" in before and "\r\n" not in after:
        after = after.replace("\n", "\r\n")
    if before.endswith("\n") and not after.endswith("\n"):
        after += "\r\n" if "\r\n" in before else "\n"
    old, new = before.split("\n"), after.split("\n")
    wrong = list(_kept(given, old, new))
    kept, log = _concerned(given, old, new)
    wrong += _bounded(given, old, kept)
    text = "\n".join(kept)
    if text != before:
        wrong += new_problems(before.replace("\r\n", "\n"), text.replace("\r\n", "\n"))
    if len(text.encode("utf-8", "replace")) > DOCUMENT_BYTES:
        wrong.append(f"it is longer than {DOCUMENT_BYTES:,} bytes")
    reasons, notes = _told(answer)
    if text == before:
        reasons = ()
    elif not reasons:
        reasons = ("the model gave no reason",)
    return Document(text, reasons, notes, log=log), tuple(wrong)


def is_settled(given: DocumentInput) -> bool:
    """Whether there is nothing to ask about a document: it has a text, and nothing was found against it."""
    return not given.stale and not given.changed and bool("".join(_body(given)).strip())


def refused(given: DocumentInput, wrong: tuple[str, ...]) -> EngineError:
    """Says that a document is not taken."""
    return EngineError(
        f"The model's change of {one_line(given.path, 200)} cannot be taken: {wrong[0]}",
        "The document stays as it is; see `git mem docs check` for what no longer holds in it.",
    )


def _kept(given: DocumentInput, old: list[str], new: list[str]) -> Iterator[str]:
    if not any(line.strip() for line in new):
        yield "the document is gone"
        return
    if new[0] != old[0]:
        yield f"the first line was changed; it is: {one_line(old[0], _WIDTH)}"
    at = _instructed(given, old)
    if at is not None and _first_text(new) != old[at]:
        yield f"the line in italics under the first was changed; it is: {one_line(old[at], _WIDTH)}"


def _instructed(given: DocumentInput, lines: list[str]) -> int | None:
    """Index of the line of instructions; None where there is none."""
    if not given.instructions.strip():
        return None
    return next((at for at, line in enumerate(lines) if at and line.strip()), None)


def _first_text(lines: list[str]) -> str:
    return next((line for at, line in enumerate(lines) if at and line.strip()), "")


def _body(given: DocumentInput) -> list[str]:
    lines = given.text.split("\n")
    at = _instructed(given, lines)
    return [line for number, line in enumerate(lines) if number and number != at]


def _concerned(given: DocumentInput, old: list[str], new: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """The lines of the new text, with those of the old one where the change was not asked for."""
    if not "".join(_body(given)).strip():
        return new, ()
    names, stale = _names(given), {one.line for one in given.stale}
    kept: list[str] = []
    log: list[str] = []
    for kind, low, high, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        touched = any(number in stale for number in range(low + 1, high + 1))
        texts = (*old[low:high], *new[start:end])
        blank = not any(line.strip() for line in texts)
        if kind == "equal" or touched or blank or any(_mentions(line, names) for line in texts):
            kept += new[start:end]
            continue
        kept += old[low:high]
        shown = one_line(" ".join(texts), 120)
        log.append(f"line {low + 1}: has nothing to do with what changed, left as it was: {shown}")
    return kept, tuple(log)


def _bounded(given: DocumentInput, old: list[str], new: list[str]) -> Iterator[str]:
    stale = {one.line for one in given.stale}
    gone = added = 0
    for kind, low, high, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            gone += sum(
                line.strip() != "" and low + at not in stale for at, line in enumerate(old[low:high], 1)
            )
            added += max(0, sum(line.strip() != "" for line in new[start:end]) - (high - low))
    lines = sum(line.strip() != "" for line in _body(given))
    if gone > max(FEW_LINES, lines * SHARE):
        yield (
            f"{counted(gone, 'line')} of {lines} that name nothing stale were changed: "
            "leave all as it stands but what no longer holds"
        )
    if added > max(NEW_LINES, lines * SHARE):
        yield f"{counted(added, 'line')} were added to {lines}: shorten them"


def _names(given: DocumentInput) -> frozenset[str]:
    """Names of what is stale and of what changed, in lower case."""
    found: set[str] = set()
    for one in given.stale:
        found |= {one.name, one.became}
    for path, diff in given.changed.items():
        found |= {path, *_parts(path)}
        for line in diff.split("\n"):
            if line[:1] in "+-" or line.startswith("rename "):
                found.update(_DEFINED.findall(line[:2_000]))
                found.update(_SHAPED.findall(line[:2_000]))
                found.update(_parts(line.rpartition(" ")[2]) if line.startswith("rename ") else ())
        if len(found) > _MOST_NAMES:
            break
    return frozenset(name.lower().strip("`/ ") for name in found if len(name.strip("`/ ")) >= _SHORTEST)


def _parts(path: str) -> Iterator[str]:
    """Names by which prose calls a file: its own, that without its suffix, and its folder's path."""
    folder, _, name = path.rpartition("/")
    yield name
    yield name.partition(".")[0]
    if folder:
        yield folder
        yield folder.rpartition("/")[2]


def _mentions(line: str, names: frozenset[str]) -> bool:
    words = re.findall(r"[\w./@+-]+", line.lower())
    return any(
        part in names
        for word in words
        for part in (word, word.strip("./"), *re.split(r"[/.]", word), word.rpartition("/")[0])
        if part
    ) or any(" " in name and name in line.lower() for name in names)


def _told(answer: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    found: dict[str, list[str]] = {"changed": [], "left": []}
    for line in answer[:100_000].split("\n"):
        match = _NOTE.match(line.strip())
        if match:
            found[match[1].lower()].append(one_line(match[2], _WIDTH))
    return tuple(found["changed"][:REASONS]), tuple(found["left"][:REASONS])
