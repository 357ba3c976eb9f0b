"""Extraction from sessions: plan, keep the plan on disk, land it; what a crash left is landed first.

What is about to be written is one JSON file a session, `<job id>.json`, in `<common git
dir>/gitmem/spool/changesets/`, before its first commit.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

from gitmem.core.change import Change
from gitmem.core.claim import parse_body
from gitmem.core.errors import EngineError
from gitmem.core.names import kind
from gitmem.core.text import counted, iso
from gitmem.core.trailers import Provenance, parse_usage
from gitmem.engines.derivation import asked_in
from gitmem.engines.engine import Engine, ExtractInput, Extraction
from gitmem.engines.offline import OfflineEngine
from gitmem.flows.extract.plan import ExtractionPlan, Rules, plan_extraction, rules_for, says, throttled
from gitmem.flows.extract.sessions import (
    MOST,
    MOST_FOR_MODEL,
    UNREAD,
    Conversation,
    LeftOut,
    News,
    SessionSource,
    conversation_of,
    handled_messages,
    news,
    read,
    record_of,
    reporter,
)
from gitmem.git.locks import writer_lock
from gitmem.git.repository import Signature
from gitmem.ledger import failures, reminders
from gitmem.ledger.apply import Placed, bring_up_to_date, land_change
from gitmem.ledger.files import read_regular, write_atomically
from gitmem.ledger.job_record import RunTally, fit
from gitmem.ledger.knowledge import KnownMemory, known_at
from gitmem.ledger.land import Copies, Written
from gitmem.ledger.layout import auto_memory
from gitmem.ledger.suggestions import (
    Suggestion,
    change_from_json,
    change_to_json,
    digest,
    open_suggestions,
    propose,
    settle,
    suggest,
    suggestion_from_json,
    to_bytes,
)
from gitmem.ledger.workspace import SCOPES, ScopeName, Workspace
from gitmem.transcripts import discover
from gitmem.transcripts import reader as cursors
from gitmem.transcripts.claude_code import is_subagents
from gitmem.transcripts.model import Message, Session
from gitmem.transcripts.reader import Cursor, Handled, answered_key, cursor_name, is_answered
from gitmem.transcripts.writes import writes_memory

FAILURES_BORNE = 2
"""Sessions that an engine may fail at before the rest waits, where it does not say that they are why."""

CHANGESET_BYTES = 64 * 1024 * 1024

VERSION = 1
JOB_DIGITS = 12


@dataclass(frozen=True)
class ChangeSet:
    """One session's extraction.

    Attributes:
        job: id; the n-th stored memory is the job `<id>.<n>`, counted from 1.
        session: id of the recorded session.
        engine: value of the `Gitmem-Engine` trailer.
        code_commit: commit of the code at that time; empty on an unborn branch.
        bases: scope to the tip it was planned on; empty for a ref that did not exist.
        handled: uuids of the messages that were looked at.
        cursor: name and byte offset of the cursor to be saved; an empty name saves none.
        usage: what asking a model for it cost, as the `Gitmem-Usage` trailer says it; empty for none.
    """

    job: str
    session: str
    engine: str
    code_commit: str
    bases: Mapping[str, str] = field(default_factory=dict)
    stored: tuple[Placed, ...] = ()
    suggested: tuple[Suggestion, ...] = ()
    handled: tuple[str, ...] = ()
    cursor: tuple[str, int] = ("", 0)
    usage: str = ""


def job_id(session: str, start: int, end: int, now: float) -> str:
    """Names a job, another one for each attempt to plan.

    Args:
        start, end: bytes of the transcript that it covers.
        now: epoch seconds.
    """
    text = f"{session}\0{start}\0{end}\0{now!r}"
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:JOB_DIGITS]


def to_json(changes: ChangeSet) -> bytes:
    """The file's bytes."""
    data = {
        "version": VERSION,
        "job": changes.job,
        "session": changes.session,
        "engine": changes.engine,
        "code_commit": changes.code_commit,
        "bases": dict(changes.bases),
        "stored": [{"scope": p.scope, "change": change_to_json(p.change)} for p in changes.stored],
        "suggested": [json.loads(to_bytes(one)) for one in changes.suggested],
        "handled": list(changes.handled),
        "cursor": list(changes.cursor),
        "usage": changes.usage,
    }
    return (json.dumps(data, indent=1) + "\n").encode("ascii")


def from_json(data: bytes) -> ChangeSet | None:
    """Reads a file; None where it is damaged: nothing of it is carried out then."""
    try:
        value = json.loads(data)
        if value["version"] != VERSION:
            return None
        name, offset = value["cursor"]
        return ChangeSet(
            job=_text(value["job"]),
            session=_text(value["session"]),
            engine=_text(value["engine"]),
            code_commit=_text(value["code_commit"]),
            bases={_text(scope): _text(tip) for scope, tip in value["bases"].items()},
            stored=tuple(_placed(entry) for entry in value["stored"]),
            suggested=tuple(_suggestion(entry) for entry in value["suggested"]),
            handled=tuple(map(_text, value["handled"])),
            cursor=(_text(name), int(offset)),
            usage=_text(value.get("usage", "")),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a string")
    return value


def _placed(entry: Any) -> Placed:
    change = change_from_json(entry["change"])
    if change is None or entry["scope"] not in get_args(ScopeName):
        raise ValueError("not a placed change")
    return Placed(entry["scope"], change)


def _suggestion(entry: Any) -> Suggestion:
    one = suggestion_from_json(entry)
    if one is None:
        raise ValueError("not a suggestion")
    return one


Step = Callable[[str], None]
"""Is told before each step, e.g. `store 1`; what it raises ends the work there, as a crash would."""


def quietly(_: str) -> None:
    """Lets every step pass."""


Landed = Callable[[ChangeSet, Sequence[Written | None]], None]
"""Is told what was stored and parked, each time a changeset was landed."""


def nobody(_: ChangeSet, __: Sequence[Written | None]) -> None:
    """Is told and forgets it."""


@dataclass(frozen=True)
class ExtractWatch:
    """Who looks on while an extraction goes on.

    Attributes:
        step: is told before each step.
        landed: is told what was stored and parked.
        tally: counts what was done and what was skipped.
    """

    step: Step = quietly
    landed: Landed = nobody
    tally: RunTally = field(default_factory=RunTally)


@dataclass(frozen=True)
class ExtractContext:
    """What extractions of a repository work in.

    Attributes:
        now: epoch seconds.
        rules: what the workspace and its settings ask, for all sessions.
        copies: brings working copies in line with what was stored.
        left_out: says what of a session was said while nothing was to be learned.
        by_hand: the person asked for it: a pause keeps back only what was said in it, and a session
            that the engine failed at is looked at again.
    """

    workspace: Workspace
    now: float
    rules: Rules
    copies: Copies
    left_out: LeftOut
    by_hand: bool = False

    @property
    def author(self) -> Signature:
        """Who the person is, at that time; raises `RepositoryError` where git knows no identity."""
        return self.workspace.author(self.now)

    @property
    def cursors(self) -> Path:
        """Where it is kept how far each session was read."""
        return cursors.folder(self.workspace.state)

    @property
    def changesets(self) -> Path:
        """Where changesets wait for being landed."""
        return self.workspace.state / "spool" / "changesets"

    @property
    def reminders(self) -> Path:
        """Where it waits what agents are told."""
        return reminders.state_of(self.workspace.private_state, self.workspace.project_id)

    def conversation(self, engine: Engine, one: News, session: Session) -> Conversation:
        """What an engine gets of the session besides its new part."""
        if engine.reads_history:
            return conversation_of(self.workspace, one.source, session, self.left_out)
        if isinstance(engine, OfflineEngine) and one.start > 0 and session.end <= MOST:
            # An answer means nothing without its question, which was read the last time.
            return Conversation(record_of(self.workspace, one.source, session, self.left_out))
        return UNREAD


@dataclass(frozen=True)
class ExtractOutcome:
    """What became of one session.

    Attributes:
        commits: what was stored, in order; None in place of what was there already.
        parked: suggestions that wait now (some may have waited before).
    """

    path: Path
    plan: ExtractionPlan
    commits: tuple[Written | None, ...] = ()
    parked: tuple[Suggestion, ...] = ()

    @property
    def stored(self) -> Iterator[tuple[Placed, Written | None, str]]:
        """What was or would be stored, its commit, and its path in the tree."""
        commits = self.commits or (None,) * len(self.plan.stored)
        for placed, made in zip(self.plan.stored, commits, strict=True):
            asked = f"{placed.agent}/{placed.file}"
            edits = made.edits if made else {}
            written = [path for path, data in edits.items() if kind(path) == "memory" and data is not None]
            yield placed, made, asked if asked in edits or not written else written[0]


def extract_sessions(
    context: ExtractContext,
    engine: Engine,
    paths: Sequence[Path | SessionSource],
    *,
    before: Callable[[Sequence[Path]], object] | None = None,
    watch: ExtractWatch | None = None,
) -> tuple[ExtractOutcome, ...]:
    """Extracts from sessions, after what an earlier, interrupted run left.

    Args:
        paths: transcripts, oldest first; a bare path is one of `main` that is looked at now.
        before: is called with the recordings that hold something new before anything is planned: to save
            what agents wrote.
        watch: looks on.

    Returns:
        One outcome for each session with something new in it.

    Raises:
        EngineError: the engine failed; what it was to look at waits, the rest is done, and what people
            plainly asked for is stored all the same.
        RepositoryError: no identity, or a ref cannot be written; nothing is lost, run it again.
        Locked: another extraction is under way.
    """
    on, workspace, now = watch or ExtractWatch(), context.workspace, context.now
    who = context.author
    done: list[ExtractOutcome] = []
    errors: list[EngineError] = []
    kept = 0
    # A fork's name has the model of its last session in it.
    asked = engine.name
    with writer_lock(workspace.state, "extract", timeout=60.0):
        recover(context, who, on)
        fresh = news(workspace, paths)
        if before is not None:
            before([one.source.path for one in fresh])
        most = MOST_FOR_MODEL if engine.reads_history else MOST
        for one, session in read(workspace, fresh, most=most) if context.rules.mode != "off" else ():
            if sum(not error.of_input for error in errors) == FAILURES_BORNE:
                on.tally.skip(_label(session), "the engine failed at others")
                kept += _store_asked(context, one, who, on)
                continue
            name = cursor_name(session.path)
            if not context.by_hand and (
                one_held := failures.rest_of(workspace.state, "session", name, now, asked)
            ):
                on.tally.skip(_label(session), _left_alone(asked, one_held))
                kept += _store_asked(context, one, who, on)
                continue
            rules = rules_for(context.rules, one.source, session, context.left_out)
            if too_few := throttled(workspace, one.source, session, rules):
                on.tally.skip(_label(session), too_few)
                continue
            try:
                plan = _planned(
                    context, engine, one, session, rules, handled_messages(workspace), known_at(workspace)
                )
            except EngineError as error:
                errors.append(error)
                on.tally.skip(_label(session), f"{engine.name} failed; it waits")
                if error.of_input:
                    failures.note_failure(workspace.state, "session", name, now, asked)
                kept += _store_asked(context, one, who, on)
                continue
            failures.clear(workspace.state, "session", name)
            done.append(_land(context, one, session, plan, who, on))
    if errors:
        if kept:
            stored = f"What was plainly asked for is stored: {counted(kept, 'memory')}."
            errors[0].hint = ". ".join(filter(None, (errors[0].hint.rstrip("."), stored)))
        raise errors[0]
    return tuple(done)


class _AskedOnly(OfflineEngine):
    """The offline rules, as far as they find what was plainly asked for."""

    def extract(self, given: ExtractInput) -> Extraction:
        return Extraction(asked_in(given))


def _store_asked(context: ExtractContext, one: News, who: Signature, on: ExtractWatch) -> int:
    """Stores what a person plainly asked for in a session that another engine is to look at later.

    The cursor stays, so that the engine is still shown all of it; how far this went is kept beside it, so
    that no job looks at the same again while the engine fails.

    Returns:
        how many changes of memory that was.
    """
    engine, workspace, kept = _AskedOnly(), context.workspace, 0
    name = answered_key(cursor_name(one.source.path))
    before = cursors.load(context.cursors, name).offset
    if before <= discover.size_of(one.source.path):
        one = replace(one, start=max(one.start, before))
    for part, session in read(workspace, [one], follow=True):
        if session.end == part.start:
            break
        rules = rules_for(context.rules, one.source, session, context.left_out)
        plan = _planned(
            context, engine, part, session, rules, handled_messages(workspace), known_at(workspace)
        )
        found = (*(placed.change for placed in (*plan.stored, *plan.suggested)), *plan.known)
        marks = tuple(dict.fromkeys(answered_key(change.origin.first) for change in found))
        if not marks:
            cursors.save(context.cursors, Cursor(name, session.end))
            continue
        changes = replace(
            _changeset(context, session, part.start, plan),
            job=job_id(answered_key(session.id), part.start, session.end, context.now),
            handled=marks,
            cursor=(name, session.end),
        )
        _land_planned(context, session, plan, changes, who, on)
        kept += len(plan.stored)
    return kept


def _left_alone(engine: str, held: failures.Failure) -> str:
    """Why a session is not looked at now."""
    return f"{engine} failed at it {held.times} times; it is asked again after {iso(held.until)}"


def _planned(
    context: ExtractContext,
    engine: Engine,
    one: News,
    session: Session,
    rules: Rules,
    done: Handled,
    known: KnownMemory,
) -> ExtractionPlan:
    return plan_extraction(
        session,
        done,
        known.of(rules.agent),
        engine,
        rules,
        context.conversation(engine, one, session),
        worktree=context.workspace.layout.worktree,
        now=context.now,
    )


def _land(
    context: ExtractContext,
    one: News,
    session: Session,
    plan: ExtractionPlan,
    who: Signature,
    on: ExtractWatch,
) -> ExtractOutcome:
    """Lands one session's plan, once it is on disk."""
    changes = _changeset(context, session, one.start, plan)
    if _goes_on_to_write(session.messages, context.rules.folders, session.cwd):
        # A commit had it read to the middle of a turn; what was said in that is the agent's.
        last = cursors.load(context.cursors, cursor_name(session.path)).last
        reminders.settle(context.reminders, session.id, last)
    if plan.tell is not None and one.source.attended:
        changes = _put_to_agent(context, session, plan.tell, changes, on.tally)
    return _land_planned(context, session, plan, changes, who, on)


def _land_planned(
    context: ExtractContext,
    session: Session,
    plan: ExtractionPlan,
    changes: ChangeSet,
    who: Signature,
    on: ExtractWatch,
) -> ExtractOutcome:
    on.step("write the changeset")
    path = context.changesets / f"{changes.job}.json"
    if changes.stored or changes.suggested:
        write_atomically(path, to_json(changes))
    _count(context.workspace, on.tally, session, plan, len(changes.suggested))
    commits = land_changeset(context, changes, who, on)
    path.unlink(missing_ok=True)
    return ExtractOutcome(session.path, plan, commits, changes.suggested)


def _put_to_agent(
    context: ExtractContext, session: Session, tell: Sequence[Change], changes: ChangeSet, tally: RunTally
) -> ChangeSet:
    """Leaves what may last to the session's agent; finds that would be parked wait for what it decides.

    What gives up something that memory holds is parked at once: an agent that leaves it would leave memory
    beside its opposite. It is done before anything of the changeset: done once more after a crash, it
    changes nothing.
    """
    parked_now = tuple(one for one in changes.suggested if one.change.gives_up)
    said = [reminders.sentence(one.body, one.origin.last, one.confidence) for one in tell]
    held = [
        {"message": one.change.origin.last, "find": json.loads(to_bytes(one))}
        for one in changes.suggested
        if not one.change.gives_up
    ]
    workspace = context.workspace
    place = reminders.place_of(auto_memory(workspace), workspace.around.home)
    waiting = reminders.leave(context.reminders, session.id, said, held, place)
    if waiting is None:
        # Parked after all: nothing may be lost where nothing can be left.
        return changes
    if waiting:
        tally.log.append(f"{counted(waiting, 'statement')} put to the agent with the next prompt")
    return replace(changes, suggested=parked_now)


def park_untold(context: ExtractContext, sessions: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Parks the finds that waited for an agent which is told nothing any more, since its session has ended.

    Args:
        sessions: ids of sessions that ended now.

    Returns:
        each session with finds, and how many of them wait for a person now.
    """
    for name, rows in list(reminders.ended(context.reminders, sessions, context.now)):
        known = known_at(context.workspace)
        found = [one for row in rows if (one := suggestion_from_json(row.get("find"))) is not None]
        fresh = [one for one in found if not _stands(known, one.change)]
        if fresh:
            session = fresh[0].change.origin.session
            told = Provenance("add", "extract", session=session, engine=fresh[0].engine)
            propose(context.workspace, fresh, context.author, told)
            yield session, len(fresh)
        reminders.close(context.reminders, name)


def _stands(known: KnownMemory, change: Change) -> bool:
    """Whether the agent wrote it down by itself meanwhile, in whichever words."""
    if all(known.find(change.agent, claim.key) for claim in parse_body(change.body).claims):
        return True
    return says(change.description, [header.description for header in known.manifest])


def _count(
    workspace: Workspace,
    tally: RunTally,
    session: Session,
    plan: ExtractionPlan,
    parked: int,
) -> None:
    tally.sessions += 1
    tally.stored += len(plan.stored)
    tally.suggested += parked
    tally.refused += len(plan.refused)
    for refused in plan.refused:
        tally.skip(f"a find in {_label(session)}", refused.reason)
    tally.spent(plan.usage)
    if plan.given.messages:
        tally.engine = plan.engine
    else:
        tally.skip(_label(session), "nothing new was said in it that may be learned")
    tally.log += plan.log
    for text in plan.log:
        reporter(workspace)(f"{plan.engine}: {fit(text)}")


def foresee(
    context: ExtractContext, engine: Engine, paths: Sequence[Path], *, anew: bool = False
) -> tuple[ExtractOutcome, ...]:
    """What `extract_sessions` would do; writes nothing, not even a cursor.

    Args:
        anew: as if nothing of the sessions had been looked at before. What was learned of them stands among
            what is known.
    """
    workspace = context.workspace
    done = Handled() if anew else handled_messages(workspace)
    known = known_at(workspace)
    fresh = (
        [News(0, SessionSource(path, pressing=True)) for path in paths] if anew else news(workspace, paths)
    )
    found = []
    for one, session in read(workspace, fresh, follow=True):
        rules = rules_for(context.rules, one.source, session, context.left_out)
        plan = _planned(context, engine, one, session, rules, done, known)
        done = done.plus(plan.handled)
        found.append(ExtractOutcome(session.path, plan, (), _suggested(plan, context.now)))
    return tuple(found)


def _suggested(plan: ExtractionPlan, now: float) -> tuple[Suggestion, ...]:
    return tuple(suggest(placed.change, placed.scope, iso(now), plan.engine) for placed in plan.suggested)


def _changeset(context: ExtractContext, session: Session, start: int, plan: ExtractionPlan) -> ChangeSet:
    workspace = context.workspace
    top = workspace.layout.worktree
    heads = [tree.head for tree in workspace.worktrees if tree.path == top]
    return ChangeSet(
        job=job_id(session.id, start, session.end, context.now),
        session=session.id,
        engine=plan.engine,
        code_commit=(heads[0] if heads else None) or "",
        bases={name: workspace.scope(name).repo.ref(workspace.scope(name).ref) or "" for name in SCOPES},
        stored=plan.stored,
        suggested=_suggested(plan, context.now),
        handled=plan.handled,
        cursor=(cursor_name(session.path), session.end),
        usage=plan.usage.line() if plan.usage else "",
    )


def recover(context: ExtractContext, who: Signature, on: ExtractWatch) -> None:
    """Ends what an interrupted extraction began; the engine is not asked again."""
    for path in sorted(context.changesets.glob("*.json")) if context.changesets.is_dir() else ():
        found = read_regular(path, CHANGESET_BYTES)
        changes = from_json(found[0]) if found else None
        if changes is None:
            # Its messages are still to be looked at: the cursor has not moved.
            with suppress(OSError):
                path.rename(path.with_suffix(".damaged"))
            reporter(context.workspace)(f"{path.name} is damaged and was set aside")
            continue
        land_changeset(context, changes, who, on)
        path.unlink(missing_ok=True)


def land_changeset(
    context: ExtractContext, changes: ChangeSet, who: Signature, on: ExtractWatch
) -> tuple[Written | None, ...]:
    """Lands a changeset; what of it was done before is not done again."""
    workspace = context.workspace
    commits, step, usage = [], on.step, parse_usage(changes.usage)
    name, offset = changes.cursor
    if is_answered(name):
        # Where nothing was handled yet, history would tell all of these messages as handled once it holds
        # what they asked for; the rest that they say is still to be looked at.
        cursors.save_handled(context.cursors, handled_messages(workspace).plus(changes.handled))
    for number, placed in enumerate(changes.stored, 1):
        step(f"store {number}")
        origin = placed.change.origin
        provenance = Provenance(
            op="add",
            writer="extract",
            session=changes.session,
            messages=(origin.first, origin.last) if origin.first else None,
            job=f"{changes.job}.{number}",
            code_commit=changes.code_commit,
            engine=changes.engine,
            # Said once, so that figures can be added up.
            usage=usage if number == 1 else None,
        )
        scope = workspace.scope(placed.scope)
        commits.append(
            land_change(scope, placed, who, provenance, base=changes.bases.get(placed.scope, ""))
        )
    step("park")
    told = Provenance(
        "add",
        "extract",
        session=changes.session,
        job=changes.job,
        engine=changes.engine,
        usage=None if changes.stored else usage,
    )
    propose(workspace, changes.suggested, who, told)
    if changes.stored:
        said = {digest(placed.change) for placed in changes.stored}
        moot = [one.id for one in open_suggestions(workspace) if digest(one.change) in said]
        settle(workspace, moot, "asked for since")
    step("save what was handled")
    if changes.handled:
        cursors.save_handled(context.cursors, handled_messages(workspace).plus(changes.handled))
    step("save the cursor")
    if name:
        cursors.save(context.cursors, Cursor(name, offset, changes.handled[-1] if changes.handled else ""))
    step("lay out")
    for scope_name, agent in sorted({(placed.scope, placed.agent) for placed in changes.stored}):
        bring_up_to_date(workspace, context.copies, scope_name, agent)
    on.landed(changes, commits)
    step("remove the changeset")
    return tuple(commits)


def _label(session: Session) -> str:
    """What a session is called for a person."""
    # A subagent's recording has the id of the session that it belongs to.
    part = "a subagent of " if is_subagents(session.path) else ""
    return f"{part}session {session.id}"


def _goes_on_to_write(messages: Sequence[Message], folders: Collection[Path], cwd: str = "") -> bool:
    """Whether the agent writes memory before the first prompt: in a turn that was read to its middle.

    Args:
        messages: what was added to a session, oldest first.
    """
    for message in messages:
        if message.role == "person" and message.source == "prompt":
            return False
        if any(writes_memory(call, folders, cwd) for call in message.tools):
            return True
    return False
