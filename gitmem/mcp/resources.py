"""Memory as resources: `gitmem://<scope>/<agent>/<file>`, the index of each agent and its memories.

With `?at=`, as of then. Listed is what is hot; what was paged out to the archive is read by its address.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from gitmem.core.errors import MissingObject, RepositoryError, UsageError
from gitmem.core.names import INDEX, hot_file, is_agent_folder, is_memory_file
from gitmem.core.text import decode, fence_for_model, one_line
from gitmem.git.repository import BLOB, EXECUTABLE
from gitmem.git.trees import read_file
from gitmem.ledger.holdings import index_as_loaded, memories
from gitmem.ledger.land import memory_commit
from gitmem.ledger.moments import resolve_at
from gitmem.ledger.signatures import unproved
from gitmem.ledger.taint import told
from gitmem.ledger.taint_note import read_tainted
from gitmem.ledger.workspace import SCOPES, Scope
from gitmem.mcp.call import SHOWN_BYTES, SHOWN_LINES, Call
from gitmem.rules.paths import check_path
from gitmem.search.recall import capped, plain_place

SCHEME = "gitmem"
TYPE = "text/markdown"
PAGE = 100
"""Resources of one page."""

_PAGED = re.compile(r"archive/(?:[0-9a-f]{2}/)?[^/]+\.md")

TEMPLATES = (
    ("index", f"{SCHEME}://{{scope}}/{{agent}}/{INDEX}{{?at}}", "One line on each memory of an agent."),
    ("memory", f"{SCHEME}://{{scope}}/{{agent}}/{{+file}}{{?at}}", "One memory, now or as of then."),
)


@dataclass(frozen=True)
class ListedResource:
    """One resource of a list."""

    uri: str
    name: str
    description: str


@dataclass(frozen=True)
class ListPage:
    """A part of a list.

    Attributes:
        after: cursor of the next part; None at the end.
    """

    listed: tuple[ListedResource, ...]
    after: str | None


def page(call: Call, cursor: str | None) -> ListPage:
    """Lists indexes and hot memories by address.

    Args:
        cursor: the address after which to go on, as the page before gave it; what came or went meanwhile
            shifts nothing.
    """
    start = _order(cursor) if cursor is not None else ("", "", "")
    found: list[ListedResource] = []
    for key, one in _all(call):
        if key <= start:
            continue
        if len(found) == PAGE:
            return ListPage(tuple(found), found[-1].uri)
        found.append(one)
    return ListPage(tuple(found), None)


def read(call: Call, uri: str) -> str:
    """Gives the text of a resource, fenced as data.

    Raises:
        UsageError: it is no address of a memory, or there is none.
    """
    scope, agent, file, at = _parts(uri)
    where = call.workspace.scope(scope)
    path = f"{agent}/{file}"
    if at:
        commit: str | None = resolve_at(call.workspace, where, at, call.edges.now)
    else:
        commit = memory_commit(where.repo, where.ref)
    data = read_file(where.repo, where.repo.commit(commit).tree, path) if commit else None
    if data is None or commit is None:
        raise UsageError(f"There is no memory at {plain_place(f'{scope}/{path}')}", "List the resources.")
    hidden = False
    if scope == "project":
        try:
            kept = told(call.workspace, path, data, commit)
        except MissingObject:
            kept = b""
        hidden, data = kept != data, kept
    text = decode(data)
    if file == INDEX:
        text = index_as_loaded(where, commit, agent, text)
    facts = [f"as of {commit[:12]}"] if at else []
    facts += ["something of it is not shown: a secret, or not signed as required"] if hidden else []
    place = plain_place(f"{scope}/{path}")
    source = f"{place} ({'; '.join(facts)})" if facts else place
    return fence_for_model(capped(text, SHOWN_LINES, SHOWN_BYTES), source=source)


def _all(call: Call) -> Iterator[tuple[tuple[str, str, str], ListedResource]]:
    for scope in sorted(call.workspace.scopes, key=lambda scope: scope.name):
        try:
            commit = memory_commit(scope.repo, scope.ref)
            if commit is not None:
                yield from _of_scope(call, scope, commit)
        except RepositoryError:
            # One that cannot be read hides no other; a tool that is asked about it says what is wrong.
            continue


def _of_scope(
    call: Call, scope: Scope, commit: str
) -> Iterator[tuple[tuple[str, str, str], ListedResource]]:
    repo, tree = scope.repo, scope.repo.commit(commit).tree
    hides = _hidden(call, scope)
    for agent, some in sorted(memories(scope, commit, archived=False, missed={}).items()):
        if not is_agent_folder(agent):
            continue
        rows: dict[str, ListedResource] = {}
        entry = repo.entry(tree, f"{agent}/{INDEX}")
        if entry is not None and entry.mode in (BLOB, EXECUTABLE):
            about = f"Index of {scope.name} memory of {agent}: one line each."
            rows[""] = ListedResource(_uri(scope.name, agent, INDEX), f"{scope.name}/{agent} index", about)
        mine = {kept.file: kept.blob for kept in some} if scope.name == "project" else {}
        left_out = unproved(
            call.workspace, {f"{agent}/{file}": blob for file, blob in mine.items()}, commit
        )
        for kept in some:
            if kept.head is None or check_path(kept.file) is not None:
                continue
            name, about = kept.head.name, kept.head.description
            if f"{agent}/{kept.file}" in left_out:
                continue
            if kept.blob in hides:
                name, about = "", ""
            name = name or kept.file.removesuffix(".md")
            rows[kept.file] = ListedResource(
                _uri(scope.name, agent, kept.file), one_line(name, 100), one_line(about, 300)
            )
        for file in sorted(rows):
            yield (scope.name, agent, file), rows[file]


def _hidden(call: Call, scope: Scope) -> frozenset[str]:
    """Blobs that came with a secret: not even their name is listed."""
    if scope.name != "project":
        return frozenset()
    tainted, allow = read_tainted(scope.state), call.workspace.allowed
    return frozenset(blob for blob in tainted.blobs if tainted.hides(blob, allow))


def _uri(scope: str, agent: str, file: str) -> str:
    return f"{SCHEME}://{scope}/{quote(agent, safe='^')}/{quote(file, safe='/')}"


def _order(uri: str) -> tuple[str, str, str]:
    """Where an address stands in the list; an index comes before the memories."""
    scope, agent, file, _ = _parts(uri)
    return scope, agent, "" if file == INDEX else file


def _parts(uri: str) -> tuple[str, str, str, str]:
    """Scope, agent's folder, file and `at` of an address that a client gives.

    Raises:
        UsageError: it is none.
    """
    trouble = UsageError(
        f"{one_line(uri, 120)!a} is no address of a memory", f"Give {SCHEME}://scope/agent/file.md"
    )
    try:
        split = urlsplit(uri)
        pairs = parse_qsl(split.query, keep_blank_values=True, strict_parsing=True) if split.query else []
        folder, _, rest = split.path.removeprefix("/").partition("/")
        agent, file = (unquote(part, errors="strict") for part in (folder, rest))
    except ValueError:
        raise trouble from None
    scope, query = split.netloc, dict(pairs)
    sound = check_path(f"{agent}/{file}") is None and is_agent_folder(agent)
    if split.scheme != SCHEME or scope not in SCOPES or not sound or split.fragment or set(query) - {"at"}:
        raise trouble
    if file != INDEX and not is_memory_file(hot_file(file)) and not _PAGED.fullmatch(file):
        raise trouble
    if "at" in query and not query["at"].strip():
        raise trouble
    return scope, agent, file, query.get("at", "")
