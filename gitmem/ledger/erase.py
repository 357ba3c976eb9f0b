"""Erasing objects for good: just those that nothing refers to any more, and nothing else of the person's.

Not by `git gc --prune=now`, which would take all that dangles, the person's own work among it. Loose files
are deleted; a pack is written anew without what has to go, and everything else in it stays.

What is to go is written down before refs move, and erased after all is clean: a process that dies in
between leaves the note, and whoever comes next goes on from it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from gitmem.core.errors import RepositoryError
from gitmem.git.command import read_configuration
from gitmem.git.locks import writer_lock
from gitmem.git.refs import move_refs
from gitmem.git.repository import Repository
from gitmem.ledger.epochs import FORMER, FORMER_DAYS
from gitmem.ledger.files import write_atomically
from gitmem.ledger.land import root_objects
from gitmem.ledger.layout import read_record, records, write_record
from gitmem.ledger.memory_refs import MemoryRefs, clear_logs
from gitmem.values import dataclass

JOURNAL = Path("gitmem") / "erase.json"
"""In the git directory. It names commits alone, never a text."""

_MARKERS = (".keep", ".promisor")
_PARTIAL = re.compile(r"extensions\.partialclone|remote\..*\.promisor")
_OTHERS = (".idx", ".rev", ".bitmap", ".mtimes")


def doomed(repo: Repository, tips: Iterable[str], besides: Iterable[str] = ()) -> set[str]:
    """Objects that are reached from old commits, and from nothing that is live.

    Live is what any ref, HEAD or index of any work tree, and any entry of a reflog refers to.

    Args:
        tips: old commits; those that are gone already are passed over.
        besides: further objects that go if nothing refers to them.

    Raises:
        RepositoryError: what is live cannot be told.
    """
    there = existing(repo, tips)
    listed: set[str] = set()
    if there:
        words = ["rev-list", "--objects", "--no-object-names", "--missing=allow-any", "--stdin"]
        listed = set(_lines(repo, words, there))
    listed |= set(existing(repo, besides))
    # Every memory begins with these, also one that is begun a moment from now.
    listed -= {oid for size in (40, 64) for oid in root_objects(size)}
    if not listed:
        return set()
    live = ["rev-list", "--objects", "--no-object-names", "--missing=allow-any"]
    process = repo.git.start([*live, "--all", "--reflog", "--indexed-objects"], git_dir=repo.git_dir)
    assert process.stdin is not None and process.stdout is not None  # noqa: S101 - `start` makes pipes
    process.stdin.close()
    with process.stdout:
        for line in process.stdout:
            listed.discard(line.strip().decode())
            if not listed:
                break
    if process.wait() and listed:
        raise RepositoryError(
            f"What is still used in {repo.git_dir} cannot be listed, so nothing was erased",
            "See what is wrong: git fsck. Then run it again.",
        )
    return listed


def erase(repo: Repository, oids: set[str]) -> int:
    """Deletes objects; returns how many. What this repository borrows from another one stays there.

    Args:
        oids: from `doomed`.

    Raises:
        RepositoryError: a pack cannot be written; the old one is still there.
    """
    if not oids:
        return 0
    store = repo.git_dir / "objects"
    # Commit graphs would name what is gone; git's own upkeep writes them anew.
    for path in (store / "info" / "commit-graph", *(store / "info" / "commit-graphs").glob("*")):
        path.unlink(missing_ok=True)
    left: set[str] = set()
    # Another process may pack what was loose a moment ago.
    for _ in range(3):
        _repack(repo, oids)
        for oid in oids:
            with suppress(FileNotFoundError):
                (store / oid[:2] / oid[2:]).unlink()
        left = set(existing(repo, oids))
        if not left:
            break
    return len(oids) - len(left)


def existing(repo: Repository, oids: Iterable[str]) -> list[str]:
    """Those of some objects that are there; none is fetched for being asked about."""
    asked = list(oids)
    if not asked:
        return []
    words = ["cat-file", "--batch-check=%(objectname)", "--buffer"]
    settings = read_configuration(repo.git, git_dir=repo.git_dir).rows
    if any(_PARTIAL.fullmatch(key) for _, key, _ in settings):
        # In a partial clone git would fetch what is missing: the very text that was erased, from a host
        # that has not tidied up yet. Listing all that is here asks nobody.
        every = repo.git.run([*words, "--batch-all-objects", "--unordered"], git_dir=repo.git_dir).text
        here = frozenset(every.split("\n"))
        return [oid for oid in asked if oid in here]
    return [line for line in _lines(repo, words, asked) if " " not in line]


def _lines(repo: Repository, words: Sequence[str], given: Iterable[str]) -> list[str]:
    text = "".join(f"{one}\n" for one in given)
    return [
        line
        for line in repo.git.run(words, git_dir=repo.git_dir, input=text.encode()).text.split("\n")
        if line
    ]


def _repack(repo: Repository, oids: set[str]) -> None:
    """Writes packs that hold some of the objects anew, without them."""
    folder, found = repo.git_dir / "objects" / "pack", []
    for index in sorted(folder.glob("*.idx")):
        with suppress(OSError):
            listed = repo.git.run(["show-index"], git_dir=repo.git_dir, input=index.read_bytes()).text
            names = [line.split(" ")[1] for line in listed.split("\n") if line]
            if not oids.isdisjoint(names):
                found.append((index.with_suffix(".pack"), [name for name in names if name not in oids]))
    for path in folder.glob("multi-pack-index*") if found else ():
        path.unlink(missing_ok=True)
    for pack, kept in found:
        _write_anew(repo, pack, kept)


def _write_anew(repo: Repository, pack: Path, kept: Sequence[str]) -> None:
    made: Path | None = None
    if kept:
        words = ["pack-objects", "--quiet", "--delta-base-offset", str(pack.parent / "pack")]
        given = "".join(f"{oid}\n" for oid in kept)
        name = repo.git.run(words, git_dir=repo.git_dir, input=given.encode()).text
        made = pack.parent / f"pack-{name}.pack"
        state = pack.stat()
        # Objects that nothing refers to are kept for as long as they would have been.
        os.utime(made, ns=(state.st_atime_ns, state.st_mtime_ns))
        for marker in _MARKERS:
            with suppress(FileNotFoundError):
                made.with_suffix(marker).write_bytes(pack.with_suffix(marker).read_bytes())
    if made == pack:
        return
    # The index last but for the pack: without it git does not see the pack at all.
    for end in (*_MARKERS, *_OTHERS, ".pack"):
        pack.with_suffix(end).unlink(missing_ok=True)


@dataclass(frozen=True)
class _Note:
    """What the journal says.

    Attributes:
        old: commits whose objects are still to be erased.
        left: memory ref to the commits that it left for a new epoch, while live directories and state may
            still hold what was purged.
    """

    old: tuple[str, ...] = ()
    left: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def note_old(repo: Repository, tips: Iterable[str], left: Mapping[str, str] | None = None) -> None:
    """Writes down old commits, so that their objects are erased even if this process dies before it.

    Args:
        left: memory refs that are about to go over a purge, and where they stand.
    """
    known = _read(repo)
    both = {ref: (*known.left.get(ref, ()), oid) for ref, oid in (left or {}).items()}
    _write(repo, _Note((*known.old, *tips, *(left or {}).values()), {**known.left, **both}))


def old_tips(repo: Repository) -> tuple[str, ...]:
    """Old commits whose objects are still to be erased."""
    return _read(repo).old


def left_behind(repo: Repository) -> tuple[tuple[str, str], ...]:
    """(memory ref, commit that it left), where live directories and state were not cleaned after it."""
    return tuple((ref, oid) for ref, oids in _read(repo).left.items() for oid in dict.fromkeys(oids))


def note_clean(repo: Repository) -> None:
    """Notes that live directories and state are clean of all that was purged so far."""
    known = _read(repo)
    if known.left:
        _write(repo, _Note(known.old))


def erase_old(repo: Repository, states: Iterable[Path], besides: Iterable[str] = ()) -> int:
    """Erases the objects of old epochs that nothing refers to any more; returns how many.

    Args:
        states: folders of state whose records of live directories may still need some of them.
        besides: further objects that go if nothing refers to them.

    Raises:
        RepositoryError: it cannot be told what is still used, or a pack cannot be written.
    """
    known = _read(repo)
    found = doomed(repo, known.old, besides)
    needed = found & {oid for state in states for oid in _recorded(state)}
    erased = erase(repo, found - needed)
    if not needed and not known.left:
        (repo.git_dir / JOURNAL).unlink(missing_ok=True)
    return erased


def leave_epoch(
    repo: Repository,
    refs: MemoryRefs,
    stale: Mapping[str, str],
    old: Collection[str],
    states: Iterable[Path],
) -> int:
    """Forgets where refs were before a purge, and erases what nothing refers to then; returns how many.

    Args:
        stale: refs of what remotes had before, and what they hold: they go, to be fetched again.
        old: commits that the logs of HEADs forget.
        states: as for `erase_old`.

    Raises:
        RepositoryError: what is still used cannot be told, or a ref or pack cannot be written.
    """
    if stale:
        note_old(repo, stale.values())
        moves = {ref: (oid, None) for ref, oid in stale.items()}
        move_refs(repo, moves, "gitmem: over a purge")
    clear_logs(repo.git, repo.git_dir, refs.all, old)
    return erase_old(repo, states)


def end_former(repo: Repository, states: Collection[Path], now: float) -> int:
    """Erases replaced histories that were kept long enough; returns how many objects.

    Args:
        states: as for `erase_old`.
        now: seconds since the epoch.

    Raises:
        RepositoryError: what is still used cannot be told, or a ref or pack cannot be written.
    """
    found = _expired(repo, now)
    if not found:
        return 0
    until = now - FORMER_DAYS * 86_400
    for state in states:
        for key, _ in records(state):
            with suppress(RepositoryError), writer_lock(state / "live", key, timeout=30.0):
                record = read_record(state, key)
                if record is not None and record.before and record.laid_out < until:
                    # Nobody writes any more into a file that was replaced so long ago.
                    write_record(state, key, replace(record, before={}))
    note_old(repo, found.values())
    moves = {ref: (oid, None) for ref, oid in found.items()}
    move_refs(repo, moves, "gitmem upkeep")
    return erase_old(repo, states)


def _read(repo: Repository) -> _Note:
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        data = json.loads((repo.git_dir / JOURNAL).read_bytes())
        if data["version"] == 1:
            left = {str(ref): tuple(map(str, oids)) for ref, oids in data.get("left", {}).items()}
            return _Note(tuple(map(str, data["old"])), left)
    return _Note()


def _write(repo: Repository, note: _Note) -> None:
    left = {ref: list(dict.fromkeys(oids)) for ref, oids in note.left.items()}
    value = {"version": 1, "old": list(dict.fromkeys(note.old)), "left": left}
    write_atomically(repo.git_dir / JOURNAL, json.dumps(value).encode())


def _recorded(state: Path) -> set[str]:
    """Objects that records of live directories name."""
    return {
        oid
        for _, record in records(state)
        for oids in (*record.files.values(), *record.before.values())
        for oid in oids.split()
    }


def _expired(repo: Repository, now: float) -> dict[str, str]:
    """Refs of replaced histories that were kept long enough, and what they hold.

    Args:
        now: seconds since the epoch.
    """
    found = {}
    until = datetime.fromtimestamp(now, UTC).date() - timedelta(days=FORMER_DAYS)
    for name, oid in repo.refs(FORMER).items():
        with suppress(ValueError):
            if date.fromisoformat(name.removeprefix(FORMER).partition("/")[0]) < until:
                found[name] = oid
    return found
