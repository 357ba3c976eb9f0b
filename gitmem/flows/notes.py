"""Session notes: when one is due, an engine asked for it, and what is kept; for a person, what was noted.

Notes are taken first after a good stretch of conversation, then at natural moments. Before a compaction
nothing waits for a model that cannot be asked, as in the middle of a turn: what can be read off the session
is noted at once. The engine's own notes go on from where they stood, when it answers.

Nothing private, nothing said in a pause and no secret reaches an engine or a note.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from gitmem.core.errors import EngineError, GitmemError, RepositoryError, UsageError
from gitmem.core.session_notes import CHARS_A_TOKEN, TEMPLATE, Section, conform, fit, parse, render
from gitmem.core.trailers import Provenance
from gitmem.engines.engine import Engine, Notes, NotesInput
from gitmem.engines.offline import OfflineEngine
from gitmem.flows.context import Edges, own_text
from gitmem.flows.extraction import left_out, rule_texts
from gitmem.flows.resume import Resume, filled
from gitmem.flows.sessions import meant_id, sessions_here, without_secrets
from gitmem.ledger import failures
from gitmem.ledger.files import log
from gitmem.ledger.job_record import RunTally
from gitmem.ledger.knowledge import known_before
from gitmem.ledger.moments import resolve_at
from gitmem.ledger.session_notes import SessionNotes, all_notes, is_plain, keep, notes_of, ref_of
from gitmem.ledger.state import Space
from gitmem.ledger.workspace import MAIN, Workspace
from gitmem.rules.secrets import find_secrets, redact, scan
from gitmem.transcripts import discover
from gitmem.transcripts.model import Message, Session, SessionFile, ToolCall, strings_in
from gitmem.transcripts.privacy import compile_ignore, withhold

FIRST_TOKENS = 10_000
"""Tokens of conversation after which a session has notes for the first time."""

AGAIN_TOKENS = 5_000
"""Tokens since the last notes after which they are written on, if there is a moment for it."""

AGAIN_CALLS = 3
"""Tool calls since the last notes that make such a moment."""

RECENT_SECONDS = 86_400.0
"""A session that no job names has notes taken if it was written to within a day: what ended before that has
lost no thread, and a year of them would cost what a year's work did."""

MOST_UNNAMED = 4
"""Sessions of which notes are taken in one job though it does not name them."""

OWN_TEMPLATE = "session-notes.md"
"""Name of a person's own template, in `$XDG_CONFIG_HOME/gitmem`."""

TEMPLATE_CHARS = 8_000
TEMPLATE_SECTIONS = 30
"""The most that a person's own template may have: its headings stay far below the limit of all notes."""

TITLE = "Session Title"

_NOTED = Space("noted", 500)
"""By session, what the last look found."""


def tokens_in(messages: Sequence[Message]) -> int:
    """How much was said in some messages, in tokens: no model is asked for it.

    One is a quarter of the characters that were said, given to tools and got back from them, as far as the
    recording is read (results are cut, see `transcripts.reader`).
    """
    return -(-sum(len(text) for message in messages for text in _texts(message)) // CHARS_A_TOKEN)


def _texts(message: Message) -> Iterator[str]:
    yield message.text
    yield from message.pasted
    for call in message.tools:
        yield from strings_in(call.input)
        yield call.result or ""


def not_due(messages: Sequence[Message], noted: int | None, *, pressing: bool = False) -> str:
    """Why a session's notes are not taken now; empty where they are.

    Args:
        messages: all that was said, oldest first.
        noted: how many of them, from the beginning, the notes tell of; None where there are no notes.
        pressing: the conversation is about to be compacted: notes that there are, or that are due by its
            length, are brought up to date however little is new.
    """
    fresh = messages[noted or 0 :]
    new = tokens_in(fresh)
    if not new:
        return "nothing new was said"
    if noted is None:
        return "" if new >= FIRST_TOKENS else f"{new:,} of {FIRST_TOKENS:,} tokens"
    if pressing:
        return ""
    if new < AGAIN_TOKENS:
        return f"{new:,} of {AGAIN_TOKENS:,} tokens since the last notes"
    calls = sum(len(message.tools) for message in fresh)
    if calls < AGAIN_CALLS and not _at_rest(messages):
        return f"{calls} of {AGAIN_CALLS} tool calls since the last notes, and no pause"
    return ""


def _at_rest(messages: Sequence[Message]) -> bool:
    """Whether the last turn is one in which the agent answered and called no tool."""
    turn: list[Message] = []
    for message in reversed(messages):
        if message.role == "person" and message.source == "prompt":
            break
        turn.append(message)
    answers = [message for message in turn if message.role == "agent"]
    return any(message.text.strip() for message in answers) and not any(one.tools for one in answers)


def template_of(text: str) -> tuple[Section, ...] | None:
    """A person's own template; None where it has no heading, or more than a template may have."""
    sections = tuple(section for section in parse(text) if section.title)
    if not sections or len(text) > TEMPLATE_CHARS or len(sections) > TEMPLATE_SECTIONS:
        return None
    return sections


def standing(template: Sequence[Section], text: str) -> tuple[Section, ...]:
    """Notes as they stand, under the headings of the template.

    Args:
        text: the notes as they were kept; empty where there are none. What stands there under a heading
            that the template no longer has goes under the one before.
    """
    return fit(conform(template, text)) if text.strip() else tuple(template)


@dataclass(frozen=True)
class Look:
    """What the last look at a session found; it can be lost at the cost of another look.

    Attributes:
        size: bytes of the recording then.
        lacks: tokens that were missing then.
        last: uuid of the last message that the notes tell of.
    """

    size: int = 0
    lacks: int = 0
    last: str = ""


def take_notes(
    workspace: Workspace,
    edges: Edges,
    engine: Engine,
    files: Sequence[SessionFile],
    named: Mapping[str, bool],
    tally: RunTally,
) -> int:
    """Takes notes of the sessions of which they are due.

    Args:
        files: the repository's sessions, the oldest change first.
        named: the sessions that this is about, each with whether it is about to be compacted.
        tally: is told what was noted, and of a session that is named why not.

    Returns:
        How many sessions were noted.

    Raises:
        EngineError: the engine failed; the session is looked at again with the next job, whatever stands
            in for its notes until then.
    """
    if not workspace.settings.flag("notes"):
        tally.skip("session notes", "gitmem.notes is off")
        return 0
    taker = _Taker(workspace, edges, engine, tally)
    unnamed = 0
    for file in reversed(files):
        if file.id in named:
            taker.look(file, tell=True, pressing=named[file.id])
        elif unnamed < MOST_UNNAMED and edges.now - file.mtime_ns / 1e9 < RECENT_SECONDS:
            unnamed += taker.look(file)
    if taker.failures:
        raise taker.failures[0]
    return tally.noted


class _Taker:
    """One run over some sessions."""

    def __init__(self, workspace: Workspace, edges: Edges, engine: Engine, tally: RunTally) -> None:
        self.workspace, self.edges, self.engine, self.tally = workspace, edges, engine, tally
        self.failures: list[EngineError] = []
        self._looks = _looks(workspace)
        self._ref = ref_of(workspace.project_id)

    def look(self, file: SessionFile, *, tell: bool = False, pressing: bool = False) -> bool:
        """Takes a session's notes if they are due; says whether it did, or tried."""
        why = self._too_small(file, pressing) or ("" if pressing else self._held(file.id))
        tried = False
        if not why:
            asked = len(self.failures)
            try:
                why = self._look(file, pressing=pressing)
            except GitmemError as error:
                # What was said is still in the recording: all else that the job does goes on.
                log(self.workspace.layout.common_dir, f"session notes: {error}")
                why, tell = error.message, True
            failed = len(self.failures) > asked
            tried, tell = failed or not why, failed or tell
        if why and tell:
            self.tally.skip(f"notes of session {file.id}", why)
        return tried

    def _too_small(self, file: SessionFile, pressing: bool) -> str:
        """Why a session need not even be read: a character takes a byte at least."""
        known = self._looks.get(file.id)
        if known is None:
            return "" if file.size >= FIRST_TOKENS * CHARS_A_TOKEN else "it is too short"
        if pressing:
            return ""
        grown = file.size - known.size
        if not grown:
            return "nothing new was said"
        short = 0 < grown < known.lacks * CHARS_A_TOKEN
        return "too little was said since the last look" if short else ""

    def _held(self, session: str) -> str:
        if not all(error.of_input for error in self.failures):
            return f"{self.engine.name} failed at others"
        held = failures.rest_of(self.workspace.state, "notes", session, self.edges.now, self.engine.name)
        return f"{held.times} tries with {self.engine.name} failed; it waits" if held else ""

    def _look(self, file: SessionFile, *, pressing: bool) -> str:
        """Takes the notes; returns why not, empty where it did."""
        workspace, repo = self.workspace, self.workspace.private
        session = said_in(workspace, file.path, self.edges.now)
        kept = notes_of(repo, repo.ref(self._ref), file.id)
        noted = self._noted(session.messages, file.id, kept)
        why = not_due(session.messages, noted, pressing=pressing)
        if not why:
            why = self._held(file.id) or self._ask(file, session, kept, noted or 0)
            if why and pressing:
                self._take(OfflineEngine(), file, session, kept, noted or 0)
                why += "; noted offline for now"
            return why
        new = tokens_in(session.messages[noted or 0 :])
        lacks = max(0, (FIRST_TOKENS if noted is None else AGAIN_TOKENS) - new)
        self._remember(file, lacks, self._looks.get(file.id, Look()).last)
        return why

    def _noted(self, messages: Sequence[Message], session: str, kept: SessionNotes | None) -> int | None:
        """How many messages the notes tell of already; None where there are no notes."""
        if kept is None:
            return None
        places = {message.uuid: number for number, message in enumerate(messages, 1)}
        known = self._looks.get(session, Look()).last
        # What was noted last may have been rewound since: then all of it is looked at again.
        places.pop("", None)
        return max(places.get(kept.last, 0), places.get(known, 0))

    def _ask(self, file: SessionFile, session: Session, kept: SessionNotes | None, noted: int) -> str:
        """Has the engine take the notes; returns why it did not, empty where it did."""
        name = self.engine.name
        try:
            self._take(self.engine, file, session, kept, noted)
        except EngineError as error:
            self.failures.append(error)
            if error.of_input:
                failures.note_failure(self.workspace.state, "notes", file.id, self.edges.now, name)
            return f"{name} failed; it is asked again"
        except RepositoryError:
            # What was paid for cannot be kept: it is not to be paid for at every prompt.
            failures.note_failure(self.workspace.state, "notes", file.id, self.edges.now, name)
            raise
        failures.clear(self.workspace.state, "notes", file.id)
        self._remember(file, AGAIN_TOKENS, session.messages[-1].uuid)
        return ""

    def _take(
        self, engine: Engine, file: SessionFile, session: Session, kept: SessionNotes | None, noted: int
    ) -> None:
        """Has an engine write notes on, and keeps them."""
        workspace, edges = self.workspace, self.edges
        made = _written_on(workspace, edges, engine, file, session.messages, kept, noted)
        text = made.text
        fresh = session.messages[noted:]
        own = engine is self.engine
        told = Provenance(
            op="update",
            writer="extract",
            session=file.id,
            # The engine is still to be told of what something else noted in its place.
            messages=(fresh[0].uuid, fresh[-1].uuid) if own else kept.told.messages if kept else None,
            code_commit=self._head(),
            engine=engine.name,
            usage=made.usage,
        )
        title = next((one.body for one in parse(text) if one.title == TITLE), "").partition("\n")[0].strip()
        subject = f"Note session {file.id[:8]}" + (f": {title}" if title else "")
        who = workspace.author(edges.now)
        self.tally.noted += keep(workspace.private, self._ref, file.id, text, subject, told, who)
        self.tally.engine = engine.name
        self.tally.spent(made.usage)
        self.tally.log += made.log

    def _head(self) -> str:
        top = self.workspace.layout.worktree
        return next((tree.head or "" for tree in self.workspace.worktrees if tree.path == top), "")

    def _remember(self, file: SessionFile, lacks: int, last: str) -> None:
        self._looks[file.id] = Look(file.size, lacks, last)
        _NOTED.put(self.workspace.state, file.id, asdict(self._looks[file.id]))


def _looks(workspace: Workspace) -> dict[str, Look]:
    found: dict[str, Look] = {}
    for name, one in _NOTED.all(workspace.state).items():
        with suppress(ValueError, TypeError, KeyError):
            found[name] = Look(int(one["size"]), int(one["lacks"]), str(one["last"]))
    return found


def said_in(workspace: Workspace, path: Path, now: float) -> Session:
    """All of a session of `main`; what is not to be learned from stands in it without its words.

    Raises:
        RepositoryError: it cannot be read.
        UsageError: a pattern of `gitmem.ignore` cannot be honoured.
    """
    session = discover.read(path)
    ignore = compile_ignore(workspace.settings.all("ignore"))
    out = left_out(workspace, session, now, strict=True)
    return replace(session, messages=withhold(session.messages, out, ignore))


def _written_on(
    workspace: Workspace,
    edges: Edges,
    engine: Engine,
    file: SessionFile,
    said: Sequence[Message],
    kept: SessionNotes | None,
    noted: int,
) -> Notes:
    """Has an engine write a session's notes on, and holds them to headings, secrets and limits.

    Args:
        said: as `said_in` gives it.
        kept: the notes as they stand; None where there are none.
        noted: how many messages they tell of.

    Raises:
        EngineError: the engine failed.
        DetectorUnavailable: secrets cannot be looked for.
    """
    before = standing(_template(workspace, edges), kept.text if kept else "")
    given = NotesInput(
        file.id,
        _without_secrets(workspace, said),
        noted,
        render(before),
        transcript=file.path,
        worktree=workspace.layout.worktree,
        now=edges.now,
    )
    if engine.reads_history:
        known = known_before(workspace, MAIN, said[0].time)
        given = replace(given, rules=tuple(rule_texts(workspace, edges)), known_before=tuple(known))
    made = engine.sum_up(given)
    clean = _cleaner(workspace)(render(conform(before, made.text)))
    return replace(made, text=render(fit(conform(before, clean))))


def _without_secrets(workspace: Workspace, messages: Sequence[Message]) -> tuple[Message, ...]:
    """The same with every secret replaced by the name of its kind, in tools' input and results, too.

    Raises:
        DetectorUnavailable: they cannot be looked for.
    """
    texts = [text for one in messages for call in one.tools for text in strings_in(call.input)]
    found = scan(texts, workspace.allowed)
    clean = iter([redact(text, findings) for text, findings in zip(texts, found, strict=True)])
    return tuple(
        replace(one, tools=tuple(_with_input(call, clean.__next__) for call in one.tools))
        for one in without_secrets(workspace, messages)
    )


def _with_input(call: ToolCall, clean: Callable[[], str]) -> ToolCall:
    def made(value: Any) -> Any:
        if isinstance(value, str):
            return clean()
        if isinstance(value, dict):
            return {key: made(item) for key, item in value.items()}
        return [made(item) for item in value] if isinstance(value, list) else value

    return replace(call, input=made(dict(call.input)))


def _cleaner(workspace: Workspace) -> Callable[[str], str]:
    """Takes secrets out of a text; raises `DetectorUnavailable` where they cannot be looked for."""
    allow = workspace.allowed
    return lambda text: redact(text, find_secrets(text, allow))


def _template(workspace: Workspace, edges: Edges) -> tuple[Section, ...]:
    """The sections of notes: the person's own template where they have one, else gitmem's."""
    trouble = f"has no heading, or more than {TEMPLATE_CHARS:,} characters"
    try:
        text = own_text(edges, OWN_TEMPLATE, 4 * TEMPLATE_CHARS)
        own = template_of(text)
        if not text or own is not None:
            return own or parse(TEMPLATE)
    except OSError as error:
        trouble = f"cannot be read: {error}"
    said = f"session notes: {OWN_TEMPLATE} {trouble}; the usual headings are used"
    log(workspace.layout.common_dir, said)
    return parse(TEMPLATE)


class NothingNoted(UsageError):
    """A session has no notes, or none has."""

    kind = "no-notes"


def noted_ids(workspace: Workspace) -> list[str]:
    """Ids of the sessions that have notes, sorted; those alone that are plain words."""
    tip = _tip(workspace)
    found = all_notes(workspace.private, tip) if tip else ()
    return sorted(one.session for one in found if is_plain(one.session))


def shown_notes(workspace: Workspace, edges: Edges, id: str | None, at: str | None = None) -> SessionNotes:
    """The notes of a session.

    Args:
        id: the session's, or its beginning; None for the notes that were taken last.
        at: revision, date or tag (see `moments.resolve_at`); None is the present.

    Raises:
        NothingNoted: there are none (as of then); the message says how much is missing.
        UsageError: several sessions are meant, or none, or `at` is no time.
    """
    tip = _tip(workspace)
    if tip is None and id is None:
        raise NothingNoted("no notes were taken of any session here")
    if at and tip is not None:
        scope = replace(workspace.scope("local"), ref=ref_of(workspace.project_id))
        tip = resolve_at(workspace, scope, at, edges.now)
    known = all_notes(workspace.private, tip) if tip else ()
    if id is None:
        if not known:
            raise NothingNoted("no notes had been taken then")
        session = known[-1].session
    else:
        session = _meant(workspace, edges, id, {one.session for one in known})
    kept = notes_of(workspace.private, tip, session)
    if kept is None:
        raise NothingNoted(f"session {session} has no notes{_lacking(workspace, edges, session, at)}")
    return kept


def resume(workspace: Workspace, edges: Edges, id: str) -> Resume:
    """What a new session needs to go on from another one: its notes, brought up to date by rules.

    They are not kept so, and without a recording told as they were taken.

    Raises:
        UsageError: there is no such session, or there are several.
        RepositoryError: its recording cannot be read, or secrets cannot be looked for.
    """
    tip = _tip(workspace)
    known = {one.session for one in all_notes(workspace.private, tip)} if tip else set()
    session = _meant(workspace, edges, id, known)
    kept = notes_of(workspace.private, tip, session) if session in known else None
    file = _recording(workspace, edges, session)
    said = said_in(workspace, file.path, edges.now).messages if file else ()
    if file and said:
        text = _written_on(workspace, edges, OfflineEngine(), file, said, kept, 0).text
    else:
        text = _cleaner(workspace)(kept.text) if kept else ""
    times = [message.time for message in said if message.time]
    branches = [message.branch for message in said if message.branch]
    commits = [message.commit for message in said if message.commit]
    commits += [kept.told.code_commit] if kept and kept.told.code_commit else []
    return Resume(
        session,
        file.client if file else "",
        branches[-1] if branches else "",
        commits[-1] if commits else "",
        times[-1].timestamp() if times else 0.0,
        kept.time if kept else 0.0,
        filled(text),
    )


def _tip(workspace: Workspace) -> str | None:
    """The commit that the notes of this project stand on; None where none were taken."""
    return workspace.private.ref(ref_of(workspace.project_id)) if workspace.has_private else None


def _meant(workspace: Workspace, edges: Edges, id: str, noted: set[str]) -> str:
    """The session, recorded or noted, whose id is or begins so."""
    if id in noted:
        return id
    return meant_id(noted | {file.id for file in sessions_here(workspace, edges)}, id)


def _recording(workspace: Workspace, edges: Edges, session: str) -> SessionFile | None:
    found = [file for file in sessions_here(workspace, edges) if file.id == session]
    return found[-1] if found else None


def _lacking(workspace: Workspace, edges: Edges, session: str, at: str | None) -> str:
    """Why a session has no notes, as far as that can be told."""
    if at:
        return " as of then"
    if not workspace.settings.flag("notes"):
        return ": gitmem.notes is off"
    file = _recording(workspace, edges, session)
    tokens = tokens_in(said_in(workspace, file.path, edges.now).messages) if file else 0
    if tokens < FIRST_TOKENS:
        return f" yet: {tokens:,} of {FIRST_TOKENS:,} tokens were said in it"
    return " yet: they are taken in the background, see git mem jobs"
