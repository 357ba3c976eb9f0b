"""Decides what one session teaches: what is stored, what waits for a person, what is refused and why."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Literal

from gitmem.core.change import Change, Edited, Header
from gitmem.core.claim import Claim, parse_body
from gitmem.core.facts import about, missing_facts
from gitmem.core.limits import MEMORY_BYTES
from gitmem.core.memory import Memory, parse, with_after
from gitmem.core.trailers import Usage
from gitmem.engines.derivation import asked_in
from gitmem.engines.engine import Engine, ExtractInput
from gitmem.engines.offline import wording
from gitmem.engines.offline.corrections import differs_in_value, with_statement
from gitmem.engines.offline.likeness import gist, near, same
from gitmem.flows.extract.sessions import (
    UNREAD,
    Conversation,
    LeftOut,
    SessionPart,
    SessionSource,
    Turns,
    handled_messages,
    part_of,
    turns_of,
)
from gitmem.ledger.apply import Judged, Placed, RefusedChange
from gitmem.ledger.edits import (
    as_logged,
    claim_keys,
    dated,
    is_reason,
    is_text,
    log_lines,
    moment,
    nameless,
    said_anew,
    sides,
    taken_out,
    texts,
)
from gitmem.ledger.knowledge import KnownMemory
from gitmem.ledger.layout import LIVE_FOLDERS, auto_memory
from gitmem.ledger.suggestions import TEXT_CHARS, change_from_json, change_to_json, digest
from gitmem.ledger.workspace import MAIN, ScopeName, Workspace, home
from gitmem.rules.exclusions import exclusion_reason
from gitmem.rules.rule import Finding
from gitmem.rules.screen import refused_claims, weigh
from gitmem.transcripts.model import Message, Session
from gitmem.transcripts.privacy import withhold
from gitmem.transcripts.reader import answered_key

WRITTEN = 0.6
"""Of the words of a statement, that stand in what the agent wrote where that says the same."""


Mode = Literal["auto", "suggest", "off"]


@dataclass(frozen=True)
class Rules:
    """What a plan follows.

    Attributes:
        mode: `gitmem.extract`.
        sharing: `gitmem.share`.
        texts: whole texts of CLAUDE.md, AGENTS.md and their like.
        folders: live directories, absolute.
        allow: fingerprints of secrets that the person accepted.
        agent: whose session it is.
        scope: the scope of a subagent's memory, as its definition says; None for `main`.
        left_out: uuids of messages that no engine may see.
        log: whether what is learned goes to daily logs (`gitmem.mode`), and nothing else is touched.
        tracks: says of a path, or of the end of one, whether the code has it.
    """

    mode: Mode = "suggest"
    sharing: str = "off"
    texts: tuple[str, ...] = ()
    folders: tuple[Path, ...] = ()
    allow: frozenset[str] = frozenset()
    agent: str = MAIN
    scope: ScopeName | None = None
    left_out: frozenset[str] = frozenset()
    log: bool = False
    tracks: Callable[[str], bool] = lambda _: True


def folders_of(paths: Collection[Path]) -> tuple[Path, ...]:
    """Live directories as a transcript may name them: as given and with links resolved."""
    return tuple(dict.fromkeys(form for path in paths for form in (path, path.resolve())))


def rules_of(
    workspace: Workspace, texts: tuple[str, ...], allow: frozenset[str], *, by_hand: bool = False
) -> Rules:
    """The rules for all sessions of a repository.

    Args:
        texts: whole texts of its instruction files.
        allow: fingerprints of secrets that the person accepted.
        by_hand: the person asked for it: `off` counts as `suggest`.
    """
    mode = workspace.settings.get("extract")
    return Rules(
        mode="suggest" if by_hand and mode == "off" else mode,  # type: ignore[arg-type]
        sharing=workspace.sharing,
        texts=texts,
        folders=folders_of(_live_folders(workspace)),
        allow=allow,
        log=workspace.logs,
        tracks=workspace.tracks,
    )


def rules_for(base: Rules, source: SessionSource, session: Session, out: LeftOut) -> Rules:
    """The rules for one session: whose it is, and what in it was said while nothing was to be learned."""
    return replace(base, agent=source.agent, scope=source.scope, left_out=out(session, False))


def throttled(workspace: Workspace, source: SessionSource, session: Session, rules: Rules) -> str:
    """Why a session is left for later; empty where it is its turn."""
    every = workspace.settings.number("extractEvery")
    if source.pressing or source.agent != MAIN or every <= 1:
        return ""
    known = handled_messages(workspace)
    turns = sum(
        message.role == "person" and message.source == "prompt" and message.uuid not in known
        for message in session.messages
        if message.uuid not in rules.left_out
    )
    return f"{turns} of {every} turns since the last time (gitmem.extractEvery)" if turns < every else ""


def _live_folders(workspace: Workspace) -> list[Path]:
    """Folders in which a file is a memory, whether or not they exist."""
    tops = [tree.path / workspace.claude_folder for tree in workspace.worktrees]
    folders = [top / folder for top in tops for folder in LIVE_FOLDERS.values()]
    auto = auto_memory(workspace)
    return [*folders, *([auto] if auto else []), workspace.around.config / "agent-memory"]


@dataclass(frozen=True, kw_only=True)
class ExtractionPlan(Judged):
    """What would be done; nothing is written yet.

    Attributes:
        given: what the engine was asked with.
        handled: uuids of the messages that were looked at or left to the agent.
        covered: uuids of the messages that the agent itself made memory of: what was found in them stands
            in what it wrote in that turn.
        offset: byte of the transcript to go on from.
        engine: the name of the one that looked.
        usage, log: the engine's, see `Extraction`.
        tell: what the session's agent may be told of, best first; None where the engine tells no agent.
    """

    given: ExtractInput
    handled: tuple[str, ...] = ()
    covered: tuple[str, ...] = ()
    offset: int = 0
    engine: str = ""
    usage: Usage | None = None
    log: tuple[str, ...] = ()
    tell: tuple[Change, ...] | None = None


def plan_extraction(
    session: Session,
    handled: Container[str],
    known: KnownMemory,
    engine: Engine,
    rules: Rules,
    whole: Conversation = UNREAD,
    *,
    worktree: Path | None = None,
    now: float = 0.0,
) -> ExtractionPlan:
    """Plans the extraction from a session, or from the part of it after a cursor.

    Args:
        session: what was said.
        handled: uuids of messages that were extracted from before.
        known: memories, tombstones and suggestions that are there.
        whole: what else was said in the session.
        worktree: top of the code's work tree.
        now: epoch seconds.

    Raises:
        EngineError: the engine failed.
        DetectorUnavailable: secrets cannot be looked for, so nothing may be stored.
    """
    turns = _turns(session, handled, engine, rules)
    part = SessionPart(turns.messages, whole.record)
    if engine.reads_history:
        part = _part(session, whole.record, turns, rules)
    given = ExtractInput(
        part.messages,
        known.manifest,
        rules.texts,
        session.id,
        agent=rules.agent,
        memory=known.memory(rules.agent),
        history=part.history,
        seen=part.seen,
        known_before=whole.known_before if engine.reads_history else (),
        transcript=session.path,
        worktree=worktree,
        now=now,
        suggested=sum(one.change.origin.session == session.id for one in known.suggestions),
        answered=frozenset(m.uuid for m in part.messages if answered_key(m.uuid) in handled),
    )
    plan = ExtractionPlan(given=given, handled=turns.handled, offset=session.end)
    if rules.mode == "off" or not turns.messages:
        return plan
    times = {m.uuid: m.time for m in (*whole.record, *session.messages)}
    sorter = _Sorter(known, rules, times, session.id, now, turns.written)
    found = engine.extract(given)
    made = sorter.judged(_open_changes(found.changes, given))
    return replace(
        plan,
        **vars(made),
        covered=tuple(dict.fromkeys(sorter.covered)),
        # The name of a fork has its model in it once it has run.
        engine=found.engine or engine.name,
        usage=found.usage,
        log=found.log,
        tell=None if found.tell is None else tuple(filter(sorter.may_be_told, found.tell)),
    )


def _open_changes(changes: Sequence[Change], given: ExtractInput) -> Iterator[Change]:
    """The changes without those that were made while another engine failed.

    Whoever took one of them back since would have it again. Of what else such a message says the person
    asked for nothing.
    """
    done = asked_in(given) if given.answered else ()
    for change in changes:
        if not change.asked or change.origin.first not in given.answered:
            yield change
        elif not any(_is_same_request(change, one) for one in done):
            yield replace(change, asked=False)


def _is_same_request(change: Change, done: Change) -> bool:
    if change.op == "delete" or done.op == "delete":
        return (change.op, change.file) == (done.op, done.file)
    return change.body == done.body or says(change.body, [done.body])


def judge(change: Change, known: KnownMemory, rules: Rules) -> Judged:
    """Passes a change that no session brought through the same gates: guard, exclusions, tombstones."""
    return _Sorter(known, rules, {}, "", 0.0).judged([change])


def _turns(session: Session, handled: Container[str], engine: Engine, rules: Rules) -> Turns:
    turns = turns_of(session.messages, handled, rules.folders, session.cwd, rules.left_out)
    if turns.messages or rules.agent == MAIN or not engine.reads_history:
        return turns
    # To a subagent no person speaks: a model may learn from its work, nobody else from its talk.
    work = tuple(m for m in session.messages if m.role == "agent" and m.uuid not in rules.left_out)
    return replace(turns, messages=work if any(m.text.strip() for m in work) else ())


def _part(session: Session, record: Sequence[Message], turns: Turns, rules: Rules) -> SessionPart:
    recorded = {message.uuid for message in record}
    rest = (message for message in session.messages if message.uuid not in recorded)
    every = withhold((*record, *rest), rules.left_out)
    return part_of(every, turns.messages, agents_too=rules.agent != MAIN)


@dataclass
class _Sorter:
    """Passes an engine's proposals one by one, since a later one may repeat an earlier."""

    known: KnownMemory
    rules: Rules
    times: Mapping[str, datetime | None]
    session: str
    now: float
    written: Mapping[str, Sequence[str]] = field(default_factory=dict)
    covered: list[str] = field(default_factory=list)
    stored: list[Placed] = field(default_factory=list)
    suggested: list[Placed] = field(default_factory=list)
    refused: list[RefusedChange] = field(default_factory=list)
    seen: list[Change] = field(default_factory=list)

    def judged(self, changes: Iterable[Change]) -> Judged:
        """What became of all of them."""
        for change in changes:
            self.sort(change)
        return Judged(tuple(self.stored), tuple(self.suggested), tuple(self.refused), tuple(self.seen))

    def sort(self, change: Change) -> None:
        if self.rules.agent != MAIN:
            change = replace(change, agent=self.rules.agent)
        if change.op == "noop":
            self.seen.append(change)
            return
        if self._is_written(change):
            self.covered.append(change.origin.first)
            self.seen.append(replace(change, op="noop", reason="the agent wrote it itself in that turn"))
            return
        change, is_open = self._dated(change)
        weighed = weigh(texts(change), self.rules.allow)
        refusal = self._refusal(change, weighed.refused)
        if refusal is not None:
            self.refused.append(refusal)
            return
        doubts = [secret.rule for found in weighed.warned.values() for secret in found]
        if doubts:
            change = nameless(change, doubts, self.rules.allow)
        placed = self._placed(change)
        into = self._logged(placed) if placed and self.rules.log and change.op != "delete" else placed
        if into is not None and into is not placed and (refusal := self._secret(into.change)) is not None:
            self.refused.append(refusal)
            return
        if placed is None or into is None:
            self.seen.append(replace(change, op="noop", reason=f"known already: {change.description}"))
        elif not doubts and self._may_pass(placed, is_open):
            self.stored.append(into)
        elif self._waits(placed.change):
            self.seen.append(
                replace(change, op="noop", reason=f"waits in review already: {change.description}")
            )
        else:
            self.suggested.append(placed)

    def may_be_told(self, change: Change) -> bool:
        """Whether a statement is put to the agent: no rule keeps it out of memory, and it is not there."""
        weighed = weigh(texts(change), self.rules.allow)
        if weighed.warned or self._refusal(change, weighed.refused) is not None or self._waits(change):
            return False
        if any(self.known.find(change.agent, key) for key in _body_keys(change)):
            return False
        known = [header.description for header in self.known.manifest]
        for placed in self.stored:
            known += [placed.change.description, placed.change.body]
        return not says(change.body, known)

    def _may_pass(self, placed: Placed, is_open: bool) -> bool:
        """Whether no person has to look at it first."""
        asked = placed.change.asked and self._may_take(placed)
        return asked or self._may_store(placed.change, is_open)

    def _may_store(self, change: Change, is_open: bool) -> bool:
        """Whether it is stored unasked: what takes something away or needs a date is a person's."""
        takes = change.op == "delete" or (bool(taken_out(change)) and not self.rules.log)
        return self.rules.mode == "auto" and not is_open and not takes

    def _may_take(self, placed: Placed) -> bool:
        """Whether what was plainly asked for may be done unreviewed: it takes nothing from the team.

        In log mode nothing is taken out.
        """
        gone = placed.change.op == "delete"
        theirs = placed.scope == "project" and (gone or bool(taken_out(placed.change)))
        return not theirs and not (gone and self.rules.log)

    def _logged(self, placed: Placed) -> Placed | None:
        """The lines for a log of the scope that a change goes to; None where all of it is known."""
        change = placed.change
        origin = replace(change.origin, session=change.origin.session or self.session)
        said = origin.time or self.times.get(origin.last) or self.times.get(origin.first)
        made = as_logged(
            replace(change, origin=origin),
            lambda key: self._is_known(change.agent, key),
            moment(said, self.now),
        )
        return Placed(placed.scope, made) if made else None

    def _secret(self, logged: Change) -> RefusedChange | None:
        """Why lines are refused: what stands in two paragraphs is read together in one line."""
        secrets = refused_claims(tuple(line.text for line in log_lines(logged)), self.rules.allow)
        if not secrets:
            return None
        first = secrets[min(secrets)]
        return RefusedChange(first.text, first.message, "secret", logged.origin.first)

    def _is_known(self, agent: str, key: str) -> bool:
        said = self.known.find(agent, key) or (self.rules.log and self.known.logged(agent, key))
        return bool(said) or self._planned(agent, key)

    def _is_written(self, change: Change) -> bool:
        """Whether what a change says stands in what the agent wrote in that turn; in doubt it does not."""
        texts = {*self.written.get(change.origin.first, ()), *self.written.get(change.origin.last, ())}
        claims = parse_body(change.body).claims
        if not texts or not claims or change.op == "delete" or sides(change) is not None:
            return False
        said, there = claims[0].text, "\n".join(sorted(texts))
        words = about(said)
        return len(words & about(there)) >= WRITTEN * len(words) and not missing_facts(said, there)

    def _dated(self, change: Change) -> tuple[Change, bool]:
        """The change with its relative dates made clear, and whether one is left for a person."""
        if change.op == "delete":
            return change, False
        said = change.origin.time or self.times.get(change.origin.last)
        change, is_open = dated(change, said)
        if is_open and change.asked:
            change = replace(
                change, asked=False, reason=f"{change.reason} (the date it speaks of is unclear)"
            )
        return change, is_open

    def _refusal(self, change: Change, secrets: Mapping[int, Finding]) -> RefusedChange | None:
        message = change.origin.first
        if secrets:
            first = secrets[min(secrets)]
            return RefusedChange(first.text, first.message, "secret", message)
        text = " ".join(change.description.split())[:TEXT_CHARS]
        if not is_text(change) or change_from_json(change_to_json(change)) is None:
            return RefusedChange(text, "it is too long, or no memory could be written so", "form", message)
        if any(self.known.buried(change.agent, key) for key in claim_keys(change)):
            return RefusedChange(text, "it was forgotten or rejected", "tombstone", message)
        if change.op == "delete":
            return None
        if len(change.body.encode()) > MEMORY_BYTES // 2:
            return RefusedChange(text, f"is longer than {MEMORY_BYTES // 2:,} bytes", "form", message)
        if sides(change) is not None and not any(self._edited_there(change)):
            return RefusedChange(text, "it edits what does not stand there", "form", message)
        said = "\n\n".join(claim.text for claim in said_anew(change)) if change.edited else change.body
        reason = exclusion_reason(said, kind=change.type, rules=self.rules.texts, tracks=self.rules.tracks)
        if reason:
            return RefusedChange(text, reason, "excluded", message)
        return None

    def _placed(self, change: Change) -> Placed | None:
        """Where a change goes; None where all that it says is there already."""
        scope = self._home(change.type)
        if change.op != "add":
            target = self._target(change, scope)
            if change.op == "delete":
                return target
            change = target.change if target else replace(change, op="add", file="", edited=None)
            scope = target.scope if target else scope
        if sides(change) is not None:
            # What it says may stand in another memory, too: it may be on its way from there.
            return Placed(scope, change) if said_anew(change) or taken_out(change) else None
        said = parse_body(change.body).claims
        fresh = [claim for claim in said if not self._is_known(change.agent, claim.key)]
        if not fresh:
            return None
        if change.op == "add" and said and fresh[0] is not said[0]:
            # The statement stands somewhere: its new reason belongs beside it.
            place = self.known.find(change.agent, said[0].key)
            if place is not None and self._may_join(place.scope, change.type):
                change = replace(change, op="update", file=place.file, edited=None)
                return Placed(place.scope, change)  # type: ignore[arg-type]
        if change.op == "add":
            joins = nearest(change, self._open_to(change))
            if joins is not None:
                why = f"says more or otherwise than {joins.name}: {change.reason}"
                update = replace(change, op="update", file=joins.file, reason=why, edited=None)
                change = self._joined(update, joins.scope) or change
                scope = joins.scope if change.op == "update" else scope  # type: ignore[assignment]
        elif (joined := self._joined(change, scope)) is not None:
            change = joined
        else:
            name = wording.slug(change.description)
            return Placed(self._home(change.type), replace(change, op="add", name=name, file=""))
        return Placed(scope, change)

    def _joined(self, change: Change, scope: str) -> Change | None:
        """What joins claims to a memory about the same, judged; None for what is to be a memory of its own.

        What is against a claim of the memory joins nothing: it would stand under the old description. It
        takes the claim's place where the two differ in one value alone, unless a person rejected that.
        """
        data = self.known.files[scope][f"{change.agent}/{change.file}"]
        memory = parse(change.file, data)
        said = parse_body(change.body).claims
        against = [
            number
            for number, claim in enumerate(memory.parsed.claims)
            if said and not is_reason(claim.text) and opposed(said[0].key, claim.key)
        ]
        if not against and not opposed(change.description, memory.description):
            return change
        after = _in_place_of(against[0], memory, said) if len(against) == 1 else None
        if after is None:
            return None
        edited = Edited(data, after.render())
        instead = replace(change, name=memory.name, description=after.description, edited=edited)
        buried = any(self.known.buried(instead.agent, key) for key in claim_keys(instead))
        return None if buried else instead

    def _home(self, type: str) -> ScopeName:
        """Scope of a new memory; a subagent's own, unless the team would see what is about a person."""
        scope = self.rules.scope
        if scope is None:
            return home(type, self.rules.sharing)
        return scope if _may_hold(scope, type) else "local"

    def _may_join(self, scope: str, type: str) -> bool:
        return _may_hold(scope, type) and self.rules.scope in (None, scope)

    def _open_to(self, change: Change) -> Iterator[Header]:
        """Memories that a change may join, those of the scope it belongs to first."""
        found = [
            header
            for header in self.known.manifest
            if header.agent == change.agent and self._may_join(header.scope, change.type)
        ]
        home = self._home(change.type)
        yield from sorted(found, key=lambda header: header.scope != home)

    def _edited_there(self, change: Change) -> Iterator[str]:
        """Scopes in which the file stands as the engine found it."""
        path = f"{change.agent}/{change.file}"
        for scope, files in self.known.files.items():
            if change.edited is not None and files.get(path) == change.edited.before:
                yield scope

    def _target(self, change: Change, preferred: ScopeName) -> Placed | None:
        """The memory that an update or delete is about, of several the one in the scope it belongs to."""
        alike = set(self._edited_there(change)) if sides(change) is not None else None
        found = [
            header.scope
            for header in self.known.manifest
            if (header.agent, header.file) == (change.agent, change.file)
            and self._may_join(header.scope, change.type)
            and (alike is None or header.scope in alike)
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

    def _waits(self, change: Change) -> bool:
        if change.op == "delete" or sides(change) is not None:
            return any(digest(one.change) == digest(change) for one in self.known.suggestions)
        return self.known.waits(_body_keys(change)) is not None

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


def opposed(new: str, known: str) -> bool:
    """Whether two texts about the same thing each lack a number, a name or a negation of the other."""
    return (
        near(gist(new), gist(known)) and bool(missing_facts(new, known)) and bool(missing_facts(known, new))
    )


def _in_place_of(number: int, memory: Memory, said: Sequence[Claim]) -> Memory | None:
    """The memory with a statement, reasons and all, in a claim's place; None where more differs."""
    statement, *reasons = said
    if statement.item or not all(is_reason(claim.text) for claim in reasons):
        return None
    if not differs_in_value(statement.key, memory.parsed.claims[number].key):
        return None
    after = with_statement(memory, number, statement.text)
    return with_after(after, number, reasons) if after is not None and reasons else after


def nearest(change: Change, headers: Iterable[Header]) -> Header | None:
    """The memory that is about the same thing, by its name and description; None where there is none.

    Likeness only proposes: what an update brings is joined to the memory, and takes nothing out of it.

    Args:
        change: an add.
        headers: memories that it may join.
    """
    claims = parse_body(change.body).claims
    said = [gist(text) for text in (change.description, claims[0].text if claims else "") if text]
    best: tuple[float, Header] | None = None
    for header in headers:
        named = gist(f"{header.name.replace('-', ' ').replace('_', ' ')} {header.description}")
        known = gist(header.description) if header.description else named
        for new in said:
            if not near(new, known):
                continue
            score = len(new.words & known.words) / len(new.words | known.words)
            if best is None or score > best[0]:
                best = (score, header)
    return best[1] if best else None


def says(text: str, known: Iterable[str]) -> bool:
    """Whether one of some texts says all that a text does, with the same numbers, names and negations."""
    new = gist(text)
    return any(same(new, gist(one)) for one in known if one)
