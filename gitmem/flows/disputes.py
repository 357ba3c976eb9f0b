"""Claims that stand twice because two writers changed one differently, and how a person settles them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress

from gitmem.core import index
from gitmem.core.claim import Claim, with_dispute
from gitmem.core.errors import RepositoryError, UsageError
from gitmem.core.memory import Memory, disputed_keys, parse, says
from gitmem.core.names import kind
from gitmem.core.text import decode, encode
from gitmem.flows.context import Edges
from gitmem.git.repository import Repository
from gitmem.git.trees import read_file
from gitmem.ledger.holdings import disputed_indexes, memories
from gitmem.ledger.indexes import hot
from gitmem.ledger.land import Tip, Write, Written, land, memory_commit
from gitmem.ledger.workspace import Scope, ScopeName, Workspace
from gitmem.values import dataclass


@dataclass(frozen=True)
class Dispute:
    """One disputed claim.

    Attributes:
        id: `x-` and six digits of the base claim; unique within a scope's file.
        path: path of the memory or index in its scope's tree.
        mark: the eight digits that the claims carry, or the lines of the index.
        claims: the claims as they stand, in order, without their marks; where a key of the frontmatter
            is disputed, the value that stands there comes first.
        key: that key; empty where a claim of the body is disputed.
    """

    id: str
    scope: ScopeName
    path: str
    mark: str
    claims: tuple[str, ...]
    key: str = ""


def disputes(
    workspace: Workspace, places: Mapping[str, Mapping[str, str]] | None = None
) -> tuple[Dispute, ...]:
    """All disputed claims of all scopes, in a fixed order.

    Args:
        places: scope to (path to blob) of files that may hold one, where somebody has looked already.
    """
    found: list[Dispute] = []
    seen: set[str] = set()
    for scope in workspace.scopes:
        for path, oid in sorted((_places(scope) if places is None else places[scope.name]).items()):
            for mark, key, texts in _in_file(scope, path, scope.repo.blob(oid)):
                id = f"x-{mark[:6]}"
                number = 2
                while id in seen:
                    id = f"x-{mark[:6]}-{number}"
                    number += 1
                seen.add(id)
                found.append(Dispute(id, scope.name, path, mark, texts, key))
    return tuple(found)


def _in_file(scope: Scope, path: str, data: bytes) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """The disputes that stand in one file: mark, disputed key, and the claims."""
    if kind(path) == "index":
        tip = memory_commit(scope.repo, scope.ref)
        now = hot(scope.repo, scope.repo.commit(tip).tree, path.split("/", 1)[0]) if tip else {}
        for mark, lines in index.disputed_lines(decode(data), now).items():
            yield mark, "", lines
        return
    memory = parse(path, data)
    marked: dict[str, list[str]] = {}
    for claim in memory.parsed.claims:
        if claim.dispute:
            marked.setdefault(claim.dispute, []).append(with_dispute(claim.text, ""))
    keys = disputed_keys(memory)
    for mark, texts in marked.items():
        key = keys.get(mark, "")
        standing = [f"{key}: {memory.front.text(key)}"] if key and memory.front else []
        yield mark, key, (*standing, *texts)


def _places(scope: Scope) -> dict[str, str]:
    """What can be read; `status` and `doctor` name the rest."""
    with suppress(RepositoryError):
        tip = memory_commit(scope.repo, scope.ref)
        known = memories(scope, tip, missed={}) if tip else {}
        found = {
            f"{agent}/{kept.file}": kept.blob
            for agent, some in known.items()
            for kept in some
            if kept.head and kept.head.disputed
        }
        return found | disputed_indexes(scope.repo, tip) if tip else {}
    return {}


def settle(
    workspace: Workspace, edges: Edges, dispute: Dispute, keep: tuple[int, ...], job: str = ""
) -> Written | None:
    """Keeps some of the claims (counted from 1), without their marks, and drops the others.

    Args:
        job: what the commit shares with others that are undone with it.

    Raises:
        UsageError: a number is none of theirs, or a key of the frontmatter would get more values than one.
    """
    from gitmem.core.trailers import Provenance
    from gitmem.flows.save import copies_of  # a look settles nothing

    wrong = [number for number in keep if not 1 <= number <= len(dispute.claims)]
    if wrong:
        raise UsageError(f"{dispute.id} has no claim {wrong[0]}", f"It has 1 to {len(dispute.claims)}.")
    if dispute.key and len(keep) != 1:
        raise UsageError(
            f"A {dispute.key} has one value", f"Say which: git mem review accept {dispute.id} N"
        )
    scope = workspace.scope(dispute.scope)
    agent = dispute.path.split("/", 1)[0]

    def plan(tip: Tip) -> Write | None:
        settled = _settle_in(scope.repo, tip.tree, dispute, keep)
        if settled is None:
            return None
        edits, where = settled
        provenance = Provenance(op="update", writer="human", reviewed=dispute.id, job=job)
        return Write(edits, f"Settle a dispute in {where}", provenance)

    return land(scope, plan, workspace.author(edges.now), copies_of(workspace, edges), agent)


def _settle_in(
    repo: Repository, tree: str, dispute: Dispute, keep: tuple[int, ...]
) -> tuple[dict[str, bytes | None], str] | None:
    """The edits that settle a dispute where it stands now, and what to call that; None where it is gone."""
    from gitmem.ledger.paging import bring_back, current_place

    agent, _, file = dispute.path.partition("/")
    if kind(dispute.path) == "index":
        data = read_file(repo, tree, dispute.path)
        if data is None:
            return None
        text = index.settled(decode(data), dispute.mark, keep, hot(repo, tree, agent))
        return {dispute.path: encode(text)}, f"the index of {agent}"
    stands = current_place(repo, tree, agent, file)
    if stands is None:
        return None
    memory = _settled(parse(*stands), dispute, keep)
    return bring_back(repo, tree, f"{agent}/{stands[0]}", memory.render()), memory.name


def _settled(memory: Memory, dispute: Dispute, keep: tuple[int, ...]) -> Memory:
    """The memory with the claims that stand, unmarked, and without the others."""
    number = 1 if dispute.key else 0
    front = memory.front
    body = ""
    kept: list[str] = []
    gone: list[str] = []
    for claim in memory.parsed.claims:
        if claim.dispute == dispute.mark:
            number += 1
            bare = with_dispute(claim.text, "")
            if dispute.key and front:
                if keep == (number,):  # the value that lost is the one that stands
                    front = front.with_value(dispute.key, bare.partition(": ")[2])
                continue
            (kept if number in keep else gone).append(claim.key)
            if number not in keep:
                continue
            claim = Claim(bare, claim.lead, claim.key)
        body += (claim.lead if body else memory.parsed.claims[0].lead) + claim.text
    if front and len(kept) == 1 and any(says(key, memory.description) for key in gone):
        # It was described by the sentence that went.
        front = front.with_value("description", kept[0].rstrip(".!?"))
    return Memory(memory.path, front, body + memory.parsed.tail)
