"""The branch `gitmem/docs`: a commit for each document that should be changed, on top of the code it is of.

gitmem moves it only from where gitmem put it: those commits are noted. What anybody else added or changed
is another commit, and stays. In review each change waits for git to take it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gitmem.core.errors import CheckFailed, RepositoryError
from gitmem.core.text import counted, one_line
from gitmem.core.trailers import Provenance, Usage
from gitmem.core.trailers import parse as parse_trailers
from gitmem.flows.context import Edges
from gitmem.flows.json_values import difference, sound
from gitmem.git.refs import move_ref
from gitmem.git.remote import Remote
from gitmem.git.repository import Repository, TreeEntry, short_name
from gitmem.git.trees import changed_files, write_tree
from gitmem.ledger.land import safe_message, signer
from gitmem.ledger.remotes import SEPARATE
from gitmem.ledger.state import Space
from gitmem.ledger.workspace import DOCS_REF, Workspace

if TYPE_CHECKING:
    from gitmem.engines.engine import Stale
    from gitmem.flows.pull_request import PullRequest

NAME = short_name(DOCS_REF)
DOCUMENTS = "docs"
"""What `review --open` calls the branch."""

LONGEST = 200
"""Commits of the branch that are looked at: one a document."""

WIDTH = 200
"""Terminal cells of a line."""

MOST_LINES = 200
"""Lines of a request's text."""

VERSION = 2
MADE_KEPT = 500
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


def read_branch(
    workspace: Workspace, tip: str, without: Sequence[str], made: Sequence[str]
) -> DocumentBranch:
    """Reads the branch.

    Args:
        tip: where it stands.
        without: commits of the code: what is in them is taken already.
        made: commits that gitmem moved the branch to.

    Raises:
        RepositoryError: it cannot be read.
    """
    repo = workspace.code
    words = ["rev-list", "--first-parent", f"--max-count={LONGEST}", tip, "--not", *without, "--"]
    found: list[DocumentChange] = []
    base = ""
    for oid in workspace.git.run(words, git_dir=repo.git_dir).text.split():
        if oid == base:
            break
        if one := _change_of(repo, oid):
            found.append(one)
            base = base or parse_trailers(repo.commit(oid).message).code_commit
    whose = "" if tip in made else f"{tip[:12]} on it is by someone else, or gitmem's notes of it are gone"
    return DocumentBranch(tip, base, tuple(reversed(found)), whose)


def _change_of(repo: Repository, oid: str) -> DocumentChange | None:
    commit = repo.commit(oid)
    told = parse_trailers(commit.message)
    if len(commit.parents) == 1 and told.writer == "extract":
        before = repo.commit(commit.parents[0]).tree
        for path in changed_files(repo, before, commit.tree):
            old, new = (repo.entry(tree, path) for tree in (before, commit.tree))
            if old and new and change_id(path, new.oid) == told.job:
                body = commit.message.split("\n", 1)[-1].partition("\nGitmem-Op:")[0].strip("\n")
                return DocumentChange(path, old.oid, new.oid, new.mode, told.engine, body, commit=oid)
    return None


def code_branch(workspace: Workspace) -> str:
    """The branch of the code that is checked out: a full ref name; empty where HEAD is detached."""
    return workspace.git.run(["symbolic-ref", "--quiet", "HEAD"], cwd=workspace.top, check=False).text


def held(workspace: Workspace, standing: DocumentBranch) -> str:
    """Why the branch cannot be moved: it is not gitmem's, or checked out; empty where it can."""
    trees = (tree for tree in workspace.worktrees if tree.branch == DOCS_REF)
    return standing.whose or next((f"it is checked out at {tree.path}" for tree in trees), "")


def move(
    workspace: Workspace,
    edges: Edges,
    standing: DocumentBranch | None,
    base: str,
    changes: Sequence[DocumentChange],
    why: str,
) -> str:
    """Moves the branch to some changes, or deletes it where there are none.

    Neither index nor work tree is looked at.

    Args:
        standing: where it was read; None where it was not there.
        base: commit of the code that they are made on.
        why: for its log.

    Returns:
        where it is; empty for nowhere.

    Raises:
        RefMoved: it is elsewhere by now.
        RepositoryError: an object cannot be read or written.
    """
    tip = _build(workspace, edges, base, changes) if changes else ""
    if tip:  # noted first: else it were nobody's where this process ends in between
        change_notes(workspace.state, lambda notes: replace(notes, made=(*notes.made, tip)))
    move_ref(
        workspace.code, DOCS_REF, tip or None, standing.tip if standing else None, f"gitmem docs: {why}"
    )
    return tip


def _build(workspace: Workspace, edges: Edges, base: str, changes: Sequence[DocumentChange]) -> str:
    repo, who = workspace.code, workspace.author(edges.now)
    make, parent = signer(repo) or repo.add_commit, base
    for change in changes:
        told = Provenance(
            op="update",
            writer="extract",
            job=change.id,
            code_commit=base,
            engine=change.engine,
            usage=change.usage,
        )
        with repo.together():
            blob = repo.add_blob(change.data) if change.data is not None else change.after
            tree = write_tree(repo, repo.commit(parent).tree, {change.path: TreeEntry(change.mode, blob)})
        message = safe_message(f"Keep {change.path} true", told, change.body)
        parent = make(tree, (parent,), who, who, message)
    return parent


@dataclass(frozen=True)
class DocumentNotes:
    """What gitmem notes of its work.

    Lost, a document is looked at once more, what was rejected may be proposed again, and a branch that
    stands is left to the person.

    Attributes:
        made: commits that gitmem moved the branch of proposals to, oldest first.
        branch: branch of the code that these are for: a full ref name.
        checked: branch of the code to its commit that was looked at last.
        due: branch of the code to documents that are to be looked at with its next commit.
        asked: id of a proposal to the key of what it answers.
        rejected: key of what was answered by a proposal that was rejected, to the document.
    """

    made: tuple[str, ...] = ()
    branch: str = ""
    checked: Mapping[str, str] = field(default_factory=dict)
    due: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    asked: Mapping[str, str] = field(default_factory=dict)
    rejected: Mapping[str, str] = field(default_factory=dict)


def read_notes(state: Path) -> DocumentNotes:
    """What is noted; nothing where it is missing or damaged.

    Args:
        state: `<common git dir>/gitmem`.
    """
    return _parse(_DOCS.get(state, _ALL))


def change_notes(state: Path, change: Callable[[DocumentNotes], DocumentNotes]) -> None:
    """Notes something; others who do meanwhile lose nothing by it. Best effort, as all that can be lost."""
    _DOCS.update(state, _ALL, lambda value: _as_value(change(_parse(value))))


_ALL = "all"
_DOCS = Space("documents", 1)


def _parse(value: Any) -> DocumentNotes:
    with suppress(KeyError, TypeError, AttributeError, ValueError):
        if value["version"] == VERSION:
            due = {str(name): tuple(map(str, paths)) for name, paths in value["due"].items()}
            checked, asked, rejected = (_words(value[name]) for name in ("checked", "asked", "rejected"))
            made = tuple(map(str, value["made"]))
            return DocumentNotes(made, str(value["branch"]), checked, due, asked, rejected)
    return DocumentNotes()


def _as_value(notes: DocumentNotes) -> dict[str, Any]:
    return (
        {"version": VERSION}
        | asdict(notes)
        | {
            "made": notes.made[-MADE_KEPT:],
            "checked": _newest(notes.checked, BRANCHES_KEPT),
            "due": {
                name: paths[-DUE_KEPT:]
                for name, paths in _newest(notes.due, BRANCHES_KEPT).items()
                if paths
            },
            "asked": _newest(notes.asked, REJECTIONS_KEPT),
            "rejected": _newest(notes.rejected, REJECTIONS_KEPT),
        }
    )


def _newest(rows: Mapping[str, Any], most: int) -> dict[str, Any]:
    return dict(list(rows.items())[-most:])


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
    notes = read_notes(workspace.state)
    branch = repo.ref(notes.branch) if notes.branch else None
    heads = [oid for oid in (workspace.code_head(), branch) if oid]
    standing = read_branch(workspace, tip, heads, notes.made)
    tree = repo.commit(heads[0]).tree if heads else None
    taken = {
        one.path
        for one in standing.changes
        if tree and (at := repo.entry(tree, one.path)) and at.oid == one.after
    }
    return tuple(WaitingDocument(one, standing) for one in standing.changes if one.path not in taken)


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
    left = tuple(map(stale_line, _stale(workspace, one)))
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


def _stale(workspace: Workspace, one: WaitingDocument) -> tuple[Stale, ...]:
    """What the document would still say that does not hold on the code it is for."""
    from gitmem.flows.document_check import check  # a list of what waits checks nothing
    from gitmem.flows.document_text import parse
    from gitmem.search.code_files import CodeFiles

    doc = parse(one.change.path, workspace.code.blob(one.change.after))
    if doc is None:
        return ()
    with closing(CodeFiles(workspace.git, workspace.top)) as files:
        return check(files, one.standing.base, [doc])[0].stale


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
    if why := held(workspace, standing):
        raise CheckFailed(
            f"{NAME} is left alone: {why}", f"Take the commit off it, or delete it: git branch -D {NAME}"
        )
    rest = [other for other in standing.changes if other.commit != change.commit]
    move(workspace, edges, standing, standing.base, rest, f"rejected {one.id}")

    def remember(notes: DocumentNotes) -> DocumentNotes:
        key = notes.asked.get(one.id)
        rejected = {**notes.rejected, key: change.path} if key else notes.rejected
        return replace(notes, branch=notes.branch if rest else "", rejected=rejected)

    change_notes(workspace.state, remember)
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
    from gitmem.flows.pull_request import PullRequest, open_at_host  # a list of what waits asks nobody

    waits = waiting_documents(workspace)
    if not waits:
        raise CheckFailed("No change to a document waits", "See what does: git mem review")
    notes, standing = read_notes(workspace.state), waits[0].standing
    remote, base = _remote(workspace, notes.branch or code_branch(workspace))
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
        if there and there not in notes.made:
            raise CheckFailed(
                f"{NAME} at {remote.name} holds commits that are not in yours",
                f"Look at them: git fetch {remote.name} {NAME}; where they are done with: "
                f"git push {remote.name} --delete {NAME}",
            )
        pushed = remote.push(standing.tip, DOCS_REF, there)
        if pushed.outcome != "pushed":
            raise RepositoryError(f"{remote.name} refused {NAME}: {pushed.words}", "Nothing was opened.")
        remote.note(workspace.code, DOCS_REF, standing.tip)
    return open_at_host(workspace, edges, remote, made)


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
