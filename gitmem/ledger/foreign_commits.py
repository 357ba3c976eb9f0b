"""Tidying what git or a host merged or edited without gitmem: one commit, the same in every clone.

Only commits that are not gitmem's own are looked at, and each once a clone: a small file in the state says
up to where. What a commit repairs follows from the tip alone, so clones that tidy the same tip make the
same object.

A merge by git or a host knows lines, not claims: it leaves conflict marks that somebody commits, a claim
twice that both sides had added, an index with two lines for one memory. Putting that right takes no claim
away.

Nor is anything deleted where a memory ref was lost and began anew: live directories still show it.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import field
from itertools import accumulate, combinations
from pathlib import Path

from gitmem.core import index, tombstone
from gitmem.core.claim import DISPUTE_LENGTH, claim_id, parse_body, with_dispute
from gitmem.core.daily_log import (
    in_order,
    merge_lines,
    other_place,
    split,
    stones_of,
    with_every_line,
    without_lines,
)
from gitmem.core.errors import MissingObject, RepositoryError
from gitmem.core.memory import Memory, parse
from gitmem.core.merge import merge_memory, merge_trees, without
from gitmem.core.names import INDEX, TOMBSTONES, agent_folder, is_log, is_memory_file, kind
from gitmem.core.text import decode, encode
from gitmem.core.trailers import Fate, Provenance
from gitmem.git.refs import move_ref
from gitmem.git.repository import Commit, Repository
from gitmem.git.trees import (
    CachedObjects,
    changed_files,
    hot_files,
    list_files,
    read_file,
    read_paths,
    tree_or_none,
)
from gitmem.ledger.indexes import Hot
from gitmem.ledger.land import Ref, Tip, Write, Written, land
from gitmem.ledger.merge import merge_commits
from gitmem.values import dataclass

SUBJECT = "Tidy memory after a merge"

DEEPEST = 256
"""Commits that are looked at where a clone has no note of where it was; older ones others have seen."""

NEAR = 8
"""Commits that are looked at again rather than noted down, so that an ordinary write notes nothing."""

_OP = re.compile(r"Gitmem-Op:")

_MARK = re.compile(r"(<{7}|\|{7}|={7}|>{7})(?: .*)?")
_ANY_MARK = re.compile(r"^(?:<{7}|>{7})(?: |\r?$)", re.MULTILINE)

RESCUED = "refs/gitmem/rescued/"
"""Where refs keep commits that memory refs do not hold any more, or never should have."""

LOCAL = "refs/heads/local/"
"""Where the private repository keeps each project's memory."""


@dataclass(frozen=True)
class Tidying:
    """What is to be put right.

    Attributes:
        edits: path to new content, None to delete.
        fates: what became of claims: said twice, or forgotten on one side.
        told: what was done or is left, one line a thing.
    """

    edits: dict[str, bytes | None] = field(default_factory=dict)
    fates: tuple[Fate, ...] = ()
    told: tuple[str, ...] = ()


def tidy_ref(repo: Repository, ref: str, state: Path) -> Written | None:
    """Tidies a memory ref where a commit that gitmem did not make has come to it.

    Args:
        state: folder for the note of what has been looked at.

    Returns:
        The commit, or None where there was nothing to do.

    Raises:
        RepositoryError: the ref cannot be read or written.
    """
    note = state / "tidied" / hashlib.sha256(ref.encode()).hexdigest()[:16]
    seen = _noted(note)
    if repo.ref(ref) in (None, seen):
        return None

    def plan(tip: Tip) -> Write | None:
        foreign, looked = foreign_commits(repo, tip.commit, seen)
        tidying = plan_tidying(repo, tip, foreign) if foreign else Tidying()
        if not tidying.edits:
            if foreign or looked > NEAR:
                _note(note, tip.commit)
            return None
        told = "\n".join(tidying.told)
        return Write(tidying.edits, SUBJECT, Provenance("merge", "sync", claims=tidying.fates), told)

    written = land(Ref(repo, ref), plan, None)
    if written is not None:
        _note(note, written.commit)
    return written


def is_own(message: str) -> bool:
    """Whether gitmem wrote a commit's message: its trailers, once and in the end, as no squash has them."""
    last = message.rstrip("\n").rpartition("\n\n")[2].splitlines()
    return len(_OP.findall(message)) == 1 and all(line.startswith("Gitmem-") for line in last)


def foreign_commits(repo: Repository, tip: str, seen: str | None) -> tuple[list[Commit], int]:
    """Commits since `seen` that are not gitmem's own, and how many were looked at.

    Args:
        seen: a commit that was looked at with all before it; None for none.
    """
    found: list[Commit] = []
    queue, done = [tip], {seen}
    while queue and len(done) < DEEPEST:
        oid = queue.pop(0)
        if oid in done:
            continue
        done.add(oid)
        try:
            made = repo.commit(oid)
        except MissingObject:  # a shallow clone ends here
            continue
        if made.parents and not is_own(made.message):
            found.append(made)
        parents = [parent for parent in made.parents if parent not in done]
        if seen and len(made.parents) > 1:
            parents = [parent for parent in parents if not _is_before(repo, parent, seen)]
        queue += parents
    return found, len(done) - 1


def plan_tidying(repo: Repository, tip: Tip, foreign: Iterable[Commit]) -> Tidying:
    """Finds what is to be put right at a tip after commits of others; no ref is moved."""
    listed = list(foreign)
    work = _Work(repo, tip, [made for made in listed if len(made.parents) > 1])
    for made in listed:
        work.look(made)
    return work.plan()


class _Work:
    """One plan under way: the files at the tip that others' commits touched."""

    def __init__(self, repo: Repository, tip: Tip, merges: Sequence[Commit]) -> None:
        self.repo, self.tip, self.merges = repo, tip, merges
        # What sides and tip have is mostly the same: each object is read once.
        self.objects = CachedObjects(repo)
        # That a claim stands twice in what others merged does not say that it should.
        self.untidy = frozenset(made.tree for made in merges)
        self.before: dict[str, bytes | None] = {}
        self.now: dict[str, bytes | None] = {}
        self.paths: set[str] = set()
        self.sides: dict[str, list[bytes]] = {}
        # For the index: a line is gitmem's own by whatever a memory held, on an untidy side, too.
        self.held: dict[str, list[bytes]] = {}
        self.merged: dict[str, list[str]] = {}
        self.bases: dict[str, list[str]] = {}
        self.logs: dict[str, list[bytes]] = {}
        self.fates: list[Fate] = []
        self.told: list[str] = []

    def look(self, made: Commit) -> None:
        """Takes in what one commit touched, and what its sides had there."""
        trees = [tree for parent in made.parents if (tree := tree_or_none(self.repo, parent))]
        if len(trees) < len(made.parents):
            return
        changed: set[str] = set().union(*(changed_files(self.objects, tree, made.tree) for tree in trees))
        self.paths |= changed
        self._look_at_logs(trees, changed)
        if len(trees) < 2:
            # One parent's state and its own: a person may well say a thing twice.
            trees.append(made.tree)
        for tree in trees:
            for path, data in read_paths(self.objects, tree, changed).items():
                self.held.setdefault(path, []).append(data)
                if tree not in self.untidy:
                    self.sides.setdefault(path, []).append(data)
        # Where one wrote a listing by itself, gitmem's merge put its lines beside others' before this.
        left = made.tree if len(made.parents) > 1 else self.tip.tree
        listings = {path for path in changed if kind(path) == "index"}
        for path, data in read_paths(self.objects, left, listings).items():
            self.merged.setdefault(path, []).append(decode(data))
        if len(made.parents) > 1 and listings:
            for oid in self.repo.merge_bases(*made.parents[:2])[:1]:
                for path, data in read_paths(self.objects, self.repo.commit(oid).tree, listings).items():
                    self.bases.setdefault(path, []).append(decode(data))
        if len(made.parents) > 1 and any(path.endswith(f"/{TOMBSTONES}") for path in changed):
            for one, other in combinations(made.parents, 2):
                self._bury(one, other)

    def _look_at_logs(self, trees: Sequence[str], changed: Iterable[str]) -> None:
        """Takes in what logs said before a commit; one side of a merge may lack a line with reason."""
        paths = set(filter(is_log, changed))
        if not paths:
            return
        first, *others = (read_paths(self.objects, tree, paths) for tree in trees)
        for path in paths & first.keys():
            lines = [set(split(decode(other.get(path, b"")))) for other in others]
            marked = has_marks(path, first[path])
            said = without_marks(path, first[path]) if marked else first[path]
            kept = [one for one in split(decode(said or b"")) if all(one in there for there in lines)]
            self.logs.setdefault(path, []).append(encode("".join(f"{line}\n" for line in kept)))

    def plan(self) -> Tidying:
        unread = self.paths - self.now.keys()
        found = {**dict.fromkeys(unread), **read_paths(self.objects, self.tip.tree, unread)}
        self.before |= found
        self.now |= found
        for path, said in sorted(self.logs.items()):
            self._put_back(path, said)
        for path in sorted(self.paths):
            if (data := self._read(path)) is not None:
                self._file(path, data)
        self._cases()
        agents = {path.partition("/")[0] for path in self.paths if agent_folder(path)}
        for agent in sorted(agents):
            self._index(agent)
        edits = {path: data for path, data in self.now.items() if data != self.before[path]}
        return Tidying(edits, tuple(self.fates), tuple(dict.fromkeys(self.told)))

    def _read(self, path: str) -> bytes | None:
        if path not in self.now:
            self.before[path] = self.now[path] = read_file(self.objects, self.tip.tree, path)
        return self.now[path]

    def _file(self, path: str, data: bytes) -> None:
        sides = self.sides.get(path, [])
        if has_marks(path, data):
            whole = without_marks(path, data) or self._merged_again(path, data)
            if whole is None:
                self.told.append(f"{path}: conflict marks are left that only a person can resolve")
                return
            self.told.append(f"{path}: both sides of a conflict are kept")
            self._put(path, whole)
            return
        if kind(path) == "memory":
            single, repeats = without_repeats(path, data, sides)
            name = path.rpartition("/")[2]
            self.fates += [
                Fate("merged", f"{name}#{again}", f"{name}#{first}", "said twice by a text merge")
                for again, first in repeats
            ]
            self._put(path, single)
        elif kind(path) == "log":
            self._put(path, encode(in_order(decode(data))))

    def _put_back(self, path: str, said: Iterable[bytes]) -> None:
        """Puts lines back that a commit took out of a log: it is only added to."""
        places = [one for one in (path, other_place(path), stones_of(path)) if one]
        for before in said:
            now = {place: data for place in places if (data := self._read(place)) is not None}
            whole = with_every_line({path: before}, now, now).get(path)
            if whole is not None and whole != now.get(path):
                self.paths.add(path)
                self._put(path, whole)
                self.told.append(f"{path}: lines that were taken out of a log stand there again")

    def _merged_again(self, path: str, data: bytes) -> bytes | None:
        """A memory as gitmem would have merged it, where marks of merges in a row run into one another."""
        for made in self.merges:
            if read_file(self.repo, made.tree, path) == data:
                return self._resolved(made, path, DEEPEST)
        return None

    def _resolved(self, made: Commit, path: str, depth: int) -> bytes | None:
        data = read_file(self.repo, made.tree, path)
        if data is None or not has_marks(path, data):
            return data
        if whole := without_marks(path, data):
            return whole
        if len(made.parents) != 2 or not depth or kind(path) != "memory":
            return None
        first, other = made.parents
        ours = self._resolved(self.repo.commit(first), path, depth - 1)
        # In a row each is the next one's first parent; by both, a hostile history has 2^256 ways back.
        theirs = self._resolved(self.repo.commit(other), path, 0)
        if ours is None or theirs is None:
            return None
        bases = self.repo.merge_bases(first, other)
        base = read_file(self.repo, self.repo.commit(bases[0]).tree, path) if bases else None
        sides = [{path: one} if one is not None else {} for one in (base, ours, theirs)]
        return merge_trees(*sides).files.get(path)

    def _bury(self, one: str, other: str) -> None:
        """Takes out what one side forgot and the merge brought back."""
        lost: dict[str, list[str]] = {}
        with suppress(RepositoryError):  # unrelated, or of another epoch
            for path, text in merge_commits(self.repo, one, other).buried:
                lost.setdefault(path, []).append(text)
        for path, texts in sorted(lost.items()):
            data = self._read(path)
            if data is None:
                continue
            if kind(path) == "log":
                self._put(path, encode(without_lines(decode(data), texts)) or None)
                continue
            memory = parse(path, data)
            keys = {claim.key for text in texts for claim in parse_body(text).claims}
            gone = [claim for claim in memory.parsed.claims if claim.key in keys]
            name = path.rpartition("/")[2]
            self.fates += [
                Fate("dropped", f"{name}#{claim.short}", reason="forgotten on one side") for claim in gone
            ]
            if len(gone) == len(memory.parsed.claims):
                self._put(path, None)
                self.paths.add(path)
            elif gone:
                self._put(path, without(memory, frozenset(claim.id for claim in gone)).render())

    def _cases(self) -> None:
        """Moves one of two files aside whose names only differ in case: elsewhere they are one file."""
        for agent in sorted({p.partition("/")[0] for p in self.paths if "/" in p}):
            same: dict[str, list[str]] = {}
            for name in sorted(self._names(agent)):
                same.setdefault(name.lower(), []).append(name)
            for names in same.values():
                if len(names) < 2 or not any(f"{agent}/{name}" in self.paths for name in names):
                    continue
                keep, *others = sorted(names, reverse=True)
                for name in others:
                    self._unite(f"{agent}/{keep}", f"{agent}/{name}")

    def _unite(self, keep: str, path: str) -> None:
        one, other = self._read(keep), self._read(path)
        if one is None or other is None:
            return
        for target, data in merge_trees({}, {keep: one}, {keep: other}).files.items():
            self._put(target, data)
            self.paths.add(target)
        self._put(path, None)
        self.paths.add(path)
        self.told.append(f"{path}: its name differs from {keep} in case only; both are kept")

    def _index(self, agent: str) -> None:
        at = f"{agent}/{INDEX}"
        data = self._read(at)
        if data is None:
            return
        sides = [decode(side) for side in self.sides.get(at, [])]
        flat = {p.partition("/")[2] for p in self.paths if p.startswith(f"{agent}/")}
        now = Hot(self._names(agent), lambda file: self._read(f"{agent}/{file}"))
        was = {
            file: [*self.held.get(f"{agent}/{file}", []), *([now[file]] if file in now else [])]
            for file in filter(is_memory_file, flat)
        }
        bases = self.bases.get(at, ())
        text = index.without_twins(decode(data), self.merged.get(at, ()), sides, was, bases)
        self._put(at, encode(index.align(text, was, now)))

    def _names(self, agent: str) -> set[str]:
        """Hot memories of an agent as the plan leaves them."""
        names = set(hot_files(self.repo, self.tip.tree, agent))
        for path, data in self.now.items():
            owner, _, name = path.partition("/")
            if owner == agent:
                (names.discard if data is None else names.add)(name)
        return {name for name in names if is_memory_file(name)}

    def _put(self, path: str, data: bytes | None) -> None:
        self._read(path)
        self.now[path] = data


def _is_before(repo: Repository, oid: str, seen: str) -> bool:
    try:
        return repo.is_ancestor(oid, seen)
    except RepositoryError:
        return False


def _noted(note: Path) -> str | None:
    try:
        return note.read_text().strip() or None
    except (OSError, ValueError):
        return None


def _note(note: Path, oid: str) -> None:
    """Notes down a commit that was looked at, best effort: without it one looks again."""
    with suppress(OSError):
        note.parent.mkdir(exist_ok=True)
        note.write_text(f"{oid}\n")


def has_marks(path: str, data: bytes) -> bool:
    """Whether a file holds conflict marks that are not part of a fence, which would only tell of them."""
    if b"<<<<<<<" not in data and b">>>>>>>" not in data:
        return False
    text = decode(data)
    if _ANY_MARK.search(text) is None:
        return False
    if kind(path) != "memory":
        return True
    fenced = [c.text for c in parse(path, data).parsed.claims if c.text.lstrip().startswith(("```", "~~~"))]
    shown = sum(len(_ANY_MARK.findall(one)) for one in fenced)
    return len(_ANY_MARK.findall(text)) > shown


def without_marks(path: str, data: bytes) -> bytes | None:
    """Resolves committed conflict marks so that both sides stay; claims against each other are disputed.

    Returns:
        The file; None where its marks do not belong together, or lie in one another, which is for a person.
    """
    parts = _parts(decode(data))
    if parts is None:
        return None
    sides = ["".join(part[side] for part in parts) for side in (0, -1)]
    what = kind(path)
    if what == "memory":
        return _united(path, parts, sides)
    merge = {"index": index.merge, "tombstones": tombstone.merge, "log": merge_lines}.get(what)
    return encode(merge("", *sides)) if merge else None


def _parts(text: str) -> list[list[str]] | None:
    """The text cut at its conflicts: what both sides say is a list of one, a conflict a list of its two.

    What the ancestor said between `|||||||` and `=======` is no side.
    """
    parts: list[list[list[str]]] = [[[]]]
    side = ""
    for line in text.splitlines(keepends=True):
        match = _MARK.fullmatch(line.rstrip("\r\n"))
        mark = match[1][0] if match else ""
        if mark == "<" and not side:
            parts.append([[]])
            side = "ours"
        elif mark == "|" and side == "ours":
            side = "base"
        elif mark == "=" and side in ("ours", "base"):
            parts[-1].append([])
            side = "theirs"
        elif mark == ">" and side == "theirs":
            parts.append([[]])
            side = ""
        elif mark in ("<", ">"):
            return None
        elif side != "base":
            parts[-1][-1].append(line)
    if side or len(parts) == 1:
        return None
    return [["".join(lines) for lines in part] for part in parts]


def _united(path: str, parts: Sequence[Sequence[str]], sides: Sequence[str]) -> bytes | None:
    marks: dict[str, str] = {}
    ours, theirs = (_keys(path, parts, side) for side in (0, -1))
    everything = [frozenset().union(*keys) for keys in (theirs, ours)]
    for said in zip(ours, theirs, strict=True):
        alone = [keys - other for keys, other in zip(said, everything, strict=True)]
        if all(alone):
            disputed = alone[0] | alone[1]
            digits = claim_id(min(disputed))[:DISPUTE_LENGTH]
            marks |= {key: marks.get(key, digits) for key in disputed}
    one, other = (_marked(path, side, marks) for side in sides)
    merged = merge_memory(Memory(path, None, ""), one, other, path).memory
    return merged.render() if merged else None


def _marked(path: str, text: str, marks: dict[str, str]) -> Memory:
    memory = parse(path, encode(text))
    body = memory.parsed
    written = "".join(
        claim.lead + (with_dispute(claim.text, marks[claim.key]) if claim.key in marks else claim.text)
        for claim in body.claims
    )
    return Memory(path, memory.front, written + body.tail)


def _keys(path: str, parts: Sequence[Sequence[str]], side: int) -> list[set[str]]:
    """Of each part the keys of claims that it holds, or a piece of."""
    text = "".join(part[side] for part in parts)
    memory = parse(path, encode(text))
    ends = list(accumulate(len(part[side]) for part in parts))
    found: list[set[str]] = [set() for _ in parts]
    at = len(text) - len(memory.body)
    for claim in memory.parsed.claims:
        start, at = at + len(claim.lead), at + len(claim.lead) + len(claim.text)
        for number in range(bisect_right(ends, start), bisect_right(ends, at - 1) + 1):
            found[number].add(claim.key)
    return found


def without_repeats(
    path: str, data: bytes, sides: Collection[bytes]
) -> tuple[bytes, tuple[tuple[str, str], ...]]:
    """Takes out claims that stand more often than on any side, the first of them stays.

    Args:
        sides: the file as the merged commits have it.

    Returns:
        The file, and of each claim that was taken out the name that it had, and that of the one that stays.
    """
    if data in sides:
        return data, ()
    memory = parse(path, data)
    allowed: Counter[str] = Counter()
    for side in sides:
        allowed |= Counter(claim.key for claim in parse(path, side).parsed.claims)
    again = [
        claim for claim in memory.parsed.claims if claim.ordinal and claim.ordinal >= allowed[claim.key]
    ]
    if not again:
        return data, ()
    repeats = tuple((claim.short, claim_id(claim.key)[:12]) for claim in again)
    return without(memory, frozenset(claim.id for claim in again)).render(), repeats


def is_usable(repo: Repository, oid: str) -> bool:
    """Whether a commit and the folders of its tree can be read: else no write to a ref there succeeds."""
    try:
        list_files(repo, repo.commit(oid).tree)
    except MissingObject:
        return False
    return True


def rescue(repo: Repository, base: str) -> None:
    """Names what was lost, where it still exists, so that git does not collect it."""
    try:
        repo.commit(base)
    except MissingObject:
        return
    if repo.ref(rescue_name(base)) is None:
        move_ref(repo, rescue_name(base), base, None, "gitmem: lost by its ref")


def rescue_name(base: str) -> str:
    """The ref that keeps it."""
    return f"{RESCUED}{base[:12]}"
