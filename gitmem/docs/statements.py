"""What a document says of the code: the names in it that can be looked up.

What stands in a fence, in an indented block or in a comment is an example or output; of a fence that is a
shell's the commands count. What a sentence calls former is told as such, and no statement.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Literal

from gitmem.core.references import Mention, mentions, without_fences
from gitmem.values import dataclass

StatementKind = Literal["file", "folder", "symbol", "flag", "command", "link"]

MOST = 2_000
"""Statements of one document."""

CONTEXT = 3
"""Words before and after a name by which it is known again in another version of the document."""

REACH = 300
"""Characters in which they are sought."""

_DOUBLE = re.compile(r"(?<!`)``(?!`)([^`\n]+)``(?!`)")
_SPAN = re.compile(r"(?<!`)`([^`\n]{1,200})`(?!`)")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_LINK = re.compile(
    r"\]\([ \t]{0,20}(<[^<>\n]*>|[^\s()<>]+)(?:[ \t]{1,20}[\"'(][^\n]{0,300}?)?[ \t]{0,20}\)"
)
_REFERENCE = re.compile(r"(?m)^ {0,3}\[[^\]\n^][^\]\n]*\]:[ \t]*(<[^<>\n]*>|\S+)")
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|[?$@{%]")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s")
_FENCE = re.compile(
    r"(?P<fence>`{3,}(?!.*`)|~{3,})[ \t]*(?P<shell>(?:sh|bash|zsh|shell|console|shell-session)\b)?"
)
_WORD = re.compile(r"\S+")
_PLAIN = re.compile(r"[a-z](?:[a-z0-9:_-]*[a-z0-9])?")
_BREAK = re.compile(r"\n[ \t\r]*\n|\n(?=[ \t]*(?:[-*+|#]|\d{1,9}[.)][ \t]))")
_NAMES = re.compile(r"`[^`\n]*`|\]\([^)\n]*\)?")
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_FORMER = re.compile(
    r"\b(?:formerly|previously|used to|renamed from|no longer|was (?:once|called|removed|renamed|"
    r"replaced|moved|deleted)|were (?:removed|renamed|replaced|moved|deleted)|e\.g\.|"
    r"for (?:example|instance))(?!\w)",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"(?:^|/)(?:(?:foo|bar|baz|qux|example|sample|my|your|some)(?:[_.-][\w.-]*)?|path/to)(?:/|$)|\.\.\.",
    re.IGNORECASE,
)
_RUNNERS = ("npm", "pnpm", "yarn", "bun")


@dataclass(frozen=True)
class Statement:
    """One thing of the code that a document names.

    Attributes:
        line: of the document, from 1.
        start, end: where the name stands in the document's text, in characters.
        name: as it is written there.
        kind: what it is.
        target: of a file or folder the path without its end marks; of a link all that is written; of a flag
            the program that it is given to, empty where none is named.
        parts: of a symbol or flag the identifiers that must all be in the code; of a command the program
            and its word.
        context: the words around it, by which it is known again in another version of the document.
    """

    line: int
    start: int
    end: int
    name: str
    kind: StatementKind
    target: str = ""
    parts: tuple[str, ...] = ()
    context: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """What is the same for this statement in all versions of the document that make it."""
        return self.kind, self.name, self.context


def statements(text: str, from_line: int = 1) -> tuple[Statement, ...]:
    """Finds what a text says of the code, in its order.

    Args:
        from_line: the first line that counts.
    """
    plain = _DOUBLE.sub(lambda span: f" `{span[1]}` ", text)
    plain = _COMMENT.sub(lambda comment: re.sub(r"[^\n]", " ", comment[0]), plain)
    outside = _without_blocks(without_fences(plain))
    found: dict[tuple[int, int], Statement] = {}
    lines = _Lines(text)
    for one in (*_links(outside), *_names(outside), *_commands(plain, outside)):
        place = lines.number(one.start)
        if place < from_line or lines.is_former(place) or (one.start, one.end) in found:
            continue
        if len(found) >= MOST:
            break
        found[one.start, one.end] = Statement(
            place,
            one.start,
            one.end,
            text[one.start : one.end],
            one.kind,
            one.target,
            one.parts,
            lines.context(one.start, one.end),
        )
    return tuple(found[place] for place in sorted(found))


def _names(outside: str) -> Iterator[Statement]:
    masked = _masked_links(outside)
    spans = {span.start(1): span[1] for span in _SPAN.finditer(masked)}
    starts = sorted(spans)
    for one in mentions(masked):
        if one.parts:
            flag = one.parts[0].startswith("--")
            program = _program(starts, spans, one) if flag else ""
            yield _made(one, "flag" if flag else "symbol", program, one.parts)
        elif not _PLACEHOLDER.search(one.name):
            yield _made(one, "folder" if one.folder else "file", one.name)


def _made(one: Mention, kind: StatementKind, target: str, parts: tuple[str, ...] = ()) -> Statement:
    return Statement(0, one.start, one.end, "", kind, target, parts)


def _program(starts: list[int], spans: dict[int, str], one: Mention) -> str:
    """The program that a flag in backticks is given to."""
    at = starts[bisect_right(starts, one.start) - 1] if starts else one.start + 1
    if at > one.start or one.start >= at + len(spans[at]) or spans[at].lstrip().startswith("-"):
        return ""
    words = spans[at].removeprefix("$ ").split()
    return "-".join(words[:2]) if words[0] == "git" and len(words) > 1 else words[0]


def _links(outside: str) -> Iterator[Statement]:
    masked = _SPAN.sub(lambda span: "`" * len(span[0]), outside)
    for pattern in (_LINK, _REFERENCE):
        for match in pattern.finditer(masked):
            target, start = match[1], match.start(1)
            if target.startswith("<"):
                target, start = target[1:-1], start + 1
            if (
                target
                and not _ELSEWHERE.match(target)
                and not _PLACEHOLDER.search(target.partition("#")[0])
            ):
                yield Statement(0, start, start + len(target), "", "link", target)


def _masked_links(outside: str) -> str:
    def blank(match: re.Match[str]) -> str:
        start, end = match.start(1) - match.start(), match.end(1) - match.start()
        return match[0][:start] + " " * (end - start) + match[0][end:]

    return _REFERENCE.sub(blank, _LINK.sub(blank, outside))


def _commands(plain: str, outside: str) -> Iterator[Statement]:
    for span in _SPAN.finditer(outside):
        yield from _command(span[1], span.start(1))
    at, fence, shell = 0, "", False
    typed: list[tuple[str, int]] = []
    for line in plain.split("\n"):
        bare = line.strip()
        if fence and bare.startswith(fence) and not bare.strip(fence[0]):
            # Where some lines have a prompt, the others are what was answered.
            prompted = any(code.startswith("$ ") for code, _ in typed)
            for code, place in typed:
                yield from _command(code, place) if not prompted or code.startswith("$ ") else ()
            fence, typed = "", []
        elif fence:
            typed += [(bare, at + line.index(bare))] if shell else []
        elif opened := _FENCE.match(bare):
            fence, shell = opened["fence"], bool(opened["shell"])
        at += len(line) + 1


def _command(code: str, at: int) -> Iterator[Statement]:
    words = list(_WORD.finditer(code, len(code) - len(code.removeprefix("$").lstrip())))
    said = [word[0] for word in words]
    count = next((n for n, word in enumerate(said) if not _PLAIN.fullmatch(word)), len(said))
    said = said[:count]
    used, program = 1, said[0] if said else ""
    if program == "git":
        used, program = 2, "-".join(said[:2])
    elif program in _RUNNERS:
        used, program = (2 if said[1:2] == ["run"] else 1), "npm"
        said = said if used == 2 or said[1:2] in (["test"], ["start"]) else []
    if len(said) < used or not program or (program in ("npm", "make") and len(said) == used):
        return
    named = said[used : used + 1]
    start, end = words[0].start(), words[used + len(named) - 1].end()
    yield Statement(0, at + start, at + end, "", "command", "", (program, *named))


class _Lines:
    """Where lines begin, and what stands around a place."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(at + 1 for at, letter in enumerate(text) if letter == "\n")]
        self._text = text
        self._former: dict[int, bool] = {}

    def number(self, at: int) -> int:
        """The line of a place, from 1."""
        return bisect_right(self._starts, at)

    def is_former(self, line: int) -> bool:
        """Whether a line tells of what was, or of an example."""
        if line not in self._former:
            end = self._text.find("\n", self._starts[line - 1])
            text = self._text[self._starts[line - 1] : end if end >= 0 else None]
            self._former[line] = bool(_FORMER.search(text))
        return self._former[line]

    def context(self, start: int, end: int) -> str:
        """The nearest words of prose; other names are all alike, so that one may change beside another."""
        before = list(_BREAK.split(self._text[max(0, start - REACH) : start]))[-1]
        after = _BREAK.split(self._text[end : end + REACH], maxsplit=1)[0]
        if before.rpartition("\n")[2].count("`") % 2:  # the name stands in a span with other words
            before, after = before.rpartition("`")[0], after.partition("`")[2]
        return f"{' '.join(_prose(before)[-CONTEXT:])} | {' '.join(_prose(after)[:CONTEXT])}"


def _prose(text: str) -> list[str]:
    return _LETTERS.findall(_NAMES.sub(" ", text).lower())


def _without_blocks(text: str) -> str:
    """Blanks in the place of indented code, which is not in a list."""
    kept: list[str] = []
    listed = blank = False
    for line in text.split("\n"):
        if not line.strip():
            blank = True
            kept.append(line)
            continue
        indented = line.startswith(("    ", "\t"))
        if _ITEM.match(line) and not (indented and not listed):
            listed = True
        elif not indented and blank:
            listed = line.startswith(" ") and listed
        code = indented and not listed and (blank or (bool(kept) and not kept[-1].strip()))
        kept.append(" " * len(line) if code else line)
        blank = code
    return "\n".join(kept)
