"""What can be proved comes first, and a model is given the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gitmem.engines.engine import ConsolidateInput, Consolidation, DreamChange, Tell
from gitmem.engines.offline import OfflineEngine


def proved_first(given: ConsolidateInput, tell: Tell) -> tuple[Consolidation, ConsolidateInput]:
    """Lets the offline engine work. What to make of daily logs is left to the model.

    Args:
        tell: is told of each phase.

    Returns:
        what it proposes, and what a model is given when that stands.
    """
    proved = OfflineEngine().consolidate(replace(given, lines={}), tell)
    return proved, _after(given, proved.changes)


def _after(given: ConsolidateInput, changes: tuple[DreamChange, ...]) -> ConsolidateInput:
    """What a model is given once the proved changes stand."""
    files = dict(given.files)
    went: dict[str, str] = {}
    spent = 0
    for change in changes:
        change.apply_to(files)
        went |= {fate.source: fate.target for fate in change.fates}
        # Where a link leads is no part of what a claim says.
        spent += change.kind != "link" and sum(
            fate.kind in ("superseded", "dropped") for fate in change.fates
        )
    left = None if given.allowance is None else max(0, given.allowance - spent)
    return replace(
        given,
        files=files,
        scope=given.scope or "project",
        observed=tuple(
            replace(one, claims=tuple(filter(None, (_followed(claim, went) for claim in one.claims))))
            for one in given.observed
        ),
        allowance=left,
        judge=lambda more: given.judge((*changes, *more)),
    )


def _followed(claim: str, went: Mapping[str, str]) -> str:
    """Where a claim is after some changes in a row; empty where it was dropped."""
    seen = {claim}
    while claim in went:
        claim = went[claim]
        if claim in seen:
            break
        seen.add(claim)
    return claim
