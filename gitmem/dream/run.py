"""A dream, from the tip of a memory ref to a parked branch: asked for, pruned, proved from the trees, made.

An engine is trusted with nothing: not that it ends well, nor with what it gives. What a person rejected, or
has yet to decide on, is taken out with all that builds on it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

from gitmem.core import tombstone
from gitmem.core.account import (
    is_memory,
    paths_named,
    reject_keys,
    where_it_goes,
)
from gitmem.core.errors import CheckFailed, EngineError, GitmemError
from gitmem.core.merge import only
from gitmem.core.text import counted, decode, one_line
from gitmem.core.trailers import Fate, Provenance, Usage
from gitmem.dream.gather import Sources, gather
from gitmem.dream.proof import prove_plan, refuse, sessions_behind
from gitmem.dream.schedule import HeldLock
from gitmem.engines.engine import (
    ConsolidateInput,
    Consolidation,
    DreamChange,
    DreamProgress,
    Engine,
    Tell,
    untold,
)
from gitmem.git.locks import Locked
from gitmem.git.repository import Signature
from gitmem.git.trees import read_files, write_tree
from gitmem.ledger.dreams import DreamCommit, claim_stories, standing_targets
from gitmem.ledger.land import Tip, read_tip, safe_message, signer
from gitmem.ledger.proposals import all_tips, dreams_in, let_wait
from gitmem.ledger.state import Space
from gitmem.ledger.workspace import Scope
from gitmem.rules.account import errors
from gitmem.rules.rule import Finding

ID_DIGITS = 6


@dataclass(frozen=True)
class DreamPlan:
    """What a dream would do, before anything is written.

    Attributes:
        engine: its name, for the `Gitmem-Engine` trailer.
        notes: what is left to a person, one line each.
        files: the tree that it starts from.
        log: what the engine tried and was refused, and what was left out, one line each.
        usage: what asking a model cost; None where none was asked.
        sessions: of each change the session that taught what it says anew; empty for none.
        apart: keys of what the engine need not be asked again, for `keep_apart`.
    """

    scope: Scope
    tip: Tip
    engine: str
    changes: tuple[DreamChange, ...]
    notes: tuple[str, ...]
    files: Mapping[str, bytes] = field(repr=False)
    log: tuple[str, ...] = ()
    usage: Usage | None = None
    sessions: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()

    @property
    def commits(self) -> tuple[DreamCommit, ...]:
        """The changes as they will stand on the branch, for whoever looks at them before."""
        state, found = dict(self.files), list[DreamCommit]()
        for n, change in enumerate(self.changes, start=1):
            named = {*change.edits, *paths_named(change.fates)}
            old = only(state, named)
            change.apply_to(state)
            new = only(state, named)
            files = {path: (old.get(path), new.get(path)) for path in sorted(change.edits)}
            told = claim_stories(change.fates, old, new)
            stood = standing_targets(change.fates, old)
            found.append(
                DreamCommit(n, "", change.subject, change.reason, change.fates, told, files, stood=stood)
            )
        return tuple(found)

    @property
    def summary(self) -> str:
        """What was done and what is left to a person, as text."""
        return _summary(self.changes, self.notes)


def plan_dream(scope: Scope, engine: Engine, sources: Sources, tell: Tell = untold) -> DreamPlan:
    """Orients, gathers, consolidates and prunes; writes nothing.

    Args:
        sources: what may be known besides the memory itself.
        tell: is told of each phase; what it raises ends the work.

    Raises:
        CheckFailed: the dream cannot be proved; the message says where.
        EngineError: the engine could not do its work.
    """
    tell(DreamProgress("orient"))
    tip = read_tip(scope.repo, scope.ref)
    files = read_files(scope.repo, tip.tree)
    tell(DreamProgress("gather"))
    given = gather(scope, tip, files, sources)

    def prove(changes: Sequence[DreamChange]) -> tuple[Finding, ...]:
        return prove_plan(
            files,
            changes,
            allowance=given.allowance,
            said=given.said,
            allow=sources.allow,
            asked=sources.asked,
            sessions=given.sessions,
            code=given.code,
            names=given.names,
        )

    def judge(changes: Sequence[DreamChange]) -> list[str]:
        return [*map(str, errors(prove(changes)))]

    given = replace(given, judge=judge, waiting=given.waiting | known_apart(scope, engine.name))
    made = ask(engine, given, tell)
    tell(DreamProgress("prune"))
    left = prune(given, made.changes)
    # Each starts from what those before it left, and the best come first.
    more = len(left.changes) - given.most
    if more > 0:
        notes = (
            *made.notes,
            f"limit: {counted(more, 'more change')} {'waits' if more == 1 else 'wait'} for another dream",
        )
        left, made = replace(left, changes=left.changes[: given.most]), replace(made, notes=notes)
    tell(DreamProgress("check"))
    refuse(prove(left.changes))
    heard = sessions_behind(
        files, left.changes, given.sessions, said=given.said, code=given.code, names=given.names
    )
    log = (*made.log, *left.log)
    return DreamPlan(
        scope,
        tip,
        engine.name,
        left.changes,
        made.notes,
        files,
        log,
        made.usage,
        heard,
        made.apart,
    )


def carry_out(plan: DreamPlan, held: HeldLock, author: Signature) -> str:
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
    sign = signer(repo) if plan.scope.name == "project" else None
    commit = sign or repo.add_commit
    with nullcontext() if sign else repo.together():
        sessions = plan.sessions or ("",) * len(plan.changes)
        for change, session in zip(plan.changes, sessions, strict=True):
            tree = write_tree(repo, tree, change.edits)
            told = replace(_provenance(plan, change.fates), session=session)
            message = safe_message(change.subject, told, change.reason)
            at = commit(tree, (at,), author, author, message)
        # What a dream cost is said once, and not again by each of its commits.
        provenance = replace(_provenance(plan, ()), usage=plan.usage)
        message = safe_message(subject, provenance, plan.summary)
        at = commit(tree, (at,), author, author, message)
    if not held.is_ours():
        raise Locked(f"{held.path}: another process took over", "Run it again.")
    family = dreams_in(plan.scope)
    there = all_tips(family)
    for salt in range(1_000):
        id = f"d-{hashlib.sha256(f'{at} {salt}'.encode()).hexdigest()[:ID_DIGITS]}"
        if id not in there and let_wait(family, id, at, f"gitmem dream: {subject}"):
            return id
    raise CheckFailed(f"There is no free name under {family.waiting}", "Review the dreams that wait.")


def _provenance(plan: DreamPlan, fates: tuple[Fate, ...]) -> Provenance:
    return Provenance(op="dream", writer="dream", engine=plan.engine, claims=fates)


def _summary(changes: tuple[DreamChange, ...], notes: tuple[str, ...]) -> str:
    kinds = Counter(change.kind for change in changes)
    lines = [f"{number} x {kind}" for kind, number in kinds.items()]
    if notes:
        lines += ["", "For a person:", *(f"- {note}" for note in notes)]
    return "\n".join(lines)


MOST_CHANGES = 1_000
"""Changes of one dream; the engines here stop long before. Nobody reviews more."""

_HINT = "Nothing was changed. Try again, or with another engine: git mem dream --engine offline"
_SAID = 200


def ask(engine: Engine, given: ConsolidateInput, tell: Tell) -> Consolidation:
    """Has an engine work on a copy of what is given.

    Args:
        tell: as for `plan_dream`; what it raises is raised as it is.

    Raises:
        EngineError: the engine failed, or proposed more than anybody reviews.
    """
    stopped: list[Exception] = []

    def told(step: DreamProgress) -> None:
        try:
            tell(step)
        except Exception as error:
            stopped.append(error)
            raise

    # What its work is judged by stays out of its hands.
    copy = replace(given, files=dict(given.files), said=dict(given.said), lines=dict(given.lines))
    try:
        made = engine.consolidate(copy, told)
        if len(made.changes) > MOST_CHANGES:
            what = f"{len(made.changes):,} changes, and {MOST_CHANGES:,} are the most"
            raise EngineError(f"The engine {engine.name} proposed too much: {what}", _HINT)
        return made
    except GitmemError:
        raise
    except Exception as error:
        if error in stopped:
            raise
        what = one_line(f"{type(error).__name__}: {error}", _SAID)
        raise EngineError(f"The engine {engine.name} failed: {what}", _HINT) from error


_SUBJECT_CHARS = 100


@dataclass(frozen=True)
class Pruned:
    """What is left of the proposals of an engine.

    Attributes:
        changes: in the order in which they apply, each starting from what those before it left.
        log: what was left out and why, one line each.
    """

    changes: tuple[DreamChange, ...]
    log: tuple[str, ...] = ()


def prune(given: ConsolidateInput, changes: tuple[DreamChange, ...]) -> Pruned:
    """Leaves out what is not to be proposed again; every engine's proposals are looked at.

    So is what touches a memory that a change touches which is left out: it builds on that one.

    Args:
        given: what the engine was asked with.
        changes: what it proposed.
    """
    kept: list[DreamChange] = []
    log: list[str] = []
    left_out: set[str] = set()
    for change, why in zip(changes, _whys(given, changes), strict=True):
        paths = _paths(change)
        if why or not paths.isdisjoint(left_out):
            left_out |= paths
            why = why or "it builds on what was left out"
            log.append(f"left out: {one_line(change.subject, _SUBJECT_CHARS)}: {why}")
        else:
            kept.append(change)
    return Pruned(tuple(kept), tuple(log))


def _whys(given: ConsolidateInput, changes: Iterable[DreamChange]) -> list[str]:
    """Why each change is not to be proposed; empty where it may be."""
    unwanted = _unwanted(given)
    whys = []
    state = dict(given.files)
    for change in changes:
        whys.append(unwanted(reject_keys(change.fates, where_it_goes(change.fates, state))))
        change.apply_to(state)
    return whys


def _unwanted(given: ConsolidateInput) -> Callable[[Collection[str]], str]:
    """Tells why a change with these keys is not to be proposed; empty where it may be."""
    buried = [
        tombstone.finder(tombstone.parse(decode(data)), "rejected")
        for path, data in given.files.items()
        if path.rpartition("/")[2] == tombstone.FILE
    ]

    def why(keys: Collection[str]) -> str:
        if any(key in given.waiting for key in keys):
            return "it waits for a person already"
        return "a person rejected it" if any(found(key) for found in buried for key in keys) else ""

    return why


def _paths(change: DreamChange) -> set[str]:
    """All memories that a change is about."""
    return set(filter(is_memory, {*change.edits, *paths_named(change.fates)}))


_APART = Space("dream apart", 50)

KEPT = 5_000
"""Keys of one scope and engine, the newest: 20 a dream last for most of a year of nights."""


def known_apart(scope: Scope, engine: str) -> frozenset[str]:
    """The keys of pairs that an engine need not be asked about."""
    return frozenset(_keys(_APART.get(scope.state, _name(scope, engine))))


def keep_apart(scope: Scope, engine: str, keys: Iterable[str]) -> None:
    """Remembers pairs as two things. Best effort: what is lost is asked once more."""
    if fresh := list(keys):
        _APART.update(
            scope.state,
            _name(scope, engine),
            lambda known: list(dict.fromkeys([*_keys(known), *fresh]))[-KEPT:],
        )


def _keys(found: object) -> list[str]:
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def _name(scope: Scope, engine: str) -> str:
    return f"{scope.name} {engine}"
