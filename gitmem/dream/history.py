"""What history tells a dream, in one pass over a memory ref.

Where a claim first came in and when that was said, what became of names that no memory has any more, and
how old memories are. Git tells what every commit changed; each content is read once, and no tree is listed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from pathlib import PurePosixPath

from gitmem.core.account import claims_at, is_memory, lines_named, path_of, reference
from gitmem.core.dates import relative_dates
from gitmem.core.errors import MissingObject
from gitmem.core.memory import parse
from gitmem.core.names import agent_folder, homes, slugify
from gitmem.core.text import decode
from gitmem.core.trailers import Fate
from gitmem.core.trailers import parse as parse_trailers
from gitmem.git.repository import BLOB, EXECUTABLE, Commit, CommitDiff, Difference, Repository
from gitmem.ledger.workspace import Scope
from gitmem.values import dataclass

Spoken = tuple[str, str]
"""Folder of an agent and the normal form of a claim there."""

MOST_MOVES = 100
"""Renames and merges in a row through which a name is followed."""

MOST_COMPARED = 200
"""Files that one commit changed which are compared with one that it deleted."""

_REVERT = "\nThis reverts commit "
"""What git writes into the message of a revert."""

_RUN = re.compile(rb"[A-Za-z0-9]{3,}")

_Held = dict[Spoken, tuple[frozenset[str], str]]
"""At a commit: what is said there, to the paths that say it and the commit that brought it."""


@dataclass(frozen=True)
class MemoryPast:
    """What history told.

    Attributes:
        brought: claim to the commit that has it while none of its parents does, under any path of the
            agent, but for an undo; without those of which history does not reach so far.
        became: slug of a name that a memory had to the path of the memory that it is now; empty where
            there is none any more. Without names that no memory ever had.
    """

    brought: Mapping[Spoken, Commit]
    became: Mapping[str, str]


def look_back(
    repo: Repository, tip: str, files: Mapping[str, bytes], claims: Iterable[Spoken], names: Iterable[str]
) -> MemoryPast:
    """Walks history once, if anything is asked of it.

    Args:
        tip: commit of the memory ref.
        files: its tree.
        claims: whose beginning is sought; they are there at the tip.
        names: slugs that no memory has at the tip.
    """
    walk = _Walk(repo, frozenset(claims), frozenset(names))
    if walk.claims or walk.names:
        try:
            walk.run(list(repo.steps(tip)))
        except MissingObject:
            # Half of a history would give a claim the wrong beginning, and a name the wrong end.
            return MemoryPast({}, {})
    return MemoryPast(walk.brought(tip), {name: walk.became(name, files) for name in walk.left})


class _Walk:
    """Takes commits, parents before children, and keeps what it is asked about."""

    def __init__(self, repo: Repository, claims: frozenset[Spoken], names: frozenset[str]) -> None:
        self.claims = claims
        self.names = names
        self.left: dict[str, tuple[int, str]] = {}
        self._repo = repo
        self._by_run: dict[bytes, list[str]] = {}
        for key in {key for _, key in claims}:
            self._by_run.setdefault(max(_runs(key.encode("utf-8", "replace")), key=len), []).append(key)
        self._keys: dict[str, frozenset[str]] = {}
        self._called: dict[tuple[str, str], str] = {}
        self._held: dict[str, _Held] = {}
        self._children: Counter[str] = Counter()
        self._bringers: dict[str, Commit] = {}
        self._deleted: dict[str, list[int]] = {}
        self._steps: dict[int, CommitDiff] = {}

    def run(self, steps: Sequence[CommitDiff]) -> None:
        """Takes all commits in turn."""
        self._children.update(oid for step in steps for oid in set(step.commit.parents))
        for number, step in enumerate(steps, 1):
            if self.claims:
                self._take_claims(step)
            if self.names:
                self._take_names(number, step)

    def brought(self, tip: str) -> dict[Spoken, Commit]:
        """The commit that brought each claim that the tip has."""
        cut = _cut_off(self._repo)
        found = {
            said: self._bringers[oid] for said, (paths, oid) in self._held.get(tip, {}).items() if paths
        }
        return {said: commit for said, commit in found.items() if commit.oid not in cut}

    def became(self, name: str, files: Mapping[str, bytes]) -> str:
        """The path that a memory of this name has at the tip; empty where there is none."""
        at, path = self.left[name]
        for number in range(MOST_MOVES):
            if number and path in files:
                return path
            known = self._deleted.get(path, [])
            later = bisect_right(known, at - 1 if not number else at)
            if later == len(known):
                return path if path in files else ""
            at = known[later]
            path = self._successor(self._steps[at], path)
            if not path:
                break
        return ""

    def _take_claims(self, step: CommitDiff) -> None:
        commit = step.commit
        parents = [self._state(oid) for oid in dict.fromkeys(commit.parents)]
        now = parents[0] if parents else {}
        changed: dict[Spoken, set[str]] = {}
        for path, old, new in step.before[0]:
            if not is_memory(path):
                continue
            agent = agent_folder(path)
            had, has = self._keys_of(path, old), self._keys_of(path, new)
            for key in had ^ has:
                said = agent, key
                if said in self.claims:
                    paths = changed.setdefault(said, set(now[said][0] if said in now else ()))
                    (paths.add if key in has else paths.discard)(path)
        for said, paths in changed.items():
            came = next((held[said][1] for held in parents if said in held and held[said][0]), "")
            if not came and paths and _takes_back(commit):
                # What an undo brings back is as old as it was.
                came = next((held[said][1] for held in parents if said in held), "")
            if not came and paths:
                self._bringers[commit.oid] = commit
            now[said] = frozenset(paths), came or commit.oid
        self._held[commit.oid] = now

    def _state(self, oid: str) -> _Held:
        """What was said at a parent, to be changed: only its last child takes it as it is."""
        self._children[oid] -= 1
        if self._children[oid]:
            return dict(self._held.get(oid, {}))
        return self._held.pop(oid, {})

    def _keys_of(self, path: str, oid: str | None) -> frozenset[str]:
        """Which of the claims that are sought a content holds."""
        if oid is None:
            return frozenset()
        if oid not in self._keys:
            data = self._repo.blob(oid)
            plain = data.isascii() and b"\\" not in data
            runs = self._by_run.keys() & _runs(data) if plain else self._by_run.keys()
            likely = {key for run in runs for key in self._by_run[run]}
            held = {claim.key for claim in claims_at(path, data)} if likely else set()
            self._keys[oid] = frozenset(likely & held)
        return self._keys[oid]

    def _take_names(self, number: int, step: CommitDiff) -> None:
        for differences in step.before:
            for path, old, new in differences:
                if old is None or not is_memory(path):
                    continue
                if new is None:
                    places = self._deleted.setdefault(path, [])
                    if places[-1:] != [number]:
                        places.append(number)
                    self._steps[number] = step
                after = self._names_of(path, new)
                for name in self._names_of(path, old) - after:
                    if name in self.names:
                        self.left[name] = number, path

    def _names_of(self, path: str, oid: str | None) -> frozenset[str]:
        """Slugs by which a link finds a file with this content."""
        if oid is None:
            return frozenset()
        return frozenset({slugify(PurePosixPath(path).stem), slugify(self._name(path, oid))})

    def _name(self, path: str, oid: str) -> str:
        if (oid, path) not in self._called:
            self._called[oid, path] = parse(path, self._repo.blob(oid)).name
        return self._called[oid, path]

    def _successor(self, step: CommitDiff, path: str) -> str:
        """Where a commit says that the claims of a file it deleted went, or has them; empty for nowhere."""
        fates = parse_trailers(step.commit.message).claims
        ends = Counter(
            path_of(fate.target) for fate in fates if fate.target and path_of(fate.source) == path
        )
        ends.pop(path, None)
        if ends:
            return min(ends, key=lambda end: (-ends[end], end))
        return next((to for side in step.before if (to := self._moved(side, path))), "")

    def _moved(self, side: tuple[Difference, ...], path: str) -> str:
        """A file of the same name, or that came to hold half of the claims (docs/formats.md, Merging)."""
        gone = next((old for place, old, new in side if place == path and new is None), None)
        if gone is None:
            return ""
        name, before = self._name(path, gone), self._all_keys(path, gone)
        agent = agent_folder(path)
        others = [
            (place, old, new)
            for place, old, new in side
            if new and is_memory(place) and agent_folder(place) == agent
        ]
        scored = []
        for place, old, new in others[:MOST_COMPARED]:
            shared = len(before & (self._all_keys(place, new) - self._all_keys(place, old)))
            same = old is None and self._name(place, new or "") == name
            if same or (before and 2 * shared >= len(before)):
                scored.append((not same, -shared, place))
        return min(scored)[2] if scored else ""

    def _all_keys(self, path: str, oid: str | None) -> frozenset[str]:
        return (
            frozenset(claim.key for claim in claims_at(path, self._repo.blob(oid))) if oid else frozenset()
        )


def _runs(data: bytes) -> frozenset[bytes]:
    """Letters and digits in a row; and none, which every text holds.

    However a claim is wrapped or marked, they stay: most contents are passed by without parsing. Only next
    to a letter that is not ASCII, and in escapes of YAML, two ways of writing may differ.
    """
    return frozenset({b"", *_RUN.findall(data)})


def _takes_back(commit: Commit) -> bool:
    """Whether a commit says that it takes another one back: an undo, or a revert by plain git."""
    return _REVERT in commit.message or bool(parse_trailers(commit.message).undoes)


def _cut_off(repo: Repository) -> frozenset[str]:
    """Commits of a shallow clone whose parents are not here: they seem to bring all that they have."""
    try:
        return frozenset(decode((repo.git_dir / "shallow").read_bytes()).split())
    except OSError:
        return frozenset()


_TEACHERS = frozenset({"agent", "extract", "human"})
_TAUGHT = frozenset({"add", "update", ""})
"""Operations whose commit is made when something is said: an adopted file is older than its commit."""

_DATED = (
    "modified",
    "last_modified",
    "updated",
    "updated_at",
    "last_updated",
    "date",
    "created",
    "created_at",
)
"""Keys of frontmatter by which clients and people say when a file was written, its last change first."""

MOST_MEMORIES = 1_000
"""Memories up to which it is found out when every claim was said: most of history is parsed for it."""


def claims_to_date(files: Mapping[str, bytes], agents: Collection[str] = ()) -> dict[str, Spoken]:
    """The claims of which it matters when they were said, as `<file>#<12 hex>`.

    Those that hold a relative date; and where memories are not too many, all, since of two claims that
    speak against each other the later one mostly holds.

    Args:
        agents: folder names of those whose memories count; empty for all.
    """
    paths = [path for path in files if is_memory(path) and (not agents or agent_folder(path) in agents)]
    return {
        reference(path, claim): (agent_folder(path), claim.key)
        for path in paths
        for claim in claims_at(path, files[path])
        if len(paths) <= MOST_MEMORIES or relative_dates(claim.text)
    }


def said_when(
    asked: Mapping[str, Spoken],
    past: MemoryPast,
    files: Mapping[str, bytes] | None = None,
    repo: Repository | None = None,
) -> dict[str, datetime]:
    """Tells when claims came into memory.

    Args:
        files: the tree, with the daily logs that claims were made of.
        repo: has the files that claims were adopted with; None where these are not to be read.

    Returns:
        `<file>#<12 hex>` to author time of the commit that brought the claim, in its author's time zone; of
        one that was made of lines of a log, to when the last of them was said; of one that was adopted, to
        when its file says that it was written. Where it does not, the time that the file had on disk puts
        claims in order, and dates no "yesterday": any later edit may have set it.
        A claim that was restored or merged in from elsewhere was said nobody knows when, and is left out.
    """
    adopted = lru_cache(maxsize=None)(lambda commit, path: _written(repo, commit, path) if repo else None)
    found = {}
    for ref, said in asked.items():
        commit = past.brought.get(said)
        if commit is None:
            continue
        provenance = parse_trailers(commit.message)
        if provenance.writer in _TEACHERS and provenance.op in _TAUGHT:
            found[ref] = commit.author.moment
        elif provenance.op == "adopt":
            if written := adopted(commit, path_of(ref)):
                found[ref] = written
            elif commit.author.time < commit.committer.time and not relative_dates(said[1]):
                found[ref] = commit.author.moment
        elif files and (days := _logged(provenance.claims, ref, files)):
            found[ref] = max(days)
    return found


def _written(repo: Repository, commit: Commit, path: str) -> datetime | None:
    """When a file that was adopted says that it was written; None where it does not, or says the future."""
    try:
        entry = repo.entry(commit.tree, path)
        data = repo.blob(entry.oid) if entry and entry.mode in (BLOB, EXECUTABLE) else b""
    except MissingObject:
        return None
    front = parse(path, data).front
    for said in (front.text(key).strip() for key in _DATED) if front else ():
        try:
            when = datetime.fromisoformat(said)
        except ValueError:
            continue
        when = when if when.tzinfo else when.replace(tzinfo=UTC)
        if 0 < when.timestamp() <= commit.committer.time:
            return when
    return None


def _logged(fates: Iterable[Fate], ref: str, files: Mapping[str, bytes]) -> list[datetime]:
    """When the lines of logs were said that a dream made a claim of."""

    def read(path: str) -> bytes | None:
        return next((files[home] for home in homes(path) if home in files), None)

    digits = ref.rpartition("#")[2]
    mine = (fate for fate in fates if fate.target.rpartition("#")[2] == digits)
    return [line.when for line in lines_named(mine, read).values()]


class Taught(Mapping[str, float]):
    """Path of a memory to when its body was last changed by an agent, extraction or person, epoch seconds.

    Args:
        commit: of the scope's memory ref.
        paths: of its tree.
    """

    def __init__(self, scope: Scope, commit: str, paths: Mapping[str, object]) -> None:
        self._scope = scope
        self._commit = commit
        self._paths = paths

    def __getitem__(self, path: str) -> float:
        return self._ages[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._ages)

    def __len__(self) -> int:
        return len(self._ages)

    @cached_property
    def _ages(self) -> dict[str, float]:
        from gitmem.ledger.holdings import taught  # the catalog, which most dreams do not need

        found: dict[str, float] = {}
        for agent in sorted({agent_folder(path) for path in self._paths if is_memory(path)}):
            try:
                ages = taught(self._scope, self._commit, agent, archived=True)
            except MissingObject:
                continue
            found |= {f"{agent}/{file}": float(age) for file, age in ages.items()}
        return found
