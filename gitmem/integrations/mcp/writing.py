"""The tools that change memory: remember and forget. Of the project's they only ever propose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitmem.core.change import TYPES, Change, Edited, MemoryType, Origin
from gitmem.core.errors import CheckFailed, UsageError
from gitmem.core.memory import Memory, parse
from gitmem.core.names import agent_name, kind
from gitmem.core.trailers import one_line
from gitmem.flows.context import allowed_fingerprints
from gitmem.flows.edit import Wanted, composed, scope_of
from gitmem.flows.edit import forget as forget_anywhere
from gitmem.flows.values import place_value, sound
from gitmem.flows.withholding import holds_secret
from gitmem.git.trees import read_file
from gitmem.integrations.agent_writes import Outcome, carry_out, may_write
from gitmem.integrations.mcp.call import Answer, Call
from gitmem.ledger.apply import Placed
from gitmem.ledger.forget import Holding, find_claim, without_claim
from gitmem.ledger.land import Written
from gitmem.ledger.lookup import Ambiguous, Found, find
from gitmem.ledger.tainted import read_tainted
from gitmem.ledger.workspace import MAIN
from gitmem.search.recall import plain_place

ASKED = "an agent asked for it through a tool"
_USUAL: MemoryType = "feedback"


def remember(call: Call, given: Mapping[str, Any]) -> Answer:
    """Stores one memory, or adds to the one of that name."""
    wanted = Wanted(
        text=given["text"],
        type=given.get("type", _USUAL),
        name=one_line(given.get("name", "")),
        description=given.get("description", ""),
        why=given.get("why", ""),
        how=given.get("how", ""),
        agent=given.get("agent", MAIN),
        scope=given.get("scope", ""),
    )
    scope, agent = scope_of(call.workspace, wanted), agent_name(wanted.agent)
    name, description, body = composed(wanted, call.edges.now, allowed_fingerprints(call.workspace))
    old = _named(call, name, scope.name, agent)
    change = Change(
        op="update" if old else "add",
        name=old.memory.name if old else name,
        description=old.memory.description if old else description,
        type=wanted.type,  # type: ignore[arg-type]
        body=body,
        reason=given.get("why") or ASKED,
        confidence=1.0,
        asked=False,
        origin=Origin(session=call.session),
        agent=agent,
        file=old.file if old else "",
    )
    done = carry_out(call.workspace, call.edges, Placed(scope.name, change), call.told)
    file = _file_of(done.written) or change.file
    place = {"scope": scope.name, "agent": sound(agent), "file": sound(file), "name": sound(change.name)}
    verb = "Added to" if old else "Stored"
    return _told(place, done, verb, "it says so already" if old else "")


def forget(call: Call, given: Mapping[str, Any]) -> Answer:
    """Takes out one memory, or one claim, and sees to it that it stays away."""
    may_write(call.edges)
    name, claim = given.get("name"), given.get("claim")
    if (name is None) == (claim is None):
        raise UsageError("Say what to forget", "Give either name, or claim: what it says.")
    scope, agent = given.get("scope"), given.get("agent")
    if claim is not None:
        holding = _holding(call, claim, scope, agent)
        return _forget_claim(call, holding, given.get("reason", ""))
    found = find(call.workspace, name or "", scope, agent, whole=True)
    place = place_value(found)
    if found.scope == "project":
        memory = found.memory
        _refuse_secrets(call, found.file, memory.render())
        change = Change(
            op="delete",
            name=memory.name,
            description=memory.description,
            type=_type(memory),
            body="",
            reason=given.get("reason") or ASKED,
            confidence=1.0,
            asked=False,
            origin=Origin(session=call.session),
            agent=found.agent,
            file=found.file,
        )
        return _told(place, carry_out(call.workspace, call.edges, Placed("project", change), call.told))
    written = forget_anywhere(call.workspace, call.edges, found, call.told)
    return _told(place, Outcome(written), "Forgot", "it is gone already")


def _holding(call: Call, claim: str, scope: str | None, agent: str | None) -> Holding:
    try:
        (holding,) = find_claim(call.workspace, claim, scope=scope, agent=agent)
    except Ambiguous:
        if not read_tainted(call.workspace.scope("project").state).blobs:
            raise
        # The list would quote what came with a secret.
        hint = "Give more of the text, or narrow with scope and agent."
        raise Ambiguous("Several claims say that", hint) from None
    return holding


def _forget_claim(call: Call, holding: Holding, reason: str) -> Answer:
    place: dict[str, object] = {
        "scope": holding.scope,
        "agent": sound(holding.agent),
        "file": sound(holding.file),
        "name": sound(holding.name),
    }
    if holding.scope != "project":
        written = forget_anywhere(call.workspace, call.edges, holding, call.told)
        return _told(place, Outcome(written), "Forgot a claim of", "it does not say so any more")
    scope = call.workspace.scope("project")
    tip = scope.repo.ref(scope.ref)
    path = f"{holding.agent}/{holding.file}"
    data = (read_file(scope.repo, scope.repo.commit(tip).tree, path) if tip else None) or b""
    memory = parse(holding.file, data)
    _refuse_secrets(call, holding.file, data)
    left = without_claim(memory, holding.claim.key)
    change = Change(
        op="update" if left else "delete",
        name=memory.name,
        description=memory.description,
        type=_type(memory),
        body="",
        reason=reason or ASKED,
        confidence=1.0,
        asked=False,
        origin=Origin(session=call.session),
        agent=holding.agent,
        file=holding.file,
        edited=Edited(data, left.render()) if left is not None else None,
    )
    return _told(place, carry_out(call.workspace, call.edges, Placed("project", change), call.told))


def _refuse_secrets(call: Call, file: str, data: bytes) -> None:
    """Lets a memory through that may be copied into what waits for review.

    Raises:
        CheckFailed: something in it is a secret.
    """
    if holds_secret(call.workspace, file, data):
        raise CheckFailed(
            f"{file} holds a secret that came with shared memory", "A person runs: git mem purge"
        )


def _type(memory: Memory) -> MemoryType:
    return next((type for type in TYPES if type == memory.type), "project")


def _named(call: Call, name: str, scope: str, agent: str) -> Found | None:
    try:
        return find(call.workspace, name, scope, agent, whole=True)
    except Ambiguous:
        raise
    except UsageError:
        return None


def _file_of(written: Written | None) -> str:
    """The memory that a commit wrote, inside its agent's folder."""
    edits = written.edits if written else {}
    paths = [path for path, data in edits.items() if data is not None and kind(path) == "memory"]
    return paths[0].partition("/")[2] if paths else ""


def _told(place: Mapping[str, object], done: Outcome, verb: str = "", otherwise: str = "") -> Answer:
    where = plain_place(f"{place['scope']}/{place['agent']}/{place['file'] or place['name']}")
    value = {**place, "commit": None, "waiting": None, "undo": None}
    if done.waiting:
        value["waiting"] = done.waiting
        shared = place["scope"] == "project"
        why = "project memory changes through review" if shared else "it may hold a secret"
        text = (
            f"Nothing changed yet in {where}: {why}. It waits in review as {done.waiting}; "
            "the person decides with git mem review."
        )
    elif done.written:
        undo = f"git mem undo {done.written.commit[:12]}"
        value |= {"commit": done.written.commit, "undo": undo}
        text = f"{verb} {where} in commit {done.written.commit[:12]}. Undo: {undo}"
    else:
        text = f"Nothing changed in {where}: {otherwise or 'memory says so already'}."
    return Answer(text, value)
