"""What of a Claude Code transcript the client would still send to the model: the live conversation.

The rules are those of the client's own SDK (claude-agent-sdk 0.2.187, `get_session_messages`), observed, so
that both show the same: the last leaf and its ancestors, with what parallel tool calls hang beside the way.
A compaction begins a new root, so the conversation before it is not live (but was said: see chain.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gitmem.transcripts.lines import read_lines

_KINDS = frozenset({"user", "assistant", "progress", "system", "attachment"})


@dataclass(frozen=True, slots=True)
class Entry:
    """What the live conversation needs of one record.

    Attributes:
        uuid, parent: ids; the parent's is empty for a root.
        kind: the record's `type`.
        aside: a sidechain's, a team member's or a meta record: the conversation does not end there, and it
            is not shown.
        writer: tells the main agent and each subagent apart.
        reply: `message.id` of an assistant record; its other records are its siblings.
        calls: ids of the tool calls in it.
        results: ids of the tool calls that it answers.
        source: uuid of the assistant record whose call it answers, as far as recorded.
        time: as recorded.
    """

    uuid: str
    parent: str = ""
    kind: str = "user"
    aside: bool = False
    writer: tuple[bool, str] = (False, "")
    reply: str = ""
    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    source: str = ""
    time: str = ""


def live_uuids(path: Path) -> tuple[str, ...]:
    """Names the records that a person sees on resuming a session, from first to last.

    Raises:
        RepositoryError: the file cannot be read.
    """
    entries = [entry for line in read_lines(path) if line.record and (entry := entry_of(line.record))]
    return tuple(
        entry.uuid
        for entry in live_chain(entries)
        if entry.kind in ("user", "assistant") and not entry.aside
    )


def entry_of(record: Mapping[str, Any]) -> Entry | None:
    """Takes from a record what is needed; None for one that is not part of a conversation."""
    kind, uuid, parent = record.get("type"), record.get("uuid"), record.get("parentUuid")
    if kind not in _KINDS or not isinstance(uuid, str):
        return None
    message = record.get("message")
    message = message if isinstance(message, dict) else {}
    side, meta = bool(record.get("isSidechain")), bool(record.get("isMeta"))
    return Entry(
        uuid,
        parent if isinstance(parent, str) else "",
        str(kind),
        aside=side or meta or bool(record.get("teamName")),
        writer=(side, str(record.get("agentId"))),
        reply=str(message.get("id") or "") if kind == "assistant" else "",
        calls=_ids(message, "tool_use", "id") if kind == "assistant" else (),
        results=_ids(message, "tool_result", "tool_use_id"),
        source=str(record.get("sourceToolAssistantUUID") or ""),
        time=str(record.get("timestamp") or ""),
    )


def live_chain(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Rebuilds the live conversation.

    Args:
        entries: all records of one file, in file order.

    Returns:
        from the root (or the first record whose parent is not in the file) to the last leaf.
    """
    known = {entry.uuid: entry for entry in entries}
    parents = {entry.parent for entry in entries}
    order = {entry.uuid: number for number, entry in enumerate(entries)}
    ends = [end for entry in entries if entry.uuid not in parents and (end := _talk(entry, known))]
    ends = [end for end in ends if not end.aside] or ends
    if not ends:
        return ()
    last = max(ends, key=lambda end: order[end.uuid])
    way = tuple(reversed(_ancestry(last, known)))
    return _with_parallel_calls(way, known)


def _talk(entry: Entry, known: Mapping[str, Entry]) -> Entry | None:
    """The nearest user or assistant record at or above a terminal one."""
    return next((one for one in _ancestry(entry, known) if one.kind in ("user", "assistant")), None)


def _ancestry(entry: Entry | None, known: Mapping[str, Entry]) -> list[Entry]:
    seen: dict[str, Entry] = {}
    while entry is not None and entry.uuid not in seen:
        seen[entry.uuid] = entry
        entry = known.get(entry.parent)
    return list(seen.values())


def _with_parallel_calls(way: Sequence[Entry], known: Mapping[str, Entry]) -> tuple[Entry, ...]:
    """Puts back the calls and results of a reply that the way up passed by.

    Each record of a reply with parallel calls follows from the one before, each result from its own call:
    the way up meets one result only. The rest stands after the reply's last record on the way, calls before
    results, each by time.
    """
    replies: dict[str, list[Entry]] = {}
    owners: dict[str, Entry | None] = {}
    for entry in known.values():
        if entry.reply:
            replies.setdefault(entry.reply, []).append(entry)
            for call in entry.calls:
                owner = owners.get(call, entry)
                # A call that two replies claim places nothing.
                owners[call] = entry if owner is not None and owner.reply == entry.reply else None
    answers: dict[str, list[Entry]] = {}
    for entry in known.values():
        if entry.results and entry.kind == "user" and entry.parent:
            owned = [owners.get(call) for call in entry.results]
            near = [one for one in (known.get(entry.source), *owned) if one and one.writer == entry.writer]
            for place in dict.fromkeys([entry.parent, *(one.uuid for one in near)]):
                answers.setdefault(place, []).append(entry)
    seen = {entry.uuid for entry in way}
    answered = {call for entry in way for call in entry.results}
    anchors = {entry.reply: entry for entry in way if entry.reply}
    inserted: dict[str, list[Entry]] = {}
    for reply, anchor in anchors.items():
        group = replies.get(reply, [anchor])
        members = {one.uuid for one in group}
        beside = dict.fromkeys(
            one for member in group for one in answers.get(member.uuid, ()) if one.uuid not in seen
        )
        results = [one for one in beside if one.parent in members]
        done = answered.union(*(one.results for one in results))
        strays = sorted((one for one in beside if one.parent not in members), key=_place(known))
        for one in strays:
            open_calls = [call for call in one.results if call not in done]
            if any((owner := owners.get(call)) and owner.uuid in members for call in open_calls):
                done.update(one.results)
                results.append(one)
        calls = [one for one in group if one.uuid not in seen]
        more = sorted(calls, key=lambda one: one.time) + sorted(results, key=lambda one: one.time)
        seen.update(one.uuid for one in more)
        inserted[anchor.uuid] = more
    return tuple(one for entry in way for one in (entry, *inserted.get(entry.uuid, ())))


def _place(known: Mapping[str, Entry]) -> Any:
    numbers = {uuid: number for number, uuid in enumerate(known)}
    return lambda entry: numbers[entry.uuid]


def _ids(message: Mapping[str, Any], kind: str, name: str) -> tuple[str, ...]:
    content = message.get("content")
    blocks: Iterable[Any] = content if isinstance(content, list) else ()
    found = [block.get(name) for block in blocks if isinstance(block, dict) and block.get("type") == kind]
    return tuple(one for one in found if isinstance(one, str))
