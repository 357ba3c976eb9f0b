"""What a model left of a session's notes, held against what they were: it is not trusted."""

from __future__ import annotations

from itertools import zip_longest

from gitmem.core.errors import EngineError
from gitmem.core.session_notes import CHARS_A_TOKEN, TOTAL_TOKENS, Section, parse
from gitmem.core.text import find_invisible, one_line
from gitmem.engines.engine import ExtractInput
from gitmem.engines.orders import orders_in
from gitmem.engines.writing import NotesInput
from gitmem.rules.secrets import scan

NOTES_BYTES = 4 * CHARS_A_TOKEN * TOTAL_TOKENS
"""Of a session's notes while a model works on them: whatever script their limit is filled with."""

_SHOWN = 120


def problems(before: str, after: str) -> tuple[str, ...]:
    """Says why notes cannot be taken as a model left them, a line each; empty where they can.

    Headings and guidance are the template's. What was there before is not looked at again: a person may
    have written it. How long they are is the flow's to mend.

    Raises:
        DetectorUnavailable: credentials cannot be looked for.
    """
    return (*_frame(parse(before), parse(after)), *new_problems(before, after))


def as_extracted(given: NotesInput) -> ExtractInput:
    """Gives the session as an extraction of what is not noted yet is given it."""
    new = tuple(message for message in given.said[given.noted :] if message.source != "withheld")
    return ExtractInput(
        new,
        rules=given.rules,
        session=given.session,
        history=given.said,
        seen=given.noted,
        known_before=given.known_before,
        transcript=given.transcript,
        worktree=given.worktree,
        now=given.now,
    )


def refused(wrong: tuple[str, ...]) -> EngineError:
    """Says that notes are not taken."""
    error = EngineError(
        f"The model's notes cannot be taken: {wrong[0]}",
        "The notes stay as they were; it is tried again later.",
    )
    error.of_input = True
    return error


def new_problems(before: str, after: str) -> tuple[str, ...]:
    """Says what a model put into a text that nothing may hold: credentials, orders, unseen characters.

    Raises:
        DetectorUnavailable: credentials cannot be looked for.
    """
    old, new = scan([before, after])
    known = {found.fingerprint for found in old}
    problems = [
        f"line {found.line} seems to hold a credential ({found.rule}): take it out"
        for found in new
        if found.severity == "block" and found.fingerprint not in known
    ]
    had = set(before.split("\n"))
    added = "\n".join(line for line in after.split("\n") if line not in had)
    problems += [
        f"this tells a model what to do; say in your own words that it was there, or leave it out: "
        f"{one_line(line, _SHOWN)}"
        for line in orders_in(added)
    ]
    hidden = find_invisible(added)
    if hidden:
        problems.append(f"it holds {hidden[0].code} ({hidden[0].name}), which nobody can see: take it out")
    return tuple(problems)


def _frame(before: tuple[Section, ...], after: tuple[Section, ...]) -> tuple[str, ...]:
    for old, new in zip_longest(before, after):
        if old is None:
            return (f"there is a heading too many: `# {one_line(new.title, _SHOWN)}`",)
        if new is None or old.title != new.title:
            return (f"the heading `# {old.title}` does not stand in its place, letter by letter",)
        if old.guide != new.guide:
            return (f"the line of guidance under `# {old.title}` was changed; it is: {old.guide}",)
    return ()
