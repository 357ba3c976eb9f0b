"""Commit messages of memory: a subject in the imperative and `Gitmem-*` trailers, wherever they stand."""

from __future__ import annotations

import re
from dataclasses import field
from typing import Literal, get_args
from urllib.parse import quote, unquote

from gitmem.memory.usage import Usage, parse_usage
from gitmem.values import dataclass

Op = Literal["add", "update", "delete", "merge", "restore", "sync", "adopt", "page", "dream", "purge"]
Writer = Literal["agent", "extract", "dream", "human", "sync"]
FateKind = Literal["kept", "merged", "superseded", "dropped"]

OPS: frozenset[str] = frozenset(get_args(Op))
WRITERS: frozenset[str] = frozenset(get_args(Writer))

_LINE = re.compile(r"^[ \t]*(?:[*-][ \t]+)?Gitmem-([A-Za-z-]+):(.*)$", re.MULTILINE)
_CLAIM = re.compile(
    r"^(kept|merged|superseded|dropped)\s+(\S+#[0-9a-f]{12})(?:\s+->\s+(\S+#[0-9a-f]{12}))?(?:\s+(.*))?$"
)
SUBJECT_WIDTH = 72

MOVE_JOB = "move-"
"""What the job of a move begins with: its two commits, in two scopes, share it and are undone together."""


@dataclass(frozen=True)
class Fate:
    """What became of one claim.

    Attributes:
        source: `<file>#<12 hex>` of the claim before.
        target: where it went (`merged`, `superseded`); empty where it stayed or was dropped.
    """

    kind: FateKind
    source: str
    target: str = ""
    reason: str = ""

    def line(self) -> str:
        """The value of a `Gitmem-Claim` trailer."""
        arrow = f" -> {_word(self.target)}" if self.target else ""
        reason = one_line(self.reason)
        if not arrow and reason.startswith("->"):
            reason = f"({reason})"
        return f"{self.kind} {_word(self.source)}{arrow} {reason}".rstrip()


@dataclass(frozen=True)
class Provenance:
    """Who taught a change and how, as the trailers tell it.

    Attributes:
        op: what was done; empty in commits that gitmem did not make.
        writer: `human` where a commit has no trailers.
        messages: uuids of the first and last message, or None.
        claims: account of a dream, in the order given.
        reviewed: id of the reviewed item (`Gitmem-Reviewed`), for changes a person accepted.
        undoes: commit that this one takes back (`Gitmem-Undoes`).
        usage: what asking a model for it cost (`Gitmem-Usage`); None where none was asked.
    """

    op: str = ""
    writer: str = "human"
    session: str = ""
    messages: tuple[str, str] | None = None
    job: str = ""
    code_commit: str = ""
    engine: str = ""
    reviewed: str = ""
    undoes: str = ""
    usage: Usage | None = None
    claims: tuple[Fate, ...] = field(default=())


def one_line(text: str) -> str:
    """Collapses white space and drops control characters, so that text cannot forge a trailer."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def subject_line(text: str, width: int = SUBJECT_WIDTH) -> str:
    """One line of at most `width` characters, cut at a word with an ellipsis."""
    line = one_line(text)
    if len(line) <= width:
        return line
    return line[: width - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


def format_message(subject: str, provenance: Provenance, body: str = "") -> str:
    """Writes a commit message.

    Args:
        subject: what was learned; cut to one line of 72 characters.
        provenance: becomes the trailers, in the order of the design.
        body: free text between; empty for none.

    Returns:
        The message, ending in a newline.
    """
    lines = []
    for key, value in (
        ("Op", provenance.op),
        ("Writer", provenance.writer),
        ("Session", provenance.session),
        ("Messages", "..".join(provenance.messages) if provenance.messages else ""),
        ("Job", provenance.job),
        ("Code-Commit", provenance.code_commit),
        ("Engine", provenance.engine),
        ("Usage", provenance.usage.line() if provenance.usage else ""),
        ("Reviewed", provenance.reviewed),
        ("Undoes", provenance.undoes),
    ):
        if value:
            lines.append(f"Gitmem-{key}: {one_line(value)}")
    lines += [f"Gitmem-Claim: {fate.line()}" for fate in provenance.claims]
    parts = [_quoted(subject_line(subject)) or "Update memory", _quoted(body), "\n".join(lines)]
    return "\n\n".join(part for part in parts if part) + "\n"


def parse(message: str) -> Provenance:
    """Reads the trailers wherever they stand, so that a squash merge keeps them.

    The last value of a single trailer wins; `Gitmem-Claim` lines add up. An unknown Op or Writer is
    dropped; a message without any trailer is a person's.
    """
    found: dict[str, str] = {}
    claims: dict[Fate, None] = {}
    for key, raw in _LINE.findall(message):
        value = raw.strip()
        if key.lower() == "claim":
            fate = parse_fate(value)
            if fate:
                claims[fate] = None
        elif value:
            found[key.lower()] = value
    first, dots, last = found.get("messages", "").partition("..")
    op, writer = found.get("op", ""), found.get("writer", "")
    return Provenance(
        op=op if op in OPS else "",
        writer=writer if writer in WRITERS else "human",
        session=found.get("session", ""),
        messages=(first, last) if dots else None,
        job=found.get("job", ""),
        code_commit=found.get("code-commit", ""),
        engine=found.get("engine", ""),
        reviewed=found.get("reviewed", ""),
        undoes=found.get("undoes", ""),
        usage=parse_usage(found.get("usage", "")),
        claims=tuple(claims),
    )


def parse_fate(value: str) -> Fate | None:
    """Reads one `Gitmem-Claim` value; None where it is not in the form."""
    match = _CLAIM.match(value.strip())
    if match is None:
        return None
    kind, source, target, reason = match.groups()
    return Fate(kind, unquote(source), unquote(target or ""), reason or "")  # type: ignore[arg-type]


def _quoted(text: str) -> str:
    """Keeps text that looks like a trailer from being read as one, wherever a host may break lines."""
    lines = (
        "".join(c if c.isprintable() or c == "\t" else " " for c in line) for line in text.splitlines()
    )
    plain = "\n".join(line.rstrip() for line in lines).strip()
    return _LINE.sub(lambda match: "> " + match.group(0).strip(), plain)


def _word(name: str) -> str:
    """The name of a claim as one word: white space in a file's name is written in percent signs."""
    return "".join(quote(c) if c in "% " or c.isspace() or not c.isprintable() else c for c in name)
