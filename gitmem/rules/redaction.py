r"""The one exit for text: what may be shown of memory, names, messages, authors and trailers.

Whatever of others' text reaches a person, a program, a log or a model passes `redact` (or `line`, or
`value`), in which three things happen to it, in this order:

- credentials are taken out, `[<rule>]` stands instead;
- control characters, escape sequences and what is invisible are written out (`\x1b`, `\u202e`);
- the `<` of a client's own tags is written out as `\x3c`, so that `<system-reminder>` reads
  `\x3csystem-reminder>`: a person can still read it, no client or model takes it for its own. All other
  markup (`<div>`, `List<T>`, `<name>`) stays as it is.

Applied twice, nothing changes any more, so that each may call it who is not sure who did. What is escaped
for the place that text goes to (JSON, a code fence, a cell of a table) is added by who writes there, later.

Which texts hold a credential only a detector can tell, at 0.1 s of CPU a process. So it comes in as an
argument, and `suspects` says at the price of a few regular expressions whether there is any need to ask it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any

from gitmem.core.text import find_invisible, find_random, one_line, printable

Hole = tuple[int, int, str]
"""Start and end of what is taken out, in code points, and the word that stands for it."""

Scan = Callable[[str], Sequence[Hole]]
"""Finds what is to be taken out of a text."""

UNJUDGED = "unjudged"
"""Stands for what looks like a credential, where no detector was asked."""

KEY = "private-key"
"""Stands for a key of many lines, as the detector calls it."""

_AGAIN = 4
"""How often a text is looked at again: what was taken out may have hidden what stands beside it."""

# Patterns are compiled when a text first needs them: most processes meet neither a tag nor a label.
_SEP = r"[-_\s]{0,4}"
_EVENTS = (
    rf"(?:user{_SEP}prompt{_SEP}submit|session{_SEP}(?:start|end)|(?:pre|post){_SEP}tool{_SEP}use"
    rf"|(?:pre|post){_SEP}compact|(?:subagent{_SEP})?stop|notification)"
)
_NAMES = rf"""
    system{_SEP}(?:reminder|prompt|message|instructions?|notification)
    |(?:function|tool){_SEP}(?:calls?|results?|use(?:{_SEP}error)?|response|output)
    |local{_SEP}command(?:{_SEP}\w+)?
    |command{_SEP}(?:name|message|args|contents)
    |bash{_SEP}(?:input|stdout|stderr)
    |{_EVENTS}{_SEP}hook
    |hook{_SEP}(?:additional{_SEP})?(?:context|feedback|output|result|error|success|message)
    |task{_SEP}notification|teammate{_SEP}message|user{_SEP}memory{_SEP}input
    |pasted{_SEP}(?:content|text)|persisted{_SEP}output|new{_SEP}diagnostics
    |ide{_SEP}(?:opened{_SEP}file|selection|diagnostics)
    |mcp{_SEP}(?:resource|polling){_SEP}update
"""
_TAG = rf"""<(?=
        \s{{0,8}}/?\s{{0,8}}(?:[\w.-]{{1,32}}\s{{0,4}}:\s{{0,4}})?(?:{_NAMES})(?![\w-])
        |\s{{0,8}}/?\s{{0,8}}antml\s{{0,4}}:
        |\s{{0,8}}/\s{{0,8}}(?:invoke|parameter|system)\s{{0,8}}>
        |\s{{0,8}}(?:invoke|parameter)\s+name\s{{0,8}}=
        |\|(?:im_start|im_end|im_sep|system|user|assistant|endoftext|start_header_id|end_header_id|eot_id)\|>
        |<\s{{0,8}}/?\s{{0,8}}sys\s{{0,8}}>>
    )"""

_LABEL_WORDS = "pass psw pw secret token key auth cred login bearer curl user :// begin"
_LABELS = frozenset(_LABEL_WORDS.split())
_LABELLED = r"(?:pass|pwd|psw|pw\b|secret|token|key|auth|cred|login|bearer|curl|user)[^\n]{0,160}"
_VALUE = r"(?<![^\s\"'`=:,(])(?=[^\s\"'`]*[0-9])(?=[^\s\"'`]*[^\W\d])(?P<value>[^\s\"'`]{6,})"
_SET = r"""(?:pass|pwd|psw|pw|secret|token|key|cred)\w*["'`*]{0,3}\s{0,3}(?::=|=>|=|:)\s{0,3}["'`]{0,3}
    (?P<value>[^\s"'`]{8,})"""
_LOGIN = r"://[^\s/@:]*:(?P<value>[^\s/@]+)@"
_KEY = r"(?P<value>-----BEGIN\b[^\n]{0,40}PRIVATE\b(?s:.*?)(?:-----END\b[^-\n]{0,60}-----|\Z))"
_KEY_LINE = r"[^A-Za-z0-9]*(?:[A-Za-z0-9+/=]{1,100}|[A-Za-z-]{4,20}:\s.{0,80})?\W{0,3}"
_WRITTEN = r"(?-i:\\x([0-9a-f]{2})|\\u([0-9a-f]{4})|\\U(00(?:0[0-9a-f]|10)[0-9a-f]{4}))"
_SEQUENCE = r"\x1b\[[0-9;?]{0,20}[A-Za-z]"
_PLACEHOLDER = r"\[[a-z0-9][a-z0-9-]{2,60}\]"


def redact(text: str, scan: Scan) -> str:
    """Returns a text as it may be shown to anybody; line ends of either kind stay.

    Args:
        scan: finds the credentials; `no_scan` where they are known to be out already.
    """
    for _ in range(_AGAIN):
        kept = _without_credentials(text, scan)
        text = _written_out(kept)
        # What is written out is longer than it was: behind a label it may pass for a password.
        if text == kept:
            break
    return text


def _without_credentials(text: str, scan: Scan) -> str:
    if "PRIVATE" in text:
        # Also one whose end is cut off, which no detector knows for a key.
        text = cut(text, [(*found.span("value"), KEY) for found in _pattern(_KEY).finditer(text)])
    for _ in range(_AGAIN):
        holes = list(scan(text))
        if "\x1b[" in text:
            # The last letter of a sequence would stand before a credential like one of its own.
            holes += scan(_pattern(_SEQUENCE).sub(lambda code: " " * len(code[0]), text))
        if not holes or not (holes := _outside_placeholders(text, holes)):
            break
        text = cut(text, holes)
    return text


def _written_out(text: str) -> str:
    plain = text if text.isascii() and text.isprintable() else _printable(text)
    return _pattern(_TAG).sub(r"\\x3c", plain) if "<" in plain else plain


def row(text: str, scan: Scan, *, in_key: bool) -> tuple[str, bool]:
    """The same for one of several lines that are shown one after another.

    Args:
        in_key: whether the line before was one of a private key that goes on.

    Returns:
        The line, and whether such a key goes on behind it.
    """
    keys = _pattern(_KEY).findall(text) if "PRIVATE" in text else []
    begun = bool(keys) and "-----END" not in keys[-1]
    if in_key and not begun:
        ends = text.find("-----END")
        if ends >= 0:
            return f"[{KEY}]{redact(text[ends:].partition('-----')[2].partition('-----')[2], scan)}", False
        if _pattern(_KEY_LINE).fullmatch(text):
            return (f"[{KEY}]" if text.strip() else text), True
    return redact(text, scan), begun


def line(text: str, width: int, scan: Scan) -> str:
    """The same on one line of at most `width` terminal cells; nothing is cut before it was judged.

    Args:
        text: anything; white space collapses.
        width: cells, at least 1.
    """
    return one_line(redact(text, scan), width)


def value(given: Any, scan: Scan) -> Any:
    """The same for every text in a value, as JSON and dataclasses hold them; keys of mappings, too."""
    if isinstance(given, str):
        # What was not UTF-8 in a file is a lone surrogate here, which no JSON reader takes.
        return redact(given.encode("utf-8", "replace").decode(), scan)
    if isinstance(given, Mapping):
        return {value(key, scan): value(item, scan) for key, item in given.items()}
    if isinstance(given, tuple):
        return tuple(value(list(given), scan))
    if isinstance(given, list):
        made: list[Any] = []
        in_key = False
        for item in given:
            # Lines of one text may be items of a list.
            if isinstance(item, str):
                safe, in_key = row(item.encode("utf-8", "replace").decode(), scan, in_key=in_key)
                made.append(safe)
            else:
                made.append(value(item, scan))
        return made
    if is_dataclass(given) and not isinstance(given, type):
        return replace(given, **{one.name: value(getattr(given, one.name), scan) for one in fields(given)})
    return given


def no_scan(_text: str) -> Sequence[Hole]:
    """Takes nothing out: for text in which credentials were looked for before."""
    return ()


def suspects(text: str) -> tuple[Hole, ...]:
    """Finds what may be a credential, without a detector and so with false alarms.

    It is a `Scan` of its own, for where none may be loaded. Where the detector finds a credential, this
    finds something, too (the detector's own examples and those of the tests); about one honest line in a
    hundred has something (the memories of three repositories).
    """
    if "\\" in text:
        # What was written out before is no part of the word beside it.
        text = _pattern(_WRITTEN).sub(lambda code: " " * len(code[0]), text)
    holes: list[Hole] = [(*span, UNJUDGED) for span in find_random(text)]
    folded = text.casefold()
    if any(label in folded for label in _LABELS):
        for labelled in _pattern(_LABELLED).finditer(text):
            holes += _values(_VALUE, text[: labelled.end()], labelled.start())
        for pattern in (_SET, _LOGIN, _KEY):
            holes += _values(pattern, text)
    if hidden := {one.offset for one in find_invisible(text)}:
        # A character that nobody sees may split one: what is found without it is taken out with it.
        kept = [at for at in range(len(text)) if at not in hidden]
        bare = "".join(text[at] for at in kept)
        holes += [(kept[start], kept[end - 1] + 1, word) for start, end, word in suspects(bare)]
    return tuple(sorted(holes))


def unredact(text: str, named: str) -> str:
    """Undoes what `redact` wrote out, for who was shown a text and names a part of it to have it edited.

    Credentials stay out: what was taken out cannot be named.

    Args:
        named: the part; what is not written out in it is left alone in `text`, too.
    """

    def plain(code: re.Match[str]) -> str:
        return chr(int(code[1] or code[2] or code[3], 16)) if code[0] in named else code[0]

    return _pattern(_WRITTEN).sub(plain, text)


def cut(text: str, holes: Sequence[Hole]) -> str:
    """Returns a text without some parts of it, each replaced by its word in brackets."""
    parts: list[str] = []
    at = 0
    for start, end, word in sorted(holes):
        if start >= at:
            parts += [text[at:start], f"[{word}]"]
        at = max(at, end)
    return "".join([*parts, text[at:]])


def _printable(text: str) -> str:
    if "\r" not in text or "\n" not in text:
        return printable(text)
    # The last of several lines may be without its line feed.
    body, last = (text[:-1], "\r") if text.endswith("\r") else (text, "")
    return "\r\n".join(printable(part) for part in body.split("\r\n")) + last


def _values(pattern: str, text: str, start: int = 0) -> list[Hole]:
    return [(*found.span("value"), UNJUDGED) for found in _pattern(pattern).finditer(text, start)]


def _outside_placeholders(text: str, holes: Sequence[Hole]) -> list[Hole]:
    """What was taken out before stays as it is, also where a label makes a password of its placeholder."""
    done = [found.span() for found in _pattern(_PLACEHOLDER).finditer(text)]
    return [hole for hole in holes if not any(low <= hole[0] and hole[1] <= high for low, high in done)]


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.VERBOSE if "\n" in pattern else re.IGNORECASE)
