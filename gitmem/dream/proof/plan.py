"""A dream before it is made: the proposals of an engine, judged like the commits that they would be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from gitmem.core.account import is_memory, lines_named, paths_named
from gitmem.core.errors import CheckFailed
from gitmem.core.merge import Files, only
from gitmem.dream.proof.failure import Failure
from gitmem.dream.proof.ground import Ground, Step
from gitmem.dream.proof.listed import listed
from gitmem.dream.proof.prove import prove
from gitmem.engines.engine import DreamChange

if TYPE_CHECKING:
    from gitmem.dream.proof.findable import Recalled

_HINT = "No branch was made and memory is as it was."


def prove_plan(
    files: Files,
    changes: Sequence[DreamChange],
    *,
    allowance: int | None = None,
    said: Mapping[str, datetime] | None = None,
    allow: frozenset[str] = frozenset(),
    asked: Sequence[Recalled] = (),
) -> tuple[Failure, ...]:
    """Judges what an engine proposes.

    Args:
        files: the tree that it starts from.
        changes: proposals, in the order in which they apply.
        allowance: how many claims may be dropped or superseded; None for any number.
        said: claim (`<file>#<12 hex>`) to when it was first said.
        allow: fingerprints of secrets that a person accepted.
        asked: the last recalls that showed memories of the scope.
    """
    state = dict(files)
    steps: list[Step] = []
    first: dict[str, bytes] = {}
    for change in changes:
        touched = set(filter(is_memory, {*change.edits, *paths_named(change.fates)}))
        before = only(state, touched)
        change.apply_to(state)
        first |= only(files, touched)
        foreign = tuple(sorted(path for path in change.edits if not is_memory(path)))
        after = only(state, touched)
        told = listed(change.fates, files.get)
        heard = lines_named(change.fates, files.get)
        steps.append(Step(before, after, change.fates, foreign=foreign, listed=told, lines=heard))
    ground = Ground(allowance, allow=allow, said=said or {}, standing=frozenset(files))
    failures = prove(first, steps, ground)
    if failures or not changes:
        return failures
    from gitmem.dream.proof.findable import lost_to_search

    return lost_to_search(files, state, [fate for change in changes for fate in change.fates], asked)


def refuse(failures: Sequence[Failure], what: str = "The dream", hint: str = _HINT) -> None:
    """Raises where anything could not be proved.

    Args:
        what: names the dream.

    Raises:
        CheckFailed: it names the first failure and how many more there are.
    """
    if failures:
        more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
        raise CheckFailed(f"{what} cannot be proved: {failures[0]}{more}", hint)
