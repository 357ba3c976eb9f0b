"""What waits for a person, kept in git: `refs/heads/review/<project id>` in the private repository.

The tree holds one file a suggestion, `suggestions/<id>.json`:

    {"version": 1, "id": "s-1a2b3c", "created": "2026-11-20T10:00:00Z", "scope": "local",
     "engine": "anthropic:…",
     "change": {"op", "name", "description", "type", "body", "reason", "confidence", "asked", "agent",
                "file", "origin": {"session", "first", "last", "time"},
                "edited": {"before": null | "…", "after": "…"}}}

`engine` is left out for the offline engine; `edited` is there only for an engine that edits whole files.

A file that is not of this form is passed over and reported, and never deleted.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, get_args

from gitmem.core.change import TYPES, Change, Edited, Op, Origin
from gitmem.core.claim import normal_form, parse_body
from gitmem.core.limits import MEMORY_BYTES
from gitmem.core.names import is_agent_folder, is_memory_file
from gitmem.core.text import decode, encode
from gitmem.core.trailers import Provenance
from gitmem.rules.paths import check_path
from gitmem.store.commits import Tip, Write, Written, commit
from gitmem.store.repository import Repository, Signature
from gitmem.store.trees import list_files
from gitmem.store.workspace import SCOPES, Workspace
from gitmem.values import dataclass

FOLDER = "suggestions"
VERSION = 1
OFFLINE = "offline"
AGENT = "agent"
"""Stands for an engine where none found it: an agent asked for it through a tool."""
ID_DIGITS = 6
TEXT_CHARS = 4_096
"""Characters of every field but the body: far above what an engine writes."""

_ID = re.compile(r"s-[0-9a-f]{6,64}")


@dataclass(frozen=True)
class Suggestion:
    """One change that a person decides on.

    Attributes:
        id: `s-` and at least 6 hex digits of a SHA-256 over type and claims, so that a find is parked once.
        scope: `project`, `local` or `user`: where it goes when it is accepted.
        created: when it was parked, ISO 8601, UTC.
        engine: which engine found it, or `AGENT`.
    """

    id: str
    change: Change
    scope: str
    created: str
    engine: str = OFFLINE


def quiet(_: str) -> None:
    """Reports to nobody."""


def review_ref(workspace: Workspace) -> str:
    """Full name of the ref that holds what waits."""
    return f"refs/heads/review/{workspace.project_id}"


def digest(change: Change) -> str:
    """64 hex digits over what a change says: its type, claims' normal forms and the file it is about.

    An add's description and name do not count: the same words found again are the same suggestion.
    """
    keys = [claim.key for claim in parse_body(change.body).claims]
    about = [change.op, change.file] if change.op != "add" else []
    if change.edited is not None and change.op != "add":
        # Two edits that bring the same and take out something else are two.
        about.append(hashlib.sha256(change.edited.after).hexdigest())
    text = "\0".join([*about, change.type, *(keys or [normal_form(change.description, item=False)])])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def suggest(change: Change, scope: str, created: str, engine: str = OFFLINE) -> Suggestion:
    """Makes a suggestion with the id that its content gives.

    Args:
        created: ISO 8601, UTC.
    """
    return Suggestion(f"s-{digest(change)[:ID_DIGITS]}", change, scope, created, engine)


def park(
    workspace: Workspace,
    suggestions: Iterable[Suggestion],
    author: Signature,
    provenance: Provenance | None = None,
) -> Written | None:
    """Lets suggestions wait; those that wait already are left as they are.

    Args:
        author: who is named in the commit, and when.
        provenance: for the trailers; an `extract` writer's unless given.

    Returns:
        The commit, or None where all of them waited already.
    """
    wanted = tuple(suggestions)

    def plan(tip: Tip) -> Write | None:
        waiting = {one.id: one for one in _read(workspace.private, tip.tree, quiet)}
        taken = {*waiting, *_ids(workspace.private, tip.tree)}
        edits: dict[str, bytes | None] = {}
        for one in wanted:
            found = _free(one, waiting, taken)
            if found is not None:
                waiting[found.id] = found
                taken.add(found.id)
                edits[_path(found.id)] = to_bytes(found)
        if not edits:
            return None
        names = ", ".join(one.change.name for one in wanted[:3])
        subject = f"Suggest {names}" if len(wanted) < 4 else f"Suggest {len(wanted)} memories"
        return Write(edits, subject, provenance or Provenance(op="add", writer="extract"))

    return commit(workspace.private, review_ref(workspace), plan, author) if wanted else None


def parked(workspace: Workspace, report: Callable[[str], None] = quiet) -> tuple[Suggestion, ...]:
    """Suggestions that wait, oldest first.

    Args:
        report: is told of files that are no suggestions.
    """
    tip = workspace.private.ref(review_ref(workspace))
    if tip is None:
        return ()
    return _read(workspace.private, workspace.private.commit(tip).tree, report)


def unpark(
    workspace: Workspace,
    ids: Iterable[str],
    author: Signature,
    subject: str = "",
    provenance: Provenance | None = None,
) -> Written | None:
    """Ends the wait of suggestions, accepted or not; ids that do not wait are passed over.

    Returns:
        The commit, or None where none of them waited.
    """
    wanted = tuple(dict.fromkeys(ids))

    def plan(tip: Tip) -> Write | None:
        gone = [one for one in wanted if one in _ids(workspace.private, tip.tree)]
        if not gone:
            return None
        said = subject or f"Settle {', '.join(gone) if len(gone) < 4 else f'{len(gone)} suggestions'}"
        told = provenance or Provenance(op="delete", writer="human")
        return Write({_path(one): None for one in gone}, said, told)

    return commit(workspace.private, review_ref(workspace), plan, author) if wanted else None


def to_bytes(one: Suggestion) -> bytes:
    """The suggestion's file: JSON with keys in a fixed order."""
    found_by = {} if one.engine == OFFLINE else {"engine": one.engine}
    data = {
        "version": VERSION,
        "id": one.id,
        "created": one.created,
        "scope": one.scope,
        **found_by,
        "change": change_to_json(one.change),
    }
    return (json.dumps(data, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "replace")


def from_bytes(data: bytes) -> Suggestion | None:
    """Reads a suggestion's file; None where it is not of the form."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return suggestion_from_json(value)


def suggestion_from_json(value: object) -> Suggestion | None:
    """Reads a suggestion from decoded JSON; None where it is not of the form, or of a later one."""
    if not isinstance(value, dict) or value.get("version") != VERSION:
        return None
    change = change_from_json(value.get("change"))
    id, scope, created = (_text(value, key) for key in ("id", "scope", "created"))
    if change is None or not id or not _ID.fullmatch(id) or scope not in SCOPES or not _time(created):
        return None
    engine = _text(value, "engine") if "engine" in value else OFFLINE
    return Suggestion(id, change, str(scope), str(created), engine) if engine else None


def change_to_json(change: Change) -> dict[str, Any]:
    """A change as JSON values, keys in a fixed order."""
    origin, edited = change.origin, change.edited
    made: dict[str, Any] = {
        "op": change.op,
        "name": change.name,
        "description": change.description,
        "type": change.type,
        "body": change.body,
        "reason": change.reason,
        "confidence": change.confidence,
        "asked": change.asked,
        "agent": change.agent,
        "file": change.file,
        "origin": {
            "session": origin.session,
            "first": origin.first,
            "last": origin.last,
            "time": origin.time.isoformat() if origin.time else "",
        },
    }
    if edited is not None:
        before = None if edited.before is None else decode(edited.before)
        made["edited"] = {"before": before, "after": decode(edited.after)}
    return made


def change_from_json(value: object) -> Change | None:
    """Reads a change from decoded JSON, which nobody vouches for; None where anything about it is odd."""
    if not isinstance(value, dict) or not isinstance(value.get("origin"), dict):
        return None
    words = {key: _text(value, key) for key in ("name", "description", "reason", "agent", "file")}
    source = {key: _text(value["origin"], key) for key in ("session", "first", "last", "time")}
    body = _text(value, "body", MEMORY_BYTES)
    confidence, asked = value.get("confidence"), value.get("asked")
    if None in (*words.values(), *source.values(), body) or not words["name"]:
        return None
    if value.get("op") not in get_args(Op) or value.get("type") not in TYPES or not isinstance(asked, bool):
        return None
    if isinstance(confidence, bool) or not isinstance(confidence, int | float):
        return None
    if not math.isfinite(confidence) or not 0 <= confidence <= 1:
        return None
    agent, file = str(words["agent"]), str(words["file"])
    if not is_agent_folder(agent) or (file and not _is_memory_path(file)):
        return None
    time = _time(source["time"]) if source["time"] else None
    if source["time"] and time is None:
        return None
    edited = _edited(value["edited"]) if "edited" in value else None
    if "edited" in value and edited is None:
        return None
    return Change(
        op=value["op"],
        name=str(words["name"]),
        description=str(words["description"]),
        type=value["type"],
        body=str(body),
        reason=str(words["reason"]),
        confidence=float(confidence),
        asked=asked,
        origin=Origin(str(source["session"]), str(source["first"]), str(source["last"]), time),
        agent=agent,
        file=file,
        edited=edited,
    )


def _edited(value: object) -> Edited | None:
    if not isinstance(value, dict):
        return None
    before = value.get("before")
    texts = [
        None if before is None else _text(value, "before", MEMORY_BYTES),
        _text(value, "after", MEMORY_BYTES),
    ]
    if texts[1] is None or (before is not None and texts[0] is None):
        return None
    return Edited(None if texts[0] is None else encode(texts[0]), encode(texts[1]))


def _is_memory_path(file: str) -> bool:
    return check_path(file) is None and is_memory_file(file.rsplit("/", 1)[-1])


def _text(value: Mapping[str, Any], key: str, limit: int = TEXT_CHARS) -> str | None:
    text = value.get(key)
    if not isinstance(text, str) or len(text) > limit:
        return None
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return None
    return text


def _time(text: str | None) -> datetime | None:
    try:
        time = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return time if time.tzinfo else None


def _path(id: str) -> str:
    return f"{FOLDER}/{id}.json"


def _ids(repo: Repository, tree: str) -> frozenset[str]:
    files = list_files(repo, tree, FOLDER)
    return frozenset(path.removeprefix(f"{FOLDER}/").removesuffix(".json") for path in files)


def _free(one: Suggestion, waiting: Mapping[str, Suggestion], taken: set[str]) -> Suggestion | None:
    """The suggestion under an id that no other content has; None where it waits already."""
    whole = digest(one.change)
    if any(digest(other.change) == whole for other in waiting.values()):
        return None
    for length in range(ID_DIGITS, len(whole) + 1, 2):
        if f"s-{whole[:length]}" not in taken:
            return replace(one, id=f"s-{whole[:length]}")
    return None


def _read(repo: Repository, tree: str, report: Callable[[str], None]) -> tuple[Suggestion, ...]:
    found = []
    for path, oid in list_files(repo, tree, FOLDER).items():
        one = from_bytes(repo.blob(oid))
        if one is None or path != _path(one.id):
            report(f"{path!a} in the review branch is no suggestion; it is passed over")
        else:
            found.append(one)
    return tuple(sorted(found, key=lambda one: (one.created, one.id)))
