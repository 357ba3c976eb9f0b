"""How old memories are, looked up when an engine asks: the first time, all of history is walked for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from gitmem.core.account import is_memory
from gitmem.core.merge import agent_folder
from gitmem.git.repository import MissingObject
from gitmem.ledger.workspace import Scope


class Taught(Mapping[str, float]):
    """Path of a memory to when its body was last changed by an agent, extraction or person, epoch seconds.

    Args:
        commit: of the scope's memory ref.
        paths: of its tree.
    """

    def __init__(self, scope: Scope, commit: str, paths: Mapping[str, object]) -> None:
        self._scope = scope
        self._commit = commit
        self._paths = paths

    def __getitem__(self, path: str) -> float:
        return self._ages[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._ages)

    def __len__(self) -> int:
        return len(self._ages)

    @cached_property
    def _ages(self) -> dict[str, float]:
        from gitmem.ledger.holdings import taught  # the catalog, which most dreams do not need

        found: dict[str, float] = {}
        for agent in sorted({agent_folder(path) for path in self._paths if is_memory(path)}):
            try:
                ages = taught(self._scope, self._commit, agent, archived=True)
            except MissingObject:
                continue
            found |= {f"{agent}/{file}": float(age) for file, age in ages.items()}
        return found
