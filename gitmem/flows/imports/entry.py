"""One memory as another tool has it, and what becomes of each of its fields."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from gitmem.core import frontmatter
from gitmem.core.change import TYPES, MemoryType
from gitmem.core.dates import annotate
from gitmem.core.errors import UsageError
from gitmem.core.frontmatter import Value
from gitmem.core.limits import DESCRIPTION_CHARS
from gitmem.core.names import file_name, slugify
from gitmem.core.text import decode, encode
from gitmem.core.trailers import one_line, subject_line

KEPT, DROPPED = "kept", "dropped"
"""What becomes of a field, where it does not become another one."""

_MILLISECONDS = 100_000_000_000
"""A number of seconds so large is some year past 5000: it counts milliseconds."""


@dataclass(frozen=True)
class ImportedMemory:
    """A memory that a reader found.

    Attributes:
        id: what names it in its source, the same at each export.
        data: the file, with frontmatter; what the source says is in it byte for byte where it is a file.
        file: where it goes inside the agent's folder.
        description: one line, for the commit.
        time: when it was last changed there, epoch seconds; None where nobody knows.
        agent: folder of the agent.
        session: in which it was learned; empty where the source does not say.
        is_file: whether it is a file in its source, whose name is no accident.
    """

    id: str
    data: bytes
    file: str
    description: str
    time: float | None = None
    agent: str = "main"
    session: str = ""
    is_file: bool = False


@dataclass
class ImportTally:
    """What was seen of a source's fields, and what could not be read.

    Attributes:
        fields: field to what becomes of it: `KEPT`, `DROPPED`, or the name of another; and how often.
        skipped: what is no memory, or cannot be read as one: name to reason.
    """

    fields: Counter[tuple[str, str]] = field(default_factory=Counter)
    skipped: dict[str, str] = field(default_factory=dict)

    def see(self, given: Iterable[str], table: Mapping[str, str], other: str = DROPPED) -> None:
        """Counts the fields of one record by a reader's table; what that does not name becomes `other`."""
        for key in given:
            self.fields[str(key), table.get(key, other)] += 1


def entry(
    id: str,
    text: str,
    *,
    name: str = "",
    description: str = "",
    type: str = "project",
    time: float | None = None,
    more: Mapping[str, Value] | None = None,
    agent: str = "main",
    session: str = "",
) -> ImportedMemory:
    """A memory made of fields.

    Args:
        text: markdown; relative dates in it are annotated where the time is known.
        name, description: made of the text where they are empty.
        type: one of the four types.
        more: further keys of the frontmatter, which stay as they are.
    """
    about = one_line(description) or first_line(text)
    named = slugify(name or about)
    front = frontmatter.new(named, about, type)
    for key, value in (more or {}).items():
        front = front.with_value(key, value)
    if time is not None:
        text = annotate(text, datetime.fromtimestamp(time, UTC))
    data = encode(f"{front.render()}\n{text.strip()}\n")
    return ImportedMemory(id, data, file_name(named), about, time, agent, session)


def file_entry(
    id: str, file: str, data: bytes, time: float | None, *, title: str = "", description: str = ""
) -> ImportedMemory:
    """A memory that is a file: frontmatter is added to, nothing of it goes, and the body stays as it is.

    Args:
        file: its path inside the agent's folder.
        title, description: for a file whose frontmatter names none.
    """
    front, body = frontmatter.split(decode(data))
    stem = file.rpartition("/")[2].removesuffix(".md")
    name = (front.text("name") if front else "") or slugify(title or stem)
    about = (
        (front.text("description") if front else "") or one_line(description) or first_line(body) or name
    )
    made = front or frontmatter.new(name, about, "project")
    if front is not None:
        for key, value in (("name", name), ("description", about)):
            made = made if front.text(key) else made.with_value(key, value)
        if front.text("type").lower() not in TYPES:
            made = made.with_value("type", "project")
    between = "" if front is not None or body.startswith("\n") else "\n"
    return ImportedMemory(
        id, encode(made.render() + between + body), file, one_line(about), time, is_file=True
    )


def first_line(text: str) -> str:
    """The first line that says something, as a description."""
    for line in text.splitlines():
        said = one_line(line.strip().lstrip("#>*-+ ").strip("*_` "))
        if any(map(str.isalnum, said)):
            return subject_line(said, DESCRIPTION_CHARS)
    return ""


def moment(value: object) -> float | None:
    """Epoch seconds of a time as tools write it, ISO 8601, seconds or milliseconds; None for others."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        if isinstance(value, int | float) or (isinstance(value, str) and value.strip().isdigit()):
            number = float(value)
            number = number / 1000 if abs(number) > _MILLISECONDS else number
        else:
            found = datetime.fromisoformat(str(value).strip())
            number = (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
    return number if 0 < number < _MILLISECONDS else None


def words(value: object) -> tuple[str, ...]:
    """A list of texts as tools write it: a JSON list, one inside a string, or words with commas."""
    if isinstance(value, str):
        try:
            found = json.loads(value)
        except (ValueError, RecursionError):
            found = value.split(",")
        value = found
    items = value if isinstance(value, list | tuple) else []
    return tuple(
        text for item in items if isinstance(item, str | int | float) and (text := one_line(str(item)))
    )


def parse_json(data: bytes, name: str) -> Any:
    """JSON of a file. Raises UsageError where it is none."""
    try:
        return _loaded(data.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name} is no JSON: {error}") from error


def json_lines(data: bytes, name: str, tally: ImportTally) -> Iterator[dict[str, Any]]:
    """Objects of a file with one JSON value a line; other lines are named."""
    for number, line in enumerate(data.decode("utf-8-sig", "replace").splitlines(), 1):
        if not line.strip():
            continue
        try:
            found = _loaded(line)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict):
            yield found
        else:
            tally.skipped[f"{name}:{number}"] = "is no JSON object"


def _loaded(text: str) -> Any:
    """JSON of a text; half of a surrogate pair, which no file can hold, becomes a question mark."""
    found = json.loads(text)
    if "\\ud" in text.lower():
        found = json.loads(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace"))
    return found


def kind_of(word: object) -> MemoryType:
    """The type that a word of another tool's stands for."""
    named = str(word or "").lower()
    if known := next((type for type in TYPES if type == named), None):
        return known
    if named in ("preference", "preferences", "rule", "instruction", "convention", "gotcha", "pattern"):
        return "feedback"
    if named in ("personal", "profile", "person", "human", "persona", "biography", "identity"):
        return "user"
    return "project"
