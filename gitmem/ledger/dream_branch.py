"""A dream's branch as people decide on it: edited by hand, sent to others, closed, and brought back.

Hand changes on it are a commit of the person's own, which says what became of each claim. In the end the
branch goes; what was not taken is remembered, kept aside for 90 days, and brought back by an undo.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gitmem.core.account import account, is_memory, path_of, proposals, references
from gitmem.core.errors import CheckFailed, MissingObject, UsageError
from gitmem.core.memory import parse
from gitmem.core.merge import merge_trees
from gitmem.core.names import homes, is_log
from gitmem.core.trailers import LEFT_OUT, Fate, Provenance
from gitmem.core.trailers import parse as parse_trailers
from gitmem.git.refs import move_ref, move_refs, try_move_ref
from gitmem.git.repository import Commit, Repository, Signature, short_name
from gitmem.git.trees import difference, read_paths
from gitmem.ledger.dreams import (
    Dream,
    DreamCommit,
    dreamt,
    fork_point,
    open_dreams,
    own_commits,
    read_dream,
    replay_changes,
    review_trailer,
    wait_apart,
    without,
)
from gitmem.ledger.forget import remember_rejected
from gitmem.ledger.inbox import ACCEPTED, decision_on, end_accepted
from gitmem.ledger.land import Ref, Tip, Write, Written, land, read_tip
from gitmem.ledger.merge import check_paths
from gitmem.ledger.proposals import dreams_in
from gitmem.ledger.side_branches import Landing, asked, forget_asked, note_asked, with_base
from gitmem.ledger.workspace import DREAMS, SHARED_REF, TURNED_DOWN, Scope, Workspace
from gitmem.rules.account import where_they_stand
from gitmem.rules.rule import Finding
from gitmem.rules.screen import refuse_secrets
from gitmem.values import dataclass

SHORTEST = 7
"""Digits of a commit's name that are enough to mean it."""

_FORMER = 12
"""Digits of a commit's name behind a dream's id where that keeps something newer."""


@dataclass(frozen=True)
class LostClaim:
    """A claim that an edit takes out, and that stands nowhere else."""

    claim: str
    text: str


@dataclass(frozen=True)
class HandEdit:
    """What an edit came to.

    Attributes:
        dream: as it is now.
        written: the commit on the branch; None where nothing differs.
        silent: claims that it takes out without a reason: the dream cannot be accepted so.
        warnings: what may be a credential and is stored.
        failures: what the dream cannot prove as it is now, as far as it was asked.
    """

    dream: Dream
    written: Written | None
    silent: tuple[LostClaim, ...] = ()
    warnings: tuple[Finding, ...] = ()
    failures: tuple[Finding, ...] = ()


def laid_out(dream: Dream, number: int | None) -> dict[str, bytes]:
    """The memories that a dream, or one of its changes, touches, as they are on the branch.

    Args:
        number: of the change; None for all that are open.

    Returns:
        Path from the root (`<agent>/<file>.md`) to content; what the dream deletes is not among them.

    Raises:
        UsageError: there is no such change, or nothing of it is left to be edited.
    """
    chosen = dream.chosen(None if number is None else (number,))
    repo = dream.scope.repo
    found = read_paths(repo, repo.commit(dream.tip).tree, _touched(chosen))
    if not found:
        raise UsageError(
            f"{dream.id} leaves no memory to be edited there: it only deletes",
            f"Reject it: git mem review reject {dream.id}",
        )
    return found


def lost(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> tuple[LostClaim, ...]:
    """Claims that an edit takes out: not those that it words otherwise, or moves."""
    reworded = {one.before for one in proposals(before, after) if one.kind == "changed"}
    gone = account(before, after, ()).unaccounted
    return tuple(LostClaim(one.source, one.text) for one in gone if one.source not in reworded)


def edit(
    dream: Dream,
    laid: Mapping[str, bytes],
    edited: Mapping[str, bytes],
    why: str,
    author: Signature,
    allow: frozenset[str] = frozenset(),
) -> HandEdit:
    """Commits what a person changed on the branch, which is made here where only the remote has it.

    Args:
        laid: the files as they were given to the person.
        edited: the same as they came back; one that is missing was deleted.
        why: reason for the claims that it takes out; empty where none was given.
        author: the person, at the present.
        allow: fingerprints of accepted secrets.

    Raises:
        CheckFailed: it holds a secret, or the branch was decided or went another way meanwhile.
        RepositoryError: a path that no memory tree may hold, or the branch cannot be written.
    """
    changed = difference(laid, edited)
    if not changed:
        return HandEdit(dream, None)
    check_paths(set(changed))
    foreign = sorted(path for path in changed if not is_memory(path))
    if foreign:
        raise CheckFailed(f"{foreign[0]!a} is no memory of an agent", "Edit only <agent>/<file>.md there.")
    _refuse_personal(dream, changed)
    ref = local_branch(dream)
    repo = dream.scope.repo
    silent: list[LostClaim] = []
    warnings: list[Finding] = []

    def plan(tip: Tip) -> Write | None:
        if repo.ref(ref) is None:
            raise CheckFailed(f"{dream.id} was decided meanwhile", "See what waits: git mem review")
        here = read_paths(repo, tip.tree, set(changed))
        old = {path: data for path, data in laid.items() if path in changed}
        new = {path: data for path, data in changed.items() if data is not None}
        merged = new if here == old else merge_trees(old, here, new).files
        edits = difference(here, merged)
        if not edits:
            return None
        warnings[:] = refuse_secrets(here, edits, allow)
        # A claim that moves to a memory which was not touched is not lost.
        around = read_paths(repo, tip.tree, _touched(dream.changes) - set(edits))
        gone = lost(around | here, around | merged)
        silent[:] = () if why.strip() else gone
        fates = () if silent else _fates(here, merged, gone, why.strip(), author.name)
        return Write(edits, _subject(edits), Provenance(op="update", writer="human", claims=fates), why)

    written = land(Ref(repo, ref, shared=dream.scope.name == "project"), plan, author)
    return HandEdit(dream, written, tuple(silent), tuple(warnings))


@dataclass(frozen=True)
class Beside:
    """The newest commit of a ref that waits beside memory, and what taking it back leaves there.

    Attributes:
        before: where the ref goes; None where it goes itself.
        what: the thing that waits, for the person.
    """

    repo: Repository
    ref: str
    target: Commit
    before: str | None
    what: str

    def take_back(self) -> None:
        """Moves the ref there.

        Raises:
            RefMoved: it is somewhere else by now.
        """
        move_ref(self.repo, self.ref, self.before, self.target.oid, "gitmem undo")
        if self.ref == ACCEPTED:
            end_accepted(self.repo, self.target.oid)


def beside(workspace: Workspace, commit: str) -> Beside | None:
    """What an undo takes back that no memory ref holds: an edit by hand, an unsent acceptance, a rejection.

    Args:
        commit: its name, or the beginning of it; or the id of an inbox that was decided on.
    """
    if commit.startswith("i-") and (noted := decision_on(workspace, commit)):
        ref, oid, branch = noted
        what = f"{short_name(branch)} waits again" if branch else "nothing waits again: it is gone there"
        return Beside(workspace.code, ref, workspace.code.commit(oid), None, what)
    for dream in open_dreams(workspace):
        repo, ref = dream.scope.repo, dream.here
        tip = repo.ref(ref)
        if tip and tip.startswith(commit) and len(commit) >= SHORTEST:
            target = repo.commit(tip)
            if not dreamt(parse_trailers(target.message)) and target.parents:
                return Beside(repo, ref, target, target.parents[0], dream.id)
    repo, tip = workspace.code, workspace.code.ref(ACCEPTED)
    if tip and tip.startswith(commit) and len(commit) >= SHORTEST:
        return Beside(repo, ACCEPTED, repo.commit(tip), None, "what was accepted and not sent waits again")
    return None


def local_branch(dream: Dream) -> str:
    """The ref of a dream here, at its newest commit; made from the remote's where there is none.

    Raises:
        CheckFailed: the branch here and the one at the remote went apart, or it moved meanwhile.
    """
    repo = dream.scope.repo
    ref = dream.here
    here = repo.ref(ref)
    if here == dream.tip:
        return ref
    if here is not None and not repo.is_ancestor(here, dream.tip):
        raise CheckFailed(
            f"{dream.id} here and at {dream.remote or 'the remote'} went different ways",
            f"Merge {dream.tip[:12]} into {ref} with git, or: git mem review reject {dream.id}",
        )
    move_ref(repo, ref, dream.tip, here, f"gitmem review: take {dream.id} in from {dream.remote}")
    return ref


def with_memory(dream: Dream, tip: str) -> str:
    """Merges memory into a dream's branch, as a sync does with every side branch.

    Args:
        tip: where the memory ref stands.

    Returns:
        The merge commit.

    Raises:
        CheckFailed: memory has all of the dream, or the branch moved meanwhile.
        RepositoryError: the two cannot be merged.
    """
    repo, ref = dream.scope.repo, local_branch(dream)
    merged = with_base(repo, dream.tip, tip)
    if merged == tip:
        raise CheckFailed(f"All of {dream.id} is in memory already", "See what waits: git mem review")
    move_ref(repo, ref, merged, dream.tip, f"gitmem dream: refresh {dream.id}")
    return merged


def for_others(dream: Dream) -> Dream:
    """The dream as others may decide it: what was rejected here, and what it asks, is left off.

    A host would land both: the branch is made anew without them, so that no commit of theirs leaves.
    Changes keep their numbers. No ref is moved: `leave_off` does that, once it was pushed.

    Raises:
        CheckFailed: nothing else is open; or a teammate's branch has it.
    """
    off = {change.n for change in dream.changes if change.asks or change.decided == "rejected"}
    if not off:
        return dream
    numbers = [change.n for change in dream.changes]
    if dream.incoming or numbers != sorted(numbers):
        hint = f"Accept here what you want of it: git mem review accept {dream.id} N"
        raise CheckFailed(f"What was rejected of {dream.id}, and what it asks, stands on its branch", hint)
    if all(change.asks for change in dream.open):
        hint = f"Accept or reject each by its number: git mem review accept {dream.id} N"
        raise CheckFailed(f"{dream.id} holds nothing but questions, which are answered here", hint)
    rest = _summed_up(dream, dream.base, without(dream, off))
    tip = dream.scope.repo.ref(dream.scope.ref) or dream.base
    return read_dream(dream.scope, dream.ref, rest, dream.base, tip, dream.remote)


def leave_off(dream: Dream, tip: str) -> None:
    """Moves the branch here, at its newest commit, to what others were given of it.

    Questions wait on here, as a dream of their own; all that it was is kept aside, so that an undo of a
    rejection finds it.

    Args:
        tip: of `for_others`.

    Raises:
        RefMoved: somebody went on with the branch meanwhile.
    """
    if asked_here := [change for change in dream.open if change.asks]:
        wait_apart(dream, asked_here, dream.base, f"what {dream.id} asks")
    _keep_aside(dream, "gitmem review: keep what was left off")
    ref = dream.here
    move_ref(dream.scope.repo, ref, tip, dream.tip, "gitmem review: without what others are not asked")


def _keep_aside(dream: Dream, why: str) -> None:
    """Keeps a dream as it is under its name; what was kept there and is no part of it gets a longer one."""
    repo, ref = dream.scope.repo, TURNED_DOWN + dream.id
    kept = repo.ref(ref)
    if kept is not None and repo.is_ancestor(dream.tip, kept):
        return
    moves: dict[str, tuple[str | None, str | None]] = {ref: (kept, dream.tip)}
    if kept is not None and not repo.is_ancestor(kept, dream.tip):
        former = f"{ref}-{kept[:_FORMER]}"
        moves[former] = (repo.ref(former), kept)
    move_refs(repo, moves, why)


def _kept_aside(repo: Repository, id: str) -> list[str]:
    """Newest commits of all that is kept of a dream, the newest first."""
    refs = repo.refs(TURNED_DOWN)
    former = [ref for ref in refs if ref.startswith(f"{TURNED_DOWN}{id}-")]
    former.sort(key=lambda ref: repo.commit(refs[ref]).committer.time, reverse=True)
    return [refs[ref] for ref in (TURNED_DOWN + id, *former) if ref in refs]


def _touched(changes: tuple[DreamCommit, ...] | list[DreamCommit]) -> set[str]:
    return {path for change in changes for path in change.files if is_memory(path)}


def _fates(
    before: Mapping[str, bytes], after: Mapping[str, bytes], gone: tuple[LostClaim, ...], why: str, who: str
) -> tuple[Fate, ...]:
    """The account of an edit, complete or none: half of one would leave its other half unsaid."""
    reworded = [one for one in proposals(before, after) if one.kind == "changed" and one.old]
    standing = references(after)
    told = [Fate("superseded", one.before, one.after, f"edited by {who}") for one in reworded]
    told += [Fate("dropped", one.claim, "", why) for one in gone]
    return tuple(fate for fate in told if fate.source not in standing)


def _refuse_personal(dream: Dream, changed: Mapping[str, bytes | None]) -> None:
    for path, data in sorted(changed.items()):
        if data is not None and dream.scope.name == "project" and parse(path, data).type == "user":
            raise CheckFailed(
                f"{path} would be about a person, and so not for the project", "Give it another type."
            )


def _subject(edits: Mapping[str, bytes | None]) -> str:
    first, *rest = sorted(edits)
    more = f" and {len(rest)} more" if rest else ""
    return f"Edit {first.removesuffix('.md').partition('/')[2]} by hand{more}"


@dataclass(frozen=True)
class ClosedDream:
    """A dream that was decided elsewhere.

    Attributes:
        left_out: changes that the reviewer did not take.
    """

    id: str
    left_out: tuple[DreamCommit, ...]


def remember_off(
    workspace: Workspace,
    dream: Dream,
    changes: Sequence[DreamCommit],
    author: Signature,
    subject: str,
    why: str = "",
    *,
    job: str = "",
) -> Written | None:
    """Remembers changes of a dream as rejected, so that they are not proposed again.

    Args: as for `forget.remember_rejected`.
    """
    keys: dict[str, dict[str, None]] = {}
    for change in changes:
        for agent in {path_of(fate.source).split("/", 1)[0] for fate in change.fates}:
            keys.setdefault(agent, {}).update(dict.fromkeys(change.keys))
    said = review_trailer(dream.id, changes if len(changes) < len(dream.changes) else None)
    return remember_rejected(workspace, dream.scope, keys, author, subject, why, reviewed=said, job=job)


def close(dream: Dream, *, keep: bool) -> bool:
    """Removes a dream's branch here, and sees to it that a sync removes it at the host.

    Args:
        keep: whether its commits stay under a ref for a while: memory's history has not all of them, and an
            undo must find them.

    Returns:
        Whether it is gone.
    """
    repo = dream.scope.repo
    if keep:
        _keep_aside(dream, "gitmem dream: keep what was not taken")
    if dream.remote and dream.scope.ref == SHARED_REF:
        known = {one.branch for one in asked(repo)}
        branch = DREAMS + dream.id
        if branch not in known:
            note_asked(repo, branch, dream.tip, dream.base)
    if dream.incoming:
        return True
    here = repo.ref(dream.ref)
    # Its newest commit may be the host's, of which the branch here is an ancestor.
    if here is None or not repo.is_ancestor(here, dream.tip):
        # Someone decided, or went on with the branch, at the same moment; what they did stays.
        return here is None
    return try_move_ref(repo, dream.ref, None, here, "gitmem dream: decided") or repo.ref(dream.ref) is None


def close_landed(
    workspace: Workspace, landed: Mapping[str, Landing], author: Signature, now: float
) -> tuple[ClosedDream, ...]:
    """Closes the project's dreams that were decided at a host or by a teammate.

    Args:
        landed: full name of a branch at the remote to how it landed, as a sync found out.
        author: the person, who is named where something is remembered as not taken.
        now: seconds since the epoch.
    """
    scope = workspace.scope("project")
    repo = scope.repo
    tip = repo.ref(scope.ref)
    if tip is None or scope.ref != SHARED_REF:
        return ()
    found = []
    # A sync may have removed the branch here already.
    asked_for = {ref: one.tips[-1] for ref, one in landed.items() if ref.startswith(DREAMS)}
    for ref, oid in sorted((asked_for | repo.refs(dreams_in(scope).waiting)).items()):
        dream = _decided(scope, ref, oid, tip, landed.get(ref))
        if dream is None:
            continue
        left = tuple(change for change in dream.open if _stands(repo, tip, change))
        if left:
            subject = f"Note what a reviewer left out of dream {dream.id}"
            remember_off(workspace, dream, left, replace(author, time=int(now)), subject)
        close(dream, keep=bool(left))
        found.append(ClosedDream(dream.id, left))
    return tuple(found)


def _decided(scope: Scope, ref: str, oid: str, tip: str, landing: Landing | None) -> Dream | None:
    """The dream as it was asked for, where all of it was decided; its open changes were left out."""
    repo = scope.repo
    base = landing.ground if landing else fork_point(repo, tip, oid)
    if base is None:
        return None
    dream = read_dream(scope, ref, oid, base, tip)
    if landing or base == oid or (dream.changes and not dream.open):
        return dream
    return None


def _stands(repo: Repository, tip: str, change: DreamCommit) -> bool:
    """Whether a claim that a change was about is as it was: what a reviewer worded otherwise was taken."""
    fates = [fate for fate in change.fates if fate.kind != "kept"]
    places = {home for fate in fates for home in homes(path_of(fate.source))}
    files = read_paths(repo, repo.commit(tip).tree, places)
    known = references(files)
    told = where_they_stand(fates, files, {})
    return any(fate.source in known for fate in told) or _unmade(repo, tip, change)


def _unmade(repo: Repository, tip: str, change: DreamCommit) -> bool:
    """Whether nothing came of a change that makes memories of lines of logs: all is as it was before."""
    made = {path_of(fate.target) for fate in change.fates if is_log(path_of(fate.source))}
    pairs = {path: change.files[path] for path in made if path in change.files}
    places = {home for path in pairs for home in homes(path)}
    files = read_paths(repo, repo.commit(tip).tree, places) if places else {}
    now = {path: next((files[home] for home in homes(path) if home in files), None) for path in pairs}
    return bool(pairs) and all(now[path] == old for path, (old, _) in pairs.items())


_DREAM = f"{TURNED_DOWN}d-"
_TRAILER = "Gitmem-Reviewed:"


@dataclass(frozen=True)
class Rejected:
    """A dream that was turned down and is kept aside.

    Attributes:
        decision: the commit that says so, with who, when and why; None where it cannot be found.
    """

    dream: Dream
    decision: Commit | None


def rejected_dreams(workspace: Workspace, id: str) -> tuple[Rejected, ...]:
    """The dreams that were turned down and whose id begins so, of all scopes."""
    found = []
    for scope in workspace.scopes:
        repo, tip = scope.repo, scope.repo.ref(scope.ref)
        for ref, oid in repo.refs(TURNED_DOWN).items() if tip else ():
            former = "-" in ref.removeprefix(_DREAM)
            kept = ref.startswith(_DREAM) and ref.startswith(TURNED_DOWN + id) and not former
            if tip and kept and (base := fork_point(repo, tip, oid)):
                dream = read_dream(scope, ref, oid, base, tip)
                found.append(Rejected(dream, _rejection(repo, tip, dream.id)))
    return tuple(found)


def reopen(scope: Scope, undone: Commit) -> str:
    """Brings a dream back whose acceptance or rejection was just undone.

    Where it had been landed whole, its commits are history by now: they are made again on the memory as
    it is, with what they said. So is a part of one that is not kept here; it has other numbers then, so it
    waits as a dream of its own.

    Args:
        undone: the decision's commit on the memory ref.

    Returns:
        What came of it, in a line for the person; empty where it was no decision on a dream.
    """
    told = parse_trailers(undone.message)
    id, _, numbers = told.reviewed.partition(" ")
    if not id.startswith("d-"):
        return ""
    repo, ref = scope.repo, dreams_in(scope).waiting + id
    tip = read_tip(repo, scope.ref)
    here, aside = repo.ref(ref), repo.ref(TURNED_DOWN + id)
    if here is not None:
        undecided = {int(number) for number in numbers.split(",") if number.isdecimal()}
        return _waits(_left_off(scope, ref, here, tip, undecided) or id)
    again = None
    if aside is not None and fork_point(repo, tip.commit, aside) not in (None, aside):
        again = aside
    elif told.writer == "dream" and len(undone.parents) == 2:
        again = _again(scope, ref, undone, tip)
        if again and numbers:
            id = f"d-{again[: len(id) - 2]}"
            ref = dreams_in(scope).waiting + id
    if again is None:
        return f"{id} itself does not come back; git mem dream --force proposes what still fits"
    move_ref(repo, ref, again, None, f"gitmem undo: bring {id} back")
    if aside is not None:
        move_ref(repo, TURNED_DOWN + id, None, aside, f"gitmem undo: bring {id} back")
    forget_asked(repo, DREAMS + id)
    return _waits(id)


def _waits(id: str) -> str:
    return f"{id} waits again: git mem review show {id}"


def _left_off(scope: Scope, ref: str, here: str, tip: Tip, numbers: set[int]) -> str:
    """Lets changes wait again that a branch was made without, when others were asked about the rest.

    Args:
        here: the branch as it is.
        numbers: of the changes whose decision was undone.

    Returns:
        Id of the dream that they are now; empty where the branch has them.
    """
    repo = scope.repo
    base = fork_point(repo, tip.commit, here)
    if base is None:
        return ""
    lost = numbers - {change.n for change in read_dream(scope, ref, here, base, tip.commit).changes}
    for aside in _kept_aside(repo, ref.rpartition("/")[2]) if lost else ():
        if former := fork_point(repo, tip.commit, aside):
            whole = read_dream(scope, ref, aside, former, tip.commit)
            if lacking := [change for change in whole.open if change.n in lost]:
                return wait_apart(whole, lacking, tip.commit, f"what {whole.id} was sent without")
    return ""


def _again(scope: Scope, ref: str, undone: Commit, now: Tip) -> str | None:
    repo = scope.repo
    before, tip = undone.parents
    try:
        base = fork_point(repo, before, tip)
        if base is None or base == tip:
            return None
        dream = read_dream(scope, ref, tip, base, before)
        return _summed_up(dream, base, replay_changes(dream, dream.changes, now))
    except MissingObject:
        return None


def _rejection(repo: Repository, tip: str, id: str) -> Commit | None:
    """The newest rejection of a dream, or of changes of it, as a commit of the memory ref."""
    for passed in repo.history(tip):
        if _TRAILER in passed.message:
            told = parse_trailers(passed.message)
            if told.reviewed.partition(" ")[0] == id and told.writer != "dream":
                return passed
    return None


def _summed_up(dream: Dream, base: str, at: str) -> str:
    """These commits with the dream's last one on top, which sums it up; no ref moves."""
    repo = dream.scope.repo
    last = own_commits(repo, dream.tip, base)[-1]
    sums = not last.subject.startswith(LEFT_OUT)
    if dream.summary and sums and last.oid not in {change.commit for change in dream.changes}:
        at = repo.add_commit(repo.commit(at).tree, (at,), last.author, last.committer, last.message)
    return at
