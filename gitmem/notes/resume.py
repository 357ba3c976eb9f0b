"""What a session that lost its context, or a new one in its place, is told to go on with."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from gitmem.core.session_notes import Section, render
from gitmem.core.text import fence_for_model, one_line, printable
from gitmem.notes.telling import filled
from gitmem.transcripts.model import Message, files_changed, last_request, open_todos
from gitmem.values import dataclass

REQUEST_CHARS = 4_000
"""Characters of the last request that are told; a log that was pasted into it can be looked up."""

LISTED = 50
"""Files, and to-dos, that are named."""

_WIDTH = 300


@dataclass(frozen=True)
class Resume:
    """Where a session stood, as far as it was recorded.

    Attributes:
        session, client: its id, and who recorded it; the client is empty where the recording is gone.
        branch, commit: of the code; empty where unknown.
        said: when something was last said in it, epoch seconds; 0 where unknown.
        request: what a person asked for last; empty where nothing that may be told.
        todos, files: what is open of the agent's list; what it wrote, the last one first.
        notes: those sections of its notes that hold something.
        noted: when they were taken, epoch seconds; 0 where there are none.
    """

    session: str
    client: str = ""
    branch: str = ""
    commit: str = ""
    said: float = 0.0
    request: str = ""
    todos: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    notes: tuple[Section, ...] = ()
    noted: float = 0.0


def resume_of(
    session: str,
    client: str,
    messages: Sequence[Message],
    *,
    notes: str = "",
    noted: float = 0.0,
    commit: str = "",
) -> Resume:
    """Reads off a session what is needed to go on.

    Args:
        messages: all that was said; what may not be told stands in it without its words.
        commit: of the code when the notes were taken; for a client that records none.
    """
    asked = last_request(messages)
    times = [message.time for message in messages if message.time]
    branches = [message.branch for message in messages if message.branch]
    commits = [message.commit for message in messages if message.commit]
    return Resume(
        session,
        client,
        branches[-1] if branches else "",
        commit or (commits[-1] if commits else ""),
        times[-1].timestamp() if times else 0.0,
        asked.marked(REQUEST_CHARS // 2) if asked else "",
        open_todos(messages),
        files_changed(messages),
        filled(notes),
        noted,
    )


def resume_text(found: Resume) -> str:
    """Writes it for a model: facts, and what others wrote fenced as data."""
    who = f", recorded by {found.client}" if found.client else ""
    parts = [f"# Where session {one_line(found.session, _WIDTH)} stood{who}\n"]
    code = [
        *([f"branch {one_line(found.branch, _WIDTH)}"] if found.branch else []),
        *([f"commit {one_line(found.commit, 64)}"] if found.commit else []),
    ]
    facts = [*([f"Code: {', '.join(code)}"] if code else [])]
    facts += [f"Last said: {_moment(found.said)}"] if found.said else []
    parts += ["\n".join(facts) + "\n"] if facts else []
    if found.request:
        cut = "…" if len(found.request) > REQUEST_CHARS else ""
        lines = printable(found.request[:REQUEST_CHARS] + cut).split("\n")
        parts.append(_part("Last request of the person", [f"> {line}".rstrip() for line in lines]))
    if found.todos:
        parts.append(_part("Open to-dos", _list(found.todos)))
    if found.files:
        parts.append(_part("Files that were written, the last one first", _list(found.files)))
    if found.notes:
        parts.append(
            fence_for_model(render(found.notes), source=f"its notes, taken {_moment(found.noted)}")
        )
    return "\n".join(parts)


def _part(title: str, lines: Sequence[str]) -> str:
    return "\n".join([f"## {title}", *lines]) + "\n"


def _list(names: Sequence[str]) -> list[str]:
    more = [f"- … and {len(names) - LISTED} more"] if len(names) > LISTED else []
    return [*(f"- {one_line(name, _WIDTH)}" for name in names[:LISTED]), *more]


def _moment(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M UTC")
