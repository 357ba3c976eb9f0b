"""What is judged, as a value: the files of a tree, by the agent's folder in which they lie."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from gitmem.core.limits import MEMORY_BYTES
from gitmem.core.memory import Memory, parse
from gitmem.core.names import kind
from gitmem.core.text import decode


@dataclass(frozen=True)
class File:
    """One line of a tree.

    Attributes:
        mode: git's file mode.
        oid: object name.
        size: bytes; 0 for what is no blob.
        data: content; None for what is no regular file or too large to be judged.
    """

    mode: int
    oid: str
    size: int = 0
    data: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Text:
    """A file as the rules read it.

    Attributes:
        path: from the root, for findings.
        name: inside its agent's folder.
    """

    path: str
    name: str
    data: bytes = field(repr=False)

    @property
    def kind(self) -> str:
        """What it is; see `memory.names.kind`."""
        return kind(f"agent/{self.name}")

    @cached_property
    def text(self) -> str:
        """Its text; bytes that are no UTF-8 as surrogates."""
        return decode(self.data)

    @cached_property
    def memory(self) -> Memory:
        """It, read as a memory."""
        return parse(self.path, self.data)


@dataclass(frozen=True)
class Side:
    """One state of what is judged.

    Attributes:
        folders: path of an agent's folder to its files, by their path inside it.
        host: what lies outside of all of them and may matter to a host, by path.
        snapshots: whether the folders are snapshots in a code tree.
        time: when it was made, seconds since the epoch.
        trouble: (path, why) of what could not be listed or read.
    """

    folders: Mapping[str, Mapping[str, File]]
    host: Mapping[str, File]
    snapshots: bool = False
    time: int = 0
    trouble: tuple[tuple[str, str], ...] = ()

    @cached_property
    def files(self) -> dict[str, File]:
        """All files by path from the root."""
        inside = {
            f"{folder}/{name}": file
            for folder, files in self.folders.items()
            for name, file in files.items()
        }
        return {**self.host, **inside}

    @cached_property
    def texts(self) -> dict[str, Text]:
        """What was read of the agents' folders, by path from the root."""
        return {
            f"{folder}/{name}": Text(f"{folder}/{name}", name, file.data)
            for folder, files in self.folders.items()
            for name, file in files.items()
            if file.data is not None
        }

    def memories(self, folder: str) -> Iterator[Text]:
        """The memories of one folder that were read and are not too large, archived ones too."""
        for name in self.folders.get(folder, {}):
            text = self.texts.get(f"{folder}/{name}")
            if text is not None and text.kind == "memory" and len(text.data) <= MEMORY_BYTES:
                yield text


EMPTY = Side({}, {})
