"""Which memories were taught on code that the work tree does not have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing
from typing import TYPE_CHECKING

from gitmem.core.text import one_line
from gitmem.ledger.files import COMMITS
from gitmem.ledger.workspace import BOUND, Workspace
from gitmem.search.ancestry import Ancestry
from gitmem.search.gate import LeftOut, Selection
from gitmem.search.query import Candidate

if TYPE_CHECKING:
    from gitmem.ledger.lookup import ListedMemory
    from gitmem.search.query import RecallSource

LISTED_SECONDS = 3.0
"""What a person who lists memories may wait for the code's history."""

WARM_SECONDS = 30.0
"""What the worker may take, so that no prompt has to wait."""

BRANCH_CHARS = 60
SHORT = 10


def divide(
    workspace: Workspace,
    held: Mapping[str, RecallSource],
    selection: Selection,
    seconds: float,
) -> tuple[Selection, dict[tuple[str, str], str]]:
    """Takes from a choice what was taught on code that HEAD does not have.

    Args:
        held: full ref name to where it is from.
        seconds: for all looks at the code's history.

    Returns:
        The choice, and what is to be said of some of it, by ref and path.
    """
    codes = _codes(held, selection.chosen)
    away = _ancestry(workspace, seconds).elsewhere(codes.values())
    chosen: list[Candidate] = []
    left: list[LeftOut] = []
    for one in selection.chosen:
        code = codes.get((one.ref, one.path), "")
        if code in away:
            left.append(LeftOut(one, "unmerged", one_line(away[code], BRANCH_CHARS)))
        else:
            chosen.append(one)
    return Selection(tuple(chosen), (*left, *selection.left)), _reverted(workspace, codes)


def unmerged_memories(
    workspace: Workspace, listed: Iterable[ListedMemory], seconds: float = LISTED_SECONDS
) -> dict[ListedMemory, str]:
    """Of some memories those that were taught on code that HEAD does not have, with the branch that has.

    Args:
        seconds: for all looks at the code's history.
    """
    bound = [one for one in listed if one.code and one.type in BOUND]
    if not bound:
        return {}
    away = _ancestry(workspace, seconds).elsewhere(one.code for one in bound)
    return {one: one_line(away[one.code], BRANCH_CHARS) for one in bound if one.code in away}


def warm(workspace: Workspace, codes: Iterable[str]) -> None:
    """Finds out about commits of the code ahead of the prompts."""
    _ancestry(workspace, WARM_SECONDS).elsewhere(codes)


def _ancestry(workspace: Workspace, seconds: float) -> Ancestry:
    return Ancestry(workspace.git, workspace.top, workspace.layout.common_dir, workspace.state, seconds)


def _reverted(workspace: Workspace, codes: Mapping[tuple[str, str], str]) -> dict[tuple[str, str], str]:
    """What to say of memories whose commit was taken back, as far as the index of commits knows."""
    if not codes or not (workspace.state / COMMITS).is_file():
        return {}
    from gitmem.search.commits import CommitIndex  # a new clone has no index of its commits yet

    index = CommitIndex.open(workspace.state)
    if index is None:
        return {}
    with closing(index):
        reverts = {code: index.reverts(code) for code in set(codes.values())}
    return {
        place: f"the commit that it was taught on was reverted since by {reverts[code][0][:SHORT]}"
        for place, code in codes.items()
        if reverts[code]
    }


def _codes(held: Mapping[str, RecallSource], chosen: Iterable[Candidate]) -> dict[tuple[str, str], str]:
    """The code that memories were taught on, by ref and path; of those that it matters for."""
    files: dict[str, dict[str, str]] = {}
    for one in chosen:
        if one.type in BOUND and one.kind == "memory" and not one.commit:
            files.setdefault(one.ref, {})[one.path] = one.blob
    found = {}
    for ref, blobs in files.items():
        source = held[ref]
        if tip := source.catalog.tip(ref):
            for path, (_, code) in source.catalog.lessons(source.repo, ref, tip, blobs).items():
                if code:
                    found[ref, path] = code
    return found
