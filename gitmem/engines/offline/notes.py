"""Notes of a session without a model: what can be read off it, and nothing that has to be understood.

All of a section that is filled here is made anew each time from the whole session; lines of another form,
which a model or a person wrote, stay before it. So it makes no difference in how many steps a session was
noted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

from gitmem.core.session_notes import Section, is_notice, parse, render
from gitmem.core.text import counted, one_line
from gitmem.engines import prompts
from gitmem.engines.engine import ExtractInput, Notes, NotesInput
from gitmem.engines.offline.extract import extract
from gitmem.engines.offline.prose import passages
from gitmem.engines.offline.requests import takes_back
from gitmem.rules.instructions import find_instructions
from gitmem.transcripts.model import EDITORS, Message, ToolCall, todos_of

Say = Callable[[str, int], str]
"""A text on one line of at most so many cells, credentials redacted."""

TITLE = 80
"""Cells of the title."""

REQUEST, QUOTED, LAST = 700, 300, 400
"""Cells of the first and of the last request, of another one, and of the agent's last words."""

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
    session = _Session(given, turns, ran_in(turns))
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
        yield f"- Last request{_at(last)}: “{say(last.asked, REQUEST)}”"
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
    yield f"- {when(first.time)}first request: “{say(first.asked, REQUEST)}”"
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
    yield from errors(session.ran, say)


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


_ASKING = ("prompt", "queued")


@dataclass
class SessionTurn:
    """One request and what followed.

    Attributes:
        asked: the person's words; empty where nobody may see them, or the agent began.
        time: when it began; None where unknown.
        replies: the agent's messages, in order.
        others: what the person said meanwhile: answers, and reasons for refusing.
    """

    asked: str
    time: datetime | None
    replies: list[Message] = field(default_factory=list)
    others: list[Message] = field(default_factory=list)

    @property
    def calls(self) -> list[ToolCall]:
        """The agent's calls, in order."""
        return [call for reply in self.replies for call in reply.tools]

    @property
    def is_seen(self) -> bool:
        """Whether anything of it may be told."""
        return bool(self.asked or self.replies or self.others)


def turns_of(said: Sequence[Message]) -> tuple[SessionTurn, ...]:
    """Cuts a session into turns; what is withheld begins one, and is not in it."""
    found: list[SessionTurn] = []
    for message in said:
        begins = message.role == "person" and (message.source in _ASKING or message.source == "withheld")
        if begins or not found:
            found.append(SessionTurn("", message.time))
        if message.source == "withheld":
            continue
        if begins:
            found[-1].asked = message.text or ("(pasted text)" if message.pasted else "")
        elif message.role == "person":
            found[-1].others.append(message)
        else:
            found[-1].replies.append(message)
    return tuple(turn for turn in found if turn.is_seen)


def when(time: datetime | None) -> str:
    """A moment to the minute, UTC, and a blank; empty where it is not known."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M} " if time is not None else ""


def worklog(turns: Sequence[SessionTurn], say: Say) -> Iterator[str]:
    """Yields a line a turn: when, what was asked, and the tools by name."""
    for turn in turns:
        used = Counter(call.name for call in turn.calls)
        failed = Counter(call.name for call in turn.calls if call.is_error)
        names = [
            f"{say(name, 60)} ×{count}" + (f" ({failed[name]} failed)" if failed[name] else "")
            for name, count in used.items()
        ]
        asked = f"“{say(turn.asked, 160)}”" if turn.asked else "(not shown)"
        yield f"- {when(turn.time)}{asked}: {', '.join(names) or 'no tools'}"


MOST_COMMANDS, MOST_ERRORS, MOST_RESULTS = 20, 25, 15
_COMMAND, _LINE = 140, 200
_LONGEST = 400
_LOOKED_AT = 500
"""Characters of a line in which signs are looked for: some patterns are slow on a long one."""

# They look and change nothing: what was looked at is no way of working.
_LOOKS = """
    [ awk basename cat cd cut date df diff dirname du echo env export fd file find for grep head id jq less
    ls nl od printf ps pwd read readlink realpath rg sed set sleep sort stat tail test tr tree true uname
    uniq wait wc whereis which while xargs
"""
_LOOKING = frozenset(_LOOKS.split())
_GIT_SHOWS = """
    blame branch cat-file config describe diff grep log ls-files ls-tree ls-remote reflog remote rev-list
    rev-parse shortlog show status
"""
_GIT_LOOKS = frozenset(_GIT_SHOWS.split())
# A failure of these is an answer, where they print nothing.
_SEARCHES = frozenset(("[", "diff", "find", "grep", "pgrep", "rg", "test", "which"))

_LEAD = re.compile(r"^(?:cd\s+(?:\"[^\"]*\"|'[^']*'|\S+)\s*(?:&&|;)\s*|export\s+\S+\s*(?:&&|;)\s*)+")
_REDIRECTED = re.compile(r" ?(?:\d?>&\d|&?\d?> ?/dev/null)")
_FILTERED = re.compile(r"\|\s*(?:head|tail|grep|sort|uniq|wc|tee|less|cat|sed|awk|cut)\b[^|]*$")
_PARTS = re.compile(r"&&|\|\||[|;]")
_ASSIGNED = re.compile(r"^(?:\w+=\S*\s+)+")
_EXIT = re.compile(r"(?:Exit code|Process exited with code|exit status):? \d+", re.IGNORECASE)
_NOT_RUN = re.compile(
    r"\s*(?:The user doesn't want|Permission to use|\[?Request interrupted|<tool_use_error>"
    r"|Operation stopped by hook|gitmem )"
)
_SURE_ERROR = re.compile(
    r"(?:[\w.]*(?:Error|Exception)\b|[^\s:]*[./][^\s:]*:\d+(?::\d+)?:?\s|E {2,}"
    r"|(?:error|fatal|panic|(?:-+ )?fail(?:ed|ure)?)\b|ERR!"
    r"|\S*: .*(?:command not found|no such file or directory|permission denied)\s*$)",
    re.IGNORECASE,
)
_LIKE_ERROR = re.compile(
    r"\b(?:error|failed|failure|fatal|panic|exception|denied|undefined|unexpected|not found|cannot|can't"
    r"|invalid)\b",
    re.IGNORECASE,
)
_EMPTY = re.compile(r"Traceback \(most recent call last\):|\[[\w:-]+\] ERROR task failed|[-=~^*\s]*")

_REPORT = re.compile(
    r"^[\s=\-✓✔·•]*("
    r"\d+ (?:passed|failed|tests?|examples?|specs?|doctests?)\b.*"
    r"|(?:Tests|Test Files|Test Suites):?\s+\d.*|test result: .*|Ran \d+ tests? in .*"
    r"|OK \(.*\)|FAILED \(.*\)"
    r"|All checks passed!|Success: no issues found.*"
    r"|Found \d+ (?:errors?|issues?|warnings?)\b.*|\d+ issues?[.:].*"
    r"|BUILD (?:SUCCESSFUL|FAILED|SUCCESS|FAILURE)\b.*|\d+ problems? \(.*"
    r")",
)
_COMMITTED = re.compile(
    r"^\[(?P<branch>[\w./-]+)(?: \([^)\n]*\))? (?P<id>[0-9a-f]{7,40})\] (?P<subject>.+)$", re.M
)
_MADE = re.compile(r"^(https?://\S+/(?:pull|merge_requests|issues)/\d+)\s*$", re.MULTILINE)
_MAKES = re.compile(r"\b(?:gh|glab|hub|tea) (?:pr|mr|issue) create\b")


Report = tuple[int, str, str, str]
"""What came of a run: its place among all, the command, what that made (a commit), and what it printed."""


@dataclass
class Command:
    """All runs of one command.

    Attributes:
        name: as it is shown: its first line, without what only leads to it or filters its output.
        succeeded, failed: how often.
        error: what the last failure began with; empty where it printed nothing.
        mended: says that it succeeded after its last failure, and when; empty where it did not.
        last: place of its last run.
        report: the last result that it reported.
    """

    name: str
    succeeded: int = 0
    failed: int = 0
    error: str = ""
    mended: str = ""
    last: int = 0
    report: Report | None = None


@dataclass
class Ran:
    """What a session's commands came to.

    Attributes:
        commands: by name, in the order of their first runs.
        made: each commit and each request that was made.
    """

    commands: dict[str, Command] = field(default_factory=dict)
    made: list[Report] = field(default_factory=list)


def ran_in(turns: Sequence[SessionTurn]) -> Ran:
    """Reads the shell's calls of a session."""
    found = Ran()
    place = 0
    for turn in turns:
        for reply in turn.replies:
            for call in reply.tools:
                command = call.input.get("command")
                if call.name == "Bash" and isinstance(command, str) and call.result is not None:
                    place += 1
                    _add(found, place, command, call, reply.time or turn.time)
    return found


def workflow(ran: Ran, say: Say) -> Iterator[str]:
    """Yields commands that succeeded, most used first."""
    found = [one for one in ran.commands.values() if one.succeeded and not is_looking(one.name)]
    for one in sorted(found, key=lambda one: -one.succeeded)[:MOST_COMMANDS]:
        yield f"- {code(say(one.name, _COMMAND))} ×{one.succeeded}"


def errors(ran: Ran, say: Say) -> Iterator[str]:
    """Yields commands that failed: first those that did not succeed since, the latest first."""
    found = [one for one in ran.commands.values() if one.failed and not _is_answer(one)]
    found.sort(key=lambda one: (bool(one.mended), -one.last))
    for one in found[:MOST_ERRORS]:
        error = f"“{say(one.error, _LINE)}”" if one.error else "it printed nothing"
        yield f"- {code(say(one.name, _COMMAND))} failed ×{one.failed}: {error}{one.mended}"


def results(ran: Ran, say: Say) -> Iterator[str]:
    """Yields what was plainly reported and made, the latest first."""
    found = [*ran.made, *(one.report for one in ran.commands.values() if one.report)]
    found.sort(key=lambda one: -one[0])
    for _, command, made, line in found[:MOST_RESULTS]:
        yield f"- {made or f'{code(say(command, _COMMAND))} gave'}: {say(line, _LINE)}"


def is_looking(name: str) -> bool:
    """Whether a command only looks."""
    return all(_is_looking(part) for part in _PARTS.split(name) if part.strip())


def code(text: str) -> str:
    """A text as a code span."""
    return "`" + text.replace("`", "'") + "`"


def _add(found: Ran, place: int, command: str, call: ToolCall, time: datetime | None) -> None:
    text = call.result or ""
    if call.is_error and _NOT_RUN.match(text):
        return
    name = _name(command)
    if name:
        one = found.commands.setdefault(name, Command(name))
        one.last = place
        if call.is_error:
            one.failed += 1
            one.error, one.mended = _error_in(text), ""
        elif not _is_masked(command, text):
            one.succeeded += 1
            _mend(found, name, time)
        if report := _report_in(text):
            one.report = (place, name, "", report)
    if not call.is_error:
        for match in _COMMITTED.finditer(text) if "git" in command else ():
            made = f"Commit {match['id']} on {match['branch']}"
            found.made.append((place, "", made, match["subject"]))
        for match in _MADE.finditer(text) if _MAKES.search(command) else ():
            found.made.append((place, _name(command) or "the request", "", match[1]))


def _mend(found: Ran, name: str, time: datetime | None) -> None:
    """Marks what failed before and succeeded now, also as a part of a longer command."""
    did, at = _steps(name), when(time).strip()
    for one in found.commands.values():
        if one.failed and not one.mended and (one.name == name or _steps(one.name) <= did):
            one.mended = f"; it succeeded later ({at})" if at else "; it succeeded later"


def _steps(name: str) -> frozenset[str]:
    """Commands that all succeeded where the whole did; the whole itself where that is not sure."""
    if re.search(r"\|\||[;|&]", name.replace("&&", "")):
        return frozenset([name])
    return frozenset(part.strip() for part in name.split("&&"))


def _name(command: str) -> str:
    """What a command is called; empty for a script that was written for once."""
    if len(command.strip().partition("\n")[0]) > 4 * _LONGEST:
        return ""
    plain = _LEAD.sub("", command.strip(), count=1)
    if plain.startswith("git "):
        return _git_name(plain)
    first, *more = plain.split("\n")
    if "<<" in first or (any(line.strip() for line in more) and not first.endswith("\\")):
        return ""
    if first.endswith("\\"):
        first = " ".join(line.rstrip("\\").strip() for line in (first, *more))
    plain = _REDIRECTED.sub("", " ".join(first.split())[: 4 * _LONGEST])
    while (shorter := _FILTERED.sub("", plain).rstrip()) != plain:
        plain = shorter
    once = re.search(r"\s-[ce]\s+[\"'$]", plain) and len(plain) > 80
    return "" if once or len(plain) > _LONGEST else plain


def _git_name(plain: str) -> str:
    """Git's words alone: a commit's message or a list of paths is not how one works."""
    first = _PARTS.split(plain.split("\n")[0])[0]
    words = re.sub(r"\s(?:-C|-c)\s+\S+", "", first).split()
    return " ".join(words[:2])


def _is_looking(part: str) -> bool:
    words = _ASSIGNED.sub("", part.strip()).split()
    if not words:
        return True
    if words[0] == "git":
        return len(words) > 1 and words[1] in _GIT_LOOKS
    return words[0].rpartition("/")[2] in _LOOKING


def _is_answer(one: Command) -> bool:
    first = one.name.split(maxsplit=1)[:1]
    return not one.error and bool(first) and first[0] in _SEARCHES


def _is_masked(command: str, text: str) -> bool:
    """Whether it may have failed though the shell says nothing: its last part hides how it ended."""
    found = _FILTERED.search(command[-_LOOKED_AT:])
    if found is None:
        return "||" in command
    return "grep" in found[0] or any(_SURE_ERROR.match(line[:_LOOKED_AT]) for line in _lines(text))


def _error_in(text: str) -> str:
    orders = {one.line for one in find_instructions(text) if one.level == "error"}
    lines = [line for number, line in enumerate(_lines(text), 1) if number not in orders]
    lines = [line for line in lines if not _EMPTY.fullmatch(line) and not _EXIT.fullmatch(line)]
    for looks in (_SURE_ERROR.match, _LIKE_ERROR.search):
        for line in lines:
            if looks(line[:_LOOKED_AT]):
                return line
    return lines[0] if lines else ""


def _report_in(text: str) -> str:
    found = ""
    for line in _lines(text):
        if match := _REPORT.match(line):
            found = match[1].strip(" =:")
    return found


def _lines(text: str) -> list[str]:
    """Lines of a result, without what stands around them."""
    return [line.strip() for line in text.split("\n")]


MOST_CHANGED, MOST_READ, MOST_NAMES = 40, 20, 8
_PATH, _NAME = 200, 80

_WRITES = frozenset({"Write"})
_EDITS = frozenset(EDITORS) - _WRITES
_READS = frozenset({"Read", "NotebookRead", "read_file", "view_image"})
_KEYS = ("file_path", "notebook_path", "absolute_path", "path")
_SUFFIXES = """
    c cc cjs cpp cs dart ex exs go h hpp java js jsx kt lua mjs php py pyi rb rs scala swift ts tsx zig
"""
_SOURCES = frozenset(_SUFFIXES.split())
_DEFINES = re.compile(
    r"^[ \t]*(?:(?:export|default|pub(?:\([a-z]+\))?|public|private|protected|static|abstract|async"
    r"|final)[ \t]+)*(?:def|defp|defmodule|class|func|fn|function\*?|interface|struct|enum|trait)[ \t]+"
    r"(?:\([^()\n]*\)[ \t]*)?"
    r"([^\W\d][\w.]*)",
    re.MULTILINE,
)


@dataclass
class Touched:
    """One file.

    Attributes:
        written, edited, read: how often, where it succeeded.
        names: what it was given that it defines, in order.
    """

    written: int = 0
    edited: int = 0
    read: int = 0
    names: dict[str, None] = field(default_factory=dict)

    @property
    def changes(self) -> int:
        """How often it was changed."""
        return self.written + self.edited


def touched_in(turns: Sequence[SessionTurn], top: str) -> dict[str, Touched]:
    """Reads the calls of a session that succeeded.

    Args:
        top: of the work tree; paths below it are given from there. Empty for none.
    """
    found: dict[str, Touched] = {}
    for turn in turns:
        for call in turn.calls:
            if call.is_error or call.result is None or call.name not in _WRITES | _EDITS | _READS:
                continue
            for path in _paths(call.input):
                one = found.setdefault(_below(path, top), Touched())
                one.written += call.name in _WRITES
                one.edited += call.name in _EDITS
                one.read += call.name in _READS
                if PurePosixPath(path).suffix.lstrip(".").lower() in _SOURCES:
                    one.names |= dict.fromkeys(_defined(call.input))
    return found


def files(touched: Mapping[str, Touched], say: Say) -> Iterator[str]:
    """Yields files: those that were changed most first, then those that were only read."""
    changed = sorted((one for one in touched.items() if one[1].changes), key=lambda one: -one[1].changes)
    seen = sorted((one for one in touched.items() if not one[1].changes), key=lambda one: -one[1].read)
    for path, one in (*changed[:MOST_CHANGED], *seen[:MOST_READ]):
        did = Counter({"written": one.written, "edited": one.edited, "read": one.read})
        counts = ", ".join(f"{word} ×{count}" for word, count in did.items() if count)
        names = ", ".join(code(say(name, _NAME)) for name in list(one.names)[:MOST_NAMES])
        more = f" and {len(one.names) - MOST_NAMES} more" if len(one.names) > MOST_NAMES else ""
        yield f"- {code(say(path, _PATH))}: {counts}" + (f"; with {names}{more}" if names else "")
    for left, did_what in ((len(changed) - MOST_CHANGED, "changed"), (len(seen) - MOST_READ, "read")):
        if left > 0:
            yield f"- and {counted(left, 'more file')} {did_what}"


def _paths(given: Mapping[str, Any]) -> Iterator[str]:
    for key in _KEYS:
        value = given.get(key)
        if isinstance(value, str) and value.strip():
            yield value.strip()
            return


def _below(path: str, top: str) -> str:
    lead = top.rstrip("/") + "/"
    return path[len(lead) :] if top and path.startswith(lead) else path


def _defined(given: Mapping[str, Any]) -> Iterator[str]:
    several = given.get("edits")
    edits = [one for one in several if isinstance(one, dict)] if isinstance(several, list) else []
    for one in (given, *edits):
        for key in ("new_string", "content", "new_source"):
            if isinstance(one.get(key), str):
                yield from _DEFINES.findall(one[key])
    if isinstance(patch := given.get("patch"), str) and patch.count("*** ") <= 4:
        # Of a patch of several files it is not sure which one defines a name.
        added = "\n".join(line[1:] for line in patch.split("\n") if line.startswith("+"))
        yield from _DEFINES.findall(added)


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
            lambda session, say: workflow(session.ran, say),
        ),
        ("errors & corrections", r"- `[^`]*` failed ×\d|- The person refused .*?: “.*”$", _errors),
        ("learnings", r"- Asked to remember: “.*”$", _learnings),
        (
            "key results",
            r"- `[^`]*` gave: |- Commit [0-9a-f]{7,40} on \S+: ",
            lambda session, say: results(session.ran, say),
        ),
        (
            "worklog",
            rf"- {_TIME}(?:“.*”|\(not shown\)): (?:no tools$|\S.* ×\d)",
            lambda session, say: worklog(session.turns, say),
        ),
    )
}
"""Title of a section that is filled here, in lower case, to the form of its lines and what makes them."""
