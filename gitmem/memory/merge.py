"""The one merge of gitmem: three trees in, one tree out, no claim lost.

It serves sync, snapshots, dreams, live directories and git's own merge alike. It reads three mappings of
path to bytes and nothing else: no git, no clock, no order of the sides. A caller may leave out paths that
are equal in all three.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import PurePosixPath

from gitmem.memory import archive, index, tombstone
from gitmem.memory.daily import line_keys
from gitmem.memory.encoding import decode, encode
from gitmem.memory.log_lines import is_timed, merge_lines, split, without_lines
from gitmem.memory.memory import Memory, parse
from gitmem.memory.merge_memory import Buried, forgotten, merge_memory, nothing_buried, without
from gitmem.memory.names import kind as kind
from gitmem.values import dataclass

Files = Mapping[str, bytes]

_SUBFOLDER = re.compile(r"(?<=/)(?:(?:archive/)?logs/\d{4}/\d{2}|archive/[0-9a-f]{2})/(?=[^/]+$)")

SPLIT_DIGITS = 6
"""Hexadecimal digits of the content that name a file which had to make way."""


@dataclass(frozen=True)
class MergedTree:
    """A merged tree.

    Attributes:
        files: path to content, for the paths that were given (and those that had to be split off).
        buried: (path, text) of claims that a tombstone took from the other side's edit.
        split: paths of files that moved aside because two different ones wanted one path.
    """

    files: dict[str, bytes]
    buried: tuple[tuple[str, str], ...] = ()
    split: tuple[str, ...] = ()


def merge_trees(base: Files, ours: Files, theirs: Files) -> MergedTree:
    """Merges two trees that started from a third.

    Args:
        base, ours, theirs: path (as in the tree of a memory ref, or inside one agent's folder) to content.
            A memory that may be archived in one of them is given in both its places, with its agent's
            index, and so is a log (`archive.twins`).

    Returns:
        The merged tree. Same heads give the same tree whichever is ours; merging again changes nothing;
        any order of merges gives the same set of claims.
    """
    if ours == theirs:
        return MergedTree(dict(ours))
    if any(archive.hot_path(path) for side in (base, ours, theirs) for path in side):
        return _merge_paged(base, ours, theirs)
    return _Merge(base, ours, theirs).run()


def _merge_paged(*given: Files) -> MergedTree:
    """Merges memories and logs wherever they stand, then puts each where it belongs."""
    sides = [_folded(side) for side in given]
    merged = _Merge(*(side.files for side in sides)).run()
    files, lines, unlisted = dict(merged.files), dict[str, str](), set[str]()
    for path in sorted(frozenset().union(*(side.archived for side in sides))):
        data = merged.files.get(path)
        has_line = kind(path) == "memory"
        if data is not None and not archive.stays_archived(path, *sides):
            if has_line:
                memory = parse(path, data)
                lines[path] = index.entry(memory.name, path.partition("/")[2], memory.description)
            continue
        if has_line:
            unlisted.add(path)
        if data is not None:
            files[archive.archived_path(path) or path] = files.pop(path)
    for agent in {path.partition("/")[0] for path in (*lines, *unlisted)}:
        listed = files.get(f"{agent}/{index.INDEX}")
        if listed is not None:
            fresh = {p.partition("/")[2]: line for p, line in lines.items() if p.startswith(f"{agent}/")}
            gone = [p.partition("/")[2] for p in unlisted if p.startswith(f"{agent}/")]
            files[f"{agent}/{index.INDEX}"] = encode(index.reconcile(decode(listed), fresh, gone))
    return replace(merged, files=files)


def _folded(files: Files) -> archive.Folded:
    """One side with every memory at its hot path; what stands hot and archived at once is united."""
    folded = archive.fold(files)
    united = dict(folded.files)
    for path, data in folded.twice.items():
        rest = {other: united[other] for other in united if other != path}
        united = merge_trees(rest, united, rest | {path: data}).files
    return replace(folded, files=united)


class _Merge:
    """One run: collects what `merge_trees` returns."""

    def __init__(self, base: Files, ours: Files, theirs: Files) -> None:
        self.sides = (base, ours, theirs)
        self.files: dict[str, bytes] = {}
        self.lost: list[tuple[str, str]] = []
        self.split: list[str] = []
        self.asides: list[tuple[str, bytes]] = []
        self.stones: dict[str, tuple[Buried, Buried]] = {}

    def run(self) -> MergedTree:
        base, ours, theirs = self.sides
        moved = self._moves()
        taken = {path for move in moved for path in move[:3] if path}
        for old, here, there, target in moved:
            self._memory(target, base[old], ours[here or old], theirs[there or old])
        for path in sorted({*base, *ours, *theirs} - taken):
            self._path(path, base.get(path), ours.get(path), theirs.get(path))
        for path, data in self.asides:
            self._beside(path, data)
        self._list(moved)
        return MergedTree(self.files, tuple(self.lost), tuple(self.split))

    def _path(self, path: str, base: bytes | None, ours: bytes | None, theirs: bytes | None) -> None:
        if kind(path) == "memory":
            self._memory(path, base, ours, theirs)
            return
        is_log = kind(path) == "log"
        if ours == theirs or base == theirs:
            merged = ours
        elif base == ours:
            merged = theirs
        else:
            merged = self._other(path, base, ours, theirs)
        if is_log and merged is not None:
            merged = self._unburied(path, merged, ours, theirs)
        if merged is not None:
            self._put(path, merged)

    def _memory(self, path: str, base: bytes | None, ours: bytes | None, theirs: bytes | None) -> None:
        if ours == theirs:
            if ours is not None:
                self._put(path, ours)
        elif ours is None or theirs is None:
            self._one_sided(path, base, ours, theirs)
        elif base is None and parse(path, ours).name != parse(path, theirs).name:
            self._split(path, ours, theirs)
        else:
            self._united(path, base, ours, theirs)

    def _united(self, path: str, base: bytes | None, ours: bytes, theirs: bytes) -> None:
        buried = self._buried(path)
        if buried == (nothing_buried, nothing_buried) and base in (ours, theirs):
            self._put(path, theirs if base == ours else ours)
            return
        before = Memory(path, None, "") if base is None else parse(path, base)
        merged = merge_memory(before, parse(path, ours), parse(path, theirs), path, buried)
        if merged.memory is None:
            self._split(path, ours, theirs)
            return
        self.lost += [(path, text) for text in merged.buried]
        self._put(path, merged.memory.render())

    def _one_sided(self, path: str, base: bytes | None, ours: bytes | None, theirs: bytes | None) -> None:
        """A file that one side lacks: a bare deletion loses to an edit, what was forgotten stays gone."""
        here = ours if theirs is None else theirs
        if here is None or here == base:
            return
        memory = parse(path, here)
        before = parse(path, base).claims if base is not None else ()
        gone = forgotten(before, memory.parsed.claims, self._buried(path)[0 if ours is None else 1])
        if not gone:
            self._put(path, here)
            return
        said = {claim.key for claim in before}
        left = [claim for claim in memory.parsed.claims if claim.id not in gone]
        if all(claim.key in said for claim in left):
            self.lost += [(path, claim.text) for claim in memory.parsed.claims]
            return
        self.lost += [(path, claim.text) for claim in memory.parsed.claims if claim.id in gone]
        self._put(path, without(memory, gone).render())

    def _other(
        self, path: str, base: bytes | None, ours: bytes | None, theirs: bytes | None
    ) -> bytes | None:
        """Index, tombstones, logs and host files that both sides changed."""
        if ours is None or theirs is None:
            return theirs if ours is None else ours
        texts = [decode(data or b"") for data in (base, ours, theirs)]
        what = kind(path)
        if what == "index":
            return encode(index.merge(*texts))
        if what == "tombstones":
            return encode(tombstone.merge(*texts))
        if what == "log":
            return encode(merge_lines(*texts))
        keep, aside = sorted((ours, theirs))
        self._aside(path, aside)
        return keep

    def _unburied(self, path: str, merged: bytes, ours: bytes | None, theirs: bytes | None) -> bytes | None:
        """The log without lines of either side that the other one forgot; None where nothing is left."""
        buried = self._buried(path)
        if buried == (nothing_buried, nothing_buried):
            return merged
        texts = [decode(data or b"") for data in (ours, theirs)]
        here, there = (frozenset(split(text)) for text in texts)
        gone = [
            line
            for line in split(decode(merged))
            if is_timed(line)
            and (
                (line not in here and any(map(buried[0], line_keys(line))))
                or (line not in there and any(map(buried[1], line_keys(line))))
            )
        ]
        if not gone:
            return merged
        self.lost += [(path, line) for line in gone]
        return encode(without_lines(decode(merged), frozenset(gone))) or None

    def _split(self, path: str, ours: bytes, theirs: bytes) -> None:
        keep, aside = sorted((ours, theirs), key=lambda data: (len(data), data))
        self._put(path, keep)
        self._aside(path, aside)

    def _aside(self, path: str, data: bytes) -> None:
        spot = PurePosixPath(path)
        digits = hashlib.sha256(data).hexdigest()[:SPLIT_DIGITS]
        target = str(spot.with_name(f"{spot.stem}-{digits}{spot.suffix}"))
        self.split.append(target)
        self.asides.append((target, data))

    def _beside(self, path: str, data: bytes) -> None:
        """Puts a file where one may stand: the same, which moved aside before and was edited since."""
        there = self.files.pop(path, data)
        for target, united in merge_trees({}, {path: there}, {path: data}).files.items():
            if target == path:
                self._put(path, united)
            else:
                self._beside(target, united)

    def _list(self, moved: list[tuple[str, str | None, str | None, str]]) -> None:
        """Brings the index in line where files did not fare as their lines: kept, gone or elsewhere.

        What one side deleted and the other edited has its line on neither, or no line left; what both
        renamed has two. A memory that the base's index does not name gets no line here.
        """
        base, ours, theirs = self.sides
        places = {old: {old, here or old, there or old} for old, here, there, _ in moved}
        for path in base:
            if path not in places and kind(path) == "memory" and not (path in ours and path in theirs):
                places[path] = {path}
        for old, paths in sorted(places.items()):
            if not all(any(side.get(path) != base.get(path) for path in paths) for side in (ours, theirs)):
                continue
            folder, _, name = old.rpartition("/")
            at = f"{folder}/{index.INDEX}" if folder else index.INDEX
            if at not in self.files or name not in index.targets(decode(base.get(at, b""))):
                continue
            listed = decode(self.files[at])
            names = {path: path.removeprefix(f"{folder}/") for path in paths}
            lines = {}
            for path in paths & self.files.keys():
                memory = parse(path, self.files[path])
                lines[names[path]] = index.entry(memory.name, names[path], memory.description)
            shown = index.reconcile(listed, lines, [names[path] for path in paths - self.files.keys()])
            if shown != listed:
                self.files[at] = encode(shown)

    def _put(self, path: str, data: bytes) -> None:
        self.files[path] = data

    def _buried(self, path: str) -> tuple[Buried, Buried]:
        """What each side forgot since the base.

        A tombstone that both have takes nothing: who has it and the text has both on purpose.
        """
        folder = agent_folder(path)
        if folder not in self.stones:
            at = f"{folder}/{tombstone.FILE}" if folder else tombstone.FILE
            old, ours, theirs = (tombstone.parse(decode(side.get(at, b""))) for side in self.sides)
            fresh = (ours - theirs - old, theirs - ours - old)
            one, other = (tombstone.finder(new, "forgot") if new else nothing_buried for new in fresh)
            self.stones[folder] = (one, other)
        return self.stones[folder]

    def _moves(self) -> list[tuple[str, str | None, str | None, str]]:
        """Renames: (old path, path in ours, path in theirs, path of the result)."""
        base, ours, theirs = self.sides
        moves = []
        here, there = renames(base, ours), renames(base, theirs)
        for old in sorted({*here, *there}):
            one, other = here.get(old), there.get(old)
            at, also = one or old, other or old
            target = min(path for path in (one, other) if path)
            # Another file may stand where the other side moved this one.
            taken = any(
                (path in ours and path != at) or (path in theirs and path != also) for path in (one, other)
            )
            if at in ours and also in theirs and not taken:
                moves.append((old, one, other, target))
        return moves


def only(files: Files, paths: Collection[str]) -> dict[str, bytes]:
    """The files at some paths, as far as they are there."""
    return {path: files[path] for path in paths if path in files}


def agent_folder(path: str) -> str:
    """Folder of the agent that a path belongs to: `main` for `main/x.md` and `main/archive/ab/x.md`."""
    return _SUBFOLDER.sub("", path).rpartition("/")[0]


def renames(base: Files, side: Files) -> dict[str, str]:
    """Files that a side moved: the same name, or at least half of the claims (design.md section 6)."""
    gone = [path for path in sorted(base) if path not in side and kind(path) == "memory"]
    new = [path for path in sorted(side) if path not in base and kind(path) == "memory"]
    if not gone or not new:
        return {}
    added = {path: parse(path, side[path]) for path in new}
    ids = {path: frozenset(claim.key for claim in memory.claims) for path, memory in added.items()}
    found: dict[str, str] = {}
    for old in gone:
        memory = parse(old, base[old])
        before = frozenset(claim.key for claim in memory.claims)
        best = _best_match(old, memory.name, before, added, ids, taken=found.values())
        if best:
            found[old] = best
    return found


def _best_match(
    old: str,
    name: str,
    before: frozenset[str],
    added: Mapping[str, Memory],
    ids: Mapping[str, frozenset[str]],
    taken: Iterable[str],
) -> str | None:
    used = frozenset(taken)
    folder = agent_folder(old)
    scored = []
    for path, memory in added.items():
        if path in used or agent_folder(path) != folder:
            continue
        shared = len(before & ids[path])
        same_name = memory.name == name
        if same_name or (before and 2 * shared >= len(before)):
            scored.append((-int(same_name), -shared, path))
    return min(scored)[2] if scored else None
