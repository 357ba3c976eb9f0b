"""What a memory says, as an answer tells it: opened once, and kept beside its text in the index.

The next answer parses no frontmatter and no markdown, and seeks no names of the code in it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from gitmem.values import dataclass

if TYPE_CHECKING:
    from gitmem.core.memory import Memory

LARGEST = 65_536
"""Characters of a memory that is kept so; more is opened each time."""

RULE = b"**Rule in:** ["
"""What every memory that points to a rule holds (`core.pointer`)."""

_TOLD = ("name", "description")
"""Keys that a dispute is told of: of others, which are anyone's words, no sentence is made."""

CodeNames = tuple[tuple[str, ...], tuple[str, ...], tuple[tuple[str, tuple[str, ...]], ...]]
"""Paths, those that are surely a file, and words with their parts, as in `references.Named`."""


@dataclass(frozen=True)
class Opened:
    """What a candidate says, once it is opened.

    Attributes:
        known: what is to be said of it, before all else.
        names: what it names of the code; None where nobody has looked yet.
        points: whether it may point to a rule of the repository.
    """

    name: str
    description: str
    type: str
    body: str
    known: tuple[str, ...] = ()
    names: CodeNames | None = None
    points: bool = False


def open_content(data: bytes) -> Opened:
    """Opens a memory file, whatever its bytes; its name is empty where the file gives none."""
    from gitmem.core.memory import parse

    said = opened_memory(parse("", data))
    return Opened(
        said.name, said.description, said.type, said.body, said.known, code_names(said), RULE in data
    )


def opened_memory(memory: Memory) -> Opened:
    """What a memory says, without values of its frontmatter that lost: that they are disputed is told."""
    from gitmem.core.claim import disputed
    from gitmem.core.memory import without_lost

    said, lost = without_lost(memory)
    known = [f"its {key} is disputed, and not settled yet" for key in lost if key in _TOLD]
    known += filter(None, [disputed(said.body)])
    return Opened(said.name, said.description, said.type, said.body, tuple(known))


def code_names(said: Opened) -> CodeNames:
    """What a text names of the code, looked for where nobody has yet."""
    if said.names is not None:
        return said.names
    from gitmem.core.references import named

    found = named(f"{said.description}\n{said.body}")
    return found.paths, tuple(sorted(found.sure)), found.words


def as_kept(said: Opened) -> str:
    """The form in which the index keeps it: in ASCII, which holds bytes that were no UTF-8, too."""
    whole = (said.name, said.description, said.type, said.body, said.known, code_names(said), said.points)
    return json.dumps(whole, separators=(",", ":"))


def from_kept(value: str) -> Opened:
    """Reads it again.

    Raises:
        ValueError, TypeError: whatever wrote that, it was not `as_kept`.
    """
    name, description, type, body, known, (paths, sure, words), points = json.loads(value)
    parts = tuple((written, tuple(of)) for written, of in words)
    return Opened(name, description, type, body, tuple(known), (tuple(paths), tuple(sure), parts), points)
