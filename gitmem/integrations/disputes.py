"""Claims that stand twice because two writers changed one differently, and how a person settles them."""

from __future__ import annotations

from dataclasses import dataclass

from gitmem.errors import UsageError
from gitmem.integrations.edges import Edges, author
from gitmem.integrations.saving import sync_live
from gitmem.memory.claim import Claim, with_dispute
from gitmem.memory.memory import Memory, parse
from gitmem.memory.merge import kind
from gitmem.memory.trailers import Provenance
from gitmem.store.commits import Tip, Write, Written, commit
from gitmem.store.trees import list_files, read_paths
from gitmem.store.workspace import ScopeName, Workspace


@dataclass(frozen=True)
class Dispute:
    """One disputed claim.

    Attributes:
        id: `x-` and six digits of the base claim; unique within a scope's file.
        path: path of the memory in its scope's tree.
        mark: the eight digits that the claims carry.
        claims: the claims as they stand, in order, without their marks.
    """

    id: str
    scope: ScopeName
    path: str
    mark: str
    claims: tuple[str, ...]


def disputes(workspace: Workspace) -> tuple[Dispute, ...]:
    """All disputed claims of all scopes, in a fixed order."""
    found: list[Dispute] = []
    seen: set[str] = set()
    for scope in workspace.scopes:
        tip = scope.repo.ref(scope.ref)
        if tip is None:
            continue
        for path, oid in sorted(list_files(scope.repo, scope.repo.commit(tip).tree).items()):
            if kind(path) != "memory" or "/" not in path:
                continue
            data = scope.repo.blob(oid)
            if b"*(disputed " not in data:
                continue
            marked: dict[str, list[str]] = {}
            for claim in parse(path, data).parsed.claims:
                if claim.dispute:
                    marked.setdefault(claim.dispute, []).append(with_dispute(claim.text, ""))
            for mark, texts in marked.items():
                id = f"x-{mark[:6]}"
                number = 2
                while id in seen:
                    id = f"x-{mark[:6]}-{number}"
                    number += 1
                seen.add(id)
                found.append(Dispute(id, scope.name, path, mark, tuple(texts)))
    return tuple(found)


def settle(workspace: Workspace, edges: Edges, dispute: Dispute, keep: tuple[int, ...]) -> Written | None:
    """Keeps some of the claims (counted from 1), without their marks, and drops the others.

    Raises:
        UsageError: a number is none of theirs.
    """
    wrong = [number for number in keep if not 1 <= number <= len(dispute.claims)]
    if wrong:
        raise UsageError(f"{dispute.id} has no claim {wrong[0]}", f"It has 1 to {len(dispute.claims)}.")
    scope = workspace.scope(dispute.scope)
    agent = dispute.path.split("/", 1)[0]
    sync_live(workspace, edges, scope.name, agent)

    def plan(tip: Tip) -> Write | None:
        data = read_paths(scope.repo, tip.tree, {dispute.path}).get(dispute.path)
        if data is None:
            return None
        memory = parse(dispute.path, data)
        body, number = "", 0
        for claim in memory.parsed.claims:
            if claim.dispute == dispute.mark:
                number += 1
                if number not in keep:
                    continue
                claim = Claim(with_dispute(claim.text, ""), claim.lead, claim.key)
            body += (claim.lead if body or not claim.lead.strip("\r\n") else "") + claim.text
        settled = Memory(memory.path, memory.front, body + memory.parsed.tail)
        provenance = Provenance(op="update", writer="human", reviewed=dispute.id)
        return Write({dispute.path: settled.render()}, f"Settle a dispute in {memory.name}", provenance)

    written = commit(scope.repo, scope.ref, plan, author(workspace, edges))
    sync_live(workspace, edges, scope.name, agent, lay_out=True)
    return written
