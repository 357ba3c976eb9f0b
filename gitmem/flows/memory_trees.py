"""Memory branches that stand in a work tree (`git worktree add DIR gitmem/project`).

When gitmem moves such a branch, a clean work tree follows, and one with changes is left with a word. The
trap is a commit made in one that was left: its tree is the old state and the person's edits, its parent
the new state, so that to git it takes back all that arrived in between. What a work tree's edits build on
is therefore noted, and a commit that builds on something older than its parent is merged with it.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from gitmem.core.errors import MissingObject, RepositoryError
from gitmem.core.merge import merge_trees
from gitmem.core.text import counted, one_line
from gitmem.core.trailers import Provenance
from gitmem.flows.context import Edges
from gitmem.git.config import worktrees
from gitmem.git.locks import Locked, writer_lock
from gitmem.git.objects import parse_reflog
from gitmem.git.repository import ReflogEntry, Repository, short_name
from gitmem.git.trees import changed_files, read_paths
from gitmem.ledger.files import read_regular
from gitmem.ledger.land import Tip, Write, land
from gitmem.ledger.merge import landing
from gitmem.ledger.state import Space
from gitmem.ledger.workspace import DOCS_REF, Scope, Workspace
from gitmem.values import dataclass

MEMORY = "refs/heads/gitmem/"
LARGEST_LOG = 16 * 1024 * 1024
UNDER_WAY = (
    "index.lock",
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "BISECT_LOG",
    "rebase-merge",
    "rebase-apply",
)
"""Files of a git directory that show a command under way there."""

_NOTED = Space("work trees", 500)
"""By memory branch, what was noted about each work tree on it."""


@dataclass(frozen=True)
class MemoryTree:
    """A work tree in which a memory branch is checked out.

    Attributes:
        git_dir: the work tree's own git directory.
    """

    path: Path
    git_dir: Path
    scope: Scope


@dataclass(frozen=True)
class WorkTreeNote:
    """What gitmem noted about one of them.

    Attributes:
        base: commit that edits there build on.
        mark: last line of the work tree's HEAD log at that time.
        tip: where the branch was.
    """

    base: str
    mark: str
    tip: str


@dataclass(frozen=True)
class StaleTree:
    """A work tree that does not show the newest memory because it has changes of its own."""

    tree: MemoryTree
    base: str

    def __str__(self) -> str:
        path, branch = self.tree.path, short_name(self.tree.scope.ref)
        return (
            f"{path} has changes of its own and still shows {branch} as of {self.base[:12]}: commit them"
            " there (what arrived since is merged in), or drop them: "
            f"git -C {shlex.quote(str(path))} reset --hard"
        )


def keep_up(workspace: Workspace, edges: Edges) -> tuple[str, ...]:
    """Brings work trees on memory branches up to date, and back what stale ones took out.

    Costs a look at a few files, and no process, where the code has one work tree.

    Returns:
        What a person should know, a line each; `edges.say` is told the same.
    """
    lines: list[str] = []
    for scope, trees in _on_branches(workspace):
        if not trees and not _noted(scope):
            continue
        # Another process that is at it sees to it.
        with suppress(Locked), writer_lock(scope.state, "work-trees"):
            known = _noted(scope)
            fresh = dict(_settled(workspace, edges, trees, known, lines))
            if fresh != known:
                rows = {key: asdict(one) for key, one in fresh.items()}
                _NOTED.put(scope.state, scope.ref, rows or None)
    for line in lines:
        edges.say(line)
    return tuple(lines)


def _settled(
    workspace: Workspace,
    edges: Edges,
    trees: Sequence[MemoryTree],
    known: Mapping[str, WorkTreeNote],
    lines: list[str],
) -> Iterator[tuple[str, WorkTreeNote]]:
    for tree in trees:
        key = str(tree.git_dir)
        now = known.get(key)
        try:
            now, said = _Look(workspace, edges, tree, now).settle()
        except RepositoryError as error:
            said = (f"{tree.path}: {error.message}",)
        lines += said
        if now:
            yield key, now


def stale_trees(workspace: Workspace) -> tuple[StaleTree, ...]:
    """Work trees that were left behind, as last noted; nothing is written."""
    found = []
    for scope, trees in _on_branches(workspace):
        known = _noted(scope) if trees else {}
        for tree in trees:
            noted = known.get(str(tree.git_dir))
            # Of a tip that moved since, nothing is known yet: a commit made there moves it, too.
            if noted and noted.base != noted.tip == scope.repo.ref(scope.ref):
                found.append(StaleTree(tree, noted.base))
    return tuple(found)


def is_memory_tree(top: Path) -> bool:
    """Whether a work tree shows memory instead of code: agents have no live directories there."""
    git_dir = _git_dir(top)
    head = _head(git_dir) if git_dir is not None else ""
    return head.startswith(MEMORY) and head != DOCS_REF


def _on_branches(workspace: Workspace) -> Iterator[tuple[Scope, list[MemoryTree]]]:
    """Each scope, with the work trees in which its branch is checked out."""
    private = workspace.private_path
    linked = (private / "worktrees").is_dir()
    listed = worktrees(workspace.git, None, git_dir=private) if linked else ()
    for scope in workspace.scopes:
        found = []
        for tree in workspace.worktrees if scope.name == "project" else listed:
            git_dir = _git_dir(tree.path) if tree.branch == scope.ref else None
            # Another repository may stand where a work tree was.
            if git_dir and git_dir.is_relative_to(scope.repo.git_dir.resolve()):
                found.append(MemoryTree(tree.path, git_dir, scope))
        yield scope, found


def _git_dir(top: Path) -> Path | None:
    git = top / ".git"
    if git.is_dir():
        return git.resolve()
    named = _line(git)
    return (top / named.removeprefix("gitdir:").strip()).resolve() if named.startswith("gitdir:") else None


def _head(git_dir: Path) -> str:
    line = _line(git_dir / "HEAD")
    return line.removeprefix("ref:").strip() if line.startswith("ref:") else ""


def _line(path: Path) -> str:
    try:
        found = read_regular(path, 8192)
    except OSError:
        return ""
    return os.fsdecode(found[0].partition(b"\n")[0]).strip() if found else ""


class _Look:
    """One look at one work tree."""

    def __init__(
        self, workspace: Workspace, edges: Edges, tree: MemoryTree, known: WorkTreeNote | None
    ) -> None:
        self.workspace = workspace
        self.edges = edges
        self.tree = tree
        self.known = known
        self.repo: Repository = tree.scope.repo
        self.lines: list[str] = []

    def settle(self) -> tuple[WorkTreeNote | None, tuple[str, ...]]:
        """Does what there is to do; returns what to note, and what to say."""
        tip = self.repo.ref(self.tree.scope.ref)
        if tip is None:
            return None, ()
        log = _log(self.tree.git_dir)
        mark = log[-1] if log else ""
        if self.known == WorkTreeNote(tip, mark, tip):
            return self.known, ()
        own = [move for move in _moves(log) if not move.message.startswith("gitmem ")]
        last = own[-1].new if own else tip
        base = self.known.base if self.known else last
        for old, new in self._commits(log, base, tip):
            base = self._follow(base, old, new)
        tip = self.repo.ref(self.tree.scope.ref) or tip
        if self._brought_to(tip, (tip, last, base)):
            base = base if self._stashed() else tip
        elif base != tip and (self.known is None or self.known.tip != tip):
            self.lines.append(str(StaleTree(self.tree, base)))
        return WorkTreeNote(base, mark, tip), tuple(self.lines)

    def _commits(self, log: list[str], base: str, tip: str) -> list[tuple[str, str]]:
        """Commits that were made in the work tree since the last look: (where HEAD was, the commit)."""
        if self.known is None or (log and self.known.mark not in log):
            # Nothing is known of what its edits built on.
            return []
        if not log:
            return self._unlogged(base, tip)
        since = log[len(log) - log[::-1].index(self.known.mark) :]
        made = [move for move in _moves(since) if move.message.startswith("commit")]
        return [(move.old, move.new) for move in made if move.old]

    def _unlogged(self, base: str, tip: str) -> list[tuple[str, str]]:
        """Where git keeps no log: commits on top of the tip that carry none of gitmem's trailers."""
        found: list[tuple[str, str]] = []
        at = tip
        while at != base:
            made = self.repo.commit(at)
            if not made.parents:
                return []
            if "Gitmem-" not in made.message and len(made.parents) == 1:
                found.append((made.parents[0], at))
            at = made.parents[0]
        return found[::-1]

    def _follow(self, base: str, old: str, new: str) -> str:
        """Merges a commit with what it took out unseen; returns what later edits build on."""
        if base == old:
            return new
        repo = self.repo
        try:
            trees = [repo.commit(oid).tree for oid in (base, old, new)]
            arrived = changed_files(repo, trees[0], trees[1])
            paths = arrived | changed_files(repo, trees[1], trees[2])
            sides = [read_paths(repo, tree, paths) for tree in trees]
        except MissingObject:
            return new
        merged = merge_trees(*sides)
        if merged.files != sides[2]:
            self._bring_back(old, new, sides[2], merged.files)
        self.lines += [f"stays forgotten: {path}: {one_line(text, 120)}" for path, text in merged.buried]
        # `git commit FILE` takes only that file out of a work tree that stays as old as it was.
        partly = any(sides[1].get(path) == sides[2].get(path) for path in arrived)
        return base if partly else new

    def _bring_back(
        self, old: str, new: str, made: Mapping[str, bytes], meant: Mapping[str, bytes]
    ) -> None:
        repo, scope = self.repo, self.tree.scope

        def plan(tip: Tip) -> Write | None:
            given = {*made, *meant}
            now = read_paths(repo, tip.tree, given)
            edits, _ = landing(repo, tip.tree, given, now, merge_trees(made, meant, now))
            if not edits:
                return None
            lost = () if repo.is_ancestor(old, tip.commit) else (old,)
            body = (
                f"Commit {new[:12]} was made in a work tree that did not show the newest memory,\n"
                f"and so took out what had arrived meanwhile. This merges the two:\n\n"
                + "\n".join(f"  {path}" for path in sorted(edits))
            )
            subject = f"Bring back what {new[:12]} took out unseen"
            return Write(edits, subject, Provenance(op="restore", writer="sync"), body, lost)

        written = land(scope, plan, self.workspace.author(self.edges.now))
        if written:
            count = counted(len(written.edits), "file")
            self.lines.append(
                f"brought back {count} that {new[:12]} took out, as {self.tree.path} did not show"
                f" the newest memory (undo: git mem undo {written.commit[:12]})"
            )

    def _brought_to(self, tip: str, candidates: tuple[str, ...]) -> bool:
        """Whether the work tree shows the tip now, with no change of its own."""
        if any((self.tree.git_dir / name).exists() for name in UNDER_WAY):
            return False
        # Files that were only touched would pass for changed.
        self._git("update-index", "-q", "--refresh")
        shown = next((oid for oid in dict.fromkeys(candidates) if self._index_is(oid)), None)
        if shown is None or self._git("diff-files", "--quiet"):
            return False
        if shown == tip:
            return True
        return not self._in_the_way(shown, tip) and not self._git("read-tree", "-m", "-u", shown, tip)

    def _index_is(self, oid: str) -> bool:
        return self._git("diff-index", "--cached", "--quiet", oid, "--") == 0

    def _in_the_way(self, shown: str, tip: str) -> bool:
        """Whether a file that git does not know stands where one would be put, be it ignored or not."""
        before, after = (self.repo.commit(oid).tree for oid in (shown, tip))
        changed = changed_files(self.repo, before, after)
        come = changed - read_paths(self.repo, before, changed).keys()
        return any(os.path.lexists(self.tree.path / path) for path in come)

    def _git(self, *words: str) -> int:
        return self.workspace.git.run(words, cwd=self.tree.path, check=False).returncode

    def _stashed(self) -> bool:
        """Whether edits that build on something older may come out of the stash again."""
        branch = short_name(self.tree.scope.ref)
        words = ["stash", "list", "--format=%gs"]
        listed = self.workspace.git.run(words, cwd=self.tree.path, check=False).text
        return any(f"n {branch}: " in line for line in listed.splitlines())


def _moves(lines: Sequence[str]) -> tuple[ReflogEntry, ...]:
    """The moves that lines of a log tell of, oldest first."""
    return parse_reflog("\n".join(lines).encode("utf-8", "surrogateescape"))[::-1]


def _log(git_dir: Path) -> list[str]:
    """Lines of a work tree's HEAD log, oldest first; empty where git keeps none."""
    try:
        found = read_regular(git_dir / "logs" / "HEAD", LARGEST_LOG)
    except OSError:
        return []
    return os.fsdecode(found[0]).splitlines() if found else []


def _noted(scope: Scope) -> dict[str, WorkTreeNote]:
    rows = _NOTED.get(scope.state, scope.ref) or {}
    with suppress(TypeError, AttributeError):
        return {key: WorkTreeNote(**row) for key, row in rows.items()}
    return {}  # another version wrote it
