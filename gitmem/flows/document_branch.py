"""The branch `gitmem/docs`: a commit for each document that should be changed, on top of the code it is of.

It can be told from the commits themselves whether all of it is gitmem's and this person's: each names the
commit of the code that it was made on, and an id that holds for its content alone. What anybody else put
there, or changed, is nothing that gitmem may move. In review each commit is a change that waits, for git to
take.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gitmem.core.errors import CheckFailed, RepositoryError
from gitmem.core.text import counted, one_line
from gitmem.core.trailers import Provenance, Usage
from gitmem.core.trailers import parse as parse_trailers
from gitmem.flows.context import Edges
from gitmem.flows.values import sound
from gitmem.git.command import GitCommand
from gitmem.git.commit_signatures import signed_commit
from gitmem.git.config import config_get, worktrees
from gitmem.git.refs import move_ref
from gitmem.git.remote import Remote
from gitmem.git.repository import Commit, Repository, Signature, TreeEntry, short_name
from gitmem.git.trees import changed_files, write_tree
from gitmem.ledger.land import safe_message
from gitmem.ledger.remotes import SEPARATE
from gitmem.ledger.state import Space, json_entries
from gitmem.ledger.workspace import DOCS_REF, Workspace

if TYPE_CHECKING:
    from gitmem.engines.engine import Stale
    from gitmem.flows.pull_request import PullRequest

NAME = short_name(DOCS_REF)
DOCUMENTS = "docs"
"""What `review --open` calls the branch."""

LONGEST = 200
"""Commits of the branch that are looked at: one a document."""

SIGNING_SECONDS = 60.0
WIDTH = 200
"""Terminal cells of a line."""

MOST_LINES = 200
"""Lines of a request's text."""

VERSION = 1
BRANCHES_KEPT = 50
DUE_KEPT = 100
REJECTIONS_KEPT = 300


@dataclass(frozen=True)
class DocumentChange:
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
        commit: that makes it; empty where it does not stand on the branch yet.
    """

    path: str
    before: str
    after: str
    mode: int
    engine: str
    body: str
    data: bytes | None = None
    usage: Usage | None = None
    commit: str = ""

    @property
    def id(self) -> str:
        """What review calls it."""
        return change_id(self.path, self.after)


@dataclass(frozen=True)
class DocumentBranch:
    """The branch as it stands.

    Attributes:
        tip: its commit.
        base: the commit of the code that its changes were made on; empty where none is there.
        changes: oldest first.
        whose: why it is not gitmem's to move; empty where it is.
    """

    tip: str
    base: str = ""
    changes: tuple[DocumentChange, ...] = ()
    whose: str = ""


def change_id(path: str, blob: str) -> str:
    """Names a proposal by what it proposes: the same again has the same name."""
    told = f"{path}\0{blob}".encode("utf-8", "surrogateescape")
    return f"m-{hashlib.sha256(told).hexdigest()[:6]}"


def read_branch(workspace: Workspace, tip: str, without: Sequence[str], made: str = "") -> DocumentBranch:
    """Reads the branch.

    Args:
        tip: where it stands.
        without: commits of the code: what is in them is taken already.
        made: commit that gitmem moved the branch to last.

    Raises:
        RepositoryError: it cannot be read.
    """
    repo, git = workspace.code, workspace.git
    words = ["rev-list", "--first-parent", f"--max-count={LONGEST}", tip, "--not", *without, "--"]
    found: list[DocumentChange] = []
    base = whose = ""
    for oid in git.run(words, git_dir=repo.git_dir).text.split():
        if oid == base:
            break
        commit = repo.commit(oid)
        one = _change_of(repo, commit)
        on = parse_trailers(commit.message).code_commit
        if one is None or (base and on != base):
            whose = whose or f"{oid[:12]} on it is by someone else"
            continue
        base = on
        found.append(one)
        # One that is gitmem's, and nothing but this file, is known without a look at what else it changed.
        own = tip == made or (commit.author.email == workspace.person.email and _alone(repo, commit, one))
        if not own:
            whose = whose or f"{oid[:12]} on it is not by you, or was changed"
    bottom = repo.commit(found[-1].commit).parents[0] if found else ""
    if found and bottom != base:
        whose = whose or f"it was moved to {bottom[:12]}"
    return DocumentBranch(tip, base, tuple(reversed(found)), whose)


def _change_of(repo: Repository, commit: Commit) -> DocumentChange | None:
    told = parse_trailers(commit.message)
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
        return DocumentChange(path, old.oid, new.oid, new.mode, told.engine, body, commit=commit.oid)
    return None


def _alone(repo: Repository, commit: Commit, change: DocumentChange) -> bool:
    words = ["diff-tree", "-r", "--raw", "--no-renames", "--no-abbrev", "-z", commit.parents[0], commit.oid]
    told = repo.git.run(words, git_dir=repo.git_dir, check=False).text
    kind = f"{change.mode:06o}"
    return told == f":{kind} {kind} {change.before} {change.after} M\0{change.path}\0"


def checked_out(git: GitCommand, common: Path) -> str:
    """Why the branch cannot be moved: a work tree has it checked out, or is rebasing it; else empty."""
    for tree in worktrees(git, None, git_dir=common):
        if tree.branch == DOCS_REF and not tree.bare and not tree.prunable:
            return f"it is checked out at {tree.path}"
    for git_dir in (common, *sorted(common.glob("worktrees/*"))):
        for name in ("rebase-merge", "rebase-apply"):
            with suppress(OSError), (git_dir / name / "head-name").open("rb") as file:
                if file.read(4096).strip() == DOCS_REF.encode():
                    return f"it is checked out at {git_dir}"
    return ""


def build(workspace: Workspace, base: str, changes: Sequence[DocumentChange], who: Signature) -> str:
    """Makes the commits; no ref is moved, and neither index nor work tree is looked at.

    Args:
        base: commit of the code that they are made on.
        who: author and committer.

    Returns:
        The last one; `base` without changes.

    Raises:
        RepositoryError: an object cannot be read or written, or git cannot sign.
    """
    repo = workspace.code
    signs = config_get(workspace.git, workspace.top, "commit.gpgSign", kind="bool") == "true"
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
            tree = write_tree(repo, repo.commit(parent).tree, {change.path: TreeEntry(change.mode, blob)})
            if not signs:
                parent = repo.add_commit(tree, (parent,), who, who, message)
        if signs:
            parent = _signed(workspace, tree, parent, who, message)
    return parent


def _signed(workspace: Workspace, tree: str, parent: str, who: Signature, message: str) -> str:
    try:
        return signed_commit(
            workspace.git, workspace.code.git_dir, tree, (parent,), who, who, message,
            silent=False, seconds=SIGNING_SECONDS,
        )  # fmt: skip
    except RepositoryError as error:
        raise RepositoryError(f"{NAME}: {error.message}", "Once it can: git mem docs update") from error


@dataclass(frozen=True)
class Rejection:
    """A proposal that was turned down.

    Attributes:
        path: of the document.
        before: blob of the document then.
        after: the blob that was proposed.
        stale: `key_of` what did not hold; empty where nothing was found.
    """

    path: str
    before: str
    after: str
    stale: str = ""


@dataclass(frozen=True)
class DocumentNotes:
    """What gitmem notes of its work. Lost, a document is looked at once more, and what was turned down may
    be proposed again.

    Attributes:
        tip: commit that gitmem moved the branch of proposals to; empty where it deleted it.
        branch: branch of the code that these are for: a full ref name.
        checked: branch of the code to its commit that was looked at last.
        due: branch of the code to documents that are to be looked at with its next commit.
        rejected: oldest first.
        pushed: remote to the commit that was pushed there.
    """

    tip: str = ""
    branch: str = ""
    checked: Mapping[str, str] = field(default_factory=dict)
    due: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rejected: tuple[Rejection, ...] = ()
    pushed: Mapping[str, str] = field(default_factory=dict)

    def turned_down(self, path: str, after: str) -> bool:
        """Whether this very proposal was."""
        return any(one.path == path and one.after == after for one in self.rejected)

    def settled(self, path: str, before: str, found: Collection[Stale]) -> bool:
        """Whether what is found of a document led to a proposal that was turned down: nothing is new."""
        key = key_of(found)
        return bool(key) and any(
            (one.path, one.before, one.stale) == (path, before, key) for one in self.rejected
        )


def key_of(found: Collection[Stale]) -> str:
    """Names what does not hold; empty where all does."""
    if not found:
        return ""
    rows = sorted((one.kind, one.name, one.became) for one in found)
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:16]


def read_kept(state: Path) -> DocumentNotes:
    """What is noted; nothing where it is missing or damaged.

    Args:
        state: `<common git dir>/gitmem`.
    """
    return _parse(_DOCS.get(state, _ALL))


def change_kept(state: Path, change: Callable[[DocumentNotes], DocumentNotes]) -> DocumentNotes:
    """Notes something; others who do meanwhile lose nothing by it. Best effort, as all that can be lost."""
    made: list[DocumentNotes] = []

    def changed(value: Any) -> dict[str, Any]:
        made.append(change(_parse(value)))
        return _as_value(made[-1])

    _DOCS.update(state, _ALL, changed)
    return made[-1] if made else change(read_kept(state))


_ALL = "all"
_DOCS = Space("documents", 1, ("docs.json",), lambda path: {_ALL: dict(json_entries(path))})


def _parse(value: Any) -> DocumentNotes:
    with suppress(KeyError, TypeError, AttributeError, ValueError):
        if value["version"] == VERSION:
            return DocumentNotes(
                str(value["tip"]),
                str(value["branch"]),
                _words(value["checked"]),
                {str(name): tuple(map(str, paths)) for name, paths in value["due"].items()},
                tuple(Rejection(**_words(row)) for row in value["rejected"]),
                _words(value["pushed"]),
            )
    return DocumentNotes()


def _as_value(kept: DocumentNotes) -> dict[str, Any]:
    value = {"version": VERSION} | asdict(kept)
    value["checked"] = dict(list(kept.checked.items())[-BRANCHES_KEPT:])
    due = list(kept.due.items())[-BRANCHES_KEPT:]
    value["due"] = {name: paths[-DUE_KEPT:] for name, paths in due if paths}
    value["rejected"] = value["rejected"][-REJECTIONS_KEPT:]
    return value


def _words(value: Any) -> dict[str, str]:
    return {str(key): str(word) for key, word in value.items()}


@dataclass(frozen=True)
class WaitingDocument:
    """A change to a document that waits, and the whole branch that it stands on."""

    change: DocumentChange
    standing: DocumentBranch

    @property
    def id(self) -> str:
        """What review calls it."""
        return self.change.id

    @property
    def take(self) -> tuple[str, ...]:
        """Commands that take it: alone, and with all that waits."""
        one = f"git cherry-pick {self.change.commit[:12]}"
        every = f"git merge {NAME}"
        return (one, every) if len(self.standing.changes) > 1 else (every, one)


def waiting_documents(workspace: Workspace) -> tuple[WaitingDocument, ...]:
    """Changes to documents that neither HEAD nor the branch they are for has."""
    repo = workspace.code
    tip = repo.ref(DOCS_REF)
    if tip is None:
        return ()
    kept = read_kept(workspace.state)
    branch = repo.ref(kept.branch) if kept.branch else None
    heads = [oid for oid in (workspace.code_head(), branch) if oid]
    standing = read_branch(workspace, tip, heads, kept.tip)
    tree = repo.commit(heads[0]).tree if heads else None
    return tuple(
        WaitingDocument(one, standing) for one in standing.changes if not (tree and has(repo, tree, one))
    )


def has(repo: Repository, tree: str, change: DocumentChange) -> bool:
    """Whether a tree of the code has what a change makes of its document."""
    entry = repo.entry(tree, change.path)
    return entry is not None and entry.oid == change.after


def title(one: WaitingDocument) -> str:
    """What it is, on one line."""
    stale = sum(line.startswith("- line ") for line in one.change.body.splitlines())
    why = f": {counted(stale, 'statement')} no longer true" if stale else ""
    return f"{one.change.path}{why}"


def value(one: WaitingDocument) -> dict[str, Any]:
    """The same for a program."""
    return {
        "path": sound(one.change.path),
        "branch": NAME,
        "commit": one.change.commit,
        "base": one.standing.base,
        "before": one.change.before,
        "after": one.change.after,
        "engine": sound(one.change.engine),
        "take": list(one.take),
    }


def tell(workspace: Workspace, one: WaitingDocument) -> tuple[tuple[str, ...], dict[str, Any]]:
    """All of it: what is said of it, the difference, what is still not true, and how it is taken."""
    change, whose = one.change, one.standing.whose
    before, after = (workspace.code.blob(oid) for oid in (change.before, change.after))
    diff = tuple(difference(change.path, *(text.decode("utf-8", "replace") for text in (before, after))))
    left = tuple(map(stale_line, _stale(workspace, one, change.after)))
    lines = [
        f"{one_line(change.path, 400)}: a change by {one_line(change.engine, 100) or 'somebody'}, "
        f"{change.commit[:12]} on {NAME}",
        *([f"gitmem leaves {NAME} alone: {whose}"] if whose else []),
        *change.body.splitlines(),
        "",
        *diff,
        *(["", "still not true:", *left] if left else []),
        "",
        *(f"take it: {command}" for command in one.take),
        f"ask others: git mem review --open {one.id}; reject it: git mem review reject {one.id}",
    ]
    told = {"body": sound(change.body), "diff": list(map(sound, diff)), "stale": list(map(sound, left))}
    return tuple(lines), told | {"left_alone": sound(whose) or None}


def stale_line(one: Stale) -> str:
    """What no longer holds, and what became of it, on one line."""
    named = "" if one.name in one.evidence else f"{one.name}: "
    return one_line(f"- line {one.line}: {one.kind} {named}{one.evidence}", 160)


def difference(path: str, before: str, after: str) -> Iterator[str]:
    """A unified difference, a line each without its end."""
    import difflib  # a list of what waits shows none

    old, new = (text.splitlines(keepends=True) for text in (before, after))
    for line in difflib.unified_diff(old, new, f"a/{path}", f"b/{path}"):
        yield line.removesuffix("\n")
        if not line.endswith("\n"):
            yield "\\ No newline at end of file"


def _stale(workspace: Workspace, one: WaitingDocument, blob: str) -> tuple[Stale, ...]:
    """What a version of the document says that does not hold on the code it is for."""
    from gitmem.flows.document_check import check  # a list of what waits checks nothing
    from gitmem.flows.document_text import parse

    doc = parse(one.change.path, workspace.code.blob(blob))
    found = check(workspace.git, workspace.top, one.standing.base, [doc]) if doc is not None else ()
    return found[0].stale if found else ()


def refuse_accept(one: WaitingDocument) -> CheckFailed:
    """Why gitmem does not do it: a work tree and its branch are the person's."""
    first, other = one.take
    return CheckFailed(
        f"{one.change.path} is part of your code, which gitmem does not change: git takes it",
        f"Run: {first}, or: {other}",
    )


def reject(workspace: Workspace, edges: Edges, one: WaitingDocument) -> str:
    """Takes a change off the branch and remembers that it was turned down.

    Returns:
        what was done, one line.

    Raises:
        CheckFailed: the branch is not gitmem's to move.
        RefMoved: it was moved meanwhile.
    """
    standing, change = one.standing, one.change
    why = standing.whose or checked_out(workspace.git, workspace.layout.common_dir)
    if why:
        raise CheckFailed(
            f"{NAME} is left alone: {why}", f"Take the commit off it, or delete it: git branch -D {NAME}"
        )
    key = ""
    with suppress(RepositoryError):
        key = key_of(_stale(workspace, one, change.before))
    told = Rejection(change.path, change.before, change.after, key)
    rest = [other for other in standing.changes if other.commit != change.commit]
    new = build(workspace, standing.base, rest, workspace.author(edges.now)) if rest else None

    def remember(known: DocumentNotes) -> DocumentNotes:
        kept = tuple(row for row in known.rejected if row != told)
        return replace(known, rejected=(*kept, told))

    def note(known: DocumentNotes) -> DocumentNotes:
        return replace(known, tip=new or "", branch=known.branch if new else "")

    change_kept(workspace.state, remember)
    move_ref(workspace.code, DOCS_REF, new, standing.tip, f"gitmem docs: rejected {one.id}")
    change_kept(workspace.state, note)
    return f"rejected the change to {change.path}; it comes back where another is proposed"


def means_documents(workspace: Workspace, id: str) -> bool:
    """Whether what a person named is a document or all of them; or nothing, and there is nothing else."""
    only = workspace.sharing == "off" and workspace.code.ref(DOCS_REF) is not None
    return id == DOCUMENTS or id.startswith("m-") or (not id and only)


def open_documents(workspace: Workspace, edges: Edges, id: str, *, dry_run: bool = False) -> PullRequest:
    """Pushes the branch where the code goes, and opens a request for it, or updates the open one.

    Args:
        id: what the person called it.
        dry_run: nothing is pushed and nobody asked.

    Raises:
        CheckFailed: nothing waits, somebody else's commits are in the way, or more than this would leave.
        RepositoryError: there is no remote for the code, or it refuses.
    """
    from gitmem.flows.pull_request import PullRequest, opened  # a list of what waits asks nobody

    waits = waiting_documents(workspace)
    if not waits:
        raise CheckFailed("No change to a document waits", "See what does: git mem review")
    kept, standing = read_kept(workspace.state), waits[0].standing
    here = workspace.git.run(["symbolic-ref", "--quiet", "HEAD"], cwd=workspace.top, check=False).text
    remote, base = _remote(workspace, kept.branch or here)
    words = ["rev-list", "--count", standing.base, "--not", f"--glob=refs/remotes/{remote.name}/*", "--"]
    count = int(workspace.git.run(words, git_dir=workspace.code.git_dir).text)
    if count:  # the push would send commits of the code that nobody sent
        raise CheckFailed(
            f"{NAME} builds on {counted(count, 'commit')} that {remote.name} does not have",
            f"Send these first: git push {remote.name} {base}",
        )
    what = waits[0].change.path if len(waits) == 1 else counted(len(waits), "document")
    made = PullRequest(
        id or NAME, remote.name, NAME, base, f"Keep {one_line(what, 100)} true", _body(waits)
    )
    if dry_run:
        return made
    there = remote.listed(DOCS_REF).get(DOCS_REF)
    if there != standing.tip:
        if there not in (None, kept.pushed.get(remote.name)) and not _holds(workspace, there, standing.tip):
            raise CheckFailed(
                f"{NAME} at {remote.name} holds commits that are not in yours",
                f"Look at them: git fetch {remote.name} {NAME}; where they are done with: "
                f"git push {remote.name} --delete {NAME}",
            )
        pushed = remote.push(standing.tip, DOCS_REF, there)
        if pushed.outcome != "pushed":
            raise RepositoryError(f"{remote.name} refused {NAME}: {pushed.words}", "Nothing was opened.")
        remote.note(workspace.code, DOCS_REF, standing.tip)

        def note(known: DocumentNotes) -> DocumentNotes:
            return replace(known, pushed={**known.pushed, remote.name: standing.tip})

        change_kept(workspace.state, note)
    return opened(workspace, edges, remote, made)


def _remote(workspace: Workspace, branch: str) -> tuple[Remote, str]:
    """Where a branch of the code is sent to, and what it is called there."""
    name = short_name(branch)
    config = workspace.settings.config
    known = [one for one in config.remotes if one != SEPARATE]
    upstream, merge = (config.get(f"branch.{name}.{key}") for key in ("remote", "merge"))
    chosen, there = upstream, short_name(merge)
    if upstream not in known or not merge:
        chosen, there = "origin" if "origin" in known else known[0] if len(known) == 1 else "", name
    if not chosen or not there:
        raise RepositoryError(
            "It is not clear where the code is sent to", "Say it: git push -u REMOTE BRANCH"
        )
    common = workspace.layout.common_dir
    return Remote(workspace.git, workspace.top, common, chosen, "", (DOCS_REF,), DOCS_REF), there


def _holds(workspace: Workspace, there: str, tip: str) -> bool:
    repo = workspace.code
    return repo.resolve(there) == there and repo.is_ancestor(there, tip)


def _body(waits: tuple[WaitingDocument, ...]) -> str:
    """The text of a request. What a document says stands in code spans, where hosts obey nothing."""
    from gitmem.flows.pull_request import code

    lines = ["Living documents said of the code what no longer holds. A commit for each of them:", ""]
    for one in waits:
        lines += [f"- {code(one.change.path, WIDTH)}, by {code(one.change.engine, WIDTH)}"]
        lines += [
            f"  - {code(line.removeprefix('- '), WIDTH)}"
            for line in one.change.body.splitlines()
            if line.strip()
        ]
    if len(lines) > MOST_LINES:
        lines = [*lines[:MOST_LINES], "- …"]
    take = f"`git mem review show {waits[0].id}` shows one in a clone."
    return "\n".join([*lines, "", f"Merge it as any change of the code; {take}", ""])
