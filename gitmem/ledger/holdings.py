"""What a scope holds as of a commit: its memories by place, what they say of themselves, their ages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from typing import NamedTuple

from gitmem.core.errors import MissingObject
from gitmem.core.names import ARCHIVE, INDEX, agent_name, file_address, is_agent_folder, kind
from gitmem.git.repository import BLOB, EXECUTABLE, TREE, Repository
from gitmem.git.trees import list_files
from gitmem.ledger.catalog import CatalogEntry, MemoryCatalog
from gitmem.ledger.workspace import Scope


class Spot(NamedTuple):
    """Where a memory stands; there may be very many.

    Attributes:
        scope: `project`, `local` or `user`.
        agent: the agent's folder in the tree.
        file: path inside that folder.
        blob: object name of its content.
        commit: the commit of the memory ref that it was seen at.
    """

    scope: str
    agent: str
    file: str
    blob: str
    commit: str

    @property
    def path(self) -> str:
        """Its path in the tree."""
        return f"{self.agent}/{self.file}"

    @property
    def stem(self) -> str:
        """Its file's name without the ending."""
        return stem_of(self.file)

    @property
    def address(self) -> str:
        """What names it and nothing else: `scope/agent/file`, without the file's ending."""
        return f"{self.scope}/{self.agent}/{file_address(self.file)}"


def stem_of(file: str) -> str:
    return file.rpartition("/")[2].removesuffix(".md")


def chosen_agent(agent: str | None) -> str | None:
    """The folder of the agent that was named; a folder's own name is taken as it is."""
    if not agent:
        return None
    return agent if "^" in agent else agent_name(agent)


def memory_files(
    repo: Repository,
    commit: str,
    agent: str | None = None,
    *,
    archived: bool = True,
    logs: bool = False,
) -> dict[str, dict[str, str]]:
    """Memories by their place alone, none of them opened: agent's folder to file to blob.

    Args:
        agent: one agent's folder; None for all of them.
        archived: also those that were paged out; without them the archive is not entered.
        logs: also daily logs.

    Raises:
        MissingObject: the commit or a folder cannot be read.
    """
    found: dict[str, dict[str, str]] = {}
    wanted = ("memory", "log") if logs else ("memory",)
    for name, folder in agent_trees(repo, commit, agent):
        # The archive has hundreds of folders, which one process lists quicker than one question each.
        files = repo.files(folder) if archived else list_files(repo, folder, without={ARCHIVE})
        found[name] = {file: files[file] for file in sorted(files, key=_by_folder) if kind(file) in wanted}
    return found


def agent_trees(repo: Repository, commit: str, agent: str | None = None) -> Iterator[tuple[str, str]]:
    """Yields the agents' folders of a memory tree, each with its own tree, in the order of their names.

    Args:
        agent: one agent's folder; None for all of them.
    """
    for name, entry in sorted(repo.tree(repo.commit(commit).tree).items()):
        if entry.mode == TREE and not name.startswith(".") and agent in (None, name):
            yield name, entry.oid


def keeps_logs(repo: Repository, commit: str, agent: str | None = None) -> bool:
    """Whether an agent has a folder of daily logs; nothing below it is looked at.

    Args:
        agent: one agent's folder; None for all of them.
    """
    return any("logs" in repo.tree(folder) for _, folder in agent_trees(repo, commit, agent))


def memories(
    scope: Scope,
    commit: str,
    agent: str | None = None,
    *,
    archived: bool = True,
    checked: bool = False,
    missed: dict[str, str] | None = None,
) -> dict[str, list[CatalogEntry]]:
    """The same with what their frontmatter says: agent's folder to memories by path.

    Args:
        checked: whether `Head.problems` is wanted.
        missed: gets folders that cannot be read, and why; else these raise.
    """
    repo = scope.repo
    found: dict[str, list[CatalogEntry]] = {}
    with closing(scope.catalog()) as catalog:
        for name, folder in agent_trees(repo, commit, agent):
            try:
                found[name] = _of_agent(catalog, repo, folder, archived, checked)
            except MissingObject as error:
                if missed is None:
                    raise
                missed[f"{name}/"] = error.message
    return found


def taught(scope: Scope, commit: str, agent: str, *, archived: bool = False) -> dict[str, int]:
    """When each memory of one agent was last taught, as of a commit: file to seconds since the epoch.

    Args:
        agent: the agent's folder in the tree.
        archived: also those that were paged out.
    """
    files = memory_files(scope.repo, commit, agent, archived=archived).get(agent, {})
    paths = {f"{agent}/{file}": oid for file, oid in files.items()}
    with closing(scope.catalog()) as catalog:
        times = catalog.times(scope.repo, scope.ref, commit, paths)
    return {path.removeprefix(f"{agent}/"): time for path, time in times.items()}


def index_as_loaded(scope: Scope, commit: str, agent: str, text: str) -> str:
    """An index as a client would load it; only one that has to be cut asks for the ages of its memories.

    Args:
        text: the complete index of the agent, as of the commit.
    """
    from gitmem.core import index

    if index.as_loaded(text) == text:
        return text
    return index.as_loaded(text, taught(scope, commit, agent))


def disputed_indexes(repo: Repository, commit: str) -> dict[str, str]:
    """The indexes that may hold a disputed line: path to blob; without what cannot be read."""
    from gitmem.core.claim import DISPUTED_BYTES  # a list of memories reads no claim

    found: dict[str, str] = {}
    for agent, folder in agent_trees(repo, commit):
        if is_agent_folder(agent):
            with suppress(MissingObject):
                entry = repo.entry(folder, INDEX)
                if entry and entry.mode in (BLOB, EXECUTABLE) and DISPUTED_BYTES in repo.blob(entry.oid):
                    found[f"{agent}/{INDEX}"] = entry.oid
    return found


def _of_agent(
    catalog: MemoryCatalog, repo: Repository, tree: str, archived: bool, checked: bool
) -> list[CatalogEntry]:
    files = list_files(repo, tree, without={ARCHIVE})
    archive = repo.entry(tree, ARCHIVE) if archived else None
    if archive and archive.mode == TREE:
        # It has hundreds of folders, which one process lists quicker than one question each.
        files |= {f"{ARCHIVE}/{file}": oid for file, oid in repo.files(archive.oid).items()}
    kept = [(file, files[file]) for file in sorted(files, key=_by_folder) if kind(file) == "memory"]
    known = catalog.heads(repo, {oid for _, oid in kept}, checked=checked)
    return [CatalogEntry(file, oid, known.get(oid)) for file, oid in kept]


def _by_folder(file: str) -> str:
    return file.replace("/", "\0")
