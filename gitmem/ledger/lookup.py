"""Finding memories by name, over the scopes and agents that apply, now or as of then."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from gitmem.core.errors import MissingObject, RepositoryError, UsageError
from gitmem.core.names import ARCHIVE, INDEX, file_address, is_archived, kind
from gitmem.git.objects import MISSING_HINT
from gitmem.git.trees import list_files
from gitmem.ledger.catalog import CatalogEntry
from gitmem.ledger.holdings import Spot, agent_trees, chosen_agent, memories, stem_of
from gitmem.ledger.land import memory_commit
from gitmem.ledger.taint import read_tainted
from gitmem.ledger.workspace import SCOPES, Scope, Workspace
from gitmem.values import dataclass

if TYPE_CHECKING:
    from gitmem.core.memory import Memory
    from gitmem.git.repository import Repository

MOST_LISTED = 10
"""Matches of an ambiguous name that are listed."""

LOG_HINT = "A daily log is no memory. To forget a line of one: git mem forget --claim TEXT"

_DAY = re.compile(r"(?:.+/)?(\d{4}-\d\d-\d\d)(?:\.md)?")


class Ambiguous(UsageError):
    """Several memories have the name that was given."""

    kind = "ambiguous"


class ListedMemory(NamedTuple):
    """What a list says of a memory; there may be very many.

    Attributes:
        scope, agent, file: as those of a `Spot`.
        name: its file's, where it has none.
        time: when it was last taught, seconds since the epoch; 0 where that is unknown.
        secret: whether it came with a secret, which is not shown.
        code: commit of the code that it was taught on; empty where nobody said.
        otherwise: other descriptions that it may have, where its description is disputed.
    """

    scope: str
    agent: str
    file: str
    name: str
    description: str
    type: str
    time: int
    secret: bool = False
    code: str = ""
    otherwise: tuple[str, ...] = ()


class _Held(NamedTuple):
    """What an agent has in a scope, as of a commit; all of it can be read."""

    scope: Scope
    commit: str
    agent: str
    memories: list[CatalogEntry]

    def spot(self, memory: CatalogEntry) -> Spot:
        return Spot(self.scope.name, self.agent, memory.file, memory.blob, self.commit)


@dataclass(frozen=True)
class FoundMemory:
    """One memory, or daily log, where it stands, opened; attributes as those of a `Spot`."""

    scope: str
    agent: str
    file: str
    memory: Memory
    blob: str
    commit: str

    @property
    def spot(self) -> Spot:
        """The same without its content."""
        return Spot(self.scope, self.agent, self.file, self.blob, self.commit)

    @property
    def path(self) -> str:
        """Its path in the tree."""
        return self.spot.path

    @property
    def archived(self) -> bool:
        """Whether it was paged out."""
        return is_archived(self.file)

    @property
    def is_log(self) -> bool:
        """Whether it is a daily log, and no memory."""
        return kind(self.file) == "log"

    @property
    def address(self) -> str:
        """What names it and nothing else: `scope/agent/file`, without the file's ending."""
        return self.spot.address


def chosen_scopes(workspace: Workspace, scope: str | None = None) -> tuple[Scope, ...]:
    """The scope that was named, else all.

    Raises:
        UsageError: there is no such scope.
    """
    return (workspace.scope(scope),) if scope else workspace.scopes


def find(
    workspace: Workspace,
    name: str,
    scope: str | None = None,
    agent: str | None = None,
    at: str | None = None,
    now: float | None = None,
    *,
    whole: bool = False,
    logs: bool = False,
) -> FoundMemory:
    """Finds one memory by its name, its file, or the beginning of either that no other has.

    Args:
        name: may be led by scope and agent: `reviewer/ports`, `project/reviewer/ports`; or a path inside
            an agent's folder, led by them likewise: `topics/deep`, `reviewer/topics/deep`. Led by both, or
            a file's name of an agent, it is an address: of that file, and never of a namesake.
        scope: narrows the search.
        agent: narrows it too; an agent's name or its folder's.
        at: revision, date or tag (see `moments.resolve_at`); None is the present.
        now: seconds since the epoch, for relative dates.
        whole: the beginning of a name is no name.
        logs: a daily log may be named as well, by its path, or by its date where no memory is called so.

    Raises:
        UsageError: an unknown scope, `at` means nothing, or none has that name; close ones are named.
        Ambiguous: several have it; they are listed.
        MissingObject: none that can be read has it, and some cannot be read.
    """
    day = _DAY.fullmatch(name.strip())
    missed: dict[str, str] = {}
    meanings = readings(name, scope, agent)
    for read in meanings:
        known = _held(workspace, read.scope, read.agent, at, now, missed=missed)
        matches = _matching(known, read, whole=whole or (logs and day is not None))
        if matches:
            break
    if logs and day and not matches:
        matches = _logs_named(workspace, meanings, at, now) or _matching(known, read, whole=whole)
    if len(matches) == 1:
        return opened(workspace, matches[0])
    if matches:
        listed = [spot.address for spot in matches[:MOST_LISTED]]
        more = f" and {len(matches) - MOST_LISTED} more" if len(matches) > MOST_LISTED else ""
        what = "logs" if kind(matches[0].file) == "log" else "memories"
        raise Ambiguous(
            f"{name!r} names {len(matches)} {what}: {', '.join(listed)}{more}",
            "Say which: give it as scope/agent/name, or narrow with --scope and --agent.",
        )
    if missed:
        lost = "; ".join(f"{path}: {why}" for path, why in missed.items())
        raise MissingObject(f"{name!r} is not among what can be read. {lost}", MISSING_HINT)
    if logs and day:
        where = _where(scope, agent, at)
        raise UsageError(f"There is no daily log of {day[1]}{where}", "See the logs: git mem list --logs")
    hint = LOG_HINT if day else _close(known, name, at)
    raise UsageError(f"There is no memory named {name!r}{_where(scope, agent, at)}", hint)


def find_all(
    workspace: Workspace, name: str, scope: str | None = None, agent: str | None = None
) -> tuple[FoundMemory, ...]:
    """All memories of a name, in all scopes and agents, also archived ones; arguments as for `find`.

    Raises:
        UsageError: there is none.
    """
    for read in readings(name, scope, agent):
        known = _held(workspace, read.scope, read.agent, None, None)
        # A file of that name among one agent's is the one that is meant, but not all of that name.
        wide = read if read.led else read._replace(agent=None)
        if matches := _matching(known, wide, whole=True):
            return tuple(opened(workspace, spot) for spot in matches)
    return (find(workspace, name, scope, agent, whole=True),)


def opened(workspace: Workspace, spot: Spot) -> FoundMemory:
    """A memory or log that stands there, with what it says."""
    from gitmem.core.memory import parse

    memory = parse(spot.file, workspace.scope(spot.scope).repo.blob(spot.blob))
    return FoundMemory(spot.scope, spot.agent, spot.file, memory, spot.blob, spot.commit)


def find_index(
    workspace: Workspace,
    name: str,
    scope: str | None = None,
    agent: str | None = None,
    at: str | None = None,
    now: float | None = None,
) -> Spot:
    """Finds the index of one agent; arguments as for `find`.

    Raises:
        UsageError: an unknown scope, `at` means nothing, or no such agent has an index.
        Ambiguous: several have one; they are listed.
    """
    read, spots = readings(name, scope, agent)[0], []
    for one in _held(workspace, read.scope, read.agent, at, now, archived=False):
        repo = one.scope.repo
        entry = repo.entry(repo.commit(one.commit).tree, f"{one.agent}/{INDEX}")
        if entry is not None:
            spots.append(Spot(one.scope.name, one.agent, INDEX, entry.oid, one.commit))
    if len(spots) > 1:
        listed = ", ".join(f"{spot.scope}/{spot.path}" for spot in spots[:MOST_LISTED])
        raise Ambiguous(
            f"{len(spots)} agents have an index: {listed}",
            "Say which: give it as scope/agent/MEMORY.md, or narrow with --scope and --agent.",
        )
    if not spots:
        raise UsageError(f"There is no index{_where(scope, agent, at)}", "See the memories: git mem list")
    return spots[0]


def headers(
    workspace: Workspace,
    scope: str | None = None,
    agent: str | None = None,
    *,
    at: str | None = None,
    archived: bool = False,
    now: float | None = None,
    missed: dict[str, str] | None = None,
) -> tuple[ListedMemory, ...]:
    """One line about each memory, by scope, agent and file; arguments as for `find`.

    Args:
        archived: also those that were paged out.
        missed: gets what cannot be read (scope, or scope and path), and why.

    Raises:
        RepositoryError: a scope or folder cannot be read, without `missed`.
    """
    found: list[ListedMemory] = []
    for one in _held(workspace, scope, agent, at, now, archived=archived, missed=missed):
        where, commit, name, some = one
        prefix = f"{name}/"
        files = {prefix + file: blob for file, blob, _ in some}
        with closing(where.catalog()) as catalog:
            lessons = catalog.lessons(where.repo, where.ref, commit, files)
        known = {file: lessons.get(prefix + file, (0, "")) for file, _, _ in some}
        listed = [
            ListedMemory(
                where.name,
                name,
                file,
                head.name or stem_of(file),
                head.description,
                head.type,
                known[file][0],
                code=known[file][1],
                otherwise=_otherwise(where.repo, blob) if head.disputed else (),
            )
            for file, blob, head in some
            if head
        ]
        found += _without_secrets(workspace, where, listed, files) if where.name == "project" else listed
    return tuple(found)


def _otherwise(repo: Repository, blob: str) -> tuple[str, ...]:
    """Descriptions that lost a merge."""
    from gitmem.core.memory import parse, without_lost  # few memories are disputed

    return without_lost(parse("", repo.blob(blob)))[1].get("description", ())


def _without_secrets(
    workspace: Workspace, scope: Scope, listed: list[ListedMemory], blobs: Mapping[str, str]
) -> list[ListedMemory]:
    """The same, of what came with a secret only that it did."""
    tainted = read_tainted(scope.state)
    if not tainted.blobs:
        return listed
    allow = workspace.allowed
    return [
        one._replace(secret=True, otherwise=(), description="", name=stem_of(one.file))
        if tainted.hides(blobs[f"{one.agent}/{one.file}"], allow)
        else one
        for one in listed
    ]


def bare_indexes(
    workspace: Workspace, found: Sequence[ListedMemory], scope: str | None = None, agent: str | None = None
) -> tuple[str, ...]:
    """Agents that have an index and nothing else: what stands there is memory, too.

    Args:
        found: what `headers` gave.
        scope, agent: as for `find`.

    Returns:
        `scope/agent` of each, in order.
    """
    listed = {(one.scope, one.agent) for one in found}
    bare = []
    for where in chosen_scopes(workspace, scope):
        tip = memory_commit(where.repo, where.ref)
        for name, folder in agent_trees(where.repo, tip, chosen_agent(agent)) if tip else ():
            files = where.repo.tree(folder) if (where.name, name) not in listed else {}
            if INDEX in files and ARCHIVE not in files and where.repo.blob(files[INDEX].oid).strip():
                bare.append(f"{where.name}/{name}")
    return tuple(bare)


def age(workspace: Workspace, spot: Spot) -> int:
    """When one memory was last taught, seconds since the epoch; 0 where that is unknown."""
    scope = workspace.scope(spot.scope)
    files = {spot.path: spot.blob}
    with closing(scope.catalog()) as catalog:
        return catalog.times(scope.repo, scope.ref, spot.commit, files).get(spot.path, 0)


def _held(
    workspace: Workspace,
    scope: str | None,
    agent: str | None,
    at: str | None,
    now: float | None,
    *,
    archived: bool = True,
    missed: dict[str, str] | None = None,
) -> list[_Held]:
    """All memories that apply, by scope and agent; what cannot be read is told, or raises."""
    scopes = chosen_scopes(workspace, scope)
    folder = chosen_agent(agent)
    past: dict[str, str] | None = None
    if at:
        from gitmem.ledger.moments import resolve_all  # a look at the present needs no history

        past = resolve_all(workspace, scopes, at, now)
    found: list[_Held] = []
    for where in scopes:
        unread: dict[str, str] | None = None if missed is None else {}
        try:
            commit = past.get(where.ref) if past is not None else memory_commit(where.repo, where.ref)
            if not commit:
                continue
            known = memories(where, commit, folder, archived=archived, missed=unread)
        except RepositoryError as error:
            if missed is None:
                raise
            missed[where.name] = error.message
            continue
        for name, some in known.items():
            found.append(_Held(where, commit, name, [kept for kept in some if kept.head]))
            if unread is not None:
                unread |= {
                    f"{name}/{file}": f"object {blob} is missing or damaged"
                    for file, blob, head in some
                    if head is None
                }
        if missed is not None:
            missed |= {f"{where.name}/{path}": why for path, why in (unread or {}).items()}
    return found


def daily_logs(
    workspace: Workspace,
    scope: str | None = None,
    agent: str | None = None,
    at: str | None = None,
    now: float | None = None,
    *,
    archived: bool = True,
) -> Iterator[Spot]:
    """Yields daily logs by scope, agent and day, hot ones first; nothing of them is opened.

    Args:
        scope, agent, at, now: as for `find`.
        archived: also those that were aged out.
    """
    from gitmem.ledger.moments import commits_at  # most scopes keep no log

    for where, commit in commits_at(workspace, scope, at, now):
        for name, folder in agent_trees(where.repo, commit, chosen_agent(agent)):
            for under in ("logs", f"{ARCHIVE}/logs") if archived else ("logs",):
                for file, oid in sorted(list_files(where.repo, folder, under).items()):
                    if kind(file) == "log":
                        yield Spot(where.name, name, file, oid, commit)


def _logs_named(
    workspace: Workspace, meanings: Sequence[NameReading], at: str | None, now: float | None
) -> list[Spot]:
    """The daily logs that a name means, by their date or by their path; the hot one where a day has two."""
    found: dict[str, Spot] = {}
    for read in meanings:
        sought = read.name.removesuffix(".md").removeprefix(f"{ARCHIVE}/")
        for spot in daily_logs(workspace, read.scope, read.agent, at, now):
            if sought in (spot.stem, spot.file.removesuffix(".md").removeprefix(f"{ARCHIVE}/")):
                found.setdefault(spot.address, spot)
    return list(found.values())


class NameReading(NamedTuple):
    """What a name may mean: a memory's name or path, of an agent and scope as far as these are said.

    Attributes:
        led: the name itself said the agent: a file in another folder of that agent is not meant.
        address: it said the scope as well: nothing but that file is meant.
    """

    scope: str | None
    agent: str | None
    name: str
    led: bool = False
    address: bool = False


def readings(name: str, scope: str | None, agent: str | None) -> list[NameReading]:
    """What a name may mean, the likeliest first; a scope and agent given besides hold for each."""
    parts = name.strip().split("/")
    led = parts[:1] if len(parts) > 1 and parts[0] in SCOPES else []
    if not all(parts) or (scope and led and led != [scope]):
        raise UsageError(f"{name!r} is no name of a memory{_where(scope, None, None)}", "See: git mem list")
    scope, rest = next(iter(led), scope), parts[len(led) :]
    inside = NameReading(scope, agent, "/".join(rest))
    if len(rest) == 1:
        return [inside]
    address = NameReading(scope, rest[0], "/".join(rest[1:]), led=True, address=bool(led))
    if agent:
        return [inside, address] if chosen_agent(agent) == chosen_agent(rest[0]) else [inside]
    return [address] if led else [address, inside]


def _matching(known: Sequence[_Held], read: NameReading, *, whole: bool) -> list[Spot]:
    sought = read.name.casefold()
    bare = sought.removesuffix(".md")
    named = [
        (held, memory, stem_of(memory.file).casefold(), memory.head.name.casefold())
        for held in known
        for memory in held.memories
        if memory.head
    ]
    filed = [
        held.spot(memory) for held, memory, _, _ in named if file_address(memory.file).casefold() == bare
    ]
    if "/" in bare or read.address or (read.agent and (filed or bare != sought)):
        return [one for one in filed if file_address(one.file) == read.name.removesuffix(".md")] or filed
    exact = [
        held.spot(memory)
        for held, memory, stem, title in named
        if not (read.led and stem == bare) and (bare in (stem, title) or sought in (stem, title))
    ]
    if exact or whole or not bare:
        return exact
    return [
        held.spot(memory)
        for held, memory, stem, title in named
        if stem.startswith(bare) or title.startswith(bare)
    ]


def _where(scope: str | None, agent: str | None, at: str | None) -> str:
    parts = [f" in {scope}" if scope else "", f" of {agent}" if agent else "", f" as of {at}" if at else ""]
    return "".join(parts)


def _close(known: Sequence[_Held], name: str, at: str | None) -> str:
    """What may have been meant: as addresses where the name that was given was led by something."""
    import shlex
    from difflib import get_close_matches

    names: dict[str, str] = {}
    for held in known:
        for memory in held.memories:
            stem = stem_of(memory.file)
            title = (memory.head and memory.head.name) or stem
            shown = held.spot(memory).address if "/" in name else title
            names |= {title.casefold(): shown, stem.casefold(): shown}
    sought = name.rpartition("/")[2].removesuffix(".md").casefold()
    begun = [each for each in names if sought and each.startswith(sought)]
    like = [*begun[:3], *get_close_matches(sought, names, 3, 0.6)]
    close = dict.fromkeys(names[each] for each in like)
    then = f" --at {shlex.quote(at)}" if at else ""
    return f"Did you mean: {', '.join(close)}?" if close else f"See all: git mem list -a{then}"
