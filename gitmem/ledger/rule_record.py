"""What is under way between memories and rules: `gitmem/promotions.json`, which can be lost.

`pending` waits for the person's commit; `leaving` was taken out and waits for it, too; `standing` is what
the last look at HEAD found, so that a rule that goes, and a memory that somebody brought back on purpose,
are told from those that were never there. Without the file, HEAD is read anew. The start of a session reads
it: it loads next to nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, field
from pathlib import Path
from typing import Any

from gitmem.ledger.files import read_json, replace_file
from gitmem.ledger.workspace import Workspace
from gitmem.values import dataclass

RECORD = "promotions.json"
RECORD_BYTES = 1024 * 1024
VERSION = 1
MOST = 2_000


@dataclass(frozen=True)
class UncommittedRule:
    """A rule that was written into a file, or taken out of it, and is not committed yet.

    Attributes:
        file: from the top of the work tree.
        worktree: its top.
        claims: ids of the claims that the rule takes over; none of one that was taken out.
    """

    file: str
    worktree: str
    claims: tuple[str, ...] = ()


@dataclass(frozen=True)
class HeadRule:
    """A rule that HEAD had when the worker last looked.

    Attributes:
        commit: the code commit that brought it.
        memory: `scope/agent/file` of the memory, as it is called now.
        here: whether the newest HEAD that was looked at had it, and the memory points to it; else it stands
            on another branch, or somebody brought the memory back on purpose.
        claims: ids of the claims that the rule took over: what the memory was taught since is recalled.
    """

    file: str
    commit: str
    memory: str
    here: bool = True
    claims: tuple[str, ...] = ()


@dataclass(frozen=True)
class RuleState:
    """All that is noted, keyed by a rule's address.

    Attributes:
        seen: work tree to the commit that it stood on at the last look.
        unknown: addresses of rules that name no memory here.
    """

    pending: dict[str, UncommittedRule] = field(default_factory=dict)
    leaving: dict[str, UncommittedRule] = field(default_factory=dict)
    standing: dict[str, HeadRule] = field(default_factory=dict)
    seen: dict[str, str] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)

    @property
    def files(self) -> frozenset[str]:
        """Files that have a rule, or are to have one."""
        return frozenset(one.file for some in (self.pending, self.standing) for one in some.values())

    @property
    def by_memory(self) -> dict[str, HeadRule]:
        """Memories (`scope/agent/file stem`) to the rule that the last look found."""
        return {one.memory.removesuffix(".md"): one for one in self.standing.values() if one.here}


def read_state(folder: Path) -> RuleState:
    """What was noted; nothing of it where the file is missing or damaged: one small file is read.

    Args:
        folder: `<common git dir>/gitmem`.
    """
    value = read_json(folder / RECORD, RECORD_BYTES)
    with suppress(LookupError, TypeError, ValueError, AttributeError):
        if value["version"] == VERSION:
            return RuleState(
                {address: UncommittedRule(**_fields(one)) for address, one in value["pending"].items()},
                {address: UncommittedRule(**_fields(one)) for address, one in value["leaving"].items()},
                {address: HeadRule(**_fields(one)) for address, one in value["standing"].items()},
                dict(value["seen"]),
                set(value["unknown"]),
            )
    return RuleState()


def _fields(value: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a rule, from decoded JSON."""
    return {**value, "claims": tuple(value["claims"])}


def ruled_files(folder: Path, scope: str, agent: str) -> frozenset[str]:
    """Files of an agent whose rule stood in HEAD at the last look."""
    prefix = f"{scope}/{agent}/"
    standing = read_state(folder).standing.values()
    paths = [one.memory for one in standing if one.here and one.memory.startswith(prefix)]
    return frozenset(path.removeprefix(prefix) for path in paths)


@contextmanager
def changing(workspace: Workspace) -> Iterator[RuleState]:
    """Gives the state to be changed, and writes it where it was; one process at a time.

    Raises:
        RepositoryError: another one takes too long.
        OSError: it cannot be written.
    """
    from gitmem.git.locks import writer_lock  # a start only reads

    with writer_lock(workspace.state, "promotions", timeout=30.0):
        state = read_state(workspace.state)
        before = _as_bytes(state)
        yield state
        after = _as_bytes(state)
        if after != before:
            replace_file(workspace.state / RECORD, after, 0o600)


def _as_bytes(state: RuleState) -> bytes:
    value = {
        "version": VERSION,
        "pending": {address: asdict(one) for address, one in state.pending.items()},
        "leaving": {address: asdict(one) for address, one in state.leaving.items()},
        "standing": {address: asdict(one) for address, one in sorted(state.standing.items())[:MOST]},
        "seen": state.seen,
        "unknown": sorted(state.unknown)[:MOST],
    }
    return (json.dumps(value, indent=1) + "\n").encode("ascii")
