"""Tidying what git or a host merged or edited without gitmem: one commit, the same in every clone.

Only commits that are not gitmem's own are looked at, and each once a clone: a small file in the state says
up to where. What a commit repairs follows from the tip alone, so clones that tidy the same tip make the
same object.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import field, replace
from itertools import combinations
from pathlib import Path

from gitmem.core import attributes, index
from gitmem.core.claim import parse_body
from gitmem.core.daily_log import is_log, other_place, split, stones_of, with_every_line, without_lines
from gitmem.core.errors import RepositoryError
from gitmem.core.memory import parse
from gitmem.core.merge import agent_folder, merge_trees, without
from gitmem.core.names import INDEX, TOMBSTONES, is_memory_file, kind
from gitmem.core.text import decode, encode
from gitmem.core.trailers import Fate, Provenance
from gitmem.store import conflict_marks
from gitmem.store.commits import ROOT_SIGNATURE, Tip, Write, Written, commit, read_tip
from gitmem.store.indexes import Hot
from gitmem.store.merging import merge_commits
from gitmem.store.repository import Commit, MissingObject, Repository
from gitmem.store.trees import changed_files, read_file, read_paths, subtree, tree_or_none
from gitmem.values import dataclass

SUBJECT = "Tidy memory after a merge"
ATTRIBUTES_SUBJECT = "Tell git how to merge memory"

DEEPEST = 256
"""Commits that are looked at where a clone has no note of where it was; older ones others have seen."""

NEAR = 8
"""Commits that are looked at again rather than noted down, so that an ordinary write notes nothing."""

ATTEMPTS = 8

_OP = re.compile(r"Gitmem-Op:")


@dataclass(frozen=True)
class Tidying:
    """What is to be put right.

    Attributes:
        edits: path to new content, None to delete.
        fates: what became of claims: said twice, or forgotten on one side.
        told: what was done or is left, one line a thing.
        left: files with conflict marks that only a person can resolve.
    """

    edits: dict[str, bytes | None] = field(default_factory=dict)
    fates: tuple[Fate, ...] = ()
    told: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def tidy_ref(repo: Repository, ref: str, state: Path, *, host_files: bool = False) -> Written | None:
    """Tidies a memory ref where a commit that gitmem did not make has come to it.

    Args:
        state: folder for the note of what has been looked at.
        host_files: whether attributes of an earlier gitmem are renewed, which is for who may write there.

    Returns:
        The commit, or None where there was nothing to do.

    Raises:
        RepositoryError: the ref cannot be read or written.
    """
    note = state / "tidied" / hashlib.sha256(ref.encode()).hexdigest()[:16]
    for _ in range(ATTEMPTS):
        oid = repo.ref(ref)
        if oid is None or (seen := _noted(note)) == oid:
            return None
        tip = read_tip(repo, ref)
        foreign, looked = foreign_commits(repo, tip.commit, seen)
        plan = plan_tidying(repo, tip, foreign) if foreign else Tidying()
        if host_files:
            plan = replace(plan, edits=plan.edits | _renewed_attributes(repo, tip))
        if not plan.edits:
            if foreign or looked > NEAR:
                _note(note, tip.commit)
            return None
        told = "\n".join(plan.told)
        subject = SUBJECT if foreign else ATTRIBUTES_SUBJECT
        write = Write(plan.edits, subject, Provenance("merge", "sync", claims=plan.fates), told)
        who = replace(ROOT_SIGNATURE, time=repo.commit(tip.commit).committer.time)
        written = commit(repo, ref, _only_on(tip, write), who)
        if written is not None:
            _note(note, written.commit)
            return written
    return None


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
        # That a claim stands twice in what others merged does not say that it should.
        self.untidy = frozenset(made.tree for made in merges)
        self.before: dict[str, bytes | None] = {}
        self.now: dict[str, bytes | None] = {}
        self.paths: set[str] = set()
        self.sides: dict[str, list[bytes]] = {}
        # For the index: a line is gitmem's own by whatever a memory held, on an untidy side, too.
        self.held: dict[str, list[bytes]] = {}
        self.logs: dict[str, list[bytes]] = {}
        self.fates: list[Fate] = []
        self.told: list[str] = []
        self.left: list[str] = []

    def look(self, made: Commit) -> None:
        """Takes in what one commit touched, and what its sides had there."""
        trees = [tree for parent in made.parents if (tree := tree_or_none(self.repo, parent))]
        if len(trees) < len(made.parents):
            return
        changed: set[str] = set().union(*(changed_files(self.repo, tree, made.tree) for tree in trees))
        self.paths |= changed
        self._look_at_logs(trees, changed)
        if len(trees) < 2:
            # One parent's state and its own: a person may well say a thing twice.
            trees.append(made.tree)
        for tree in trees:
            for path, data in read_paths(self.repo, tree, changed).items():
                self.held.setdefault(path, []).append(data)
                if tree not in self.untidy:
                    self.sides.setdefault(path, []).append(data)
        if len(made.parents) > 1 and any(path.endswith(f"/{TOMBSTONES}") for path in changed):
            for one, other in combinations(made.parents, 2):
                self._bury(one, other)

    def _look_at_logs(self, trees: Sequence[str], changed: Iterable[str]) -> None:
        """Takes in what logs said before a commit; one side of a merge may lack a line with reason."""
        paths = set(filter(is_log, changed))
        if not paths:
            return
        first, *others = (read_paths(self.repo, tree, paths) for tree in trees)
        for path in paths & first.keys():
            lines = [set(split(decode(other.get(path, b"")))) for other in others]
            marked = conflict_marks.has_marks(path, first[path])
            said = conflict_marks.without_marks(path, first[path]) if marked else first[path]
            kept = [one for one in split(decode(said or b"")) if all(one in there for there in lines)]
            self.logs.setdefault(path, []).append(encode("".join(f"{line}\n" for line in kept)))

    def plan(self) -> Tidying:
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
        return Tidying(edits, tuple(self.fates), tuple(dict.fromkeys(self.told)), tuple(self.left))

    def _read(self, path: str) -> bytes | None:
        if path not in self.now:
            self.before[path] = self.now[path] = read_file(self.repo, self.tip.tree, path)
        return self.now[path]

    def _file(self, path: str, data: bytes) -> None:
        sides = self.sides.get(path, [])
        if conflict_marks.has_marks(path, data):
            whole = conflict_marks.without_marks(path, data) or self._merged_again(path, data)
            if whole is None:
                self.left.append(path)
                self.told.append(f"{path}: conflict marks are left that only a person can resolve")
                return
            self.told.append(f"{path}: both sides of a conflict are kept")
            self._put(path, whole)
            return
        if kind(path) == "memory":
            single, repeats = conflict_marks.without_repeats(path, data, sides)
            name = path.rpartition("/")[2]
            self.fates += [
                Fate("merged", f"{name}#{one.again}", f"{name}#{one.first}", "said twice by a text merge")
                for one in repeats
            ]
            self._put(path, single)
        elif kind(path) == "log":
            self._put(path, conflict_marks.log_in_order(data))

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
        if data is None or not conflict_marks.has_marks(path, data):
            return data
        if whole := conflict_marks.without_marks(path, data):
            return whole
        if len(made.parents) < 2 or not depth or kind(path) != "memory":
            return None
        first, *others = made.parents
        merged = self._resolved(self.repo.commit(first), path, depth - 1)
        for other in others:
            theirs = self._resolved(self.repo.commit(other), path, depth - 1)
            bases = self.repo.merge_bases(first, other)
            base = read_file(self.repo, self.repo.commit(bases[0]).tree, path) if bases else None
            if merged is None or theirs is None:
                return None
            sides = [{path: one} if one is not None else {} for one in (base, merged, theirs)]
            merged = merge_trees(*sides).files.get(path)
        return merged

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
        for agent in sorted({p.partition("/")[0] for p in self.paths if p.count("/") == 1}):
            same: dict[str, list[str]] = {}
            for name in self._names(agent):
                same.setdefault(name.casefold(), []).append(name)
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
        text = index.without_twins(decode(data), sides, was)
        self._put(at, encode(index.aligned(text, was, now)))

    def _names(self, agent: str) -> set[str]:
        """Hot memories of an agent as the plan leaves them."""
        folder = subtree(self.repo, self.tip.tree, agent)
        names = set(self.repo.tree(folder)) if folder else set()
        for path, data in self.now.items():
            owner, _, name = path.partition("/")
            if owner == agent and "/" not in name:
                (names.discard if data is None else names.add)(name)
        return {name for name in names if is_memory_file(name)}

    def _put(self, path: str, data: bytes | None) -> None:
        self._read(path)
        self.now[path] = data


def _renewed_attributes(repo: Repository, tip: Tip) -> dict[str, bytes | None]:
    data = read_file(repo, tip.tree, attributes.FILE)
    if data is None:
        return {}
    renewed = encode(attributes.upgraded(decode(data), attributes.BRANCH))
    return {attributes.FILE: renewed} if renewed != data else {}


def _only_on(tip: Tip, write: Write) -> Callable[[Tip], Write | None]:
    return lambda found: write if found.commit == tip.commit else None


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
