"""The indexes of a write: each agent's `MEMORY.md` as `core.index.reconcile` leaves it, for any edits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from gitmem.core.index import INDEX, reconcile, targets
from gitmem.core.merge import Files
from gitmem.core.names import is_agent_folder, is_memory_file
from gitmem.core.text import decode, encode
from gitmem.git.repository import Repository
from gitmem.git.trees import hot_files

Read = Callable[[str], bytes | None]
"""Content of a file of an agent's folder; None where there is none."""


class Hot(Mapping[str, bytes]):
    """The hot memories of an agent by file, of which only those are read that are asked for."""

    def __init__(self, names: Collection[str], read: Read) -> None:
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
    known: Files | None = None,
) -> dict[str, bytes | None]:
    """The edits of a write, with those of the indexes of the agents whose hot memories they change.

    Args:
        tree: what the write stands on.
        edits: path in the tree to new content, None to delete; an index among them is brought in line.
        forgotten: paths of memories that a person took back, with whatever the index says of them.
        known: what stood at these paths before, where the tree does not have it any more.
    """
    files = dict(edits)
    agents = {path.partition("/")[0] for path in (*edits, *forgotten) if "/" in path}
    for agent in sorted(filter(is_agent_folder, agents)):
        mine = {file: data for path, data in edits.items() if (file := _file(path, agent))}
        gone = {file for path in forgotten if (file := _file(path, agent))}
        then = {file: data for path, data in (known or {}).items() if (file := _file(path, agent))}
        changed = {file: data for file, data in mine.items() if is_memory_file(file)}
        if not changed and not gone:
            continue
        names, read = _standing(repo, tree, agent)
        listed = mine[INDEX] if INDEX in mine else read(INDEX)
        then |= {file: read(file) or b"" for file in changed.keys() & names}
        # Where there is no index, one is made for a new memory; it names all, as the next write would.
        there = {*names, *changed} if listed is not None or changed.keys() - names else set[str]()
        hot = there - {file for file, data in changed.items() if data is None}
        after = Hot(hot, _over(changed, read))
        text = decode(listed or b"")
        shown = reconcile(text, then, after, gone)
        if shown != text:
            files[f"{agent}/{INDEX}"] = encode(shown)
    return files


def remade(repo: Repository, tree: str, edits: Mapping[str, bytes | None]) -> frozenset[str]:
    """Those indexes among some edits that the next write would make again what they are now.

    Args:
        tree: where memory stands; the edits change no memory of it.
    """
    found = set()
    for path, data in edits.items():
        agent, _, name = path.rpartition("/")
        if name == INDEX and is_agent_folder(agent):
            names, read = _standing(repo, tree, agent)
            text = reconcile(decode(data or b""), {}, Hot(names, read))
            if text == decode(read(INDEX) or b""):
                found.add(path)
    return frozenset(found)


def hot_memories(files: Files, agent: str) -> dict[str, bytes]:
    """The hot memories of one agent among files of a tree: file to content."""
    return {file: data for path, data in files.items() if is_memory_file(file := _file(path, agent))}


def hot(repo: Repository, tree: str, agent: str) -> Hot:
    """The hot memories of one agent of a tree, read as they are asked for."""
    return Hot(*_standing(repo, tree, agent))


def in_line(text: str, before: Files, after: Files) -> str:
    """An index as accepting a dream leaves it: a line that leads nowhere and says no more than that goes.

    Args:
        before, after: an agent's hot memories, by file.
    """
    nowhere = {file: b"" for file in targets(text) if is_memory_file(file)}
    return reconcile(text, nowhere | dict(before), after)


def _file(path: str, agent: str) -> str:
    """The index or hot memory of an agent that a path is, inside its folder; empty for any other path."""
    folder, _, file = path.partition("/")
    return file if folder == agent and (file == INDEX or is_memory_file(file)) else ""


def _over(changed: Mapping[str, bytes | None], read: Read) -> Read:
    return lambda file: changed[file] if file in changed else read(file)


def _standing(repo: Repository, tree: str, agent: str) -> tuple[frozenset[str], Read]:
    """Names of an agent's files in a tree, and a way to read them."""
    blobs = hot_files(repo, tree, agent)
    return frozenset(blobs), lambda file: repo.blob(blobs[file]) if file in blobs else None
