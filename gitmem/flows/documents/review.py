"""Changes to documents in review: listed, shown as a difference, turned down; git takes them."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gitmem.core.errors import CheckFailed, RepositoryError
from gitmem.core.text import counted, one_line
from gitmem.docs.check import check
from gitmem.docs.document import parse
from gitmem.flows.context import Edges
from gitmem.flows.documents.asking import stale_line
from gitmem.flows.documents.branch import build
from gitmem.flows.documents.code_branch import checked_out
from gitmem.flows.documents.state import Kept, Rejection, change_kept, key_of
from gitmem.flows.documents.waiting import NAME, Waiting
from gitmem.flows.values import sound
from gitmem.git.command import GitCommand
from gitmem.git.refs import move_ref
from gitmem.git.repository import Repository
from gitmem.ledger.workspace import DOCS_REF, Workspace


def title(one: Waiting) -> str:
    """What it is, on one line."""
    stale = sum(line.startswith("- line ") for line in one.change.body.splitlines())
    why = f": {counted(stale, 'statement')} no longer true" if stale else ""
    return f"{one.change.path}{why}"


def value(one: Waiting) -> dict[str, Any]:
    """The same for a program."""
    return {
        "path": sound(one.change.path),
        "branch": NAME,
        "commit": one.commit,
        "base": one.standing.base,
        "before": one.change.before,
        "after": one.change.after,
        "engine": sound(one.change.engine),
        "take": list(one.take),
    }


def tell(workspace: Workspace, one: Waiting) -> tuple[tuple[str, ...], dict[str, Any]]:
    """All of it: what is said of it, the difference, what is still not true, and how it is taken."""
    repo, change = workspace.code, one.change
    before, after = (repo.blob(oid).decode("utf-8", "replace") for oid in (change.before, change.after))
    diff = tuple(difference(change.path, before, after))
    left: tuple[str, ...] = ()
    doc = parse(change.path, after.encode("utf-8", "replace"))
    if doc is not None:
        (checked,) = check(workspace.git, workspace.top, one.standing.base, [doc])
        left = tuple(stale_line(stale) for stale in checked.stale)
    whose = one.standing.whose
    lines = [
        f"{one_line(change.path, 400)}: a change by {one_line(change.engine, 100) or 'somebody'}, "
        f"{one.commit[:12]} on {NAME}",
        *([f"gitmem leaves {NAME} alone: {whose}"] if whose else []),
        *change.body.splitlines(),
        "",
        *diff,
        *(["", "still not true:", *left] if left else []),
        "",
        *(f"take it: {command}" for command in one.take),
        f"ask others: git mem review --open {one.id}; turn it down: git mem review reject {one.id}",
    ]
    told = {"body": sound(change.body), "diff": list(map(sound, diff)), "stale": list(map(sound, left))}
    return tuple(lines), told | {"left_alone": sound(whose) or None}


def difference(path: str, before: str, after: str) -> Iterator[str]:
    """A unified difference, a line each without its end."""
    old, new = (text.splitlines(keepends=True) for text in (before, after))
    for line in difflib.unified_diff(old, new, f"a/{path}", f"b/{path}"):
        yield line.removesuffix("\n")
        if not line.endswith("\n"):
            yield "\\ No newline at end of file"


def refuse_accept(one: Waiting) -> CheckFailed:
    """Why gitmem does not do it: a work tree and its branch are the person's."""
    first, other = one.take
    return CheckFailed(
        f"{one.change.path} is part of your code, which gitmem does not change: git takes it",
        f"Run: {first}, or: {other}",
    )


def reject(workspace: Workspace, edges: Edges, one: Waiting) -> str:
    """Takes a change off the branch and remembers that it was turned down.

    Returns:
        what was done, one line.

    Raises:
        CheckFailed: the branch is not gitmem's to move.
        RefMoved: it was moved meanwhile.
    """
    repo, git, standing = workspace.code, workspace.git, one.standing
    at = checked_out(git, workspace.layout.common_dir)
    why = standing.whose or (f"it is checked out at {at}" if at is not None else "")
    if why:
        raise CheckFailed(
            f"{NAME} is left alone: {why}", f"Take the commit off it, or delete it: git branch -D {NAME}"
        )
    change = one.change
    told = Rejection(change.path, change.before, change.after, _key(git, repo, workspace, one))
    rest = [other.change for other in standing.proposals if other.commit != one.commit]
    new = None
    if rest:
        top = workspace.top
        new = build(repo, git, top, standing.base, rest, workspace.author(edges.now))

    def remember(known: Kept) -> Kept:
        kept = tuple(row for row in known.rejected if row != told)
        return replace(known, rejected=(*kept, told))

    def note(known: Kept) -> Kept:
        return replace(known, tip=new or "", branch=known.branch if new else "")

    change_kept(workspace.state, remember)
    move_ref(repo, DOCS_REF, new, standing.tip, f"gitmem docs: rejected {one.id}")
    change_kept(workspace.state, note)
    return f"turned down the change to {change.path}; it comes back where another is proposed"


def _key(git: GitCommand, repo: Repository, workspace: Workspace, one: Waiting) -> str:
    doc = parse(one.change.path, repo.blob(one.change.before))
    try:
        found = check(git, workspace.top, one.standing.base, [doc]) if doc is not None else ()
    except RepositoryError:
        return ""
    return key_of(found[0].stale) if found else ""
