"""The jobs an engine does for the flows: values in, values out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from gitmem.core.change import Change, Header
from gitmem.core.trailers import Fate, Usage
from gitmem.transcripts.model import Message
from gitmem.values import dataclass

if TYPE_CHECKING:
    from gitmem.core.daily_log import LogLine


@dataclass(frozen=True)
class ExtractInput:
    """What an engine may know when it looks for new memories.

    Attributes:
        messages: the part of one conversation to look at, oldest first.
        manifest: one header for each memory that exists already, of every scope that applies.
        rules: full texts of the instruction files (CLAUDE.md, AGENTS.md): what they say is not kept.
        session: id of the recorded session.
        agent: whose memory it is: folder name of the agent.
        memory: the agent's memory, `<scope>/<agent>/<file>` to content, index left out.
        history: the session as it was recorded, oldest first, up to the end of what is new; `messages` are
            in it, or follow it. What is not to be learned from stands in it without its words (`withheld`),
            so that a message keeps its number. Empty for an engine that does not read it.
        seen: how many messages of `history`, from the beginning, were shown to the engine before, as far as
            the recording tells; None for all that stand before `messages`.
        known_before: the manifest as it was when the session began, the same for all extractions of the
            session; empty where that is not known, and for an engine that does not read history.
        transcript: the recorded session; None where it is no file.
        worktree: top of the code's work tree; None where there is none.
        now: epoch seconds.
        suggested: how many finds of this session wait in review already.
        answered: uuids of messages of which what they plainly ask for was stored already, while an engine
            failed at the rest.
    """

    messages: tuple[Message, ...]
    manifest: tuple[Header, ...] = ()
    rules: tuple[str, ...] = ()
    session: str = ""
    agent: str = "main"
    memory: Mapping[str, bytes] = field(default_factory=dict)
    history: tuple[Message, ...] = ()
    seen: int | None = None
    known_before: tuple[Header, ...] = ()
    transcript: Path | None = None
    worktree: Path | None = None
    now: float = 0.0
    suggested: int = 0
    answered: frozenset[str] = frozenset()

    @cached_property
    def said(self) -> tuple[Message, ...]:
        """The session as far as it is given; a message's number is its place here, from 1."""
        recorded = {message.uuid for message in self.history}
        return (*self.history, *(message for message in self.messages if message.uuid not in recorded))

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """Numbers of `messages`."""
        place = {message.uuid: number for number, message in enumerate(self.said, 1)}
        return tuple(place[message.uuid] for message in self.messages)


@dataclass(frozen=True)
class Extraction:
    """What an engine made of some messages.

    Attributes:
        changes: proposals in the order in which they were said; `noop` where a statement is known already.
        usage: what it cost; None for an engine that asks no model.
        log: what it tried and was refused, one line each, for a person who asks why.
        tell: statements that may last, best first, for the agent of the session to decide on; None from an
            engine that tells no agent.
        engine: the name of the one that looked, where another one did than the one that was asked.
    """

    changes: tuple[Change, ...] = ()
    usage: Usage | None = None
    log: tuple[str, ...] = ()
    tell: tuple[Change, ...] | None = None
    engine: str = ""


@dataclass(frozen=True)
class Observation:
    """Something that was found out about memory before an engine is asked: to act on, or for a person.

    Attributes:
        kind: `code`, `dispute`, `date`, `link`, `log`, `limit` or `index`.
        text: what it is, one line, with its evidence.
        claims: those that it is about, as `<file>#<12 hex>`.
        names: names in them that the code has otherwise now, with what these are called there.
    """

    kind: str
    text: str
    claims: tuple[str, ...] = ()
    names: tuple[tuple[str, str], ...] = ()


Phase = Literal["orient", "gather", "consolidate", "prune", "check"]


@dataclass(frozen=True)
class DreamProgress:
    """How far a dream has come.

    Attributes:
        turn: request to a model, from 1; 0 where none is asked.
        turns: the most that there may be.
        files: paths in the tree that were changed so far.
    """

    phase: Phase
    turn: int = 0
    turns: int = 0
    files: tuple[str, ...] = ()


Tell = Callable[[DreamProgress], None]
"""Is told each step, for whoever waits; may raise to stop the work."""


def untold(step: DreamProgress) -> None:
    """Tells nobody."""


Judge = Callable[[Sequence["DreamChange"]], Sequence[str]]
"""Tells what changes of a dream cannot prove, a line each."""


def unjudged(changes: Sequence[DreamChange]) -> Sequence[str]:  # noqa: ARG001 - the type's
    """Finds nothing wrong."""
    return ()


MOST = 20
"""Changes of one dream: what a person decides within five minutes. The rest waits for the next one."""


def no_code(_path: str) -> None:
    """Has no file."""


@dataclass(frozen=True)
class ConsolidateInput:
    """What an engine may know when it consolidates the memories of one scope.

    Attributes:
        files: the scope's tree: path from the root to content, tombstones of rejected proposals included.
        said: claim (`<file>#<12 hex>`) to when it was first said, for claims of which that is known.
        authors: claim to who said it first, for those same claims.
        agents: folder names of those whose memories to consolidate; empty for all.
        waiting: keys (`account.reject_keys`) of proposals that wait for a person already.
        pending: claims that would go by them: nothing else is asked of these meanwhile.
        scope: its name.
        observed: what was found out about these memories.
        renamed: name that links may use to the name of the memory that has it now, after a rename or a
            merge; empty where the memory is gone.
        sessions: id of a session since the last dream to what was said there, private parts left out.
        worktree: top of the code's work tree; None where there is none.
        code: gives a file of the code at HEAD, by its path; None where there is none.
        allowance: how many claims may be dropped or superseded; None for any number.
        now: epoch seconds.
        taught: path of a memory to when its body last changed by an agent, extraction or person, epoch
            seconds; for those of which that is known.
        lines: facts of daily logs that no memory holds yet, by reference (`<file>#<12 hex>`), oldest first:
            new memories are made of these alone.
        most: changes that are proposed and asked at most, the best first.
        judge: tells what the flow will refuse of some changes, while the engine can still mend it.
    """

    files: Mapping[str, bytes]
    said: Mapping[str, datetime] = field(default_factory=dict)
    authors: Mapping[str, str] = field(default_factory=dict)
    agents: tuple[str, ...] = ()
    waiting: frozenset[str] = frozenset()
    pending: frozenset[str] = frozenset()
    scope: str = ""
    observed: tuple[Observation, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    sessions: Mapping[str, str] = field(default_factory=dict)
    worktree: Path | None = None
    code: Callable[[str], str | None] = field(default=no_code, compare=False, repr=False)
    allowance: int | None = None
    now: float = 0.0
    taught: Mapping[str, float] = field(default_factory=dict)
    lines: Mapping[str, LogLine] = field(default_factory=dict)
    most: int = MOST
    judge: Judge = field(default=unjudged, compare=False, repr=False)

    def names(self, ref: str, _text: str) -> dict[str, str]:
        """The names of a claim that the code has otherwise now, as was observed."""
        return dict(pair for one in self.observed if ref in one.claims for pair in one.names)


@dataclass(frozen=True)
class DreamChange:
    """One proposal of a dream; it starts from what the proposals before it left.

    Attributes:
        kind: what is done, in one word: `merge`, `date`, `link`, …; a `question` is what a person alone
            decides, or a model that is asked.
        edits: path from the root to new content, None to delete; never an index.
        fates: what becomes of every claim that goes.
        reason: why, for the person who reviews it.
        subject: what is done, in the imperative, one line.
    """

    kind: str
    edits: Mapping[str, bytes | None]
    fates: tuple[Fate, ...]
    reason: str
    subject: str

    def apply_to(self, files: dict[str, bytes]) -> None:
        """Makes of the tree that it starts from the one that it leaves."""
        for path, data in self.edits.items():
            if data is None:
                files.pop(path, None)
            else:
                files[path] = data


@dataclass(frozen=True)
class Consolidation:
    """What an engine made of a scope.

    Attributes:
        changes: proposals, in the order in which they apply.
        notes: what it saw and leaves for a person, one line each.
        usage: what it cost; None for an engine that asks no model.
        log: what it tried and was refused, one line each, for a person who asks why.
        apart: keys (`account.reject_keys`) of what a model need not be asked again: claims that are two
            things.
    """

    changes: tuple[DreamChange, ...] = ()
    notes: tuple[str, ...] = ()
    usage: Usage | None = None
    log: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()


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

    @property
    def head(self) -> int:
        """How many lines at the top are the person's own: the title, and to the instructions under it."""
        lines = self.text.split("\n")
        told = bool(self.instructions.strip())
        return next((at + 1 for at, line in enumerate(lines) if told and at and line.strip()), 1)


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


class Engine(Protocol):
    """Whoever thinks. Engines keep no state between calls and write nothing."""

    @property
    def name(self) -> str:
        """Gives the value of the `Gitmem-Engine` trailer: `offline`, `anthropic:<model>`, …."""
        ...

    @property
    def reads_history(self) -> bool:
        """Whether `extract` wants what was said in the session before."""
        ...

    def extract(self, given: ExtractInput) -> Extraction:
        """Proposes what to add, update or delete.

        Args:
            given: the messages and what is known already.

        Returns:
            the proposals; nothing is written.

        Raises:
            EngineError: the engine could not do its work.
        """
        ...

    def consolidate(self, given: ConsolidateInput, tell: Tell = untold) -> Consolidation:
        """Proposes what to merge, annotate and repair; the flow checks every claim's account.

        Args:
            given: all memories of one scope.
            tell: is told of each turn.

        Returns:
            proposals and notes; nothing where nothing can be proved.

        Raises:
            EngineError: the engine could not do its work.
        """
        ...

    def sum_up(self, given: NotesInput) -> Notes:
        """Writes a session's notes on, from what was said since.

        Args:
            given: the session, and the notes as they stand.

        Returns:
            the notes; those of the input where it has nothing to add.

        Raises:
            EngineError: the engine could not do its work.
        """
        ...

    def document(self, given: DocumentInput) -> Document:
        """Makes a living document true again.

        Args:
            given: the document, and what was found out about it.

        Returns:
            the document; nothing is written.

        Raises:
            EngineError: the engine could not do its work.
        """
        ...
