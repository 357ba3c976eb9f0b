"""What is under way between memories and rules: `gitmem/promotions.json`, which can be lost.

`pending` waits for the person's commit; `leaving` was taken out and waits for it, too; `standing` is what
the last look at HEAD found, so that a rule that goes, and a memory that somebody brought back on purpose,
are told from those that were never there. Without the file, HEAD is read anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from typing import Any

from gitmem.flows.promotion.noted import FILE, LARGEST, rows, texts
from gitmem.git.locks import writer_lock
from gitmem.ledger.files import read_json, replace_file
from gitmem.ledger.workspace import Workspace
from gitmem.values import dataclass

VERSION = 1
MOST = 2_000


@dataclass(frozen=True)
class Waiting:
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
class Standing:
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
class State:
    """All of it, keyed by a rule's address.

    Attributes:
        seen: work tree to the commit that it stood on at the last look.
        unknown: addresses of rules that name no memory here.
    """

    pending: dict[str, Waiting] = field(default_factory=dict)
    leaving: dict[str, Waiting] = field(default_factory=dict)
    standing: dict[str, Standing] = field(default_factory=dict)
    seen: dict[str, str] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)


def read_state(workspace: Workspace) -> State:
    """What was noted; nothing of it where the file is missing or damaged."""
    value = read_json(workspace.state / FILE, LARGEST)
    if not isinstance(value, dict) or value.get("version") != VERSION:
        return State()
    return State(
        _waiting(value.get("pending")),
        _waiting(value.get("leaving")),
        {
            address: Standing(
                one["file"],
                one["commit"],
                one["memory"],
                one.get("here") is True,
                tuple(texts(one.get("claims"))),
            )
            for address, one in rows(value.get("standing"), "file", "commit", "memory")
        },
        _texts(value.get("seen")),
        set(texts(value.get("unknown"))),
    )


def noted_rules(workspace: Workspace) -> dict[str, Standing]:
    """Memories (`scope/agent/file stem`) to the rule that the worker's last look found."""
    standing = read_state(workspace).standing.values()
    return {one.memory.removesuffix(".md"): one for one in standing if one.here}


def rules_under_way(workspace: Workspace) -> tuple[Waiting | Standing, ...]:
    """The rules that memories became or are to become."""
    state = read_state(workspace)
    return (*state.pending.values(), *state.standing.values())


@contextmanager
def changing(workspace: Workspace) -> Iterator[State]:
    """Gives the state to be changed, and writes it where it was; one process at a time.

    Raises:
        RepositoryError: another one takes too long.
        OSError: it cannot be written.
    """
    with writer_lock(workspace.state, "promotions", timeout=30.0):
        state = read_state(workspace)
        before = _as_bytes(state)
        yield state
        after = _as_bytes(state)
        if after != before:
            replace_file(workspace.state / FILE, after, 0o600)


def _as_bytes(state: State) -> bytes:
    def waiting(some: Mapping[str, Waiting]) -> dict[str, Any]:
        return {
            address: {"file": one.file, "worktree": one.worktree, "claims": list(one.claims)}
            for address, one in some.items()
        }

    value = {
        "version": VERSION,
        "pending": waiting(state.pending),
        "leaving": waiting(state.leaving),
        "standing": {
            address: {
                "file": one.file,
                "commit": one.commit,
                "memory": one.memory,
                "here": one.here,
                "claims": list(one.claims),
            }
            for address, one in sorted(state.standing.items())[:MOST]
        },
        "seen": state.seen,
        "unknown": sorted(state.unknown)[:MOST],
    }
    return (json.dumps(value, indent=1) + "\n").encode("ascii")


def _waiting(value: Any) -> dict[str, Waiting]:
    return {
        address: Waiting(one["file"], one["worktree"], tuple(texts(one.get("claims"))))
        for address, one in rows(value, "file", "worktree")
    }


def _texts(value: Any) -> dict[str, str]:
    rows = value.items() if isinstance(value, dict) else ()
    return {key: text for key, text in rows if isinstance(text, str)}
