"""Promotions that a dream proposes, kept beside suggestions in the review ref: `promotions/<id>.json`.

    {"version": 1, "id": "p-1a2b3c", "scope": "local", "agent": "main", "file": "no-mocks.md", "recalls": 7,
     "created": "2026-11-20T10:00:00Z", "rejected": null | "why"}

One that was turned down stays there, so that it is not proposed again. A file of another form is passed
over.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from typing import Any

from gitmem.core.names import is_agent_folder, is_memory_file
from gitmem.core.trailers import Provenance
from gitmem.store.commits import Tip, Write, Written, commit
from gitmem.store.parked import review_ref
from gitmem.store.repository import Signature
from gitmem.store.trees import list_files
from gitmem.store.workspace import SCOPES, Workspace
from gitmem.values import dataclass

FOLDER = "promotions"
VERSION = 1
AT_ONCE = 3
"""Proposals that wait at a time: each asks for a change of what every agent reads."""

RECALLED_OFTEN = 5
"""Different questions, of the last 200 recalls, that a memory was shown for."""

TYPES = frozenset({"feedback", "project"})

_ID = re.compile(r"p-[0-9a-f]{6}")
_WHY_CHARS = 400


@dataclass(frozen=True)
class Proposal:
    """One memory that a dream would have as a rule.

    Attributes:
        id: `p-` and 6 hex digits of where it stands.
        file: where it is hot, inside the agent's folder.
        recalls: different questions that it was shown for.
        created: ISO 8601, UTC.
        rejected: why a person turned it down; None while it waits.
    """

    id: str
    scope: str
    agent: str
    file: str
    recalls: int
    created: str
    rejected: str | None = None


def proposal(scope: str, agent: str, file: str, recalls: int, created: str) -> Proposal:
    """Makes a proposal with the id that its memory gives."""
    digest = hashlib.sha256(f"{scope}/{agent}/{file}".encode("utf-8", "surrogateescape")).hexdigest()
    return Proposal(f"p-{digest[:6]}", scope, agent, file, recalls, created)


def proposals(workspace: Workspace) -> tuple[Proposal, ...]:
    """All that were ever made and not accepted, by when they were."""
    tip = workspace.private.ref(review_ref(workspace))
    if tip is None:
        return ()
    repo = workspace.private
    found = []
    for path, oid in list_files(repo, repo.commit(tip).tree, FOLDER).items():
        one = from_bytes(repo.blob(oid))
        if one is not None and path == _path(one.id):
            found.append(one)
    return tuple(sorted(found, key=lambda one: (one.created, one.id)))


def put(workspace: Workspace, some: Iterable[Proposal], who: Signature, subject: str) -> Written | None:
    """Writes proposals, over those of the same id."""
    edits: dict[str, bytes | None] = {_path(one.id): to_bytes(one) for one in some}
    return _write(workspace, edits, who, subject, Provenance("add", "dream"))


def settle(workspace: Workspace, id: str, who: Signature) -> Written | None:
    """Takes a proposal away that was accepted, or is moot."""
    return _write(workspace, {_path(id): None}, who, f"Settle {id}", Provenance("delete", "human"))


def to_bytes(one: Proposal) -> bytes:
    """The proposal's file: JSON with keys in a fixed order."""
    data = {
        "version": VERSION,
        "id": one.id,
        "scope": one.scope,
        "agent": one.agent,
        "file": one.file,
        "recalls": one.recalls,
        "created": one.created,
        "rejected": one.rejected,
    }
    return (json.dumps(data, indent=1) + "\n").encode("ascii")


def from_bytes(data: bytes) -> Proposal | None:
    """Reads a proposal's file, which nobody vouches for; None where it is not of the form."""
    try:
        value: Any = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or value.get("version") != VERSION:
        return None
    words = [value.get(key) for key in ("id", "scope", "agent", "file", "created")]
    recalls, rejected = value.get("recalls"), value.get("rejected")
    if not all(isinstance(word, str) and len(word) < 1_024 for word in words):
        return None
    if not isinstance(recalls, int) or not isinstance(rejected, str | None):
        return None
    id, scope, agent, file, created = map(str, words)
    if (
        not _ID.fullmatch(id)
        or scope not in SCOPES
        or not is_agent_folder(agent)
        or not is_memory_file(file)
    ):
        return None
    return Proposal(id, scope, agent, file, recalls, created, rejected and rejected[:_WHY_CHARS])


def _write(
    workspace: Workspace,
    edits: dict[str, bytes | None],
    who: Signature,
    subject: str,
    told: Provenance,
) -> Written | None:
    repo = workspace.private

    def plan(tip: Tip) -> Write | None:
        there = list_files(repo, tip.tree, FOLDER)
        wanted = {path: data for path, data in edits.items() if data is not None or path in there}
        return Write(wanted, subject, told) if wanted else None

    return commit(repo, review_ref(workspace), plan, who)


def _path(id: str) -> str:
    return f"{FOLDER}/{id}.json"
