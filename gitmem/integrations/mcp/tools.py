"""The tools by name: what each is for, what it takes and gives, and what it may do to memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gitmem.core.change import TYPES
from gitmem.integrations.mcp import reading, writing
from gitmem.integrations.mcp.call import Run
from gitmem.ledger.workspace import SCOPES

Schema = Mapping[str, Any]


@dataclass(frozen=True)
class Tool:
    """One tool.

    Attributes:
        takes: names of the arguments to their JSON schemas.
        needs: arguments that must be given.
        gives: names of the parts of the structured answer that are always there to their JSON schemas.
        writes: it may change memory; offered with `--write` alone.
        destroys: it may take something out.
    """

    name: str
    title: str
    description: str
    run: Run
    takes: Mapping[str, Schema]
    gives: Mapping[str, Schema]
    needs: tuple[str, ...] = ()
    writes: bool = False
    destroys: bool = False
    inputs: Schema = field(init=False)
    outputs: Schema = field(init=False)

    def __post_init__(self) -> None:
        takes = {"type": "object", "properties": dict(self.takes), "additionalProperties": False}
        object.__setattr__(self, "inputs", takes | ({"required": list(self.needs)} if self.needs else {}))
        gives = {"type": "object", "properties": dict(self.gives), "required": list(self.gives)}
        object.__setattr__(self, "outputs", gives)


def _text(description: str, most: int = 300) -> Schema:
    return {"type": "string", "minLength": 1, "maxLength": most, "description": description}


def _number(description: str, most: int, usual: int) -> Schema:
    return {
        "type": "integer",
        "minimum": 1,
        "maximum": most,
        "default": usual,
        "description": description,
    }


def _list(description: str, *parts: str) -> Schema:
    each = {"type": "object", "properties": {part: {} for part in parts}, "required": list(parts)}
    return {"type": "array", "items": each, "description": description}


_STRING: Schema = {"type": "string"}
_PERHAPS: Schema = {"type": ["string", "null"]}
_SCOPE: Schema = {
    "type": "string",
    "enum": list(SCOPES),
    "description": "project: the team's; local: this person's, here; user: this person's, everywhere.",
}
_AGENT = _text("main, or the name of a subagent.")
_TYPE: Schema = {"type": "string", "enum": list(TYPES)}
_TYPES = (
    "user: about the person; feedback: how they want things done; project: about the project; reference: "
    "where something is to be found."
)
_AT = _text("As of then: a date (2026-11-20, '2 days ago'), a tag, or a commit of memory or code.")
_NAME = _text("Name or file of a memory, or scope/agent/name; a date (2026-11-20) for the log of that day.")
_WHERE = {"scope": _SCOPE, "agent": _AGENT}
_CHANGED = {
    "scope": _STRING,
    "agent": _STRING,
    "file": _STRING,
    "name": _STRING,
    "commit": {**_PERHAPS, "description": "The commit; null where nothing changed."},
    "waiting": {**_PERHAPS, "description": "Id of what waits for the person's review."},
    "undo": {**_PERHAPS, "description": "The command that takes it back."},
}

RECALL = Tool(
    "recall",
    "Recall memories",
    "Finds what was recorded earlier that bears on a question: preferences and corrections of the person, "
    "decisions and facts of the project that its code does not tell. Few and right: an empty answer means "
    "that nothing fits. Each memory comes with its age and with what it names that is gone from the code. "
    "An item of kind log is a line of a daily log of which no memory was made yet. Commits of the code's "
    "own history that decided it come beside them, and what undid them.",
    reading.recall,
    {
        "query": _text("A question, or words.", 4_000),
        "limit": _number("At most so many.", 20, 5),
        "type": {**_TYPE, "description": f"Only those of one type. {_TYPES}"},
        "at": _AT,
        **_WHERE,
    },
    {
        "about": _STRING,
        "items": _list("Best first.", "kind", "scope", "agent", "file", "name", "type", "text", "note"),
        "notes": {"type": "array", "items": _STRING, "description": "What is to be known of the answer."},
        "commits": _list(
            "Of the code's history, best first.", "commit", "time", "subject", "text", "undone"
        ),
    },
    needs=("query",),
)
SHOW = Tool(
    "show",
    "Show a memory",
    "Gives one memory whole, now or as of then.",
    reading.show,
    {"name": _NAME, "at": _AT, **_WHERE},
    {
        "about": _STRING,
        "name": _STRING,
        "type": _STRING,
        "scope": _STRING,
        "agent": _STRING,
        "file": _STRING,
        "description": _STRING,
        "taught": {**_PERHAPS, "description": "When it was last taught, ISO 8601; null where unknown."},
        "secret": {"type": "boolean", "description": "Whether a secret is left out."},
        "content": {**_STRING, "description": "The file."},
    },
    needs=("name",),
)
LOG = Tool(
    "log",
    "Log of what was learned",
    "Lists what was learned, when and from whom, newest first: of all memory, or of one.",
    reading.log,
    {"name": _NAME, "limit": _number("At most so many.", 200, reading.LOGGED), **_WHERE},
    {
        "about": _STRING,
        "commits": _list(
            "The commits.", "commit", "scope", "time", "author", "writer", "session", "subject"
        ),
        "more": {"type": "boolean", "description": "Whether there are older ones."},
    },
)
BLAME = Tool(
    "blame",
    "Who taught it",
    "Shows for each claim of a memory, or for everything that says a text, the commit, the author and the "
    "session that it comes from. Takes either name or text.",
    reading.blame,
    {"name": _NAME, "text": _text("Words that a claim holds.", 2_000), "at": _AT, **_WHERE},
    {"about": _STRING, "claims": _list("The claims.", "scope", "agent", "file", "text", "origins")},
)
REMEMBER = Tool(
    "remember",
    "Remember a fact",
    "Stores one lasting fact, as a commit. For what the person wants or corrected, and for facts that "
    "neither the code, its history nor CLAUDE.md or AGENTS.md tells; not for the task at hand. The name of "
    "a memory that is there adds to it; what no longer holds is taken out with forget. Project memory "
    "changes only once the person accepts it in review.",
    writing.remember,
    {
        "text": _text("The fact, in markdown.", 50_000),
        "type": {**_TYPE, "default": "feedback", "description": _TYPES},
        "name": _text("A slug; made from the text if not given.", 60),
        "description": _text("One line that would find it again."),
        "why": _text("The reason.", 2_000),
        "how": _text("When and how it applies.", 2_000),
        "scope": {**_SCOPE, "description": f"{_SCOPE['description']} By its type if not given."},
        "agent": _AGENT,
    },
    _CHANGED,
    needs=("text",),
    writes=True,
)
FORGET = Tool(
    "forget",
    "Forget",
    "Takes out one memory, or one claim of it, and keeps merges and extractions from bringing it back. "
    "Takes either name or claim. History keeps it, and git mem undo takes it back. Project memory changes "
    "only once the person accepts it in review.",
    writing.forget,
    {
        "name": _NAME,
        "claim": _text("What the claim says.", 4_000),
        "reason": _text("Why, for the person's review."),
        **_WHERE,
    },
    _CHANGED,
    writes=True,
    destroys=True,
)

TOOLS = (RECALL, SHOW, LOG, BLAME, REMEMBER, FORGET)


def offered(*, write: bool) -> dict[str, Tool]:
    """The tools that a server offers, by name: those that only look, and with `write` all."""
    return {tool.name: tool for tool in TOOLS if write or not tool.writes}
