"""One memory or daily log as it may be shown, what changed in one, and both as values for programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gitmem.core.errors import MissingObject
from gitmem.core.names import hot_path, is_archived, kind
from gitmem.core.text import iso
from gitmem.flows.context import Edges
from gitmem.flows.json_values import sound
from gitmem.git.trees import changed_files, read_paths
from gitmem.ledger.lookup import FoundMemory, ListedMemory, age, find
from gitmem.ledger.workspace import Scope, Workspace

if TYPE_CHECKING:
    from gitmem.core.memory import Memory
    from gitmem.flows.rule_files import PromotedMemory
    from gitmem.ledger.log import ClaimChange
    from gitmem.ledger.rule_record import HeadRule
    from gitmem.ledger.signatures import MemoryProof


@dataclass(frozen=True)
class ShownMemory:
    """A memory or daily log without what of it came with a secret.

    Attributes:
        taught: when it was last taught, seconds since the epoch; 0 where that is unknown. Of a log, when
            its last fact was said.
        hidden: whether something of it is left out.
        became: the rule that it became; None where it is none.
        proof: what is proved of who wrote it; None where signatures count for nothing.
    """

    found: FoundMemory
    taught: int
    hidden: bool
    became: PromotedMemory | None = None
    proof: MemoryProof | None = None

    @property
    def readable(self) -> tuple[Memory, dict[str, tuple[str, ...]]]:
        """The memory as people read it, and values of its frontmatter that are disputed, by their key."""
        from gitmem.core.memory import without_lost

        memory = self.found.memory
        return (memory, {}) if self.found.is_log else without_lost(memory)


def show(
    workspace: Workspace,
    edges: Edges,
    name: str,
    scope: str | None = None,
    agent: str | None = None,
    at: str | None = None,
    *,
    to_agent: bool = False,
) -> ShownMemory:
    """Finds one memory or log, now or as of then; arguments and errors as those of `lookup.find`.

    Args:
        to_agent: whether an agent asks, who is not told what has to be signed and is not.
    """
    from gitmem.core.pointer import BEGINNING  # reads claims, which a list of memories has no use for

    found = find(workspace, name, scope, agent, at, edges.now, logs=True)
    taught = _last_said(found) if found.is_log else age(workspace, found.spot)
    became = None
    if not found.is_log and not at and BEGINNING in found.memory.render():
        became = became_rule(workspace, found)
    if found.scope != "project":
        return ShownMemory(found, taught, False, became)
    from gitmem.core.memory import parse
    from gitmem.ledger.signatures import trusts
    from gitmem.ledger.taint import safe_content, without_secrets

    whole = found.memory.render()
    proof = _proof(workspace, found) if trusts(workspace) else None
    try:
        if to_agent:
            kept = safe_content(workspace, found.path, whole, found.commit)
        else:
            kept = without_secrets(workspace, found.path, whole)
    except MissingObject:
        kept = b""
    if kept == whole:
        return ShownMemory(found, taught, False, became, proof)
    return ShownMemory(replace(found, memory=parse(found.file, kept)), taught, True, became, proof)


def _proof(workspace: Workspace, found: FoundMemory) -> MemoryProof:
    """What is proved of who wrote it; somebody waits for the answer, so that it is worked out now."""
    from gitmem.ledger.signatures import follow, proofs

    follow(workspace, {found.path: found.blob}, found.commit)
    return proofs(workspace, {found.path: found.blob}, found.commit)[found.path]


def became_rule(workspace: Workspace, found: FoundMemory) -> PromotedMemory | None:
    """What became of a memory that points to a rule; None for one that does not."""
    from gitmem.flows.rule_files import became  # few memories were promoted

    home = hot_path(found.path) or found.path
    return became(workspace, f"{found.scope}/{home.removesuffix('.md')}", found.memory)


def rule_value(one: PromotedMemory) -> dict[str, object]:
    """The same as a value for programs; `rule` is null where HEAD does not have it."""
    return {
        "file": sound(one.file),
        "commit": one.commit or None,
        "rule": sound(one.rule) if one.rule is not None else None,
        "edited": one.edited,
    }


def as_value(shown: ShownMemory) -> dict[str, object]:
    """Its parts, and `content`, the whole file as text; a log has no type."""
    found, memory = shown.found, shown.found.memory
    return {
        "kind": "log" if found.is_log else "memory",
        "name": sound(memory.name),
        "type": "" if found.is_log else memory.type,
        "scope": found.scope,
        "agent": sound(found.agent),
        "file": sound(found.file),
        "description": sound(memory.description),
        "taught": iso(shown.taught) if shown.taught else None,
        "archived": found.archived,
        "commit": found.commit,
        "blob": found.blob,
        "secret": shown.hidden,
        "signed": shown.proof.value if shown.proof else None,
        "promoted": rule_value(shown.became) if shown.became else None,
        "disputed": {sound(key): list(map(sound, lost)) for key, lost in shown.readable[1].items()},
        "content": memory.render().decode("utf-8", "replace"),
    }


def listed_value(header: ListedMemory, rule: HeadRule | None = None, branch: str = "") -> dict[str, object]:
    """One memory of a list as a value for programs; `taught` is null where unknown.

    Args:
        rule: the rule that it became, as the worker saw it last; None where it is none.
        branch: the one that it was taught on, where that is not merged here.
    """
    return {
        "name": sound(header.name),
        "type": header.type,
        "scope": header.scope,
        "agent": sound(header.agent),
        "file": sound(header.file),
        "description": sound(header.description),
        "disputed": list(map(sound, header.otherwise)),
        "taught": iso(header.time) if header.time else None,
        "archived": is_archived(header.file),
        "secret": header.secret,
        "unmerged": sound(branch) or None,
        "promoted": {"file": sound(rule.file), "commit": rule.commit or None} if rule else None,
    }


def _last_said(found: FoundMemory) -> int:
    from gitmem.core.daily_log import facts

    told = facts(found.path, found.memory.render())
    return max((int(line.when.timestamp()) for _, line in told), default=0)


@dataclass(frozen=True)
class FileDiff:
    """What changed in one file; `state` is `added`, `deleted` or `changed`."""

    scope: str
    path: str
    state: str
    changes: tuple[ClaimChange, ...]

    def as_value(self) -> dict[str, object]:
        """The JSON form."""
        return {
            "scope": self.scope,
            "path": sound(self.path),
            "state": self.state,
            "changes": [{"sign": change.sign, "text": sound(change.text)} for change in self.changes],
        }


def between(scope: Scope, old: str | None, new: str, folder: str | None = None) -> Iterator[FileDiff]:
    """Compares two commits of a scope; the index is left out, since it follows the memories.

    Args:
        old: None for nothing at all.
        folder: the agent's that counts; None for all.
    """
    repo = scope.repo
    one, other = repo.commit(old).tree if old else None, repo.commit(new).tree
    paths = {
        path for path in changed_files(repo, one, other) if folder is None or path.startswith(f"{folder}/")
    }
    before, after = (read_paths(repo, tree, paths) if tree else {} for tree in (one, other))
    for path in sorted(paths):
        yield from of_file(scope, path, before.get(path), after.get(path))


def of_file(scope: Scope, path: str, before: bytes | None, after: bytes | None) -> Iterator[FileDiff]:
    """Compares two states of a memory or a daily log; gives nothing where both are equal.

    Args:
        before, after: content; None where there is no file.
    """
    if kind(path) in ("memory", "log") and before != after:
        from gitmem.ledger.log import claim_diff  # a list compares nothing

        state = "added" if before is None else "deleted" if after is None else "changed"
        yield FileDiff(scope.name, path, state, claim_diff(path, before, after))
