"""A session as its notes may tell of it: nothing private, nothing said in a pause, no secret."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gitmem.core.session_notes import TEMPLATE, Section, parse
from gitmem.flows.context import Edges, allowed_fingerprints
from gitmem.flows.extraction import left_out
from gitmem.flows.sessions import without_secrets
from gitmem.ledger.files import log, read_regular
from gitmem.ledger.workspace import Workspace
from gitmem.notes.writing import TEMPLATE_CHARS, template_of
from gitmem.rules.secrets import find_secrets, redact, scan
from gitmem.transcripts import discover
from gitmem.transcripts.model import Message, Session, ToolCall, strings_in
from gitmem.transcripts.privacy import ignoring, withholding

FILE = "session-notes.md"
"""Name of a person's own template, in `$XDG_CONFIG_HOME/gitmem`."""


def said_in(workspace: Workspace, path: Path, now: float) -> Session:
    """All of a session of `main`; what is not to be learned from stands in it without its words.

    Raises:
        RepositoryError: it cannot be read.
        UsageError: a pattern of `gitmem.ignore` cannot be honoured.
    """
    session = discover.read(path, keep=False)
    ignore = ignoring(workspace.settings.all("ignore"))
    out = left_out(workspace, session, now, strict=True)
    return replace(session, messages=withholding(session.messages, out, ignore))


def clean_messages(workspace: Workspace, messages: Sequence[Message]) -> tuple[Message, ...]:
    """The same with every secret replaced by the name of its kind, in tools' input and results, too.

    Raises:
        DetectorUnavailable: they cannot be looked for.
    """
    texts = [text for one in messages for call in one.tools for text in strings_in(call.input)]
    found = scan(texts, allowed_fingerprints(workspace))
    clean = iter([redact(text, findings) for text, findings in zip(texts, found, strict=True)])
    return tuple(
        replace(one, tools=tuple(_with_input(call, clean.__next__) for call in one.tools))
        for one in without_secrets(workspace, messages)
    )


def cleaner(workspace: Workspace) -> Callable[[str], str]:
    """Takes secrets out of a text; raises `DetectorUnavailable` where they cannot be looked for."""
    allow = allowed_fingerprints(workspace)
    return lambda text: redact(text, find_secrets(text, allow))


def template(workspace: Workspace, edges: Edges) -> tuple[Section, ...]:
    """The sections of notes: the person's own template where they have one, else gitmem's."""
    base = Path(edges.environ.get("XDG_CONFIG_HOME", ""))
    path = (base if base.is_absolute() else edges.home / ".config") / "gitmem" / FILE
    trouble = f"has no heading, or more than {TEMPLATE_CHARS:,} characters"
    try:
        # A person's settings may well be links into a folder of theirs.
        found = read_regular(path.resolve(), 4 * TEMPLATE_CHARS)
    except (OSError, RuntimeError) as error:
        found, trouble = (b"", 0.0), f"cannot be read: {error}"
    if found is None:
        return parse(TEMPLATE)
    own = template_of(found[0].decode("utf-8", "replace"))
    if own is None:
        log(workspace.layout.common_dir, f"session notes: {path} {trouble}; the usual headings are used")
    return own or parse(TEMPLATE)


def _with_input(call: ToolCall, clean: Callable[[], str]) -> ToolCall:
    def made(value: Any) -> Any:
        if isinstance(value, str):
            return clean()
        if isinstance(value, dict):
            return {key: made(item) for key, item in value.items()}
        return [made(item) for item in value] if isinstance(value, list) else value

    return replace(call, input=made(dict(call.input)))
