"""Notes of a session without a model: what can be read off it, and nothing that has to be understood.

All of a section that is filled here is made anew each time from the whole session; lines of another form,
which a model or a person wrote, stay before it. So it makes no difference in how many steps a session was
noted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from gitmem.core.session_notes import Section, is_notice, parse, render
from gitmem.core.text import one_line
from gitmem.engines import prompts
from gitmem.engines.engine import ExtractInput, Notes, NotesInput
from gitmem.engines.offline import activity
from gitmem.engines.offline.activity import (
    Ran,
    Say,
    SessionTurn,
    code,
    files,
    touched_in,
    turns_of,
    when,
    worklog,
)
from gitmem.engines.offline.extract import extract
from gitmem.engines.offline.prose import passages
from gitmem.engines.offline.requests import takes_back
from gitmem.transcripts.model import Message, todos_of

TITLE = 80
"""Cells of the title."""

FIRST, QUOTED, LAST = 700, 300, 400
"""Cells of the first request, of a later one, and of the agent's last words."""

MOST_CORRECTIONS, MOST_STEPS = 25, 30
_STEP = 200
LONG_REQUEST = 1_500
"""Characters from which a later request is rather a report or a log than a correction."""

# Looked through for secrets before the cut, so that none is cut in two and missed.
_WINDOW = 8_192
_CORRECTS = re.compile(
    r"^(?:please |but |and |so |ok(?:ay)?[,.]? )*"
    r"(?:(?:no|nope|stop|wait|not)(?=[,.!;:]|$)|(?:don['’]t|do not|never|always) \w"
    r"|that['’]?s? (?:is )?(?:wrong|not)\b"
    r"|i (?:said|meant|asked|like option|want|prefer|don['’]t want)\b)"
    r"|\b(?:should(?:n['’]t| not)|instead of|rather than|must not|not what i)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class _Session:
    given: NotesInput
    turns: tuple[SessionTurn, ...]
    ran: Ran

    @cached_property
    def asked(self) -> tuple[str, ...]:
        """What the person plainly asked to be remembered."""
        visible = tuple(one for one in self.given.said if one.source != "withheld")
        found = extract(ExtractInput(visible, session=self.given.session))
        return tuple(change.description for change in found if change.asked)

    @property
    def first(self) -> SessionTurn | None:
        """The first request that may be told."""
        return next((turn for turn in self.turns if turn.asked), None)


_Lines = Callable[[_Session, Say], Iterator[str]]


def sum_up(given: NotesInput) -> Notes:
    """Notes what can be read off a session; headings that it does not know stay as they are.

    Raises:
        DetectorUnavailable: credentials cannot be looked for.
    """
    turns = turns_of(given.said)
    session = _Session(given, turns, activity.ran_in(turns))
    wanted: dict[str, None] = {}

    def want(text: str, _: int) -> str:
        wanted[text[:_WINDOW]] = None
        return ""

    before = parse(given.before)
    _noted(session, before, want)
    clean = dict(zip(wanted, prompts.clean(list(wanted)), strict=True))
    return Notes(
        render(_noted(session, before, lambda text, width: one_line(clean[text[:_WINDOW]], width)))
    )


def _noted(session: _Session, before: Sequence[Section], say: Say) -> list[Section]:
    return [_section(session, section, say) for section in before]


def _section(session: _Session, section: Section, say: Say) -> Section:
    key = " ".join(section.title.casefold().split())
    if key == "session title":
        first = session.first
        title = say(first.asked, TITLE) if first else ""
        return section if section.body.strip() else replace(section, body=title)
    if key not in _OWN:
        return section
    form, lines = _OWN[key]
    kept = [line for line in section.body.split("\n") if not form.match(line) and not is_notice(line)]
    body = "\n".join([*_trimmed(kept), *lines(session, say)])
    return replace(section, body=body)


def _trimmed(lines: list[str]) -> list[str]:
    return "\n".join(lines).strip("\n").split("\n") if any(line.strip() for line in lines) else []


def _state(session: _Session, say: Say) -> Iterator[str]:
    if not session.turns:
        return
    last = session.turns[-1]
    if last.asked:
        yield f"- Last request{_at(last)}: “{say(last.asked, QUOTED)}”"
    said = next((reply.text for reply in reversed(last.replies) if reply.text.strip()), "")
    if said:
        yield f"- The agent's last words: “{_ends(said, say)}”"
    elif not last.replies:
        yield "- The agent's last words: none, it has not answered yet"
    calls = last.calls
    if calls and not said:
        failed = " failed" if calls[-1].is_error else ""
        yield f"- The last call{failed}: {_call(calls[-1].name, calls[-1].input, say)}"
    for call in calls:
        if call.result is None:
            yield f"- No result yet: {_call(call.name, call.input, say)}"
    if calls and calls[-1].is_error and said:
        yield f"- The last call failed: {_call(calls[-1].name, calls[-1].input, say)}"
    yield from _open_steps(session.turns, say)


def _open_steps(turns: Sequence[SessionTurn], say: Say) -> Iterator[str]:
    """Yields steps that are in hand, then those that are still to be done."""
    found = [todo for todo in todos_of(call for turn in turns for call in turn.calls) if not todo.done]
    found.sort(key=lambda todo: not todo.in_hand)
    for todo in found[:MOST_STEPS]:
        yield f"- {'In hand' if todo.in_hand else 'To do'}: {say(todo.text, _STEP)}"


def _ends(said: str, say: Say) -> str:
    """The beginning of what was said and, where that is not all, its end: there stands what is asked."""
    plain = " ".join(said.split())
    if len(plain) <= LAST:
        return say(plain, LAST)
    paragraphs = [part for part in said.strip().split("\n\n") if part.strip()]
    return f"{say(paragraphs[0], LAST // 2)} … {say(paragraphs[-1], LAST // 2)}"


def _task(session: _Session, say: Say) -> Iterator[str]:
    first = session.first
    if first is None:
        return
    yield f"- {when(first.time)}first request: “{say(first.asked, FIRST)}”"
    said: list[tuple[str, Message | SessionTurn, str]] = []
    for turn in session.turns:
        if turn is not first and _corrects(turn.asked):
            said.append(("correction", turn, turn.asked))
        for other in turn.others:
            if other.source == "answer":
                said.append(("answer", other, other.text))
    for kind, one, text in said[-MOST_CORRECTIONS:]:
        question = getattr(one, "context", "")
        about = f" to “{say(question, 160)}”" if question else ""
        yield f"- {when(one.time)}{kind}{about}: “{say(text, QUOTED)}”"


def _corrects(text: str) -> bool:
    if not text or len(text) > LONG_REQUEST:
        return False
    found = [sentence for passage in passages(text) for sentence in passage][:2]
    return any(
        _CORRECTS.search(one) or takes_back(one, found[at - 1] if at else "")
        for at, one in enumerate(found)
    )


def _files(session: _Session, say: Say) -> Iterator[str]:
    top = str(session.given.worktree) if session.given.worktree else ""
    yield from files(touched_in(session.turns, top), say)


def _errors(session: _Session, say: Say) -> Iterator[str]:
    for turn in session.turns:
        for other in turn.others:
            if other.source == "refusal":
                what = say(other.context or "a call", 60)
                yield f"- The person refused {what}: “{say(other.text, QUOTED)}”"
    yield from activity.errors(session.ran, say)


def _learnings(session: _Session, say: Say) -> Iterator[str]:
    for text in session.asked:
        yield f"- Asked to remember: “{say(text, QUOTED)}”"


def _at(turn: SessionTurn) -> str:
    at = when(turn.time).strip()
    return f" ({at})" if at else ""


def _call(name: str, given: object, say: Say) -> str:
    values = given if isinstance(given, dict) else {}
    told = next(
        (values[key] for key in _TOLD if isinstance(values.get(key), str) and values[key].strip()), ""
    )
    return f"{say(name, 60)} {code(say(told, 140))}" if told else say(name, 60)


_TOLD = ("command", "file_path", "path", "pattern", "query", "url", "description", "subject")
_TIME = r"(?:\d{4}-\d\d-\d\d \d\d:\d\d )?"
_OWN: dict[str, tuple[re.Pattern[str], _Lines]] = {
    key: (re.compile(form), lines)
    for key, form, lines in (
        (
            "current state",
            r"- (?:Last request|The agent's last words|No result yet|The last call|In hand|To do)\b",
            _state,
        ),
        ("task specification", rf"- {_TIME}(?:first request|correction|answer)\b.*?: “.*”$", _task),
        (
            "files and functions",
            r"- `[^`]*`: (?:written|edited|read) ×\d|- and \d+ more files? (?:changed|read)$",
            _files,
        ),
        (
            "workflow",
            r"- `[^`]*` ×\d+$",
            lambda session, say: activity.workflow(session.ran, say),
        ),
        ("errors & corrections", r"- `[^`]*` failed ×\d|- The person refused .*?: “.*”$", _errors),
        ("learnings", r"- Asked to remember: “.*”$", _learnings),
        (
            "key results",
            r"- `[^`]*` gave: |- Commit [0-9a-f]{7,40} on \S+: ",
            lambda session, say: activity.results(session.ran, say),
        ),
        (
            "worklog",
            rf"- {_TIME}(?:“.*”|\(not shown\)): (?:no tools$|\S.* ×\d)",
            lambda session, say: worklog(session.turns, say),
        ),
    )
}
"""Title of a section that is filled here, in lower case, to the form of its lines and what makes them."""
