"""Notes as a model may be shown them when its session starts again; what a start needs, and no more."""

from __future__ import annotations

from dataclasses import replace

from gitmem.core.session_notes import CHARS_A_TOKEN, SECTION_TOKENS, Section, fit, parse, render
from gitmem.core.text import fence_for_model


def filled(text: str) -> tuple[Section, ...]:
    """The sections of notes that hold something, without their guidance."""
    return tuple(replace(section, guide="") for section in parse(text) if section.body.strip())


def notes_within(text: str, room: int, *, source: str) -> str:
    """The notes as a model may be shown them, within a number of characters; empty where there is no room.

    The least important of them gives way first.

    Args:
        text: all of them.
        source: what they are called.
    """
    sections = filled(text)
    share = room - len(fence_for_model("", source=source)) - 8
    while sections and share > 200:
        kept = tuple(one for one in fit(sections, SECTION_TOKENS, share // CHARS_A_TOKEN) if one.body)
        block = fence_for_model(render(kept), source=source)
        if kept and len(block) <= room:
            return block
        # What a person could not see is written out, and takes more room.
        share = share // 2
    return ""
