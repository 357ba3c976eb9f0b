"""Memories for `bench dream`: those of a folder or of this repository, dealt out night by night."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gitmem.core import index
from gitmem.core.account import is_memory
from gitmem.core.errors import UsageError
from gitmem.core.limits import MEMORY_BYTES, OTHER_BYTES
from gitmem.core.memory import parse
from gitmem.core.merge import agent_folder
from gitmem.core.names import agent_name, is_memory_file
from gitmem.core.text import decode
from gitmem.git.trees import read_files
from gitmem.ledger.workspace import MAIN, Workspace


@dataclass(frozen=True)
class Arriving:
    """One memory that a night brings.

    Attributes:
        path: from the root of a memory tree.
        line: its line in the index.
    """

    path: str
    data: bytes
    line: str


def own_memory(workspace: Workspace) -> dict[str, bytes]:
    """The memories of all scopes here, with their indexes, as one tree; nothing is written.

    An agent that has memory in several scopes has it under several names, so that nothing is hidden.
    """
    found: dict[str, bytes] = {}
    for scope in workspace.scopes:
        tip = scope.repo.ref(scope.ref)
        files = _fitting(read_files(scope.repo, scope.repo.commit(tip).tree)) if tip else {}
        taken = {agent_folder(path) for path in found} & {agent_folder(path) for path in files}
        for path, data in files.items():
            agent, _, file = path.partition("/")
            found[f"{agent}-{scope.name}/{file}" if agent in taken else path] = data
    return found


def read_folder(folder: Path) -> dict[str, bytes]:
    """Reads a folder of memory: one agent's files, or a folder for each agent.

    Links are not followed, and what is no memory is passed over.

    Raises:
        UsageError: it cannot be read, or holds no memory.
    """
    try:
        flat = _read(folder, MAIN)
        found = flat or {
            path: data
            for one in sorted(folder.iterdir())
            if one.is_dir() and not one.is_symlink() and not one.name.startswith(".")
            for path, data in _read(one, agent_name(one.name)).items()
        }
    except OSError as error:
        raise UsageError(
            f"{folder} cannot be read: {error.strerror}", "Name a folder of memory."
        ) from error
    found = _fitting(found)
    if not any(map(is_memory, found)):
        raise UsageError(f"{folder} holds no memory", "Name a folder with files NAME.md, or one of agents.")
    return found


def deal(files: Mapping[str, bytes], nights: int, number: int, seed: int) -> Iterator[tuple[Arriving, ...]]:
    """Yields what each night brings, so many at most, in an order that the seed alone decides."""
    paths = sorted(filter(is_memory, files))
    random.Random(f"deal {seed}").shuffle(paths)  # noqa: S311 - an order, no secret
    lines = {
        f"{agent_folder(path)}/{unit.target}": unit.text
        for path, data in files.items()
        if path.endswith(f"/{index.INDEX}")
        for unit in index.parse(decode(data))
        if unit.target
    }
    for night in range(nights):
        yield tuple(
            Arriving(path, files[path], lines.get(path) or _line(path, files[path]))
            for path in paths[night * number : (night + 1) * number]
        )


def _line(path: str, data: bytes) -> str:
    memory = parse(path, data)
    return index.entry(memory.name, path.partition("/")[2], memory.description)


def _read(folder: Path, agent: str) -> dict[str, bytes]:
    found = {}
    for one in sorted(folder.iterdir()):
        wanted = is_memory_file(one.name) or one.name == index.INDEX
        if wanted and one.is_file() and not one.is_symlink() and one.stat().st_size <= OTHER_BYTES:
            found[f"{agent}/{one.name}"] = one.read_bytes()
    return found if any(map(is_memory, found)) else {}


def _fitting(files: Mapping[str, bytes]) -> dict[str, bytes]:
    return {
        path: data
        for path, data in files.items()
        if path.endswith(f"/{index.INDEX}") or (is_memory(path) and len(data) <= MEMORY_BYTES)
    }
