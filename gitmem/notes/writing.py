"""One refresh of a session's notes: what an engine is asked with, and what is kept of its answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from gitmem.core.change import Header
from gitmem.core.session_notes import Section, conform, fit, parse, render
from gitmem.engines.engine import Engine, Notes, NotesInput
from gitmem.transcripts.model import Message
from gitmem.values import dataclass

TITLE = "Session Title"

TEMPLATE_CHARS = 8_000
TEMPLATE_SECTIONS = 30
"""The most that a person's own template may have: its headings stay far below the limit of all notes."""


@dataclass(frozen=True)
class Refreshed:
    """Notes as they are to be kept.

    Attributes:
        text: all of it, within its limits.
        told: what the engine gave, for its cost and its log.
    """

    text: str
    told: Notes


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


def refresh(
    engine: Engine,
    *,
    session: str,
    said: Sequence[Message],
    noted: int,
    before: Sequence[Section],
    clean: Callable[[str], str],
    rules: Sequence[str] = (),
    known_before: Sequence[Header] = (),
    transcript: Path | None = None,
    worktree: Path | None = None,
    now: float = 0.0,
) -> Refreshed:
    """Has an engine write notes on, and holds what it gives to headings, secrets and limits.

    Args:
        said, noted, rules, known_before, transcript, worktree, now: see `NotesInput`.
        before: from `standing`.
        clean: takes secrets out of a text.

    Raises:
        EngineError: the engine could not do its work.
    """
    text = render(before)
    given = NotesInput(
        session,
        tuple(said),
        noted,
        text,
        rules=tuple(rules),
        known_before=tuple(known_before),
        transcript=transcript,
        worktree=worktree,
        now=now,
    )
    told = engine.sum_up(given)
    kept = render(conform(before, told.text))
    return Refreshed(render(fit(conform(before, clean(kept)))), replace(told, text=""))


def title_of(text: str) -> str:
    """What the notes call their session; empty where they do not."""
    found = (section.body for section in parse(text) if section.title == TITLE)
    return next(found, "").partition("\n")[0].strip()
