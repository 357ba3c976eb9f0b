"""Tombstones as they are written: with the clone's salt and the day of the decision.

The salt of a clone's tombstones: made once, so that equal texts of two teams do not show.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from gitmem.core import tombstone
from gitmem.core.daily_log import fact_keys, is_log, split, without_lines
from gitmem.core.names import is_agent_folder
from gitmem.core.text import decode, encode
from gitmem.git.command import config_get
from gitmem.git.config import config_set
from gitmem.git.repository import Repository
from gitmem.git.trees import list_files, read_paths
from gitmem.ledger.workspace import Scope, Workspace
from gitmem.values import dataclass

KEY = "gitmem.salt"


@dataclass(frozen=True)
class Spade:
    """What a decision buries with.

    Attributes:
        salt: of the clone.
        date: of the decision, ISO, UTC.
    """

    salt: str
    date: str

    def bury(self, known: bytes | None, keys: Iterable[str], kind: tombstone.Kind) -> bytes:
        """A tombstone file with more stones in it.

        Args:
            known: the file as it stands; None where there is none.
            keys: normal forms of claims, or keys of rejected operations.
        """
        stones = [tombstone.bury(key, self.salt, self.date, kind) for key in keys]
        return encode(tombstone.with_stones(decode(known or b""), stones))

    def edits(
        self, repo: Repository, tree: str, keys: Mapping[str, Iterable[str]], kind: tombstone.Kind
    ) -> dict[str, bytes | None]:
        """The tombstone files of a tree with more stones in them.

        Args:
            keys: agent's folder to what to bury there; a name that is no agent's folder is passed over.
        """
        at = {agent: f"{agent}/{tombstone.FILE}" for agent in keys if is_agent_folder(agent)}
        known = read_paths(repo, tree, set(at.values()))
        return {path: self.bury(known.get(path), keys[agent], kind) for agent, path in at.items()}


def without_logged(repo: Repository, tree: str, agent: str, keys: Iterable[str]) -> dict[str, bytes | None]:
    """An agent's logs, hot and archived, without the lines whose fact is one of what is forgotten.

    Args:
        keys: normal forms of claims. That a reason is among them takes no line out: it is not what it says.
    """
    gone = frozenset(keys)
    edits: dict[str, bytes | None] = {}
    for path, data in read_paths(repo, tree, set(filter(is_log, list_files(repo, tree, agent)))).items():
        lines = {line for line in split(decode(data)) if not gone.isdisjoint(fact_keys(line))}
        if lines:
            edits[path] = encode(without_lines(decode(data), lines)) or None
    return edits


def spade(workspace: Workspace, scope: Scope, now: float) -> Spade:
    """What a decision of this moment buries with.

    Args:
        now: epoch seconds.

    Raises:
        RepositoryError: the salt cannot be kept.
    """
    return Spade(salt(workspace, scope), datetime.fromtimestamp(now, UTC).date().isoformat())


def salt(workspace: Workspace, scope: Scope) -> str:
    """32 hexadecimal digits from the configuration of the scope's repository, made where there are none.

    Raises:
        RepositoryError: the configuration cannot be written.
    """
    where = scope.repo.git_dir
    known = config_get(workspace.git, None, KEY, scope="local", git_dir=where) or ""
    if re.fullmatch(r"[0-9a-f]{32}", known):
        return known
    made = secrets.token_hex(16)
    config_set(workspace.git, None, KEY, made, git_dir=where)
    return made
