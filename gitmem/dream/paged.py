"""What a dream says of claims, where their memories were paged out or brought back since it was dreamt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gitmem.core.account import claims_at, path_of, reference
from gitmem.core.merge import Files
from gitmem.core.trailers import Fate
from gitmem.store.log import homes


def where_they_stand(fates: Iterable[Fate], before: Files, after: Files) -> tuple[Fate, ...]:
    """Fates that name claims where they are; what stands in neither of a memory's places stays as it is.

    Args:
        before, after: the trees from which and to which they tell.
    """
    return tuple(
        replace(fate, source=_there(fate.source, before), target=_there(fate.target, after))
        for fate in fates
    )


def _there(ref: str, files: Files) -> str:
    path, mark = path_of(ref), ref.rpartition("#")[2]
    if not ref or path in files:
        return ref
    for home in homes(path):
        for claim in claims_at(home, files[home]) if home in files else ():
            if claim.short == mark:
                return reference(home, claim)
    return ref
