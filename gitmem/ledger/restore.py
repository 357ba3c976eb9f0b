"""Moving through a memory's history: take a change back, bring memories back, lay a past state out.

Nothing here rewrites history: what is taken back, or brought back, is one more commit on the tip.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, repeat
from pathlib import Path

from gitmem.core import index, tombstone
from gitmem.core.claim import DISPUTE_LENGTH, DISPUTED_BYTES, claim_id, with_dispute
from gitmem.core.errors import RepositoryError, UsageError
from gitmem.core.limits import HOT_MEMORIES
from gitmem.core.memory import Memory, disputed_keys, parse
from gitmem.core.merge import merge_trees
from gitmem.core.names import (
    ARCHIVE,
    FORMAT_FILE,
    agent_folder,
    archived_path,
    file_name,
    hot_path,
    is_agent_folder,
    is_memory_file,
    kind,
    numbered_names,
    twins,
)
from gitmem.core.text import decode, encode
from gitmem.core.trailers import Provenance, batch_of
from gitmem.core.trailers import parse as parse_trailers
from gitmem.git.repository import Commit, Repository, Signature
from gitmem.git.trees import changed_files, read_file, read_paths
from gitmem.ledger.epochs import former
from gitmem.ledger.holdings import taught
from gitmem.ledger.indexes import remade, with_indexes
from gitmem.ledger.land import Copies, Tip, Write, Written, land, read_tip
from gitmem.ledger.merge import landing
from gitmem.ledger.moments import is_root
from gitmem.ledger.paging import hot_memories
from gitmem.ledger.push_plan import as_it_was, unshared_tips
from gitmem.ledger.save_plan import describe
from gitmem.ledger.workspace import Scope
from gitmem.rules.paths import check_path
from gitmem.rules.screen import refuse_secrets

FAR_APART = 10_000
"""Commits of a scope among which others of the same command are looked for."""

KEPT_OPS = frozenset({"adopt", "page", "purge"})
"""What `undo` leaves alone: adopting took in what was on disk, what was paged out is where it belongs (the
next writer would page it out again) until what it made room for is undone, and purging is meant to last."""

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
        passed: newer commits that are no person's change of memory, or meant to last: they stay.
        left: of somebody else's purge the history that it replaced; else empty.
    """

    scope: Scope
    target: Commit
    edits: dict[str, bytes | None]
    buried: tuple[tuple[str, str], ...] = ()
    passed: tuple[Commit, ...] = ()
    left: str = ""


def newest_undoable(scopes: Iterable[Scope], mine: Callable[[Scope, Commit], bool]) -> Undoing | None:
    """The newest change that is in force: no undo, and not undone itself; None where none is left.

    Args:
        mine: whose changes count. Merges count only where a person made them.
    """
    tips = {scope: read_tip(scope.repo, scope.ref) for scope in scopes if scope.repo.ref(scope.ref)}
    passed: dict[Scope, list[Commit]] = {scope: [] for scope in tips}
    streams = [zip(repeat(scope), _in_force(scope, tip.commit, mine)) for scope, tip in tips.items()]
    for scope, candidate in heapq.merge(*streams, key=lambda pair: -pair[1].committer.time):
        provenance = parse_trailers(candidate.message)
        # A snapshot that was taken in has no parent: nothing stood there before it.
        if (
            not mine(scope, candidate)
            or provenance.op in KEPT_OPS
            or _is_sync(candidate)
            or not candidate.parents
        ):
            passed[scope] += [candidate] if provenance.op == "purge" else []
            continue
        if provenance.writer == "sync" and provenance.op in ("sync", "restore"):
            passed[scope].append(candidate)
            continue
        planned = plan_undo(scope, tips[scope], candidate)
        # What gitmem tells git and hosts stands in no agent's folder; its own lines of an index would be
        # back at once.
        left = {path for path in planned.edits if is_agent_folder(agent_folder(path))}
        own = remade(scope.repo, tips[scope].tree, planned.edits)
        if any(kind(path) != "index" for path in left) or left - own:
            return replace(planned, passed=tuple(passed[scope]))
        passed[scope] += [candidate] if planned.edits and not left else []
    return None


def replaced_by(repo: Repository, ref: str, purge: str) -> str | None:
    """The history that a memory ref left for somebody else's purge; None where nothing of it is kept.

    Args:
        purge: the commit that was agreed to.
    """
    left = [oid for oid in former(repo, ref) if not repo.is_ancestor(purge, oid)]
    return max(left, key=lambda oid: repo.commit(oid).committer.time, default=None)


def plan_undo(scope: Scope, tip: Tip, target: Commit, left: str = "") -> Undoing:
    """What takes one change back on the tip: a merge of the tip with the state before it.

    Memories that were paged out since come back as far as that leaves room.

    Args:
        left: of somebody else's purge the history that it replaced, from `replaced_by`.

    Raises:
        UsageError: it cannot be taken back.
    """
    if left:
        return _plan(scope, tip, target, target.tree, scope.repo.commit(left).tree)
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
    whole = as_it_was(repo, target) if scope.name == "project" else target
    return _plan(scope, tip, target, whole.tree, repo.commit(whole.parents[0]).tree)


def _plan(scope: Scope, tip: Tip, target: Commit, after: str, before: str) -> Undoing:
    """The merge of the tip with a tree that a change made another one of."""
    repo = scope.repo
    paths = changed_files(repo, before, after) | changed_files(repo, after, tip.tree)
    paths = {path for path in paths if path != FORMAT_FILE}
    paths |= {f"{path.partition('/')[0]}/{tombstone.FILE}" for path in paths if "/" in path}
    paths |= twins(paths)
    sides = [read_paths(repo, tree, paths) for tree in (after, tip.tree, before)]
    # An index that was not there was an empty one: a change that made it goes out of it line by line, too.
    made = {path: b"" for side in sides for path in side.keys() - sides[2].keys() if kind(path) == "index"}
    merged = merge_trees(*(made | side for side in _with_equal_stones(sides)))
    ended = {path for path in made if not merged.files.get(path) and sides[1].get(path) != b""}
    merged = replace(merged, files={p: data for p, data in merged.files.items() if p not in ended})
    edits, merged = landing(repo, tip.tree, paths, sides[1], merged)
    edits = {path: _undisputed(path, data, sides[1].get(path, b"")) for path, data in edits.items()}
    edits = _refilled(scope, tip, target, _with_fit_names(repo, tip.tree, edits))
    # A write gives lines to memories that had none, too, and those stay.
    bare = dict.fromkeys(ended & edits.keys(), b"")
    edits = with_indexes(repo, tip.tree, edits | bare)
    edits |= {path: None for path in bare if not edits[path]}
    return Undoing(scope, target, edits, merged.buried)


def _undisputed(path: str, data: bytes | None, standing: bytes) -> bytes | None:
    """A file without the marks of disputes of which one version of a claim is left.

    What both versions were made of stays away: the one that is left took its place.
    """
    if data is None or kind(path) != "memory" or DISPUTED_BYTES not in data:
        return data
    memory = parse(path, data)
    marks = [claim.dispute for claim in memory.parsed.claims]
    # Of a disputed value of the frontmatter the other version stands there.
    lone = {mark for mark in marks if mark and marks.count(mark) == 1} - disputed_keys(memory).keys()
    known, body = {claim.key for claim in parse(path, standing).claims}, ""
    for claim in memory.parsed.claims:
        if claim.key not in known and claim_id(claim.key)[:DISPUTE_LENGTH] in lone:
            continue
        text = with_dispute(claim.text, "") if claim.dispute in lone else claim.text
        body += (claim.lead if body else memory.parsed.claims[0].lead) + text
    return Memory(path, memory.front, body + memory.parsed.tail).render() if lone else data


def _with_fit_names(
    repo: Repository, tree: str, edits: Mapping[str, bytes | None]
) -> dict[str, bytes | None]:
    """The edits, with memories that come back to a path where none may be written at another one.

    Such a file stood on the branch since somebody committed it there by hand, and was set aside.
    """
    placed: dict[str, bytes | None] = {}
    for path, data in edits.items():
        agent = agent_folder(path)
        if data is None or kind(path) != "memory" or not is_agent_folder(agent) or not check_path(path):
            placed[path] = data
            continue
        for file in (f"{agent}/{file_name(name)}" for name in numbered_names(parse(path, data).name)):
            stands = edits.get(file) or placed.get(file) or read_file(repo, tree, file)
            if stands in (None, data):
                placed |= {} if stands else {file: data}
                break
    return placed


def _refilled(
    scope: Scope, tip: Tip, target: Commit, edits: dict[str, bytes | None]
) -> dict[str, bytes | None]:
    """The edits of an undo, with what was paged out since where they leave room for it: the newest first.

    What an undone change brought had sent other memories to the archive. No paging brings those back, and
    without them the agent would be left with nothing.
    """
    repo, filled = scope.repo, dict(edits)
    paged: set[str] | None = None
    for agent in sorted(filter(is_agent_folder, {path.partition("/")[0] for path in edits})):
        # No history is walked where nothing was ever paged out.
        if repo.entry(tip.tree, f"{agent}/{ARCHIVE}") is None:
            continue
        stood = hot_memories(repo, tip.tree, agent).keys()
        own = f"{agent}/"
        mine = {
            path: data
            for path, data in edits.items()
            if path.startswith(own) and is_memory_file(path.removeprefix(own))
        }
        left = {path for path in stood | mine.keys() if mine.get(path, b"") is not None}
        room = HOT_MEMORIES - len(left)
        if len(left) >= len(stood) or room <= 0:
            continue
        if paged is None:
            paged = _paged_since(repo, tip, target)
        places = {place for place in paged if place.startswith(own)} - edits.keys()
        given = read_paths(repo, tip.tree, places)
        found = {hot: place for place in given if (hot := hot_path(place)) and hot not in left}
        ages = taught(scope, tip.commit, agent, archived=True) if len(found) > room else {}
        # The order of paging, from its end.
        order = sorted(found, key=lambda hot: (ages.get(found[hot].removeprefix(own), 0), hot))
        for hot in order[-room:]:
            filled |= {found[hot]: None, hot: given[found[hot]]}
    return filled


def _paged_since(repo: Repository, tip: Tip, target: Commit) -> set[str]:
    """Where in the archive memories went by commits of paging that are newer than a change."""
    places: set[str] = set()
    for candidate in islice(repo.history(tip.commit), FAR_APART):
        if candidate.oid == target.oid:
            break
        if parse_trailers(candidate.message).op == "page" and candidate.parents:
            changed = changed_files(repo, repo.commit(candidate.parents[0]).tree, candidate.tree)
            places |= {path for path in changed if hot_path(path) in changed and kind(path) == "memory"}
    return places


def still_there(done: Undoing, *, dry_run: bool) -> tuple[str, ...]:
    """Memories that an undone change made and that stay all the same: they were edited since.

    Args:
        dry_run: whether it was only planned.
    """
    repo, target = done.scope.repo, done.target
    if done.left or not target.parents:
        return ()
    before = repo.commit(target.parents[0]).tree
    paths = {path for path in changed_files(repo, before, target.tree) if kind(path) == "memory"}
    was, made = read_paths(repo, before, paths), read_paths(repo, target.tree, paths)
    now = read_paths(repo, read_tip(repo, done.scope.ref).tree, paths) | (done.edits if dry_run else {})
    return tuple(sorted(path for path in made.keys() - was.keys() if now.get(path) is not None))


def take_back(
    scope: Scope,
    target: Commit,
    author: Signature,
    code_commit: str = "",
    allow: frozenset[str] = frozenset(),
    job: str = "",
    left: str = "",
    copies: Copies | None = None,
) -> Written | None:
    """Takes a change back as one commit; None where nothing of it is left.

    Args:
        allow: fingerprints of accepted secrets.
        job: what it shares with others that are taken back with it.
        left: as for `plan_undo`.
        copies: brings working copies up to date.

    Raises:
        CheckFailed: it would bring a secret back.
    """

    def plan(tip: Tip) -> Write | None:
        edits = plan_undo(scope, tip, target, left).edits
        if not edits:
            return None
        before = read_paths(scope.repo, tip.tree, set(edits))
        refuse_secrets(before, edits, allow)
        op, _ = describe(edits, before)
        provenance = Provenance(op=op, writer="human", code_commit=code_commit, undoes=target.oid, job=job)
        # One that was never shared says what nobody else has read.
        repeats = scope.name != "project" or scope.repo.is_ancestor(target.oid, tip.commit)
        return Write(edits, f"Undo: {target.subject}", provenance, repeats=repeats)

    return land(scope, plan, author, copies)


def made_together(scopes: Iterable[Scope], done: Undoing) -> tuple[tuple[Scope, Commit], ...]:
    """The other changes that the same command made: of a move its other half, of a batch the rest of it.

    Returns:
        Scope and commit of each, newest first in each scope; whether something of it is left is not said.
    """
    # Of what moved to a private scope the commit that left does not say so.
    batch = batch_of(parse_trailers(as_it_was(done.scope.repo, done.target).message).job)
    found = []
    for scope in scopes if batch else ():
        tip = scope.repo.ref(scope.ref)
        # What never left and took itself back is in no history but what a sync kept.
        aside = unshared_tips(scope.repo) if scope != done.scope else ()
        for start in (tip, *aside) if tip else ():
            others = [(scope, one) for one in _of_batch(scope.repo, start, batch, done.target)]
            found += others
            if others:
                break
    return tuple(found)


def _of_batch(repo: Repository, tip: str, batch: str, known: Commit) -> Iterator[Commit]:
    for candidate in islice(repo.history(tip), FAR_APART):
        if candidate.oid == known.oid or batch not in candidate.message:
            continue
        told, whose = parse_trailers(candidate.message), candidate.author.email
        # Trailers can be forged: what somebody else wrote is never undone by the way.
        mine = whose == known.author.email and len(candidate.parents) > 0
        if mine and batch_of(told.job) == batch and told.op not in KEPT_OPS and not _is_sync(candidate):
            yield candidate


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


def _in_force(scope: Scope, tip: str, mine: Callable[[Scope, Commit], bool]) -> Iterator[Commit]:
    """Commits that are no undo and not undone, newest first; an undo that was undone itself is void."""
    undone: set[str] = set()
    for candidate in scope.repo.history(tip):
        if candidate.oid in undone or is_root(candidate):
            continue
        target = parse_trailers(candidate.message).undoes
        if not target:
            yield candidate
        elif mine(scope, candidate):  # trailers can be forged: of others' undos the trees tell
            undone.add(target)


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


@dataclass(frozen=True)
class Restored:
    """What a restore would do, or did.

    Attributes:
        edits: path in the tree to content, None for what came since then.
        forgotten: paths that stay away because a person forgot them.
    """

    edits: dict[str, bytes | None]
    forgotten: tuple[str, ...] = ()


def plan_restore(
    repo: Repository, tip: Tip, then: str, wanted: Collection[str] | None = None, agent: str = ""
) -> Restored:
    """Compares the tip with a past state and says what brings that back.

    Args:
        then: the commit to go back to.
        wanted: paths from the root of the memories to bring back, with their index lines, from the archive
            too; None for all that agents' folders hold, so that what came since then goes.
        agent: only this agent's folder; empty for every agent's.

    Returns:
        The edits. A single memory that was forgotten comes back, and its tombstones are lifted: a person
        asked for it by name. A whole state does not bring back what was forgotten.
    """
    old = repo.commit(then).tree
    if wanted is None:
        changed = {
            path
            for path in changed_files(repo, tip.tree, old)
            if "/" in path and agent in ("", path.partition("/")[0]) and check_path(path) is None
        }
        return _restore_all(repo, tip, old, changed)
    edits = _with_fit_names(repo, tip.tree, _restored(repo, tip, old, set(wanted)))
    for folder in {path.partition("/")[0] for path in edits}:
        mine = {path: data for path, data in edits.items() if path.startswith(f"{folder}/")}
        at = f"{folder}/{tombstone.FILE}"
        stones = decode(read_file(repo, tip.tree, at) or b"")
        _put(edits, at, stones, tombstone.without_keys(stones, _keys(mine)))
    edits = with_indexes(repo, tip.tree, edits)
    return Restored(edits)


def restore_as_of(
    scope: Scope,
    then: str,
    author: Signature,
    subject: str,
    wanted: Collection[str] | None = None,
    agent: str = "",
    code_commit: str = "",
    allow: frozenset[str] = frozenset(),
    copies: Copies | None = None,
) -> Written | None:
    """Brings a past state back as one commit on the tip (arguments as for `plan_restore`).

    Args:
        allow: fingerprints of accepted secrets.
        copies: brings working copies up to date.

    Returns:
        The commit, or None where all is as it was then.

    Raises:
        CheckFailed: it would bring a secret back.
    """
    provenance = Provenance(op="restore", writer="human", code_commit=code_commit)

    def plan(tip: Tip) -> Write | None:
        edits = plan_restore(scope.repo, tip, then, wanted, agent).edits
        # A past state may hold what others pushed, or what was allowed then.
        refuse_secrets(read_paths(scope.repo, tip.tree, set(edits)), edits, allow)
        return Write(edits, subject, provenance, f"As of {then[:12]}.") if edits else None

    return land(scope, plan, author, copies)


def _restore_all(repo: Repository, tip: Tip, old: str, changed: set[str]) -> Restored:
    paths = {path for path in changed if kind(path) in ("memory", "index", "log")}
    before = read_paths(repo, old, paths)
    edits: dict[str, bytes | None] = {path: before.get(path) for path in paths}
    forgotten: list[str] = []
    for agent in sorted({path.partition("/")[0] for path in paths}):
        at = f"{agent}/{tombstone.FILE}"
        stones = tombstone.parse(decode(read_file(repo, tip.tree, at) or b""))
        for path in sorted(path for path in edits if path.startswith(f"{agent}/")):
            data = edits[path]
            if data is None or kind(path) != "memory":
                continue
            claims = parse(path, data).parsed.claims
            if claims and all(tombstone.matches(stones, claim.key) for claim in claims):
                forgotten.append(path)
    for path in forgotten:
        del edits[path]
        at = f"{path.partition('/')[0]}/{index.INDEX}"
        listed = edits.get(at)
        if listed is not None:
            edits[at] = encode(index.without_entry(decode(listed), path.partition("/")[2]))
    return Restored(edits, tuple(forgotten))


def _restored(repo: Repository, tip: Tip, old: str, wanted: set[str]) -> dict[str, bytes | None]:
    """Edits that put memories as they were where the agent sees them."""
    homes = {hot_path(path) or path for path in wanted}
    places = {home: place for home in homes if (place := archived_path(home))}
    paths = homes | set(places.values())
    before, now = read_paths(repo, old, paths), read_paths(repo, tip.tree, paths)
    edits = {home: before.get(home, before.get(places.get(home, ""))) for home in homes}
    edits |= dict.fromkeys(places.values())
    return {path: data for path, data in edits.items() if now.get(path) != data}


def _keys(edits: dict[str, bytes | None]) -> list[str]:
    return [
        claim.key for path, data in edits.items() if data is not None for claim in parse(path, data).claims
    ]


def _put(edits: dict[str, bytes | None], path: str, old: str, new: str) -> None:
    if new != old:
        edits[path] = encode(new) if new else None
