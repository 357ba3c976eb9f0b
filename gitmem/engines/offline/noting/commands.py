"""Commands that an agent ran: which did their work, which failed and with what, and what they reported."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from gitmem.engines.offline.noting.turns import Say, Turn, when
from gitmem.rules.instructions import find_instructions
from gitmem.transcripts.model import ToolCall

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


@dataclass(frozen=True)
class Report:
    """What came of a run.

    Attributes:
        place: of the run among all of them.
        line: what it printed.
        command: what ran; empty for a commit.
        made: which commit, and where.
    """

    place: int
    line: str
    command: str = ""
    made: str = ""


@dataclass
class Command:
    """All runs of one command.

    Attributes:
        name: as it is shown: its first line, without what only leads to it or filters its output.
        succeeded, failed: how often.
        error: what the last failure began with; empty where it printed nothing.
        mended: when it succeeded after its last failure; None where it did not, or where that is not known.
        is_mended: whether it succeeded after its last failure.
        last: place of its last run.
        report: the last result that it reported.
    """

    name: str
    succeeded: int = 0
    failed: int = 0
    error: str = ""
    mended: datetime | None = None
    is_mended: bool = False
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


def ran_in(turns: Sequence[Turn]) -> Ran:
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
    found.sort(key=lambda one: (one.is_mended, -one.last))
    for one in found[:MOST_ERRORS]:
        error = f"“{say(one.error, _LINE)}”" if one.error else "it printed nothing"
        at = when(one.mended).strip()
        later = (f"; it succeeded later ({at})" if at else "; it succeeded later") if one.is_mended else ""
        yield f"- {code(say(one.name, _COMMAND))} failed ×{one.failed}: {error}{later}"


def results(ran: Ran, say: Say) -> Iterator[str]:
    """Yields what was plainly reported and made, the latest first."""
    found = [*ran.made, *(one.report for one in ran.commands.values() if one.report)]
    found.sort(key=lambda one: -one.place)
    for one in found[:MOST_RESULTS]:
        what = code(say(one.command, _COMMAND)) + " gave" if one.command else one.made
        yield f"- {what}: {say(one.line, _LINE)}"


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
            one.error, one.is_mended, one.mended = _error_in(text), False, None
        elif not _is_masked(command, text):
            one.succeeded += 1
            _mend(found, name, time)
        if report := _report_in(text):
            one.report = Report(place, report, name)
    if not call.is_error:
        for match in _COMMITTED.finditer(text) if "git" in command else ():
            made = f"Commit {match['id']} on {match['branch']}"
            found.made.append(Report(place, match["subject"], made=made))
        for match in _MADE.finditer(text) if _MAKES.search(command) else ():
            found.made.append(Report(place, match[1], _name(command) or "the request"))


def _mend(found: Ran, name: str, time: datetime | None) -> None:
    """Marks what failed before and succeeded now, also as a part of a longer command."""
    did = _steps(name)
    for one in found.commands.values():
        if one.failed and not one.is_mended and (one.name == name or _steps(one.name) <= did):
            one.is_mended, one.mended = True, time


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
