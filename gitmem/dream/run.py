"""A dream, from the tip of a memory ref to a parked branch: planned, checked from the trees, made."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from gitmem.core.account import paths_named
from gitmem.core.errors import CheckFailed
from gitmem.core.merge import only
from gitmem.core.text import counted
from gitmem.core.trailers import Fate, Provenance, Usage
from gitmem.dream.apart import known_apart
from gitmem.dream.asking import ask
from gitmem.dream.compared import read_compared
from gitmem.dream.gathering.gather import gather
from gitmem.dream.lock import Held
from gitmem.dream.plan import prove_plan, refuse, sessions_behind
from gitmem.dream.prune import prune
from gitmem.dream.sources import Sources
from gitmem.engines.engine import Compared, ConsolidateInput, DreamChange, Engine, Step, Tell, untold
from gitmem.git.locks import Locked
from gitmem.git.repository import Signature
from gitmem.git.trees import read_files, write_tree
from gitmem.ledger.dreams import DreamCommit, claim_stories, standing_targets
from gitmem.ledger.land import Tip, read_tip, safe_message
from gitmem.ledger.proposals import dreams_in, let_wait, taken
from gitmem.ledger.workspace import Scope
from gitmem.rules.account import errors
from gitmem.rules.findable import Recalled
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
        compared: what the next dream of all agents need not compare; None where that stays as it was.
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
    compared: Compared | None = None

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
    tell(Step("orient"))
    tip = read_tip(scope.repo, scope.ref)
    files = read_files(scope.repo, tip.tree)
    tell(Step("gather"))
    given = gather(scope, tip, files, sources)

    def judge(changes: Sequence[DreamChange]) -> list[str]:
        return [*map(str, errors(_failures(files, changes, given, sources.allow, sources.asked)))]

    given = replace(
        given,
        judge=judge,
        waiting=given.waiting | known_apart(scope, engine.name),
        compared=read_compared(scope, tip.tree),
    )
    made = ask(engine, given, tell)
    tell(Step("prune"))
    left = prune(given, made.changes)
    # Each starts from what those before it left, and the best come first.
    more = len(left.changes) - given.most
    if more > 0:
        notes = (
            *made.notes,
            f"limit: {counted(more, 'more change')} {'waits' if more == 1 else 'wait'} for another dream",
        )
        left, made = replace(left, changes=left.changes[: given.most]), replace(made, notes=notes)
    tell(Step("check"))
    check(files, left.changes, given, sources.allow, sources.asked)
    heard = sessions_behind(files, left.changes, given.sessions, said=given.said, code=given.code)
    log = (*made.log, *left.log)
    # Memories of other agents were not looked at; and what was left out at the end is to be found again.
    known = None if sources.agents or more > 0 else made.compared
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
        known,
    )


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
    family = dreams_in(plan.scope)
    there = taken(family)
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
