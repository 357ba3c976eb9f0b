"""Erasing objects for good: just those that nothing refers to any more, and nothing else of the person's.

Not by `git gc --prune=now`, which would take all that dangles, the person's own work among it. Loose files
are deleted; a pack is written anew without what has to go, and everything else in it stays.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from gitmem.core.errors import RepositoryError
from gitmem.store.commits import root_objects
from gitmem.store.git import GitCommand
from gitmem.values import dataclass

_MARKERS = (".keep", ".promisor")
_PARTIAL = r"^(extensions\.partialclone|remote\..*\.promisor)$"
_OTHERS = (".idx", ".rev", ".bitmap", ".mtimes")


@dataclass(frozen=True)
class Erased:
    """What was erased.

    Attributes:
        count: objects.
        borrowed: objects of another repository that this one borrows from; they stay there.
        packs: packs that were written anew.
    """

    count: int = 0
    borrowed: tuple[str, ...] = ()
    packs: int = 0


def doomed(git: GitCommand, git_dir: Path, tips: Iterable[str], besides: Iterable[str] = ()) -> set[str]:
    """Objects that are reached from old commits, and from nothing that is live.

    Live is what any ref, HEAD or index of any work tree, and any entry of a reflog refers to.

    Args:
        tips: old commits; those that are gone already are passed over.
        besides: further objects that go if nothing refers to them.

    Raises:
        RepositoryError: what is live cannot be told.
    """
    there = existing(git, git_dir, tips)
    listed: set[str] = set()
    if there:
        words = ["rev-list", "--objects", "--no-object-names", "--missing=allow-any", "--stdin"]
        listed = _lines(git, git_dir, words, there)
    listed |= set(existing(git, git_dir, besides))
    # Every memory begins with these, also one that is begun a moment from now.
    listed -= {oid for size in (40, 64) for oid in root_objects(size)}
    if not listed:
        return set()
    live = ["rev-list", "--objects", "--no-object-names", "--missing=allow-any"]
    process = git.start([*live, "--all", "--reflog", "--indexed-objects"], git_dir=git_dir)
    assert process.stdin is not None and process.stdout is not None  # noqa: S101 - `start` makes pipes
    process.stdin.close()
    with process.stdout:
        for line in process.stdout:
            listed.discard(line.strip().decode())
            if not listed:
                break
    if process.wait() and listed:
        raise RepositoryError(
            f"What is still used in {git_dir} cannot be listed, so nothing was erased",
            "See what is wrong: git fsck. Then run it again.",
        )
    return listed


def erase(git: GitCommand, git_dir: Path, oids: set[str]) -> Erased:
    """Deletes objects.

    Args:
        oids: from `doomed`.

    Raises:
        RepositoryError: a pack cannot be written; the old one is still there.
    """
    if not oids:
        return Erased()
    store = git_dir / "objects"
    graphed = _remove_graphs(store)
    packs = 0
    # Another process may pack what was loose a moment ago.
    for _ in range(3):
        packs += _repack(git, git_dir, store / "pack", oids)
        for oid in oids:
            with suppress(FileNotFoundError):
                (store / oid[:2] / oid[2:]).unlink()
        left = set(existing(git, git_dir, oids))
        if not left:
            break
    if graphed is not None:
        words = ["commit-graph", "write", "--reachable"]
        git.run([*words, *(["--changed-paths"] if graphed else [])], git_dir=git_dir, check=False)
    return Erased(len(oids) - len(left), tuple(sorted(left)), packs)


def sweep_unfinished(git_dir: Path, holds: Callable[[bytes], bool]) -> int:
    """Deletes files of interrupted writes among the objects that hold a text; returns how many."""
    gone = 0
    for path in [*(git_dir / "objects").glob("??/tmp_obj*"), *(git_dir / "objects").glob("tmp_obj*")]:
        with suppress(OSError):
            if holds(zlib.decompressobj().decompress(path.read_bytes())):
                path.unlink()
                gone += 1
    return gone


def existing(git: GitCommand, git_dir: Path, oids: Iterable[str]) -> list[str]:
    """Those of some objects that are there; none is fetched for being asked about."""
    asked = list(oids)
    if not asked:
        return []
    words = ["cat-file", "--batch-check=%(objectname)", "--buffer"]
    if git.run(["config", "--get-regexp", _PARTIAL], git_dir=git_dir, check=False).returncode == 0:
        # In a partial clone git would fetch what is missing: the very text that was erased, from a host
        # that has not tidied up yet. Listing all that is here asks nobody.
        every = git.run([*words, "--batch-all-objects", "--unordered"], git_dir=git_dir).text
        here = frozenset(every.split("\n"))
        return [oid for oid in asked if oid in here]
    given = "".join(f"{oid}\n" for oid in asked)
    found = git.run(words, git_dir=git_dir, input=given.encode()).text
    return [line for line in found.split("\n") if line and " " not in line]


def _lines(git: GitCommand, git_dir: Path, words: Sequence[str], given: Iterable[str]) -> set[str]:
    text = "".join(f"{one}\n" for one in given)
    return {line for line in git.run(words, git_dir=git_dir, input=text.encode()).text.split("\n") if line}


def _repack(git: GitCommand, git_dir: Path, folder: Path, oids: set[str]) -> int:
    """Writes packs that hold some of the objects anew, without them."""
    found = []
    for index in sorted(folder.glob("*.idx")):
        with suppress(OSError):
            listed = git.run(["show-index"], git_dir=git_dir, input=index.read_bytes()).text
            names = [line.split(" ")[1] for line in listed.split("\n") if line]
            if not oids.isdisjoint(names):
                found.append((index.with_suffix(".pack"), [name for name in names if name not in oids]))
    if not found:
        return 0
    for path in folder.glob("multi-pack-index*"):
        path.unlink(missing_ok=True)
    for pack, kept in found:
        _write_anew(git, git_dir, pack, kept)
    return len(found)


def _write_anew(git: GitCommand, git_dir: Path, pack: Path, kept: Sequence[str]) -> None:
    made: Path | None = None
    if kept:
        words = ["pack-objects", "--quiet", "--delta-base-offset", str(pack.parent / "pack")]
        given = "".join(f"{oid}\n" for oid in kept)
        name = git.run(words, git_dir=git_dir, input=given.encode()).text
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


def _remove_graphs(store: Path) -> bool | None:
    """Removes commit graphs, which would name what is gone.

    Returns:
        Whether they told of changed paths; None where there were none.
    """
    chain = store / "info" / "commit-graphs"
    files = [path for path in (store / "info" / "commit-graph", *chain.glob("*")) if path.is_file()]
    if not files:
        return None
    paths = any(b"BIDX" in path.read_bytes()[:4096] for path in files)
    for path in files:
        path.unlink(missing_ok=True)
    return paths
