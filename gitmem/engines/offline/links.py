"""Links between memories: which lead nowhere, and the one memory that each can have meant."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import quote, unquote

from gitmem.core.facts import stem
from gitmem.core.memory import TYPES, Memory
from gitmem.core.names import INDEX, slugify

LINK = re.compile(r"\[\[([^\[\]\n|#]+)([^\[\]\n]*)\]\]")
_INLINE = re.compile(r"(?<!!)\[([^\[\]\n]*)\]\(<?([^()<>\s#]+\.md)(#[^()<>\s]*)?>?\)")
_HIDDEN = re.compile(
    r"(?P<fence>`{3,}|~{3,}).*?(?:(?P=fence)|\Z)|(?<!`)(`+)(?!`).+?(?<!`)\2(?!`)", re.DOTALL
)

_CHAIN = 100
"""Renames in a row that a link is followed through."""

TYPO_LENGTH = 5
"""Letters that a word needs before one wrong letter in it counts as a slip of the pen."""


@dataclass(frozen=True)
class Way:
    """Where a link leads from now on; nowhere, where both are empty.

    Attributes:
        name: for `[[name]]`.
        file: for `[label](file.md)` in a memory of the same agent; empty where it is another's.
    """

    name: str = ""
    file: str = ""


class Names:
    """What links can lead to: names, file stems and slugs of all memories of a scope."""

    def __init__(self, memories: Mapping[str, Memory], renamed: Mapping[str, str]) -> None:
        """Starts from the memories that are there, and from what history knows of those that were."""
        self._known: dict[str, str] = {}
        self._memories = memories
        self._renamed = {slug(old): new for old, new in renamed.items()}
        for path in sorted(memories):
            for name in (memories[path].name, PurePosixPath(path).stem):
                self._known.setdefault(slug(name), path)
        self._by_parts: dict[tuple[int, str], set[str]] = {}
        self._by_bare: dict[str, set[str]] = {}
        for name in self._known:
            self._by_bare.setdefault(_typeless(name), set()).add(name)
            for key in (*_keys(name), (0, _front(name)), (0, _front(_typeless(name)))):
                self._by_parts.setdefault(key, set()).add(name)

    def leads(self, link: str) -> bool:
        """Whether some memory has this name, however it is spelt."""
        return slug(link) in self._known

    def remembered(self, link: str) -> str | None:
        """Path of the memory that has a name now; empty where it is gone, None where it never was."""
        name = slug(link)
        for _ in range(_CHAIN):
            if name in self._known:
                return self._known[name]
            if name not in self._renamed:
                return None
            if not self._renamed[name]:
                return ""
            name = slug(self._renamed[name])
        return None

    def meant(self, link: str) -> str:
        """Path of the memory that a dangling link must have meant; empty where not one comes near."""
        wanted = slug(link)
        near = set[str]().union(*(self._by_parts.get(key, set()) for key in _keys(wanted)))
        bare = _typeless(wanted)
        for found in (
            {name for name in near if _near(wanted, name)},
            self._by_bare.get(bare, set()),
            # `[[layer2-debug]]` is the one memory whose name begins so; one word begins too many.
            {name for name in self._by_parts.get((0, _front(bare)), set()) if _begins(name, bare)},
        ):
            paths = {self._known[name] for name in found}
            if len(paths) == 1:
                return next(iter(paths))
        return ""

    def way(self, path: str, agent: str) -> Way:
        """How a memory of this agent links to the memory at a path."""
        file = path.removeprefix(f"{agent}/") if path.startswith(f"{agent}/") else ""
        return Way(spoken(self._memories[path]), "" if "/" in file else file)


def slug(link: str) -> str:
    """The name that a link is looked up by."""
    return slugify(link.strip().removesuffix(".md"))


def spoken(memory: Memory) -> str:
    """What a link to a memory says: its name where that is a slug or the like, else its file's stem."""
    return memory.name if not set(memory.name) & set(" []|#\t") else PurePosixPath(memory.path).stem


def links(text: str) -> tuple[str, ...]:
    """Names that a text links to, outside of code, in order, each once."""
    if "[[" not in text:
        return ()
    shown = _HIDDEN.sub(lambda match: " " * len(match.group()), text)
    return tuple(dict.fromkeys(match.group(1).strip() for match in LINK.finditer(shown)))


def inline_links(text: str) -> tuple[str, ...]:
    """Files beside it that a text links to, `[label](file.md)`, outside of code, in order, each once."""
    if ".md" not in text:
        return ()
    shown = _HIDDEN.sub(lambda match: " " * len(match.group()), text)
    files = (_file(match) for match in _INLINE.finditer(shown))
    return tuple(dict.fromkeys(file for file in files if file))


def turned(text: str, ways: Mapping[str, Way]) -> str:
    """The text with links led elsewhere, outside of code; labels and words stay.

    Args:
        ways: slug of a name to where links to it lead.
    """
    hidden = [match.span() for match in _HIDDEN.finditer(text)]

    def is_hidden(match: re.Match[str]) -> bool:
        return any(start <= match.start() < end for start, end in hidden)

    def named(match: re.Match[str]) -> str:
        way = None if is_hidden(match) else ways.get(slug(match[1]))
        if way is None:
            return match[0]
        if way.name:
            return f"[[{way.name}{match[2]}]]"
        return match[2][1:] if match[2].startswith("|") and match[2][1:].strip() else match[1] + match[2]

    def inline(match: re.Match[str]) -> str:
        file = "" if is_hidden(match) else _file(match)
        way = ways.get(slug(file)) if file else None
        if way is None or (way.name and not way.file):
            return match[0]
        if way.file:
            return f"[{match[1]}]({quote(way.file)}{match[3] or ''})"
        return match[1] if match[1].strip() else file

    text = _INLINE.sub(inline, text)
    hidden = [match.span() for match in _HIDDEN.finditer(text)]
    return LINK.sub(named, text)


def _file(match: re.Match[str]) -> str:
    file = unquote(match[2]).removeprefix("./")
    return "" if "/" in file or "\\" in file or file == INDEX else file


def _typeless(name: str) -> str:
    """A slug without the type that clients put before the names of files (`feedback_testing.md`)."""
    kind, _, rest = name.partition("-")
    return rest if rest and kind in TYPES else name


def _front(name: str) -> str:
    """What two slugs have in common of which one begins with two words of the other."""
    return "-".join(name.split("-")[:2]) + "-"


def _begins(name: str, with_this: str) -> bool:
    return "-" in with_this and any(one.startswith(f"{with_this}-") for one in (name, _typeless(name)))


def _keys(name: str) -> Iterator[tuple[int, str]]:
    """What two names have in common that are one slip apart: one of their ends, or all letters."""
    parts = name.split("-")
    yield (0, "".join(parts))
    yield (len(parts), f"<{stem(parts[0])}")
    yield (len(parts), f"{stem(parts[-1])}>")
    if len(parts) == 1:
        yield (1, name[:2])
        yield (1, name[-2:] + ">")


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
