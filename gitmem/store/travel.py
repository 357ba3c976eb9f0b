"""Moving through a memory's history: take a change back, lay a past state out.

Nothing here rewrites history: what is taken back is one more commit on the tip.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from gitmem.core import attributes, tombstone
from gitmem.core.errors import CheckFailed, RepositoryError, UsageError
from gitmem.core.merge import kind, merge_trees
from gitmem.core.names import ARCHIVE, FORMAT_FILE, twins
from gitmem.core.text import decode, encode
from gitmem.core.trailers import MOVE_JOB, Provenance
from gitmem.core.trailers import parse as parse_trailers
from gitmem.rules.paths import check_path
from gitmem.rules.screen import refuse_secrets
from gitmem.store.commits import Tip, Write, Written, commit, read_tip
from gitmem.store.files import linked
from gitmem.store.history import is_root
from gitmem.store.holdings import taught
from gitmem.store.indexes import remade
from gitmem.store.live_plan import describe
from gitmem.store.locks import writer_lock
from gitmem.store.merging import landing
from gitmem.store.record import Record, read_record, write_record
from gitmem.store.replace import replace_file
from gitmem.store.repository import Commit, Repository, Signature
from gitmem.store.scan import blob_name, is_laid_out, label, scan
from gitmem.store.trees import changed_files, list_files, read_paths
from gitmem.store.unshared import as_it_was
from gitmem.store.workspace import LiveDirectory, Scope

HALVES_APART = 1_000
"""Commits among which the other half of a move is looked for."""

KEPT_OPS = frozenset({"adopt", "page", "purge"})
"""What `undo` leaves alone: adopting took in what was on disk, what was paged out is where it belongs (the
next writer would page it out again), and purging is meant to last."""

_KEPT_HINTS = {
    "adopt": "Delete single memories with: git mem forget NAME",
    "page": "A memory comes back when it is changed, or by: git mem restore NAME --at REV",
}


@dataclass(frozen=True)
class Undoing:
    """A change that can be taken back.

    Attributes:
        edits: what taking it back changes on the tip.
        buried: (path, text) of what stays away because a person forgot it.
    """

    scope: Scope
    target: Commit
    edits: dict[str, bytes | None]
    buried: tuple[tuple[str, str], ...] = ()


def newest_undoable(scope: Scope, mine: Callable[[Signature], bool] | None = None) -> Undoing | None:
    """The newest change that is in force: no undo, and not undone itself; None where none is left.

    Args:
        mine: whose changes count; None for everybody's. Merges count only where a person made them.
    """
    repo = scope.repo
    if repo.ref(scope.ref) is None:
        return None
    tip = read_tip(repo, scope.ref)
    for candidate in _in_force(repo, tip.commit):
        provenance = parse_trailers(candidate.message)
        foreign = mine is not None and not mine(candidate.author)
        # A snapshot that was taken in has no parent: nothing stood there before it.
        if foreign or provenance.op in KEPT_OPS or _is_sync(candidate) or not candidate.parents:
            continue
        planned = plan_undo(scope, tip, candidate)
        # What gitmem tells git, and its own lines of an index, would be back at once.
        left = planned.edits.keys() - {attributes.FILE}
        if any(kind(path) != "index" for path in left) or left - remade(repo, tip.tree, planned.edits):
            return planned
    return None


def plan_undo(scope: Scope, tip: Tip, target: Commit) -> Undoing:
    """What takes one change back on the tip: a merge of the tip with the state before it.

    Raises:
        UsageError: it cannot be taken back.
    """
    repo = scope.repo
    op = parse_trailers(target.message).op
    if is_root(target):
        raise UsageError(f"{target.oid[:12]} is where the memory begins: there is nothing to undo")
    if op in KEPT_OPS:
        hint = _KEPT_HINTS.get(op, "")
        raise UsageError(f"{target.oid[:12]} is of the kind {op!r}, which cannot be undone", hint)
    if _is_sync(target) or not target.parents:
        raise UsageError(
            f"{target.oid[:12]} only joins two histories: it has no change of its own to undo",
            "Undo one of the changes that it brought: git mem log",
        )
    # What was left out of it before it was shared is here still.
    whole = as_it_was(repo, target)
    before = repo.commit(whole.parents[0]).tree
    paths = changed_files(repo, before, whole.tree) | changed_files(repo, whole.tree, tip.tree)
    paths = {path for path in paths if path != FORMAT_FILE}
    paths |= {f"{path.partition('/')[0]}/{tombstone.FILE}" for path in paths if "/" in path}
    paths |= twins(paths)
    sides = [read_paths(repo, tree, paths) for tree in (whole.tree, tip.tree, before)]
    merged = merge_trees(*_with_equal_stones(sides))
    edits, merged = landing(repo, tip.tree, paths, sides[1], merged)
    return Undoing(scope, target, edits, merged.buried)


def take_back(
    scope: Scope,
    target: Commit,
    author: Signature,
    code_commit: str = "",
    allow: frozenset[str] = frozenset(),
) -> Written | None:
    """Takes a change back as one commit; None where nothing of it is left.

    Args:
        allow: fingerprints of accepted secrets.

    Raises:
        CheckFailed: it would bring a secret back.
    """

    def plan(tip: Tip) -> Write | None:
        edits = plan_undo(scope, tip, target).edits
        if not edits:
            return None
        before = read_paths(scope.repo, tip.tree, set(edits))
        refuse_secrets(before, edits, allow)
        op, _ = describe(edits, before)
        provenance = Provenance(op=op, writer="human", code_commit=code_commit, undoes=target.oid)
        return Write(edits, f"Undo: {target.subject}", provenance)

    return commit(scope.repo, scope.ref, plan, author)


def other_half(scopes: Iterable[Scope], done: Undoing) -> Undoing | None:
    """The change of another scope that was made by the same command: a move is two commits.

    Returns:
        What takes it back; None where the change stands alone.
    """
    job = parse_trailers(done.target.message).job
    if not job.startswith(MOVE_JOB):
        return None
    for scope in scopes:
        if scope.name == done.scope.name or scope.repo.ref(scope.ref) is None:
            continue
        tip = read_tip(scope.repo, scope.ref)
        for candidate in islice(scope.repo.history(tip.commit), HALVES_APART):
            if parse_trailers(candidate.message).job == job:
                return plan_undo(scope, tip, candidate)
    return None


@dataclass(frozen=True)
class LaidOut:
    """A live directory in which a past state was laid out; `files` are those that were replaced."""

    live: LiveDirectory
    commit: str
    files: tuple[str, ...]


def unsaved(live: LiveDirectory) -> tuple[str, ...]:
    """Files of a live directory that hold something the ref does not: after a save, what was refused."""
    record = read_record(live.scope.state, live.key)
    known = record.files if record else {}
    length = live.scope.repo.hex_length
    return tuple(
        name
        for name, data in sorted(scan(live).files.items())
        if blob_name(data, length) != known.get(name)
    )


def lay_out(live: LiveDirectory, then: str, pinned: str, now: float) -> LaidOut:
    """Lays a past state of an agent's memory out in its live directory, which must have been saved.

    From then on an edit there is a change of that past state, and a save merges it onto the tip.

    Args:
        then: the commit.
        pinned: how the person named it.
        now: seconds since the epoch.

    Raises:
        CheckFailed: a file changed since it was saved; nothing was replaced.
    """
    repo = live.scope.repo
    with writer_lock(live.scope.state / "live", live.key, timeout=30.0):
        if linked(live.anchor, live.path):
            raise CheckFailed(
                f"{live.path} is a symbolic link, or behind one, and is not followed",
                "Replace the link by a folder and run it again.",
            )
        refused = unsaved(live)
        if refused:
            raise CheckFailed(
                f"{live.path / refused[0]} holds something that is not saved",
                "See what and why: git mem status; settle it, then run this again.",
            )
        seen = scan(live).files
        then_files = list_files(repo, repo.commit(then).tree, live.agent, frozenset({ARCHIVE}))
        target = {
            path.removeprefix(f"{live.agent}/"): oid
            for path, oid in then_files.items()
            if is_laid_out(path.removeprefix(f"{live.agent}/"))
        }
        standing = {name: blob_name(data, repo.hex_length) for name, data in seen.items()}
        shown = Record(str(live.path), then, target, before=standing, laid_out=now, pinned=pinned)
        record = replace(shown, home=live.home)
        # Written first: who dies in between leaves a directory whose next save holds on to what it finds.
        write_record(live.scope.state, live.key, record)
        times = taught(live.scope, then, live.agent)
        aside = live.scope.state / "displaced" / live.key
        done = []
        for name in sorted({*target, *standing}):
            if target.get(name) == standing.get(name):
                continue
            data = repo.blob(target[name]) if name in target else None
            replace_file(
                live.path / name, data, aside, label(name, standing.get(name, "")), times.get(name)
            )
            done.append(name)
        return LaidOut(live, then, tuple(done))


def unpin(live: LiveDirectory) -> bool:
    """Lets a live directory follow the tip again from its next save on; whether it had been pinned."""
    with writer_lock(live.scope.state / "live", live.key, timeout=30.0):
        record = read_record(live.scope.state, live.key)
        if record is None or not record.pinned:
            return False
        write_record(live.scope.state, live.key, replace(record, pinned=""))
        return True


def write_out(folder: Path, files: Mapping[str, bytes]) -> None:
    """Writes files into a folder of their own.

    Args:
        folder: made where it is missing; what is above it may be reached through links, it may be none.
        files: path below it to content.

    Raises:
        UsageError: it is not empty, or no folder.
        RepositoryError: it cannot be written.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise UsageError(f"{folder} is no folder", "Give a new folder.")
    if folder.is_dir() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty", "Give an empty or a new folder: nothing is overwritten.")
    try:
        for path, data in sorted(files.items()):
            reason = check_path(path)
            if reason:
                raise UsageError(f"{path!a} cannot be written out: {reason}")
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
    except OSError as error:
        raise RepositoryError(
            f"{folder} cannot be written: {error.strerror}", "Give another folder."
        ) from error


def _in_force(repo: Repository, tip: str) -> Iterator[Commit]:
    """Commits that are no undo and not undone, newest first; an undo that was undone itself is void."""
    undone: set[str] = set()
    for candidate in repo.history(tip):
        if candidate.oid in undone or is_root(candidate):
            continue
        target = parse_trailers(candidate.message).undoes
        if target:
            undone.add(target)
        else:
            yield candidate


def _with_equal_stones(sides: Sequence[Mapping[str, bytes]]) -> list[dict[str, bytes]]:
    """Base, tip and past with the merged tombstones in all: one that goes must bury nothing any more."""
    paths = {path for side in sides for path in side if kind(path) == "tombstones"}
    stones = {
        path: encode(tombstone.merge(*(decode(side.get(path, b"")) for side in sides))) for path in paths
    }
    kept = {path: data for path, data in stones.items() if data}
    return [{path: data for path, data in side.items() if path not in paths} | kept for side in sides]


def _is_sync(candidate: Commit) -> bool:
    """A merge of two clones' histories, whose first parent is nobody's in particular."""
    return len(candidate.parents) > 1 and parse_trailers(candidate.message).writer == "sync"
