"""One repository's memory refs as a new epoch: a value, from which a purge moves them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from gitmem.core.claim import DISPUTE_LENGTH, HASH_LENGTH, claim_id
from gitmem.core.memory import parse
from gitmem.core.names import INDEX
from gitmem.core.purge import Purge
from gitmem.store.epochs import Epoch, after, epoch_of
from gitmem.store.git import GitCommand
from gitmem.store.memory_refs import MemoryRefs, lines
from gitmem.store.repository import Repository
from gitmem.store.rewriting import Rewriter, Told
from gitmem.store.rewriting_objects import RawObjects, objects_with
from gitmem.values import dataclass

_DISPUTED = b"*(disputed "


@dataclass(frozen=True)
class Rewriting:
    """One repository's memory in its new epoch; no ref was moved yet.

    Attributes:
        refs: where they were.
        tips: ref to the rewritten commit, for the refs of lines of which anything changed.
        told: what became of history.
        purge: what was taken out, with what stands for it elsewhere.
    """

    refs: MemoryRefs
    epoch: Epoch
    tips: Mapping[str, str]
    told: Told
    purge: Purge
    rewriter: Rewriter = field(repr=False)


def rewrite(
    repo: Repository, git: GitCommand, refs: MemoryRefs, purge: Purge, mark: str, *, dry: bool = False
) -> Rewriting:
    """Rewrites memory.

    Args:
        mark: of the new epoch, 8 hexadecimal digits that no other has.
        dry: only count; nothing is written.

    Raises:
        MissingObject: history is incomplete.
    """
    store = RawObjects.of(repo, git, dry=dry)
    try:
        return _rewrite(repo, store, refs, purge, mark)
    finally:
        store.close()


def _rewrite(repo: Repository, store: RawObjects, refs: MemoryRefs, purge: Purge, mark: str) -> Rewriting:
    tips = list(dict.fromkeys(refs.all.values()))
    epoch = after((epoch_of(repo, tip) for tip in tips), mark)
    suspects: frozenset[str] = frozenset()
    if purge.texts and tips:
        purge, suspects = with_what_stands_for(store, purge, tips)
    rewriter = Rewriter(store, purge, epoch, suspects)
    known = rewriter.history(tips)
    groups = [group for group in lines(repo, refs) if any(known[refs.all[r]] != refs.all[r] for r in group)]
    forced = [oid for group in groups for oid in _left_behind(store, refs, group, known)]
    if forced:
        rewriter = Rewriter(store, purge, epoch, suspects)
        known = rewriter.history(tips, forced)
    moved = {ref: known[refs.all[ref]] for group in groups for ref in group}
    return Rewriting(refs, epoch, moved, rewriter.told, purge, rewriter)


def with_what_stands_for(
    store: RawObjects, purge: Purge, tips: Iterable[str]
) -> tuple[Purge, frozenset[str]]:
    """Finds the objects that hold a text, and what stands elsewhere for claims with it: hashes, tombstones.

    Returns:
        The purge with what stands for it; and the objects that it concerns.
    """
    words = ["rev-list", "--objects", "--stdin"]
    given = "".join(f"{tip}\n" for tip in tips).encode()
    listed = store.git.run(words, git_dir=store.git_dir, input=given).text.split("\n")
    paths = dict(line.split(" ", 1) for line in listed if " " in line)
    oids = (line.partition(" ")[0] for line in listed)
    looked = objects_with(store.git, store.git_dir, store.hex_length, purge.holds, oids, _DISPUTED)
    keys: set[str] = set()
    others: set[tuple[bytes, bytes]] = set()
    for oid, kind in looked.found.items():
        # An index lists memories and claims nothing; it is long, and every commit has another one.
        if kind != "blob" or paths.get(oid, "").rpartition("/")[2] == INDEX:
            continue
        for claim in parse("memory.md", store.read(oid)[1]).claims:
            raw = claim.key.encode("utf-8", "surrogateescape")
            if purge.holds(raw):
                keys.add(claim.key)
                new = claim_id(purge.clean(raw).decode("utf-8", "surrogateescape"), claim.ordinal)
                others.add((b"#" + claim.short.encode(), b"#" + new[:HASH_LENGTH].encode()))
                marks = (one[:DISPUTE_LENGTH].encode() for one in (claim.id, new))
                old_mark, new_mark = (_DISPUTED + mark for mark in marks)
                others.add((old_mark, new_mark))
    fuller = replace(purge, keys=frozenset(keys), others=frozenset(others))
    return fuller, frozenset(looked.found) | looked.flagged


def _left_behind(
    store: RawObjects,
    refs: MemoryRefs,
    group: Iterable[str],
    known: Mapping[str, str],
) -> list[str]:
    """Commits of side branches that would stay in the old epoch while their line goes on in the new one."""
    names = sorted(group)
    mains = [refs.all[ref] for ref in names if refs.is_main(ref) or ref.endswith("/gitmem/project")]
    stay = [refs.all[ref] for ref in names if known[refs.all[ref]] == refs.all[ref]]
    sides = [oid for oid in dict.fromkeys(stay) if oid not in mains]
    if not sides or not mains:
        return []
    words = ["rev-list", *sides, "--not", *dict.fromkeys(mains), "--"]
    return [oid for oid in store.git.run(words, git_dir=store.git_dir).text.split("\n") if oid]
