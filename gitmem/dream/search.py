"""The search over what memory was before a dream and is after it, in one catalog that ends with the job."""

from __future__ import annotations

from functools import cached_property

from gitmem.core.limits import CANDIDATES
from gitmem.core.memory import parse
from gitmem.core.merge import Files
from gitmem.search.query import search
from gitmem.search.text import Fields, links
from gitmem.search.tree_catalog import LooseCatalog
from gitmem.search.trees import is_memory
from gitmem.search.words import storable


class SearchPair:
    """Searches two versions of one tree; what they have in common is indexed once."""

    def __init__(self, before: Files, after: Files) -> None:
        self.before = {path: data for path, data in before.items() if is_memory(path)}
        self.after = {path: data for path, data in after.items() if is_memory(path)}
        paths = sorted({*self.before, *self.after})
        self.changed = tuple(path for path in paths if self.before.get(path) != self.after.get(path))
        # The catalog keeps paths that can be stored.
        self._paths = {storable(path): path for path in reversed(paths)}
        self._found: dict[tuple[str, str], list[str]] = {}

    def first(self, query: str, *, after: bool) -> list[str]:
        """Paths of what one tree answers as recall searches it, best first, `CANDIDATES` at most."""
        asked = storable(query), _AFTER if after else _BEFORE
        if asked not in self._found:
            found = search(self._catalog, asked[0], asked[1:], limit=CANDIDATES)
            self._found[asked] = [self._paths.get(one.path, one.path) for one in found]
        return self._found[asked]

    @cached_property
    def _catalog(self) -> LooseCatalog:
        catalog = LooseCatalog()
        catalog.add(_BEFORE, self.before, _read)
        catalog.add(_AFTER, self.after, _read)
        return catalog


_BEFORE, _AFTER = "before", "after"


def _read(path: str, data: bytes) -> Fields:
    """Reads what the search needs where nothing is asked about times."""
    memory = parse(path, data)
    return Fields(
        memory.name,
        memory.description,
        memory.type,
        memory.body,
        links=links(f"{memory.description}\n{memory.body}"),
        session=memory.front.text("originSessionId") if memory.front else "",
        given=memory.front.text("name") if memory.front else "",
    )
