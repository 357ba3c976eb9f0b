"""A living document as a value: its title, what it is to be like, and what it says of the code."""

from __future__ import annotations

import re

from gitmem.docs.statements import Statement, statements
from gitmem.values import dataclass

SUFFIXES = ("md", "mdx", "markdown", "rst", "txt")
"""Suffixes of files that may be documents, in lower case."""

MARK = "# MAGIC DOC:"
"""What the first line of a document begins with; its title follows."""

MOST_BYTES = 256 << 10
"""Size of a document."""

_ITALIC = re.compile(r"([*_])(?![*_\s])(.+?)(?<![*_\s])\1[ \t]*")


@dataclass(frozen=True)
class Doc:
    """A living document.

    Attributes:
        path: from the top of the work tree.
        title: what stands behind the mark.
        instructions: the italic line under it, without its marks; empty where there is none.
        text: all of it, with its byte order mark and line ends as they are.
        statements: what it says of the code, in the order of the text.
    """

    path: str
    title: str
    instructions: str
    text: str
    statements: tuple[Statement, ...] = ()


def may_be(path: str) -> bool:
    """Whether a file of that name may be a document."""
    name, dot, suffix = path.rpartition("/")[2].rpartition(".")
    return bool(name and dot) and suffix.lower() in SUFFIXES


def parse(path: str, data: bytes) -> Doc | None:
    """Reads a file; None where it is no living document.

    Args:
        path: from the top of the work tree.
        data: all of the file.
    """
    if not may_be(path) or len(data) > MOST_BYTES or MARK.encode() not in data[:64]:
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    first, _, rest = text.removeprefix("\ufeff").partition("\n")
    title = first.removeprefix(MARK).strip()
    if not first.startswith(MARK) or not title:
        return None
    head = rest.split("\n", 2)
    at = next((n for n, line in enumerate(head[:2]) if line.strip()), 0)
    italic = _ITALIC.fullmatch(head[at].rstrip("\r"))
    return Doc(
        path,
        title,
        italic[2] if italic else "",
        text,
        statements(text, from_line=at + 3 if italic else 2),
    )
