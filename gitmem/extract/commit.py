"""One change as one commit: made once, whatever interrupts it, and never against a tombstone."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from gitmem.core import tombstone
from gitmem.core.errors import RepositoryError
from gitmem.core.text import decode, encode
from gitmem.core.trailers import Provenance
from gitmem.core.trailers import parse as parse_trailers
from gitmem.extract.carry import carry
from gitmem.extract.edits import claim_keys
from gitmem.extract.plan import Placed
from gitmem.rules.screen import refuse_secrets
from gitmem.store.commits import Tip, Write, Written, commit
from gitmem.store.repository import MissingObject, Repository, Signature
from gitmem.store.trees import list_files, read_file
from gitmem.store.workspace import Scope

LOOKED_BACK = 200
"""Commits in which a job is looked for where the tip that it was planned on is no longer there."""


def store_change(
    scope: Scope,
    placed: Placed,
    author: Signature,
    provenance: Provenance,
    *,
    base: str = "",
    lift: bool = False,
    allow: frozenset[str] | None = None,
) -> Written | None:
    """Commits one change with its index line; the op of the commit is what the change came to.

    Args:
        provenance: its job, where it has one, is not stored twice.
        base: tip that the change was planned on.
        lift: a person decided: what was forgotten or rejected comes back.
        allow: fingerprints of accepted secrets; None where the plan was judged just now.

    Returns:
        The commit, or None where it was made before or nothing is left to do.
    """
    change = placed.change

    def plan(tip: Tip) -> Write | None:
        if provenance.job and provenance.job in _jobs(scope.repo, tip.commit, base):
            return None
        paths = list_files(scope.repo, tip.tree, placed.agent)
        names = {path.removeprefix(f"{placed.agent}/") for path in paths}

        def read(name: str) -> bytes | None:
            path = f"{placed.agent}/{name}"
            return read_file(scope.repo, tip.tree, path) if path in paths else None

        buried = decode(read(tombstone.FILE) or b"")
        keys = claim_keys(change)
        if not lift and any(tombstone.matches(tombstone.parse(buried), key) for key in keys):
            return None
        carried = carry(change, names, read)
        if carried is None:
            return None
        edits = {f"{placed.agent}/{path}": data for path, data in carried.edits.items()}
        lifted = tombstone.without_keys(buried, keys) if lift and carried.op != "delete" else buried
        if lifted != buried:
            edits[f"{placed.agent}/{tombstone.FILE}"] = encode(lifted) or None
        if allow is not None:
            known = {path: read(path.partition("/")[2]) for path in edits}
            refuse_secrets({path: data for path, data in known.items() if data is not None}, edits, allow)
        subject = f"Forget {change.name}" if carried.op == "delete" else change.description or change.name
        return Write(edits, subject, replace(provenance, op=carried.op, claims=carried.fates))

    return commit(scope.repo, scope.ref, plan, author)


def _jobs(repo: Repository, tip: str, base: str) -> frozenset[str]:
    """Jobs that a ref holds since a commit, or among its newest commits where it does not hold that."""
    limit = LOOKED_BACK
    with suppress(MissingObject, RepositoryError):
        if base and repo.is_ancestor(base, tip):
            limit = -1
    found = set()
    try:
        for number, made in enumerate(repo.history(tip)):
            if made.oid == base or number == limit:
                break
            found.add(parse_trailers(made.message).job)
    except MissingObject:
        pass
    return frozenset(found)
