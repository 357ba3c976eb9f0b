"""Thirty nights of dreams on a memory that grows: nothing that anybody taught is gone without a word.

What became of each claim is worked out here from trees and `Gitmem-Claim` lines as plain git tells them.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from dream_ground import DAY, NOW, Ground, make_ground

sys.path.insert(0, str(Path(__file__).parent.parent))
from dream_corpus import corpus
from dream_rewriter import Rewriter

from gitmem.core import index
from gitmem.core.account import references
from gitmem.core.claim import Claim
from gitmem.dream.review import accept, find_dream
from gitmem.engines.engine import Engine
from gitmem.engines.offline import OfflineEngine
from gitmem.flows.dream import dream
from gitmem.git.repository import Repository, Signature
from gitmem.ledger.blame import Blamed, blame_memory
from gitmem.ledger.dreams import open_dreams

Tree = Mapping[str, bytes]

_TOLD = re.compile(
    r"^[ \t]*Gitmem-Claim: (kept|merged|superseded|dropped) (\S+#[0-9a-f]{12})(?: -> (\S+#[0-9a-f]{12}))?",
    re.MULTILINE,
)
WAYS = ("all", "numbers", "squash", "all", "rebase")
"""How a dream is accepted, night after night: here, change by change, and as hosts do."""


@dataclass
class History:
    """A memory ref, read with plain git."""

    repo: Path
    ref: str
    blobs: dict[str, bytes] = field(default_factory=dict)
    known: dict[str, Tree] = field(default_factory=dict)

    def git(self, *words: str, input: bytes = b"") -> bytes:
        done = subprocess.run(
            ["git", "-C", str(self.repo), *words], check=True, capture_output=True, input=input
        )
        return done.stdout

    def line(self) -> list[str]:
        """First parents, oldest first."""
        return self.git("rev-list", "--first-parent", "--reverse", self.ref).decode().split()

    def tree(self, commit: str) -> Tree:
        if commit not in self.known:
            rows = self.git("ls-tree", "-r", "-z", commit).decode().split("\0")
            named = {row.split("\t")[1]: row.split()[2] for row in rows if row}
            self._read([oid for oid in named.values() if oid not in self.blobs])
            self.known[commit] = {path: self.blobs[oid] for path, oid in named.items()}
        return self.known[commit]

    def told(self, commit: str) -> dict[str, tuple[str, str]]:
        """What a commit of the ref says of claims: source to kind and target."""
        message = self.git("log", "-1", "--format=%B", commit).decode()
        return {source: (kind, target) for kind, source, target in _TOLD.findall(message)}

    def _read(self, oids: list[str]) -> None:
        data = self.git("cat-file", "--batch", input="".join(f"{oid}\n" for oid in oids).encode())
        at = 0
        for oid in oids:
            end = data.index(b"\n", at)
            size = int(data[at:end].split()[2])
            self.blobs[oid] = data[end + 1 : end + 1 + size]
            at = end + 2 + size


@dataclass
class Taught:
    """One claim from the commit that taught it on: where it is, or what became of it.

    Attributes:
        joined: it went into a claim that stood already, which others taught.
    """

    claim: Claim
    commit: str
    at: str
    end: str = ""
    joined: bool = False
    kinds: list[str] = field(default_factory=list)


def follow(history: History, taught: Mapping[str, set[str]]) -> list[Taught]:
    """Follows every claim that these commits brought, commit by commit."""
    found: list[Taught] = []
    before: Mapping[str, Claim] = {}
    for commit in history.line():
        here = references(history.tree(commit))
        if commit not in taught:
            by_key: dict[str, list[str]] = defaultdict(list)
            for ref, claim in here.items():
                by_key[claim.key].append(ref)
            told = history.told(commit)
            for one in found:
                if not one.end and one.at not in here:
                    _step(one, told, before, here, by_key)
                    one.joined |= one.at in before
        found += (
            Taught(claim, commit, ref)
            for ref, claim in here.items()
            if ref.partition("#")[0] in taught.get(commit, ())
        )
        before = here
    return found


def _step(
    one: Taught,
    told: Mapping[str, tuple[str, str]],
    before: Mapping[str, Claim],
    here: Mapping[str, Claim],
    by_key: Mapping[str, list[str]],
) -> None:
    key = before[one.at].key
    seen: set[str] = set()
    while one.at not in here and one.at not in seen:
        seen.add(one.at)
        kind, target = told.get(one.at, ("", ""))
        if kind:
            one.kinds.append(kind)
        if kind == "dropped":
            one.end = "dropped"
            return
        if not target:
            break
        one.at = target
    if one.at not in here:
        # Paged out, or renamed without a word: what it was must stand somewhere, or it is lost.
        places = sorted(by_key.get(key, ()), key=lambda ref: _file(ref) != _file(one.at))
        one.at, one.end = (places[0], "") if places else (one.at, "lost")


def _file(ref: str) -> str:
    """The file's own name, which stays when a memory is paged out."""
    return ref.partition("#")[0].rpartition("/")[2]


@dataclass
class Nights:
    """A memory in which memories arrive, and dreams are made and accepted."""

    ground: Ground
    engine: Engine
    patch: pytest.MonkeyPatch
    folder: Path
    taught: dict[str, set[str]] = field(default_factory=dict)
    proposals: int = 0
    landed: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def live(self, number: int, each: int) -> None:
        pool = corpus(7, number * each, number * each // 5, number, number * each // 10, number // 2 + 1)
        paths = [path for path in pool.files if path.endswith(".md") and "MEMORY" not in path]
        for night in range(number):
            self.ground.now = float(NOW + night * DAY)
            stamp = f"{int(self.ground.now)} +0000"
            self.patch.setenv("GIT_AUTHOR_DATE", stamp)
            self.patch.setenv("GIT_COMMITTER_DATE", stamp)
            self._learn({path: pool.files[path] for path in paths[night::number]})
            done = dream(
                self.ground.workspace, self.ground.edges, scope="project", force=True, engine=self.engine
            )
            assert done.gate is None and done.plan is not None
            if done.id:
                self.proposals += len(done.plan.changes)
                self._accept(done.id, WAYS[night % len(WAYS)])
            assert open_dreams(self.ground.workspace) == ()

    def _learn(self, files: Tree) -> None:
        listing = self.ground.tree().get("main/MEMORY.md", "") if self.taught else ""
        for path in files:
            file = path.removeprefix("main/")
            listing = index.with_entry(listing, file, index.entry(file, file, ""))
        texts = {path: data.decode() for path, data in files.items()}
        time = int(self.ground.now) - 3_600
        commit = self.ground.put({**texts, "main/MEMORY.md": listing}, time=time)
        self.taught[commit] = set(files)

    def _accept(self, id: str, how: str) -> None:
        found = find_dream(self.ground.workspace, id)
        self.landed[how] += 1
        who = Signature("Ann", "ann@example.com", int(self.ground.now))
        if how in ("all", "numbers"):
            alone = [(change.n,) for change in found.changes if change.asks or how == "numbers"]
            together = [None] if how == "all" and len(alone) < len(found.changes) else []
            for numbers in [*together, *alone]:
                accept(self.ground.workspace, id, numbers, who, self.ground.now)
            return
        where, folder = self.ground.scope(), str(self.folder / f"{how}-{id}")

        def git(*words: str, at: str = folder) -> str:
            done = subprocess.run(["git", "-C", at, *words], check=True, capture_output=True, text=True)
            return done.stdout.strip()

        git("worktree", "add", "-q", "--detach", folder, where.ref, at=str(self.ground.repo))
        if how == "squash":
            git("merge", "-q", "--squash", found.tip)
            git("commit", "-q", "--no-edit")
        else:
            git("commit", "-q", "--allow-empty", "-m", "Meanwhile")
            git("cherry-pick", "--allow-empty", f"{found.base}..{found.tip}")
        git("update-ref", where.ref, git("rev-parse", "HEAD"))
        git("update-ref", "-d", found.ref)  # as a host removes a branch that it merged


def judged(nights: Nights) -> Iterator[str]:
    """What is wrong after all nights, a line each."""
    ground = nights.ground
    place = ground.scope()
    history = History(ground.repo, place.ref)
    tip = history.line()[-1]
    here = references(history.tree(tip))
    claims = follow(history, nights.taught)
    assert len(claims) > 2 * sum(map(len, nights.taught.values()))
    standing = {claim.key for claim in here.values()}
    parts: dict[str, list[Taught]] = defaultdict(list)
    for one in claims:
        if one.end == "lost" or (not one.end and one.at not in here):
            yield f"lost: {one.at}: {one.claim.text}"
        elif not one.end:
            parts[one.at].append(one)
            if not one.kinds and one.claim.key not in standing:
                yield f"neither there word for word nor accounted for: {one.at}"
    dropped = sum(one.end == "dropped" for one in claims)
    if len(claims) - dropped - sum(map(len, parts.values())):
        yield "some claims are neither dropped nor there"
    # Who taught what no dream touched is asked of some: a walk through history each.
    touched = {one.at.partition("#")[0] for one in claims if one.kinds}
    rest = sorted({ref.partition("#")[0] for ref in parts} - touched)
    for path in sorted((touched & {ref.partition("#")[0] for ref in parts}) | set(rest[::4])):
        for line in blame_memory(place.repo, tip, path):
            said = parts.get(f"{path}#{line.claim.short}", [])
            taught = behind(place.repo, line)
            if said and not taught:
                yield f"blamed on nobody: {path}: {line.claim.text}"
            for one in said:
                if one.commit not in taught and not one.joined:
                    yield f"blamed on {taught}, taught by {one.commit}: {path}: {line.claim.text}"
            # The link that a dream leaves where a claim went is its own.
            own = line.claim.key.removeprefix("- ").startswith("See [[")
            if taught - nights.taught.keys() and not own:
                yield f"blamed on a dream: {path}: {line.claim.text}"


def behind(repo: Repository, line: Blamed) -> set[str]:
    """The commits that taught a claim, through those that a dream put it in the place of.

    A dream that leads a link elsewhere answers for the words itself, and names whom it superseded.
    """
    found: set[str] = set()
    for origin in line.origins:
        if not origin.replaced:
            found.add(origin.commit)
        for former in origin.replaced:
            (before,) = blame_memory(repo, former.commit, former.path, {former.id})
            found |= behind(repo, before)
    return found


def engines() -> list[Engine]:
    return [OfflineEngine(), Rewriter(bold=1)]  # type: ignore[list-item]


@pytest.fixture
def ground(repo: Path) -> Ground:
    return make_ground(repo)


def test_five_nights_lose_nothing_and_blame_nobody_else(ground, monkeypatch, tmp_path) -> None:
    nights = Nights(ground, OfflineEngine(), monkeypatch, tmp_path)
    nights.live(5, 6)
    assert nights.proposals >= 4
    assert list(judged(nights)) == []


@pytest.mark.long
@pytest.mark.parametrize("which", [0, 1], ids=["offline", "rewriter"])
def test_thirty_nights_of_twenty_memories_lose_nothing(ground, which: int, monkeypatch, tmp_path) -> None:
    nights = Nights(ground, engines()[which], monkeypatch, tmp_path)
    nights.live(30, 20)
    assert nights.proposals >= 90
    assert list(judged(nights)) == []
