"""A person's decision on a dream: shown claim by claim, landed by merge, or remembered as rejected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from gitmem.dream.branch import REJECTED, Dream, DreamCommit, open_dreams, reviewed
from gitmem.dream.landing import buried, close
from gitmem.errors import CheckFailed, UsageError
from gitmem.memory import index, tombstone
from gitmem.memory.account import Account, account, is_memory
from gitmem.memory.encoding import decode, encode
from gitmem.memory.memory import parse
from gitmem.memory.merge import kind, merge_trees
from gitmem.memory.names import is_agent_folder
from gitmem.memory.trailers import Fate, Provenance
from gitmem.memory.trailers import parse as parse_trailers
from gitmem.store.burying import spade
from gitmem.store.commits import Tip, Write, Written, commit
from gitmem.store.merging import check_paths, without_collisions
from gitmem.store.repository import Signature
from gitmem.store.screen import screen
from gitmem.store.trees import changed_files, read_files, read_paths
from gitmem.store.workspace import Workspace
from gitmem.values import dataclass

__all__ = ["Dream", "DreamCommit", "Landed", "accept", "find_dream", "open_dreams", "reject", "show"]


@dataclass(frozen=True)
class Landed:
    """What a decision did.

    Attributes:
        numbers: the changes that were decided.
        written: the commit on the memory ref; None where nothing was left to write.
        agents: agents whose live directories are now behind.
        closed: whether nothing of the dream is open any more.
    """

    dream: Dream
    numbers: tuple[int, ...]
    written: Written | None
    agents: tuple[str, ...]
    closed: bool


def find_dream(workspace: Workspace, id: str) -> Dream:
    """The open dream with this id.

    Raises:
        UsageError: there is none.
    """
    waiting = open_dreams(workspace)
    for dream in waiting:
        if dream.id == id:
            return dream
    hint = f"Open are: {', '.join(d.id for d in waiting)}." if waiting else "No dream waits for review."
    raise UsageError(f"There is no open dream {id!r}", hint)


def show(dream: Dream) -> Iterator[str]:
    """Lines that tell a dream claim by claim: what it was, what it becomes, and why."""
    number = len(dream.changes)
    where = f", from {dream.remote}" if dream.incoming else ""
    yield f"{dream.id} ({dream.scope.name}{where}): {number} {'change' if number == 1 else 'changes'}"
    for change in dream.changes:
        yield ""
        by = f" (edit of the branch by {change.by})" if change.by else ""
        yield f"{change.n}. {change.subject}{by}" + (f" [{change.decided}]" if change.decided else "")
        for line in change.reason.splitlines():
            yield f"   {line}"
        for story in change.claims:
            arrow = f" -> {story.fate.target}" if story.fate.target else ""
            yield f"   {story.fate.kind} {story.fate.source}{arrow}"
            same = story.before == story.after
            yield from (f"   {'=' if same else '-'} {line}" for line in story.before.splitlines())
            yield from (f"   + {line}" for line in story.after.splitlines() if not same)
    if dream.summary:
        yield ""
        yield from dream.summary.splitlines()


def accept(
    workspace: Workspace,
    id: str,
    numbers: tuple[int, ...] | None,
    author: Signature,
    now: float,
    allow: frozenset[str] = frozenset(),
) -> Landed:
    """Lands a dream, or some of its changes, on the memory ref.

    Memory that arrived meanwhile is kept: the whole lands by one three-way merge from where the dream
    left, single changes each from the state before it. The index is brought in line.

    Args:
        numbers: changes to accept; None for all that are open.
        author: the person, at the present.
        now: seconds since the epoch; the commit's time is the author's.
        allow: fingerprints of accepted secrets.

    Raises:
        UsageError: no such dream or change.
        CheckFailed: memory changed so that a claim would be lost, or a secret would be stored.
    """
    dream = find_dream(workspace, id)
    chosen = _chosen(dream, numbers)
    everything = len(chosen) == len(dream.changes)
    author = replace(author, time=int(now))
    _refuse_foreign(dream)

    def plan(tip: Tip) -> Write:
        ours = read_files(dream.scope.repo, tip.tree)
        merged = _whole(dream, ours) if everything else _some(chosen, ours)
        done = _checked(dream, chosen, ours, merged, allow)
        _tidy_indexes(ours, merged)
        edits = {
            path: merged.get(path)
            for path in sorted({*ours, *merged})
            if ours.get(path) != merged.get(path)
        }
        return Write(
            edits,
            _subject("Accept", dream, chosen, everything),
            Provenance(
                op="dream",
                writer="dream",
                engine=_engine(dream),
                reviewed=reviewed(id, None if everything else tuple(change.n for change in chosen)),
                claims=done.fates,
            ),
            "\n".join(f"{change.n}. {change.subject}" for change in chosen),
            # The dream's own commits stay in history, with their reasons.
            parents=(dream.tip,) if everything else (),
        )

    written = commit(dream.scope.repo, dream.scope.ref, plan, author)
    return _settled(dream, chosen, written, parked=any(c.decided == "rejected" for c in dream.changes))


def reject(
    workspace: Workspace,
    id: str,
    numbers: tuple[int, ...] | None,
    why: str,
    author: Signature,
    now: float,
) -> Landed:
    """Turns a dream down, or some of its changes, and remembers that, so that they are not proposed again.

    Args: as for `accept`; `why` is kept in the commit.

    Raises:
        UsageError: no such dream or change.
    """
    dream = find_dream(workspace, id)
    chosen = _chosen(dream, numbers)
    everything = len(chosen) == len(dream.changes)
    with_what = spade(workspace, dream.scope, now)
    author = replace(author, time=int(now))

    def plan(tip: Tip) -> Write:
        return Write(
            buried(dream.scope.repo, tip.tree, chosen, with_what),
            _subject("Reject", dream, chosen, everything),
            Provenance(
                op="update",
                writer="human",
                reviewed=reviewed(id, None if everything else tuple(change.n for change in chosen)),
            ),
            why.strip(),
        )

    written = commit(dream.scope.repo, dream.scope.ref, plan, author)
    return _settled(dream, chosen, written, parked=True)


def _chosen(dream: Dream, numbers: tuple[int, ...] | None) -> tuple[DreamCommit, ...]:
    if numbers is None:
        return dream.open
    known = {change.n: change for change in dream.open}
    unknown = sorted(set(numbers) - known.keys())
    if unknown or not numbers:
        listed = ", ".join(map(str, known))
        raise UsageError(
            f"{dream.id} has no open change {unknown[0] if unknown else ''}", f"Open are: {listed}."
        )
    return tuple(known[number] for number in sorted(set(numbers)))


def _refuse_foreign(dream: Dream) -> None:
    """Raises where a branch, which a teammate or a host may have pushed, is not what a dream may be."""
    repo = dream.scope.repo
    trees = repo.commit(dream.base).tree, repo.commit(dream.tip).tree
    changed = changed_files(repo, *trees)
    check_paths(changed)
    for path in sorted(changed):
        if kind(path) == "memory" and not is_memory(path):
            raise CheckFailed(f"{dream.id} writes {path!a}, which is no memory of an agent", _HINT)
    fresh = read_paths(repo, trees[1], set(filter(is_memory, changed)))
    personal = [path for path, data in sorted(fresh.items()) if parse(path, data).type == "user"]
    if personal and dream.scope.name == "project":
        raise CheckFailed(f"{dream.id} would share {personal[0]}, which is about a person", _HINT)


_HINT = "Look at it: git mem review show ID; turn it down: git mem review reject ID -m WHY"


def _whole(dream: Dream, ours: Mapping[str, bytes]) -> dict[str, bytes]:
    """The merge of the dream's memories and indexes: it has no say in hosts' files and tombstones."""
    repo = dream.scope.repo
    base = read_files(repo, repo.commit(dream.base).tree)
    theirs = {
        path: data
        for path, data in read_files(repo, repo.commit(dream.tip).tree).items()
        if is_memory(path) or (kind(path) == "index" and "/" in path) or base.get(path) == data
    }
    theirs |= {path: base[path] for path in base if path not in theirs and not is_memory(path)}
    return dict(merge_trees(base, ours, theirs).files)


def _some(chosen: tuple[DreamCommit, ...], ours: Mapping[str, bytes]) -> dict[str, bytes]:
    """Applies changes one by one, each as a merge from the state before it."""
    merged = dict(ours)
    for change in chosen:
        pairs = {path: pair for path, pair in change.files.items() if kind(path) in ("memory", "index")}
        before = {path: old for path, (old, _) in pairs.items() if old is not None}
        after = {path: new for path, (_, new) in pairs.items() if new is not None}
        here = {path: merged[path] for path in pairs if path in merged}
        stones = {path: data for path, data in merged.items() if path.endswith(f"/{tombstone.FILE}")}
        result = merge_trees(before | stones, here | stones, after | stones)
        standing = {path: data for path, data in merged.items() if path not in pairs}
        result = without_collisions(result, {*pairs, *stones}, partial(_present, standing))
        merged = standing | result.files
    return merged


def _present(files: Mapping[str, bytes], wanted: set[str]) -> dict[str, bytes]:
    return {path: files[path] for path in wanted if path in files}


def _checked(
    dream: Dream,
    chosen: tuple[DreamCommit, ...],
    ours: Mapping[str, bytes],
    merged: Mapping[str, bytes],
    allow: frozenset[str],
) -> Account:
    """The account of what would land, worked out against the tip as it is."""
    declared: list[Fate] = [fate for change in chosen for fate in change.fates]
    done = account(ours, merged, declared)
    if done.unaccounted:
        lost = done.unaccounted[0]
        raise CheckFailed(
            f"Memory changed since {dream.id}, and accepting it would lose {lost.source}: {lost.problem}",
            f"Accept other changes by number, or: git mem review reject {dream.id} -m 'out of date'",
        )
    new = {path: data for path, data in merged.items() if ours.get(path) != data}
    refused = screen(ours, new, allow).refusals
    if refused:
        raise CheckFailed(
            f"{refused[0].path} of {dream.id} {refused[0].reason}", f"git mem review reject {dream.id}"
        )
    return done


def _tidy_indexes(ours: Mapping[str, bytes], merged: dict[str, bytes]) -> None:
    """Gives every memory an index line and takes out lines that lead nowhere, in agents' folders."""
    agents = {path.split("/", 1)[0] for path in merged if "/" in path}
    for agent in sorted(agents | {path.split("/", 1)[0] for path in ours if "/" in path}):
        if not is_agent_folder(agent):
            continue
        files = {path.removeprefix(f"{agent}/") for path in merged if path.startswith(f"{agent}/")}
        path = f"{agent}/{index.INDEX}"
        text = decode(merged.get(path, b""))
        entries = index.targets(text)
        gone = [target for target in entries if "/" not in target and target not in files]
        added = {}
        for file in files:
            if "/" not in file and kind(file) == "memory" and file not in entries:
                memory = parse(file, merged[f"{agent}/{file}"])
                added[file] = index.entry(memory.name, file, memory.description)
        if gone or added:
            merged[path] = encode(index.reconcile(text, added, gone))


def _settled(
    dream: Dream, chosen: tuple[DreamCommit, ...], written: Written | None, *, parked: bool
) -> Landed:
    """Deletes a dream's ref once all is decided; one of which something was rejected is kept aside."""
    repo = dream.scope.repo
    closed = len(chosen) == len(dream.open)
    if closed:
        if parked and repo.ref(REJECTED + dream.id) is None:
            repo.move_ref(REJECTED + dream.id, dream.tip, None, "gitmem dream: keep what was rejected")
        closed = close(dream)
    agents = {path.split("/", 1)[0] for change in chosen for path in change.files}
    return Landed(dream, tuple(change.n for change in chosen), written, tuple(sorted(agents)), closed)


def _subject(verb: str, dream: Dream, chosen: tuple[DreamCommit, ...], everything: bool) -> str:
    if len(chosen) == 1:
        return f"{verb} dream {dream.id}: {chosen[0].subject}"
    numbers = "" if everything else " " + ", ".join(str(change.n) for change in chosen)
    return f"{verb} dream {dream.id}{numbers}: {len(chosen)} changes"


def _engine(dream: Dream) -> str:
    return parse_trailers(dream.scope.repo.commit(dream.tip).message).engine
