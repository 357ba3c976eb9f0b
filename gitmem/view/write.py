"""What the page does: by the flow of the verb of the same name, and only to what the person was shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal, cast

from gitmem.core.change import Change
from gitmem.core.errors import CheckFailed, GitmemError, UsageError
from gitmem.core.text import counted
from gitmem.flows.decide import DIFFERENT, DecidingSession, ItemChoice, Verdict, decide, unite_choices
from gitmem.flows.edit import forget, left_behind, reword
from gitmem.flows.json_values import place_value, sound
from gitmem.flows.review import queue
from gitmem.flows.review_edit import EditedFile as GivenFile
from gitmem.flows.review_edit import edit_dream, worded
from gitmem.flows.undo import Undone, choose, restore, undo
from gitmem.ledger.dreams import Dream
from gitmem.ledger.lookup import find
from gitmem.ledger.suggestions import Suggestion
from gitmem.view.data import item_value, version
from gitmem.view.graph import MemoryView

Given = Mapping[str, Any]

ANSWERS = ("same", "newer", "older")

MOST = 1_000
"""Decisions of one request."""


class NeedsConsent(CheckFailed):
    """What would be done concerns others, and the person has not agreed to it yet."""

    kind = "consent"


def decisions(place: MemoryView, given: Given) -> dict[str, Any]:
    """Carries out what the person decided, each part on its own, one undo for all.

    What is not as it was shown is not decided; it is among the `failed`.
    """
    agreed = given.get("agreed") is True
    waiting = {one.id: one for one in queue(place.workspace, place.edges) if one.id}
    asked = given.get("decisions")
    if not isinstance(asked, list) or not 0 < len(asked) <= MOST:
        raise UsageError("Nothing was decided")
    if not all(isinstance(one, dict) for one in asked):
        raise UsageError("A decision names what it is on")
    stale: dict[str, None] = {}
    wanted: list[ItemChoice] = []
    edited: dict[str, Change] = {}
    for one in asked:
        id = _text(one, "id")
        found = waiting.get(id)
        if found is None or _text(one, "version") != version(found):
            stale[id] = None
            continue
        choice = _choice(one)
        if isinstance(found.subject, Dream):
            choice = replace(choice, at=found.subject.tip)
        words = one.get("edited")
        if isinstance(found.subject, Suggestion) and isinstance(words, str):
            change = worded(found.subject, words.encode("utf-8", "replace"))
            if change is not None:
                edited[id] = change
        wanted.append(choice)

    def ask(question: str) -> None:
        if not agreed:
            raise NeedsConsent(question)

    how = cast(Literal["merge", "replace"], given.get("how") if given.get("how") == "replace" else "merge")
    allowed = given.get("allow") is True
    session = DecidingSession(place.workspace, place.edges, ask, how, allowed, edited)
    done = decide(session, waiting.values(), unite_choices(wanted)).as_value()
    refused = CheckFailed("It changed since it was shown", "Look at it again, and decide.")
    done["failed"] += [
        {"id": sound(id), "kind": "stale", "message": refused.message, "hint": refused.hint} for id in stale
    ]
    return done


def _choice(one: Given) -> ItemChoice:
    verdict, answer = _text(one, "verdict"), _text(one, "answer")
    numbers = one.get("numbers", [])
    if verdict not in ("accept", "reject"):
        raise UsageError("A decision is accept or reject")
    # No number at all means the whole: what is none must not come to that.
    if not isinstance(numbers, list) or not all(type(one) is int and 0 < one <= MOST for one in numbers):
        raise UsageError("The numbers of a decision are none")
    if answer == "different":
        verdict, answer, why = "reject", "", DIFFERENT
    else:
        why = _text(one, "why")
    if answer and answer not in ANSWERS:
        raise UsageError(f"{answer} is no answer", "same, newer, older or different")
    id, given = _text(one, "id"), cast(Any, answer or None)
    return ItemChoice(id, cast(Verdict, verdict), tuple(numbers), why, answer=given)


def edited_dream(place: MemoryView, given: Given) -> dict[str, Any]:
    """Puts the person's words in the place of a memory that a dream's change would leave."""
    id = _text(given, "id")
    found = next((one for one in queue(place.workspace, place.edges) if one.id == id), None)
    if found is None or not isinstance(found.subject, Dream) or _text(given, "version") != version(found):
        raise CheckFailed("It changed since it was shown", "Look at it again.")
    words = GivenFile(_text(given, "path"), _text(given, "content").encode("utf-8", "replace"))
    number = given.get("n")
    edit_dream(
        place.workspace,
        place.edges,
        found.subject,
        number if isinstance(number, int) else None,
        why=_text(given, "why"),
        given=words,
    )
    now = next(one for one in queue(place.workspace, place.edges) if one.id == id)
    return item_value(place, now)


def edited_memory(place: MemoryView, given: Given) -> dict[str, Any]:
    """Stores the person's wording of a memory."""
    found = _found_as_seen(place, _text(given, "name"), _text(given, "blob"))
    data = _text(given, "content").encode("utf-8", "replace")
    done = reword(place.workspace, place.edges, found, data, allowed=given.get("allow") is True)
    commit = done.written.commit if done.written else None
    warnings = [sound(one.message) for one in done.warnings]
    line = f"edited {done.memory.name}" if commit else f"{done.memory.name} is as it was"
    return {"done": sound(line), "commit": commit, "undo": [commit] if commit else [], "notes": warnings}


def forgotten(place: MemoryView, given: Given) -> dict[str, Any]:
    """Deletes a memory, and sees to it that it stays away."""
    found = _found_as_seen(place, _text(given, "name"), _text(given, "blob"))
    written = forget(place.workspace, place.edges, found)
    commit = written.commit if written else None
    left = [f"agents still read {path}" for path in left_behind(place.workspace, found)] if commit else []
    return place_value(found) | {
        "done": f"forgot {sound(found.memory.name)}",
        "commit": commit,
        "undo": [commit] if commit else [],
        "notes": list(map(sound, left)),
    }


def undone(place: MemoryView, given: Given) -> dict[str, Any]:
    """Takes changes back that are named, in their order."""
    words = given.get("commits")
    if (
        not isinstance(words, list)
        or not words
        or not all(isinstance(word, str) and word for word in words)
    ):
        raise UsageError("Say what to undo")
    some: list[Undone] = []
    notes: list[str] = []
    for word in words[:MOST]:
        try:
            some.append(undo(place.workspace, place.edges, word))
        except GitmemError as error:
            if not some:
                raise
            # What was undone before it has to be told, with its own undo.
            notes.append(f"{word[:12]} was not undone: {error.message}")
    said = [f"undid {one.target.oid[:12]} {one.target.subject}" for one in some]
    return {
        "done": "; ".join(map(sound, said)),
        "undid": [one.as_value() for one in some],
        "undo": [commit for one in reversed(some) for commit in one.commits[:1]],
        "notes": [sound(note) for note in (*notes, *(note for one in some for note in one.notes))],
    }


def restored(place: MemoryView, given: Given) -> dict[str, Any]:
    """Brings one memory back as it was, or all that was there then; or tells what that would change."""
    name, at = _text(given, "name") or None, _text(given, "at") or None
    if name is None and at is None:
        raise UsageError("Say as of when")
    past = choose(place.workspace, place.edges, name, at)
    preview = given.get("preview") is True
    done = restore(place.workspace, place.edges, past, dry_run=preview)
    count = sum(len(one.plan.edits) for one in done)
    verb = "would bring back" if preview else "brought back"
    line = f"{verb} {past.what}: {counted(count, 'file')} changed" if count else "it is as it was then"
    return {
        "done": sound(line),
        "scopes": [one.as_value() for one in done],
        "undo": [one.commit for one in done if one.commit],
        "notes": [f"stays forgotten: {sound(path)}" for one in done for path in one.plan.forgotten],
    }


def _text(given: Given, name: str) -> str:
    found = given.get(name, "")
    if not isinstance(found, str):
        raise UsageError(f"{name} is no text")
    return found


WRITES: Mapping[str, Callable[[MemoryView, Given], dict[str, Any]]] = {
    "decide": decisions,
    "edit-dream": edited_dream,
    "edit": edited_memory,
    "forget": forgotten,
    "undo": undone,
    "restore": restored,
}
"""What the page may do, by name."""


def _found_as_seen(place: MemoryView, name: str, blob: str) -> Any:
    """A memory, where it is the one that was shown.

    Raises:
        UsageError: there is none of that name.
        CheckFailed: it changed since.
    """
    found = find(place.workspace, name, whole=True)
    if found.blob != blob:
        raise CheckFailed(f"{found.memory.name} changed since it was shown", "Look at it again.")
    return found
