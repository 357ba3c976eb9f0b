"""The rules in an instruction file: a section of their own, marked off by comments, and their words.

    <!-- gitmem rules: begin -->
    ## Learned rules

    <!-- gitmem local/main/no-mocks -->
    - Use the real database in tests.
    <!-- /gitmem -->
    <!-- gitmem rules: end -->

Bytes outside the marks are never touched. Marks inside a code fence are none; a rule that a person moved
out of the section keeps its marks, and is a rule still. A rule is made of a memory's body: the rule first,
why in short, how to apply it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote

from gitmem.core.claim import parse_body
from gitmem.core.errors import UsageError
from gitmem.core.memory import Memory
from gitmem.core.pointer import without_pointer
from gitmem.core.trailers import one_line
from gitmem.rules.redaction import no_scan, redact

BEGIN = "<!-- gitmem rules: begin -->"
END = "<!-- gitmem rules: end -->"
CLOSE = "<!-- /gitmem -->"
HEADING = "## Learned rules"

_BOM = "\ufeff"
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_FENCE = re.compile(r"[ \t>]*(?:[-+*][ \t]+)?(`{3,}|~{3,})(.*)$")
_OPEN = re.compile(r"<!-- gitmem ((?:user|project|local)/[^\s/<>]{1,300}/[^\s/<>]{1,600}) -->")
_OURS = re.compile(r"<!--\s*/?\s*gitmem\b", re.IGNORECASE)

WHY_CHARS = 200
HOW_CHARS = 400

_TAGGED = re.compile(r"\s*\*\*(Why|How(?: to apply)?)\b[^*\n]{0,40}\*\*:?\s*", re.IGNORECASE)
_BLOCK = re.compile(r"[-+*#>|`~]|\d+[.)]")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


class OddMarks(UsageError):
    """The marks of a file are not as gitmem writes them; a person has to put them right."""

    kind = "odd-marks"


@dataclass(frozen=True)
class FileRule:
    """One rule as it stands in a file.

    Attributes:
        address: `scope/agent/file stem` of the memory that it was.
        text: its lines without the marks, with `\\n` between them.
        start, end: offsets of its marks in the whole text, from the first to behind the last.
    """

    address: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Parsed:
    """What of a file is gitmem's.

    Attributes:
        rules: in the order of the file.
        section: offsets of the section, its marks with their line ends included; None where it has none.
    """

    rules: tuple[FileRule, ...] = ()
    section: tuple[int, int] | None = None


@dataclass(frozen=True)
class _Mark:
    kind: str
    address: str
    line: int
    start: int
    end: int


def mark(address: str) -> str:
    """The comment that opens the rule of a memory.

    Args:
        address: `scope/agent/file stem`; what a comment or a line cannot hold is written in percent signs.
    """
    scope, agent, stem = address.split("/", 2)
    return f"<!-- gitmem {scope}/{_quoted(agent)}/{_quoted(stem)} -->"


def parse(text: str) -> Parsed:
    """Finds the rules of a file.

    Raises:
        OddMarks: marks are unbalanced, nested, doubled, or not of the form.
    """
    rules: dict[str, FileRule] = {}
    section: tuple[int, int] | None = None
    begun: _Mark | None = None
    opened: _Mark | None = None
    for one in _marks(text):
        if one.kind == "open":
            if opened is not None:
                raise _odd(one, f"a rule begins inside that of line {opened.line}")
            if one.address in rules:
                raise _odd(one, f"{one.address} is there twice")
            opened = one
        elif one.kind == "close":
            if opened is None:
                raise _odd(one, "no rule begins before it")
            inner = text[opened.end : one.start].replace("\r\n", "\n").removesuffix("\n")
            rules[opened.address] = FileRule(opened.address, inner, opened.start, one.end)
            opened = None
        elif opened is not None:
            raise _odd(one, f"the rule of line {opened.line} is not closed")
        elif one.kind == "begin":
            if begun is not None or section is not None:
                raise _odd(one, "the section begins twice")
            begun = one
        else:
            if begun is None:
                raise _odd(one, "no section begins before it")
            section, begun = (begun.start, one.end), None
    left = opened or begun
    if left is not None:
        raise _odd(left, "it is never closed")
    return Parsed(tuple(rules.values()), section)


def find_rule(rules: Sequence[FileRule], address: str, memory: Memory) -> FileRule | None:
    """The rule of a memory: by its name, else the only one that says what the memory says."""
    named = [rule for rule in rules if rule.address == address]
    alike = named or [rule for rule in rules if says_the_same(memory, rule.text)]
    return alike[0] if len(alike) == 1 else None


def insert(text: str, address: str, rule: str) -> str:
    """Writes a rule: over the one that the file has for this memory, else at the end of the section.

    Args:
        text: the whole file; a byte order mark and its line ends are kept.
        rule: its lines, with `\\n` between them.

    Raises:
        OddMarks: as for `parse`; or the file ends inside a code fence.
    """
    parsed = parse(text)
    newline = _newline(text[parsed.section[0] :] if parsed.section else text)
    lines = [mark(address), *rule.split("\n"), CLOSE]
    block = newline.join(lines)
    old = next((one for one in parsed.rules if one.address == address), None)
    if old is not None:
        ended = text[old.start : old.end].endswith("\n")
        made = text[: old.start] + block + (newline if ended else "") + text[old.end :]
    elif parsed.section is not None:
        at = text.rindex(END, *parsed.section)
        at = text.rfind("\n", 0, at) + 1
        gap = "" if text[:at].endswith(f"\n{newline}") else newline
        made = f"{text[:at]}{gap}{block}{newline}{text[at:]}"
    else:
        whole = newline.join([BEGIN, HEADING, "", block, END])
        if not text.removeprefix(_BOM):
            made = text + whole + newline
        elif text.endswith("\n"):
            made = text + newline + whole + newline
        else:
            # A file that ends in no line break still does, so that taking the section out restores it.
            made = text + newline + newline + whole
    found = [one.text for one in parse(made).rules if one.address == address]
    if found != [rule]:
        raise OddMarks(
            "The rule would stand inside a code fence that is not closed",
            "Close the fence (``` or ~~~) at the end of the file, then run it again.",
        )
    return made


def remove(text: str, address: str) -> str:
    """Takes a rule out, and the section where nothing else is left in it.

    Raises:
        OddMarks: as for `parse`.
    """
    rule = next((one for one in parse(text).rules if one.address == address), None)
    if rule is None:
        return text
    before, after = text[: rule.start], text[rule.end :]
    for blank in ("\n\r\n", "\n\n"):
        if before.endswith(blank):
            before = before[: -len(blank) + 1]
            break
    text = before + after
    parsed = parse(text)
    if parsed.section is None or any(_within(one, parsed.section) for one in parsed.rules):
        return text
    start, end = parsed.section
    inner = text[start:end].splitlines()[1:-1]
    if any(line.strip() not in ("", HEADING) for line in inner):
        return text
    return _without_section(text, start, end)


def spoken(text: str) -> str:
    """The file with its marks blanked out: what it says, for those who compare sentences."""
    for one in reversed([*_marks(text, strict=False)]):
        text = f"{text[: one.start]}\n{text[one.end :]}"
    return text


def _without_section(text: str, start: int, end: int) -> str:
    before, after = text[:start], text[end:]
    newline = "\r\n" if text[start:end].split("\n")[0].endswith("\r") else "\n"
    if text[start:end].endswith("\n"):
        bare = before.removesuffix(newline)
        return (bare if bare != before and (not bare or bare.endswith("\n")) else before) + after
    return before.removesuffix(newline).removesuffix(newline) + after


def _within(rule: FileRule, section: tuple[int, int]) -> bool:
    return section[0] <= rule.start < section[1]


def _marks(text: str, *, strict: bool = True) -> Iterator[_Mark]:
    offset = len(text) - len(text.removeprefix(_BOM))
    fence = ""
    for number, line in enumerate(_LINE.findall(text[offset:]), start=1):
        start, offset = offset, offset + len(line)
        bare = line.rstrip("\r\n")
        match = _FENCE.match(bare)
        if fence:
            if match and match[1].startswith(fence) and not match[2].strip():
                fence = ""
            continue
        if match and not (match[1][0] == "`" and "`" in match[2]):
            fence = match[1]
            continue
        if (one := _mark_of(bare.strip(), number, start, offset)) is not None:
            yield one
        elif strict and _OURS.match(bare.strip()):
            raise OddMarks(
                f"Line {number} begins as a mark of gitmem does, and is none: {bare.strip()[:80]!a}",
                "Take the line out, or put it into a code fence; the marks are written by git mem promote.",
            )


def _mark_of(line: str, number: int, start: int, end: int) -> _Mark | None:
    if not line.startswith("<!--"):
        return None
    for kind, text in (("begin", BEGIN), ("end", END), ("close", CLOSE)):
        if line == text:
            return _Mark(kind, "", number, start, end)
    match = _OPEN.fullmatch(line)
    if match is None:
        return None
    address = "/".join(unquote(part, errors="surrogateescape") for part in match[1].split("/"))
    # Only what gitmem would write is one: no separator hidden in percent signs, no second spelling.
    if address.count("/") != 2 or mark(address) != line:
        return None
    return _Mark("open", address, number, start, end)


def _odd(one: _Mark, why: str) -> OddMarks:
    return OddMarks(
        f"The mark in line {one.line} does not fit: {why}",
        "Put the marks right by hand, each rule between its own two comments, then run it again.",
    )


def _newline(text: str) -> str:
    at = text.find("\n")
    return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"


def _quoted(part: str) -> str:
    kept = "".join(
        c if c.isalnum() or c in "._-^~+@" else quote(c.encode("utf-8", "surrogateescape")) for c in part
    )
    kept = kept.replace("--", "-%2D")
    return kept[:-1] + "%2D" if kept.endswith("-") else kept


def rule_text(memory: Memory) -> str:
    """The lines of the rule that a memory becomes, with `\\n` between them.

    Nothing in it can close or open a comment; control characters and tags that a client takes for its own
    are written out, for models read it in every session.
    """
    said = without_pointer(memory)
    parts: dict[str, list[str]] = {"why": [], "how": []}
    kept = []
    for claim in said.parsed.claims:
        match = _TAGGED.match(claim.text)
        if match:
            parts[match[1][:3].lower()].append(one_line(claim.text[match.end() :]))
        else:
            kept.append(claim)
    body = "".join((claim.lead if kept and at else "") + claim.text for at, claim in enumerate(kept))
    body = body.replace("\r\n", "\n").replace("\r", "\n").strip() or one_line(memory.description)
    lines = [line.rstrip() for line in body.split("\n")]
    why = _cut(_SENTENCE.split(" ".join(parts["why"]))[0], WHY_CHARS)
    how = _cut(" ".join(parts["how"]), HOW_CHARS)
    notes = [f"- {tag}: {text}" for tag, text in (("Why", why), ("How to apply", how)) if text]
    if _BLOCK.match(body):
        lines += ["", *notes] if notes else []
    else:
        lines = [f"- {lines[0]}", *(f"  {line}" if line else "" for line in lines[1:])]
        lines += [f"  {note}" for note in notes]
    return _harmless(redact("\n".join(lines), no_scan))


def says_the_same(memory: Memory, rule: str) -> bool:
    """Whether a rule's text is what this memory becomes, white space aside."""
    return meaning(rule_text(memory)) == meaning(rule)


def meaning(rule: str) -> tuple[str, ...]:
    """The normal forms of what a rule says, equal for rules that differ in white space alone."""
    return tuple(claim.key for claim in parse_body(rule).claims)


def _harmless(text: str) -> str:
    return text.replace("<!--", "&lt;!--").replace("-->", "--&gt;")


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"
