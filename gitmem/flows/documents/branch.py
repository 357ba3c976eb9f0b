"""The branch `gitmem/docs`: a commit for each document that should be changed, on top of the code it is of.

It can be told from the commits themselves whether all of it is gitmem's and this person's: each names the
commit of the code that it was made on, and an id that holds for its content alone. What anybody else put
there, or changed, is nothing that gitmem may move.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from gitmem.core.errors import RepositoryError
from gitmem.core.trailers import Provenance, Usage, parse
from gitmem.git.command import GitCommand, config_get
from gitmem.git.repository import BLOB, EXECUTABLE, TREE, Commit, Entry, Repository, Signature
from gitmem.git.trees import changed_files
from gitmem.ledger.land import safe_message
from gitmem.values import dataclass

LONGEST = 200
"""Commits of the branch that are looked at: one a document."""

SIGNING_SECONDS = 60.0


@dataclass(frozen=True)
class Change:
    """A document as it should be.

    Attributes:
        path: from the top of the tree.
        before: name of the blob that it was made of.
        after: name of the blob that it is to be.
        mode: of the file.
        engine: who proposes it.
        body: what is said of it, for the commit's message.
        data: its new content; None where the repository has it.
        usage: what it cost to ask for it.
    """

    path: str
    before: str
    after: str
    mode: int
    engine: str
    body: str
    data: bytes | None = None
    usage: Usage | None = None

    @property
    def id(self) -> str:
        """What review calls it."""
        return change_id(self.path, self.after)


@dataclass(frozen=True)
class Proposed:
    """A change that stands on the branch as a commit."""

    commit: str
    change: Change


@dataclass(frozen=True)
class Standing:
    """The branch as it stands.

    Attributes:
        tip: its commit.
        base: the commit of the code that its proposals were made on; empty where none is there.
        proposals: oldest first.
        whose: why it is not gitmem's to move; empty where it is.
    """

    tip: str
    base: str = ""
    proposals: tuple[Proposed, ...] = ()
    whose: str = ""


def change_id(path: str, blob: str) -> str:
    """Names a proposal by what it proposes: the same again has the same name."""
    told = f"{path}\0{blob}".encode("utf-8", "surrogateescape")
    return f"m-{hashlib.sha256(told).hexdigest()[:6]}"


def read_branch(
    repo: Repository,
    git: GitCommand,
    tip: str,
    without: Sequence[str],
    person: Callable[[], str],
    made: str = "",
) -> Standing:
    """Reads the branch.

    Args:
        tip: where it stands.
        without: commits of the code: what is in them is taken already.
        person: gives the address of whose proposals gitmem may move.
        made: commit that gitmem moved the branch to last.

    Raises:
        RepositoryError: it cannot be read.
    """
    words = ["rev-list", "--first-parent", f"--max-count={LONGEST}", tip, "--not", *without, "--"]
    found: list[Proposed] = []
    base = whose = ""
    for oid in git.run(words, git_dir=repo.git_dir).text.split():
        if oid == base:
            break
        commit = repo.commit(oid)
        one = _proposed(repo, commit)
        on = parse(commit.message).code_commit
        if one is None or (base and on != base):
            whose = whose or f"{oid[:12]} on it is by someone else"
            continue
        base = on
        found.append(one)
        # One that is gitmem's, and nothing but this file, is known without a look at what else it changed.
        if tip != made and not (commit.author.email == person() and _alone(repo, git, commit, one.change)):
            whose = whose or f"{oid[:12]} on it is not by you, or was changed"
    bottom = repo.commit(found[-1].commit).parents[0] if found else ""
    if found and bottom != base:
        whose = whose or f"it was moved to {bottom[:12]}"
    return Standing(tip, base, tuple(reversed(found)), whose)


def _proposed(repo: Repository, commit: Commit) -> Proposed | None:
    told = parse(commit.message)
    if len(commit.parents) != 1 or told.writer != "extract" or not told.job.startswith("m-"):
        return None
    with suppress(RepositoryError):
        before = repo.commit(commit.parents[0]).tree
        paths = changed_files(repo, before, commit.tree)
        path = next(iter(paths), "")
        old, new = (repo.entry(tree, path) if len(paths) == 1 else None for tree in (before, commit.tree))
        if old is None or new is None or change_id(path, new.oid) != told.job:
            return None
        body = commit.message.split("\n", 1)[-1].partition("\nGitmem-Op:")[0].strip("\n")
        return Proposed(commit.oid, Change(path, old.oid, new.oid, new.mode, told.engine, body))
    return None


def _alone(repo: Repository, git: GitCommand, commit: Commit, change: Change) -> bool:
    words = ["diff-tree", "-r", "--raw", "--no-renames", "--no-abbrev", "-z", commit.parents[0], commit.oid]
    told = git.run(words, git_dir=repo.git_dir, check=False).text
    kind = f"{change.mode:06o}"
    return told == f":{kind} {kind} {change.before} {change.after} M\0{change.path}\0"


def build(
    repo: Repository, git: GitCommand, top: Path, base: str, changes: Sequence[Change], who: Signature
) -> str:
    """Makes the commits; no ref is moved, and neither index nor work tree is looked at.

    Args:
        top: work tree, whose configuration says whether commits are signed.
        base: commit of the code that they are made on.
        who: author and committer.

    Returns:
        The last one; `base` without changes.

    Raises:
        RepositoryError: an object cannot be read or written, or git cannot sign.
    """
    signs = config_get(git, top, "commit.gpgSign", kind="bool") == "true"
    parent = base
    for change in changes:
        told = Provenance(
            op="update",
            writer="extract",
            job=change.id,
            code_commit=base,
            engine=change.engine,
            usage=change.usage,
        )
        message = safe_message(f"Keep {change.path} true", told, change.body)
        with repo.together():
            blob = repo.add_blob(change.data) if change.data is not None else change.after
            tree = _with(repo, repo.commit(parent).tree, change.path, Entry(change.mode, blob))
            if not signs:
                parent = repo.add_commit(tree, (parent,), who, who, message)
        if signs:
            parent = _signed(git, top, tree, parent, who, message)
    return parent


def _with(repo: Repository, tree: str, path: str, entry: Entry) -> str:
    """A tree with another file at a path that it has; all else in it, and every mode, stays as it is."""
    name, _, rest = path.partition("/")
    entries = dict(repo.tree(tree))
    known = entries.get(name)
    if known is None or (known.mode == TREE) != bool(rest) or (not rest and not is_file(known)):
        raise RepositoryError(f"{path} is no file of {tree[:12]}")
    entries[name] = Entry(TREE, _with(repo, known.oid, rest, entry)) if rest else entry
    return repo.add_tree(entries)


def is_file(entry: Entry | None) -> bool:
    """Whether an entry of a tree is a regular file."""
    return entry is not None and entry.mode in (BLOB, EXECUTABLE)


def _signed(git: GitCommand, top: Path, tree: str, parent: str, who: Signature, message: str) -> str:
    date = (
        f"@{who.time} {'-' if who.offset < 0 else '+'}{abs(who.offset) // 60:02}{abs(who.offset) % 60:02}"
    )
    named = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", who.name), ("EMAIL", who.email), ("DATE", date))
    }
    words = ["-c", "i18n.commitEncoding=UTF-8", "commit-tree", "-S", tree, "-p", parent, "-F", "-"]
    done = git.run(
        words,
        cwd=top,
        input=message.encode("utf-8", "replace"),
        env=named,
        check=False,
        timeout=SIGNING_SECONDS,
    )
    if done.returncode:
        why = " ".join(done.stderr.split())[:200]
        raise RepositoryError(
            f"git could not sign a commit for gitmem/docs: {why}",
            "Once it can: git mem docs update",
        )
    return done.text.strip()
