"""What is under way between memories and rules: `gitmem/promotions.json`, which can be lost.

`pending` waits for the person's commit; `standing` is what the last look at HEAD found, so that a rule that
goes, and a memory that somebody brought back on purpose, are told from those that were never there. Without
the file, HEAD is read anew. The start of a session reads it: it loads next to nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, field
from pathlib import Path

from gitmem.ledger.files import read_json, replace_file
from gitmem.ledger.workspace import Workspace
from gitmem.values import dataclass

RECORD = "promotions.json"
RECORD_BYTES = 1024 * 1024
VERSION = 2
MOST = 2_000


@dataclass(frozen=True)
class UncommittedRule:
    """A rule that was written into a file and is not committed yet.

    Attributes:
        file: from the top of the work tree.
        worktree: its top.
    """

    file: str
    worktree: str


@dataclass(frozen=True)
class HeadRule:
    """A rule that HEAD had when the worker last looked.

    Attributes:
        commit: the code commit that brought it.
        memory: `scope/agent/file` of the memory, as it is called now.
        here: whether the newest HEAD that was looked at had it, and the memory points to it; else it stands
            on another branch, or somebody brought the memory back on purpose.
    """

    file: str
    commit: str
    memory: str
    here: bool = True


@dataclass(frozen=True)
class RuleState:
    """All that is noted, keyed by a rule's address.

    Attributes:
        known: whether anything was, that can be read.
    """

    pending: dict[str, UncommittedRule] = field(default_factory=dict)
    standing: dict[str, HeadRule] = field(default_factory=dict)
    known: bool = True

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
                {address: UncommittedRule(**one) for address, one in value["pending"].items()},
                {address: HeadRule(**one) for address, one in value["standing"].items()},
            )
    return RuleState(known=False)


def ruled_files(folder: Path, scope: str, agent: str) -> frozenset[str]:
    """Files of an agent whose rule stood in HEAD at the last look."""
    prefix = f"{scope}/{agent}/"
    standing = read_state(folder).standing.values()
    paths = [one.memory for one in standing if one.here and one.memory.startswith(prefix)]
    return frozenset(path.removeprefix(prefix) for path in paths)


@contextmanager
def edit_state(workspace: Workspace) -> Iterator[RuleState]:
    """Gives the state to be changed, and writes it where it was; one process at a time.

    Raises:
        RepositoryError: another one takes too long.
        OSError: it cannot be written.
    """
    from gitmem.git.locks import writer_lock  # a start only reads

    with writer_lock(workspace.state, "promotions", timeout=30.0):
        state = read_state(workspace.state)
        before, path = _as_bytes(state), workspace.state / RECORD
        yield state
        after = _as_bytes(state)
        if after != before or not path.exists():
            replace_file(path, after, 0o600)


def _as_bytes(state: RuleState) -> bytes:
    value = {
        "version": VERSION,
        "pending": {address: asdict(one) for address, one in state.pending.items()},
        "standing": {address: asdict(one) for address, one in sorted(state.standing.items())[:MOST]},
    }
    return (json.dumps(value, indent=1) + "\n").encode("ascii")
