"""What is left of old epochs in one repository: written down before refs move, erased after all is clean.

A process that dies in between leaves the note, and whoever comes next goes on from it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import field
from pathlib import Path

from gitmem.store.erasing import Erased, doomed, erase
from gitmem.store.git import GitCommand
from gitmem.store.record import write_atomically
from gitmem.store.repository import Repository
from gitmem.values import dataclass

JOURNAL = Path("gitmem") / "erase.json"
"""In the git directory. It names commits alone, never a text."""


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


def erase_old(
    repo: Repository, git: GitCommand, states: Iterable[Path], besides: Iterable[str] = ()
) -> Erased:
    """Erases the objects of old epochs that nothing refers to any more.

    Args:
        states: folders of state whose records of live directories may still need some of them.
        besides: further objects that go if nothing refers to them.

    Raises:
        RepositoryError: it cannot be told what is still used, or a pack cannot be written.
    """
    known = _read(repo)
    found = doomed(git, repo.git_dir, known.old, besides)
    needed = found & {oid for state in states for oid in _recorded(state)}
    erased = erase(git, repo.git_dir, found - needed)
    if not needed and not known.left:
        (repo.git_dir / JOURNAL).unlink(missing_ok=True)
    return erased


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
    found: set[str] = set()
    for path in (state / "live").glob("*.json"):
        with suppress(OSError, ValueError, AttributeError, KeyError):
            data = json.loads(path.read_bytes())
            found |= {*map(str, data["files"].values())}
            found |= {oid for oids in data["before"].values() for oid in str(oids).split()}
    return found
