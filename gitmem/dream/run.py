"""A dream, from the tip of a memory ref to a parked branch: planned, checked from the trees, made."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from gitmem.core.errors import CheckFailed
from gitmem.core.names import TURNED_DOWN
from gitmem.core.trailers import Fate, Provenance, Usage
from gitmem.dream.asking import ask
from gitmem.dream.gathering.gather import gather
from gitmem.dream.lock import Held
from gitmem.dream.plan import prove_plan, refuse, sessions_behind
from gitmem.dream.prune import prune
from gitmem.dream.refs import prefix
from gitmem.dream.sources import Sources
from gitmem.engines.engine import ConsolidateInput, DreamChange, Engine, Step, Tell, untold
from gitmem.rules.account import errors
from gitmem.rules.findable import Recalled
from gitmem.rules.rule import Finding
from gitmem.store.commits import Tip, read_tip, safe_message
from gitmem.store.locks import Locked
from gitmem.store.repository import Repository, Signature
from gitmem.store.trees import read_files, write_tree
from gitmem.store.workspace import Scope

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
    tell(Step("orient"))
    tip = read_tip(scope.repo, scope.ref)
    files = read_files(scope.repo, tip.tree)
    tell(Step("gather"))
    given = gather(scope, tip, files, sources)

    def judge(changes: Sequence[DreamChange]) -> list[str]:
        return [*map(str, errors(_failures(files, changes, given, sources.allow, sources.asked)))]

    given = replace(given, judge=judge)
    made = ask(engine, given, tell)
    tell(Step("prune"))
    left = prune(given, made.changes)
    tell(Step("check"))
    check(files, left.changes, given, sources.allow, sources.asked)
    heard = sessions_behind(files, left.changes, given.sessions, said=given.said, code=given.code)
    log = (*made.log, *left.log)
    return DreamPlan(scope, tip, engine.name, left.changes, made.notes, files, log, made.usage, heard)


def check(
    files: Mapping[str, bytes],
    changes: tuple[DreamChange, ...],
    given: ConsolidateInput | None = None,
    allow: frozenset[str] = frozenset(),
    asked: Sequence[Recalled] = (),
) -> None:
    """Proves each change, and all of them, from the trees.

    Args:
        files: the tree that they start from.
        given: what the engine was told: when claims were said, and how many may go.
        allow: fingerprints of secrets that a person accepted.
        asked: the last recalls that showed memories of the scope.

    Raises:
        CheckFailed: something cannot be proved; it names the first failure.
    """
    refuse(_failures(files, changes, given, allow, asked))


def _failures(
    files: Mapping[str, bytes],
    changes: Sequence[DreamChange],
    given: ConsolidateInput | None,
    allow: frozenset[str],
    asked: Sequence[Recalled],
) -> tuple[Finding, ...]:
    if given is None:
        return prove_plan(files, changes, allow=allow, asked=asked)
    return prove_plan(
        files,
        changes,
        allowance=given.allowance,
        said=given.said,
        allow=allow,
        asked=asked,
        sessions=given.sessions,
        code=given.code,
    )


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
        sessions = plan.sessions or ("",) * len(plan.changes)
        for change, session in zip(plan.changes, sessions, strict=True):
            tree = write_tree(repo, tree, change.edits)
            told = replace(_provenance(plan, change.fates), session=session)
            message = safe_message(change.subject, told, change.reason)
            at = repo.add_commit(tree, (at,), author, author, message)
        # What a dream cost is said once, and not again by each of its commits.
        provenance = replace(_provenance(plan, ()), usage=plan.usage)
        message = safe_message(subject, provenance, plan.summary)
        at = repo.add_commit(tree, (at,), author, author, message)
    if not held.is_ours():
        raise Locked(f"{held.path}: another process took over", "Run it again.")
    id = _free_id(repo, prefix(plan.scope), at)
    repo.move_ref(prefix(plan.scope) + id, at, None, f"gitmem dream: {subject}")
    return id


def _provenance(plan: DreamPlan, fates: tuple[Fate, ...]) -> Provenance:
    return Provenance(op="dream", writer="dream", engine=plan.engine, claims=fates)


def _free_id(repo: Repository, under: str, commit: str) -> str:
    """`d-` and six digits that no dream has, open or rejected."""
    for salt in range(1_000):
        digits = hashlib.sha256(f"{commit} {salt}".encode()).hexdigest()[:ID_DIGITS]
        id = f"d-{digits}"
        if repo.ref(under + id) is None and repo.ref(TURNED_DOWN + id) is None:
            return id
    raise CheckFailed(f"There is no free name under {under}", "Review the dreams that wait.")


def _summary(changes: tuple[DreamChange, ...], notes: tuple[str, ...]) -> str:
    kinds = Counter(change.kind for change in changes)
    lines = [f"{number} x {kind}" for kind, number in kinds.items()]
    if notes:
        lines += ["", "For a person:", *(f"- {note}" for note in notes)]
    return "\n".join(lines)
