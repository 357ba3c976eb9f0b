"""Provenance in commit messages: `Gitmem-*` trailers, wherever they stand, squashed messages included.

Hosts and git keep the messages of squashed commits one after the other: GitHub as `* subject` paragraphs,
`git merge --squash` under `commit <name>` / `Author:` / `Date:` headers, an interactive rebase without
anything between.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import field
from datetime import datetime
from typing import Literal, get_args
from urllib.parse import quote, unquote

from gitmem.values import dataclass

_WORD = re.compile(r"([a-z_]{1,32})=([0-9]{1,15}(?:\.[0-9]{1,12})?)")
_COUNTS = ("requests", "input", "cache_read", "cache_write", "output")


@dataclass(frozen=True)
class Usage:
    """What requests to a model cost.

    Attributes:
        requests: how many were answered.
        input: tokens that were read anew; neither of the two below counts in it.
        cache_read, cache_write: tokens read from, and written to, the provider's prompt cache.
        output: tokens that were written.
        dollars: cost in US dollars; None where the price is unknown.
    """

    requests: int = 0
    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    dollars: float | None = 0.0

    def __add__(self, other: Usage) -> Usage:
        dollars = (
            None if None in (self.dollars, other.dollars) else (self.dollars or 0) + (other.dollars or 0)
        )
        return Usage(
            self.requests + other.requests,
            self.input + other.input,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.output + other.output,
            dollars,
        )

    @property
    def tokens(self) -> int:
        """Tokens of all kinds."""
        return self.input + self.cache_read + self.cache_write + self.output

    def line(self) -> str:
        """The value of a `Gitmem-Usage` trailer; `dollars` is left out where it is unknown."""
        words = [f"{name}={getattr(self, name)}" for name in _COUNTS]
        if self.dollars is not None:
            words.append(f"dollars={f'{self.dollars:.6f}'.rstrip('0').rstrip('.')}")
        return " ".join(words)


def parse_usage(value: str) -> Usage | None:
    """Reads the value of a `Gitmem-Usage` trailer, which nobody vouches for.

    Returns:
        what the words that can be read say, the first of each; None where there is none.
    """
    counts: dict[str, int] = {}
    dollars: float | None = None
    for word in value.split()[:64]:
        found = _WORD.fullmatch(word)
        if found is None:
            continue
        name, number = found.groups()
        if name in _COUNTS and "." not in number:
            counts.setdefault(name, int(number))
        elif name == "dollars" and dollars is None:
            dollars = float(number)
    return Usage(**counts, dollars=dollars) if counts or dollars is not None else None


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
ASKING = "Ask whether "
"""How the subject of a question begins: a commit that lands where a person accepts just that one."""
PICKED = "(cherry picked from commit"
"""How `git cherry-pick -x` begins the line that names what it picked."""

LEFT_OUT = "Leave out change "
"""How the subject of a commit begins that keeps the number of a change which others are not asked about."""

JUDGED = "judged by "
"""How the line of a reason begins that names the model by which two claims are one, or one is newer."""


MOVE_JOB = "move-"
"""What the job of a move begins with: its two commits, in two scopes, share it and are undone together."""

BATCH_JOB = "batch-"
"""What the job of a batch begins with; each commit of it adds a dot and a number of its own."""


def batch_of(job: str) -> str:
    """What the jobs of commits that are undone together share; empty where one stands alone."""
    return job.partition(".")[0] if job.startswith((MOVE_JOB, BATCH_JOB)) else ""


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
        source: what an import took it from (`Gitmem-Source`): `<format>:<id> [<ISO 8601 time there>]`, the
            id percent-encoded.
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
    source: str = ""
    claims: tuple[Fate, ...] = field(default=())

    @property
    def by(self) -> str:
        """Who or what wrote, in a few words; of an import where it was taken from, whoever wrote there."""
        if self.source:
            return f"from {self.source.partition(' ')[0]}"
        return self.writer + (f" ({self.engine})" if self.engine else "")


def one_line(text: str) -> str:
    """Collapses white space and drops control characters, so that text cannot forge a trailer."""
    if not text.isprintable():  # nearly all is, and a look at each character takes thirty times as long
        text = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(text.split())


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
        ("Source", provenance.source),
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
        source=found.get("source", ""),
        claims=tuple(claims),
    )


def body_of(message: str) -> str:
    """What a message says under its subject, without trailers, and without git's word of a cherry-pick."""
    lines = message.split("\n")[1:]
    return "\n".join(line for line in lines if not line.startswith(("Gitmem-", PICKED))).strip()


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


_HEADER = re.compile(r"^commit [0-9a-f]{7,64}$", re.MULTILINE)
_AUTHOR = re.compile(r"^Author: +(.+)", re.MULTILINE)
_DATE = re.compile(r"^Date: +(.+)", re.MULTILINE)
_STARRED = re.compile(r"(?:(?<=\A)|(?<=\n\n))\* (?=[^\n]+(?:\n\n|\n?\Z))")
_TRAILERS = re.compile(r"(?:^[ \t]*Gitmem-[A-Za-z-]+:.*(?:\n|\Z))+", re.MULTILINE)
_NUMBERED = re.compile(r" \(#\d{1,9}\)$")
_OPENING = re.compile(r"Gitmem-(?:Op|Writer):", re.IGNORECASE)
TEACH_NOTHING: frozenset[str] = frozenset({"delete", "page", "merge"})
"""What commits do that say nothing new."""

_DATE_FORM = "%a %b %d %H:%M:%S %Y %z"
"""git's default, which `git merge --squash` writes whatever is configured."""


@dataclass(frozen=True)
class Telling:
    """What one commit said that is part of a message.

    Attributes:
        subject: its first line.
        author: `Ann <ann@example.com>`, or empty where the form does not have it.
        time: author time in seconds since the epoch, or None where the form does not have it.
    """

    subject: str
    provenance: Provenance
    author: str = ""
    time: int | None = None


def tellings(message: str) -> tuple[Telling, ...]:
    """Cuts a message into what each of its commits said; a plain commit says one thing.

    Returns:
        In the order of the message. Commits without trailers are among them only where the form shows them.
    """
    if _HEADER.search(message):
        return tuple(_listed(message))
    ends = _ends(message)
    starred = [match.start() for match in _STARRED.finditer(message)]
    if not ends and not (len(starred) > 1 and _joined(message, starred[-1])):
        return (_told(message),)
    parts = _cut(message, starred if len(starred) > 1 else [0, *ends])
    return tuple(_told(part) for part in parts if part.strip(" \n-"))


def fitting(told: Iterable[Telling], names: Iterable[str]) -> tuple[Telling, ...]:
    """Chooses those that can have taught a memory.

    Args:
        told: what a message's commits said.
        names: what the memory goes by: its name, its file's stem, its description.

    Returns:
        Those whose subject or trailers name the memory; where none does, all but deletions, pagings and
        merges, which teach nothing; each only once.
    """
    known = tuple(dict.fromkeys(told))
    sought = [plain for name in names if (plain := _plain(name)).strip()]
    teaching = tuple(one for one in known if one.provenance.op not in TEACH_NOTHING) or known
    named = tuple(one for one in teaching if any(name in _said(one) for name in sought))
    return named or teaching


def _listed(message: str) -> Iterator[Telling]:
    for part in _cut(message, [match.start() for match in _HEADER.finditer(message)]):
        head, _, body = part.partition("\n\n")
        if _HEADER.match(head):
            author, date = _AUTHOR.search(head), _DATE.search(head)
            text = "\n".join(line.removeprefix("    ") for line in body.splitlines())
            one = _told(text)
            yield Telling(
                one.subject,
                one.provenance,
                author[1].strip() if author else "",
                _time(date[1].strip()) if date else None,
            )


def _told(text: str) -> Telling:
    text = text.strip("\n").removeprefix("* ")
    return Telling(text.split("\n", 1)[0].strip(), parse(text))


def _joined(message: str, star: int) -> bool:
    """Whether paragraphs with a star are commits that a host joined, and no list in the text of one.

    Such a message begins with the request's number, and one with trailers goes on behind them.

    Args:
        star: where the last of them begins.
    """
    first = _TRAILERS.search(message)
    return bool(first and (first.end() <= star or _NUMBERED.search(message.split("\n", 1)[0])))


def _ends(message: str) -> list[int]:
    """Where the trailers of one commit end and another's message begins: before Op or Writer come again."""
    ends: list[int] = []
    opened, last = False, 0
    for block in _TRAILERS.finditer(message):
        if _OPENING.search(block[0]):
            if opened:
                ends.append(last)
            opened = True
        last = block.end()
    return ends


def _cut(message: str, starts: list[int]) -> list[str]:
    ends = [*starts[1:], len(message)]
    return [message[start:end] for start, end in zip(starts, ends, strict=True)]


def _time(date: str) -> int | None:
    try:
        return int(datetime.strptime(date, _DATE_FORM).timestamp())
    except (ValueError, OverflowError):
        return None


def _said(one: Telling) -> str:
    ends = (end for fate in one.provenance.claims for end in (fate.source, fate.target))
    return _plain(" ".join([one.subject, *ends]))


def _plain(text: str) -> str:
    """Words with single spaces around them, so that a name is only found as whole words."""
    words = re.findall(r"\w+", text.casefold().removesuffix(".md"))
    return f" {' '.join(words)} "
