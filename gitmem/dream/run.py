"""A dream, from the tip of a memory ref to a parked branch: planned, checked from the trees, made."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from gitmem.dream.branch import REJECTED, dreams_of
from gitmem.dream.gather import said_when
from gitmem.dream.lock import Held
from gitmem.dream.refs import prefix
from gitmem.engines.engine import ConsolidateInput, Consolidation, DreamChange, Engine
from gitmem.errors import CheckFailed
from gitmem.memory.account import account, is_memory, path_of, reject_keys
from gitmem.memory.trailers import Fate, Provenance
from gitmem.store.commits import Tip, read_tip
from gitmem.store.locks import Locked
from gitmem.store.repository import Repository, Signature
from gitmem.store.said import safe_message
from gitmem.store.trees import read_files, write_tree
from gitmem.store.workspace import Scope

ID_DIGITS = 6


@dataclass(frozen=True)
class DreamPlan:
    """What a dream would do, before anything is written.

    Attributes:
        files: the tree that it starts from.
    """

    scope: Scope
    tip: Tip
    engine: str
    changes: tuple[DreamChange, ...]
    notes: tuple[str, ...]
    files: Mapping[str, bytes] = field(repr=False)

    @property
    def summary(self) -> str:
        """What was done and what is left to a person, as text."""
        return _summary(self.changes, self.notes)


def plan_dream(scope: Scope, engine: Engine, agents: tuple[str, ...] = ()) -> DreamPlan:
    """Orients, gathers and consolidates; writes nothing.

    Args:
        agents: whose memories to consolidate, as folder names; empty for all.

    Raises:
        CheckFailed: a claim would be lost; the message says which.
        EngineError: the engine could not do its work.
    """
    tip = read_tip(scope.repo, scope.ref)
    files = read_files(scope.repo, tip.tree)
    said = said_when(scope.repo, tip.commit, files)
    proposed = [change for dream in dreams_of(scope) for change in dream.open]
    waiting = frozenset(key for change in proposed for key in reject_keys(change.fates))
    made: Consolidation = engine.consolidate(ConsolidateInput(files, said, agents, waiting))
    check(files, made.changes)
    return DreamPlan(scope, tip, engine.name, made.changes, made.notes, files)


def check(files: Mapping[str, bytes], changes: tuple[DreamChange, ...]) -> None:
    """Works out the account of each change, and of all of them, from the trees.

    Raises:
        CheckFailed: a claim is unaccounted for, or a change touches what is no memory.
    """
    before = dict(files)
    for change in changes:
        foreign = sorted(path for path in change.edits if not is_memory(path))
        if foreign:
            raise CheckFailed(f"The dream would write {foreign[0]}, which is no memory", _HINT)
        after = applied(before, change.edits)
        ends = {path_of(end) for fate in change.fates for end in (fate.source, fate.target) if end}
        touched = {*change.edits, *ends}
        _no_loss(_only(before, touched), _only(after, touched), change.fates, change.subject)
        before = after
    _no_loss(files, before, [fate for change in changes for fate in change.fates], "the whole")


def carry_out(plan: DreamPlan, held: Held, author: Signature) -> str:
    """Makes the branch: objects first, then the one ref, so that a crash leaves nothing.

    Args:
        held: the lock, which must still be this process's.
        author: who runs the dream, and when.

    Returns:
        Id of the dream.

    Raises:
        Locked: the lock was taken over meanwhile.
        RepositoryError: the branch cannot be made.
    """
    repo = plan.scope.repo
    at, tree = plan.tip.commit, plan.tip.tree
    subject = f"Sum up a dream of {len(plan.changes)} {'change' if len(plan.changes) == 1 else 'changes'}"
    with repo.together():
        for change in plan.changes:
            tree = write_tree(repo, tree, change.edits)
            message = safe_message(change.subject, _provenance(plan, change.fates), change.reason)
            at = repo.add_commit(tree, (at,), author, author, message)
        message = safe_message(subject, _provenance(plan, ()), plan.summary)
        at = repo.add_commit(tree, (at,), author, author, message)
    if not held.is_ours():
        raise Locked(f"{held.path}: another process took over", "Run it again.")
    id = _free_id(repo, prefix(plan.scope), at)
    repo.move_ref(prefix(plan.scope) + id, at, None, f"gitmem dream: {subject}")
    return id


def applied(files: Mapping[str, bytes], edits: Mapping[str, bytes | None]) -> dict[str, bytes]:
    """A tree with edits applied."""
    return {path: data for path, data in ({**files, **edits}).items() if data is not None}


_HINT = "No branch was made and memory is as it was."


def _no_loss(
    before: Mapping[str, bytes],
    after: Mapping[str, bytes],
    fates: list[Fate] | tuple[Fate, ...],
    where: str,
) -> None:
    lost = account(before, after, fates).unaccounted
    if lost:
        more = f" (and {len(lost) - 1} more)" if len(lost) > 1 else ""
        raise CheckFailed(
            f"The dream loses a claim in {where}: {lost[0].source}: {lost[0].problem}{more}", _HINT
        )


def _only(files: Mapping[str, bytes], paths: set[str]) -> dict[str, bytes]:
    return {path: files[path] for path in paths if path in files}


def _provenance(plan: DreamPlan, fates: tuple[Fate, ...]) -> Provenance:
    return Provenance(op="dream", writer="dream", engine=plan.engine, claims=fates)


def _free_id(repo: Repository, under: str, commit: str) -> str:
    """`d-` and six digits that no dream has, open or rejected."""
    for salt in range(1_000):
        digits = hashlib.sha256(f"{commit} {salt}".encode()).hexdigest()[:ID_DIGITS]
        id = f"d-{digits}"
        if repo.ref(under + id) is None and repo.ref(REJECTED + id) is None:
            return id
    raise CheckFailed(f"There is no free name under {under}", "Review the dreams that wait.")


def _summary(changes: tuple[DreamChange, ...], notes: tuple[str, ...]) -> str:
    kinds = Counter(change.kind for change in changes)
    lines = [f"{number} x {kind}" for kind, number in kinds.items()]
    if notes:
        lines += ["", "For a person:", *(f"- {note}" for note in notes)]
    return "\n".join(lines)
