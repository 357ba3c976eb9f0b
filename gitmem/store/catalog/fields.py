"""What is indexed of a memory file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Fields:
    """The texts of one memory; empty where the file has none."""

    name: str
    description: str
    type: str
    body: str


Read = Callable[[str, bytes], Fields]
"""Parses a memory file from (path in the tree, content); never raises for bad content."""


def read_memory(path: str, data: bytes) -> Fields:
    """Reads the fields of a memory file, whatever its bytes."""
    from gitmem.memory.memory import parse

    memory = parse(path, data)
    return Fields(memory.name, memory.description, memory.type, memory.body)
