"""What a session's agent is told once: words of its person that may last and are not in memory yet.

The worker leaves them after a turn, `reminders/<project>/waiting/<session>` beside the private repository
(JSON); the hook of the session's next prompt reads that file, says what fits into a few lines, and notes
what it said in `…/told/<session>`, the keys of sentences, one a line. Each file has one writer. What the
offline rules would have parked of the same words waits here too, until the agent was told or the session
has ended. The hook loads this, so here is nothing that costs: what may be told was weighed by the worker.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from gitmem.ledger import session_files
from gitmem.ledger.files import read_json
from gitmem.values import dataclass

WAITING = "waiting"
TOLD = "told"

BYTES = 360
"""Of what is told at once, for 120 tokens at most: a token has about four bytes of English, three of
Chinese, two and a half of a path, of which there are at most `_PLACE`. Tokenisers differ; none is asked."""

QUOTED = 160
"""Bytes of the first sentence of a text, which is cut here; the others are whole or wait for their turn."""

MOST = 12
"""Sentences of a session that wait to be told, the best ones."""

TOGETHER, LIKELY = 2, 0.33
"""A sentence less likely to last than this waits for another one, so that fewer prompts have a note: of 260
in 12 recorded sessions 84, for 110."""

KEPT = 500
"""Sentences of a session that are remembered, so that none is told twice."""

SESSIONS = 1024
"""Sessions of which it is kept what waits: finds wait there, which no other session may drive out."""

PATIENCE = 86_400.0
"""Seconds after which a session of which nobody heard counts as ended: it was killed, or lies unused."""

_PLACE = 120
_BYTES = 1024 * 1024
_BEFORE = "Said here by the person, and not in memory yet: "
_AFTER = ". What of it lasts beyond this session has its place in {place}; the rest is left."
_UNNAMED = "the memory folder"


@dataclass(frozen=True)
class Sentence:
    """One sentence of a person's.

    Attributes:
        key: 64 hex digits over its words.
        message: uuid of the message that it stands in.
        score: how likely it lasts, 0 to 1.
        text: on one line; empty once it was told.
    """

    key: str
    message: str
    score: float
    text: str


def sentence(text: str, message: str, score: float) -> Sentence:
    """Makes one, with its key."""
    words = " ".join(text.casefold().split()).rstrip(".!")
    return Sentence(hashlib.sha256(words.encode("utf-8", "replace")).hexdigest(), message, score, text)


def state_of(private_state: Path, project: str) -> Path:
    """Names the folder of a project's reminders.

    Args:
        private_state: `Workspace.private_state`, which all projects share.
        project: its id.
    """
    return private_state / session_files.REMINDERS / project


def place_of(folder: Path | None, home: Path) -> str:
    """Names the folder where an agent keeps memory, as far as there is room for its name.

    Args:
        folder: None where it is not known.
        home: the person's; what lies in it can be named shorter.
    """
    if folder is None:
        return ""
    inside = f"~/{folder.relative_to(home)}/" if folder.is_relative_to(home) else ""
    return next((one for one in (f"{folder}/", inside) if 0 < len(one.encode()) <= _PLACE), "")


def leave(
    state: Path, session: str, found: Sequence[Sentence], held: Sequence[Any], place: str
) -> int | None:
    """Leaves sentences for the session's next prompt; those that were left or told before are passed over.

    What was said in another session as well is told without waiting for another sentence: nobody says
    twice what does not last.

    Args:
        state: as `state_of` names it.
        session: id of the recorded session.
        held: finds that wait for the agent's decision, as JSON with the `message` that said them last.
        place: where the agent keeps memory, as `place_of` names it.

    Returns:
        How many wait now; None where nothing could be left.
    """
    name = session_files.plain(session)
    known, before, _ = _read(state, name)
    told = session_files.read_keys(state, name, TOLD)
    rows = {one.key: _without_text(one) if one.key in told else one for one in known}
    again = _said_elsewhere(state, name) if found else frozenset()
    for one in found:
        if one.key not in told:
            score = max(one.score, LIKELY) if one.key in again else one.score
            rows.setdefault(one.key, Sentence(one.key, one.message, score, one.text))
    waiting = sorted((one for one in rows.values() if one.text), key=lambda one: -one.score)[:MOST]
    settled = [one for one in rows.values() if not one.text]
    undecided = _undecided([*before, *held], rows.values(), told)
    if not (waiting or undecided or known):
        return 0
    written = _write(state, name, [*settled[-KEPT:], *waiting], undecided, place)
    return len(waiting) if written else None


def settle(state: Path, session: str, message: str) -> None:
    """Tells nothing of a message any more, since the agent wrote memory behind it; finds wait on."""
    name = session_files.plain(session)
    rows, held, place = _read(state, name)
    if any(one.message == message and one.text for one in rows):
        rows = [_without_text(one) if one.message == message else one for one in rows]
        _write(state, name, rows, held, place)


def take(state: Path, session: str) -> str:
    """Says what waits for a session's agent, as far as it fits; each sentence once.

    Args:
        session: as `session_files.session_of` gives it.

    Returns:
        At most `BYTES` bytes that state facts: a client takes orders that a hook gives for an attack. Empty
        where nothing waits.
    """
    rows, _, place = _read(state, session)
    if not any(one.text for one in rows):
        return ""
    told = session_files.read_keys(state, session, TOLD)
    new = [one for one in rows if one.text and one.key not in told]
    if len(new) < TOGETHER and not any(one.score >= LIKELY for one in new):
        return ""
    after = _AFTER.format(place=place if 0 < len(place.encode()) <= _PLACE else _UNNAMED)
    said: list[Sentence] = []
    quotes = ""
    for one in new:
        room = BYTES - len(f"{_BEFORE}{quotes}{after}".encode()) - (4 if said else 2)
        quote = one.text.replace('"', "'")
        quote = quote if said else _cut(quote, min(room, QUOTED))
        if len(quote.encode()) > room:
            continue
        quotes += f'{"; " if said else ""}"{quote}"'
        said.append(one)
    # What cannot be noted is not said: it would be said again.
    keys = [*told, *(one.key for one in said)]
    if not said or not session_files.remember(state, session, keys, TOLD):
        return ""
    return f"{_BEFORE}{quotes}{after}\n"


def ended(state: Path, sessions: Sequence[str], now: float) -> Iterator[tuple[str, list[Any]]]:
    """Lists what waits for agents that are told nothing any more, since their sessions have ended.

    Args:
        sessions: ids of sessions that ended; those that were silent for `PATIENCE` count, too.
        now: epoch seconds.

    Returns:
        the session, as `close` takes it, and the finds that its agent was not told of.
    """
    names = {session_files.plain(session) for session in sessions}
    folder = state / WAITING
    for path in sorted(folder.iterdir()) if folder.is_dir() and not folder.is_symlink() else ():
        if path.name.startswith(".") or (path.name not in names and now - path.lstat().st_mtime < PATIENCE):
            continue
        rows, held, _ = _read(state, path.name)
        told = session_files.read_keys(state, path.name, TOLD)
        if held or any(one.text for one in rows):
            yield path.name, _undecided(held, rows, told)


def close(state: Path, session: str) -> None:
    """Lets nothing wait for a session's agent any more; what it was told, or was not, is not told again."""
    rows, _, _ = _read(state, session)
    _write(state, session, [_without_text(one) for one in rows][-KEPT:], [], "")


def _said_elsewhere(state: Path, session: str) -> frozenset[str]:
    """Keys of the sentences that wait for agents of other sessions, or that these were told of."""
    folder = state / WAITING
    others = folder.iterdir() if folder.is_dir() and not folder.is_symlink() else ()
    names = [path.name for path in others if path.name != session and not path.name.startswith(".")]
    return frozenset(one.key for name in names for one in _read(state, name)[0])


def _undecided(held: Sequence[Any], rows: Iterable[Sentence], told: Container[str]) -> list[Any]:
    """Finds of messages of which the agent was not told all that may last."""
    told_of = {one.message for one in rows}
    told_of -= {one.message for one in rows if one.key not in told}
    return [one for one in held if one.get("message") not in told_of]


def _without_text(one: Sentence) -> Sentence:
    return Sentence(one.key, one.message, one.score, "")


def _cut(text: str, most: int) -> str:
    """The beginning of a text, cut at a word where that leaves most of it."""
    if len(text.encode()) <= most:
        return text
    kept = text.encode()[: most - 3].decode("utf-8", "ignore")
    whole = kept.rpartition(" ")[0]
    return f"{whole if 2 * len(whole) > len(kept) else kept}…"


def _read(state: Path, session: str) -> tuple[list[Sentence], list[Any], str]:
    """Sentences, finds that wait for their decision, and where the agent keeps memory."""
    value = read_json(state / WAITING / session, _BYTES)
    if not isinstance(value, dict):
        return [], [], ""
    rows = value.get("sentences")
    held, place = value.get("held"), value.get("place")
    return (
        [Sentence(*row) for row in rows if _is_sentence(row)] if isinstance(rows, list) else [],
        [one for one in held if isinstance(one, dict)] if isinstance(held, list) else [],
        place if isinstance(place, str) and place.isprintable() else "",
    )


def _is_sentence(row: Any) -> bool:
    if not isinstance(row, list) or len(row) != 4 or not isinstance(row[2], int | float):
        return False
    return all(isinstance(row[at], str) for at in (0, 1, 3))


def _write(state: Path, session: str, rows: Sequence[Sentence], held: Sequence[Any], place: str) -> bool:
    # Not escaped: what is purged is looked for as it was said.
    value = {
        "place": place,
        "sentences": [[one.key, one.message, one.score, one.text] for one in rows],
        "held": list(held),
    }
    data = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    # What is larger could not be read again.
    return len(data) <= _BYTES and session_files.write(state / WAITING / session, data, SESSIONS)
