"""What sessions, tools and commits of others suggest: a change that waits for a person, as a proposal.

The commit of a suggestion (`ledger.proposals`) makes the change in its files; beside them `proposal.json`
says what no file does:

    {"version": 1, "id": "s-1a2b3c", "created": "2026-11-20T10:00:00Z", "scope": "local",
     "engine": "anthropic:…",
     "change": {"op", "name", "description", "type", "body", "reason", "confidence", "asked", "agent",
                "file", "origin": {"session", "first", "last", "time"}, "edited": true}}

`engine` is left out for the offline engine; `edited` is there only for an engine that edits whole files:
the two commits have the text. Where no commit is made yet (a changeset, what an agent was put first) the
same JSON stands with `"edited": {"before": null | "…", "after": "…"}`.

What is not of this form is passed over, and never deleted.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar, get_args

from gitmem.core.change import TYPES, Change, ChangeOrigin, Edited, Op
from gitmem.core.claim import normal_form, parse_body
from gitmem.core.errors import MissingObject
from gitmem.core.limits import MEMORY_BYTES
from gitmem.core.memory import Memory, create, parse
from gitmem.core.names import file_name, is_agent_folder, is_memory_file
from gitmem.core.text import decode, encode
from gitmem.core.trailers import Provenance
from gitmem.git.repository import Signature
from gitmem.git.trees import list_files, read_file
from gitmem.ledger import proposals
from gitmem.ledger.proposals import Family, Proposal, suggestions_of
from gitmem.ledger.workspace import SCOPES, Workspace
from gitmem.rules.paths import check_path
from gitmem.values import dataclass

VERSION = 1
OFFLINE = "offline"
AGENT = "agent"
"""Stands for an engine where none found it: an agent asked for it through a tool."""
ID_DIGITS = 6
TEXT_CHARS = 4_096
"""Characters of every field but the body: far above what an engine writes."""

_ID = re.compile(r"s-[0-9a-f]{6,64}")

Found = TypeVar("Found")


@dataclass(frozen=True)
class Suggestion:
    """One change that a person decides on.

    Attributes:
        id: `s-` and at least 6 hex digits of a SHA-256 over type and claims, so that a find waits once.
        scope: `project`, `local` or `user`: where it goes when it is accepted.
        created: when it began to wait, ISO 8601, UTC.
        engine: which engine found it, or `AGENT`.
    """

    id: str
    change: Change
    scope: str
    created: str
    engine: str = OFFLINE


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


def propose(
    workspace: Workspace,
    suggestions: Iterable[Suggestion],
    author: Signature,
    provenance: Provenance | None = None,
) -> tuple[Suggestion, ...]:
    """Lets suggestions wait; those that wait already are left as they are.

    Args:
        author: who is named in the commits, and when.
        provenance: for the trailers; an `extract` writer's unless given. What asking a model cost is said
            once a job.

    Returns:
        Those that wait now and did not before, under the ids that they got.
    """
    wanted = tuple(suggestions)
    if not wanted:
        return ()
    told = provenance or Provenance(op="add", writer="extract")
    family = suggestions_of(workspace)
    pairs = list(_read_all(family))
    if told.job and any(one.provenance.job == told.job for one, _ in pairs):
        told = replace(told, usage=None)
    waiting = [one for _, one in pairs]
    made = []
    for one in wanted:
        found = _free(one, waiting, family)
        if found is not None and _make(workspace, family, found, author, told):
            waiting.append(found)
            made.append(found)
            told = replace(told, usage=None)
    return tuple(made)


def open_suggestions(workspace: Workspace) -> tuple[Suggestion, ...]:
    """Suggestions that wait, oldest first; what is no suggestion is passed over."""
    found = [one for _, one in _read_all(suggestions_of(workspace))]
    return tuple(sorted(found, key=lambda one: (one.created, one.id)))


def settle(workspace: Workspace, ids: Iterable[str], why: str) -> tuple[str, ...]:
    """Ends the wait of suggestions, accepted or not; an undo can bring them back for a while.

    Args:
        ids: those that do not wait are passed over.
        why: for the log of their refs.

    Returns:
        Those that waited until now.
    """
    return proposals.settle(suggestions_of(workspace), ids, f"gitmem review: {why}")


def reopen(workspace: Workspace, ids: Iterable[str]) -> tuple[str, ...]:
    """Lets suggestions wait again whose decision was undone, as they were when they were decided.

    Args:
        ids: those that wait, and those that were let go since, are passed over.

    Returns:
        Those that wait now and did not.
    """
    family = suggestions_of(workspace)
    return proposals.reopen(family, ids, "gitmem undo: wait again")


def to_land(workspace: Workspace, one: Suggestion) -> Change:
    """The change as the commits of its proposal make it: from what it was made from to what it says now.

    So what a person changed in it with plain git counts, and an update lands as a three-way merge.
    """
    family = suggestions_of(workspace)
    tip = proposals.open_tips(family).get(one.id)
    proposal = proposals.read(family, one.id, tip) if tip else None
    if proposal is None:
        return one.change
    change, path = one.change, _file_of(one.change)
    before, after = (side.get(path) for side in proposals.files(family, proposal, {path}))
    if change.op == "update" and before is not None and after is not None:
        return replace(change, edited=Edited(before, after))
    if change.op == "add" and after is not None and after != created(change):
        return as_worded(change, parse(path, after))
    return change


def _make(
    workspace: Workspace, family: Family, one: Suggestion, author: Signature, told: Provenance
) -> bool:
    """Makes the commits of a suggestion and its ref."""
    before, edits = _files(workspace, one)
    change = one.change
    subject = f"Forget {change.name}" if change.op == "delete" else change.description or change.name
    record = to_bytes(one, committed=True)
    return proposals.make(family, one.id, before, edits, record, subject, told, change.reason, author)


def _files(workspace: Workspace, one: Suggestion) -> tuple[dict[str, bytes], dict[str, bytes | None]]:
    """The files that a suggestion is about, as they stand, and what it makes of them."""
    from gitmem.ledger.apply import apply  # a look makes no commit

    change = one.change
    edited, path = change.edited, _file_of(change)
    if edited is not None and change.op != "delete":
        return {path: edited.before} if edited.before is not None else {}, {path: edited.after}
    if change.op == "add":
        return {}, {path: created(change)}
    scope = workspace.scope(one.scope)
    tip = scope.repo.ref(scope.ref)
    tree = scope.repo.commit(tip).tree if tip else ""
    prefix = f"{change.agent}/"
    names = (
        {found.removeprefix(prefix) for found in list_files(scope.repo, tree, change.agent)} if tip else ()
    )

    def read(name: str) -> bytes | None:
        return read_file(scope.repo, tree, prefix + name) if tree else None

    applied = apply(change, names, read)
    edits = applied.edits if applied else {}
    before = {prefix + name: data for name in edits if (data := read(name)) is not None}
    return before, {prefix + name: data for name, data in edits.items()}


def _file_of(change: Change) -> str:
    return f"{change.agent}/{change.file or file_name(change.name)}"


def as_worded(change: Change, memory: Memory) -> Change:
    """A change with the words that somebody gave the memory that it makes."""
    return replace(
        change,
        name=memory.name,
        description=memory.description,
        type=memory.type,
        body=memory.body.strip(),
    )


def created(change: Change) -> bytes:
    """The file of a memory that a change makes anew."""
    file = file_name(change.name)
    return create(change.name, change.description, change.type, change.body, file).render()


def _read_all(family: Family) -> Iterable[tuple[Proposal, Suggestion]]:
    for id, tip in proposals.open_tips(family).items():
        if id.startswith("s-") and (found := _read_one(family, id, tip)):
            yield found


def _read_one(family: Family, id: str, tip: str) -> tuple[Proposal, Suggestion] | None:
    with suppress(MissingObject, ValueError, RecursionError, TypeError, LookupError, AttributeError):
        proposal = proposals.read(family, id, tip)
        value = json.loads(proposals.record(family.repo, tip))
        if proposal is None or value["id"] != id:
            return None
        edited = value["change"].pop("edited", None)
        one = suggestion_from_json(value)
        if one is None or edited not in (None, True):
            return None
        if edited:
            path = _file_of(one.change)
            before, after = (side.get(path) for side in proposals.files(family, proposal, {path}))
            if after is None:
                return None
            one = replace(one, change=replace(one.change, edited=Edited(before, after)))
        return proposal, one
    return None


def to_bytes(one: Suggestion, *, committed: bool = False) -> bytes:
    """A suggestion as JSON with keys in a fixed order.

    Args:
        committed: it stands beside files that say what an edit comes to.
    """
    found_by = {} if one.engine == OFFLINE else {"engine": one.engine}
    change = change_to_json(one.change)
    if committed and "edited" in change:
        change["edited"] = True
    data = {"version": VERSION, "id": one.id, "created": one.created, "scope": one.scope, **found_by}
    return (json.dumps({**data, "change": change}, indent=1, ensure_ascii=False) + "\n").encode(
        "utf-8", "replace"
    )


def from_bytes(data: bytes) -> Suggestion | None:
    """Reads a suggestion's file; None where it is not of the form."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return suggestion_from_json(value)


def suggestion_from_json(value: object) -> Suggestion | None:
    """Reads a suggestion from decoded JSON; None where it is not of the form, or of a later one."""
    return _of_the_form(_suggestion, value)


def _suggestion(value: Any) -> Suggestion:
    change = _change(value["change"])
    id, scope, created = (_text(value, key) for key in ("id", "scope", "created"))
    engine = _text(value, "engine") if "engine" in value else OFFLINE
    _check(value["version"] == VERSION and _ID.fullmatch(id) and scope in SCOPES and engine)
    _time(created)
    return Suggestion(id, change, scope, created, engine)


_TEXTS = ("name", "description", "type", "body", "reason", "agent", "file")
_PLAIN = ("op", "name", "description", "type", "body", "reason", "confidence", "asked", "agent", "file")
"""What of a change stands in JSON as it is, in this order."""


def change_to_json(change: Change) -> dict[str, Any]:
    """A change as JSON values, keys in a fixed order."""
    origin, edited = change.origin, change.edited
    made: dict[str, Any] = {name: getattr(change, name) for name in _PLAIN}
    time = origin.time.isoformat() if origin.time else ""
    made["origin"] = {"session": origin.session, "first": origin.first, "last": origin.last, "time": time}
    if edited is not None:
        before = None if edited.before is None else decode(edited.before)
        made["edited"] = {"before": before, "after": decode(edited.after)}
    return made


def change_from_json(value: object) -> Change | None:
    """Reads a change from decoded JSON, which nobody vouches for; None where anything about it is odd."""
    return _of_the_form(_change, value)


def _change(value: Any) -> Change:
    origin, confidence, asked = value["origin"], value["confidence"], value["asked"]
    texts: dict[str, Any] = {
        name: _text(value, name, MEMORY_BYTES if name == "body" else TEXT_CHARS) for name in _TEXTS
    }
    name, agent, file = texts["name"], texts["agent"], texts["file"]
    session, first, last, said = (_text(origin, key) for key in ("session", "first", "last", "time"))
    _check(name and value["op"] in get_args(Op) and texts["type"] in TYPES)
    _check(isinstance(asked, bool) and not isinstance(confidence, bool) and 0 <= confidence <= 1)
    _check(is_agent_folder(agent) and (not file or _is_memory_path(file)))
    return Change(
        op=value["op"],
        confidence=float(confidence),
        asked=asked,
        origin=ChangeOrigin(session, first, last, _time(said) if said else None),
        edited=_edited(value["edited"]) if "edited" in value else None,
        **texts,
    )


def _edited(value: Any) -> Edited:
    before = None if value["before"] is None else encode(_text(value, "before", MEMORY_BYTES))
    return Edited(before, encode(_text(value, "after", MEMORY_BYTES)))


def _is_memory_path(file: str) -> bool:
    return check_path(file) is None and is_memory_file(file.rsplit("/", 1)[-1])


def _of_the_form(read: Callable[[Any], Found], value: object) -> Found | None:
    """What a reader makes of decoded JSON; None where that is of another form."""
    with suppress(ValueError, TypeError, LookupError):
        return read(value)
    return None


def _check(holds: object) -> None:
    """Raises ValueError where something about decoded JSON is odd."""
    if not holds:
        raise ValueError


def _text(value: Any, key: str, limit: int = TEXT_CHARS) -> str:
    text = value[key]
    _check(isinstance(text, str) and len(text) <= limit)
    text.encode("utf-8")
    return str(text)


def _time(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    _check(time.tzinfo)
    return time


def _free(one: Suggestion, waiting: Iterable[Suggestion], family: Family) -> Suggestion | None:
    """The suggestion under an id that no other content has; None where it waits already."""
    whole = digest(one.change)
    known = {other.id: digest(other.change) for other in waiting}
    if whole in known.values():
        return None
    taken = proposals.all_tips(family)
    for length in range(ID_DIGITS, len(whole) + 1, 2):
        id = f"s-{whole[:length]}"
        if id not in taken or (id not in known and _says(family, id, taken[id], whole)):
            return replace(one, id=id)
    return None


def _says(family: Family, id: str, tip: str, whole: str) -> bool:
    """Whether what was decided under an id is the same: then it may wait under it again."""
    found = _read_one(family, id, tip)
    return found is not None and digest(found[1].change) == whole
