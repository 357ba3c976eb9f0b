"""Which change of memory made an agent or a check go wrong: by halves over commits, then over claims.

As `git bisect` does, with its words. The commits to choose among are git's own choice (`rev-list
--bisect-all`), but nothing is checked out: the memory of a candidate is laid out in a scratch folder, and
the person's HEAD, their own bisect and the folders of agents stay as they are. What stands where is in one
JSON file, `bisect.json`, which can be deleted.

A commit of a line that does not hold the good one (an import, a teammate's) is tried as that line merged
into the good state, since what it lacks of the rest says nothing about it.
"""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from gitmem.core.claim import Claim
from gitmem.core.errors import CheckFailed, UsageError
from gitmem.core.memory import Memory, parse
from gitmem.core.names import INDEX, kind
from gitmem.core.text import encode
from gitmem.git.repository import Repository
from gitmem.git.trees import changed_files, read_files, read_paths, write_tree
from gitmem.ledger.files import read_json, write_atomically
from gitmem.ledger.indexes import with_indexes
from gitmem.ledger.land import root_name
from gitmem.ledger.merge import merge_of_trees
from gitmem.ledger.moments import resolve_at
from gitmem.ledger.workspace import SCOPES, Scope, Workspace
from gitmem.rules.paths import check_path

FILE, FOLDER = "bisect.json", "bisect"
FILE_BYTES = 4_194_304
GOOD, BAD, SKIP = "good", "bad", "skip"
SKIPPED = 125
"""The exit code by which a command says that it cannot tell, as for `git bisect run`."""

_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s")

NOT_STARTED = CheckFailed("No bisection is under way", "Begin one: git mem bisect start BAD GOOD")


@dataclass(frozen=True)
class State:
    """Where a bisection stands, as the file holds it.

    Attributes:
        scope: whose memory.
        bad: the commit that is known to be bad; empty until one is.
        good, skipped: commits that were judged so.
        tried: the candidate that is laid out; empty for none.
        culprit: the first bad commit, once it is found.
        low, high: how many of its claims, from the first, are known to be harmless, and to hold the fault.
        passed: numbers of claims at which nothing could be told.
        first_parent: whether merges are taken as one change.
        log: the commands so far, one a line.
    """

    scope: str
    bad: str = ""
    good: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    tried: str = ""
    culprit: str = ""
    low: int = 0
    high: int = 0
    passed: tuple[int, ...] = ()
    first_parent: bool = False
    log: tuple[str, ...] = ()


@dataclass(frozen=True)
class BisectUnit:
    """One change of a claim, a frontmatter or a file that has no claims.

    Attributes:
        path: the file.
        before, after: what it says of it, empty where there is nothing.
        what: for a person.
    """

    path: str
    before: str
    after: str
    what: str = "claim"


@dataclass(frozen=True)
class BisectReply:
    """What a person is told after each word of theirs.

    Attributes:
        waits: what is missing before the search can begin: `good`, `bad` or both; empty where it runs.
        commit, subject: what is laid out now.
        folder: where.
        left: commits, or claims of the culprit, among which the fault still is.
        claims: whether it is about claims.
        culprit, culprit_subject: the first bad commit, once it is known.
        unit: the claim that did it, once it is known.
        unsure: commits or claims that were all skipped, among which it is.
    """

    waits: tuple[str, ...] = ()
    commit: str = ""
    subject: str = ""
    folder: str = ""
    left: int = 0
    claims: bool = False
    culprit: str = ""
    culprit_subject: str = ""
    unit: BisectUnit | None = None
    unsure: tuple[str, ...] = field(default=())

    @property
    def steps(self) -> int:
        """About how many tries are left."""
        return math.ceil(math.log2(self.left)) if self.left > 1 else 0

    @property
    def done(self) -> bool:
        """Whether there is nothing left to try."""
        return bool(self.unit or self.unsure)


class Bisection:
    """A bisection of one scope: read from its file, changed by the person's words, and written back."""

    def __init__(self, workspace: Workspace, now: float) -> None:
        self._workspace = workspace
        self._now = now
        self._file = workspace.state / FILE
        self.state = _read(self._file)

    def start(self, scope: str, revisions: Sequence[str], *, first_parent: bool = False) -> BisectReply:
        """Begins anew: the first revision is bad, the others are good.

        Args:
            scope: empty for the first of project, local and user that holds anything.

        Raises:
            UsageError: a revision means nothing, or a good one is not before the bad one.
        """
        name = scope or next(
            (one for one in SCOPES if (each := self._workspace.scope(one)).repo.ref(each.ref)), "project"
        )
        words = ["start", "--scope", name, *(["--first-parent"] if first_parent else []), *revisions]
        self.state = State(name, first_parent=first_parent, log=(_line(words),))
        found = [self._resolve(one) for one in revisions]
        self.state = replace(self.state, bad=found[0] if found else "", good=tuple(found[1:]))
        return self._next()

    def judge(self, verdict: str, revision: str = "") -> BisectReply:
        """Says of a commit, or of what is laid out, that it is good or bad, or that nobody can tell.

        Raises:
            CheckFailed: none is under way.
            UsageError: the revision means nothing.
        """
        state = self._running()
        self.state = state = replace(
            state, log=(*state.log, _line([verdict, *([revision] if revision else [])]))
        )
        if state.culprit and not revision:
            return self._judge_claims(verdict)
        commit = self._resolve(revision) if revision else state.tried or self._tip()
        if verdict == BAD:
            self.state = replace(state, bad=commit, tried="")
        elif verdict == GOOD:
            self.state = replace(state, good=(*state.good, commit), tried="")
        else:
            self.state = replace(state, skipped=(*state.skipped, commit), tried="")
        return self._next()

    def look(self) -> BisectReply:
        """Where it stands. Raises CheckFailed where none is under way."""
        self._running()
        return self._next()

    def reset(self) -> bool:
        """Ends it and takes the scratch folder away; returns whether one was under way."""
        was = self.state is not None
        for scope in self._workspace.scopes:
            shutil.rmtree(scope.state / FOLDER, ignore_errors=True)
        self._file.unlink(missing_ok=True)
        self.state = None
        return was

    def _running(self) -> State:
        if self.state is None:
            raise NOT_STARTED
        return self.state

    @property
    def _scope(self) -> Scope:
        return self._workspace.scope(self._running().scope)

    @property
    def _repo(self) -> Repository:
        return self._scope.repo

    def _tip(self) -> str:
        tip = self._repo.ref(self._scope.ref)
        if tip is None:
            raise UsageError(
                f"{self._scope.name} memory is empty", "Name another: git mem bisect start --scope"
            )
        return tip

    def _resolve(self, word: str) -> str:
        return resolve_at(self._workspace, self._scope, word, self._now)

    def _next(self) -> BisectReply:
        """Chooses and lays out what is to be tried next."""
        state = self._running()
        if state.culprit:
            return self._next_claim()
        waits = tuple(word for word, there in ((BAD, state.bad), (GOOD, state.good)) if not there)
        if waits:
            self._write()
            return BisectReply(waits)
        for good in state.good:
            if self._repo.is_ancestor(state.bad, good):
                raise UsageError(
                    f"{good[:12]} is no older state of {state.bad[:12]}: the good one comes first",
                    "See which is which: git mem log",
                )
        left = self._candidates()
        free = [one for one in left if one not in state.skipped and one != state.bad]
        if len(left) == 1:
            self.state = replace(state, culprit=state.bad, tried="")
            units = self._units()
            self.state = replace(self.state, low=0, high=len(units))
            return self._next_claim()
        if not free:
            self._write()
            return BisectReply(unsure=tuple(left), left=len(left))
        self.state = replace(state, tried=free[0])
        self._lay_out(self._tree(free[0]))
        self._write()
        return BisectReply(
            commit=free[0], subject=self._subject(free[0]), folder=str(self._folder), left=len(left)
        )

    def _candidates(self) -> list[str]:
        """Commits among which the first bad one is, the best to try first; the bad one is one of them."""
        state = self._running()
        words = ["rev-list", "--bisect-all", *(["--first-parent"] if state.first_parent else []), state.bad]
        done = self._repo.git.run([*words, "--not", *state.good], git_dir=self._repo.git_dir)
        root = root_name(self._repo)
        return [oid for line in done.text.splitlines() if (oid := line.split()[0]) != root]

    def _tree(self, commit: str) -> str:
        """The memory of a commit as it is tried."""
        repo, good = self._repo, self._running().good[0]
        found = repo.commit(commit)
        if repo.is_ancestor(good, commit):
            return found.tree
        bases = repo.merge_bases(good, commit)
        base = repo.commit(bases[0]).tree if bases else repo.commit(root_name(repo)).tree
        return merge_of_trees(repo, base, repo.commit(good).tree, found.tree).tree

    def _both(self) -> tuple[str, str]:
        """Trees before and after the culprit."""
        state = self._running()
        commit = self._repo.commit(state.culprit)
        return self._tree(commit.parents[0]), self._tree(state.culprit)

    def _units(self) -> list[BisectUnit]:
        before, after = self._both()
        paths = changed_files(self._repo, before, after)
        old, new = (read_paths(self._repo, tree, paths) for tree in (before, after))
        # An index follows its memories; one that a person edited alone is a change of its own.
        alone = {path for path in paths if path.rpartition("/")[2] != INDEX} or paths
        return [unit for path in sorted(alone) for unit in changes(path, old.get(path), new.get(path))]

    def _next_claim(self) -> BisectReply:
        """Lays out the first half of what is in question of the culprit, or says which claim it was."""
        state = self._running()
        units = self._units()
        about = BisectReply(
            culprit=state.culprit, culprit_subject=self._subject(state.culprit), claims=True
        )
        left = state.high - state.low
        if left <= 1:
            self._write()
            return replace(
                about, unit=units[state.high - 1] if units else BisectUnit("", "", "", "nothing")
            )
        middle = (state.low + state.high) // 2
        free = [n for n in range(state.low + 1, state.high) if n not in state.passed]
        if not free:
            self._write()
            some = tuple(unit.after or unit.before for unit in units[state.low : state.high])
            return replace(about, unsure=some, left=left)
        chosen = min(free, key=lambda n: abs(n - middle))
        self.state = replace(state, tried=f"{state.culprit}#{chosen}")
        self._lay_out(self._partly(units[:chosen]))
        self._write()
        return replace(about, commit=state.culprit, folder=str(self._folder), left=left)

    def _judge_claims(self, verdict: str) -> BisectReply:
        state = self._running()
        if state.high - state.low <= 1:  # the claim is known: a further word has nothing to be about
            return self._next_claim()
        chosen = int(state.tried.rpartition("#")[2] or 0)
        if verdict == SKIP:
            self.state = replace(state, passed=(*state.passed, chosen))
        else:
            self.state = replace(state, low=chosen) if verdict == GOOD else replace(state, high=chosen)
        return self._next_claim()

    def _partly(self, some: Sequence[BisectUnit]) -> str:
        """The tree before the culprit with some of its changes."""
        before, after = self._both()
        paths = {unit.path for unit in some}
        old, new = (read_paths(self._repo, tree, paths) for tree in (before, after))
        edits: dict[str, bytes | None] = {}
        for path in sorted(paths):
            count = sum(unit.path == path for unit in some)
            edits[path] = partly(path, old.get(path), new.get(path), count)
        with self._repo.together():
            return write_tree(self._repo, before, with_indexes(self._repo, before, edits))

    @property
    def _folder(self) -> Path:
        return self._scope.state / FOLDER

    def _lay_out(self, tree: str) -> None:
        """Writes a tree's files into the scratch folder, which is made anew."""
        folder = self._folder
        with suppress(FileNotFoundError):
            shutil.rmtree(folder)
        folder.mkdir(parents=True, mode=0o700)
        for path, data in read_files(self._repo, tree).items():
            if check_path(path) is None:
                place = folder / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(data)

    def _subject(self, commit: str) -> str:
        return self._repo.commit(commit).subject

    def _write(self) -> None:
        write_atomically(self._file, (json.dumps(asdict(self._running()), indent=1) + "\n").encode())


def changes(path: str, before: bytes | None, after: bytes | None) -> list[BisectUnit]:
    """The changes of one file, each of which can be left out: claims, then its frontmatter.

    Returns:
        One for a file that is no memory.
    """
    if kind(path) != "memory":
        return [BisectUnit(path, _text(before), _text(after), "file")]
    found = [
        BisectUnit(path, old.text if old else "", new.text if new else "")
        for old, new in _pairs(path, before, after)
        if old is None or new is None or old.key != new.key
    ]
    sides = [parse(path, data) if data is not None else None for data in (before, after)]
    heads = [one.front.render() if one and one.front else "" for one in sides]
    # That of a new file comes with its first claim, and that of one that goes with its last.
    if not found or (heads[0] != heads[1] and before is not None and after is not None):
        about = [f"{one.type}: {one.description}" if one else "" for one in sides]
        found.append(
            BisectUnit(path, about[0], about[1], "frontmatter" if heads[0] != heads[1] else "file")
        )
    return found


def partly(path: str, before: bytes | None, after: bytes | None, count: int) -> bytes | None:
    """A file with the first of its changes made, in the order of `changes`.

    Args:
        count: how many of them.
    """
    whole = len(changes(path, before, after))
    if count >= whole:
        return after
    if count == 0:
        return before
    claims: list[Claim] = []
    done = 0
    for old, new in _pairs(path, before, after):
        changed = old is None or new is None or old.key != new.key
        done += changed
        kept = (new if done <= count else old) if changed else new
        if kept is not None:
            claims.append(kept)
    front = parse(path, before if before is not None else after or b"").front
    body = "".join(
        (claim.lead if number else "\n") + claim.text for number, claim in enumerate(_spaced(claims))
    )
    return encode(Memory(path, front, f"{body}\n").render().decode("utf-8", "surrogateescape"))


def _spaced(claims: Sequence[Claim]) -> Iterator[Claim]:
    """Claims of two bodies one after the other: what was first in its own begins a paragraph here."""
    for claim in claims:
        apart = "\n\n" in claim.lead or ("\n" in claim.lead and _ITEM.match(claim.text))
        yield claim if apart else replace(claim, lead="\n\n")


def _pairs(
    path: str, before: bytes | None, after: bytes | None
) -> Iterator[tuple[Claim | None, Claim | None]]:
    """Claims of both sides in order: the same, one for another, gone, or new."""
    old, new = (parse(path, data).parsed.claims if data is not None else () for data in (before, after))
    matcher = SequenceMatcher(None, [one.key for one in old], [one.key for one in new], autojunk=False)
    for _, i1, i2, j1, j2 in matcher.get_opcodes():
        for number in range(max(i2 - i1, j2 - j1)):
            left = old[i1 + number] if i1 + number < i2 else None
            right = new[j1 + number] if j1 + number < j2 else None
            yield left, right


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace")


def _line(words: Sequence[str]) -> str:
    return " ".join(["git mem bisect", *words])


def _read(path: Path) -> State | None:
    found: Any = read_json(path, FILE_BYTES)
    if not isinstance(found, Mapping):
        return None
    fields: dict[str, Any] = dict(found)
    for key in ("good", "skipped", "passed", "log"):
        fields[key] = tuple(fields.get(key, ()))
    try:
        return State(**fields)
    except TypeError:  # of another version: it is begun anew
        return None
