"""Walks over a history by the `git` command: all commits, those that touch a path, how these descend.

Git gives up as a whole where one commit or tree cannot be read. The same walks as functions go as far as a
history can be read, since what is newer than the damage can still be told.
"""

from __future__ import annotations

import heapq
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count
from pathlib import Path

from gitmem.core.errors import MissingObject
from gitmem.git.command import GitCommand
from gitmem.git.objects import MISSING_HINT, check_oid, parse_commit
from gitmem.git.repository import (
    BLOB,
    EXECUTABLE,
    Commit,
    CommitDiff,
    Difference,
    RawDifference,
    RawStep,
    Repository,
    Touch,
    TreeEntry,
)
from gitmem.git.trees import changed_files, tree_or_none
from gitmem.values import dataclass

_CHUNK = 1 << 16

# No path in a tree begins like this.
_MARK = "//"

# `git log`, whatever a person's configuration makes of it.
_PLAIN_LOG = (
    *("-c", "log.showSignature=false", "-c", "log.follow=false", "-c", "log.showRoot=true"),
    *("-c", "log.diffMerges=separate"),
    *("log", "-z", "--no-renames", "--no-relative", "--no-color", "--date-order", "--full-history"),
)
_TOUCHING = (*_PLAIN_LOG, "--name-only", "-c", f"--format={_MARK}%H")
_STEPS = (
    *(*_PLAIN_LOG, "--raw", "--no-abbrev", "-m", "--format=raw", "--reverse", "--ignore-missing"),
    *("--no-abbrev-commit", "--no-decorate", "--no-notes", "--no-mailmap", "--encoding=UTF-8"),
)
_HEAD = re.compile(r"commit ([0-9a-f]+)(?: \(from ([0-9a-f]+)\))?\n")
_INDENT = re.compile(r"^ {4}", re.MULTILINE)


@dataclass(frozen=True)
class Walks:
    """Asks one repository; what each walk gives is told in `repository.Repository`."""

    git: GitCommand
    git_dir: Path
    hex_length: int

    def history(self, tip: str, until: int | None = None) -> Iterator[str]:
        """Names of the commits of `Repository.history`."""
        bound = [] if until is None else [f"--min-age={until}"]
        return self._pieces(tip, ["rev-list", "--date-order", *bound, tip, "--"], b"\n")

    def touching(self, tip: str, paths: Sequence[str]) -> Iterator[Touch]:
        """See `Repository.touching`."""
        words = [*_TOUCHING, tip, "--", *_pathspecs(paths)]
        commit, found = "", list[str]()
        for piece in chain(self._pieces(tip, words, b"\0"), [_MARK]):
            if not piece.startswith(_MARK):
                if piece:
                    found.append(piece if found else piece.removeprefix("\n"))
                continue
            # Git shows merges that differ from one parent alone, with no path.
            if commit and (found or not paths):
                yield Touch(commit, tuple(found))
            commit, found = piece.removeprefix(_MARK), []

    def steps(
        self, tip: str, paths: Sequence[str] = (), without: Sequence[str] = ()
    ) -> Iterator[CommitDiff]:
        """See `Repository.steps`."""
        for raw in self.raw_steps(tip, paths, without):
            before = tuple(tuple(_differences(rows)) for rows in raw.before)
            yield CommitDiff(raw.commit, before)

    def raw_steps(
        self, tip: str, paths: Sequence[str] = (), without: Sequence[str] = ()
    ) -> Iterator[RawStep]:
        """See `Repository.raw_steps`."""
        hidden = [f"^{check_oid(oid, self.hex_length)}" for oid in without]
        text, told = "", dict[str, list[RawDifference]]()
        pieces = self._pieces(tip, [*_STEPS, tip, *hidden, "--", *_pathspecs(paths)], b"\0")
        for piece in pieces:
            if not piece:
                continue
            # `commit <name>[ (from <parent>)]`, header and indented message; then, if anything differs,
            # `:<mode> <mode> <old> <new> <letter>` and a path, again and again. Merges come once a parent.
            head, _, row = piece.partition("\n:") if not piece.startswith(":") else ("", "", piece[1:])
            if head:
                found = _HEAD.match(head)
                if found is None:
                    raise MissingObject(f"The history of {tip} is damaged", MISSING_HINT)
                if not text.startswith(f"commit {found[1]}"):
                    if text:
                        yield _step(text, told)
                    text, told = head, {}
                differences = told.setdefault(found[2] or "", [])
            if row:
                old_mode, new_mode, old, new, _ = row.split(" ")
                sides = (_entry(old_mode, old), _entry(new_mode, new))
                differences.append((next(pieces, ""), *sides))
        if text:
            yield _step(text, told)

    def lineage(self, tip: str, paths: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """See `Repository.lineage`."""
        words = ["rev-list", "--date-order", "--full-history", "--parents", "--simplify-merges", tip, "--"]
        rows = (line.split(" ") for line in self._pieces(tip, [*words, *_pathspecs(paths)], b"\n"))
        return {row[0]: tuple(row[1:]) for row in rows}

    def _pieces(self, tip: str, words: Sequence[str], end: bytes) -> Iterator[str]:
        """Yields what a git process prints, cut at `end`, as it comes."""
        check_oid(tip, self.hex_length)
        process = self.git.start(words, git_dir=self.git_dir)
        ended = False
        try:
            rest = b""
            while process.stdout and (chunk := os.read(process.stdout.fileno(), _CHUNK)):
                *whole, rest = (rest + chunk).split(end)
                yield from (piece.decode("utf-8", "surrogateescape") for piece in whole)
            if rest:
                yield rest.decode("utf-8", "surrogateescape")
            ended = True
        finally:
            if process.stdin:
                process.stdin.close()
            if process.stdout:
                process.stdout.close()
            if not ended:
                process.kill()
            process.wait()
        if process.returncode:
            raise MissingObject(f"The history of {tip} is damaged", MISSING_HINT)


def _entry(mode: str, oid: str) -> TreeEntry | None:
    return TreeEntry(int(mode, 8), oid) if int(mode, 8) else None


def _differences(rows: Iterable[RawDifference]) -> Iterator[Difference]:
    """What differs in regular files."""
    for path, old, new in rows:
        gone, come = _regular(old), _regular(new)
        if gone != come:
            yield path, gone, come


def _regular(entry: TreeEntry | None) -> str | None:
    return entry.oid if entry is not None and entry.mode in (BLOB, EXECUTABLE) else None


def _step(text: str, told: dict[str, list[RawDifference]]) -> RawStep:
    """Reads what git shows of a commit; of a merge, only the parents from which it differs are told."""
    head, _, rest = text.partition("\n")
    header, _, message = rest.partition("\n\n")
    shown = _INDENT.sub("", message).strip("\n")
    data = header.rstrip("\n") + f"\n\n{shown}" + ("\n" if shown else "")
    commit = parse_commit(data.encode("utf-8", "surrogateescape"), head.split(" ")[1])
    # Where there is one parent, or none that is here, git names none.
    whole = told.get("", [])
    before = tuple(tuple(told.get(parent, whole)) for parent in commit.parents or ("",))
    return RawStep(commit, header, before)


def _pathspecs(paths: Sequence[str]) -> Iterator[str]:
    """Paths of a tree as git takes them: from its root, wherever a work tree is configured to be.

    A first part `*` stands for any folder, a second one `**` for any folders or none.
    """
    for path in paths:
        parts = path.split("/")
        free = [part == ("*", "**", "")[min(place, 2)] for place, part in enumerate(parts)]
        if any(free):
            escaped = (
                part if wild else re.sub(r"([*?\[\\])", r"\\\1", part)
                for wild, part in zip(free, parts, strict=True)
            )
            yield f":(top,glob){'/'.join(escaped)}"
        else:
            yield f":(top,literal){path}"


def touching(repo: Repository, tip: str, paths: Sequence[str] = ()) -> Iterator[Touch]:
    """Yields `Repository.touching`; a commit that cannot be read ends its line of history."""
    given: set[str] = set()
    try:
        for touch in repo.touching(tip, paths):
            given.add(touch.commit)
            yield touch
    except MissingObject:
        for commit in readable(repo, tip):
            found = tuple(path for path in changed(repo, commit) if not paths or _within(path, paths))
            if commit.oid not in given and (found or not paths):
                yield Touch(commit.oid, found)


def lineage(repo: Repository, tip: str, paths: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """`Repository.lineage`, in the same way; merges whose sides come to the same may stay in it."""
    try:
        return repo.lineage(tip, paths)
    except MissingObject:
        pass
    commits = list(readable(repo, tip))
    kept: dict[str, tuple[str, ...]] = {}
    nearest: dict[str, tuple[str, ...]] = {}
    for commit in reversed(commits):
        above = tuple(dict.fromkeys(oid for parent in commit.parents for oid in nearest[parent]))
        if len({nearest[parent] for parent in commit.parents}) > 1 or any(
            _within(path, paths) for path in changed(repo, commit)
        ):
            kept[commit.oid] = above
            above = (commit.oid,)
        nearest[commit.oid] = above
    return dict(reversed(kept.items()))


def changed(repo: Repository, commit: Commit) -> tuple[str, ...]:
    """Files that a commit changed: against its parent, and for a merge against every one of them."""
    trees = [tree_or_none(repo, parent) for parent in commit.parents] or [None]
    try:
        return tuple(sorted(set.intersection(*(changed_files(repo, tree, commit.tree) for tree in trees))))
    except MissingObject:
        return ()


def readable(repo: Repository, tip: str) -> Iterator[Commit]:
    """Commits that can be reached and read, in the order of `history`, less the parents that cannot."""
    found: dict[str, Commit] = {}
    missing: set[str] = set()
    todo = [tip]
    while todo:
        oid = todo.pop()
        if oid not in found and oid not in missing:
            try:
                found[oid] = repo.commit(oid)
                todo += found[oid].parents
            except MissingObject:
                missing.add(oid)
    for oid, commit in found.items():
        found[oid] = replace(commit, parents=tuple(p for p in commit.parents if p in found))
    return in_order(found, tip) if tip in found else iter(())


def in_order(found: Mapping[str, Commit], tip: str) -> Iterator[Commit]:
    """Commits in the order of `Repository.history`.

    Args:
        found: a tip and all that can be reached from it, by name.
    """
    children = Counter(parent for commit in found.values() for parent in commit.parents)
    # Among equals git takes the one that it met first.
    met = count()
    ready = [(-found[tip].committer.time, next(met), tip)]
    while ready:
        commit = found[heapq.heappop(ready)[2]]
        yield commit
        for parent in commit.parents:
            children[parent] -= 1
            if not children[parent]:
                heapq.heappush(ready, (-found[parent].committer.time, next(met), parent))


def _within(path: str, given: Sequence[str]) -> bool:
    """Whether a path is, or lies below, one of some as `_pathspecs` takes them."""
    agent, _, rest = path.partition("/")
    for each in given:
        first, _, sought = each.partition("/")
        if first not in ("*", agent):
            continue
        deep = sought.removeprefix("**/")
        if not sought or rest == sought or rest.startswith(f"{sought}/"):
            return True
        if deep != sought and (rest == deep or rest.endswith(f"/{deep}")):
            return True
    return False
