"""Finding memories by name, over the scopes and agents that apply, now or as of then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import PurePosixPath

from gitmem.errors import UsageError
from gitmem.memory.change import Header
from gitmem.memory.memory import Memory, parse
from gitmem.memory.merge import kind
from gitmem.memory.names import agent_name
from gitmem.store.history import author_times, resolve_all
from gitmem.store.repository import TREE, MissingObject
from gitmem.store.trees import list_files
from gitmem.store.workspace import SCOPES, Scope, Workspace

MOST_LISTED = 10
"""Matches of an ambiguous name that are listed."""


class Ambiguous(UsageError):
    """Several memories have the name that was given."""

    kind = "ambiguous"


@dataclass(frozen=True)
class Found:
    """One memory where it stands.

    Attributes:
        scope: `project`, `local` or `user`.
        agent: the agent's folder in the tree.
        file: path inside that folder.
        blob: object name of its content.
        commit: the commit of the memory ref that it was read at.
    """

    scope: str
    agent: str
    file: str
    memory: Memory
    blob: str
    commit: str

    @property
    def path(self) -> str:
        """Its path in the tree."""
        return f"{self.agent}/{self.file}"

    @property
    def archived(self) -> bool:
        """Whether it was paged out."""
        return self.file.startswith("archive/")

    @cached_property
    def address(self) -> str:
        """What names it and nothing else: `scope/agent/file stem`."""
        return f"{self.scope}/{self.agent}/{PurePosixPath(self.file).stem}"


def chosen_scopes(workspace: Workspace, scope: str | None = None) -> tuple[Scope, ...]:
    """The scope that was named, else all.

    Raises:
        UsageError: there is no such scope.
    """
    return (workspace.scope(scope),) if scope else workspace.scopes


def chosen_agent(agent: str | None) -> str | None:
    """The folder of the agent that was named; a folder's own name is taken as it is."""
    if not agent:
        return None
    return agent if "^" in agent else agent_name(agent)


def every(
    workspace: Workspace,
    scope: str | None = None,
    agent: str | None = None,
    at: str | None = None,
    now: float | None = None,
) -> tuple[Found, ...]:
    """Reads all memories that apply, archived ones too, by scope, agent and file.

    Args:
        scope, agent: narrow the search; `agent` is a name or a folder's.
        at: revision, date or tag (see `history.resolve_at`); None is the present.
        now: seconds since the epoch, for relative dates.

    Raises:
        UsageError: an unknown scope, or `at` means nothing.
    """
    scopes = chosen_scopes(workspace, scope)
    folder = chosen_agent(agent)
    past = resolve_all(workspace, scopes, at, now) if at else None
    found: list[Found] = []
    for where in scopes:
        commit = where.repo.ref(where.ref) if past is None else past.get(where.ref)
        if commit:
            found += _of_scope(where, commit, folder)
    return tuple(found)


def find(
    workspace: Workspace,
    name: str,
    scope: str | None = None,
    agent: str | None = None,
    at: str | None = None,
    now: float | None = None,
) -> Found:
    """Finds one memory by its name, its file, or the beginning of either that no other has.

    Args:
        name: may be led by scope and agent: `reviewer/ports`, `project/reviewer/ports`.
        scope, agent, at, now: as for `every`.

    Raises:
        UsageError: none has that name; close ones are named.
        Ambiguous: several have it; they are listed.
    """
    named_scope, named_agent, bare = _parts(name)
    known = every(workspace, scope or named_scope, agent or named_agent, at, now)
    matches = _matching(known, bare)
    if len(matches) == 1:
        return matches[0]
    if matches:
        listed = [found.address for found in matches[:MOST_LISTED]]
        more = f" and {len(matches) - MOST_LISTED} more" if len(matches) > MOST_LISTED else ""
        raise Ambiguous(
            f"{name!r} names {len(matches)} memories: {', '.join(listed)}{more}",
            "Say which: give it as scope/agent/name, or narrow with --scope and --agent.",
        )
    raise UsageError(f"There is no memory named {name!r}{_where(scope, agent, at)}", _close(known, bare))


def headers(
    workspace: Workspace,
    scope: str | None = None,
    agent: str | None = None,
    *,
    at: str | None = None,
    archived: bool = False,
    now: float | None = None,
) -> tuple[Header, ...]:
    """One line about each memory: the manifest that engines and people choose from.

    Args:
        archived: also those that were paged out.
    """
    found = [entry for entry in every(workspace, scope, agent, at, now) if archived or not entry.archived]
    times = ages(workspace, found)
    return tuple(
        Header(
            entry.scope,
            entry.agent,
            entry.file,
            entry.memory.name,
            entry.memory.description,
            entry.memory.type,
            times.get((entry.scope, entry.path), 0),
        )
        for entry in found
    )


def ages(workspace: Workspace, found: Iterable[Found]) -> dict[tuple[str, str], int]:
    """When memories were last taught: (scope, path) to seconds since the epoch; unknown ones are absent."""
    times: dict[tuple[str, str], int] = {}
    for scope, agent, commit in dict.fromkeys((entry.scope, entry.agent, entry.commit) for entry in found):
        for file, time in author_times(workspace.scope(scope).repo, commit, agent).items():
            times[scope, f"{agent}/{file}"] = time
    return times


def _of_scope(scope: Scope, commit: str, folder: str | None) -> Iterator[Found]:
    repo = scope.repo
    tree = repo.commit(commit).tree
    for agent, entry in sorted(repo.tree(tree).items()):
        if entry.mode != TREE or agent.startswith(".") or folder not in (None, agent):
            continue
        for file, oid in list_files(repo, entry.oid).items():
            if kind(file) == "memory":
                try:
                    yield Found(scope.name, agent, file, parse(file, repo.blob(oid)), oid, commit)
                except MissingObject:
                    continue


def _parts(name: str) -> tuple[str | None, str | None, str]:
    parts = name.strip().split("/")
    if len(parts) > 3 or not all(parts):
        raise UsageError(f"{name!r} is no name of a memory", "See the names: git mem list")
    scope = parts[0] if len(parts) == 3 else None
    if scope is None and len(parts) == 2 and parts[0] in SCOPES:
        return parts[0], None, parts[1]
    return scope, parts[-2] if len(parts) > 1 else None, parts[-1]


def _names(found: Found) -> tuple[str, str]:
    return found.memory.name.casefold(), PurePosixPath(found.file).stem.casefold()


def _matching(known: tuple[Found, ...], name: str) -> list[Found]:
    sought = name.casefold().removesuffix(".md")
    exact = [found for found in known if sought in _names(found) or name.casefold() in _names(found)]
    return exact or [
        found for found in known if sought and any(each.startswith(sought) for each in _names(found))
    ]


def _where(scope: str | None, agent: str | None, at: str | None) -> str:
    parts = [f" in {scope}" if scope else "", f" of {agent}" if agent else "", f" as of {at}" if at else ""]
    return "".join(parts)


def _close(known: tuple[Found, ...], name: str) -> str:
    names = {each: found.memory.name for found in known for each in _names(found)}
    close = dict.fromkeys(names[each] for each in get_close_matches(name.casefold(), names, 3, 0.6))
    return f"Did you mean: {', '.join(close)}?" if close else "See all: git mem list -a"
