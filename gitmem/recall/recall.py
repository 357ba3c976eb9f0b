"""Prompt → recall: at most five memories, with their age and whether what they name still exists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass

from gitmem.memory.limits import RECALLED, RECALLED_BYTES, RECALLED_LINES
from gitmem.memory.memory import parse
from gitmem.recall.choose import choose
from gitmem.recall.truth import missing_note
from gitmem.store.candidates import Candidate
from gitmem.store.repository import MissingObject

DAY = 86_400


@dataclass(frozen=True)
class RecallItem:
    """One memory as recalled.

    Attributes:
        scope: `user`, `project` or `local`.
        file: path inside the agent's folder.
        text: its body, at most 200 lines and 4,096 bytes, with a last line that says so where it was cut.
        age_days: whole days since it was last taught; None where unknown.
        stale: taught more than a day ago, or nobody knows when.
        note: what is to be known before relying on it, as a fact; empty where nothing is.
        score: the higher the better, for comparison within one answer.
        blob: object name of its content: the key under which a session remembers that it was shown.
        commit: commit it was read at, where the answer is as of then; else empty.
    """

    scope: str
    agent: str
    file: str
    name: str
    description: str
    type: str
    text: str
    age_days: int | None
    stale: bool
    note: str
    score: float
    blob: str
    commit: str = ""


@dataclass(frozen=True)
class Recall:
    """An answer; no items where nothing fits."""

    query: str
    items: tuple[RecallItem, ...]


def recall(
    query: str,
    candidates: Iterable[Candidate],
    blobs: Callable[[Candidate], bytes],
    now: int,
    scopes: Mapping[str, str],
    shown: Set[str] = frozenset(),
    limit: int = RECALLED,
    exists: Callable[[str], bool] | None = None,
) -> Recall:
    """Chooses among candidates and opens those chosen, and no others.

    Args:
        candidates: best first.
        blobs: reads a candidate's content; one that is missing is passed over.
        now: epoch seconds.
        scopes: full ref name to scope.
        shown: contents (`RecallItem.blob`) that this session has seen already.
        limit: items at most.
        exists: whether HEAD has a path; None where there is no code to ask.
    """
    items: list[RecallItem] = []
    for candidate in choose(candidates, shown):
        if len(items) >= limit:
            break
        try:
            data = blobs(candidate)
        except MissingObject:
            continue
        items.append(_item(candidate, data, now, scopes[candidate.ref], exists))
    return Recall(query, tuple(items))


def age_note(time: int, now: int) -> tuple[int | None, bool, str]:
    """Age in whole days, whether that is stale, and how to say it.

    Args:
        time: author time of the last taught change, epoch seconds; 0 where unknown.
    """
    if not time:
        return None, True, "of unknown age; not checked against the code"
    days = max(0, now - time) // DAY
    if not days:
        return 0, False, ""
    return days, True, f"{days} {'day' if days == 1 else 'days'} old; not checked against the code since"


def capped(text: str, lines: int = RECALLED_LINES, size: int = RECALLED_BYTES) -> str:
    """Cuts a text to whole lines, saying so in a last line; the result keeps within both limits.

    Args:
        lines: lines at most.
        size: UTF-8 bytes at most.
    """
    whole = text.encode("utf-8", "replace")
    total = text.count("\n") + 1
    if total <= lines and len(whole) <= size:
        return whole.decode()
    notice = f"[cut: the memory has {total:,} lines, {len(whole):,} bytes]"
    kept = "\n".join(text.split("\n")[: lines - 1]).encode("utf-8", "replace")
    room = size - len(notice.encode()) - 1
    if len(kept) > room:
        newline = kept.rfind(b"\n", 0, room + 1)
        kept = kept[: newline if newline > room // 2 else room]
    return f"{kept.decode('utf-8', 'ignore').rstrip()}\n{notice}"


def _item(
    candidate: Candidate, data: bytes, now: int, scope: str, exists: Callable[[str], bool] | None
) -> RecallItem:
    memory = parse(candidate.path, data)
    body = memory.body.strip()
    days, stale, aged = age_note(candidate.time, now)
    notes = (aged, missing_note(f"{memory.description}\n{body}", exists))
    return RecallItem(
        scope=scope,
        agent=candidate.agent,
        file=candidate.file,
        name=memory.name,
        description=memory.description,
        type=memory.type,
        text=capped(body),
        age_days=days,
        stale=stale,
        note="; ".join(note for note in notes if note),
        score=candidate.score,
        blob=candidate.blob,
        commit=candidate.commit,
    )
