"""Which commits of one epoch became which of another, and from that what was purged between them.

Nothing that is pushed names an old commit or the text: a counterpart is known by author, committer, times,
parents and message, and by a tree that differs only where something was purged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import closing

from gitmem.core.names import FORMAT_FILE, INDEX, TOMBSTONES, slugify
from gitmem.core.purge import MARK, Purge, explain, unfit
from gitmem.git.packs import RawEntry, RawObjects
from gitmem.git.repository import Repository
from gitmem.values import dataclass

_NAMES = re.compile(rb"#[0-9a-f]{12}\b|\b[0-9a-f]{12,64}\b|\(disputed [0-9a-f]{8}\)")
_UNDOES = re.compile(rb"^[ \t]*(?:[*-][ \t]+)?Gitmem-Undoes:.*\n?", re.MULTILINE)


@dataclass(frozen=True)
class Match:
    """Two histories, one laid on the other.

    Attributes:
        pairs: commit of the one to its counterpart in the other.
        own: commits of the one that the other has nothing of, parents before children.
        frontier: the last commit of the one that the other has, itself or its counterpart.
        there: what the other had purged, and the one holds.
        here: what the one had purged, and the other holds.
    """

    pairs: Mapping[str, str]
    own: tuple[str, ...]
    frontier: str
    there: Purge
    here: Purge


_Seen = tuple[Purge, Purge]
"""What was found to be purged in the other, and in the one; kept only where all can be explained."""

_NOTHING = (Purge(), Purge())


def match(repo: Repository, one: str, other: str) -> Match:
    """Finds the counterparts of one history's commits in another.

    Raises:
        MissingObject: a history is incomplete.
    """
    with closing(RawObjects(repo)) as store:
        return _Matching(store).run(one, other)


def replaced(repo: Repository, found: Match, published: str | None) -> tuple[str, ...]:
    """Commits of the one that the other had, and has nothing of any more: nothing proves what took them.

    Args:
        published: the last commit of the one that the other is known to have had.
    """
    if not published or not found.own:
        return ()
    shared = frozenset(repo.git.run(["rev-list", published, "--"], git_dir=repo.git_dir).text.split("\n"))
    return tuple(oid for oid in found.own if oid in shared)


class _Matching:
    def __init__(self, store: RawObjects) -> None:
        self.store = store
        self._trees: dict[tuple[str, str, str], _Seen | None] = {}
        self._blobs: dict[tuple[str, str], _Texts | None] = {}

    def run(self, one: str, other: str) -> Match:
        here, there = self._only(one, other), self._only(other, one)
        by_parents: dict[tuple[str, ...], list[str]] = {}
        read = {oid: self._read(oid) for oid in (*here, *there)}
        for oid in there:
            by_parents.setdefault(read[oid][1], []).append(oid)
        pairs: dict[str, str] = {}
        own: list[str] = []
        mine = frozenset(here)
        found = _NOTHING
        for oid in here:
            parents = tuple(pairs.get(parent, parent) for parent in read[oid][1])
            lone = any(parent in mine and parent not in pairs for parent in read[oid][1])
            for candidate in () if lone else by_parents.get(parents, ()):
                seen = self._explained(read[oid], read[candidate])
                if seen is not None:
                    pairs[oid] = candidate
                    by_parents[parents].remove(candidate)
                    found = _both_of(found, seen)
                    break
            else:
                own.append(oid)
        frontier = next((oid for oid in reversed(here) if oid in pairs), "")
        return Match(
            pairs,
            tuple(own),
            frontier or self._base(one, other),
            *(Purge(_fit(seen.texts), seen.memories, said=_fit(seen.said)) for seen in found),
        )

    def _only(self, one: str, other: str) -> list[str]:
        words = ["rev-list", "--topo-order", "--reverse", one, "--not", other, "--"]
        found = self.store.git.run(words, git_dir=self.store.git_dir).text
        return [oid for oid in found.split("\n") if oid]

    def _base(self, one: str, other: str) -> str:
        done = self.store.git.run(["merge-base", one, other], git_dir=self.store.git_dir, check=False)
        return done.text.split("\n")[0]

    def _read(self, oid: str) -> tuple[str, tuple[str, ...], bytes, bytes]:
        """Tree, parents, who and when, and message of a commit."""
        head, _, message = self.store.read(oid)[1].partition(b"\n\n")
        lines = head.split(b"\n")
        tree = next(line for line in lines if line.startswith(b"tree "))[5:].decode()
        parents = tuple(line[7:].decode() for line in lines if line.startswith(b"parent "))
        who = b"\n".join(line for line in lines if line.startswith((b"author ", b"committer ")))
        return tree, parents, who, message

    def _explained(
        self,
        one: tuple[str, tuple[str, ...], bytes, bytes],
        other: tuple[str, tuple[str, ...], bytes, bytes],
    ) -> _Seen | None:
        seen = _NOTHING
        for mine, theirs in zip(one[2:], other[2:], strict=True):
            both = _both(mine, theirs)
            if both is None:
                # Names of commits and hashes of claims became others: what they hide is found elsewhere.
                both = _NO_TEXTS if _both(_bare(mine), _bare(theirs)) else None
            if both is None:
                return None
            seen = _both_of(seen, (Purge(said=both[0]), Purge(said=both[1])))
        inside = self._tree(one[0], other[0], "")
        return None if inside is None else _both_of(seen, inside)

    def _tree(self, one: str, other: str, prefix: str) -> _Seen | None:
        if one == other:
            return _NOTHING
        key = (one, other, prefix)
        if key not in self._trees:
            mine, theirs = (frozenset(self.store.rows(oid)) if oid else frozenset() for oid in (one, other))
            self._trees[key] = self._rows(
                {row.name: row for row in mine - theirs}, {row.name: row for row in theirs - mine}, prefix
            )
        return self._trees[key]

    def _rows(self, one: dict[bytes, RawEntry], other: dict[bytes, RawEntry], prefix: str) -> _Seen | None:
        seen = _NOTHING
        pairs = [(one[name], other[name]) for name in one.keys() & other.keys()]
        gone = {name: one[name] for name in one.keys() - other.keys()}
        come = {name: other[name] for name in other.keys() - one.keys()}
        for name in sorted(gone):
            for new in sorted(come):
                both = _both(name, new) or _NO_TEXTS
                # Any name can have become `[purged].md`: what is in it tells.
                if _fit(both[0] | both[1]) and self._row(gone[name], come[new], prefix) is not None:
                    seen = _both_of(seen, (Purge(both[0]), Purge(both[1])))
                    pairs.append((gone.pop(name), come.pop(new)))
                    break
        went, came = (
            frozenset(
                path
                for row in rows.values()
                if prefix or row.name != FORMAT_FILE.encode()
                for path in self._files(row, prefix)
            )
            for rows in (gone, come)
        )
        seen = _both_of(seen, (Purge(memories=went), Purge(memories=came)))
        for mine, theirs in pairs:
            inside = self._row(mine, theirs, prefix)
            if inside is None:
                return None
            seen = _both_of(seen, inside)
        return seen

    def _row(self, one: RawEntry, other: RawEntry, prefix: str) -> _Seen | None:
        path = prefix + one.name.decode("utf-8", "surrogateescape")
        if one.is_tree and other.is_tree:
            return self._tree(one.oid.hex(), other.oid.hex(), f"{path}/")
        if one.mode != other.mode:
            return None
        if path == FORMAT_FILE or path.rpartition("/")[2] in (INDEX, TOMBSTONES) or one.oid == other.oid:
            return _NOTHING
        key = (one.oid.hex(), other.oid.hex())
        if key not in self._blobs:
            self._blobs[key] = _both(self.store.read(key[0])[1], self.store.read(key[1])[1])
        both = self._blobs[key]
        return None if both is None else (Purge(both[0]), Purge(both[1]))

    def _files(self, row: RawEntry, prefix: str) -> set[str]:
        path = prefix + row.name.decode("utf-8", "surrogateescape")
        if not row.is_tree:
            return {path}
        return {file for one in self.store.rows(row.oid.hex()) for file in self._files(one, f"{path}/")}


def _both_of(one: _Seen, other: _Seen) -> _Seen:
    return one[0] | other[0], one[1] | other[1]


_Texts = tuple[frozenset[str], frozenset[str]]
_NO_TEXTS: _Texts = (frozenset(), frozenset())


def _both(one: bytes, other: bytes) -> _Texts | None:
    """What was purged in the other of two texts, and in the one; None where more than that differs."""
    if one == other:
        return _NO_TEXTS
    if MARK.encode() not in one and MARK.encode() not in other:
        return None
    there = explain(one, other)
    if there is not None:
        return frozenset(there), frozenset()
    here = explain(other, one)
    if here is not None:
        return frozenset(), frozenset(here)
    mine, theirs = _bare(one).split(b"\n"), _bare(other).split(b"\n")
    if len(mine) != len(theirs):
        return None
    found: tuple[set[str], set[str]] = (set(), set())
    for line, twin in zip(mine, theirs, strict=True):
        if line != twin:
            there, here = explain(line, twin), explain(twin, line)
            if there is None and here is None:
                return None
            (found[0] if there is not None else found[1]).update(there or here or ())
    return frozenset(found[0]), frozenset(found[1])


def _bare(text: bytes) -> bytes:
    return _NAMES.sub(b"", _UNDOES.sub(b"", text))


def _fit(texts: frozenset[str]) -> frozenset[str]:
    """Those that can be a text that somebody purged, without those that hold or name another."""
    fit = {text for text in texts if unfit(text) is None}
    # `durian` went from the name of a file for `Durian`: in a text it is another word.
    fit -= {name for text in fit if (name := slugify(text)) != text}
    whole = {text for text in fit if not any(other != text and other in text for other in fit)}
    return frozenset(whole)
