"""Bringing memories back as they were, as one more commit on the tip; nothing is rewritten."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from gitmem.core import index, tombstone
from gitmem.core.memory import parse
from gitmem.core.merge import kind
from gitmem.core.names import archived_path, hot_path
from gitmem.core.text import decode, encode
from gitmem.core.trailers import Provenance
from gitmem.rules.paths import check_path
from gitmem.rules.screen import refuse_secrets
from gitmem.store.commits import Tip, Write, Written, commit
from gitmem.store.indexes import with_indexes
from gitmem.store.repository import Repository, Signature
from gitmem.store.trees import changed_files, read_file, read_paths
from gitmem.store.workspace import Scope


@dataclass(frozen=True)
class Restored:
    """What a restore would do, or did.

    Attributes:
        edits: path in the tree to content, None for what came since then.
        forgotten: paths that stay away because a person forgot them.
    """

    edits: dict[str, bytes | None]
    forgotten: tuple[str, ...] = ()


def plan_restore(
    repo: Repository, tip: Tip, then: str, wanted: Collection[str] | None = None, agent: str = ""
) -> Restored:
    """Compares the tip with a past state and says what brings that back.

    Args:
        then: the commit to go back to.
        wanted: paths from the root of the memories to bring back, with their index lines, from the archive
            too; None for all that agents' folders hold, so that what came since then goes.
        agent: only this agent's folder; empty for every agent's.

    Returns:
        The edits. A single memory that was forgotten comes back, and its tombstones are lifted: a person
        asked for it by name. A whole state does not bring back what was forgotten.
    """
    old = repo.commit(then).tree
    if wanted is None:
        changed = {
            path
            for path in changed_files(repo, tip.tree, old)
            if "/" in path and agent in ("", path.partition("/")[0]) and check_path(path) is None
        }
        return _restore_all(repo, tip, old, changed)
    edits = _restored(repo, tip, old, {path for path in wanted if check_path(path) is None})
    for folder in {path.partition("/")[0] for path in edits}:
        mine = {path: data for path, data in edits.items() if path.startswith(f"{folder}/")}
        at = f"{folder}/{tombstone.FILE}"
        stones = decode(read_file(repo, tip.tree, at) or b"")
        _put(edits, at, stones, tombstone.without_keys(stones, _keys(mine)))
    edits = with_indexes(repo, tip.tree, edits)
    return Restored(edits)


def restore_as_of(
    scope: Scope,
    then: str,
    author: Signature,
    subject: str,
    wanted: Collection[str] | None = None,
    agent: str = "",
    code_commit: str = "",
    allow: frozenset[str] = frozenset(),
) -> Written | None:
    """Brings a past state back as one commit on the tip (arguments as for `plan_restore`).

    Args:
        allow: fingerprints of accepted secrets.

    Returns:
        The commit, or None where all is as it was then.

    Raises:
        CheckFailed: it would bring a secret back.
    """
    provenance = Provenance(op="restore", writer="human", code_commit=code_commit)

    def plan(tip: Tip) -> Write | None:
        edits = plan_restore(scope.repo, tip, then, wanted, agent).edits
        # A past state may hold what others pushed, or what was allowed then.
        refuse_secrets(read_paths(scope.repo, tip.tree, set(edits)), edits, allow)
        return Write(edits, subject, provenance, f"As of {then[:12]}.") if edits else None

    return commit(scope.repo, scope.ref, plan, author)


def _restore_all(repo: Repository, tip: Tip, old: str, changed: set[str]) -> Restored:
    paths = {path for path in changed if kind(path) in ("memory", "index", "log")}
    before = read_paths(repo, old, paths)
    edits: dict[str, bytes | None] = {path: before.get(path) for path in paths}
    forgotten: list[str] = []
    for agent in {path.partition("/")[0] for path in paths}:
        at = f"{agent}/{tombstone.FILE}"
        stones = tombstone.parse(decode(read_file(repo, tip.tree, at) or b""))
        for path in sorted(path for path in edits if path.startswith(f"{agent}/")):
            data = edits[path]
            if data is None or kind(path) != "memory":
                continue
            claims = parse(path, data).parsed.claims
            if claims and all(tombstone.matches(stones, claim.key) for claim in claims):
                forgotten.append(path)
    for path in forgotten:
        del edits[path]
        at = f"{path.partition('/')[0]}/{index.INDEX}"
        listed = edits.get(at)
        if listed is not None:
            edits[at] = encode(index.without_entry(decode(listed), path.partition("/")[2]))
    return Restored(edits, tuple(forgotten))


def _restored(repo: Repository, tip: Tip, old: str, wanted: set[str]) -> dict[str, bytes | None]:
    """Edits that put memories as they were where the agent sees them."""
    homes = {hot_path(path) or path for path in wanted}
    places = {home: place for home in homes if (place := archived_path(home))}
    paths = homes | set(places.values())
    before, now = read_paths(repo, old, paths), read_paths(repo, tip.tree, paths)
    edits = {home: before.get(home, before.get(places.get(home, ""))) for home in homes}
    edits |= dict.fromkeys(places.values())
    return {path: data for path, data in edits.items() if now.get(path) != data}


def _keys(edits: dict[str, bytes | None]) -> list[str]:
    return [
        claim.key for path, data in edits.items() if data is not None for claim in parse(path, data).claims
    ]


def _put(edits: dict[str, bytes | None], path: str, old: str, new: str) -> None:
    if new != old:
        edits[path] = encode(new) if new else None
