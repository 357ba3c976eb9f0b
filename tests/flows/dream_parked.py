"""Dreams made without an engine: the branch that a dream leaves, change by change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dream_ground import Ground

from gitmem.core.account import claims_at, reference
from gitmem.core.trailers import Fate, Provenance, format_message
from gitmem.dream.review import Dream, find_dream
from gitmem.git.refs import move_ref
from gitmem.git.repository import Signature
from gitmem.git.trees import write_tree
from gitmem.ledger.proposals import dreams_in

NIGHT = Signature("Ann", "ann@example.com", 1_794_990_000)
DREAM_ID = "d-0123ab"


@dataclass(frozen=True)
class Made:
    """One change of a dream: edits, what it says of claims, subject and reason, and whom it listened to."""

    edits: Mapping[str, str | None]
    fates: Sequence[Fate] = ()
    subject: str = "Change it"
    reason: str = "It reads better."
    session: str = ""


def ref_of(path: str, text: str, claim: str) -> str:
    """`<file>#<12 hex>` of the claim of a memory that begins so."""
    (found,) = (one for one in claims_at(path, text.encode()) if one.text.startswith(claim))
    return reference(path, found)


def once_said(
    files: Mapping[str, str], name: str, again: str, first: str, reason: str = "It says the same."
) -> Made:
    """Merges a claim of a memory into one of it that says the same.

    Args:
        again: the claim that goes, whole.
        first: how the one begins that stays.
    """
    path = f"main/{name}.md"
    after = files[path].replace(f"\n\n{again}", "")
    fate = Fate("merged", ref_of(path, files[path], again), ref_of(path, after, first), reason)
    return Made({path: after}, [fate], f"Say it once in {name}")


def park(ground: Ground, changes: Sequence[Made], scope: str = "project", id: str = DREAM_ID) -> Dream:
    """Parks a dream that starts from the tip of the memory ref."""
    place = ground.scope(scope)
    repo = place.repo
    at = repo.ref(place.ref)
    assert at is not None
    tree = repo.commit(at).tree
    for change in changes:
        edits = {path: None if text is None else text.encode() for path, text in change.edits.items()}
        tree = write_tree(repo, tree, edits)
        told = Provenance(
            op="dream", writer="dream", engine="offline", session=change.session, claims=tuple(change.fates)
        )
        at = repo.add_commit(tree, (at,), NIGHT, NIGHT, format_message(change.subject, told, change.reason))
    told = Provenance(op="dream", writer="dream", engine="offline")
    at = repo.add_commit(tree, (at,), NIGHT, NIGHT, format_message("Sum up a dream", told, "1 x merge"))
    move_ref(repo, dreams_in(place).waiting + id, at, None, "test")
    return find_dream(ground.workspace, id)
