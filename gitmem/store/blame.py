"""Who taught each claim: the commit in which it came into being, found by walking back from a tip.

A claim is followed to every parent that has it, in the same file or its other place (hot or archived).
Where no parent has it, it may have come from elsewhere: a dream says from which claims, or from which line
of a daily log, a move took it from another file that lost it in that commit, a restore or undo brought it
back. Else this is its origin. What a dream says is followed as far as the trees bear it out: whoever taught
a claim did not say what took its place, and is only named as who was superseded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import PurePosixPath

from gitmem.core.account import claims_at, is_memory, path_of, reference
from gitmem.core.claim import Claim
from gitmem.core.daily_log import LogLine, day_of, is_log, log_claims, read_line
from gitmem.core.facts import undated
from gitmem.core.memory import Memory, description_claim, parse
from gitmem.core.names import homes
from gitmem.core.trailers import Fate, FateKind, Provenance, Telling, fitting, tellings
from gitmem.core.trailers import parse as parse_trailers
from gitmem.rules.source import says_again
from gitmem.store.damaged import lineage
from gitmem.store.repository import Commit, MissingObject, Repository
from gitmem.store.straight import introductions
from gitmem.store.trees import changed_files

MOST_WALKS = 64
"""Times that claims are followed into other files, at most; what came further is blamed on the last."""

FEW = 3
"""Files that are followed through history one by one; more are first looked at together."""

MOST_CROOKED = 40
"""Files that are followed one by one where their history is no straight line; about 0.2 s each in a history
of 10,000 commits."""

MOST_MOVED = 200
"""Files that one commit changed which are asked whether a claim came from there."""

Trail = tuple[tuple[str, str], ...]
"""Dream commits that a claim came through, newest first, each with the claim that it was made of."""


@dataclass(frozen=True)
class Former:
    """A claim that another one took the place of.

    Attributes:
        commit: in which it stood last.
        path: the file that it stood in.
        id: of the claim.
    """

    commit: str
    path: str
    id: str


@dataclass(frozen=True)
class Origin:
    """Where a claim came into being.

    Attributes:
        commit: of the memory ref.
        path: the file that it stood in then.
        claim: the 12 digits that it had then.
        time: author time, seconds since the epoch.
        via: dream commits that made it what it is since, newest first.
        told: who taught it; several where a squashed commit does not say which of its parts did.
        line: the fact of a daily log that it was made of, where `path` is a log; else None.
        replaced: the claims in whose place it was put there, without saying the same.
    """

    commit: str
    path: str
    claim: str
    time: int
    via: tuple[str, ...]
    told: tuple[Telling, ...]
    line: LogLine | None = None
    replaced: tuple[Former, ...] = ()


@dataclass(frozen=True)
class Blamed:
    """One claim of a memory and where it came from.

    Attributes:
        description: whether it is the description.
        origins: oldest first; several where a dream made it of several claims; none where history is
            missing.
        against: 12 digits each of the claims that it is disputed with.
    """

    claim: Claim
    description: bool
    origins: tuple[Origin, ...]
    against: tuple[str, ...]


def blame_memory(
    repo: Repository, tip: str, path: str, only: Collection[str] | None = None
) -> tuple[Blamed, ...]:
    """Finds the origin of every claim of a memory.

    Args:
        tip: commit that the memory is read at.
        path: its file, from the root of the tree.
        only: ids of the claims that are asked about; None for all.

    Returns:
        The description first, then the claims in the order of the text.

    Raises:
        MissingObject: the memory itself cannot be read.
    """
    entry = repo.entry(repo.commit(tip).tree, path)
    data = repo.blob(entry.oid) if entry else b""
    memory = Memory(path, None, "") if is_log(path) else parse(path, data)
    claims = log_claims(path, data) if is_log(path) else _claims(memory)
    asked = [claim for claim in claims if only is None or claim.id in only]
    search = _Search(repo)
    search.run(tip, {path: [claim.id for claim in asked]})
    origins = search.origins()
    described = description_claim(memory.description)
    return tuple(
        Blamed(
            claim,
            claim is asked[0] and described is not None and claim.id == described.id,
            origins.get((path, claim.id), ()),
            tuple(
                other.short
                for other in memory.parsed.claims
                if claim.dispute and other.dispute == claim.dispute and other.id != claim.id
            ),
        )
        for claim in asked
    )


def origins_of(
    repo: Repository, tip: str, wanted: Mapping[str, Collection[str]]
) -> dict[tuple[str, str], tuple[Origin, ...]]:
    """Finds the origins of claims of many memories in one walk.

    Args:
        tip: commit that they are read at.
        wanted: path from the root of the tree to ids of claims there.

    Returns:
        (path, id) to origins, oldest first; nothing for a claim that is not there, or has no history.
    """
    search = _Search(repo)
    search.run(tip, {path: ids for path, ids in sorted(wanted.items()) if ids})
    return search.origins()


def _claims(memory: Memory) -> Iterator[Claim]:
    described = description_claim(memory.description)
    if described is not None:
        yield described
    yield from memory.parsed.claims


Slot = tuple[tuple[str, str], Trail]
"""The claim that is asked about, as (path, id), and how it was come from there."""
Sought = dict[str, dict[str, set[Slot]]]
"""Path to id of a claim there to what it is sought for."""


class _Search:
    """One run: follows claims back, walk after walk, and collects where they began."""

    def __init__(self, repo: Repository) -> None:
        self._repo = repo
        self._commit = lru_cache(maxsize=4096)(repo.commit)
        self._todo: dict[str, Sought] = {}
        self._walks = 0
        self._found: dict[Slot, list[Origin]] = {}
        self._held = lru_cache(maxsize=65_536)(self._read)

    def run(self, tip: str, wanted: Mapping[str, Iterable[str]]) -> None:
        if wanted:
            self._todo[tip] = {path: {id: {((path, id), ())} for id in ids} for path, ids in wanted.items()}
        while self._todo:
            start = next(iter(self._todo))
            sought = self._todo.pop(start)
            self._walks += 1
            if len(sought) > FEW:
                sought = dict(islice(self._off_the_line(start, sought).items(), MOST_CROOKED))
            # Together they would be asked about at each commit that touches one of them.
            for path, ids in sought.items():
                self._walk(start, {path: ids})

    def origins(self) -> dict[tuple[str, str], tuple[Origin, ...]]:
        """Where claims began: of each thing that one was made of the earliest, since both sides had it."""
        firsts: dict[tuple[str, str], list[Origin]] = {}
        for (asked, _), some in self._found.items():
            firsts.setdefault(asked, []).append(min(some, key=_age))
        found = {}
        for asked, some in firsts.items():
            distinct = {(one.commit, one.claim): one for one in sorted(some, key=_age, reverse=True)}
            found[asked] = tuple(sorted(distinct.values(), key=_age))
        return found

    def _walk(self, start: str, sought: Sought) -> None:
        """Follows claims from a commit through all that changed their files."""
        graph = lineage(self._repo, start, sorted({home for path in sought for home in homes(path)}))
        pending = dict.fromkeys(islice(graph, 1), sought)
        for oid, parents in graph.items():
            for path, ids in pending.pop(oid, {}).items():
                for id in ids.keys() - self._passed(parents, path, ids, pending):
                    self._arrived(oid, path, id, ids[id], graph, pending)

    def _off_the_line(self, start: str, sought: Sought) -> Sought:
        """Settles the claims of files with a straight history; gives back the others."""
        left: Sought = {}
        came = introductions(self._repo, start, sought)
        for path, ids in sought.items():
            for id, slots in ids.items():
                oid, place = came.get((path, id), ("", ""))
                told = parse_trailers(self._commit(oid).message) if oid else None
                # What came back is looked for further back, which takes the whole line.
                if told is None or told.op == "restore" or told.undoes:
                    _add(left, path, id, slots)
                else:
                    self._arrived(oid, place, id, slots, {}, {})
        return left

    def _passed(
        self,
        parents: tuple[str, ...],
        path: str,
        ids: Mapping[str, set[Slot]],
        pending: dict[str, Sought],
    ) -> set[str]:
        """Hands claims on to the parents that have them; returns their ids."""
        passed: set[str] = set()
        for parent in parents:
            left = set(ids)
            for place in (path, *(home for home in homes(path) if home != path)):
                held = left & self._held(parent, place).keys()
                for id in held:
                    _add(pending.setdefault(parent, {}), place, id, ids[id])
                passed |= held
                left -= held
        return passed

    def _arrived(
        self,
        oid: str,
        path: str,
        id: str,
        slots: set[Slot],
        graph: Mapping[str, tuple[str, ...]],
        pending: dict[str, Sought],
    ) -> None:
        """Handles a claim that no parent has in this file."""
        claim = self._held(oid, path).get(id)
        if claim is None:
            return
        commit = self._commit(oid)
        told = parse_trailers(commit.message)
        former: tuple[Former, ...] = ()
        if self._walks + len(self._todo) < MOST_WALKS:
            found = list(self._named(commit, path, claim, told))
            if found and self._dreamt(commit, claim, slots, found):
                return
            if not found and self._moved(commit, path, claim, slots):
                return
            former = tuple(dict.fromkeys(one for _, one, _ in found))
        if (told.op == "restore" or told.undoes) and self._restored(oid, path, id, slots, graph, pending):
            return
        for slot in slots:
            self._found.setdefault(slot, []).append(self._origin(commit, path, claim, slot[1], former))

    def _named(
        self, commit: Commit, path: str, claim: Claim, told: Provenance
    ) -> Iterator[tuple[Fate, Former, Claim]]:
        """The claims that a commit says to have made this one of, as they stood in its parents."""
        for fate in _sources(told.claims, reference(path, claim)):
            digits = fate.source.rpartition("#")[2]
            for parent in commit.parents:
                for place in homes(path_of(fate.source)):
                    for id, one in self._held(parent, place).items():
                        if one.short == digits:
                            yield fate, Former(parent, place, id), one

    def _dreamt(
        self, commit: Commit, claim: Claim, slots: set[Slot], found: Sequence[tuple[Fate, Former, Claim]]
    ) -> bool:
        """Follows a claim to those that it was made of, where it says no more than they did."""
        texts = [_text_of(former.path, one) for _, former, one in found]
        if any(fate.kind == "superseded" for fate, _, _ in found) or not says_again(
            undated(claim.key), texts
        ):
            return False
        for fate, former, one in found:
            kept = one.key == claim.key
            trail = commit.oid, fate.source
            further = slots if kept else {(asked, (*way, trail)) for asked, way in slots}
            _add(self._todo.setdefault(former.commit, {}), former.path, former.id, further)
        return True

    def _moved(self, commit: Commit, path: str, claim: Claim, slots: set[Slot]) -> bool:
        """Follows a claim to a file that lost it in the same commit."""
        found = False
        for parent in commit.parents:
            for place in self._changed(commit, parent, path)[:MOST_MOVED]:
                before = [id for id, one in self._held(parent, place).items() if one.key == claim.key]
                if before and all(one.key != claim.key for one in self._held(commit.oid, place).values()):
                    _add(self._todo.setdefault(parent, {}), place, before[0], slots)
                    found = True
        return found

    def _restored(
        self,
        oid: str,
        path: str,
        id: str,
        slots: set[Slot],
        graph: Mapping[str, tuple[str, ...]],
        pending: dict[str, Sought],
    ) -> bool:
        """Looks further back for a claim that was gone for a while."""
        before = _ancestors(graph, oid)
        for older in graph:
            for place in homes(path) if older in before else ():
                if id in self._held(older, place):
                    _add(pending.setdefault(older, {}), place, id, slots)
                    return True
        return False

    def _read(self, oid: str, path: str) -> dict[str, Claim]:
        """The claims of a file by id; none where it is not there, or history ends."""
        try:
            entry = self._repo.entry(self._commit(oid).tree, path)
            claims = claims_at(path, self._repo.blob(entry.oid)) if entry else ()
        except MissingObject:
            return {}
        return {claim.id: claim for claim in claims}

    def _changed(self, commit: Commit, parent: str, path: str) -> list[str]:
        """Other memories that a commit changed or deleted, those of the same agent first."""
        try:
            found = changed_files(self._repo, self._commit(parent).tree, commit.tree) - {path}
        except MissingObject:
            return []
        agent = path.partition("/")[0]
        return sorted(filter(is_memory, found), key=lambda other: (other.partition("/")[0] != agent, other))

    def _origin(
        self, commit: Commit, path: str, claim: Claim, trail: Trail, former: tuple[Former, ...]
    ) -> Origin:
        day = day_of(path) if is_log(path) else None
        line = read_line(f"- {claim.key}", day) if day else None
        entry = None if day else self._repo.entry(commit.tree, path)
        memory = parse(path, self._repo.blob(entry.oid) if entry else b"")
        names = (memory.name, PurePosixPath(path).stem, memory.description)
        author = f"{commit.author.name} <{commit.author.email}>"
        told = tuple(
            one if one.author else replace(one, author=author, time=commit.author.time)
            for one in fitting(tellings(commit.message), names)
        )
        time = min((one.time for one in told if one.time is not None), default=commit.author.time)
        return Origin(
            commit.oid, path, claim.short, time, tuple(oid for oid, _ in trail), told, line, former
        )


def _sources(fates: tuple[Fate, ...], target: str) -> Iterator[Fate]:
    """What became a claim, also by way of others that the same message names: as the worst of the way."""
    todo: list[tuple[str, FateKind]] = [(target, "kept")]
    seen = {target}
    while todo:
        at, kind = todo.pop()
        for fate in fates:
            if fate.target == at and fate.source not in seen:
                seen.add(fate.source)
                worse = max(kind, fate.kind, key=_WORSE.index)
                todo.append((fate.source, worse))
                yield replace(fate, kind=worse)


_WORSE: tuple[FateKind, ...] = ("kept", "merged", "superseded", "dropped")


def _text_of(path: str, claim: Claim) -> str:
    """What a claim says; of a line of a log the fact alone."""
    day = day_of(path) if is_log(path) else None
    line = read_line(f"- {claim.key}", day) if day else None
    return line.text if line else claim.key


def _ancestors(graph: Mapping[str, tuple[str, ...]], oid: str) -> set[str]:
    found: set[str] = set()
    todo = list(graph[oid])
    while todo:
        at = todo.pop()
        if at not in found:
            found.add(at)
            todo += graph.get(at, ())
    return found


def _add(sought: Sought, path: str, id: str, slots: set[Slot]) -> None:
    sought.setdefault(path, {}).setdefault(id, set()).update(slots)


def _age(origin: Origin) -> tuple[int, str, str]:
    return origin.time, origin.commit, origin.claim
