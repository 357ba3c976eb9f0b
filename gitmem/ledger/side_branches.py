"""Branches beside the memory branch (dreams, inboxes): kept up to date, asked for, landed, closed.

The base is merged in, and the index left as it is. A branch may come to the memory branch by whatever way
a host or a reviewer took: merge commit, squash, rebase, cherry-pick, an edit on the web before any of them.
What counts is that its claims stand in a tree of the memory branch. What was landed without the branch's
commits is then recorded by a merge that has them as parents, and takes nothing from them: from there on git
and gitmem know that all of it was decided, what the reviewer took out stays out, and blame finds who taught
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from gitmem.core import attributes
from gitmem.core.account import BranchChange, claims_at, missing, proposals, speaks
from gitmem.core.errors import MissingObject, RepositoryError
from gitmem.core.names import FORMAT_FILE, FORMAT_TEXT, INDEX, TOMBSTONES, homes
from gitmem.core.trailers import Provenance, format_message, parse
from gitmem.git.refs import try_move_ref
from gitmem.git.remote import Move, Remote
from gitmem.git.repository import BLOB, EXECUTABLE, TREE, Repository, short_name
from gitmem.git.trees import changed_files, read_paths, write_tree
from gitmem.ledger.arrival import check_arrival
from gitmem.ledger.epochs import epochs_differ
from gitmem.ledger.land import ROOT_SIGNATURE, is_commit
from gitmem.ledger.merge import SUBJECT, MergedCommit, merge_commits
from gitmem.ledger.workspace import DREAMS, INBOX, SHARED_REF
from gitmem.values import dataclass

_OWN = {FORMAT_FILE: FORMAT_TEXT, attributes.FILE: attributes.BRANCH_TEXT.encode()}

ASKED = "refs/gitmem/requests/"
"""What this clone asked for: `<branch>/tip` as pushed, `<branch>/base` where the memory branch was."""

FAMILY = "refs/heads/gitmem/"

RECORD = "Record that"
"""How the subject of a merge begins that says so."""

MESSAGE = "gitmem sync"
"""What a ref's log says of what a sync did to it."""

DEEPEST = 300
"""Commits of the memory branch that are looked at for one that has all of a branch."""


def with_base(repo: Repository, side: str, base: str) -> str:
    """Merges the memory branch into a side branch, so that a host has nothing to merge; no ref is moved.

    The result has the base's index in every folder: what is asked for never changes `MEMORY.md`, in which
    hosts without a merge driver would find a conflict (docs/formats.md). Like every merge it depends
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
    tree = _with_files_of(repo, merged, other.tree, INDEX)
    behind = not repo.is_ancestor(base, side)
    if not behind and tree == one.tree:
        return side
    who = replace(ROOT_SIGNATURE, time=max(one.committer.time, other.committer.time))
    message = format_message(SUBJECT, Provenance(op="merge", writer="sync"))
    with repo.together():
        return repo.add_commit(tree, (side, base) if behind else (side,), who, who, message)


def adds_nothing(repo: Repository, side: str, base: str) -> bool:
    """Whether the memory branch has all that a side branch would bring, however it got there.

    What gitmem itself puts at the root of every memory tree is nothing that anybody would be asked for, nor
    that something was forgotten which nobody else has: it goes along with what they are asked for next. Of
    a branch on the other side of a purge nothing is known: it is never merged.

    Args:
        side, base: names of commits.
    """
    if repo.is_ancestor(side, base):
        return True
    if epochs_differ(repo, side, base):
        return False
    tree = repo.commit(base).tree
    merged = _with_files_of(repo, merge_commits(repo, side, base).tree, tree, INDEX, TOMBSTONES)
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


def _with_files_of(repo: Repository, tree: str, base: str, *names: str) -> str:
    """A tree with the files of these names that agents' folders have in another one."""
    edits: dict[str, bytes | None] = {}
    here, there = _named(repo, tree, names), _named(repo, base, names)
    for path in sorted({*here, *there}):
        if here.get(path) != (oid := there.get(path)):
            edits[path] = repo.blob(oid) if oid else None
    with repo.together():
        return write_tree(repo, tree, edits) if edits else tree


def _named(repo: Repository, tree: str, names: Iterable[str]) -> dict[str, str]:
    """Paths of these files in the agents' folders of a tree, and their blobs."""
    found = {}
    for folder, entry in repo.tree(tree).items():
        files = repo.tree(entry.oid) if entry.mode == TREE else {}
        for name in names:
            if (file := files.get(name)) is not None and file.mode in (BLOB, EXECUTABLE):
                found[f"{folder}/{name}"] = file.oid
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
        # Elsewhere by now, another process noted a later push, or the end of it.
        try_move_ref(repo, ref, oid, known, "gitmem review: a request")


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
    if epochs_differ(repo, tip, memory):
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
        return None
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
    """The first commit of the memory branch that had most of what is wanted; None where none had any.

    What took it and was undone since (`git mem undo`) has nothing to say: it waits again.
    """
    best, found = len(wanted), None
    undone: set[str] = set()
    for commit in _line(repo, memory, ground) if wanted else ():
        count = len(left_out(repo, ground, commit, wanted))
        more = count < len(wanted) and count <= best
        if more and not any(repo.is_ancestor(one, commit) for one in undone):
            best, found = count, commit
        told = repo.commit(commit)
        target = parse(told.message).undoes
        if commit not in undone and target and is_commit(repo, target):
            # One that took nothing of it out was of something else.
            took_out = count > len(left_out(repo, ground, told.parents[0], wanted))
            undone |= {target} if took_out else set()
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


def settle(repo: Repository, remote: Remote, memory: str) -> tuple[str, tuple[tuple[str, Landing], ...]]:
    """Finds which requests the fetched memory branch has taken, by merge, squash, rebase or web edit.

    Args:
        memory: commit of the memory branch, as fetched.

    Returns:
        The memory branch as it is to be taken in: the fetched commit, or a merge on top of it that says
        what it has taken; and (full name of a branch at the remote, how it landed).
    """
    found = []
    onto = memory
    for one in asked(repo):
        there = repo.ref(remote.tracking(one.branch))
        # What cannot be read keeps nothing else from being exchanged.
        with suppress(RepositoryError):
            landing = find_landing(repo, memory, one.tip, there, one.base)
            if landing is not None:
                onto = record_landing(repo, onto, landing, one.branch)
                found.append((one.branch, landing))
            elif one.branch.startswith(INBOX) and (side := with_part(repo, memory, one.tip, one.base)):
                # This clone has all of it; what it made of the part since has the branch for its base.
                onto = merge_commits(repo, onto, side).commit
    return onto, tuple(found)


def close(repo: Repository, remote: Remote, landed: Iterable[tuple[str, Landing]]) -> None:
    """Removes branches that have landed from the host, where they stand as they did, and ends the notes."""
    for branch, landing in landed:
        there = repo.ref(remote.tracking(branch))
        if there is not None and there in landing.tips:
            outcome = remote.push(None, branch, there).outcome
            if outcome == "race":
                # Somebody went on with it: what they added is looked at next time.
                continue
            if outcome == "pushed":
                remote.note(repo, branch, None)
        forget_asked(repo, branch)


def closed_at_host(repo: Repository, remote: Remote, branch: str) -> PushedBranch | None:
    """The branch as it was pushed, where the host has it no more and never merged it.

    A sync that took the memory branch in before has ended the note of what was merged. A host without
    memory branch decided nothing: memory moved to another one.
    """
    if repo.ref(remote.tracking(branch)) is not None or repo.ref(remote.tracking(SHARED_REF)) is None:
        return None
    return next((one for one in asked(repo) if one.branch == branch), None)


def says_more(repo: Repository, closed: PushedBranch, ours: str, published: str | None) -> bool:
    """Whether a commit asks for anything that a branch which a host closed did not ask for.

    Args:
        published: the memory branch there; None where there is none.
    """
    now = asked_for(repo, fork_point(repo, published or ours, ours), ours)
    return bool(asked_since(repo, closed.base or closed.tip, closed.tip, now))


def fork_point(repo: Repository, memory: str, side: str) -> str:
    """Where a side branch left the memory branch.

    Raises:
        RepositoryError: the two have nothing in common.
    """
    bases = repo.merge_bases(memory, side)
    if not bases:
        raise RepositoryError(
            f"{side[:12]} has no history in common with the memory here",
            f"See what it holds: git log {side[:12]}",
        )
    return bases[0]


def asked_since(
    repo: Repository, memory: str, known: str, wanted: tuple[BranchChange, ...]
) -> tuple[BranchChange, ...]:
    """What is asked for of memories of which more is asked than at a commit that was decided on."""
    before = {one.same for one in asked_for(repo, fork_point(repo, memory, known), known)}
    changed = {one.path for one in wanted if one.same not in before}
    return tuple(one for one in wanted if one.path in changed)


@dataclass(frozen=True)
class Tended:
    """What became of side branches.

    Attributes:
        updated: branches at the remote that got the memory branch merged in; full names.
        closed: branches, there or here, that went because the memory branch has all of them.
    """

    updated: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()


def tend(
    repo: Repository,
    remote: Remote,
    before: Mapping[str, str],
    inbox: str,
    everyone: bool,
    *,
    dry_run: bool = False,
) -> Tended:
    """Merges the memory branch into side branches, and removes those that it has all of.

    A host merges a request without a driver, so the branch that asks holds the memory branch already,
    merged by gitmem. One's own are this writer's inbox and the dreams that are parked here. It is done as
    far as the remote lets this person: nothing depends on it.

    Args:
        before: what the remote had before it was last fetched.
        inbox: the writer's own branch, by its full name.
        everyone: others' branches get the base, too; they are never closed.
        dry_run: only finds what would be done where nothing is in the way.
    """
    published = repo.ref(remote.tracking(SHARED_REF))
    if published is None:
        return Tended()
    now = {ref: oid for ref, oid in remote.fetched(repo).items() if ref.startswith((DREAMS, INBOX))}
    parked = repo.refs(DREAMS)
    # What was accepted, sent and undone here since waits again, until that was sent, too.
    memories = [oid for oid in (published, repo.ref(SHARED_REF)) if oid]
    moves: list[Move] = []
    # Where refs here go: with the branch there, or by themselves. None deletes.
    here: dict[str, str | None] = {}
    for branch, oid in sorted({**parked, **now}.items()):
        own = branch == inbox or branch in parked
        # What cannot be read or merged is for a person to look at, and keeps no other from being tended.
        with suppress(RepositoryError):
            if branch not in now:
                # Merged, and the host deleted it then. A rejected one stays for review.
                if branch in before and all(adds_nothing(repo, oid, has) for has in memories):
                    here[branch] = None
                continue
            if not (own or everyone):
                continue
            check_arrival(repo, oid, branch)
            closed = adds_nothing(repo, oid, published)
            tip = oid if closed else with_base(repo, oid, published)
            if closed and own:
                moves.append(Move(branch, None, oid))
            elif tip != oid:
                moves.append(Move(branch, tip))
            stands = parked.get(branch)
            if stands == oid if closed else stands not in (None, tip) and repo.is_ancestor(stands, tip):
                here[branch] = None if closed else tip
    if not dry_run:
        pushed = remote.push_all(moves) if moves else {}
        refused = {branch for branch, one in pushed.items() if one.outcome != "pushed"}
        moves = [move for move in moves if move.branch not in refused]
        for move in moves:
            remote.note(repo, move.branch, move.oid)
            if move.oid is None:
                forget_asked(repo, move.branch)
        here = {
            branch: oid
            for branch, oid in here.items()
            if branch not in refused and try_move_ref(repo, branch, oid, parked[branch], MESSAGE)
        }
    gone = {move.branch for move in moves if move.oid is None} | {
        ref for ref, oid in here.items() if not oid
    }
    return Tended(tuple(move.branch for move in moves if move.oid), tuple(sorted(gone)))
