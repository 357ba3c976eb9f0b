"""Hosted memory stores as remotes: which there are, where their paths lead, what was last seen there.

Which stores a person added stands in the configuration of the private repository, where no code repository
writes. What a store held when it was last seen is a commit on `refs/gitmem/store/<owner>/<id>`, in the
repository of the scope: its tree has the store's memories where the scope's tree has them, and its message
a line for each, by which what did not change is not asked for again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from gitmem.core.errors import UsageError
from gitmem.core.names import FORMAT_FILE, FORMAT_TEXT, hot_path, is_agent_folder, kind, unfit
from gitmem.core.trailers import Provenance, format_message
from gitmem.git.command import read_configuration
from gitmem.git.config import config_set, config_unset
from gitmem.git.refs import move_ref
from gitmem.git.repository import Repository
from gitmem.git.trees import write_tree
from gitmem.ledger.land import ROOT_SIGNATURE, root_commit
from gitmem.ledger.workspace import MAIN, ScopeName, Workspace
from gitmem.rules.paths import check_path

SECTION = "gitmemstore"
STORES = "refs/gitmem/store/"
SUBJECT = "See what the store holds"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}")
_LINE = re.compile(r"^([0-9a-f]{64})$", re.MULTILINE)
_LOOK = "See them: git mem remote"


@dataclass(frozen=True)
class HostedStore:
    """A store that a person added.

    Attributes:
        name: what it is called here.
        id: what the server calls it (`memstore_…`).
        scope: whose memory it mirrors.
        dream: the hosted dream that is under way: its id, the commit of what the store held when it began,
            and which clone has that, each apart by a space; empty for none.
        asked: the request for one that no answer came to yet: its token in place of the id.
    """

    name: str
    id: str
    scope: ScopeName
    dream: str = ""
    asked: str = ""


@dataclass(frozen=True)
class Seen:
    """What a store held when it was last seen.

    Attributes:
        commit: of the ref; None where it was never seen.
        tree: the empty tree where it was never seen.
        marks: of each memory in it, see `mark`.
        time: when that was, epoch seconds; 0 for never.
    """

    commit: str | None
    tree: str
    marks: frozenset[str]
    time: int = 0


class HasPath(Protocol):
    """A memory as a store lists it."""

    @property
    def path(self) -> str:
        """Its path there, with a leading slash."""
        ...


P = TypeVar("P", bound=HasPath)


def stores(workspace: Workspace) -> tuple[HostedStore, ...]:
    """The stores of this project and of the person's own memory, by name."""
    found = (one for owner, one in _every(workspace) if owner == _owner(workspace, one.scope))
    return tuple(sorted(found, key=lambda one: one.name))


def _every(workspace: Workspace) -> list[tuple[str, HostedStore]]:
    """The stores of all projects on this machine, each with whose it is."""
    if not workspace.has_private:
        return []
    values: dict[str, dict[str, str]] = {}
    for scope, key, value in read_configuration(workspace.git, git_dir=workspace.private_path).rows:
        if scope == "local" and key.startswith(f"{SECTION}."):
            section, _, what = key.removeprefix(f"{SECTION}.").rpartition(".")
            values.setdefault(section, {})[what] = value
    listed = []
    for section, told in values.items():
        owner, _, name = section.partition("/")
        scope = told.get("scope", "")
        if "id" in told and scope in ("project", "local", "user"):
            dreams = told.get("dream", ""), told.get("asked", "")
            one = HostedStore(name, told["id"], scope, *dreams)  # type: ignore[arg-type]
            listed.append((owner, one))
    return listed


def find_store(workspace: Workspace, name: str) -> HostedStore | None:
    """A store by its name; None where none has it."""
    return next((one for one in stores(workspace) if one.name == name), None)


def named_store(workspace: Workspace, name: str) -> HostedStore:
    """The same.

    Raises:
        UsageError: none has that name.
    """
    found = find_store(workspace, name)
    if found is None:
        known = ", ".join(one.name for one in stores(workspace))
        there = f"There are: {known}." if known else "Add one: git mem remote add NAME --store ID"
        raise UsageError(f"There is no store {name!r} here", there)
    return found


def add_store(workspace: Workspace, store: HostedStore) -> None:
    """Notes a store.

    Raises:
        UsageError: its name is none, or taken.
    """
    if not _NAME.fullmatch(store.name):
        raise UsageError(f"A remote cannot be called {store.name!r}", "Take letters, digits, - and _.")
    if store.name in workspace.settings.config.remotes:
        raise UsageError(f"git has a remote {store.name!r} here", "Take another name.")
    for one in stores(workspace):
        if one.name == store.name:
            raise UsageError(f"There is a store {store.name!r} already", _LOOK)
        if one.id == store.id:
            raise UsageError(f"{store.id} is here already, as {one.name!r}", _LOOK)
    for _, one in _every(workspace):
        # Through one store the memory of one project would come into another.
        if one.id == store.id:
            raise UsageError(
                f"{store.id} holds the memory of another project, which calls it {one.name!r}",
                f"Take another store; or there: git mem remote remove {one.name}",
            )
        # One of the person's own is seen in every project, and would be taken for this one there.
        if one.name == store.name and store.scope == "user":
            raise UsageError(f"Another project has a store {store.name!r}", "Take another name.")
    git_dir = workspace.private.git_dir  # made where it is missing
    for key, value in (("id", store.id), ("scope", store.scope)):
        config_set(workspace.git, None, _key(workspace, store, key), value, git_dir=git_dir)


def remove_store(workspace: Workspace, store: HostedStore) -> None:
    """Forgets a store, and what was seen there; memory here and there stays."""
    scope = workspace.scope(store.scope)
    ref = store_ref(workspace, store)
    if (known := scope.repo.ref(ref)) is not None:
        move_ref(scope.repo, ref, None, known, "gitmem remote remove")
    for key in ("id", "scope", "dream", "asked"):
        config_unset(workspace.git, None, _key(workspace, store, key), git_dir=workspace.private_path)


def note_dream(
    workspace: Workspace, store: HostedStore, *, dream: str = "", asked: str = ""
) -> HostedStore:
    """Notes which hosted dream is under way, or was asked for; arguments as `HostedStore` has them."""
    for name, value in (("dream", dream), ("asked", asked)):
        key = _key(workspace, store, name)
        if value:
            config_set(workspace.git, None, key, value, git_dir=workspace.private_path)
        elif getattr(store, name):
            config_unset(workspace.git, None, key, git_dir=workspace.private_path)
    return replace(store, dream=dream, asked=asked)


def store_ref(workspace: Workspace, store: HostedStore) -> str:
    """The ref of what was last seen there, in the repository of the store's scope.

    It is the store's and not its name's, which another clone of the project may give to another store.
    """
    return f"{STORES}{_owner(workspace, store.scope)}/{store.id}"


def _owner(workspace: Workspace, scope: str) -> str:
    return "user" if scope == "user" else workspace.project_id


def _key(workspace: Workspace, store: HostedStore, what: str) -> str:
    return f"{SECTION}.{_owner(workspace, store.scope)}/{store.name}.{what}"


def last_seen(repo: Repository, ref: str) -> Seen:
    """What a store held when it was last seen."""
    oid = repo.ref(ref)
    if oid is None:
        return Seen(None, repo.commit(root_commit(repo)).tree, frozenset())
    commit = repo.commit(oid)
    return Seen(oid, commit.tree, frozenset(_LINE.findall(commit.message)), commit.committer.time)


def note_seen(
    repo: Repository,
    ref: str,
    before: Seen,
    edits: Mapping[str, bytes | None],
    marks: Iterable[str],
    now: float,
) -> Seen:
    """Moves the ref to what a store holds now.

    Args:
        edits: what is other than before: path in the scope's tree to content, None for what is gone.
        marks: of all that it holds and that is known here.

    Raises:
        RefMoved: another process saw the store meanwhile.
    """
    listed = sorted(marks)
    told = format_message(SUBJECT, Provenance(op="sync", writer="sync"))
    message = "\n".join([told, *listed, ""])
    who = replace(ROOT_SIGNATURE, time=int(now))
    with repo.together():
        tree = write_tree(repo, before.tree, {FORMAT_FILE: FORMAT_TEXT, **edits})
        if tree == before.tree and frozenset(listed) == before.marks:
            return before
        oid = repo.add_commit(tree, (before.commit or root_commit(repo),), who, who, message)
    move_ref(repo, ref, oid, before.commit, "gitmem sync: what the store holds")
    return Seen(oid, tree, frozenset(listed), who.time)


def mark(path: str, sha: str) -> str:
    """What tells a memory of a store that was seen from one that changed since.

    The content's hash is the store's, so that a memory which was seen stays known when a purge takes a text
    out of the tree that was seen; and no name of it stands in the message.

    Args:
        path: in the store.
        sha: SHA-256 of its content there.
    """
    return hashlib.sha256(f"{path}\0{sha}".encode()).hexdigest()


def path_there(path: str) -> str | None:
    """The path at which a new memory goes into a store; None for what is none, as indexes and logs.

    One in the archive goes where it would be if it were not: what is paged out is this machine's business.
    """
    hot = hot_path(path) or path
    agent, _, file = hot.partition("/")
    if kind(hot) != "memory" or not is_agent_folder(agent) or unfit(file) is not None:
        return None
    return f"/{hot}"


def places(listed: Iterable[P]) -> tuple[dict[str, P], dict[str, str]]:
    """Where the memories of a store stand here: those at the store's root are `main`'s.

    Returns:
        Path in the scope's tree to the memory, hot; and path in the store to why it has no place here.
    """
    found: dict[str, P] = {}
    passed: dict[str, str] = {}
    # One that names its agent comes before one at the root that would stand at the same place.
    for one in sorted(listed, key=lambda one: (one.path.count("/") == 1, one.path)):
        path = one.path.removeprefix("/")
        path = path if "/" in path else f"{MAIN}/{path}"
        agent, _, file = path.partition("/")
        if not one.path.startswith("/"):
            passed[one.path] = "is no path"
        elif why := check_path(path) or unfit(file):
            passed[one.path] = why
        elif not is_agent_folder(agent):
            passed[one.path] = "lies in a folder that no agent's memory has"
        elif path in found:
            passed[one.path] = f"would stand where {found[path].path} does"
        else:
            found[path] = one
    return found, passed


def standing(repo: Repository, tree: str) -> tuple[dict[str, str], dict[str, str]]:
    """The memories of a scope as a store may have them.

    Returns:
        Hot path to the path at which each stands; and path to why another can be in no store.
    """
    found: dict[str, str] = {}
    unfitting: dict[str, str] = {}
    for path in sorted(repo.files(tree), key=lambda path: (hot_path(path) is not None, path)):
        agent, _, file = path.partition("/")
        if path_there(path) is not None:
            found.setdefault(hot_path(path) or path, path)
        elif kind(path) == "memory" and is_agent_folder(agent):
            unfitting[path] = unfit(file) or ""
    return found, unfitting
