"""What the page shows, as values: each from the flow that the verb of the same name asks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any

from gitmem.core.errors import GitmemError, UsageError
from gitmem.core.names import file_address
from gitmem.core.text import iso
from gitmem.flows.blame import as_value as claim_value
from gitmem.flows.blame import blame, code_of
from gitmem.flows.json_values import entry_value, sound
from gitmem.flows.last_recalls import last_shown
from gitmem.flows.redaction import redact as safe
from gitmem.flows.review import queue, tell_item
from gitmem.flows.review_dream import card_value
from gitmem.flows.review_items import ReviewItem
from gitmem.flows.show import as_value, between, listed_value, show
from gitmem.git.repository import short_name
from gitmem.ledger.land import memory_commit
from gitmem.ledger.log import log_entries
from gitmem.ledger.lookup import ListedMemory, headers
from gitmem.ledger.moments import code_commit, revision
from gitmem.view.graph import MemoryView

PAGE = 100
"""Rows that are given at once unless another number is asked for."""

MOST_ROWS = 100_000

LISTS = 4
"""Lists of memories that are kept, for the pages of each and for words that are typed."""

MOMENTS = 2_000
"""The newest changes, which the slider goes through."""

TAGS = 100

RECALLS = 6
"""Of each scope."""

SAID = 30
"""Messages that are given of what led to one change."""

SAID_CHARS = 4_000

Given = Mapping[str, str]


def state(place: MemoryView, _: Given) -> dict[str, Any]:
    """Whose memory it is, and how it is shared."""
    space = place.workspace
    return {
        "tag": place.tag,
        "project": space.project_id,
        "folder": sound(space.top.name),
        "sharing": space.sharing,
        "scopes": list(place.scopes),
        "at": place.at,
        "person": sound(_person(place)),
        "fixed": False,
    }


def _person(place: MemoryView) -> str:
    with suppress(GitmemError):  # git may know no identity
        return place.workspace.person.email
    return ""


def log(place: MemoryView, given: Given) -> dict[str, Any]:
    """Changes of memory, newest first, a page of them."""
    start, count = _number(given, "offset", 0), _number(given, "limit", PAGE)
    found = list(islice(_learned(place), start, start + count + 1))
    rows = [entry_value(where.name, entry) for where, entry in found[:count]]
    return {"entries": rows, "more": len(found) > count}


def _learned(place: MemoryView) -> Iterator[Any]:
    return (pair for pair in log_entries(place.workspace) if pair[0].name in place.scopes)


def change(place: MemoryView, given: Given) -> dict[str, Any]:
    """What one commit of memory changed, claim by claim."""
    where, oid = _commit(place, given)
    parents = where.repo.commit(oid).parents
    return {"files": [one.as_value() for one in between(where, parents[0] if parents else None, oid)]}


def _commit(place: MemoryView, given: Given) -> tuple[Any, str]:
    where = place.workspace.scope(given.get("scope", ""))
    oid = revision(where, given.get("commit", ""))
    if oid is None:
        raise UsageError("That commit is not of this memory", "Load the page again.")
    return where, oid


def said(place: MemoryView, given: Given) -> dict[str, Any]:
    """What was said in the session that led to a change, where its recording is here."""
    from gitmem.core.trailers import parse
    from gitmem.flows.sessions import redacted_session, session_file

    where, oid = _commit(place, given)
    source = parse(where.repo.commit(oid).message)
    if not source.session:
        return {"session": None, "messages": []}
    session = redacted_session(place.workspace, session_file(place.workspace, place.edges, source.session))
    ids = [one.uuid for one in session.messages]
    first, last = source.messages or ("", "")
    start = ids.index(first) if first in ids else max(0, len(ids) - SAID)
    end = ids.index(last) + 1 if last in ids else len(ids)
    some = [one for one in session.messages[start:end] if one.text.strip()][:SAID]
    return {
        "session": sound(session.id),
        "client": session.client,
        "messages": [
            {
                "role": one.role,
                "time": iso(int(one.time.timestamp())) if one.time else None,
                "text": sound(one.marked(SAID_CHARS)[:SAID_CHARS]),
            }
            for one in some
        ],
    }


def memories(place: MemoryView, given: Given) -> dict[str, Any]:
    """Memories, the last taught first, a page of those that fit: now, or as of then."""
    at = given.get("at") or None
    found = _headers(place, at)
    words = given.get("q", "").casefold().split()
    fit = [one for one in found if all(word in _said(one) for word in words)]
    start, count = _number(given, "offset", 0), _number(given, "limit", PAGE)
    rows = [listed_value(one) | {"address": address(one)} for one in fit[start : start + count]]
    return {"total": len(fit), "all": len(found), "rows": rows}


def _headers(place: MemoryView, at: str | None) -> list[ListedMemory]:
    kept = place.lists.get((place.tag, at))
    if kept is not None:
        return kept
    found = headers(place.workspace, at=at, archived=True, now=place.edges.now, missed={})
    mine = [one for one in found if one.scope in place.scopes]
    mine.sort(key=lambda one: (-one.time, one.scope, one.agent, one.file))
    if len(place.lists) >= LISTS:
        place.lists.clear()
    place.lists[place.tag, at] = mine
    return mine


def _said(one: ListedMemory) -> str:
    return f"{one.name} {one.description} {one.scope}/{one.agent} {one.type}".casefold()


def address(one: ListedMemory) -> str:
    """What names a memory and nothing else."""
    return sound(f"{one.scope}/{one.agent}/{file_address(one.file)}")


def memory(place: MemoryView, given: Given) -> dict[str, Any]:
    """One memory, and who taught each of its claims: now, or as of then."""
    name, at = given.get("name", ""), given.get("at") or None
    one = show(place.workspace, place.edges, name, at=at)
    if one.found.scope not in place.scopes:
        raise UsageError("That memory is not shown here")
    value = as_value(one)
    lines = [] if one.hidden else blame(place.workspace, place.edges, name, None, at=at)
    code = code_of(place.workspace, lines)
    content = str(value["content"])
    # What is written out or left out here would be stored so.
    plain = not one.hidden and not at and "\r" not in content and safe(content) == content
    return {
        "memory": value | {"address": one.found.address},
        "claims": [claim_value(line, code) for line in lines],
        "editable": plain and not one.found.is_log,
    }


def moments(place: MemoryView, _: Given) -> dict[str, Any]:
    """The newest changes, and the tags of the code, to go back to."""
    rows = [
        {
            "commit": entry.commit,
            "scope": where.name,
            "time": iso(entry.time),
            "subject": sound(entry.subject),
        }
        for where, entry in islice(_learned(place), MOMENTS)
    ]
    tags = []
    for ref in list(place.workspace.code.refs("refs/tags/"))[-TAGS:]:
        with suppress(GitmemError):
            commit = code_commit(place.workspace, ref)
            if commit is not None:
                tags.append({"name": sound(short_name(ref)), "time": iso(commit.committer.time)})
    tags.sort(key=lambda one: str(one["time"]))
    return {"moments": rows, "tags": tags}


def review(place: MemoryView, _: Given) -> dict[str, Any]:
    """What waits, each with the cards it is decided by; a dream's are asked for by its id."""
    return {"items": [item_value(place, item) for item in queue(place.workspace, place.edges)]}


def item_value(place: MemoryView, item: ReviewItem) -> dict[str, Any]:
    """One thing that waits."""
    from gitmem.flows.review_items import import_told
    from gitmem.ledger.imports import Import

    lines, more = import_told(item.subject) if isinstance(item.subject, Import) else (item.lines, {})
    whole = item.as_value() | more
    return whole | {
        "version": version(item),
        "by": list(map(sound, item.by)),
        "lines": list(map(sound, lines)),
        "cards": [] if item.kind == "dream" else _cards(place, item, whole),
    }


def version(item: ReviewItem) -> str:
    """Names an item as it is now: who decides has to say which one they were shown."""
    tip = getattr(item.subject, "tip", "")
    told = json.dumps([item.as_value(), tip], sort_keys=True, default=str)
    return hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:16]


def _cards(place: MemoryView, item: ReviewItem, whole: Mapping[str, Any]) -> list[dict[str, Any]]:
    from gitmem.ledger.inbox import Inbox
    from gitmem.ledger.suggestions import Suggestion

    if isinstance(item.subject, Suggestion):
        return [_suggestion_card(item, item.subject)]
    if isinstance(item.subject, Inbox):
        from gitmem.flows.pull_request import inbox_cards

        return [card_value(card) for card in inbox_cards(place.workspace.code, item.subject)]
    if item.kind == "import":
        return [
            _card(f"{one['path']}: {one['description']}", [_side("+", one["body"])])
            | {"n": one["n"], "reason": sound(f"from {one['source']}")}
            for one in whole["memories"]
        ]
    if item.kind == "dispute":
        return [_card(item.title, [_side("=", text) for text in whole["claims"]])]
    return []


def _side(mark: str, text: str) -> dict[str, Any]:
    return {"mark": mark, "text": sound(text), "notes": []}


def _suggestion_card(item: ReviewItem, one: Any) -> dict[str, Any]:
    from gitmem.flows.review_items import suggested_claims

    change = one.change
    sides = [_side(mark, text) for mark, text in suggested_claims(change)]
    return _card(item.title, sides) | {
        "reason": sound(change.reason),
        "session": sound(change.origin.session),
    }


def _card(title: str, sides: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "n": 0,
        "title": sound(title),
        "kind": "",
        "state": "",
        "reason": "",
        "sides": sides,
        "proof": [],
        "later": "",
    }


def item(place: MemoryView, given: Given) -> dict[str, Any]:
    """One thing that waits, whole: of a dream each change, who taught its claims, and what is proved."""
    waiting = queue(place.workspace, place.edges)
    found = next((one for one in waiting if one.id and one.id == given.get("id")), None)
    if found is None:
        raise UsageError("That does not wait any more", "Look at what does: git mem review")
    told = tell_item(place.workspace, place.edges, found.id, whole=True).value
    return item_value(place, found) | told


def laid(place: MemoryView, given: Given) -> dict[str, Any]:
    """The memories that a dream's change, or a suggestion, would leave, for a person to edit."""
    from gitmem.flows.review_edit import suggestion_file
    from gitmem.ledger.dream_branch import laid_out
    from gitmem.ledger.dreams import Dream
    from gitmem.ledger.suggestions import Suggestion

    one = next((i.subject for i in queue(place.workspace, place.edges) if i.id == given.get("id")), None)
    files: Mapping[str, bytes] = {}
    if isinstance(one, Dream):
        files = laid_out(one, _number(given, "n", 0) or None)
    elif isinstance(one, Suggestion):
        files = dict([suggestion_file(one)])
    else:
        raise UsageError("That is not edited here", "Accept or reject it.")
    texts = {path: data.decode("utf-8", "replace") for path, data in files.items()}
    plain = {path: "\r" not in text and safe(text) == text for path, text in texts.items()}
    return {
        "files": [
            {"path": sound(path), "content": text, "editable": plain[path]} for path, text in texts.items()
        ]
    }


def recalls(place: MemoryView, _: Given) -> dict[str, Any]:
    """What the last prompts and questions were told, and by which words."""
    from gitmem.core.memory import parse
    from gitmem.git.trees import read_paths
    from gitmem.search.words import words

    found = []
    for where in place.workspace.scopes:
        shown = last_shown(where, RECALLS) if where.name in place.scopes else ()
        tip = memory_commit(where.repo, where.ref) if shown else None
        if tip is None:
            continue
        paths = {path for _, some in shown for path in some}
        files = read_paths(where.repo, where.repo.commit(tip).tree, paths)
        known = {path: parse(path, text) for path, text in files.items()}
        texts = {path: set(words(f"{m.name} {m.description} {m.body}")) for path, m in known.items()}
        for asked, some in shown:
            told = [
                {
                    "address": sound(f"{where.name}/{file_address(path)}"),
                    "name": sound(known[path].name),
                    "description": sound(known[path].description),
                    "because": [sound(word) for word in asked.split() if word in texts[path]],
                }
                for path in some
                if path in known
            ]
            found.append({"scope": where.name, "asked": sound(asked), "told": told})
    return {"recalls": found}


def map_(place: MemoryView, _: Given) -> dict[str, Any]:
    """Memories, what they link to and name, and what would leave this machine."""
    from gitmem.view.graph import graph

    return graph(place)


def _number(given: Given, name: str, usual: int) -> int:
    text = given.get(name, "")
    return min(int(text), MOST_ROWS) if text.isascii() and text.isdecimal() else usual


READS: Mapping[str, Callable[[MemoryView, Given], dict[str, Any]]] = {
    "state": state,
    "log": log,
    "change": change,
    "said": said,
    "memories": memories,
    "memory": memory,
    "moments": moments,
    "review": review,
    "item": item,
    "laid": laid,
    "recalls": recalls,
    "map": map_,
}
"""What the page may ask for, by name."""
