"""`Remember: …` and `Forget: …` in commit messages: what they ask for, and what is done about it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Literal

from gitmem.core.change import TYPES, Change, Header, MemoryType, Origin
from gitmem.core.claim import normal_form, repeated
from gitmem.core.trailers import one_line
from gitmem.engines.engine import (
    ConsolidateInput,
    Consolidation,
    Document,
    DocumentInput,
    ExtractInput,
    Extraction,
    Notes,
    NotesInput,
    Tell,
    untold,
)
from gitmem.engines.offline import wording
from gitmem.extract.known import Known
from gitmem.extract.plan import ExtractionPlan, Rules, plan_extraction
from gitmem.store.workspace import SCOPES, ScopeName
from gitmem.transcripts.model import Message, Session

MOST_REQUESTS = 20
"""Requests of one commit; what follows is passed over."""

TEXT_CHARS = 4_000
"""Characters of one request; a longer one is no note."""

_REQUEST = re.compile(r"(remember|forget)[ \t]*(?:\(([^()]*)\))?[ \t]*:(.*)", re.I)
_TRAILER = re.compile(r"[A-Za-z][A-Za-z0-9-]*[ \t]*(?:\([^()]*\))?[ \t]*:.*")
_TYPES: dict[ScopeName | None, MemoryType] = {
    "project": "project",
    "user": "user",
    "local": "feedback",
    None: "feedback",
}


@dataclass(frozen=True)
class Request:
    """One line of a commit's trailers.

    Attributes:
        scope: the scope in brackets; None where none is named.
        text: the fact, or what to forget; one line.
    """

    op: Literal["remember", "forget"]
    scope: ScopeName | None
    text: str

    def key(self, email: str, time: int) -> str:
        """16 hex digits that stay the same when the commit is amended, rebased or picked.

        Args:
            email, time: the commit's author and author time (epoch seconds), which all of these keep.
        """
        text = "\0".join([email.casefold(), str(time), self.op, self.scope or "", self.text])
        return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def requests(message: str) -> tuple[Request, ...]:
    """Reads what a commit message asks for.

    As git does, trailers are looked for below the title, in paragraphs of nothing but trailers; unlike git
    in any such paragraph, so that squash merges keep them. A line that begins with white space goes on with
    the one before it. Quoted or indented messages of other commits are no trailers.

    Returns:
        in order, each once; a word in brackets that is no scope makes a line mean nothing.
    """
    found: dict[Request, None] = {}
    for lines in _trailer_paragraphs(message):
        for line in lines:
            match = _REQUEST.fullmatch(line)
            if match is None:
                continue
            named = match[2]
            scope = next((one for one in SCOPES if named and one == named.strip().lower()), None)
            text = one_line(match[3])
            if not text or len(text) > TEXT_CHARS or (named is not None and scope is None):
                continue
            found[Request("remember" if match[1].lower() == "remember" else "forget", scope, text)] = None
    return tuple(found)[:MOST_REQUESTS]


def wanted(request: Request, said: datetime, asked: bool, reason: str) -> Change:
    """The memory that a `Remember:` asks for.

    A fact for the project is of type project, one about the person of type user, any other feedback, which
    stays local: what nobody said to share is not shared.

    Args:
        said: when the commit was authored.
        asked: whether the person wrote it.
        reason: where it comes from, for the person who reviews it.
    """
    fact, why = wording.split_why(request.text)
    return Change(
        op="add",
        name=wording.slug(fact),
        description=wording.description(fact),
        type=_TYPES[request.scope],
        body=wording.body(fact, why, ""),
        reason=reason,
        confidence=1.0,
        asked=asked,
        origin=Origin(time=said),
    )


def plan_request(request: Request, change: Change, known: Known, rules: Rules) -> ExtractionPlan:
    """Passes a wanted memory through the gates of extraction: guard, exclusions, tombstones, doubles."""
    said = change.origin.time
    message = Message("commit", "person", request.text, said, "prompt")
    session = Session("", "git", Path(), "", (message,), 0)
    mine = replace(rules, mode="suggest", scope=request.scope)
    return plan_extraction(session, (), known, _Told(change), mine)


def named(request: Request, known: Known) -> tuple[Header, ...]:
    """The memories whose name or file is just what a `Forget:` says."""
    sought = request.text.casefold().removesuffix(".md")
    return tuple(
        header
        for header in known.manifest
        if request.scope in (None, header.scope)
        and sought
        in (header.name.casefold(), header.file.rpartition("/")[2].removesuffix(".md").casefold())
    )


def says(request: Request, key: str) -> bool:
    """Whether a claim (by its normal form) is what a `Forget:` says, but for case and full stop."""
    said = (normal_form(request.text, item=False), normal_form(request.text, item=True))
    return repeated(key) in map(repeated, said)


def without(header: Header, said: datetime, reason: str) -> Change:
    """The proposal to delete a memory."""
    return Change(
        op="delete",
        name=header.name,
        description=header.description,
        type=next((one for one in TYPES if one == header.type), "feedback"),
        body="",
        reason=reason,
        confidence=0.5,
        asked=False,
        origin=Origin(time=said),
        agent=header.agent,
        file=header.file,
    )


class _Told:
    """Stands where an engine would: what to remember was said outright."""

    name = ""
    reads_history = False

    def __init__(self, change: Change) -> None:
        self._change = change

    def extract(self, given: ExtractInput) -> Extraction:  # noqa: ARG002 - the protocol's
        return Extraction((self._change,))

    def choose(self, query: str, headers: Sequence[Header], limit: int) -> tuple[int, ...]:  # noqa: ARG002
        return ()

    def consolidate(self, given: ConsolidateInput, tell: Tell = untold) -> Consolidation:  # noqa: ARG002
        return Consolidation()

    def sum_up(self, given: NotesInput) -> Notes:
        return Notes(given.before)

    def document(self, given: DocumentInput) -> Document:
        return Document(given.text)


def _trailer_paragraphs(message: str) -> Iterator[list[str]]:
    """Paragraphs below the title that hold trailers alone, folded lines joined."""
    blocks: list[list[str]] = [[]]
    # Git knows one line end; what Unicode calls one must not begin a trailer.
    for line in message.replace("\r\n", "\n").strip().split("\n"):
        if line.strip():
            blocks[-1].append(line)
        elif blocks[-1]:
            blocks.append([])
    for block in blocks[1:]:
        joined: list[str] = []
        for line in block:
            if line[0] in " \t":
                if not joined:
                    break
                joined[-1] += f" {line.strip()}"
            elif _TRAILER.fullmatch(line) or line.startswith("(cherry picked from commit "):
                joined.append(line)
            else:
                break
        else:
            yield joined
