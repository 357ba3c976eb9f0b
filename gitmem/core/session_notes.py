"""The notes of one session: headings, each with a line of guidance and what is noted under it.

    # Current State
    _What is being worked on right now, and the next step._
    The importer reads both layouts; its tests are still to be written.

A heading of the first level and outside a fence begins a section; so a note that looks like one is written
a level lower. The headings and their guidance belong to the template, never to what is noted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from gitmem.values import dataclass

TOTAL_TOKENS = 12_000
"""Of all notes of a session, as `tokens` counts them."""

CHARS_A_TOKEN = 4

WORKLOG = "Worklog"

TEMPLATE = """\
# Session Title
_Five to ten words that tell this session from every other one._

# Current State
_What is in hand at this moment, what is still open, and the very next step._

# Task specification
_What the person asked for, with the decisions and limits they set, as they put it._

# Files and Functions
_The files and functions that matter here: what each is for and why it was looked at or changed._

# Workflow
_Commands that are run here, in their order, and how to read what they print._

# Errors & Corrections
_What went wrong and what put it right; what the person corrected; what is not to be tried again._

# Codebase and System Documentation
_The parts of the system that came up, and how they work together._

# Learnings
_What worked well and what did not; nothing that stands under another heading._

# Key results
_Answers, tables, texts that the person asked for, in full._

# Worklog
_Step by step what was done, a short line each, oldest first._
"""
"""The ten sections that a session's notes have where the person has put no template of their own."""

_HEADING = re.compile(r"# +(\S.*)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_GUIDE = re.compile(r"_[^_\s](?:.*[^\s])?_|\*[^*\s](?:.*[^*\s])?\*")
_CUT = re.compile(r"\[(\d+) (?:older|more) lines? cut\]")


@dataclass(frozen=True)
class Section:
    """One section of notes.

    Attributes:
        title: its heading, without the number sign; empty for text before the first heading.
        guide: the italic line under it, which says what belongs there; empty where there is none.
        body: what is noted, without blank lines around it; empty where nothing is.
    """

    title: str
    guide: str = ""
    body: str = ""


def parse(text: str) -> tuple[Section, ...]:
    """Reads notes, or a template.

    Args:
        text: markdown.

    Returns:
        The sections in their order; text before the first heading is one without a title.
    """
    found: list[tuple[str, list[str]]] = [("", [])]
    fence = ""
    for line in _lines(text):
        heading = None if fence else _HEADING.fullmatch(line)
        if heading:
            found.append((_title(heading[1]), []))
            continue
        fence = _after(fence, line)
        found[-1][1].append(line)
    sections = tuple(_section(title, lines) for title, lines in found)
    return sections if sections[0].body else sections[1:]


def render(sections: Iterable[Section]) -> str:
    """Writes notes: `render(parse(render(s))) == render(s)`, whatever the bodies hold.

    A body's own headings of the first level go one lower, and a fence that it leaves open is closed.
    """
    parts = []
    for section in sections:
        head = [f"# {section.title}"] if section.title else []
        head += [section.guide] if section.guide else []
        body = _contained(section.body)
        if not section.guide and _GUIDE.fullmatch(body.partition("\n")[0]):
            # Behind a space it is no line of guidance.
            body = f" {body}"
        parts.append("\n".join([*head, *([body] if body else [])]))
    return "\n\n".join(part for part in parts if part) + "\n" if any(parts) else ""


def tokens(text: str) -> int:
    """How many tokens a text has, as it is counted here: a quarter of its characters, rounded up."""
    return -(-len(text) // CHARS_A_TOKEN)


def conform(before: Sequence[Section], text: str) -> tuple[Section, ...]:
    """Takes what an engine wrote into the sections that there were.

    Args:
        before: the notes as they stood, or the template; its headings and guidance are kept as they are.
        text: the engine's notes.

    Returns:
        The sections of `before`, in their order, with the bodies of `text`. A section that `text` leaves
        out keeps its body; what stands under a heading of its own invention goes under the one before it.
    """
    waiting = list(range(len(before)))
    bodies: dict[int, list[str]] = {}
    last = 0
    for section in parse(text):
        place = next((n for n in waiting if before[n].title.casefold() == section.title.casefold()), None)
        if place is not None:
            waiting.remove(place)
            last = place
            # An engine that leaves out the guidance has not noted its own first line in its place.
            own = section.guide if section.guide and before[place].guide != section.guide else ""
            kept = "" if before[place].guide and _GUIDE.fullmatch(own) else own
            bodies.setdefault(last, []).extend([kept, section.body])
        elif section.title and before:
            bodies.setdefault(last, []).extend([f"## {section.title}", section.guide, section.body])
    # A section that only took in what stood under an invented heading keeps its own body before it.
    for place in set(bodies) & set(waiting):
        bodies[place].insert(0, before[place].body)
    return tuple(
        replace(section, body=_trim("\n".join(part for part in bodies[place] if part)))
        if place in bodies
        else section
        for place, section in enumerate(before)
    )


def fit(sections: Sequence[Section], total: int = TOTAL_TOKENS) -> tuple[Section, ...]:
    """Holds notes to their limit; what is cut is said in a line.

    Args:
        total: tokens of all of it as `render` writes it.

    Returns:
        The same sections. Each has an equal share; what short ones leave of theirs goes to the others.
    """
    held = [replace(section, body=_contained(section.body)) for section in sections]
    left = total - tokens(render(replace(section, body="") for section in sections))
    order = sorted(range(len(held)), key=lambda place: tokens(held[place].body))
    for done, place in enumerate(order):
        # One more token for the line ends around a body.
        body = _shorter(held[place], left // (len(held) - done) - 1)
        held[place] = replace(held[place], body=body)
        left -= tokens(body) + 1 if body else 0
    return tuple(held)


def is_notice(line: str) -> bool:
    """Whether a line is what `fit` says of lines that it cut."""
    return bool(_CUT.fullmatch(line))


def _shorter(section: Section, most: int) -> str:
    """The body within a number of tokens: its first lines, of a worklog its last ones."""
    body = _contained(section.body)
    if tokens(body) <= most:
        return body
    oldest = section.title == WORKLOG
    lines = body.split("\n")
    notice = _CUT.fullmatch(lines[0] if oldest else lines[-1])
    cut = int(notice[1]) if notice else 0
    if notice:
        lines = lines[1:] if oldest else lines[:-1]
    # The fence that may have to be closed, and the line that tells of the cut.
    room = most * CHARS_A_TOKEN - 40
    kept: list[str] = []
    for line in reversed(lines) if oldest else lines:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    if not kept and not cut and len(lines) == 1 and most * CHARS_A_TOKEN > 60:
        return f"{lines[0][: most * CHARS_A_TOKEN - 2]}…"
    cut += len(lines) - len(kept)
    said = f"[{cut} {'older' if oldest else 'more'} line{'' if cut == 1 else 's'} cut]"
    if oldest:
        kept.reverse()
    shorter = _contained("\n".join([said, *kept] if oldest else [*_closed(kept), said]))
    return shorter if tokens(shorter) <= most else said if tokens(said) <= most else ""


def _title(text: str) -> str:
    """A heading's words, without the number signs that may close it."""
    text = text.rstrip(" \t")
    words = text.rstrip("#")
    return words.rstrip(" \t") if words.endswith((" ", "\t")) else text


def _section(title: str, lines: list[str]) -> Section:
    while lines and not lines[0].strip():
        lines.pop(0)
    guide = lines.pop(0).rstrip() if title and lines and _GUIDE.fullmatch(lines[0].rstrip()) else ""
    return Section(title, guide, _trim("\n".join(lines)))


def _contained(body: str) -> str:
    """A body that neither begins a section nor swallows the next one."""
    lines, fence = [], ""
    for line in _lines(_trim(body)):
        lines.append(f"#{line}" if not fence and _HEADING.fullmatch(line) else line)
        fence = _after(fence, line)
    return "\n".join([*lines, fence] if fence else lines)


def _closed(lines: Sequence[str]) -> list[str]:
    fence = ""
    for line in lines:
        fence = _after(fence, line)
    return [*lines, fence] if fence else [*lines]


def _after(fence: str, line: str) -> str:
    """The fence that is open behind a line; empty where none is."""
    found = _FENCE.fullmatch(line)
    if not found:
        return fence
    if not fence:
        return "" if found[1][0] == "`" and "`" in found[2] else found[1]
    return "" if found[1][0] == fence[0] and len(found[1]) >= len(fence) and not found[2].strip() else fence


def _trim(text: str) -> str:
    """Without blank lines around it, and without white space at the ends of lines."""
    return "\n".join(line.rstrip() for line in _lines(text)).strip("\n")


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
