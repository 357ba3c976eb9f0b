"""What a dream needs besides the tree: when the claims that speak of "yesterday" were first said."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone

from gitmem.memory.account import claims_at, is_memory, reference
from gitmem.memory.dates import relative_dates
from gitmem.memory.merge import agent_folder
from gitmem.memory.trailers import parse
from gitmem.store.repository import Commit, MissingObject, Repository, Signature
from gitmem.store.trees import list_files

_TEACHERS = frozenset({"agent", "extract", "human"})
_TAUGHT = frozenset({"add", "update", ""})
"""Operations whose commit is made when something is said: an adopted file is older than its commit."""

Wanted = dict[str, set[str]]
"""Path to the normal forms that are looked for there."""


def said_when(repo: Repository, tip: str, files: Mapping[str, bytes]) -> dict[str, datetime]:
    """Finds when claims with a relative date came into memory.

    Args:
        tip: commit of the memory ref.
        files: its tree.

    Returns:
        `<file>#<12 hex>` to author time of the commit that brought the claim, in its author's time zone.
        A claim that was adopted, restored or merged in from elsewhere was said nobody knows when, and
        is left out.
    """
    refs: dict[tuple[str, str], str] = {}
    wanted: Wanted = {}
    for path, data in files.items():
        for claim in claims_at(path, data) if is_memory(path) else ():
            if relative_dates(claim.text):
                refs[path, claim.key] = reference(path, claim)
                wanted.setdefault(path, set()).add(claim.key)
    found: dict[str, datetime] = {}
    for (path, key), commit in _introductions(repo, tip, wanted).items():
        provenance = parse(commit.message)
        if provenance.writer in _TEACHERS and provenance.op in _TAUGHT:
            found[refs[path, key]] = _moment(commit.author)
    return found


def _introductions(repo: Repository, tip: str, wanted: Wanted) -> dict[tuple[str, str], Commit]:
    """For each claim, the commit that has it while no parent of it does, under any path of the agent."""
    # What is looked for at a commit: (path there, key) to the places it has at the tip.
    pending: dict[str, dict[tuple[str, str], set[tuple[str, str]]]] = {
        tip: {(path, key): {(path, key)} for path, keys in wanted.items() for key in keys}
    }
    found: dict[tuple[str, str], Commit] = {}
    if not wanted:
        return found
    try:
        for commit in repo.history(tip):
            here = pending.pop(commit.oid, {})
            if here:
                _step(repo, commit, here, pending, found)
            if not pending:
                break
    except MissingObject:
        return found
    return found


def _step(
    repo: Repository,
    commit: Commit,
    here: dict[tuple[str, str], set[tuple[str, str]]],
    pending: dict[str, dict[tuple[str, str], set[tuple[str, str]]]],
    found: dict[tuple[str, str], Commit],
) -> None:
    """Hands what is looked for on to the parents that have it."""
    mine = list_files(repo, commit.tree)
    parents = [(oid, list_files(repo, repo.commit(oid).tree)) for oid in commit.parents]
    for (path, key), places in here.items():
        for oid, files in parents:
            known = _where(repo, files, path, key, mine.get(path))
            if known:
                pending.setdefault(oid, {}).setdefault((known, key), set()).update(places)
                break
        else:
            found |= dict.fromkeys(places, commit)


def _where(repo: Repository, files: Mapping[str, str], path: str, key: str, blob: str | None) -> str:
    """The path under which a tree has a claim: the same one, else another of the agent; empty for none."""
    if blob is not None and files.get(path) == blob:
        return path
    if path in files and _has(repo, path, files[path], key):
        return path
    agent = agent_folder(path)
    others = (other for other in sorted(files) if other != path and agent_folder(other) == agent)
    return next((p for p in others if is_memory(p) and _has(repo, p, files[p], key)), "")


def _has(repo: Repository, path: str, blob: str, key: str) -> bool:
    return any(claim.key == key for claim in claims_at(path, repo.blob(blob)))


def _moment(who: Signature) -> datetime:
    zone = timezone(timedelta(minutes=who.offset)) if who.offset else UTC
    return datetime.fromtimestamp(who.time, zone)
