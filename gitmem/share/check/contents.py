"""Rules about one memory by itself: its frontmatter, type, size, dates and disputes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from gitmem.core import frontmatter, index
from gitmem.core.change import TYPES
from gitmem.core.dates import relative_dates
from gitmem.core.limits import ENTRY_CHARS, FRONTMATTER_LINES, INDEX_BYTES, INDEX_LINES, MEMORY_BYTES
from gitmem.core.text import counted
from gitmem.share.check.finding import Finding, quoted
from gitmem.share.check.logs import judge_lines
from gitmem.share.check.side import Text

_SOME_DAY = datetime(2026, 11, 18)
"""A Wednesday: only to see which phrases mean one day."""


def judge_content(text: Text) -> Iterator[Finding]:
    """Judges one file by what it is."""
    if text.kind == "memory":
        yield from _limits(text)
        yield from _frontmatter(text)
        yield from _dates(text)
        yield from _disputes(text)
    elif text.kind == "index":
        yield from _index(text)
    elif text.kind == "log":
        yield from judge_lines(text)


def too_large(path: str) -> Finding:
    """The finding for a file that exceeds the limit of a memory, whether or not it was read."""
    return Finding(
        path, 1, "limit", f"is larger than {MEMORY_BYTES:,} bytes, so it is neither stored nor judged"
    )


def body_line(text: Text) -> int:
    """The line on which a memory's body begins."""
    front = text.memory.front
    return 1 + (front.render().count("\n") if front else 0)


def _limits(text: Text) -> Iterator[Finding]:
    if body_line(text) > FRONTMATTER_LINES + 1:
        what = f"frontmatter ends behind line {FRONTMATTER_LINES}, where agents stop to look for its end"
        yield Finding(text.path, body_line(text) - 1, "limit", what, "notice")


def _frontmatter(text: Text) -> Iterator[Finding]:
    front = text.memory.front
    if front is None:
        what = "has no frontmatter: begin it with --- and name, description and type, then ---"
        yield Finding(text.path, 1, "frontmatter", what)
        return
    trouble = frontmatter.yaml_problem(front)
    if trouble:
        _, _, line = trouble.partition("not valid YAML in line ")
        digits = line.split(":", 1)[0]
        # Where it stands is told by the finding; the same trouble on another line is the same trouble.
        said = trouble.replace(f" in line {digits}", "") if digits.isdecimal() else trouble
        yield Finding(text.path, int(digits) if digits.isdecimal() else 1, "frontmatter", quoted(said))
    for key in ("name", "description", "type"):
        if not front.text(key).strip():
            yield Finding(text.path, _key_line(text, key), "frontmatter", f"has no {key}")
        elif len([field for field in front.fields if field.key == key]) > 1:
            what = f"has {key} more than once, so readers differ on what it is"
            yield Finding(text.path, _key_line(text, key), "frontmatter", what)
    named = front.text("type").strip()
    if named and named.lower() not in TYPES:
        what = f"unknown type {quoted(named)}: known are {', '.join(sorted(TYPES))}"
        yield Finding(text.path, _key_line(text, "type"), "type", what)
    if any(field.key == "type" and str(field.value).strip().lower() == "user" for field in front.fields):
        what = "is about a person (type user), which is never shared with a project"
        yield Finding(text.path, _key_line(text, "type"), "scope", what)


def _key_line(text: Text, key: str) -> int:
    """The last line on which a key of the frontmatter stands, else the first line."""
    found, line = 1, 2
    for field in text.memory.front.fields if text.memory.front else ():
        if field.key == key:
            found = line
        line += field.raw.count("\n")
    return found


def _dates(text: Text) -> Iterator[Finding]:
    memory = text.memory
    start, here = body_line(text), _key_line(text, "description")
    described = [(here, phrase) for phrase in relative_dates(memory.description, _SOME_DAY)]
    said = [
        (start + memory.body.count("\n", 0, phrase.start), phrase)
        for phrase in relative_dates(memory.body, _SOME_DAY)
    ]
    for line, phrase in [*described, *said]:
        words = quoted(phrase.text)
        if phrase.date is not None:
            what = f"“{words}” will mean another day tomorrow: write the date behind it, (YYYY-MM-DD)"
            yield Finding(text.path, line, "date", what)
        else:
            yield Finding(text.path, line, "date", f"“{words}” may be a relative date", "notice")


def _disputes(text: Text) -> Iterator[Finding]:
    line = body_line(text)
    for claim in text.memory.parsed.claims:
        line += claim.lead.count("\n")
        if claim.dispute:
            what = f"is disputed: keep one side and take its mark off: {quoted(claim.text)}"
            yield Finding(text.path, line, "dispute", what)
        line += claim.text.count("\n")


def _index(text: Text) -> Iterator[Finding]:
    lines = text.text.count("\n") + (not text.text.endswith("\n"))
    if lines > INDEX_LINES or len(text.data) > INDEX_BYTES:
        what = f"is over {INDEX_LINES} lines or {INDEX_BYTES:,} bytes: agents are not shown all of it"
        yield Finding(text.path, min(lines, INDEX_LINES + 1), "limit", what)
    line = 1
    for unit in index.parse(text.text):
        entry = unit.text.rstrip("\n")
        if unit.target and len(entry) > ENTRY_CHARS:
            what = f"entry of {quoted(unit.target)} is longer than {counted(ENTRY_CHARS, 'character')}"
            yield Finding(text.path, line, "limit", what, "notice")
        line += (unit.text + unit.gap).count("\n")
