"""Memories that a dream would have as rules: what is recalled often and was never disputed may well be one.

Each waits beside suggestions, as a proposal (`ledger.proposals`). Its commit makes what memory becomes once
the rule is committed, the memory in the archive, pointing to the rule; `proposal.json` says the rest:

    {"version": 1, "id": "p-1a2b3c", "scope": "local", "agent": "main", "file": "no-mocks.md", "recalls": 7,
     "created": "2026-11-20T10:00:00Z"}

One that is turned down leaves a tombstone in its scope, so that no dream proposes it again.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any

from gitmem.core import tombstone
from gitmem.core.claim import DISPUTED
from gitmem.core.errors import CheckFailed, GitmemError, MissingObject
from gitmem.core.names import INDEX, archived_path, hot_path, is_agent_folder, is_memory_file
from gitmem.core.pointer import rule_file
from gitmem.core.text import counted, decode, iso, one_line
from gitmem.core.trailers import Provenance
from gitmem.flows.context import Edges
from gitmem.flows.rule_files import (
    EVERYWHERE,
    MemoryPlace,
    chosen_file,
    place_at,
    place_of,
)
from gitmem.git.repository import Signature
from gitmem.git.trees import read_paths
from gitmem.ledger import proposals
from gitmem.ledger.land import Written, memory_commit, read_tip
from gitmem.ledger.proposals import suggestions_of
from gitmem.ledger.rule_record import read_state
from gitmem.ledger.suggestions import settle
from gitmem.ledger.workspace import SCOPES, Scope, Workspace

if TYPE_CHECKING:
    from gitmem.rules.findable import RecallWitness

VERSION = 1
PREFIX = "p-"

AT_ONCE = 3
"""Promotions that wait at a time: each asks for a change of what every agent reads."""

RECALLED_OFTEN = 5
"""Different questions, of the last 200 recalls, that a memory was shown for."""

TYPES = frozenset({"feedback", "project"})


@dataclass(frozen=True)
class PromotionProposal:
    """One memory that a dream would have as a rule.

    Attributes:
        scope, agent: whose it is.
        file: where it is hot, inside the agent's folder.
        recalls: different questions that it was shown for.
        created: ISO 8601, UTC.
    """

    scope: str
    agent: str
    file: str
    recalls: int
    created: str

    @property
    def id(self) -> str:
        """`p-` and 6 hex digits of where the memory stands."""
        where = f"{self.scope}/{self.agent}/{self.file}".encode("utf-8", "surrogateescape")
        return f"{PREFIX}{hashlib.sha256(where).hexdigest()[:6]}"

    @property
    def key(self) -> str:
        """What is buried of it when it is turned down."""
        return f"promote {self.file}"

    def to_bytes(self) -> bytes:
        """Its record: JSON with keys in a fixed order."""
        data = {"version": VERSION, "id": self.id, **asdict(self)}
        return (json.dumps(data, indent=1) + "\n").encode("ascii")


@dataclass(frozen=True)
class OfferedPromotion:
    """A promotion that waits, with the memory that it is about."""

    proposal: PromotionProposal
    at: MemoryPlace


def propose(
    workspace: Workspace,
    edges: Edges,
    scope: Scope,
    asked: Iterable[RecallWitness],
    *,
    dry_run: bool = False,
) -> tuple[str, ...]:
    """Proposes the memories of a scope that were recalled most, as far as there is room.

    Args:
        asked: the last recalls that showed memories of the scope.

    Returns:
        What the dream says of it, a line each.

    Raises:
        UsageError: no file here can hold rules.
    """
    if scope.name == EVERYWHERE:  # a rule of one project is no place for what holds in all
        return ()
    room = AT_ONCE - len([*offered(workspace)])
    if room <= 0:
        return ()
    known = proposals.all_tips(suggestions_of(workspace))
    made: list[tuple[PromotionProposal, MemoryPlace]] = []
    for at, recalls in _often(workspace, scope, asked):
        one = PromotionProposal(at.scope, at.agent, at.home, recalls, iso(edges.now))
        if one.id not in known and not _is_buried(scope, one) and not _was_disputed(workspace, scope, at):
            made.append((one, at))
        if len(made) == room:
            break
    if made and not dry_run:
        file = chosen_file(workspace, edges, None)
        for one, at in made:
            _make(workspace, one, at, file, workspace.author(edges.now))
    verb = "would propose" if dry_run else "proposes"
    return tuple(
        f"promotion: {one_line(at.memory.name, 80)} was shown for {one.recalls} questions and never"
        f" disputed; {one.id} {verb} it as a rule"
        for one, at in made
    )


def offered(workspace: Workspace) -> Iterator[OfferedPromotion]:
    """The promotions that wait and still make sense: the memory is there, and no rule already."""
    family = suggestions_of(workspace)
    found: dict[str, PromotionProposal] = {}
    for id, tip in proposals.open_tips(family).items():
        with suppress(MissingObject):
            one = from_bytes(proposals.record(family.repo, tip)) if id.startswith(PREFIX) else None
            if one is not None and one.id == id:
                found[id] = one
    if not found:
        return
    pending = read_state(workspace.state).pending
    for one in sorted(found.values(), key=lambda one: (one.created, one.id)):
        at = place_of(workspace, f"{one.scope}/{one.agent}/{one.file}")
        if at is not None and not rule_file(at.memory) and at.address not in pending:
            yield OfferedPromotion(one, at)


def accept(workspace: Workspace, edges: Edges, one: OfferedPromotion, ask: Callable[[str], None]) -> str:
    """Promotes the memory, in the default file; returns what was done, for the person.

    Args:
        ask: asks the person for consent, and raises where there is none.

    Raises:
        CheckFailed: it holds a secret, which is asked for by name alone; or the person said no.
        UsageError: as `promote.plan`.
    """
    from gitmem.flows.promote import plan, promote  # a look decides nothing

    at = one.at
    planned = plan(workspace, edges, at, None)
    if planned.secret:
        why = "; ".join(planned.doubts)
        raise CheckFailed(f"{at.address}: {why}", f"If it is none: git mem promote {at.address}")
    if planned.question:
        ask(planned.question)
    done = promote(workspace, edges, planned)
    settle(workspace, [one.proposal.id], "accepted")
    how = f"; commit it: {done.command}" if done.command else ""
    return f"wrote the rule {at.address} into {planned.file}{how}"


def reject(
    workspace: Workspace, edges: Edges, one: OfferedPromotion, why: str, job: str = ""
) -> Written | None:
    """Remembers that the memory is to stay one; an undo of the commit lets the promotion wait again."""
    from gitmem.flows.suggestions import TurnedDown, bury  # a look decides nothing

    proposal = one.proposal
    name = f"{proposal.agent}/{proposal.file.removesuffix('.md')}"
    row = TurnedDown(proposal.id, name, proposal.agent, (proposal.key,))
    written = bury(workspace, edges, proposal.scope, [row], why, job, "promotion")
    settle(workspace, [proposal.id], "rejected")
    return written


def from_bytes(data: bytes) -> PromotionProposal | None:
    """Reads a record, which nobody vouches for; None where it is not of the form."""
    with suppress(ValueError, RecursionError, LookupError, TypeError, AttributeError):
        value: Any = json.loads(data)
        one = PromotionProposal(*(value[part.name] for part in fields(PromotionProposal)))
        datetime.fromisoformat(one.created)
        formed = one.scope in SCOPES and is_agent_folder(one.agent) and is_memory_file(one.file)
        if (
            formed
            and isinstance(one.recalls, int)
            and value["version"] == VERSION
            and value["id"] == one.id
        ):
            return one
    return None


def _make(workspace: Workspace, one: PromotionProposal, at: MemoryPlace, file: str, who: Signature) -> bool:
    """Makes the commits of a promotion and its ref; False where the memory changed meanwhile."""
    from gitmem.flows.promote import to_rule  # as above

    scope = workspace.scope(one.scope)
    repo, tip = scope.repo, read_tip(scope.repo, scope.ref)
    write = to_rule(repo, tip, at, file, "")
    if write is None:
        return False
    # A side branch never changes an index: it is brought in line where the change lands.
    edits = {path: data for path, data in write.edits.items() if not path.endswith(f"/{INDEX}")}
    subject = f"Make {at.memory.name} a rule of {file}"
    reason = f"shown for {counted(one.recalls, 'question')}, never disputed"
    return proposals.make(
        suggestions_of(workspace),
        one.id,
        read_paths(repo, tip.tree, set(edits)),
        edits,
        one.to_bytes(),
        subject,
        Provenance("update", "dream"),
        reason,
        who,
    )


def _is_buried(scope: Scope, one: PromotionProposal) -> bool:
    tip = read_tip(scope.repo, scope.ref)
    path = f"{one.agent}/{tombstone.FILE}"
    stones = tombstone.parse(decode(read_paths(scope.repo, tip.tree, {path}).get(path, b"")))
    return tombstone.matches(stones, one.key)


def _often(
    workspace: Workspace, scope: Scope, asked: Iterable[RecallWitness]
) -> Iterator[tuple[MemoryPlace, int]]:
    """Memories that were shown for many questions and may become rules, the most asked-for first."""
    counts = Counter(hot_path(one.path) or one.path for one in dict.fromkeys(asked))
    pending = read_state(workspace.state).pending
    tip = memory_commit(scope.repo, scope.ref)
    if tip is None:
        return
    tree = scope.repo.commit(tip).tree
    for path, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
        if count < RECALLED_OFTEN:
            return
        agent, _, file = path.partition("/")
        at = place_at(scope.repo, tree, scope.name, agent, file) if file else None
        if at is None or at.memory.type not in TYPES or rule_file(at.memory) or at.address in pending:
            continue
        if not any(claim.dispute for claim in at.memory.claims):
            yield at, count


def _was_disputed(workspace: Workspace, scope: Scope, at: MemoryPlace) -> bool:
    """Whether a version of a memory ever held a dispute mark; where nobody can tell, it counts as one."""
    hot = f"{at.agent}/{at.home}"
    paths = [hot, *([away] if (away := archived_path(hot)) else [])]
    words = ["log", "-1", "--format=%H", "-m", "--no-patch", f"-S{DISPUTED}", scope.ref, "--"]
    words += [f":(top,literal){path}" for path in paths]
    try:
        done = workspace.git.run(words, git_dir=scope.repo.git_dir, cwd=scope.repo.git_dir, check=False)
    except GitmemError:
        return True
    return done.returncode != 0 or bool(done.text.strip())
