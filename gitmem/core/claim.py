"""Claims: the unit that is merged, accounted for and blamed.

A claim is a top-level block, or a top-level list item with its children, of the CommonMark parse of a
body; a fence, a table and a heading are one block each; Why and How are claims of their own. Its identity
is the SHA-256 of its normal form, so that re-wrapping, another list marker or a dispute mark do not make
a new claim of it.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

from gitmem.values import dataclass

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

HASH_LENGTH = 12
DISPUTE_LENGTH = 8

DISPUTED = "*(disputed "
DISPUTED_BYTES = DISPUTED.encode()
"""What the mark of a disputed claim begins with: a text without it need not be looked through."""

_BLANK = " \t\r\n"
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")  # the parser's own idea of a line
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")
_MARKER = re.compile(r"^ {0,3}(?:[-+*]|\d{1,9}[.)])(?:[ \t]+|$)")
_MARK = re.compile(rf"{re.escape(DISPUTED)}([0-9a-f]{{{DISPUTE_LENGTH}}})\)\*")
_MARK_LENGTH = len(DISPUTED) + DISPUTE_LENGTH + len(")*")
_PROSE = re.compile(r"(?:\*\*)?[^\W\d_]")
_FLAT_ITEM = re.compile(r"[-*+] (?:\*\*)?[^\W_]")
_TAGGED = re.compile(r"^ {0,3}\*\*(?:Why|How(?: to apply)?)\b[^*\n]{0,40}\*\*", re.IGNORECASE)


@dataclass(frozen=True)
class Claim:
    """One claim as it stands in a body.

    Attributes:
        text: its lines, exactly, without the last line end; never blank.
        lead: what stands between it and the claim before (blank lines), exactly.
        key: normal form that the identity is taken over.
        ordinal: 0 for the first claim with this key in the body, 1 for its first repeat, ….
        item: whether it is a list item.
    """

    text: str
    lead: str
    key: str
    ordinal: int = 0
    item: bool = False

    @property
    def id(self) -> str:
        """64 hexadecimal digits of the identity."""
        return claim_id(self.key, self.ordinal)

    @property
    def short(self) -> str:
        """The 12 digits that name it after a `#`."""
        return self.id[:HASH_LENGTH]

    @property
    def dispute(self) -> str:
        """8 digits of the base claim that it is disputed against, or empty."""
        return dispute_of(self.text)


@dataclass(frozen=True)
class Body:
    """A body cut into claims; `"".join` of leads and texts plus `tail` gives it back."""

    claims: tuple[Claim, ...]
    tail: str

    def render(self) -> str:
        """The body, byte for byte as it was read."""
        return "".join(c.lead + c.text for c in self.claims) + self.tail


def claim_id(key: str, ordinal: int = 0) -> str:
    """SHA-256 of a normal form, with the ordinal for repeats."""
    data = key if ordinal == 0 else f"{key}\0{ordinal}"
    return hashlib.sha256(data.encode("utf-8", "surrogateescape")).hexdigest()


def dispute_of(text: str) -> str:
    """The digits of a dispute mark at the end of a claim, or empty."""
    return _cut_mark(text)[1]


def with_dispute(text: str, mark: str) -> str:
    """The claim with this dispute mark, in place of any it had; an empty mark takes it off.

    A text that is nothing but a mark stays as it is.
    """
    bare = _cut_mark(text)[0]
    if not bare:
        return text
    if not mark:
        return bare
    marked = f"{bare} {DISPUTED}{mark})*"
    outline = _outline(bare)
    if outline and outline[-1][0] == "inline" and outline == _outline(marked):
        return marked
    # On the last line of a fence, a table or an underlined heading the mark would change the block.
    return f"{bare}\n\n{DISPUTED}{mark})*"


def settled_apart(
    base: Mapping[str, str], ours: Mapping[str, str], theirs: Mapping[str, str]
) -> tuple[frozenset[str], frozenset[str]]:
    """Ids of the claims in whose favour one side settled a dispute, and that the other side took out.

    A mark of another dispute is as good as none: the former one was settled.

    Args:
        base, ours, theirs: id of a claim, or key of an index's line, to the digits of its dispute mark.

    Returns:
        Those that ours chose, and those that theirs chose.
    """

    def chosen(side: Mapping[str, str], other: Mapping[str, str]) -> frozenset[str]:
        apart = (id for id in side if id in base and id not in other)
        return frozenset(id for id in apart if base[id] not in ("", side[id]))

    return chosen(ours, theirs), chosen(theirs, ours)


def disputed(body: str) -> str:
    """Says how many claims of a body are disputed; empty where none is."""
    count = len(_MARK.findall(body))
    if not count:
        return ""
    return f"{count} {'claim of it is' if count == 1 else 'claims of it are'} disputed, and not settled yet"


def _cut_mark(text: str) -> tuple[str, str]:
    """A text without the marks at its end, and the digits of the last one; without any, the text itself."""
    digits = ""
    while True:
        end = text.rstrip(_BLANK)
        match = _MARK.fullmatch(end, max(0, len(end) - _MARK_LENGTH))
        if match is None:
            return text, digits
        text, digits = end[:-_MARK_LENGTH].rstrip(_BLANK), digits or match.group(1)


def _outline(text: str) -> list[tuple[str, list[int] | None]]:
    """Blocks of a text and the lines they cover; a table shows as one."""
    outline: list[tuple[str, list[int] | None]] = []
    table = False
    for token in _parser().parse(text):
        if token.type == "table_open":
            table = True
        elif token.type == "table_close":
            table = False
            outline.append(("table", None))
        elif not table and token.nesting >= 0:
            outline.append((token.type, token.map))
    return outline


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    # Inline text does not matter to where blocks begin and end, and costs most of the time.
    parser.core.ruler.disable("inline")
    return parser


@lru_cache(maxsize=128)
def parse_body(body: str) -> Body:
    """Cuts a body into claims.

    Args:
        body: markdown with any line ends; undecodable bytes as surrogates.

    Returns:
        Claims in order; text that is no block of its own (a link definition) is a claim too, so that
        nothing in a body lies outside of all claims but blank lines.
    """
    claims: list[Claim] = []
    seen: Counter[str] = Counter()
    cursor = 0
    for start, stop, item in _spans(body):
        text = body[start:stop]
        key = normal_form(text, item)
        claims.append(Claim(text, body[cursor:start], key, seen[key], item))
        seen[key] += 1
        cursor = stop
    return Body(_joined_marks(claims), body[cursor:])


def claim_texts(body: str) -> list[str]:
    """The texts of a body's claims alone, without their identities, which cost most of the time."""
    if DISPUTED in body:  # a mark in a paragraph of its own belongs to the claim before it
        return [claim.text for claim in parse_body(body).claims]
    return [body[start:stop] for start, stop, _ in _spans(body)]


def _spans(body: str) -> Iterator[tuple[int, int, bool]]:
    """Yields where each claim begins and ends, and whether it is a list item."""
    lines = _LINE.findall(body)
    offsets = list(accumulate((len(line) for line in lines), initial=0))
    starts = _starts(lines)
    for number, (start, item) in enumerate(starts):
        stop = starts[number + 1][0] if number + 1 < len(starts) else len(lines)
        while stop > start + 1 and not lines[stop - 1].strip(_BLANK):
            stop -= 1
        first = offsets[start]
        yield first, first + len(body[first : offsets[stop]].rstrip("\r\n")), item


def _joined_marks(claims: list[Claim]) -> tuple[Claim, ...]:
    """A dispute mark in a paragraph of its own belongs to the block before it."""
    joined: list[Claim] = []
    for claim in claims:
        if joined and not claim.key and claim.dispute:
            last = joined[-1]
            joined[-1] = replace(last, text=last.text + claim.lead + claim.text)
        else:
            joined.append(claim)
    return tuple(joined)


def _starts(lines: list[str]) -> list[tuple[int, bool]]:
    """First line of every claim and whether it is a list item."""
    blank = [not line.strip(_BLANK) for line in lines]
    if all(empty or _PROSE.match(line) for empty, line in zip(blank, lines, strict=True)):
        # Nothing but paragraphs begins with a letter, and none of its lines ends one: no parser is needed,
        # which would cost most commands more than all else that they do.
        ends = [True, *blank]
        return [
            (number, False)
            for number, line in enumerate(lines)
            if not blank[number] and (ends[number] or _TAGGED.match(line))
        ]
    if all(empty or _FLAT_ITEM.match(line) for empty, line in zip(blank, lines, strict=True)):
        # Nor does an item that begins so, where nothing but such items stands: a daily log.
        return [(number, True) for number, empty in enumerate(blank) if not empty]
    return _parsed_starts(lines)


def _parsed_starts(lines: list[str]) -> list[tuple[int, bool]]:
    """The same for any text, by the parser."""
    found: dict[int, bool] = {}
    covered = [False] * len(lines)
    for token in _parser().parse("".join(lines)):
        if token.map is None:
            continue
        first, last = token.map
        if token.level == 0:
            for number in range(first, min(last, len(lines))):
                covered[number] = True
            if token.type not in ("bullet_list_open", "ordered_list_open"):
                found[first] = False
                if token.type == "paragraph_open":
                    for number in range(first + 1, last):
                        if _TAGGED.match(lines[number]):
                            found[number] = False
        elif token.level == 1 and token.type == "list_item_open":
            found[first] = True
    gap = False
    for number, line in enumerate(lines):
        loose = not covered[number] and bool(line.strip(_BLANK))
        if loose and not gap:
            found.setdefault(number, False)
        gap = loose
    return sorted(found.items())


def repetition(key: str) -> str:
    """What a claim's normal form has in common with its repetition, in a description or by a person.

    Neither case nor what ends the sentence counts. It is no identity: two claims may share it.
    """
    return key.rstrip(" .!;:").casefold()


def normal_form(text: str, item: bool) -> str:
    """What a claim's identity is taken over.

    NFC; the list marker and a dispute mark are dropped; white space is collapsed outside fences, where
    lines are kept as they are, less the indentation of a list item.
    """
    text = _cut_mark(text)[0].replace("\r\n", "\n").replace("\r", "\n")
    indent = 0
    marker = _MARKER.match(text) if item else None
    if marker:
        indent = len(marker.group(0))
        text = " " * indent + text[indent:]
    parts: list[str] = []
    prose: list[str] = []
    code: list[str] = []
    fence = info = ""

    def flush() -> None:
        collapsed = " ".join(" ".join(prose).split())
        prose.clear()
        if collapsed:
            parts.append(collapsed)

    for line in text.split("\n"):
        bare = line[min(indent, len(line) - len(line.lstrip(" "))) :]
        match = _FENCE.match(bare)
        if fence and match and match.group(1).startswith(fence) and not match.group(2).strip():
            parts.append("\n".join(["```" + info, *code, "```"]))
            fence = ""
        elif fence:
            code.append(bare.rstrip())
        elif match and not (match.group(1)[0] == "`" and "`" in match.group(2)):
            flush()
            fence, info, code = match.group(1), match.group(2).strip(), []
        else:
            prose.append(bare)
    if fence:
        # A fence that the end of the text closes is the same block as one closed by hand.
        while code and not code[-1]:
            code.pop()
        parts.append("\n".join(["```" + info, *code, "```"]))
    flush()
    return unicodedata.normalize("NFC", "\n".join(parts))
