"""What a memory ref gets when a memory became a rule, and when it is one no more: commits as values."""

from __future__ import annotations

from gitmem.core.account import reference
from gitmem.core.memory import Memory, parse
from gitmem.core.names import archived_path, hot_path, is_agent_folder
from gitmem.core.pointer import pointers, rule_file, with_pointer, without_pointer
from gitmem.core.trailers import Fate, Provenance
from gitmem.git.repository import Repository
from gitmem.ledger.indexes import with_indexes
from gitmem.ledger.land import Tip, Write, memory_commit
from gitmem.ledger.paging import standing
from gitmem.ledger.workspace import SCOPES, Workspace
from gitmem.values import dataclass

EVERYWHERE = "user"
"""The scope that other projects read, too: what is a rule in one of them stays hot for the others."""


@dataclass(frozen=True)
class Place:
    """Where a memory stands.

    Attributes:
        file: inside the agent's folder, the archive's path where it was paged out.
    """

    scope: str
    agent: str
    file: str
    memory: Memory

    @property
    def home(self) -> str:
        """Its file where it is hot."""
        hot = hot_path(f"{self.agent}/{self.file}")
        return hot.partition("/")[2] if hot else self.file

    @property
    def address(self) -> str:
        """`scope/agent/file stem`."""
        return f"{self.scope}/{self.agent}/{self.home.removesuffix('.md')}"

    @property
    def is_hot(self) -> bool:
        """Whether the agent sees it."""
        return self.home == self.file

    def is_settled(self, file: str) -> bool:
        """Whether it points to a file's rule, and stands where a memory that does so belongs."""
        return rule_file(self.memory) == file and (not self.is_hot or self.scope == EVERYWHERE)


def place_at(repo: Repository, tree: str, scope: str, agent: str, file: str) -> Place | None:
    """The memory that a tree has under a file's name, hot or archived; None where it has none."""
    found = standing(repo, tree, agent, file)
    return Place(scope, agent, found[0], parse(found[0], found[1])) if found else None


def place_of(workspace: Workspace, path: str) -> Place | None:
    """The memory that stands at `scope/agent/file` now, hot or archived; None where none does."""
    name, _, rest = path.partition("/")
    agent, _, file = rest.partition("/")
    if name not in SCOPES or not file or not is_agent_folder(agent):
        return None
    scope = workspace.scope(name)
    tip = memory_commit(scope.repo, scope.ref)
    return place_at(scope.repo, scope.repo.commit(tip).tree, name, agent, file) if tip else None


def to_rule(repo: Repository, tip: Tip, at: Place, rules_in: str, code_commit: str) -> Write | None:
    """Moves a memory to the archive with a pointer to its rule; one of all projects stays where it is.

    Args:
        at: the memory as it was found; it is looked at anew.
        rules_in: the file that has the rule.

    Returns:
        None where nothing is to be done.
    """
    now = place_at(repo, tip.tree, at.scope, at.agent, at.home)
    if now is None or now.is_settled(rules_in):
        return None
    data = with_pointer(now.memory, rules_in).render()
    hot = f"{now.agent}/{now.home}"
    edits: dict[str, bytes | None] = {f"{now.agent}/{now.file}": data}
    if now.is_hot and now.scope != EVERYWHERE:
        edits = {hot: None, archived_path(hot) or hot: data}
        edits = with_indexes(repo, tip.tree, edits)
    # Not a person's words but where they stand now: the memory is as old as it was.
    told = Provenance("update", "sync", code_commit=code_commit)
    return Write(edits, f"Point {now.memory.name} to its rule in {rules_in}", told)


def to_memory(repo: Repository, tip: Tip, at: Place, code_commit: str, why: str) -> Write | None:
    """Brings a memory back to where the agent sees it, without its pointer.

    Args:
        why: what became of the rule, for the account.

    Returns:
        None where it points nowhere, or is gone.
    """
    now = place_at(repo, tip.tree, at.scope, at.agent, at.home)
    if now is None or not rule_file(now.memory):
        return None
    memory = without_pointer(now.memory)
    path, hot = f"{now.agent}/{now.file}", f"{now.agent}/{now.home}"
    edits: dict[str, bytes | None] = {hot: memory.render()}
    if path != hot:
        edits[path] = None
    fates = tuple(Fate("dropped", reference(path, claim), reason=why) for claim in pointers(now.memory))
    told = Provenance("update", "sync", code_commit=code_commit, claims=fates)
    edits = with_indexes(repo, tip.tree, edits)
    return Write(edits, f"Take {memory.name} back from the rules of {rule_file(now.memory)}", told)
