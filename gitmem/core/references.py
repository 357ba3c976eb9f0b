"""Names of the code in a text (paths, symbols, flags, commands, links), and words for what became of them.

A false "is gone" would make a true text look wrong. So only what is surely a name is looked up, and a name
that the code never had is no claim about it. What stands in a fence, an indented block or a comment is an
example or output; a sentence that tells of what was is no claim about what is.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

MOST_PATHS = 20
MOST_WORDS = 20
"""Names of one memory that are looked up: a hostile one may hold thousands."""

MOST_READ = 20_000
"""Characters of a memory that are searched for names."""

LONGEST = 200
"""Characters of a name."""

SHORTEST_WORD = 3

MOST_SAID = 6
"""Findings that are told of one memory; of the rest their number."""

_SOURCE_SUFFIXES = """
    bash bat c cc cfg cjs conf cpp cs css csv dart ex exs fish gradle go h hpp html ini ipynb java
    js json jsonc jsx kt less lock lua m md mjs mk php pl proto ps1 py pyi r rb rs rst sass scala
    scss sh sql svelte swift tf toml ts tsx txt vue xml yaml yml zig zsh
"""
_SUFFIXES = frozenset(_SOURCE_SUFFIXES.split())

SPAN = re.compile(r"(?<!`)`([^`\n]{1,200})`(?!`)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s")
_PATH = re.compile(r"(?:\./)?((?:[\w.@+-]+/)*[\w.@+-]+\.(\w{1,10}))(?:::[\w.:]+|:\d+(?:[:-]\d+)?)?")
_FOLDER = re.compile(r"(?:\./)?((?:[\w.@+-]+/)+[\w@+-]+|(?:[\w.@+-]+/)*[\w@+-][\w.@+-]*/)/?")
_FLAG = re.compile(r"--[a-z][a-z0-9]*(?:-[a-z0-9]+)*(?=[=\s]|$)")
_CALL = re.compile(r"((?:[^\W\d]\w*(?:\.|::|#))*[^\W\d]\w*)(?:\([^()]{0,60}\))?")
_TOLD_BY_SHAPE = re.compile(r"_|[a-z0-9][A-Z]|\(|[.:#]")

_PROSE_FLAG = re.compile(r"(?<![\w/-])--[a-z][a-z0-9]*(?:-[a-z0-9]+)*(?![\w-])")
_PROSE_CALL = re.compile(r"(?<![\w./-])((?:[^\W\d]\w*\.)*[^\W\d]\w*)\(\)")
_PROSE_METHOD = re.compile(r"(?<![\w./@-])([A-Z][a-z]\w*\.[a-z_]\w*)(?![\w./-])")
_PROSE_CONSTANT = re.compile(r"(?<![\w./-])[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?![\w/-])")
_PROSE_PATH = re.compile(
    r"(?<![\w./:@~$+-])(?:\./)?((?:[\w.@+-]+/)+[\w@+-][\w.@+-]*?\.(\w{1,10}))(?![\w/-])"
)

_FORMER = re.compile(
    r"\b(?:formerly|previously|(?<!is )(?<!are )(?<!be )used to|renamed from|no longer|e\.g\.|was (?:once|"
    r"called|removed|renamed|replaced|moved|deleted)|were (?:removed|renamed|replaced|moved|deleted)|"
    r"for (?:example|instance))(?!\w)",
    re.IGNORECASE,
)
_SENTENCE = re.compile(
    r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)\s+(?=[A-Z`])|\n[ \t\r]*\n|\n(?=[ \t]*(?:[-*+|#]|\d{1,9}[.)][ \t]))"
)
_PLACEHOLDER = re.compile(
    r"(?:^|/)(?:(?:foo|bar|baz|qux|example|sample|my|your|some)(?:[_.-][\w.-]*)?|path/to)(?:/|$)|\.\.\.",
    re.IGNORECASE,
)

ReferenceKind = Literal["file", "folder", "symbol", "flag", "command", "link"]
FindingKind = Literal["there", "moved", "renamed", "gone", "missing"]


@dataclass(frozen=True)
class Reference:
    """One thing of the code that a text names.

    Attributes:
        start, end: where the name stands, in characters of the text.
        name: as it is written there.
        kind: what it is.
        target: of a file or folder the path without its end marks; of a link all that is written; of a
            symbol what it is called, with `()` where it is called like that; of a flag the program that it
            is given to, empty where none is named.
        parts: of a symbol or flag the identifiers that must all be in the code; of a command the program
            and its word.
    """

    start: int
    end: int
    name: str
    kind: ReferenceKind
    target: str = ""
    parts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Named:
    """What one memory names.

    Attributes:
        paths: files and folders from the top of the work tree, or a bare file name.
        sure: those of them that look like nothing but a file.
        words: symbols and flags as they are written, to the identifiers that must all be there.
        taught: when the memory was last taught, epoch seconds; 0 where unknown.
    """

    paths: tuple[str, ...] = ()
    sure: frozenset[str] = frozenset()
    words: tuple[tuple[str, tuple[str, ...]], ...] = ()
    taught: int = 0


@dataclass(frozen=True)
class NameFate:
    """What became of one name.

    Attributes:
        kind: `there`; `moved` (to `now`); `renamed` (a symbol or flag, to `now`); `gone` (from history that
            had it); `missing` (not in HEAD, and nobody knows whether it ever was).
        now: where it is; for one that is gone the last name it had, where that is another.
        commit: the commit that took it away; empty where unknown.
        time: of that commit, epoch seconds.
    """

    name: str
    kind: FindingKind
    now: str = ""
    commit: str = ""
    time: int = 0


class Code(Protocol):
    """Who knows the code as it is now."""

    def look(self, asked: Sequence[Named]) -> Sequence[Sequence[NameFate]]:
        """Findings for each of `asked`, in its order; nothing of a name that nothing is known about."""


def named(text: str, taught: int = 0) -> Named:
    """What a memory names, each thing once; a lone `x.md` is rather another memory than a file.

    Args:
        text: description and body.
        taught: when it was last taught, epoch seconds; 0 where unknown.
    """
    paths: dict[str, bool] = {}
    once: dict[tuple[str, ...], str] = {}  # `A.b()` and `A.b` are one name
    for one in names(text[:MOST_READ]):
        if one.parts:
            once.setdefault(one.parts, one.name if one.kind == "flag" else one.target)
        elif "/" in one.target or one.kind == "folder" or not one.target.lower().endswith(".md"):
            paths.setdefault(one.target, one.kind == "file")
    kept = list(paths)[:MOST_PATHS]
    return Named(
        tuple(kept),
        frozenset(path for path in kept if paths[path]),
        tuple((written, parts) for parts, written in list(once.items())[:MOST_WORDS]),
        taught,
    )


def names(text: str, *, loose: bool = False) -> Iterator[Reference]:
    """The files, folders, symbols and flags of a text: first those in backticks, then those in prose.

    Paths are relative and without blanks.

    Args:
        loose: placeholders and what a sentence calls former count as well: for who holds names against
            something that is at hand, and never says that one is gone.
    """
    for one in names_in(outside(text, loose=loose)):
        if loose or one.parts or not is_placeholder(one.target):
            yield one


def outside(text: str, *, loose: bool = False) -> str:
    """A text with blanks in the place of examples, output and what was: all else stays where it is.

    Args:
        loose: what was stays.
    """
    kept = _without_blocks(without_fences(without_comments(text)))
    return kept if loose else _without_former(kept)


def is_placeholder(path: str) -> bool:
    """Whether a path stands for any other, as `path/to/foo.py` does."""
    return bool(_PLACEHOLDER.search(path))


def statement(finding: NameFate) -> str:
    """Says a finding as one short fact."""
    name = f"`{finding.name}`"
    since = f" since {finding.commit[:9]}, {day(finding.time)}" if finding.commit else ""
    if finding.kind == "there":
        return f"{name} is still there"
    if finding.kind == "moved":
        return f"{name} moved to `{plain_path(finding.now)}`"
    if finding.kind == "renamed":
        return f"{name} became `{finding.now[:LONGEST]}`"
    if finding.kind == "missing":
        return f"{name} is not in HEAD"
    if finding.now:
        return f"{name} became `{plain_path(finding.now)}`, gone{since}"
    return f"{name} is gone{since}" if since else f"{name} is no longer in the code"


def warnings(findings: Sequence[NameFate]) -> tuple[str, ...]:
    """What of the findings is to be known before relying on a memory: all but what is still there."""
    found = [statement(finding) for finding in findings if finding.kind != "there"]
    more = len(found) - MOST_SAID
    return (*found[:MOST_SAID], *([f"{more} more that it names are not in HEAD"] if more > 0 else []))


_TURNED = re.compile(r"`([^`\n]+)` (?:moved to|became) `([^`\n]+)`(?!, gone)")


def only_renamed(old: str, new: str, reason: str) -> bool:
    """Whether a text is another one with names of the code in the place of those that a reason tells of.

    Args:
        reason: holds what became of names, as `statement` says it.
    """
    names = dict(_TURNED.findall(reason))
    return bool(names) and with_names(old, names) == new


def with_names(text: str, names: Mapping[str, str]) -> str:
    """A text with names of the code in the place of others, each as a whole, the longest first.

    Args:
        names: name as it is written to the one that it becomes.
    """
    if not names:
        return text
    either = "|".join(map(re.escape, sorted(names, key=lambda name: (-len(name), name))))
    return re.sub(rf"(?<![\w./-])(?:{either})(?![\w-])", lambda match: names[match.group()], text)


def plain_path(path: str) -> str:
    """A path from a tree, which is anyone's: so that no sentence can be made of a file's name."""
    return re.sub(r"[^\w./@+-]+", "_", path)[:LONGEST]


def day(seconds: int) -> str:
    """A time as a day."""
    return time.strftime("%Y-%m-%d", time.gmtime(seconds))


def without_fences(text: str) -> str:
    """A text with blanks in the place of its fences, so that all else stays where it is."""
    kept: list[str] = []
    fence = ""
    for line in text.split("\n"):
        found = _FENCE.match(line)
        blank = " " * len(line)
        if fence:
            kept.append(blank)
            if found and found[1].startswith(fence) and not found[2].strip():
                fence = ""
        elif found and not (found[1][0] == "`" and "`" in found[2]):
            kept.append(blank)
            fence = found[1]
        else:
            kept.append(line)
    return "\n".join(kept)


def without_comments(text: str) -> str:
    """A text with blanks in the place of comments, and with `x` for ``x``."""
    if "``" in text:
        text = re.sub(r"(?<!`)``(?!`)([^`\n]+)``(?!`)", lambda span: f" `{span[1]}` ", text)
    if "<!--" not in text:
        return text
    return re.sub(r"(?s)<!--.*?(?:-->|\Z)", lambda comment: re.sub(r"[^\n]", " ", comment[0]), text)


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


def _without_former(text: str) -> str:
    """Blanks in the place of sentences that tell of what was, or give an example."""
    if not _FORMER.search(text):
        return text
    kept: list[str] = []
    at = 0
    for end in (*(gap.end() for gap in _SENTENCE.finditer(text)), len(text)):
        sentence = text[at:end]
        kept.append(re.sub(r"[^\n]", " ", sentence) if _FORMER.search(sentence) else sentence)
        at = end
    return "".join(kept)


def names_in(plain: str) -> Iterator[Reference]:
    """The same as `names` of a text that was made plain by `outside`."""
    for span in SPAN.finditer(plain):
        code = span[1].strip()
        yield from _in_code(code, plain.index(code, span.start(1)) if code else span.start(1))
    prose = SPAN.sub(lambda span: "`" * len(span[0]), plain)
    for match in _PROSE_PATH.finditer(prose):
        if match[2].lower() in _SUFFIXES and _is_below(match[1]):
            yield Reference(match.start(1), match.end(1), match[1], "file", match[1])
    for match in _PROSE_FLAG.finditer(prose):
        yield Reference(match.start(), match.end(), match[0], "flag", "", (match[0],))
    for pattern in (_PROSE_CALL, _PROSE_METHOD, _PROSE_CONSTANT):
        for match in pattern.finditer(prose):
            if parts := _parts(match[match.lastindex or 0]):
                yield Reference(match.start(), match.end(), match[0], "symbol", match[0], parts)


def _in_code(code: str, at: int) -> Iterator[Reference]:
    """What one span in backticks names; `at` is where it begins."""
    match = _PATH.fullmatch(code)
    if match and match[2].lower() in _SUFFIXES and _is_below(match[1]):
        yield Reference(at + match.start(1), at + match.end(1), match[1], "file", match[1])
        return
    match = _FOLDER.fullmatch(code)
    if match:
        path = match[1].rstrip("/")
        if _is_below(path):
            start = match.start(1)
            yield Reference(at + start, at + len(code), code[start:], "folder", path)
        return
    for flag in _FLAG.finditer(code) if code.startswith("-") or " --" in code else ():
        yield Reference(at + flag.start(), at + flag.end(), flag[0], "flag", _program(code), (flag[0],))
    match = _CALL.fullmatch(code)
    if match and _TOLD_BY_SHAPE.search(code) and (parts := _parts(match[1])):
        called = f"{match[1]}()" if "(" in code else match[1]
        yield Reference(at, at + match.end(1), match[1], "symbol", called, parts)


def _program(code: str) -> str:
    """The program that a flag in backticks is given to."""
    words = code.removeprefix("$ ").split()
    if code.startswith("-") or not words:
        return ""
    return "-".join(words[:2]) if words[0] == "git" else words[0]


def _parts(name: str) -> tuple[str, ...]:
    """The identifiers that a name needs; none for one that is too short to be told from any other word."""
    parts = re.split(r"[.:#]+", name)
    # Of a dotted name the last part is meant, and a class before it; a module's name proves nothing.
    needed = [part for part in (parts[-2:-1] if len(parts) > 1 else []) if part[:1].isupper()] + parts[-1:]
    return tuple(needed) if all(SHORTEST_WORD <= len(part) <= LONGEST for part in needed) else ()


def _is_below(path: str) -> bool:
    """Whether a path stays where it begins, and is no host name."""
    segments = path.split("/")
    return (
        len(path) <= LONGEST
        and not any(part in (".", "..", ".git") for part in segments)
        and not path.startswith("-")
        and not (len(segments) > 1 and re.fullmatch(r"(?:www\..*|.*\.(?:com|org|net|io|dev))", segments[0]))
    )
