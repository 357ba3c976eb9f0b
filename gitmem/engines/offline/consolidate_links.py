"""Links between memories: which lead nowhere, and the one memory that each can have meant."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from gitmem.memory.facts import stem
from gitmem.memory.memory import Memory
from gitmem.memory.names import slugify

LINK = re.compile(r"\[\[([^\[\]\n|#]+)([^\[\]\n]*)\]\]")
_HIDDEN = re.compile(
    r"(?P<fence>`{3,}|~{3,}).*?(?:(?P=fence)|\Z)|(?<!`)(`+)(?!`).+?(?<!`)\2(?!`)", re.DOTALL
)

TYPO_LENGTH = 5
"""Letters that a word needs before one wrong letter in it counts as a slip of the pen."""


class Names:
    """What links can lead to: names, file stems and slugs of all memories of a scope."""

    def __init__(self, memories: Mapping[str, Memory]) -> None:
        self._known: dict[str, str] = {}
        self._spoken: dict[str, str] = {}
        for path in sorted(memories):
            memory = memories[path]
            for name in (memory.name, PurePosixPath(path).stem):
                self._known.setdefault(slugify(name), path)
                self._spoken.setdefault(slugify(name), spoken(memory))

    def leads(self, link: str) -> bool:
        """Whether some memory has this name, however it is spelt."""
        return slugify(link.strip().removesuffix(".md")) in self._known

    def meant(self, link: str) -> str:
        """The name that a dangling link must have meant; empty where none or several come near."""
        slug = slugify(link.strip().removesuffix(".md"))
        paths = {self._known[name]: self._spoken[name] for name in self._known if _near(slug, name)}
        return next(iter(paths.values())) if len(paths) == 1 else ""


def spoken(memory: Memory) -> str:
    """What a link to a memory says: its name where that is a slug or the like, else its file's stem."""
    return memory.name if not set(memory.name) & set(" []|#\t") else PurePosixPath(memory.path).stem


def links(text: str) -> tuple[str, ...]:
    """Names that a text links to, outside of code, in order, each once."""
    shown = _HIDDEN.sub(lambda match: " " * len(match.group()), text)
    return tuple(dict.fromkeys(match.group(1).strip() for match in LINK.finditer(shown)))


def pointed(text: str, names: Mapping[str, str]) -> str:
    """The text with links to one name made links to another, outside of code; labels stay."""
    hidden = [match.span() for match in _HIDDEN.finditer(text)]

    def turned(match: re.Match[str]) -> str:
        if any(start <= match.start() < end for start, end in hidden):
            return match.group()
        new = names.get(match.group(1).strip())
        return f"[[{new}{match.group(2)}]]" if new else match.group()

    return LINK.sub(turned, text)


def _near(one: str, other: str) -> bool:
    """Whether two slugs differ in the endings of words, or in one slip, and in no number."""
    mine, theirs = one.split("-"), other.split("-")
    if len(mine) != len(theirs):
        return "".join(mine) == "".join(theirs)
    slips = 0
    for a, b in zip(mine, theirs, strict=True):
        if a == b or (a.isalpha() and b.isalpha() and stem(a) == stem(b)):
            continue
        if not (a.isalpha() and b.isalpha() and min(len(a), len(b)) >= TYPO_LENGTH and _slip(a, b)):
            return False
        slips += 1
    return slips <= 1


def _slip(one: str, other: str) -> bool:
    """Whether two words are one slip apart: a letter more or fewer, or two swapped; not another letter,
    since `upload` and `unload` are two things."""
    if len(one) > len(other):
        one, other = other, one
    at = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))
    if len(one) != len(other):
        return len(other) == len(one) + 1 and one[at:] == other[at + 1 :]
    return one[at : at + 2] == other[at : at + 2][::-1] and one[at + 2 :] == other[at + 2 :]
