"""The indexes of a write: each agent's `MEMORY.md` as `core.index.reconciled` leaves it, for any edits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from gitmem.core.index import INDEX, reconciled
from gitmem.core.names import is_agent_folder, is_memory_file
from gitmem.core.text import decode, encode
from gitmem.store.repository import BLOB, EXECUTABLE, Repository
from gitmem.store.trees import read_paths, subtree


class Hot(Mapping[str, bytes]):
    """The hot memories of an agent by file, of which only those are read that are asked for."""

    def __init__(self, names: Collection[str], read: Callable[[str], bytes | None]) -> None:
        self._names = frozenset(filter(is_memory_file, names))
        self._read = read

    def __getitem__(self, file: str) -> bytes:
        if file not in self._names:
            raise KeyError(file)
        return self._read(file) or b""

    def __contains__(self, file: object) -> bool:
        return file in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def with_indexes(
    repo: Repository,
    tree: str,
    edits: Mapping[str, bytes | None],
    forgotten: Collection[str] = (),
) -> dict[str, bytes | None]:
    """The edits of a write, with those of the indexes of the agents whose hot memories they change.

    Args:
        tree: what the write stands on.
        edits: path in the tree to new content, None to delete; an index among them is brought in line.
        forgotten: paths of memories that a person took back, with whatever the index says of them.
    """
    files = dict(edits)
    for agent in sorted({path.partition("/")[0] for path in edits if path.count("/") == 1}):
        mine = {p.partition("/")[2]: d for p, d in edits.items() if p.partition("/")[0] == agent}
        changed = {file: data for file, data in mine.items() if is_memory_file(file)}
        if changed and is_agent_folder(agent):
            text, shown = _reconciled(repo, tree, agent, mine, changed, forgotten)
            if shown != text:
                files[f"{agent}/{INDEX}"] = encode(shown) if shown else None
    return files


def _reconciled(
    repo: Repository,
    tree: str,
    agent: str,
    mine: Mapping[str, bytes | None],
    changed: Mapping[str, bytes | None],
    forgotten: Collection[str],
) -> tuple[str, str]:
    folder = subtree(repo, tree, agent)
    entries = repo.tree(folder) if folder else {}
    before = read_paths(repo, tree, {f"{agent}/{file}" for file in (INDEX, *changed)})
    data = mine[INDEX] if INDEX in mine else before.pop(f"{agent}/{INDEX}", None)
    then = {path.partition("/")[2]: data for path, data in before.items() if not path.endswith(f"/{INDEX}")}
    standing = {name: entry.oid for name, entry in entries.items() if entry.mode in (BLOB, EXECUTABLE)}
    # Where there is no index nobody has dropped a line of it.
    there = standing if data is not None else ()
    names = {*there, *changed} - {file for file, content in changed.items() if content is None}

    def read(file: str) -> bytes | None:
        return changed[file] if file in changed else repo.blob(standing[file])

    gone = {path.partition("/")[2] for path in forgotten if path.partition("/")[0] == agent}
    text = decode(data or b"")
    return text, reconciled(text, then, Hot(names, read), gone)
