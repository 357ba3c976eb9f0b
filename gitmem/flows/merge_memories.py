"""Two memories that are one, by a person's word: the claims of both stand in the first, the second goes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from gitmem.core.account import reference
from gitmem.core.claim import Claim
from gitmem.core.errors import CheckFailed, UsageError
from gitmem.core.limits import MEMORY_BYTES
from gitmem.core.memory import Memory, description_claim, parse, says
from gitmem.core.names import hot_file, is_memory_file
from gitmem.core.text import decode, encode
from gitmem.core.trailers import Fate, Provenance
from gitmem.flows.context import Edges
from gitmem.flows.save import copies_of
from gitmem.ledger.indexes import with_indexes
from gitmem.ledger.land import Tip, Write, Written, land
from gitmem.ledger.paging import standing
from gitmem.ledger.save_plan import agent_files
from gitmem.ledger.workspace import Workspace
from gitmem.rules.screen import refuse_secrets

if TYPE_CHECKING:
    from gitmem.ledger.lookup import Found


def united(first: Memory, second: Memory) -> Memory:
    """The first memory with what the second says and it does not; its frontmatter stays.

    The description of the second becomes a claim of the body where nothing else says it.
    """
    known = {claim.key for claim in first.claims}
    come = [claim for claim in second.parsed.claims if claim.key not in known]
    described = description_claim(second.description)
    keys = {*known, *(claim.key for claim in come)}
    if described and not any(says(key, second.description) for key in keys):
        come.append(described)
    if not come:
        return first
    return replace(first, body=f"{first.body.rstrip()}{_joined(come, first.parsed.claims[-1:])}\n")


def _joined(come: Iterable[Claim], before: Iterable[Claim]) -> str:
    """Claims as text behind others: items of a list stand close to each other, paragraphs apart."""
    text, last = "", next(iter(before), None)
    for claim in come:
        close = last is not None and last.item and claim.item
        text += ("\n" if close else "\n\n") + claim.text.strip("\n")
        last = claim
    return text


def merge_memories(
    workspace: Workspace, edges: Edges, first: Found, second: Found, *, dry_run: bool = False
) -> tuple[Memory, Written | None]:
    """Puts one memory into another of the same agent and scope, as one commit of the person's.

    What linked to the second by its name, the first one too, links to the first.

    Returns:
        The memory as it is afterwards, and the commit; None for a dry run.

    Raises:
        UsageError: they are one memory, or of different agents or scopes, or too large together; one alone
            is about a person; or a claim would stand otherwise in the other's text.
        CheckFailed: one of them changed meanwhile, or the result holds a secret.
    """
    if first.address == second.address:
        raise UsageError(f"{first.address} is one memory", "Name two: git mem merge INTO FROM")
    if (first.scope, first.agent) != (second.scope, second.agent):
        hint = f"Bring it there first: git mem move {second.memory.name} --to {first.scope}"
        raise UsageError(f"{first.address} and {second.address} do not stand together", hint)
    if (first.memory.type == "user") != (second.memory.type == "user"):
        # What is about a person is never shared, which its type says.
        about = first if first.memory.type == "user" else second
        hint = "Keep them apart, or give both one type: git mem show NAME"
        raise UsageError(f"{about.address} is about a person (type user), and the other is not", hint)
    names = (second.memory.name, first.memory.name)
    into_it, from_it = (
        parse(one.file, _leading_on(one.memory.render(), *names)) for one in (first, second)
    )
    after = united(into_it, from_it)
    keys = {claim.key: claim for claim in after.claims}
    if any(claim.key not in keys for one in (into_it, from_it) for claim in one.parsed.claims):
        hint = f"Is a code block open at its end? Close it: git mem show {first.memory.name}"
        raise UsageError(f"The claims of both do not stand behind each other in {first.address}", hint)
    if len(after.render()) > MEMORY_BYTES:
        raise UsageError(f"Both are larger than {MEMORY_BYTES:,} bytes", "Keep them apart, or shorten one.")
    if dry_run:
        return after, None
    scope, agent = workspace.scope(first.scope), first.agent
    into, gone = f"{agent}/{hot_file(first.file)}", f"{agent}/{second.file}"
    fates = tuple(
        Fate("merged", reference(gone, claim), reference(into, keys[same.key]), "merged by hand")
        for claim, same in zip(second.memory.parsed.claims, from_it.parsed.claims, strict=True)
    )

    def plan(tip: Tip) -> Write:
        for one in (first, second):
            stands = standing(scope.repo, tip.tree, agent, one.file)
            if stands is None or stands[1] != one.memory.render():
                raise CheckFailed(f"{one.address} changed since it was shown", "Look at it again.")
        known = agent_files(scope.repo, agent, tip)
        edits: dict[str, bytes | None] = {into: after.render(), gone: None}
        if first.file != hot_file(first.file):
            edits[f"{agent}/{first.file}"] = None
        for file, data in known.items():
            led = _leading_on(data, *names) if is_memory_file(file) else data
            if led != data and f"{agent}/{file}" not in edits:
                edits[f"{agent}/{file}"] = led
        edits = with_indexes(scope.repo, tip.tree, edits, {f"{agent}/{hot_file(second.file)}"})
        before = {f"{agent}/{file}": data for file, data in known.items()}
        refuse_secrets(before, edits, workspace.allowed, hold=scope.name == "project")
        told = Provenance("update", "human", code_commit=workspace.code_head(), claims=fates)
        return Write(edits, f"Merge {second.memory.name} into {first.memory.name}", told)

    written = land(scope, plan, workspace.author(edges.now), copies_of(workspace, edges), agent)
    return after, written


def _leading_on(data: bytes, name: str, to: str) -> bytes:
    """A memory whose links by one name lead to another."""
    return encode(decode(data).replace(f"[[{name}]]", f"[[{to}]]"))
