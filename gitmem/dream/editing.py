"""Hand changes on a dream's branch: a commit of the person's own, which says what became of each claim."""

from __future__ import annotations

from collections.abc import Mapping

from gitmem.core.account import account, is_memory, proposals, references
from gitmem.core.errors import CheckFailed, UsageError
from gitmem.core.memory import parse
from gitmem.core.merge import merge_trees
from gitmem.core.trailers import Fate, Provenance
from gitmem.dream.branch import Dream, DreamCommit
from gitmem.dream.refs import prefix
from gitmem.rules.rule import Finding
from gitmem.rules.screen import refuse_secrets
from gitmem.store.commits import Tip, Write, Written, commit
from gitmem.store.merging import check_paths
from gitmem.store.repository import Signature
from gitmem.store.trees import read_paths
from gitmem.values import dataclass


@dataclass(frozen=True)
class Lost:
    """A claim that an edit takes out, and that stands nowhere else."""

    claim: str
    text: str


@dataclass(frozen=True)
class ByHand:
    """What an edit came to.

    Attributes:
        written: the commit on the branch; None where nothing differs.
        silent: claims that it takes out without a reason: the dream cannot be accepted so.
        warnings: what may be a credential and is stored.
    """

    written: Written | None
    silent: tuple[Lost, ...] = ()
    warnings: tuple[Finding, ...] = ()


def laid_out(dream: Dream, number: int | None) -> dict[str, bytes]:
    """The memories that a dream, or one of its changes, touches, as they are on the branch.

    Args:
        number: of the change; None for all that are open.

    Returns:
        Path from the root (`<agent>/<file>.md`) to content; what the dream deletes is not among them.

    Raises:
        UsageError: there is no such change, or nothing of it is left to be edited.
    """
    chosen = [change for change in dream.open if number in (None, change.n)]
    if not chosen:
        listed = ", ".join(str(change.n) for change in dream.open)
        raise UsageError(f"{dream.id} has no open change {number}", f"Open are: {listed}.")
    repo = dream.scope.repo
    found = read_paths(repo, repo.commit(dream.tip).tree, _touched(chosen))
    if not found:
        raise UsageError(
            f"{dream.id} leaves no memory to be edited there: it only deletes",
            f"Turn it down: git mem review reject {dream.id}",
        )
    return found


def lost(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> tuple[Lost, ...]:
    """Claims that an edit takes out: not those that it words otherwise, or moves."""
    reworded = {one.before for one in proposals(before, after) if one.kind == "changed"}
    gone = account(before, after, ()).unaccounted
    return tuple(Lost(one.source, one.text) for one in gone if one.source not in reworded)


def edit(
    dream: Dream,
    laid: Mapping[str, bytes],
    edited: Mapping[str, bytes],
    why: str,
    author: Signature,
    allow: frozenset[str] = frozenset(),
) -> ByHand:
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
    changed = {path: edited.get(path) for path in {*laid, *edited} if laid.get(path) != edited.get(path)}
    if not changed:
        return ByHand(None)
    check_paths(set(changed))
    foreign = sorted(path for path in changed if not is_memory(path))
    if foreign:
        raise CheckFailed(f"{foreign[0]!a} is no memory of an agent", "Edit only <agent>/<file>.md there.")
    _refuse_personal(dream, changed)
    ref = local_branch(dream)
    repo = dream.scope.repo
    silent: list[Lost] = []
    warnings: list[Finding] = []

    def plan(tip: Tip) -> Write | None:
        if repo.ref(ref) is None:
            raise CheckFailed(f"{dream.id} was decided meanwhile", "See what waits: git mem review")
        here = read_paths(repo, tip.tree, set(changed))
        old = {path: data for path, data in laid.items() if path in changed}
        new = {path: data for path, data in changed.items() if data is not None}
        merged = new if here == old else merge_trees(old, here, new).files
        edits = {path: merged.get(path) for path in {*here, *merged} if here.get(path) != merged.get(path)}
        if not edits:
            return None
        warnings[:] = refuse_secrets(here, edits, allow)
        # A claim that moves to a memory which was not touched is not lost.
        around = read_paths(repo, tip.tree, _touched(dream.changes) - set(edits))
        gone = lost(around | here, around | merged)
        silent[:] = () if why.strip() else gone
        fates = () if silent else _fates(here, merged, gone, why.strip(), author.name)
        return Write(edits, _subject(edits), Provenance(op="update", writer="human", claims=fates), why)

    written = commit(repo, ref, plan, author)
    return ByHand(written, tuple(silent), tuple(warnings))


def local_branch(dream: Dream) -> str:
    """The ref of a dream here, at its newest commit; made from the remote's where there is none.

    Raises:
        CheckFailed: the branch here and the one at the remote went apart, or it moved meanwhile.
    """
    repo = dream.scope.repo
    ref = prefix(dream.scope) + dream.id
    here = repo.ref(ref)
    if here == dream.tip:
        return ref
    if here is not None and not repo.is_ancestor(here, dream.tip):
        raise CheckFailed(
            f"{dream.id} here and at {dream.remote or 'the remote'} went different ways",
            f"Merge {dream.tip[:12]} into {ref} with git, or turn the dream down.",
        )
    repo.move_ref(ref, dream.tip, here, f"gitmem review: take {dream.id} in from {dream.remote}")
    return ref


def _touched(changes: tuple[DreamCommit, ...] | list[DreamCommit]) -> set[str]:
    return {path for change in changes for path in change.files if is_memory(path)}


def _fates(
    before: Mapping[str, bytes], after: Mapping[str, bytes], gone: tuple[Lost, ...], why: str, who: str
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
