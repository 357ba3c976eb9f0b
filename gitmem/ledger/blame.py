"""Who taught each claim: the commit in which it came into being, found by walking back from a tip.

A claim is followed to every parent that has it, in the same file or its other place (hot or archived).
Where no parent has it, it may have come from elsewhere: a dream says from which claims, or from which line
of a daily log, a move took it from another file that lost it in that commit, a restore or undo brought it
back, also from a history that the ref left since (`push_plan.side_tips`). Else this is its origin. What a
dream says is followed as far as the trees bear it out: whoever taught a claim did not say what took its
place, and is only named as who was superseded.

Following many files at once through a long history asks at each commit after all of them. But most files
never differed between two lines of history: where their claims came in is read off their versions alone,
in one pass over all commits.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from itertools import islice
from pathlib import PurePosixPath

from gitmem.core.account import claims_at, is_memory, path_of, reference
from gitmem.core.claim import Claim, with_dispute
from gitmem.core.daily_log import LogLine, day_of, log_claims, read_line
from gitmem.core.errors import MissingObject
from gitmem.core.facts import without_dates
from gitmem.core.memory import Memory, description_claim, disputed_keys, parse
from gitmem.core.names import homes, is_log, kind
from gitmem.core.text import iso
from gitmem.core.trailers import (
    MOVE_JOB,
    WRITERS,
    Fate,
    FateKind,
    Provenance,
    Telling,
    fitting,
    tellings,
)
from gitmem.core.trailers import parse as parse_trailers
from gitmem.git.history import lineage
from gitmem.git.repository import Commit, CommitDiff, Repository
from gitmem.git.trees import changed_files
from gitmem.ledger.push_plan import side_tips
from gitmem.rules.source import says_again
from gitmem.values import dataclass

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
class ClaimOrigin:
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
        beyond: whether it was brought back there from a history that is not here (any more): who taught
            it is not known.
        hands: further commits that moved it to another file, said it in other words, or brought it back.
    """

    commit: str
    path: str
    claim: str
    time: int
    via: tuple[str, ...]
    told: tuple[Telling, ...]
    line: LogLine | None = None
    replaced: tuple[Former, ...] = ()
    beyond: bool = False
    hands: tuple[str, ...] = ()


@dataclass(frozen=True)
class Blamed:
    """One claim of a memory and where it came from.

    Attributes:
        description: whether it is the description.
        key: the key of the frontmatter whose value it is, where that lost and is disputed; empty for a
            claim of the body.
        origins: oldest first; several where a dream made it of several claims; none where history is
            missing.
        against: 12 digits each of the claims that it is disputed with.
    """

    claim: Claim
    description: bool
    origins: tuple[ClaimOrigin, ...]
    against: tuple[str, ...]
    key: str = ""

    @property
    def text(self) -> str:
        """The claim as a person reads it."""
        value = with_dispute(self.claim.text, "").partition(": ")[2]
        return f"({self.key}, disputed) {value}" if self.key else self.claim.text


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
    keys = disputed_keys(memory)
    lost = [claim.short for claim in memory.parsed.claims if keys.get(claim.dispute) == "description"]
    found = []
    for claim in asked:
        about = claim is asked[0] and described is not None and claim.id == described.id
        key = keys.get(claim.dispute, "")
        against = [
            other.short
            for other in memory.parsed.claims
            if claim.dispute and other.dispute == claim.dispute and other.id != claim.id
        ]
        if described is not None and key == "description":
            against.insert(0, described.short)
        told = origins.get((path, claim.id), ())
        found.append(Blamed(claim, about, told, tuple(lost if about else against), key))
    return tuple(found)


def origins_of(
    repo: Repository, tip: str, wanted: Mapping[str, Collection[str]], *, merges: bool = False
) -> dict[tuple[str, str], tuple[ClaimOrigin, ...]]:
    """Finds the origins of claims of many memories in one walk.

    Args:
        tip: commit that they are read at.
        wanted: path from the root of the tree to ids of claims there.
        merges: whether `hands` has those, too, that brought back what one side took out.

    Returns:
        (path, id) to origins, oldest first; nothing for a claim that is not there, or has no history.
    """
    search = _Search(repo, merges=merges)
    search.run(tip, {path: sorted(ids) for path, ids in sorted(wanted.items()) if ids})
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

    def __init__(self, repo: Repository, *, merges: bool = False) -> None:
        self._repo, self._merges = repo, merges
        self._commit = lru_cache(maxsize=4096)(repo.commit)
        self._todo: dict[str, Sought] = {}
        self._walks = 0
        self._found: dict[Slot, list[ClaimOrigin]] = {}
        self._hands: dict[tuple[str, str], set[str]] = {}
        self._bases = lru_cache(maxsize=4096)(lambda one, other: repo.merge_bases(one, other))
        self._held = lru_cache(maxsize=65_536)(self._read)
        # One commit may have brought a thousand memories, each of which asks what it changed besides.
        self._changes = lru_cache(maxsize=64)(self._replaced)
        self._before: dict[str, set[str]] = {}
        self._beside: dict[tuple[str, str], list[str]] = {}

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

    def origins(self) -> dict[tuple[str, str], tuple[ClaimOrigin, ...]]:
        """Where claims began: of each thing that one was made of the earliest, since both sides had it."""
        firsts: dict[tuple[str, str], list[ClaimOrigin]] = {}
        for (asked, _), some in self._found.items():
            firsts.setdefault(asked, []).append(min(some, key=_age))
        found = {}
        for asked, some in firsts.items():
            distinct = {(one.commit, one.claim): one for one in sorted(some, key=_age, reverse=True)}
            hands = tuple(sorted(self._hands.get(asked, ())))
            found[asked] = tuple(replace(one, hands=hands) for one in sorted(distinct.values(), key=_age))
        return found

    def _walk(self, start: str, sought: Sought) -> None:
        """Follows claims from a commit through all that changed their files."""
        self._before.clear()
        graph = lineage(self._repo, start, sorted({home for path in sought for home in homes(path)}))
        pending = dict.fromkeys(islice(graph, 1), sought)
        for oid, parents in graph.items():
            for path, ids in pending.pop(oid, {}).items():
                passed = self._passed(parents, path, ids, pending)
                for id in passed if self._merges and len(parents) > 1 else ():
                    if self._brought_back(parents, path, id):
                        self._handled(oid, ids[id])
                for id in sorted(ids.keys() - passed):
                    self._arrived(oid, path, id, ids[id], graph, pending)

    def _handled(self, oid: str, slots: set[Slot]) -> None:
        for asked, _ in slots:
            self._hands.setdefault(asked, set()).add(oid)

    def _brought_back(self, parents: tuple[str, ...], path: str, id: str) -> bool:
        """Whether a merge has a claim that one of its sides took out."""

        def has(oid: str) -> bool:
            return any(id in self._held(oid, place) for place in homes(path))

        sides = [parent for parent in parents if has(parent)]
        without = [parent for parent in parents if parent not in sides]
        return any(has(base) for one in sides for other in without for base in self._bases(one, other))

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
            for place in homes(path):
                held = left & self._held(parent, place).keys()
                for id in sorted(held):
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
            if (found and self._dreamt(commit, claim, slots, found)) or (
                not found and self._moved(commit, path, claim, slots)
            ):
                self._handled(oid, slots)
                return
            former = tuple(dict.fromkeys(one for _, one, _ in found))
        if (told.op == "restore" or told.undoes) and (
            self._restored(oid, path, id, slots, graph, pending) or self._kept(path, id, slots)
        ):
            self._handled(oid, slots)
            return
        # All that a person restores stood somewhere before.
        beyond = told.op == "restore" and told.writer == "human" and kind(path) != "index"
        for slot in slots:
            found_here = self._origin(commit, path, claim, slot[1], former)
            self._found.setdefault(slot, []).append(replace(found_here, beyond=beyond))

    def _named(
        self, commit: Commit, path: str, claim: Claim, told: Provenance
    ) -> Iterator[tuple[Fate, Former, Claim]]:
        """The claims that a commit says to have made this one of, as they stood in its parents."""
        for fate in _sources(told.claims, reference(path, claim)):
            digits = fate.source.rpartition("#")[2]
            for parent in commit.parents:
                for place in homes(path_of(fate.source)):
                    # A dream keeps those parts of an index line that its memory lacked.
                    part = kind(place) == "index" and fate.kind == "merged"
                    for id, one in self._held(parent, place).items():
                        if one.short == digits or (
                            part and all(x in one.key for x in claim.key.split("; "))
                        ):
                            yield fate, Former(parent, place, id), one

    def _dreamt(
        self, commit: Commit, claim: Claim, slots: set[Slot], found: Sequence[tuple[Fate, Former, Claim]]
    ) -> bool:
        """Follows a claim to those that it was made of, where it says no more than they did."""
        texts = [_text_of(former.path, one) for _, former, one in found]
        if any(fate.kind == "superseded" for fate, _, _ in found) or not says_again(
            without_dates(claim.key), texts
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
        if oid not in self._before:
            self._before[oid] = _ancestors(graph, oid)
        before = self._before[oid]
        for older in graph:
            for place in homes(path) if older in before else ():
                if id in self._held(older, place):
                    _add(pending.setdefault(older, {}), place, id, slots)
                    return True
        return False

    def _kept(self, path: str, id: str, slots: set[Slot]) -> bool:
        """Looks for it in the histories that the memory ref left, each of them once."""
        left = self._beside.setdefault((path, id), list(side_tips(self._repo)))
        while left and self._walks + len(self._todo) < MOST_WALKS:
            for older in lineage(self._repo, left.pop(0), homes(path)):
                for place in homes(path):
                    if id in self._held(older, place):
                        _add(self._todo.setdefault(older, {}), place, id, slots)
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
        """Memories that a commit changed or deleted, those of the same agent first."""
        agent = path.partition("/")[0]
        return sorted(self._changes(parent, commit.oid), key=lambda one: one.partition("/")[0] != agent)

    def _replaced(self, parent: str, oid: str) -> tuple[str, ...]:
        """Memories of a parent that a commit changed or deleted, by path; none where history ends."""
        try:
            before = self._commit(parent).tree
            found = changed_files(self._repo, before, self._commit(oid).tree)
            return tuple(one for one in sorted(found) if is_memory(one) and self._repo.entry(before, one))
        except MissingObject:
            return ()

    def _origin(
        self, commit: Commit, path: str, claim: Claim, trail: Trail, former: tuple[Former, ...]
    ) -> ClaimOrigin:
        entry = None if is_log(path) else self._repo.entry(commit.tree, path)
        memory = parse(path, self._repo.blob(entry.oid) if entry else b"")
        names = (memory.name, PurePosixPath(path).stem, memory.description)
        author = f"{commit.author.name} <{commit.author.email}>"
        told = tuple(_carried(commit, reference(path, claim))) or tuple(
            one if one.author else replace(one, author=author, time=commit.author.time)
            for one in fitting(tellings(commit.message), names)
        )
        time = min((one.time for one in told if one.time is not None), default=commit.author.time)
        via, line = tuple(oid for oid, _ in trail), _line_of(path, claim)
        return ClaimOrigin(commit.oid, path, claim.short, time, via, told, line, former)


def carried(blamed: Iterable[Blamed], path: str) -> tuple[Fate, ...]:
    """Who taught claims that a move takes into another scope, for its trailers; no session goes along.

    Args:
        path: where they will stand.
    """
    found = [(one.claim, who) for one in blamed for origin in one.origins for who in origin.told]
    return tuple(
        Fate("kept", reference(path, claim), "", f"{who.provenance.writer} {iso(who.time)} {who.author}")
        for claim, who in found
        if who.time is not None and who.author
    )


def _carried(commit: Commit, claim: str) -> Iterator[Telling]:
    """Who taught a claim before a move, as `carried` wrote it."""
    told = parse_trailers(commit.message)
    for fate in told.claims if told.op == "add" and told.job.startswith(MOVE_JOB) else ():
        found = _CARRIED.fullmatch(fate.reason) if fate.source == claim else None
        if found and found[1] in WRITERS:
            with suppress(ValueError):
                when = datetime.strptime(found[2], "%Y-%m-%dT%H:%M:%S%z")
                yield Telling(commit.subject, Provenance(writer=found[1]), found[3], int(when.timestamp()))


_CARRIED = re.compile(r"([a-z]+) (\S+Z) (.+ <.*>)")


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
    line = _line_of(path, claim)
    return line.text if line else claim.key


def _line_of(path: str, claim: Claim) -> LogLine | None:
    """The line of a daily log that a claim is; None elsewhere."""
    day = day_of(path) if is_log(path) else None
    return read_line(f"- {claim.key}", day) if day else None


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


def _age(origin: ClaimOrigin) -> tuple[int, str, str, str]:
    return origin.time, origin.commit, origin.claim, origin.path


@dataclass(frozen=True)
class Version:
    """What one commit made of a memory.

    Attributes:
        path: where it stands after, hot or archived; before, where it is gone.
        before, after: blobs; None where there is none.
    """

    commit: str
    path: str
    before: str | None
    after: str | None


def introductions(
    repo: Repository, start: str, sought: Mapping[str, Collection[str]]
) -> dict[tuple[str, str], tuple[str, str]]:
    """Finds the commits that brought claims into files with a straight history.

    Args:
        start: commit at which the claims stand.
        sought: path to ids of claims there.

    Returns:
        (path, id) to the commit and where the file stood in it. Claims of files that differed between two
        lines of history, that stood in two places at once, or whose history is damaged, are left out.
    """
    wanted = {home: path for path in sought for home in homes(path)}
    versions: dict[str, list[Version]] = {}
    crooked: set[str] = set()
    try:
        for step in repo.steps(start):
            for path, version in _versions(step, wanted):
                line = versions.setdefault(path, [])
                if version is None or (line[-1].after if line else None) != version.before:
                    crooked.add(path)
                else:
                    line.append(version)
    except MissingObject:
        return {}
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for path, line in versions.items():
        if path not in crooked:
            found |= dict(_found(repo, path, line, set(sought[path])))
    return found


def _versions(step: CommitDiff, wanted: Mapping[str, str]) -> Iterator[tuple[str, Version | None]]:
    """What a commit did to the files that are asked about; None where that is more than one thing."""
    rows: dict[str, list[tuple[str, str | None, str | None]]] = {}
    for differences in step.before:
        for row in differences:
            if row[0] in wanted:
                rows.setdefault(wanted[row[0]], []).append(row)
    for path, some in rows.items():
        before = [old for _, old, _ in some if old]
        after = [(place, new) for place, _, new in some if new]
        if len(step.commit.parents) > 1 or len(before) > 1 or len(after) > 1:
            yield path, None
        else:
            place, new = after[0] if after else (some[0][0], None)
            yield path, Version(step.commit.oid, place, before[0] if before else None, new)


def _found(
    repo: Repository, path: str, line: list[Version], ids: set[str]
) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    for version in reversed(line):
        if not ids:
            return
        try:
            old, new = (_ids(repo, path, blob) for blob in (version.before, version.after))
        except MissingObject:
            return
        # One that is not there was not there at the beginning: nothing can be said about it.
        ids &= new
        for id in ids - old:
            yield (path, id), (version.commit, version.path)
        ids &= old


def _ids(repo: Repository, path: str, blob: str | None) -> frozenset[str]:
    return frozenset(claim.id for claim in claims_at(path, repo.blob(blob))) if blob else frozenset()
