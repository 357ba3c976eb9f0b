"""A fork of the session writes its notes: it has read all of it, and shares its cache."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gitmem.engines.claude_code.fork import Forked, Order, fork, readable, refuse_to_start
from gitmem.engines.claude_code.held import canary
from gitmem.engines.claude_code.parent import Parent, model_of, read_parent
from gitmem.engines.claude_code.scratch import May, Scratch
from gitmem.engines.claude_code.settings import ForkSettings
from gitmem.engines.noted import NOTES_BYTES, as_extracted, problems, refused
from gitmem.engines.offline.notes import sum_up as offline
from gitmem.engines.prompts import notes as told
from gitmem.engines.usage import Meter, Usage
from gitmem.engines.writing import Notes, NotesInput

TRIES = 2
"""Forks, the second one to put right what was wrong with the first one's notes: a fork hears one task."""


def sum_up(settings: ForkSettings, config: Path, meter: Meter, given: NotesInput) -> tuple[Notes, str]:
    """Has a fork write the notes on; where the session cannot or must not be forked, they are made offline.

    Args:
        config: the client's own folder.
        meter: is asked before each fork, and told after it what it cost.

    Returns:
        the notes; exact id of the model, empty where none was asked.

    Raises:
        EngineError: the client is missing, refuses or hangs, the session is in the middle of a turn, it is
            not proved that the hook held the fork, or the notes cannot be taken, also after the model was
            told why. Nothing is taken then.
        RepositoryError: the session cannot be read.
        DetectorUnavailable: credentials cannot be looked for, so nothing may leave.
    """
    part = as_extracted(given)
    if not part.messages:
        return Notes(given.before), ""
    parent = read_parent(given.transcript)
    if parent is None:
        return _unforked(given, "no session of Claude Code to fork"), ""
    if parent.private or (given.transcript is not None and settings.withholds(given.transcript)):
        return _unforked(given, "a fork would see what is not to be noted"), ""
    refuse_to_start(settings, config, parent, given.transcript, given.now)
    model = settings.model or model_of(parent, config, settings.environ)
    text, usage = given.before, None
    wrong: tuple[str, ...] = ()
    log: tuple[str, ...] = ()
    for _ in range(TRIES):
        meter.allow()
        order = _order(given, parent, model, text, wrong)
        done = fork(settings, config, parent, meter, order)
        text, usage, log = _left(done), _sum(usage, done.usage), (*log, *done.refused)
        wrong = problems(given.before, text)
        if not wrong:
            return Notes(text, usage, log), model
        text = text or given.before
    raise refused(wrong)


def _order(given: NotesInput, parent: Parent, model: str, text: str, wrong: tuple[str, ...]) -> Order:
    def task(copy: Scratch) -> str:
        parts = [canary(copy), told.task(given, as_extracted(given), root=str(copy.memory), quote=True)]
        if wrong:
            parts.append(told.repair(wrong, f"{copy.memory}/{told.FILE}"))
        return "\n".join(parts)

    reads = readable(parent, given.worktree, given.transcript)
    may = May(("main",), ("local",), reads, new=False, size=NOTES_BYTES)
    return Order("notes", model, {told.FILE: text.encode("utf-8", "replace")}, may, task, given.worktree)


def _left(done: Forked) -> str:
    return done.files.get(told.FILE, b"").decode("utf-8", "replace")


def _sum(one: Usage | None, other: Usage | None) -> Usage | None:
    return one + other if one and other else one or other


def _unforked(given: NotesInput, why: str) -> Notes:
    made = offline(given)
    return replace(made, log=(*made.log, f"{why}: noted offline"))
