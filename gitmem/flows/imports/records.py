"""Readers of sources that are records: JSON, JSON lines, SQLite, and pasted lists of other assistants."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from gitmem.core import frontmatter
from gitmem.core.errors import UsageError
from gitmem.core.names import INDEX, is_agent_folder, is_log, is_memory_file
from gitmem.core.text import decode
from gitmem.core.trailers import one_line
from gitmem.flows.imports.entry import (
    DROPPED,
    KEPT,
    ImportedMemory,
    ImportTally,
    entry,
    first_line,
    json_lines,
    kind_of,
    moment,
    parse_json,
    words,
)
from gitmem.flows.imports.folders import index_notes
from gitmem.flows.imports.source import SQLITE, ImportSource, database, tables

EXPORT = "gitmem-json"
"""What an export of gitmem's own calls itself."""

_TEXTS = ("memory", "content", "text", "data", "value")
_LISTED = re.compile(r"\s*(?:[-*•]|\d+[.)])?\s*(?:\[([^\]]{4,40})\]\s*[-–—:]?\s*)?(.+)")


def is_export(source: ImportSource) -> bool:
    """Whether `git mem export --format json` made it."""
    return any(f'"{EXPORT}"'.encode() in source.head(name, 200) for name in _json(source))


def read_export(source: ImportSource, tally: ImportTally) -> Iterator[ImportedMemory]:
    """Memories of an export, byte for byte."""
    kept = ("content", "content_base64", "file", "agent", "time", "name", "description", "type")
    table = dict.fromkeys(kept, KEPT)  # the last three say again what the content does
    for name in _json(source):
        found = parse_json(source.read(name), name)
        memories = found.get("memories") if isinstance(found, dict) else None
        notes = found.get("indexes") if isinstance(found, dict) else None
        for agent, text in notes.items() if isinstance(notes, dict) else ():
            if is_agent_folder(agent) and isinstance(text, str):
                yield from index_notes(f"{agent}/{INDEX}", text, agent, None, tally)
        for number, record in enumerate(memories if isinstance(memories, list) else [], 1):
            made = _exported(record) if isinstance(record, dict) else None
            if made is None:
                tally.skipped[f"{name}: memory {number}"] = "is not in the form of an export"
                continue
            tally.see(record, table)
            yield made


def _exported(record: Mapping[str, Any]) -> ImportedMemory | None:
    agent, file = record.get("agent"), record.get("file")
    if not isinstance(agent, str) or not isinstance(file, str) or not is_agent_folder(agent):
        return None
    if not is_memory_file(file) and not is_log(f"{agent}/{file}"):
        return None
    if isinstance(record.get("content"), str):
        data = record["content"].encode("utf-8", "surrogatepass")
    else:
        try:
            data = base64.b64decode(str(record.get("content_base64")), validate=True)
        except ValueError:
            return None
    about = one_line(str(record.get("description") or "")) or _said(data) or file
    return ImportedMemory(
        f"{agent}/{file}", data, file, about, moment(record.get("time")), agent, is_file=True
    )


def _said(data: bytes) -> str:
    """The first line of a memory that says something; frontmatter says nothing that is its own."""
    return first_line(frontmatter.split(decode(data))[1])


def is_mem0(source: ImportSource) -> bool:
    """Whether it is what mem0 or OpenMemory gives out: records with an id and a memory."""
    with suppress(UsageError):
        return any(_mem0_rows(source, name) for name in _json(source))
    return False


def _mem0_rows(source: ImportSource, name: str) -> Sequence[Any]:
    """Its records, wherever they stand: a list, or under `results` or `memories`."""
    found = parse_json(source.read(name), name)
    if isinstance(found, dict):
        found = next((found[key] for key in ("results", "memories", "items") if key in found), None)
    if isinstance(found, list) and found and isinstance(found[0], dict) and "id" in found[0]:
        return found if _text_of(found[0], *_TEXTS) else []
    return []


def read_mem0(source: ImportSource, tally: ImportTally) -> Iterator[ImportedMemory]:
    """Records of mem0 and OpenMemory; one that was deleted or archived there does not come."""
    table = {
        **dict.fromkeys(_TEXTS, "body"), "id": "source id", "created_at": "time", "updated_at": "time",
        "categories": "tags", "metadata": "tags, type", "metadata_": "tags, type", "run_id": "session",
        "session_id": "session", "state": "left out where deleted",
    }  # fmt: skip
    for name in _json(source):
        for number, record in enumerate(_mem0_rows(source, name), 1):
            text = _text_of(record, *_TEXTS) if isinstance(record, dict) else ""
            if not text:
                tally.skipped[f"{name}: record {number}"] = "has no text"
                continue
            if str(record.get("state", "active")) not in ("active", "None"):
                tally.skipped[f"{name}: {record.get('id')}"] = f"is {record['state']} there"
                continue
            tally.see(record, table)
            nested = record.get("metadata") or record.get("metadata_") or {}
            told = nested if isinstance(nested, dict) else {}
            tags = (
                words(record.get("categories")) or words(told.get("tags")) or words(told.get("categories"))
            )
            kind = kind_of(told.get("type") or told.get("category") or next(iter(tags), ""))
            time = moment(record.get("updated_at")) or moment(record.get("created_at"))
            session = _text_of(record, "run_id", "session_id")
            more = {"tags": tags} if tags else {}
            yield entry(str(record.get("id")), text, type=kind, time=time, more=more, session=session)


def is_claude_export(source: ImportSource) -> bool:
    """Whether it has the memories of a data export from claude.ai."""
    return any(
        b"conversations_memory" in source.head(name, 1_000_000) for name in source.named("memories.json")
    )


def read_claude_export(source: ImportSource, tally: ImportTally) -> Iterator[ImportedMemory]:
    """The summary of all conversations, and one a project: a memory each, a claim a paragraph."""
    table = {"conversations_memory": "body", "project_memories": "body", "account_uuid": DROPPED}
    for name in source.named("memories.json"):
        found = parse_json(source.read(name), name)
        for record in found if isinstance(found, list) else [found]:
            if not isinstance(record, dict):
                continue
            tally.see(record, table)
            if text := _text_of(record, "conversations_memory"):
                yield entry("conversations", text, name="claude-conversations", type="user")
            projects = record.get("project_memories")
            for key, value in projects.items() if isinstance(projects, dict) else ():
                if isinstance(value, str) and value.strip():
                    yield entry(f"project/{key}", value, name=f"claude-project-{key}"[:60])


def is_chatgpt(source: ImportSource) -> bool:
    """Whether it has the conversations of a data export from ChatGPT."""
    return any(b'"mapping"' in source.head(name, 1_000_000) for name in source.named("conversations.json"))


def read_chatgpt(source: ImportSource, tally: ImportTally) -> Iterator[ImportedMemory]:
    """What ChatGPT wrote into its own memory: an export has it as messages to the tool `bio`."""
    table = {"content": "body", "create_time": "time", "id": "source id"}
    for name in source.named("conversations.json"):
        found = parse_json(source.read(name), name)
        for talk in found if isinstance(found, list) else []:
            nodes = talk.get("mapping") if isinstance(talk, dict) else None
            for node in nodes.values() if isinstance(nodes, dict) else ():
                message = node.get("message") if isinstance(node, dict) else None
                if not isinstance(message, dict) or message.get("recipient") != "bio":
                    continue
                content = message.get("content")
                parts = content.get("parts") if isinstance(content, dict) else None
                text = "\n".join(part for part in _items(parts) if isinstance(part, str)).strip()
                if text:
                    tally.see(message, table)
                    time, session = (
                        moment(message.get("create_time")),
                        _text_of(talk, "conversation_id", "id"),
                    )
                    yield entry(str(message.get("id")), text, type="user", time=time, session=session)


def is_list(source: ImportSource) -> bool:
    """Whether it is a text: what another assistant printed of its memory, an entry a line."""
    return source.single and not source.ending(".md", ".json", ".jsonl", ".db", ".mdc", ".sqlite")


def read_list(source: ImportSource, tally: ImportTally) -> Iterator[ImportedMemory]:
    """Lines of `[date] - text`, or plain ones; fences and headings are passed over."""
    for name in source.files:
        for line in decode(source.read(name)).splitlines():
            if not line.strip() or line.startswith(("#", "```")):
                continue
            match = _LISTED.fullmatch(line)
            text = match[2].strip() if match else ""
            if not any(map(str.isalnum, text)):
                continue
            tally.see(["line"], {"line": "body"})
            key = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
            yield entry(key, text, type="user", time=moment(match[1]) if match else None)


def is_beads(source: ImportSource) -> bool:
    """Whether it is what beads keeps in git: a JSON object a line, an issue or a memory each."""
    return any(
        b'"issue_type"' in (head := source.head(name)) or b'"_type"' in head for name in _lines(source)
    )


def read_beads(source: ImportSource, tally: ImportTally) -> Iterator[ImportedMemory]:
    """Memories of `bd remember` as they are; issues with what was found out, and how they stand."""
    table = {
        "id": "source id", "key": "source id", "title": "description", "description": "body",
        "design": "body", "notes": "body", "acceptance_criteria": "body", "close_reason": "body",
        "value": "body", "status": "a claim", "issue_type": "a claim", "labels": "tags",
        "updated_at": "time", "created_at": "time", "_type": "a claim",
    }  # fmt: skip
    for name in _lines(source):
        for record in json_lines(source.read(name), name, tally):
            id = _text_of(record, "id", "key")
            if not id or record.get("deleted_at") or record.get("status") == "tombstone":
                tally.skipped[f"{name}: {id or 'a record'}"] = "is deleted there" if id else "has no id"
                continue
            tally.see(record, table)
            time = moment(record.get("updated_at")) or moment(record.get("created_at"))
            if record.get("_type") == "memory" or ("value" in record and "title" not in record):
                if text := _text_of(record, "value", "content", "text"):
                    yield entry(id, text, name=id, time=time)
                continue
            titled = _text_of(record, "title") or id
            parts = [_text_of(record, "description") or titled]
            for key in ("design", "notes", "acceptance_criteria", "close_reason"):
                if text := _text_of(record, key):
                    parts.append(f"**{key.replace('_', ' ').capitalize()}:** {text.strip()}")
            parts.append(
                f"{_text_of(record, 'issue_type') or 'issue'} {id}, {_text_of(record, 'status') or 'open'}"
            )
            tags = words(record.get("labels"))
            more = {"tags": tags} if tags else {}
            named = f"{id} {titled}"
            yield entry(id, "\n\n".join(parts), name=named, description=titled, time=time, more=more)


def is_graph(source: ImportSource) -> bool:
    """Whether it is the graph of the MCP memory server: entities and relations, a line each."""
    return any(b'"entityType"' in source.head(name, 65_536) for name in _lines(source))


def read_graph(source: ImportSource, tally: ImportTally) -> Iterator[ImportedMemory]:
    """An entity a memory, its observations as claims, its relations as links."""
    table = {"name": "name", "entityType": "tags", "observations": "body", "relationType": "a claim",
             "from": "a claim", "to": "a link", "type": DROPPED}  # fmt: skip
    for name in _lines(source):
        records = list(json_lines(source.read(name), name, tally))
        for record in records:
            tally.see(record, table)
        related = [one for one in records if one.get("type") == "relation"]
        for record in records:
            titled = _text_of(record, "name")
            if record.get("type") != "entity" or not titled:
                continue
            said = [
                f"- {one_line(text)}"
                for text in _items(record.get("observations"))
                if isinstance(text, str)
            ]
            said += [
                f"- {one_line(str(one.get('relationType')))} [[{one_line(str(one.get('to')))}]]"
                for one in related
                if one.get("from") == titled
            ]
            tags = words([record.get("entityType")])
            yield entry(
                titled,
                "\n".join(said) or titled,
                name=titled,
                description=titled,
                type=kind_of(record.get("entityType")),
                more={"tags": tags} if tags else {},
            )


def is_claude_mem(source: ImportSource) -> bool:
    """Whether it has the database of claude-mem."""
    for name in _databases(source):
        with suppress(UsageError), database(source, name) as opened:
            found = tables(opened)
            if {"observations", "session_summaries"} & found.keys() and "title" in found.get(
                "observations", ("title",)
            ):
                return True
    return False


_OBSERVATION: Mapping[str, str] = {
    "id": "source id", "title": "description", "subtitle": "body", "narrative": "body", "facts": "body",
    "text": "body", "concepts": "tags", "type": "tags, type", "files_read": DROPPED,
    "files_modified": "body", "memory_session_id": "session", "sdk_session_id": "session",
    "created_at": "time", "created_at_epoch": "time",
}  # fmt: skip
_SUMMARY: Mapping[str, str] = {
    "id": "source id", "request": "description", "learned": "body", "completed": DROPPED,
    "investigated": DROPPED, "next_steps": DROPPED, "notes": "body", "memory_session_id": "session",
    "sdk_session_id": "session", "created_at": "time", "created_at_epoch": "time",
}  # fmt: skip


def read_claude_mem(source: ImportSource, tally: ImportTally) -> Iterator[ImportedMemory]:
    """Observations of claude-mem, and what its summaries of sessions say was learned."""
    for name in _databases(source):
        with database(source, name) as opened:
            there = tables(opened)
            for table, fields in (("observations", _OBSERVATION), ("session_summaries", _SUMMARY)):
                if table not in there:
                    continue
                for row in opened.execute(f'SELECT * FROM "{table}" ORDER BY rowid'):  # noqa: S608 - a constant
                    record = dict(row)
                    if source.project and record.get("project", source.project) != source.project:
                        tally.skipped[f"{table}/{record.get('id')}"] = f"is of project {record['project']}"
                        continue
                    tally.see((key for key, value in record.items() if value not in (None, "", "[]")),
                              fields)  # fmt: skip
                    made = _observation(record) if table == "observations" else _summary(record)
                    if made is None:
                        tally.skipped[f"{table}/{record.get('id')}"] = "has no text to keep"
                    else:
                        yield made


def _observation(record: Mapping[str, Any]) -> ImportedMemory | None:
    facts = [f"- {text}" for text in words(record.get("facts"))]
    parts = [_text_of(record, "narrative") or _text_of(record, "text") or _text_of(record, "subtitle")]
    parts += ["\n".join(facts)]
    if files := words(record.get("files_modified")):
        parts.append("Files: " + ", ".join(f"`{name}`" for name in files[:20]))
    text = "\n\n".join(part for part in parts if part)
    titled = _text_of(record, "title") or first_line(text)
    if not titled:
        return None
    tags = tuple(dict.fromkeys((*words([record.get("type")]), *words(record.get("concepts")))))
    kind = next((found for tag in tags if (found := kind_of(tag)) != "project"), "project")
    return _learned("observation", record, text or titled, titled, kind, {"tags": tags} if tags else {})


def _summary(record: Mapping[str, Any]) -> ImportedMemory | None:
    text = "\n\n".join(part for key in ("learned", "notes") if (part := _text_of(record, key)))
    return _learned("summary", record, text, _text_of(record, "request"), "project", {}) if text else None


def _learned(
    what: str,
    record: Mapping[str, Any],
    text: str,
    titled: str,
    kind: str,
    more: Mapping[str, tuple[str, ...]],
) -> ImportedMemory:
    time = moment(record.get("created_at_epoch")) or moment(record.get("created_at"))
    session = _text_of(record, "memory_session_id", "sdk_session_id", "session_id")
    return entry(f"{what}/{record.get('id')}", text, name=titled, description=titled, type=kind, time=time,
                 more=more, session=session)  # fmt: skip


def _items(value: object) -> list[Any]:
    """A list of a record; none where something else stands in its place."""
    return value if isinstance(value, list) else []


def _json(source: ImportSource) -> tuple[str, ...]:
    return source.ending(".json") or (source.files if source.single and _looks_json(source) else ())


def _looks_json(source: ImportSource) -> bool:
    return source.head(source.files[0]).lstrip()[:1] in (b"{", b"[")


def _lines(source: ImportSource) -> tuple[str, ...]:
    return source.ending(".jsonl") or _json(source)


def _databases(source: ImportSource) -> tuple[str, ...]:
    return tuple(
        name for name in source.ending(".db", ".sqlite", ".sqlite3") if source.head(name).startswith(SQLITE)
    )


def _text_of(record: Mapping[str, Any], *keys: str) -> str:
    """The first of these fields that holds a text."""
    return next(
        (str(record[key]) for key in keys if isinstance(record.get(key), str) and record[key].strip()), ""
    )
