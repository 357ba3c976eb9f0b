"""Decides what one session teaches: what is stored, what waits for a person, what is refused and why."""

from __future__ import annotations

from collections.abc import Collection, Container
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from gitmem.engines.engine import Engine, ExtractInput
from gitmem.engines.usage import Usage
from gitmem.extract.carry import claim_keys
from gitmem.extract.known import Known
from gitmem.extract.turns import to_look_at
from gitmem.guard.check import refused_claims
from gitmem.guard.exclusions import excluded
from gitmem.memory.change import Change
from gitmem.memory.claim import parse_body
from gitmem.memory.limits import MEMORY_BYTES
from gitmem.memory.names import file_name
from gitmem.sessions.session import Session
from gitmem.store.parked import TEXT_CHARS, change_from_json, change_to_json
from gitmem.store.workspace import ScopeName

Mode = Literal["auto", "suggest", "off"]
Sharing = Literal["off", "review", "direct"]


@dataclass(frozen=True)
class Rules:
    """What a plan follows.

    Attributes:
        mode: `gitmem.extract`.
        sharing: `gitmem.share`.
        texts: whole texts of CLAUDE.md, AGENTS.md and their like.
        folders: live directories, absolute.
        allow: fingerprints of secrets that the person accepted.
    """

    mode: Mode = "suggest"
    sharing: Sharing = "off"
    texts: tuple[str, ...] = ()
    folders: tuple[Path, ...] = ()
    allow: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Placed:
    """A change and where it goes."""

    scope: ScopeName
    change: Change

    @property
    def agent(self) -> str:
        """Folder of the agent."""
        return self.change.agent

    @property
    def file(self) -> str:
        """File inside the agent's folder; for an add the one it asks for."""
        return self.change.file or file_name(self.change.name)


@dataclass(frozen=True)
class Refused:
    """A proposal that is not kept.

    Attributes:
        text: its description on one line; secrets redacted.
        reason: why, for a person.
        kind: `secret`, `excluded`, `tombstone` or `form`.
        message: uuid of the message that it stems from.
    """

    text: str
    reason: str
    kind: str
    message: str


@dataclass(frozen=True)
class ExtractionPlan:
    """What would be done; nothing is written yet.

    Attributes:
        given: what the engine was asked with.
        stored: in the order in which they were said.
        suggested: what waits for a person.
        refused: what is not kept, with reasons.
        known: proposals that say nothing new.
        handled: uuids of the messages that were looked at or left to the agent.
        covered: uuids of the messages that the agent itself made memory of.
        offset: byte of the transcript to go on from.
        usage, log: the engine's, see `Extraction`.
    """

    given: ExtractInput
    stored: tuple[Placed, ...] = ()
    suggested: tuple[Placed, ...] = ()
    refused: tuple[Refused, ...] = ()
    known: tuple[Change, ...] = ()
    handled: tuple[str, ...] = ()
    covered: tuple[str, ...] = ()
    offset: int = 0
    usage: Usage | None = None
    log: tuple[str, ...] = ()


def home(type: str, sharing: Sharing) -> ScopeName:
    """Scope of a new memory of a type (design.md section 2)."""
    if sharing == "off" or type == "feedback":
        return "local"
    return "user" if type == "user" else "project"


def plan_extraction(
    session: Session, handled: Container[str], known: Known, engine: Engine, rules: Rules
) -> ExtractionPlan:
    """Plans the extraction from a session, or from the part of it after a cursor.

    Args:
        session: what was said.
        handled: uuids of messages that were extracted from before.
        known: memories, tombstones and suggestions that are there.

    Raises:
        EngineError: the engine failed.
        DetectorUnavailable: secrets cannot be looked for, so nothing may be stored.
    """
    looked = to_look_at(session.messages, handled, rules.folders, session.cwd)
    given = ExtractInput(looked.messages, known.manifest, rules.texts, session.id)
    plan = ExtractionPlan(given, handled=looked.handled, covered=looked.covered, offset=session.end)
    if rules.mode == "off" or not looked.messages:
        return plan
    sorter = _Sorter(known, rules)
    found = engine.extract(given)
    for change in found.changes:
        sorter.sort(change)
    return replace(
        plan,
        stored=tuple(sorter.stored),
        suggested=tuple(sorter.suggested),
        refused=tuple(sorter.refused),
        known=tuple(sorter.seen),
        usage=found.usage,
        log=found.log,
    )


@dataclass
class _Sorter:
    """Passes an engine's proposals one by one, since a later one may repeat an earlier."""

    known: Known
    rules: Rules
    stored: list[Placed] = field(default_factory=list)
    suggested: list[Placed] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    seen: list[Change] = field(default_factory=list)

    def sort(self, change: Change) -> None:
        if change.op == "noop":
            self.seen.append(change)
            return
        refusal = self._refusal(change)
        if refusal is not None:
            self.refused.append(refusal)
            return
        placed = self._placed(change)
        if placed is None:
            self.seen.append(replace(change, op="noop", reason=f"known already: {change.description}"))
        elif change.asked or (self.rules.mode == "auto" and change.op != "delete"):
            self.stored.append(placed)
        elif self.known.waits(_body_keys(change)) and change.op != "delete":
            self.seen.append(
                replace(change, op="noop", reason=f"waits in review already: {change.description}")
            )
        else:
            self.suggested.append(placed)

    def _refusal(self, change: Change) -> Refused | None:
        message = change.origin.first
        texts = [change.description, change.name, change.reason]
        texts += [claim.text for claim in parse_body(change.body).claims]
        secrets = refused_claims(texts, self.rules.allow)
        if secrets:
            first = secrets[min(secrets)]
            return Refused(first.claim_text_redacted, first.reason, "secret", message)
        text = " ".join(change.description.split())[:TEXT_CHARS]
        if change_from_json(change_to_json(change)) is None:
            return Refused(text, "it is too long, or no memory could be called so", "form", message)
        if change.op == "delete":
            return None
        if len(change.body.encode()) > MEMORY_BYTES // 2:
            return Refused(text, f"is longer than {MEMORY_BYTES // 2:,} bytes", "form", message)
        reason = excluded(change.body, kind=change.type, rules=self.rules.texts)
        if reason:
            return Refused(text, reason, "excluded", message)
        if any(self.known.buried(change.agent, key) for key in claim_keys(change)):
            return Refused(text, "it was forgotten or rejected", "tombstone", message)
        return None

    def _placed(self, change: Change) -> Placed | None:
        """Where a change goes; None where all that it says is there already."""
        scope = home(change.type, self.rules.sharing)
        if change.op != "add":
            target = self._target(change, scope)
            if change.op == "delete":
                return target
            change = target.change if target else replace(change, op="add", file="")
            scope = target.scope if target else scope
        said = parse_body(change.body).claims
        fresh = [
            claim
            for claim in said
            if not self.known.find(change.agent, claim.key) and not self._planned(change.agent, claim.key)
        ]
        if not fresh:
            return None
        if change.op == "add" and said and fresh[0] is not said[0]:
            # The statement stands somewhere: its new reason belongs beside it.
            place = self.known.find(change.agent, said[0].key)
            if place is not None and _may_hold(place.scope, change.type):
                change = replace(change, op="update", file=place.file)
                return Placed(place.scope, change)  # type: ignore[arg-type]
        return Placed(scope, change)

    def _target(self, change: Change, preferred: ScopeName) -> Placed | None:
        """The memory that an update or delete is about, of several the one in the scope it belongs to."""
        found = [
            header.scope
            for header in self.known.manifest
            if (header.agent, header.file) == (change.agent, change.file)
            and _may_hold(header.scope, change.type)
        ]
        if not found:
            return None
        named = [
            header.scope
            for header in self.known.manifest
            if (header.agent, header.file, header.name) == (change.agent, change.file, change.name)
            and header.scope in found
        ]
        scope = preferred if preferred in (named or found) else (named or found)[0]
        return Placed(scope, change)  # type: ignore[arg-type]

    def _planned(self, agent: str, key: str) -> bool:
        return any(
            placed.agent == agent and key in _body_keys(placed.change)
            for placed in (*self.stored, *self.suggested)
        )


def _may_hold(scope: str, type: str) -> bool:
    """What is said about a person, or to them, joins no memory of the whole team."""
    return scope != "project" or type in ("project", "reference")


def _body_keys(change: Change) -> frozenset[str]:
    return frozenset(claim.key for claim in parse_body(change.body).claims)


def folders_of(paths: Collection[Path]) -> tuple[Path, ...]:
    """Live directories as a transcript may name them: as given and with links resolved."""
    return tuple(dict.fromkeys(form for path in paths for form in (path, path.resolve())))
