"""What engines write besides memory: the notes of one session, and living documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Literal

from gitmem.core.change import Header
from gitmem.core.trailers import Usage
from gitmem.transcripts.model import Message
from gitmem.values import dataclass


@dataclass(frozen=True)
class NotesInput:
    """What an engine may know when it sums up a session.

    Attributes:
        session: id of the recorded session.
        said: all that was said in it, oldest first; what is private or held something secret stands in it
            without its words.
        noted: how many messages of `said`, from the beginning, the notes tell of already.
        before: the notes as they stand, or the empty template; all headings and their lines of guidance.
        rules: full texts of the instruction files, as an extraction is given them.
        known_before: the memories that existed when the session began, as an extraction is given them. With
            these two a request begins with the bytes that those of extractions begin with.
        transcript: the recorded session; None where it is no file.
        worktree: top of the code's work tree; None where there is none.
        now: epoch seconds.
    """

    session: str
    said: tuple[Message, ...]
    noted: int
    before: str
    rules: tuple[str, ...] = ()
    known_before: tuple[Header, ...] = ()
    transcript: Path | None = None
    worktree: Path | None = None
    now: float = 0.0


@dataclass(frozen=True)
class Notes:
    """The notes of a session as an engine wrote them; the flow holds them to their limits.

    Attributes:
        text: all of it, with the headings of the input in their order.
        usage: what it cost; None for an engine that asks no model.
        log: what it tried and was refused, one line each.
    """

    text: str
    usage: Usage | None = None
    log: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stale:
    """Something that a document says and that no longer holds.

    Attributes:
        line: of the document, from 1.
        name: what it names, as it is written there.
        kind: what that is.
        became: what stands for it now, written as the document would write it; empty where it is gone, or
            where that is not sure.
        evidence: what became of it, one line, for a person.
    """

    line: int
    name: str
    kind: Literal["file", "folder", "symbol", "flag", "command", "link"]
    became: str
    evidence: str


@dataclass(frozen=True)
class DocumentInput:
    """What an engine may know when it keeps a document true.

    Attributes:
        path: the document, from the top of the work tree.
        text: all of it.
        title: what stands behind `# MAGIC DOC:`.
        instructions: the italic line under it; empty where there is none.
        prompt: what a person put in the place of the default task; empty for the default.
        stale: what was found not to hold, in the order of lines.
        changed: path of a file that the document names to what changed in it since the document was last
            true, as a unified diff.
        worktree: top of the code's work tree, to read in.
        now: epoch seconds.
    """

    path: str
    text: str
    title: str
    instructions: str
    prompt: str
    stale: tuple[Stale, ...]
    changed: Mapping[str, str] = field(default_factory=dict)
    worktree: Path | None = None
    now: float = 0.0


@dataclass(frozen=True)
class Document:
    """A document as an engine leaves it.

    Attributes:
        text: all of it; the input's where nothing is to be changed.
        reasons: what was changed and why, one line each.
        notes: what it saw and leaves for a person, one line each.
        usage: what it cost; None for an engine that asks no model.
        log: what it tried and was refused, one line each.
    """

    text: str
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    usage: Usage | None = None
    log: tuple[str, ...] = ()
