"""Branches beside the memory branch (dreams, inboxes): the base merged in, and its index left as it is.

Side branches that came to the memory branch, by whatever way a host or a reviewer took.

Merge commit, squash, rebase, cherry-pick, an edit on the web before any of them: what counts is that the
claims of the branch stand in a tree of the memory branch. What was landed without the branch's commits is
then recorded by a merge that has them as parents, and takes nothing from them: from there on git and
gitmem know that all of it was decided, what the reviewer took out stays out, and blame finds who taught it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gitmem.core import attributes
from gitmem.core.account import BranchChange, claims_at, missing, proposals, speaks
from gitmem.core.errors import MissingObject
from gitmem.core.names import FORMAT_FILE, FORMAT_TEXT, INDEX, homes
from gitmem.core.trailers import Provenance, format_message
from gitmem.git.refs import move_ref
from gitmem.git.repository import BLOB, EXECUTABLE, TREE, RefMoved, Repository, short_name
from gitmem.git.trees import changed_files, read_paths, write_tree
from gitmem.ledger.epochs import apart
from gitmem.ledger.land import ROOT_SIGNATURE
from gitmem.ledger.merge import SUBJECT, MergedCommit, merge_commits
from gitmem.values import dataclass

_OWN = {FORMAT_FILE: FORMAT_TEXT, attributes.FILE: attributes.BRANCH_TEXT.encode()}

ASKED = "refs/gitmem/requests/"
"""What this clone asked for: `<branch>/tip` as pushed, `<branch>/base` where the memory branch was."""

FAMILY = "refs/heads/gitmem/"

RECORD = "Record that"
"""How the subject of a merge begins that says so."""

DEEPEST = 300
"""Commits of the memory branch that are looked at for one that has all of a branch."""


def with_base(repo: Repository, side: str, base: str) -> str:
    """Merges the memory branch into a side branch, so that a host has nothing to merge; no ref is moved.

    The result has the base's index in every folder: what is asked for never changes `MEMORY.md`, in which
    hosts without a merge driver would find a conflict (design.md section 6). Like every merge it depends
    on the two commits alone. The side branch is the first parent, so a dream's own commits stay its line.

    Args:
        side, base: names of commits.

    Returns:
        A commit that holds both; `side` where there is nothing to do, `base` where that holds all of it.

    Raises:
        MissingObject: history is incomplete.
        RepositoryError: the two cannot be merged.
    """
    if repo.is_ancestor(side, base):
        return base
    merged = merge_side(repo, base, side).tree
    one, other = repo.commit(side), repo.commit(base)
    tree = _with_index_of(repo, merged, other.tree)
    behind = not repo.is_ancestor(base, side)
    if not behind and tree == one.tree:
        return side
    who = replace(ROOT_SIGNATURE, time=max(one.committer.time, other.committer.time))
    message = format_message(SUBJECT, Provenance(op="merge", writer="sync"))
    with repo.together():
        return repo.add_commit(tree, (side, base) if behind else (side,), who, who, message)


def adds_nothing(repo: Repository, side: str, base: str) -> bool:
    """Whether the memory branch has all that a side branch would bring, however it got there.

    What gitmem itself puts at the root of every memory tree is nothing that anybody would be asked for.

    Args:
        side, base: names of commits.
    """
    if repo.is_ancestor(side, base):
        return True
    tree = repo.commit(base).tree
    merged = _with_index_of(repo, merge_commits(repo, side, base).tree, tree)
    return merged == tree or _without_own(repo, merged, tree) == tree


def _without_own(repo: Repository, tree: str, base: str) -> str:
    """A tree without the root files as gitmem writes them that another one does not have."""
    here, there = repo.tree(tree), repo.tree(base)
    edits: dict[str, bytes | None] = {
        name: None
        for name, text in _OWN.items()
        if name in here and name not in there and repo.blob(here[name].oid) == text
    }
    with repo.together():
        return write_tree(repo, tree, edits) if edits else tree


def _with_index_of(repo: Repository, tree: str, base: str) -> str:
    """A tree with the indexes of another one."""
    edits: dict[str, bytes | None] = {}
    here, there = _indexes(repo, tree), _indexes(repo, base)
    for folder in sorted({*here, *there}):
        if here.get(folder) != (oid := there.get(folder)):
            edits[f"{folder}/{INDEX}"] = repo.blob(oid) if oid else None
    with repo.together():
        return write_tree(repo, tree, edits) if edits else tree


def _indexes(repo: Repository, tree: str) -> dict[str, str]:
    """Agents' folders of a tree and the blob of each one's index, where it has one."""
    found = {}
    for name, entry in repo.tree(tree).items():
        index = repo.tree(entry.oid).get(INDEX) if entry.mode == TREE else None
        if index is not None and index.mode in (BLOB, EXECUTABLE):
            found[name] = index.oid
    return found


@dataclass(frozen=True)
class PushedBranch:
    """A side branch that this clone pushed.

    Attributes:
        branch: full ref name at the remote.
        tip: what was pushed last.
        base: the memory branch as it was known then; None where there was none.
    """

    branch: str
    tip: str
    base: str | None


@dataclass(frozen=True)
class Landing:
    """A side branch that the memory branch has taken.

    Attributes:
        tips: what was pushed and what it was when it landed, where that differs.
        left_out: what was asked for and is not there: the reviewer took it out.
        ground: commit of the memory branch that the side branch had left.
    """

    tips: tuple[str, ...]
    left_out: tuple[BranchChange, ...] = ()
    ground: str = ""


def asked(repo: Repository) -> tuple[PushedBranch, ...]:
    """All that this clone asked for and that nobody has closed, in a fixed order."""
    known = repo.refs(ASKED)
    return tuple(
        PushedBranch(FAMILY + name, oid, known.get(f"{ASKED}{name}/base"))
        for ref, oid in sorted(known.items())
        if ref.endswith("/tip") and (name := ref.removeprefix(ASKED).removesuffix("/tip"))
    )


def note_asked(repo: Repository, branch: str, tip: str, base: str | None) -> None:
    """Notes that a side branch was pushed, so that it is known for landed when the host has deleted it."""
    _set(repo, branch, "base", base)
    _set(repo, branch, "tip", tip)


def forget_asked(repo: Repository, branch: str) -> None:
    """Ends the note, where there is one: the branch was decided on."""
    _set(repo, branch, "tip", None)
    _set(repo, branch, "base", None)


def _set(repo: Repository, branch: str, what: str, oid: str | None) -> None:
    ref = f"{ASKED}{branch.removeprefix(FAMILY)}/{what}"
    known = repo.ref(ref)
    if known != oid:
        try:
            move_ref(repo, ref, oid, known, "gitmem review: a request")
        except RefMoved:
            # Another process noted a later push, or the end of it.
            return


def find_landing(
    repo: Repository, memory: str, pushed: str, there: str | None, base: str | None = None
) -> Landing | None:
    """Finds out whether the memory branch has taken a side branch.

    Args:
        memory: commit of the memory branch, as fetched.
        pushed: the side branch as this clone pushed it, or has it.
        there: the side branch at the host, perhaps edited there; None where it is gone.
        base: the memory branch as it was when the side branch was pushed; found out where None.

    Returns:
        None where nothing of it is there, or not all while the branch still stands.
    """
    tip = there or pushed
    if apart(repo, tip, memory):
        # What was purged would come back with its history.
        return None
    tips = tuple(dict.fromkeys((tip, pushed)))
    ground = _ground(repo, memory, pushed, base)
    wanted = asked_for(repo, ground, pushed)
    if repo.is_ancestor(tip, memory):
        # What the team made of it since was taken before.
        merged = memory
        for commit in _line(repo, memory, ground):
            if not repo.is_ancestor(tip, commit):
                break
            merged = commit
        return Landing(tips, left_out(repo, ground, merged, wanted), ground)
    last = asked_for(repo, ground, tip) if tip != pushed else wanted
    if not last:
        # Emptied on the web: as long as the branch stands, the reviewer may be at it.
        return Landing(tips, wanted, ground) if wanted and there is None else None
    for commit in _line(repo, memory, ground):
        if not left_out(repo, ground, commit, last):
            # Rebased, all of it stands there for a moment, even what was taken out on the web.
            return Landing(tips, left_out(repo, ground, memory, wanted), ground)
    if there is None:
        lacking = left_out(repo, ground, memory, wanted)
        if len(lacking) < len(wanted) or _reworded(repo, ground, memory, lacking):
            return Landing(tips, lacking, ground)
    return None


def outstanding(repo: Repository, memory: str, side: str, ground: str) -> tuple[BranchChange, ...]:
    """What a side branch asks for that the memory branch does not have, and never had.

    Args:
        memory, side, ground: commits; the last is where the side branch had left the memory branch.
    """
    lacking = left_out(repo, ground, memory, asked_for(repo, ground, side))
    part = _part(repo, memory, ground, lacking) if lacking else None
    return lacking if part is None else left_out(repo, ground, part, lacking)


def merge_side(repo: Repository, memory: str, side: str) -> MergedCommit:
    """Merges a side branch into the memory branch, which may hold some of it without its commits.

    Returns:
        As of `merge_commits`; no ref is moved.
    """
    return merge_commits(repo, memory, with_part(repo, memory, side) or side)


def with_part(repo: Repository, memory: str, side: str, base: str | None = None) -> str | None:
    """Merges a side branch with the commit of the memory branch that took some of it by itself.

    To a merge that knows nothing of it both would have added that, and what the memory branch has made of
    it since would stand beside it.

    Args:
        base: the memory branch as it was when the side branch was pushed; found out where None.

    Returns:
        The merge; None where nothing was taken so. No ref is moved.
    """
    ground = _ground(repo, memory, side, base)
    part = _part(repo, memory, ground, asked_for(repo, ground, side))
    return merge_commits(repo, part, side).commit if part is not None else None


def _part(repo: Repository, memory: str, ground: str, wanted: tuple[BranchChange, ...]) -> str | None:
    """The first commit of the memory branch that had most of what is wanted; None where none had any."""
    best, found = len(wanted), None
    for commit in _line(repo, memory, ground) if wanted else ():
        count = len(left_out(repo, ground, commit, wanted))
        if count < len(wanted) and count <= best:
            best, found = count, commit
    return found


def record_landing(repo: Repository, memory: str, landing: Landing, branch: str) -> str:
    """Makes the merge that says so; no ref is moved.

    Like every merge it depends on the commits alone, so that clones which record the same agree.

    Args:
        memory: commit of the memory branch; its tree stays as it is.
        branch: what landed, for the subject.

    Returns:
        The commit; `memory` where git knows already.
    """
    tips = _heads(repo, [tip for tip in landing.tips if not repo.is_ancestor(tip, memory)])
    if not tips:
        return memory
    commit = repo.commit(memory)
    time = max(commit.committer.time, *(repo.commit(tip).committer.time for tip in tips))
    who = replace(ROOT_SIGNATURE, time=time)
    subject = f"{RECORD} {short_name(branch)} was taken in"
    message = format_message(subject, Provenance(op="merge", writer="sync"))
    with repo.together():
        return repo.add_commit(commit.tree, (memory, *tips), who, who, message)


def records_under(repo: Repository, memory: str, published: str, side: str) -> tuple[str, ...]:
    """Merges that say how the ground of a side branch came to the memory branch, oldest first.

    What was built on commits that a host took squashed has none of them in common with the memory branch:
    merged there, both would have added the same memories, and what one re-worded since would be disputed.

    Args:
        memory: the memory ref here, which holds the records.
        published: commit of the memory branch, as fetched.
        side: commit of the side branch.
    """
    found = []
    for step in repo.steps(memory, without=(published, side)):
        commit = step.commit
        if len(commit.parents) < 2 or not commit.subject.startswith(f"{RECORD} "):
            continue
        landed, *tips = commit.parents
        bases = {base for tip in tips for base in repo.merge_bases(tip, side)}
        if repo.is_ancestor(landed, published) and any(not repo.is_ancestor(b, published) for b in bases):
            found.append(commit.oid)
    return tuple(found)


def _heads(repo: Repository, tips: list[str]) -> list[str]:
    return [tip for tip in tips if not any(tip != other and repo.is_ancestor(tip, other) for other in tips)]


def _ground(repo: Repository, memory: str, tip: str, base: str | None) -> str:
    """The commit that a side branch is compared with: where it left the memory branch as it was then."""
    bases = repo.merge_bases(base or memory, tip)
    return bases[0] if bases else base or memory


def asked_for(repo: Repository, ground: str, tip: str) -> tuple[BranchChange, ...]:
    """What a side branch asks for.

    Args:
        ground, tip: commits: where it left the memory branch, and where it is.
    """
    before, after = repo.commit(ground).tree, repo.commit(tip).tree
    paths = set(filter(speaks, changed_files(repo, before, after)))
    return proposals(read_paths(repo, before, paths), read_paths(repo, after, paths))


def left_out(
    repo: Repository, ground: str, memory: str, wanted: tuple[BranchChange, ...]
) -> tuple[BranchChange, ...]:
    """What a commit of the memory branch does not have of what was asked for.

    Args:
        ground: commit that the side branch had left.
        wanted: from `asked_for`.
    """
    if not wanted:
        return ()
    base, tree = repo.commit(ground).tree, repo.commit(memory).tree
    paths = {one.path for one in wanted} | set(filter(speaks, changed_files(repo, base, tree)))
    return missing(wanted, read_paths(repo, base, paths), read_paths(repo, tree, paths))


def _reworded(repo: Repository, ground: str, memory: str, lacking: tuple[BranchChange, ...]) -> bool:
    """Whether the memory branch says any of this in other words at the very place since then.

    A host deletes a branch as it merges it: what was edited there just before is seen in the result alone.
    """
    base, tree = (repo.commit(oid).tree for oid in (ground, memory))
    for path in sorted({one.path for one in lacking if one.new is not None}):
        known = _said(repo, base, path)
        fresh = [set(key.split()) for key in _said(repo, tree, path) if key not in known]
        for one in lacking:
            words = set(one.new.key.split()) if one.path == path and one.new else set()
            if any(len(words & other) * 2 > max(len(words), len(other)) for other in fresh if words):
                return True
    return False


def _said(repo: Repository, tree: str, path: str) -> list[str]:
    """Normal forms of a memory's claims, wherever it was paged to."""
    files = read_paths(repo, tree, set(homes(path)))
    return [claim.key for home, data in files.items() for claim in claims_at(home, data)]


def _line(repo: Repository, memory: str, ground: str) -> Iterator[str]:
    """The memory branch since a commit, newest first, along first parents."""
    at = memory
    for _ in range(DEEPEST):
        if at == ground:
            return
        yield at
        try:
            parents = repo.commit(at).parents
        except MissingObject:
            return
        if not parents:
            return
        at = parents[0]
