"""From a tree as a model left it to what is taken of it: changes, a session's notes, a document.

Neither the tree nor the answer is trusted. Relative dates, memories that are nearly the same, secrets and
tombstones are the flow's work: it looks at the proposals of every engine alike. What becomes of a whole
scope is in `consolidation`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property
from itertools import zip_longest

from gitmem.core.change import TYPES, Change, ChangeOrigin, Edited, MemoryType
from gitmem.core.claim import Claim
from gitmem.core.facts import missing_facts
from gitmem.core.limits import DESCRIPTION_CHARS, MEMORY_BYTES
from gitmem.core.memory import Memory, parse
from gitmem.core.names import is_agent_folder, is_archived, is_memory_file, kind, slugify
from gitmem.core.session_notes import CHARS_A_TOKEN, TOTAL_TOKENS, Section
from gitmem.core.session_notes import parse as parse_notes
from gitmem.core.text import counted, find_invisible, one_line
from gitmem.engines.engine import Document, DocumentInput, ExtractInput
from gitmem.engines.offline import OfflineEngine
from gitmem.engines.offline.likeness import gist, same, words
from gitmem.ledger.workspace import SCOPES
from gitmem.rules.instructions import find_instructions
from gitmem.rules.paths import check_path
from gitmem.rules.secrets import scan
from gitmem.transcripts.model import Message

CHANGES = 50
"""Changes of one run, at most; a conversation teaches a handful."""

CERTAIN, UNCERTAIN = 0.7, 0.5
"""Confidence where the model names the messages, and where it does not."""

SHARED = 0.5
"""Share of a statement's words that the message which asked for it must hold, for it to count as asked."""

UNTYPED: MemoryType = "feedback"
"""Type of a new file that names none: of all types this one stays private, whatever is shared."""

_GIVEN_CHARS = 300
_UNEXPLAINED = "the model gave no reason"
_MARKUP = re.compile(r"^\W+|[*_`]+")


def derive_changes(
    given: ExtractInput, after: Mapping[str, bytes], answer: str, asked: frozenset[str]
) -> tuple[Change, ...]:
    """Turns what a model did to a copy of the memory into changes.

    A new file is an add, whose scope the flow decides; a changed one an update with the whole file before
    and after, and a body that holds the new claims; one that is gone a delete. Lines of the answer about
    what was left alone become noops. Files that are no memory of this agent are passed over.

    Args:
        given: what the engine was asked with; messages are numbered as in `ExtractInput.said`.
        after: the tree, `<scope>/<agent>/<file>` to content.
        answer: the model's last words.
        asked: uuids of messages in which a person plainly asks that something be remembered.

    Returns:
        changes in the order of the messages that they stem from.
    """
    work = _Work(given, answer, asked)
    found = [*work.changes(after), *work.left_alone(after)]
    order = {message.uuid: at for at, message in enumerate(work.said)}
    found.sort(key=lambda change: (order.get(change.origin.first, len(order)), change.file or change.name))
    return tuple(found[:CHANGES])


@dataclass(frozen=True)
class _Source:
    """The messages that a change stems from; the new ones, where the model named none."""

    origin: ChangeOrigin
    messages: tuple[Message, ...]
    reason: str
    named: bool


class _Work:
    def __init__(self, given: ExtractInput, answer: str, asked: frozenset[str]) -> None:
        self.given = given
        self.said = given.said
        self._asked = asked
        self._notes = notes(answer, len(self.said))

    def changes(self, after: Mapping[str, bytes]) -> Iterator[Change]:
        before = self.given.memory
        for key in sorted({*before, *after}):
            if before.get(key) == after.get(key) or not self._is_own(key, new=key not in before):
                continue
            source = self._source(key)
            file = key.split("/", 2)[2]
            change = (
                self._add(file, after[key], source)
                if key not in before
                else self._changed(file, before[key], after.get(key), source)
            )
            if change is not None:
                yield change

    def left_alone(self, after: Mapping[str, bytes]) -> Iterator[Change]:
        """Noops: lines that say so, and lines about a file that is as it was."""
        for note in self._notes:
            name = "nothing-new"
            if note.path != "noop":
                # Files are listed by folder, and some models name them without it.
                meant = [key for key in sorted(after) if note.path in (key, key.rpartition("/")[2])]
                if not meant or any(self.given.memory.get(key) != after[key] for key in meant):
                    continue
                name = parse(meant[0], after[meant[0]]).name
            yield self._change("noop", name, note.reason, UNTYPED, "", self._from([note]))

    def _is_own(self, key: str, *, new: bool) -> bool:
        scope, _, rest = key.partition("/")
        agent, _, file = rest.partition("/")
        if scope not in SCOPES or agent != self.given.agent or not is_agent_folder(agent):
            return False
        if check_path(key) is not None:
            return False
        return is_memory_file(file) or (not new and is_archived(file) and kind(file) == "memory")

    def _add(self, file: str, data: bytes, source: _Source) -> Change | None:
        memory = _read(file, data)
        if memory is None:
            return None
        claims = memory.parsed.claims
        first = _MARKUP.sub("", claims[0].key) if claims else ""
        description = one_line(
            memory.description or first, _GIVEN_CHARS if memory.description else DESCRIPTION_CHARS
        )
        body = memory.body.strip() or description
        if not body:
            return None
        name = slugify(memory.name)
        change = self._change("add", name, description, _type(memory) or UNTYPED, body, source)
        known = self._says_it(memory)
        if known:
            return replace(change, op="noop", asked=False, reason=f"known already ({known}): {description}")
        return change

    def _changed(self, file: str, data: bytes, new: bytes | None, source: _Source) -> Change | None:
        before = parse(file, data)
        type = _type(before) or UNTYPED
        after = None if new is None else _read(file, new)
        if new is not None and after is None:
            return None
        if after is None or (before.parsed.claims and not after.parsed.claims):
            description = one_line(before.description, _GIVEN_CHARS)
            change = self._change("delete", before.name, description, type, "", source)
            return replace(change, file=file)
        after = _with_front(before, after)
        if after.render() == data or len(after.render()) > MEMORY_BYTES:
            return None
        fresh = _fresh(before, after)
        body = "\n\n".join(claim.text for claim in fresh)
        description = one_line(after.description or before.description, _GIVEN_CHARS)
        change = self._change("update", before.name, description, type, body, source)
        gone = {claim.key for claim in before.parsed.claims} - {claim.key for claim in after.parsed.claims}
        # A request to remember one thing is no leave to take out others.
        is_asked = change.asked and len(gone) <= len(fresh)
        return replace(change, file=file, asked=is_asked, edited=Edited(data, after.render()))

    def _change(
        self, op: str, name: str, description: str, type: MemoryType, body: str, source: _Source
    ) -> Change:
        return Change(
            op=op,  # type: ignore[arg-type]
            name=one_line(name, _GIVEN_CHARS) or "unnamed",
            description=description,
            type=type,
            body=body,
            reason=source.reason,
            confidence=CERTAIN if source.named else UNCERTAIN,
            asked=op in ("add", "update") and self._is_asked(body, source),
            origin=source.origin,
            agent=self.given.agent,
        )

    def _is_asked(self, body: str, source: _Source) -> bool:
        """Whether all persons' messages that are named ask for something, and for what is said here."""
        persons = [message for message in source.messages if message.role == "person"]
        if not source.named or not persons or any(one.uuid not in self._asked for one in persons):
            return False
        statement = frozenset(words(body.split("\n\n", 1)[0]))
        heard = frozenset(word for message in persons for word in words(message.text))
        return bool(statement) and len(statement & heard) >= SHARED * len(statement)

    def _source(self, key: str) -> _Source:
        whole = [note for note in self._notes if note.path == key]
        return self._from(whole or [note for note in self._notes if note.path == key.rpartition("/")[2]])

    def _from(self, found: list[Note]) -> _Source:
        numbers = sorted({number for note in found for number in note.numbers})
        named = tuple(self.said[number - 1] for number in numbers)
        reason = next((note.reason for note in found if note.reason), _UNEXPLAINED)
        messages = named or self.given.messages
        if not messages:
            return _Source(ChangeOrigin(self.given.session), (), reason, False)
        first, last = messages[0], messages[-1]
        return _Source(
            ChangeOrigin(self.given.session, first.uuid, last.uuid, last.time),
            messages,
            reason,
            bool(named),
        )

    def _says_it(self, memory: Memory) -> str:
        """Name of a memory that holds every claim of a new one, in other words; empty where none does."""
        claims = memory.parsed.claims
        for name, known in self._known:
            if claims and all(any(_says(theirs, claim) for theirs in known) for claim in claims):
                return name
        return ""

    @cached_property
    def _known(self) -> tuple[tuple[str, tuple[Claim, ...]], ...]:
        own = (key for key in sorted(self.given.memory) if self._is_own(key, new=False))
        read = (parse(key.split("/", 2)[2], self.given.memory[key]) for key in own)
        return tuple((memory.name, memory.claims) for memory in read)


def _says(known: Claim, new: Claim) -> bool:
    """Whether a claim says all that another does: the same words, and no number, name or negation lost."""
    return same(gist(new.key), gist(known.key)) and not missing_facts(new.key, known.key)


def _read(file: str, data: bytes) -> Memory | None:
    """The memory, where it is UTF-8 text of a size that is kept, and not blank."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return parse(file, data) if text.strip() and "\0" not in text and len(data) <= MEMORY_BYTES else None


def _type(memory: Memory) -> MemoryType | None:
    named = memory.front.text("type").lower() if memory.front else ""
    return next((one for one in TYPES if one == named), None)


def _with_front(before: Memory, after: Memory) -> Memory:
    """The edited memory under its own name and type: who may see it is no model's to decide."""
    if before.front is None:
        return after
    front = after.front or before.front
    for key in ("name", "type"):
        known = before.front.field(key)
        if known is not None and known.value:
            there = front.field(key)
            front = front.with_value(key, known.value) if there else front.with_field(known)
    return replace(after, front=front)


def _fresh(before: Memory, after: Memory) -> tuple[Claim, ...]:
    there = {claim.key for claim in before.claims}
    return tuple({claim.key: claim for claim in after.parsed.claims if claim.key not in there}.values())


ANSWER_CHARS = 100_000
LINES = 400
REASON_CHARS = 300
"""Cells of a reason: a sentence or two."""

_NUMBER = r"(?<![0-9])[0-9]{1,6}(?![0-9])"
_NUMBERS = re.compile(rf"({_NUMBER})(?:\]?\s*(?:-|–|—|to|\.\.+)\s*\[?({_NUMBER}))?")
_TOLD = re.compile(r"(?:\s|[0-9\[\](),;#&+.–—-]|messages?|and|to)*", re.IGNORECASE)
_MARKS = re.compile(r"[`*]+")
_BULLET = re.compile(r"(?:[-•+]|[0-9]{1,3}[.)])\s+")


@dataclass(frozen=True)
class Note:
    """What a model says about one file.

    Attributes:
        path: `<scope>/<agent>/<file>`, or less of it; `noop` for what it left alone.
        numbers: of the messages it names, each once, in order; any numbers.
        reason: one line.
    """

    path: str
    numbers: tuple[int, ...]
    reason: str


def notes(answer: str, last: int) -> tuple[Note, ...]:
    """Reads an answer; lines of another form are passed over.

    Args:
        last: number of the last message there is; larger ones name nothing.
    """
    return tuple(_notes(answer[:ANSWER_CHARS], last))


def _notes(answer: str, last: int) -> Iterator[Note]:
    for line in answer.splitlines()[:LINES]:
        plain = _BULLET.sub("", _MARKS.sub("", line).strip(), count=1)
        path, sign, rest = plain.partition(":")
        path = path.strip().replace("\\", "/")
        if not sign or not (path.endswith(".md") or path.lower() == "noop"):
            continue
        told, sign, reason = rest.partition(":")
        numbers = _numbers(told, last)
        if not _TOLD.fullmatch(told):
            numbers, reason = (), rest
        elif not sign:
            reason = ""
        key = path.rpartition("memory/")[2].removeprefix("./") if path.lower() != "noop" else "noop"
        yield Note(key, numbers, one_line(reason, REASON_CHARS))


def _numbers(text: str, last: int) -> tuple[int, ...]:
    found: set[int] = set()
    for match in _NUMBERS.finditer(text):
        first, end = int(match[1]), int(match[2] or match[1])
        found.update(range(first, min(end, last) + 1))
    return tuple(sorted(number for number in found if 1 <= number <= last))


def asked_in(given: ExtractInput) -> tuple[Change, ...]:
    """What the offline engine finds plainly asked for in the new messages."""
    return tuple(change for change in OfflineEngine().extract(given).changes if change.asked)


NOTES_BYTES = 4 * CHARS_A_TOKEN * TOTAL_TOKENS
"""Of a session's notes while a model works on them: whatever script their limit is filled with."""

_SHOWN = 120


def note_problems(before: str, after: str) -> tuple[str, ...]:
    """Says why notes cannot be taken as a model left them, a line each; empty where they can.

    Headings and guidance are the template's. What was there before is not looked at again: a person may
    have written it. How long they are is the flow's to mend.

    Raises:
        DetectorUnavailable: credentials cannot be looked for.
    """
    return (*_frame(parse_notes(before), parse_notes(after)), *new_problems(before, after))


def new_problems(before: str, after: str) -> tuple[str, ...]:
    """Says what a model put into a text that nothing may hold: credentials, orders, unseen characters.

    Raises:
        DetectorUnavailable: credentials cannot be looked for.
    """
    old, new = scan([before, after])
    known = {found.fingerprint for found in old}
    problems = [
        f"line {found.line} seems to hold a credential ({found.rule}): take it out"
        for found in new
        if found.severity == "block" and found.fingerprint not in known
    ]
    had = set(before.split("\n"))
    added = "\n".join(line for line in after.split("\n") if line not in had)
    lines = added.split("\n")
    problems += [
        f"this tells a model what to do; say in your own words that it was there, or leave it out: "
        f"{one_line(lines[number - 1], _SHOWN)}"
        for number in dict.fromkeys(one.line for one in find_instructions(added) if one.level == "error")
    ]
    hidden = find_invisible(added)
    if hidden:
        problems.append(f"it holds {hidden[0].code} ({hidden[0].name}), which nobody can see: take it out")
    return tuple(problems)


def _frame(before: tuple[Section, ...], after: tuple[Section, ...]) -> tuple[str, ...]:
    for old, new in zip_longest(before, after):
        if old is None:
            return (f"there is a heading too many: `# {one_line(new.title, _SHOWN)}`",)
        if new is None or old.title != new.title:
            return (f"the heading `# {old.title}` does not stand in its place, letter by letter",)
        if old.guide != new.guide:
            return (f"the line of guidance under `# {old.title}` was changed; it is: {old.guide}",)
    return ()


DOCUMENT_BYTES = 262_144
"""Of a document, at most."""

SHARE = 0.5
"""Of a document's lines, how many may change that name nothing stale."""

FEW_LINES = 2
"""Lines that may always change: half of a short document is less than a sentence."""

NEW_LINES = 40
"""Lines that may always be added: a page, as where a document is nothing but its heading yet."""

REASONS = 60
_WIDTH = 300
_NOTE = re.compile(r"[-*•\s]*\**(changed|left)\**\s*:\**\s*(\S.*)", re.IGNORECASE)


def derive_document(given: DocumentInput, after: str, answer: str) -> tuple[Document, tuple[str, ...]]:
    """Takes of a model's work on a document what it was asked for.

    Args:
        after: its copy of the document.
        answer: its last words: `changed: …` and `left: …`, a line each.

    Returns:
        the document, and why it cannot be taken, a line each; empty where it can.

    Raises:
        DetectorUnavailable: credentials cannot be looked for.
    """
    before = given.text
    if "\r\n" in before and "\r\n" not in after:
        after = after.replace("\n", "\r\n")
    if before.endswith("\n") and not after.endswith("\n"):
        after += "\r\n" if "\r\n" in before else "\n"
    wrong = (*document_problems(given, after), *_bounded(given, after))
    reasons, notes = _told(answer)
    if after == before:
        reasons = ()
    elif not reasons:
        reasons = ("the model gave no reason",)
    return Document(after, reasons, notes), wrong


def is_settled(given: DocumentInput) -> bool:
    """Whether there is nothing to ask about a document: it has a text, and nothing was found against it."""
    return not given.stale and not given.changed and bool("".join(_body(given)).strip())


def document_problems(given: DocumentInput, text: str) -> tuple[str, ...]:
    """Says why a text cannot stand in the document's place, which may have told a model what to write.

    Raises:
        DetectorUnavailable: credentials cannot be looked for.
    """
    size = len(text.encode("utf-8", "replace"))
    if size > DOCUMENT_BYTES:
        return (f"it has {size:,} bytes, more than the {DOCUMENT_BYTES:,} that a document may have",)
    if text == given.text:
        return ()
    new = new_problems(given.text.replace("\r\n", "\n"), text.replace("\r\n", "\n"))
    return (*_kept(given, text), *new)


def _kept(given: DocumentInput, text: str) -> Iterator[str]:
    own = given.text.split("\n")[: given.head]
    if not text.strip():
        yield "the document is gone"
    elif text.split("\n")[: given.head] != own:
        yield f"its title or its instructions were changed, which are: {one_line(' '.join(own), _WIDTH)}"


def _body(given: DocumentInput) -> list[str]:
    return given.text.split("\n")[given.head :]


def _bounded(given: DocumentInput, after: str) -> Iterator[str]:
    old, new = given.text.split("\n"), after.split("\n")
    stale = {one.line for one in given.stale}
    gone = added = 0
    for how, low, high, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if how != "equal":
            gone += sum(
                line.strip() != "" and low + at not in stale for at, line in enumerate(old[low:high], 1)
            )
            added += max(0, sum(line.strip() != "" for line in new[start:end]) - (high - low))
    lines = sum(line.strip() != "" for line in _body(given))
    if gone > max(FEW_LINES, lines * SHARE):
        yield (
            f"{counted(gone, 'line')} of {lines} that name nothing stale were changed: "
            "leave all as it stands but what no longer holds"
        )
    if added > max(NEW_LINES, lines * SHARE):
        yield f"{counted(added, 'line')} were added to {lines}: shorten them"


def _told(answer: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    found: dict[str, list[str]] = {"changed": [], "left": []}
    for line in answer[:100_000].split("\n"):
        match = _NOTE.match(line.strip())
        if match:
            found[match[1].lower()].append(one_line(match[2], _WIDTH))
    return tuple(found["changed"][:REASONS]), tuple(found["left"][:REASONS])
