"""What is known before a change: memories of every scope, tombstones, and suggestions that wait."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from gitmem.core import tombstone
from gitmem.core.change import Header
from gitmem.core.claim import parse_body
from gitmem.core.daily_log import line_keys, split
from gitmem.core.errors import RepositoryError
from gitmem.core.memory import parse
from gitmem.core.names import is_agent_folder, is_log, kind
from gitmem.core.text import decode
from gitmem.git.repository import Repository
from gitmem.git.trees import read_files
from gitmem.ledger.foreign_commits import is_usable
from gitmem.ledger.push_plan import is_kept
from gitmem.ledger.suggestions import Suggestion, open_suggestions
from gitmem.ledger.workspace import SCOPES, Workspace


@dataclass(frozen=True)
class ClaimPlace:
    """Where a claim stands: scope, agent's folder, file inside it."""

    scope: str
    agent: str
    file: str


@dataclass(frozen=True)
class KnownMemory:
    """The state that changes are planned on.

    Attributes:
        files: scope to (path in the tree to content).
        suggestions: what waits in review.
    """

    files: Mapping[str, Mapping[str, bytes]] = field(default_factory=dict)
    suggestions: tuple[Suggestion, ...] = ()

    @cached_property
    def manifest(self) -> tuple[Header, ...]:
        """One header a memory, of all scopes and agents, in a fixed order."""
        found = []
        for place, data in self._memories():
            memory = parse(place.file, data)
            found.append(
                Header(
                    place.scope, place.agent, place.file, memory.name, memory.description, str(memory.type)
                )
            )
        return tuple(found)

    def memory(self, agent: str) -> dict[str, bytes]:
        """An agent's memories of all scopes: `<scope>/<agent>/<file>` to content."""
        found = self._memories()
        return {f"{at.scope}/{at.agent}/{at.file}": data for at, data in found if at.agent == agent}

    def of(self, agent: str) -> KnownMemory:
        """The same, as far as it is one agent's."""
        mine = {
            scope: {path: data for path, data in files.items() if path.startswith(f"{agent}/")}
            for scope, files in self.files.items()
        }
        return KnownMemory(mine, tuple(one for one in self.suggestions if one.change.agent == agent))

    def names(self, scope: str, agent: str) -> frozenset[str]:
        """Files of an agent in a scope, relative to its folder."""
        prefix = f"{agent}/"
        return frozenset(
            path.removeprefix(prefix) for path in self.files.get(scope, {}) if path.startswith(prefix)
        )

    def buried(self, agent: str, key: str) -> bool:
        """Whether a person forgot or rejected this, in whichever scope."""
        return tombstone.matches(self._stones(agent), key)

    def find(self, agent: str, key: str) -> ClaimPlace | None:
        """Where an agent's memory holds a claim with this normal form."""
        # Parsing is dear, and a file without one of the claim's words cannot hold it.
        word = max(key.split(), key=len, default="")
        for place, data in self._memories():
            if place.agent != agent or word not in unicodedata.normalize("NFC", decode(data)):
                continue
            if key in self._keys(place, data):
                return place
        return None

    def logged(self, agent: str, key: str) -> bool:
        """Whether a line of an agent's daily logs says this (a normal form), archived ones too."""
        word = max(key.split(), key=len, default="")
        for files in self.files.values():
            for path, data in files.items():
                if not is_log(path) or not path.startswith(f"{agent}/"):
                    continue
                text = unicodedata.normalize("NFC", decode(data))
                if word in text and any(key in line_keys(line) for line in split(text) if word in line):
                    return True
        return False

    def waits(self, keys: frozenset[str]) -> Suggestion | None:
        """The suggestion that says all of this already."""
        for one in self.suggestions:
            if keys <= {claim.key for claim in parse_body(one.change.body).claims}:
                return one
        return None

    @cached_property
    def _parsed(self) -> dict[ClaimPlace, frozenset[str]]:
        return {}

    def _keys(self, place: ClaimPlace, data: bytes) -> frozenset[str]:
        if place not in self._parsed:
            claims = parse(place.file, data).parsed.claims
            self._parsed[place] = frozenset(claim.key for claim in claims)
        return self._parsed[place]

    def _stones(self, agent: str) -> frozenset[tombstone.Tombstone]:
        path = f"{agent}/{tombstone.FILE}"
        texts = [decode(files[path]) for files in self.files.values() if path in files]
        return frozenset(stone for text in texts for stone in tombstone.parse(text))

    def _memories(self) -> Iterator[tuple[ClaimPlace, bytes]]:
        for scope, files in self.files.items():
            for path, data in sorted(files.items()):
                agent, _, file = path.partition("/")
                if file and kind(path) == "memory" and is_agent_folder(agent):
                    yield ClaimPlace(scope, agent, file), data


def known_at(workspace: Workspace) -> KnownMemory:
    """Memories of all scopes as their refs hold them, and what waits in review; writes nothing."""
    files: dict[str, dict[str, bytes]] = {}
    for name in SCOPES:
        scope = workspace.scope(name)
        tip = scope.repo.ref(scope.ref)
        files[name] = read_files(scope.repo, scope.repo.commit(tip).tree) if tip else {}
    return KnownMemory(files, open_suggestions(workspace))


def known_before(workspace: Workspace, agent: str, began: datetime | None) -> tuple[Header, ...]:
    """The agent's memories as they were at a moment; none where that is not known."""
    if began is None:
        return ()
    files: dict[str, dict[str, bytes]] = {}
    for name in SCOPES:
        scope = workspace.scope(name)
        # A log or an old tree that is damaged costs no more than the cache.
        with suppress(RepositoryError):
            then = stood_at(scope.repo, scope.ref, began.timestamp())
            files[name] = read_files(scope.repo, scope.repo.commit(then).tree, agent) if then else {}
    return KnownMemory(files).of(agent).manifest


def stood_at(repo: Repository, ref: str, moment: float) -> str | None:
    """Finds the commit that a ref stood at, the same one however the ref moves on.

    The log is asked, not the commits' dates: it only grows, while a commit that was made long ago may come
    in any day, with a folder that is adopted or by a sync. What counts is the first move later than the
    moment, whatever the clock said in moves after it.

    Args:
        ref: full name.
        moment: epoch seconds; a move in the same second counts as later.

    Returns:
        the commit; None where the ref held nothing, or where history was rewritten since (a purge): what
        stood there then is not to be shown again.
    """
    tip = repo.ref(ref)
    then = tip
    for move in repo.reflog(ref):
        if move.who.time >= int(moment):
            then = move.old
    if tip is None or then is None:
        return None
    return then if is_usable(repo, then) and (repo.is_ancestor(then, tip) or is_kept(repo, then)) else None
