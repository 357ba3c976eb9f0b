"""The rows of a request: what happens to each claim, why, and who taught it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gitmem.core.account import Proposal, path_of
from gitmem.dream.branch import Dream, DreamCommit
from gitmem.dream.telling import Origins, claim_origins, taught_by, untold
from gitmem.integrations.request_body import Row
from gitmem.store.blame import Origin, origins_of
from gitmem.store.repository import MissingObject, Repository


def dream_rows(dream: Dream) -> tuple[Row, ...]:
    """What a dream asks for, in the order of its changes; what was decided already is not asked."""
    origins = claim_origins(dream)
    return tuple(row for change in dream.open for row in _of_change(change, origins))


def _of_change(change: DreamCommit, origins: Origins) -> Iterator[Row]:
    for story in change.claims:
        fate = story.fate
        target = ""
        if fate.target:
            same = not story.after or story.after == story.before
            target = path_of(fate.target) + ("" if same else f": {story.after}")
        why = fate.reason or change.reason or change.subject
        origin = _first(origins.get(fate.source, ()))
        yield Row(story.before or story.after, fate.kind, target, why, origin)
    for one in untold(change):
        if one.kind != "moved":
            yield _row(one, change.reason or change.subject, change.by or "the dream")


def inbox_rows(repo: Repository, base: str, tip: str, wanted: Iterable[Proposal]) -> tuple[Row, ...]:
    """What an inbox branch asks for.

    Args:
        base: commit of the memory branch that it is compared with.
        tip: the branch's commit.
    """
    asked = tuple(wanted)
    came = _taught(repo, tip, {one: (one.path, one.new.id) for one in asked if one.new})
    gone = {one: (one.source or one.path, one.old.id) for one in asked if one.old and not one.new}
    origins = came | _taught(repo, base, gone)
    rows = []
    for one in asked:
        found = origins.get(one, ())
        why = found[0].told[0].subject if found and found[0].told else ""
        rows.append(_row(one, why, _first(found)))
    return tuple(rows)


def _taught(
    repo: Repository, at: str, claims: dict[Proposal, tuple[str, str]]
) -> dict[Proposal, tuple[Origin, ...]]:
    """Who taught some claims, each a path and a claim's id, that a commit has; those that are known."""
    wanted: dict[str, set[str]] = {}
    for path, id in claims.values():
        wanted.setdefault(path, set()).add(id)
    try:
        found = origins_of(repo, at, wanted)
    except MissingObject:
        return {}
    return {one: found[place] for one, place in claims.items() if place in found}


def _first(origins: tuple[Origin, ...]) -> str:
    return taught_by(origins[0]) if origins else ""


def _row(one: Proposal, why: str, origin: str) -> Row:
    old, new = (claim.text if claim else "" for claim in (one.old, one.new))
    target = {
        "added": one.path,
        "changed": f"{one.path}: {new}",
        "moved": one.path,
        "deleted": "",
    }[one.kind]
    return Row(old or new, one.kind, target, why if one.kind != "deleted" else "", origin)
