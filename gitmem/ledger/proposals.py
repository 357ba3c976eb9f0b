"""Changes that wait for a person: each a line of commits under a ref of its own, whatever made it.

| label | repository | waits under | kept after a decision under |
|---|---|---|---|
| suggestion, promotion | private | `refs/gitmem/proposal/<project>/` | `refs/gitmem/decided/<project>/` |
| dream of a private scope | private | `refs/heads/dream/` | `refs/gitmem/rejected/` |
| dream of the project | code | `refs/gitmem/dream/` | `refs/gitmem/rejected/` |
| the same, with sharing | code | `refs/heads/gitmem/dream/` | `refs/gitmem/rejected/` |

What sessions, tools and commits of others suggest (`ledger.suggestions`), what an import brings
(`ledger.imports`) and what a dream would have as a rule stand side by side, told apart by their ids; the
same functions settle them, bring them back and let them go. Dreams, like the inboxes of teammates, stand
where hosts and teammates see them.

What a session, a tool or a commit of others suggests has been seen by nobody yet. It waits in the private
repository, whichever scope it is for: no push of the code, `--all` or `--mirror`, carries it along.

The last commit makes the change, its parent is what it was made from (`base`): a three-way merge lands it
on whatever memory says by then. The files that it is about stand in both at their places in the scope's
tree; `proposal.json` beside them says what no file does. Its message has the trailers of every commit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import field

from gitmem.core.errors import MissingObject
from gitmem.core.names import FORMAT_FILE, FORMAT_TEXT
from gitmem.core.trailers import Provenance, body_of, parse
from gitmem.git.repository import RefMoved, Repository, Signature
from gitmem.git.trees import Edits, changed_files, read_paths, write_tree
from gitmem.ledger.workspace import DECIDED, PRIVATE_REF, SHARED_REF, TURNED_DOWN, WAITING, Scope, Workspace
from gitmem.values import dataclass

RECORD = "proposal.json"

DAYS = 90
"""How long what was decided can be brought back by an undo: long enough to think better of it."""

BASE_SUBJECT = "What the proposal was made from"

_AT_REMOTE = re.compile(r"refs/remotes/(?P<remote>.+)/gitmem/dream/(?P<id>d-[0-9a-f]{6,64})")


@dataclass(frozen=True)
class Family:
    """Where the proposals of one label are.

    Attributes:
        repo: the repository that holds them.
        waiting, decided: beginnings of their refs, with a slash at the end; an id follows.
    """

    repo: Repository = field(repr=False)
    waiting: str
    decided: str


@dataclass(frozen=True)
class Proposal:
    """A change that waits.

    Attributes:
        id: names it, and stays the same for as long as it waits.
        base: commit that it was made from.
        tip: commit that makes it.
        reason: why, in the words of who made it.
        when: when it was made, epoch seconds.
    """

    id: str
    base: str
    tip: str
    provenance: Provenance
    reason: str
    when: int


def suggestions_of(workspace: Workspace) -> Family:
    """The family of what sessions, tools and commits suggested in this project."""
    id = workspace.project_id
    return Family(workspace.private, f"{WAITING}{id}/", f"{DECIDED}{id}/")


def dreams_in(scope: Scope) -> Family:
    """The family of what dreams made of a scope."""
    if scope.name != "project":
        waits = "refs/heads/dream/"
    else:
        waits = "refs/gitmem/dream/" if scope.ref == PRIVATE_REF else "refs/heads/gitmem/dream/"
    return Family(scope.repo, waits, TURNED_DOWN)


def dream_branches(scope: Scope) -> list[tuple[str, str, str]]:
    """Each dream's ref, newest commit, and the remote that has it (or nothing), in a fixed order."""
    repo = scope.repo
    here = {ref.rpartition("/")[2]: (ref, oid) for ref, oid in repo.refs(dreams_in(scope).waiting).items()}
    there: dict[str, tuple[str, str, str]] = {}
    for ref, oid in repo.refs("refs/remotes/").items() if scope.ref == SHARED_REF else ():
        if match := _AT_REMOTE.fullmatch(ref):
            there.setdefault(match["id"], (ref, oid, match["remote"]))
    found = []
    for id in sorted({*here, *there}):
        ref, oid = here.get(id, ("", ""))
        far, newest, remote = there.get(id, ("", "", ""))
        # What was edited on the web, or rebased there, is newer than what was pushed.
        ahead = newest and not (oid and repo.is_ancestor(newest, oid))
        found.append((ref or far, newest if ahead else oid, remote))
    return found


def open_tips(family: Family) -> dict[str, str]:
    """Id to newest commit of each proposal that waits, in the order of their ids; no object is read."""
    return _ids(family.repo, family.waiting)


def decided_tips(family: Family) -> dict[str, str]:
    """The same of those that were decided, and can still be brought back."""
    return _ids(family.repo, family.decided)


def all_tips(family: Family) -> dict[str, str]:
    """The same of both: ids that nothing else may get."""
    return {**decided_tips(family), **open_tips(family)}


def read(family: Family, id: str, tip: str) -> Proposal | None:
    """Reads one; None where that commit makes no proposal.

    Raises:
        MissingObject: it cannot be read.
    """
    commit = family.repo.commit(tip)
    if len(commit.parents) != 1:
        return None
    told, reason = parse(commit.message), body_of(commit.message)
    return Proposal(id, commit.parents[0], tip, told, reason, commit.author.time)


def files(family: Family, one: Proposal, paths: set[str]) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """What stands at some paths before and after a proposal: path in the scope's tree to content."""
    trees = (family.repo.commit(oid).tree for oid in (one.base, one.tip))
    before, after = (read_paths(family.repo, tree, paths) for tree in trees)
    return before, after


def record(repo: Repository, tip: str) -> bytes:
    """What a proposal says of itself beside its files; empty where it says nothing."""
    entry = repo.entry(repo.commit(tip).tree, RECORD)
    return repo.blob(entry.oid) if entry else b""


def make(
    family: Family,
    id: str,
    before: Mapping[str, bytes],
    edits: Edits,
    record: bytes,
    subject: str,
    provenance: Provenance,
    reason: str,
    author: Signature,
) -> bool:
    """Lets a change wait.

    Args:
        before: the files that it is about as they stand: path in the scope's tree to content.
        edits: what it makes of them.
        record: what no file says, for `proposal.json`.
        author: who is named, and when.

    Returns:
        Whether it waits now; False where something waits under that id already.

    Raises:
        RepositoryError: the ref cannot be written.
    """
    from gitmem.ledger.land import ROOT_SIGNATURE, root_commit, safe_message  # a look makes no commit

    repo = family.repo
    message = safe_message(subject, provenance, reason)
    with repo.together():
        root = root_commit(repo)
        base = write_tree(repo, repo.commit(root).tree, {FORMAT_FILE: FORMAT_TEXT, **before})
        # Fixed by its content, so that two machines make the same one.
        begun = repo.add_commit(base, (root,), ROOT_SIGNATURE, ROOT_SIGNATURE, f"{BASE_SUBJECT}\n")
        tree = write_tree(repo, base, {**edits, RECORD: record})
        tip = repo.add_commit(tree, (begun,), author, author, message)
    return let_wait(family, id, tip, f"gitmem proposal: {message.splitlines()[0]}")


def let_wait(family: Family, id: str, tip: str, why: str) -> bool:
    """Lets commits wait; returns whether they do, and nothing else had that id. `why` is for the log."""
    from gitmem.git.refs import try_move_ref  # a look moves none

    return try_move_ref(family.repo, family.waiting + id, tip, None, why)


def narrow(family: Family, id: str, known: str, tip: str, why: str) -> None:
    """Leaves less of a proposal to wait, under the same id.

    Args:
        known: where it was read.
        tip: the commits of what is left.
        why: for the log of its ref.

    Raises:
        RefMoved: it is elsewhere by now.
    """
    from gitmem.git.refs import move_ref  # as above

    move_ref(family.repo, family.waiting + id, tip, known, why)


def settle(family: Family, ids: Iterable[str], why: str) -> tuple[str, ...]:
    """Ends the wait of proposals, accepted or not; they are kept for a while, for an undo.

    Args:
        ids: those that do not wait are passed over.
        why: for the log of the refs that keep them.

    Returns:
        Those that waited until now.
    """
    return _shift(family.repo, ids, family.waiting, family.decided, why)


def reopen(family: Family, ids: Iterable[str], why: str) -> tuple[str, ...]:
    """Lets decided proposals wait again; those that wait, or were let go, are passed over."""
    there = open_tips(family)
    wanted = [id for id in ids if id not in there]
    return _shift(family.repo, wanted, family.decided, family.waiting, why)


def _shift(repo: Repository, ids: Iterable[str], source: str, target: str, why: str) -> tuple[str, ...]:
    """Moves what stands under one beginning to the other, all at once, over what stood there."""
    from gitmem.git.refs import move_refs  # as above

    wanted = tuple(dict.fromkeys(ids))
    while wanted:
        here, there = _ids(repo, source), _ids(repo, target)
        wanted = tuple(id for id in wanted if id in here)
        moves: dict[str, tuple[str | None, str | None]] = {}
        for id in wanted:
            moves[source + id] = here[id], None
            moves[target + id] = there.get(id), here[id]
        # Where another process decided one of them the rest is planned anew.
        with suppress(RefMoved):
            move_refs(repo, moves, why)
            break
    return wanted


def let_go(repo: Repository, now: float) -> tuple[str, ...]:
    """Removes what was decided more than 90 days ago, of all projects; the decisions stay in memory.

    Which state of a teammate's inbox was turned down is no proposal kept for an undo: it stays.

    Returns:
        The refs that went.
    """
    from gitmem.git.refs import try_move_ref  # as above

    gone = []
    dreams = {ref: oid for ref, oid in repo.refs(TURNED_DOWN).items() if ref.startswith(f"{TURNED_DOWN}d-")}
    for ref, oid in (repo.refs(DECIDED) | dreams).items():
        moves = repo.reflog(ref)
        with suppress(MissingObject):
            time = moves[0].who.time if moves else repo.commit(oid).committer.time
            old = now - time > DAYS * 86_400
            if old and try_move_ref(repo, ref, None, oid, "gitmem proposal: kept long enough"):
                gone.append(ref)
    return tuple(gone)


def about(repo: Repository, scope: str, paths: Collection[str], project: str = "") -> dict[str, str]:
    """The proposals that change some files, waiting or decided: full ref name to newest commit.

    Args:
        scope: whose files they are.
        project: the project's id; empty for those of all projects.
    """
    found = {}
    prefixes = [f"{family}{project}/" if project else family for family in (WAITING, DECIDED)]
    for ref, oid in [each for prefix in prefixes for each in repo.refs(prefix).items()]:
        with suppress(MissingObject, ValueError, TypeError, LookupError):
            commit = repo.commit(oid)
            changed = changed_files(repo, repo.commit(commit.parents[0]).tree, commit.tree)
            if not changed.isdisjoint(paths) and json.loads(record(repo, oid))["scope"] == scope:
                found[ref] = oid
    return found


def unite(repo: Repository, source: str, target: str) -> None:
    """Copies what waits for one project to another that is the same code; what waits there stays."""
    from gitmem.git.refs import try_move_ref  # as above

    for ref, oid in repo.refs(f"{WAITING}{source}/").items():
        name = f"{WAITING}{target}/{ref.rpartition('/')[2]}"
        if repo.ref(name) is None:
            try_move_ref(repo, name, oid, None, f"gitmem init: take in {source}")


def history(family: Family) -> Iterator[Proposal]:
    """What waits and what was decided lately, each once."""
    for id, tip in all_tips(family).items():
        one = read(family, id, tip)
        if one is not None:
            yield one


def _ids(repo: Repository, prefix: str) -> dict[str, str]:
    found = {ref.removeprefix(prefix): oid for ref, oid in repo.refs(prefix).items()}
    return {id: oid for id, oid in found.items() if "/" not in id}
