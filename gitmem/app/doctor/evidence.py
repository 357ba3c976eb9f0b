"""Where memory refs are, and where they once were as logs, records and other refs still show."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from gitmem.core.errors import RepositoryError
from gitmem.git.repository import MissingObject, Repository, short_name
from gitmem.ledger.files import CATALOG
from gitmem.ledger.foreign_commits import is_usable
from gitmem.ledger.land import is_memory
from gitmem.ledger.record import Record, read_record
from gitmem.ledger.workspace import PRIVATE_REF, SHARED_REF, Scope, ScopeName, Workspace


@dataclass(frozen=True)
class Evidence:
    """A commit that a ref once was at, as something still shows.

    Attributes:
        source: what shows it, in words.
        rank: 0 for the ref's own log, 1 for what gitmem noted down, 2 for another ref.
    """

    oid: str
    source: str
    rank: int


@dataclass(frozen=True)
class Standing:
    """Where a ref is: `memory`, `gone`, `odd` with the reason why it is no memory, or `damaged`.

    Attributes:
        oid: what it points at, where that can be told.
    """

    state: str
    oid: str | None = None
    why: str = ""


def stand(workspace: Workspace, scope: Scope) -> Standing:
    """Tells whether a scope's ref holds memory."""
    repo = scope.repo
    try:
        oid = repo.ref(scope.ref)
    except RepositoryError as error:
        return Standing("odd", None, f"cannot be read ({error.message})")
    if oid is None:
        loose = repo.git_dir / scope.ref
        return (
            Standing("odd", None, "is no ref but a damaged file") if loose.is_file() else Standing("gone")
        )
    kind = _kind(workspace, repo, oid)
    if kind != "commit":
        told = (
            f"points at {oid[:12]}, which is a {kind}"
            if kind
            else f"points at {oid[:12]}, which is missing"
        )
        return Standing("odd", oid, f"{told} and no memory")
    if not is_readable(repo, oid):
        return Standing("odd", oid, f"points at {oid[:12]}, which is damaged")
    if not is_memory(repo, oid):
        return Standing("odd", oid, f"points at {oid[:12]}, a commit that is no memory")
    if not is_usable(repo, oid):
        return Standing("damaged", oid, f"points at {oid[:12]}, of which a folder cannot be read")
    return Standing("memory", oid)


def scope_of(workspace: Workspace, record: Record, state: Path) -> ScopeName | None:
    """The scope of a record's folder, by where it is; None for a folder of another repository."""
    path = Path(record.path)
    if workspace.auto_memory is not None and path == workspace.auto_memory:
        return "local"
    if state == workspace.state:
        return "project"
    if path.parent == workspace.around.config / "agent-memory":
        return "user"
    tops = [tree.path for tree in workspace.worktrees]
    return "local" if any(top in path.parents for top in tops) else None


def evidence(workspace: Workspace, scope: Scope) -> Iterator[Evidence]:
    """Commits that a ref was at, the surest source first, each newest first; some may be gone."""
    for entry in scope.repo.reflog(scope.ref):
        yield Evidence(entry.new, "its reflog", 0)
        if entry.old:
            yield Evidence(entry.old, "its reflog", 0)
    for path in sorted((scope.state / "live").glob("*.json")):
        record = read_record(scope.state, path.stem)
        if record and record.base and scope_of(workspace, record, scope.state) == scope.name:
            yield Evidence(record.base, f"the record of {record.path}", 1)
    if tip := _catalogued(scope.state, scope.ref):
        yield Evidence(tip, "the catalog", 1)
    if scope.name == "project":
        other = PRIVATE_REF if scope.ref == SHARED_REF else SHARED_REF
        with suppress(RepositoryError):
            if oid := scope.repo.ref(other):
                yield Evidence(oid, other, 2)
    branch = short_name(scope.ref)
    for name, oid in scope.repo.refs("refs/remotes/").items() if branch != scope.ref else ():
        if name.split("/", 3)[3:] == [branch]:
            yield Evidence(oid, name, 2)


def _catalogued(state: Path, ref: str) -> str | None:
    try:
        uri = f"file:{quote(os.fsencode(state / CATALOG))}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            row = connection.execute("SELECT tip FROM ref WHERE name = ?", (ref,)).fetchone()
            return str(row[0]) if row else None
    except sqlite3.Error:
        return None


def _kind(workspace: Workspace, repo: Repository, oid: str) -> str:
    """Kind of an object; empty where it is missing or cannot be read."""
    done = workspace.git.run(["cat-file", "-t", oid], git_dir=repo.git_dir, check=False)
    return done.text if not done.returncode else ""


def is_readable(repo: Repository, oid: str) -> bool:
    """Whether a commit itself can be read."""
    try:
        repo.commit(oid)
    except MissingObject:
        return False
    return True
