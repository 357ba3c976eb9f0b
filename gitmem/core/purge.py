"""Taking a text out of what memory is made of, and telling from two versions what was taken out.

A text is found as it is written, and also with other white space between its words (a wrapped line), in
NFC or NFD, as JSON and YAML escape it, and cut short with an ellipsis as subjects and descriptions are.
"""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import field
from functools import cached_property

from gitmem.core.names import FORMAT_FILE, INDEX, TOMBSTONES, slugify
from gitmem.values import dataclass

MARK = "[purged]"
LEAST_CHARACTERS = 4
"""Of a text that may be purged, without white space: a shorter one is part of too much."""

SLUG_CHARACTERS = 8
"""From this length on, the form that a text takes in the name of a file is taken out wherever it stands; a
shorter one only as words of a longer name (`the-pin-is-durian`, `durian.md`): it is part of too much."""

CUT_WORDS = 3
"""The first so many words of a text, followed by an ellipsis, are the text cut short."""

_WORDS_OF_GITMEM = """
Begin a memory
Gitmem-Op: add update delete merge restore sync adopt page dream purge
Gitmem-Writer: agent extract dream human sync
Gitmem-Session: Gitmem-Messages: Gitmem-Job: Gitmem-Code-Commit: Gitmem-Engine: Gitmem-Reviewed:
Gitmem-Undoes: Gitmem-Claim: kept merged superseded dropped
name: description: metadata: type: user feedback project reference **Why:** **How to apply:**
MEMORY.md archive.md logs [purged] format = 1 epoch = suggestions.json
""".splitlines()

_GAP = rb"(?:\s|\\[nrt])+"
_TITLE = re.compile(rb"\[([^\n]*)\](?=\((?:<[^<>\n]*>|[^()<>\s]+)\))")
_FRONT = re.compile(rb"\A---\r?\n.*?^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_BARE_VALUE = re.compile(rb"^([ \t]*[\w-]+:[ \t]+)(\[purged\][^\r\n]*)", re.MULTILINE)
_QUOTED_VALUE = re.compile(rb'^([ \t]*[\w-]+:[ \t]+)"(\[purged\](?:[^"\\\r\n]|\\.)*)"', re.MULTILINE)


def unfit(text: str) -> str | None:
    """Why a text may not be purged, or None where it may."""
    bare = "".join(text.split())
    if len(bare) < LEAST_CHARACTERS:
        return f"it has fewer than {LEAST_CHARACTERS} characters"
    words = " ".join(text.split()).casefold()
    if any(words in known.casefold() for known in _WORDS_OF_GITMEM):
        return "gitmem writes it in every memory"
    return None


@dataclass(frozen=True)
class Purge:
    """What is taken out.

    Attributes:
        texts: each is replaced by `[purged]`.
        memories: hot and archived paths of memories that go as a whole.
        others: what stands for the text elsewhere (hashes of claims that held it) to what replaces it.
        keys: normal forms of claims that held it: tombstones for these go.
        said: texts that go from commit messages alone: what was said there of memories that go.
    """

    texts: frozenset[str] = frozenset()
    memories: frozenset[str] = frozenset()
    others: frozenset[tuple[bytes, bytes]] = frozenset()
    keys: frozenset[str] = field(default=frozenset(), repr=False)
    said: frozenset[str] = frozenset()

    def __or__(self, more: Purge) -> Purge:
        return Purge(
            self.texts | more.texts,
            self.memories | more.memories,
            self.others | more.others,
            self.keys | more.keys,
            self.said | more.said,
        )

    def __bool__(self) -> bool:
        return bool(self.texts or self.memories)

    @cached_property
    def _pattern(self) -> re.Pattern[bytes] | None:
        longest = sorted(self.texts, key=lambda text: (-len(text), text))
        forms = [form for text in longest if text.strip() for form in _forms(text)]
        return re.compile(b"|".join(dict.fromkeys(forms))) if forms else None

    @cached_property
    def _starts(self) -> tuple[bytes, ...]:
        """Each form of each text contains one of these: most of what is searched holds none."""
        found: dict[bytes, None] = {}
        for text in self.texts:
            words = text.split()
            if all(c.isascii() and c not in "\"'\\&<>" for c in text):
                found[words[0].encode()] = None
                slug = slugify(text)
                found[slug.encode()] = None
            else:
                return ()
        return tuple(found)

    @cached_property
    def _other(self) -> re.Pattern[bytes] | None:
        found = sorted(old for old, _ in self.others)
        return re.compile(b"|".join(map(re.escape, found))) if found else None

    def holds(self, data: bytes) -> bool:
        """Whether a text is in some bytes."""
        if self._pattern is None or (self._starts and not any(one in data for one in self._starts)):
            return False
        return self._pattern.search(data) is not None

    def clean(self, data: bytes, mark: bytes = MARK.encode()) -> bytes:
        """Some bytes without the texts, and without what stands for them."""
        if self.holds(data) and self._pattern is not None:
            data = self._pattern.sub(mark, data)
        if self._other is not None and self._other.search(data):
            to = dict(self.others)
            data = self._other.sub(lambda match: to[match[0]], data)
        return data

    def clean_message(self, data: bytes) -> bytes:
        """A commit's message, or a line of its head, without the texts."""
        return self.clean(self._spoken.clean(data) if self.said else data)

    @cached_property
    def _spoken(self) -> Purge:
        return Purge(self.said)

    def clean_name(self, name: bytes) -> bytes:
        """The name of a file or folder without the texts."""
        return name if name == FORMAT_FILE.encode() else self.clean(name)

    def clean_file(self, path: str, data: bytes) -> bytes:
        """A file's content without the texts, and without lines of an index about memories that go."""
        folder, _, name = path.rpartition("/")
        if path == FORMAT_FILE:
            return data
        if name == TOMBSTONES and self.keys:
            from gitmem.core import tombstone

            text = data.decode("utf-8", "surrogateescape")
            return tombstone.without_keys(text, self.keys).encode("utf-8", "surrogateescape")
        if name == INDEX:
            return self._clean_index(folder.partition("/")[0], data)
        cleaned = self.clean(data)
        if cleaned != data and name.endswith(".md"):
            cleaned = _FRONT.sub(lambda front: _BARE_VALUE.sub(_quoted, front[0]), cleaned, count=1)
        return cleaned

    def _clean_index(self, agent: str, data: bytes) -> bytes:
        if self.holds(data):
            # A title in brackets with brackets in it is no link to most readers.
            data = _TITLE.sub(lambda match: b"[" + self.clean(match[1], b"purged") + b"]", data)
        gone = {path.partition("/")[2] for path in self.memories if path.partition("/")[0] == agent}
        if gone:
            from gitmem.core import index

            text = data.decode("utf-8", "surrogateescape")
            data = index.without_files(text, gone).encode("utf-8", "surrogateescape")
        return self.clean(data)


def explain(old: bytes, new: bytes) -> tuple[str, ...] | None:
    """What `[purged]` stands for in one of two versions of a text.

    Args:
        old, new: where they differ, `new` holds the mark in place of something in `old`.

    Returns:
        The texts that were taken out; None where the two differ in anything else.
    """
    if old == new:
        return ()
    new = _QUOTED_VALUE.sub(lambda match: match[1] + re.sub(rb"\\(.)", rb"\1", match[2]), new)
    mark = MARK.encode()
    parts = new.split(mark)
    if len(parts) == 1:
        return () if old == new else None
    gaps = _even_gaps(old, parts) or _gaps(old, parts)
    if gaps is None:
        return None
    return tuple(dict.fromkeys(gap.decode("utf-8", "surrogateescape") for gap in gaps if gap != mark))


def _even_gaps(old: bytes, parts: list[bytes]) -> list[bytes] | None:
    """The gaps where all are one text, as they are unless a text is wrapped."""
    left = len(old) - sum(map(len, parts))
    size, rest = divmod(left, len(parts) - 1)
    if rest or size < 1:
        return None
    text = old[len(parts[0]) : len(parts[0]) + size]
    return [text] if text.join(parts) == old else None


def _gaps(old: bytes, parts: list[bytes]) -> list[bytes] | None:
    """The gaps where they may differ, each as short as can be: one pass, whatever was written there."""
    first, *middle, last = parts
    if not old.startswith(first) or not old.endswith(last):
        return None
    at, end = len(first), len(old) - len(last)
    gaps = []
    for part in middle:
        found = old.find(part, at + 1, end)
        if found < 0:
            return None
        gaps.append(old[at:found])
        at = found + len(part)
    if at >= end:
        return None
    return [*gaps, old[at:end]]


def _forms(text: str) -> list[bytes]:
    """Expressions for the ways in which a text may be written, the longest first."""
    words = text.split()
    whole = [_word(word) for word in words]
    forms = [_GAP.join(whole)]
    if len(words) > CUT_WORDS:
        cut = b""
        for word in reversed(whole[CUT_WORDS:-1]):
            cut = b"(?:" + _GAP + word + cut + b")?"
        forms.append(_GAP.join(whole[:CUT_WORDS]) + cut + rb"[ ,;:.]*(?:\xe2\x80\xa6|\\u2026)")
    slug = slugify(text)
    if len(slug) >= SLUG_CHARACTERS:
        forms.append(re.escape(slug.encode()))
    elif len(slug) >= LEAST_CHARACTERS:
        named = re.escape(slug.encode())
        forms.append(rb"(?<![a-z0-9])" + named + rb"(?=-[a-z0-9]|\.md\b|\]\]|\]\()")
        forms.append(rb"(?:(?<=[a-z0-9]-)|(?<=name: ))" + named + rb"(?![a-z0-9])")
    return forms


def _word(word: str) -> bytes:
    return b"".join(map(_character, unicodedata.normalize("NFC", word)))


def _character(char: str) -> bytes:
    ways = [char, unicodedata.normalize("NFD", char), json.dumps(char)[1:-1]]
    ways += ["''"] if char == "'" else []
    ways += [f"&#{ord(char)};"] if char in "<>&" else []
    found = dict.fromkeys(way.encode("utf-8", "surrogateescape") for way in ways)
    longest = sorted(found, key=len, reverse=True)
    return b"(?:" + b"|".join(map(re.escape, longest)) + b")"


def _quoted(match: re.Match[bytes]) -> bytes:
    value = match[2].rstrip()
    return match[1] + b'"' + value.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'
