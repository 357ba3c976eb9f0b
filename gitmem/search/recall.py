"""Prompt → recall: at most five memories, with their age and whether what they name still exists."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import asdict, field, replace
from typing import TYPE_CHECKING

from gitmem.core.errors import MissingObject
from gitmem.core.limits import (
    PROMPT_BODY_CHARS,
    PROMPT_CONTEXT_CHARS,
    PROMPT_RECALL_CHARS,
    PROMPT_WHOLE,
    RECALLED,
    RECALLED_BYTES,
    RECALLED_LINES,
)
from gitmem.core.text import fence_for_model, one_line
from gitmem.search.content import Opened, code_names, opened_memory
from gitmem.search.gate import (
    AMENDS,
    ASKED_CHARS,
    TOLD_IN_BODY,
    LeftOut,
    Selection,
    Why,
    amends,
    background,
    likeness,
    select,
)
from gitmem.search.query import Candidate, RecallSource, search
from gitmem.search.words import words
from gitmem.values import dataclass

if TYPE_CHECKING:
    from gitmem.core.references import Code, NameFate

DAY = 86_400

NEAREST = 3
"""Memories that are named where none fits."""

MOST_AMENDED = 2
"""Memories that later ones are sought for: the first, which are told whole."""

MOST_LATER = 20
"""Candidates that are looked at for what amends one."""


@dataclass(frozen=True)
class RecallItem:
    """One memory, or one fact of a daily log that no memory says yet, as recalled.

    Attributes:
        scope: `user`, `project` or `local`.
        file: path inside the agent's folder.
        text: its body, at most 200 lines and 4,096 bytes, with a last line that says so where it was cut.
        age_days: whole days since it was last taught; None where unknown.
        stale: taught more than a day ago, or nobody knows when.
        note: what is to be known before relying on it: the facts in one line; empty where there are none.
        score: the higher the better, for comparison within one answer.
        blob: object name of its content: the key under which a session remembers that it was shown.
        commit: commit it was read at, where the answer is as of then; else empty.
        facts: the same as short statements.
        why: what each strategy of search contributed to the score.
        checked: what became of each name in the code, also of what is still there.
        amended: path of a later memory that says that it amends what this one says; it comes before this
            one.
        kind: `memory`; or `log` for a fact of a daily log: its `name` is like `log 2026-11-21 14:05`, its
            `file` is the log, and its `blob` the name that git would give the line.
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
    facts: tuple[str, ...] = ()
    why: Mapping[str, float] = field(default_factory=dict)
    checked: tuple[str, ...] = ()
    kind: str = "memory"
    amended: str = ""


About = Callable[[Sequence[Candidate]], Sequence[Sequence[str]]]
"""Facts on each of the memories that will be shown, from where they come from."""


Later = Callable[[Candidate, str], Sequence[Candidate]]
"""Later memories on what one is about, given its text; best first."""


@dataclass(frozen=True)
class Recall:
    """An answer; no items where nothing fits.

    Attributes:
        engine: who chose.
        notes: what a person should know of how it was chosen, e.g. that an engine failed.
        left: candidates that are not shown, and why.
    """

    query: str
    items: tuple[RecallItem, ...]
    engine: str = "offline"
    notes: tuple[str, ...] = ()
    left: tuple[LeftOut, ...] = ()

    @property
    def nearest(self) -> tuple[Candidate, ...]:
        """What matched the question most where nothing fits: who asked can tell what rules cannot."""
        below = [one.candidate for one in self.left if one.why == "below"]
        return () if self.items else tuple(below[:NEAREST])

    @property
    def unmerged(self) -> tuple[LeftOut, ...]:
        """What fits and was taught on code that is not here; `detail` names the branch."""
        return tuple(one for one in self.left if one.why == "unmerged")


class NotShown(MissingObject):
    """A memory that was chosen shows, once it is opened, that it is not worth showing."""

    def __init__(self, why: Why, detail: str = "") -> None:
        super().__init__(detail or why)
        self.why: Why = why
        self.detail = detail


def recall(
    query: str,
    candidates: Iterable[Candidate],
    blobs: Callable[[Candidate], bytes | Opened],
    now: int,
    scopes: Mapping[str, str],
    shown: Set[str] = frozenset(),
    limit: int = RECALLED,
    code: Code | None = None,
    selection: Selection | None = None,
    about: About | None = None,
    later: Later | None = None,
) -> Recall:
    """Chooses among candidates and opens those chosen, and what amends them; no others.

    Args:
        candidates: best first.
        blobs: reads a candidate's content; one that is missing is passed over. What is no memory file comes
            opened.
        now: epoch seconds.
        scopes: full ref name to scope.
        shown: contents (`RecallItem.blob`) that this session has seen already.
        limit: items at most.
        code: knows what the code has of what a memory names; None where there is none to ask.
        selection: the choice, where it was made already; else it is made here, offline.
        about: knows who taught a memory, and what waits that would change it.
        later: knows what may amend one; asked about the first two.
    """
    opened: list[tuple[Candidate, Opened]] = []
    found = list(candidates)
    selected = selection or select(found, shown)
    left = list(selected.left)
    for candidate in selected.chosen:
        if len(opened) >= limit:
            left.append(LeftOut(candidate, "limit"))
            continue
        try:
            memory = _open(candidate.path, blobs(candidate))
        except NotShown as reason:
            left.append(LeftOut(candidate, reason.why, reason.detail))
            continue
        except MissingObject:
            left.append(LeftOut(candidate, "gone"))
            continue
        opened.append((candidate, memory))
    chosen = list(opened)
    amended = _put_amending_first(opened, found, blobs, later, shown) if later else {}
    left += [LeftOut(one[0], "shown", amended[_at(one[0])].path) for one in chosen if one not in opened]
    left += [LeftOut(candidate, "limit") for candidate, _ in opened[limit:]]
    del opened[limit:]
    told = {(candidate.ref, candidate.path, candidate.blob) for candidate, _ in opened}
    left = [one for one in left if (one.candidate.ref, one.candidate.path, one.candidate.blob) not in told]
    left.sort(key=lambda one: -one.candidate.score)
    if not opened:
        return Recall(query, (), left=tuple(left))
    since = {place: newer.path for place, newer in amended.items()}
    said: dict[tuple[str, str], list[str]] = {}
    for place, newer in amended.items():
        said.setdefault(_at(newer), []).append(f"it amends {plain_place(place[1])}")
        said.setdefault(place, []).append(f"amended since by {plain_place(newer.path)}")
    looked = _looked_up(code, opened)
    known = about([candidate for candidate, _ in opened]) if about else [()] * len(opened)
    items = [
        _item(
            candidate,
            memory,
            now,
            scopes[candidate.ref],
            findings,
            [*said.get(_at(candidate), ()), *facts],
            since.get(_at(candidate), ""),
        )
        for (candidate, memory), findings, facts in zip(opened, looked, known, strict=True)
    ]
    return Recall(query, tuple(items), left=tuple(left))


def _looked_up(
    code: Code | None, opened: Sequence[tuple[Candidate, Opened]]
) -> Sequence[Sequence[NameFate]]:
    """What became of the names of the code in each memory."""
    names = [code_names(memory) for _, memory in opened] if code else []
    if code is None or not any(paths or words for paths, _, words in names):
        return [()] * len(opened)
    from gitmem.core.references import Named  # many memories name nothing of the code

    asked = [
        Named(paths, frozenset(sure), words, candidate.time)
        for (candidate, _), (paths, sure, words) in zip(opened, names, strict=True)
    ]
    return code.look(asked)


def age_note(time: int, now: int, checked: bool = False) -> tuple[int | None, bool, str]:
    """Age in whole days, whether that is stale, and how to say it.

    Args:
        time: author time of the last taught change, epoch seconds; 0 where unknown.
        checked: whether something that the memory names was looked up in the code.
    """
    how = (
        "only the names in it were checked against the code" if checked else "not checked against the code"
    )
    if not time:
        return None, True, f"of unknown age; {how}"
    days = max(0, now - time) // DAY
    if not days:
        return 0, False, ""
    return days, True, f"{days} {'day' if days == 1 else 'days'} old; {how} since"


def cap(text: str, lines: int = RECALLED_LINES, size: int = RECALLED_BYTES) -> str:
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


def later_ones(
    sources: Sequence[RecallSource], agents: Collection[str] | None = None, now: int | None = None
) -> Later:
    """Seeks what was taught after a memory, in its repository, and is about the same thing."""

    def later(one: Candidate, text: str) -> Sequence[Candidate]:
        source = next(source for source in sources if one.ref in source.scopes)
        asked = f"{one.name}\n{one.description}\n{text}"[:ASKED_CHARS]
        found = search(source.catalog, asked, source.scopes.keys(), agents, MOST_LATER, source.at, now)
        others = [each for each in found if _at(each) != _at(one)]
        usual = background(others)
        return [
            each
            for each in others
            if each.time > one.time > 0 and each.kind == "memory" and likeness(each, usual) >= AMENDS
        ]

    return later


def _put_amending_first(
    opened: list[tuple[Candidate, Opened]],
    candidates: Sequence[Candidate],
    blobs: Callable[[Candidate], bytes | Opened],
    later: Later,
    shown: Set[str],
) -> dict[tuple[str, str], Candidate]:
    """Puts what amends a memory before it: ref and path of the earlier one to the later.

    It has to share words with the question, too: most memories have no such later one, and cost nothing.
    Where what amends one was shown before in this session, neither is shown.
    """
    amended: dict[tuple[str, str], Candidate] = {}
    for candidate, memory in opened[:MOST_AMENDED]:
        near = {
            _at(one)
            for one in candidates
            if one.time > candidate.time > 0
            and (one.parts["told"] >= TOLD_IN_BODY or one.parts["decisive"])
        }
        if not near:
            continue
        for newer in later(candidate, memory.body):
            if _at(newer) not in near:
                continue
            known = next((one for one in opened if _at(one[0]) == _at(newer)), None)
            pair = known or _read(replace(newer, score=candidate.score, why={}), blobs)
            if pair is None or not amends(f"{pair[1].description}\n{pair[1].body}"):
                continue
            if known:
                opened.remove(known)
            at = opened.index((candidate, memory))
            if newer.blob in shown:
                del opened[at]
            else:
                opened.insert(at, pair)
            amended[_at(candidate)] = newer
            break
    return amended


def _at(candidate: Candidate) -> tuple[str, str]:
    """Where it stands: scopes may have memories of one path."""
    return candidate.ref, candidate.path


def _read(
    candidate: Candidate, blobs: Callable[[Candidate], bytes | Opened]
) -> tuple[Candidate, Opened] | None:
    with suppress(MissingObject):
        return candidate, _open(candidate.path, blobs(candidate))
    return None


def plain_place(place: str, chars: int = 200) -> str:
    """Where a memory stands, as no more than a path: it is shown outside any fence.

    Args:
        chars: characters at most.
    """
    return re.sub(r"[^A-Za-z0-9._/^-]+", "_", place)[:chars]


def _open(path: str, data: bytes | Opened) -> Opened:
    if isinstance(data, Opened):
        return data
    from gitmem.core.memory import parse

    return opened_memory(parse(path, data))


def _item(
    candidate: Candidate,
    memory: Opened,
    now: int,
    scope: str,
    findings: Sequence[NameFate],
    known: Sequence[str],
    amended: str,
) -> RecallItem:
    body = memory.body.strip()
    days, stale, aged = age_note(candidate.time, now, bool(findings))
    warned, checked = _told_of_names(findings)
    facts = [fact for fact in (aged, *memory.known, *known, *warned) if fact]
    if candidate.commit and warned:
        facts.append("what it names was looked up in HEAD as it is now")
    return RecallItem(
        scope=scope,
        agent=candidate.agent,
        file=candidate.file,
        name=memory.name,
        description=memory.description,
        type=memory.type,
        text=cap(body),
        age_days=days,
        stale=stale,
        note="; ".join(facts),
        score=candidate.score,
        blob=candidate.blob,
        commit=candidate.commit,
        facts=tuple(facts),
        why=dict(candidate.why),
        checked=checked,
        kind=candidate.kind,
        amended=amended,
    )


def _told_of_names(findings: Sequence[NameFate]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is to be known before relying on a memory, and what became of each name."""
    if not findings:
        return (), ()
    from gitmem.core.references import statement, warnings

    return warnings(findings), tuple(map(statement, findings))


PLACE_CHARS = 100
"""Characters of a place that are shown."""

LINE_CHARS = 160
"""Characters of a memory that is told in one line."""

KNOWN_CHARS = 500
"""Characters of the facts that are shown of one memory."""

OPENS = "`git mem show NAME` prints all of one"

_STEM = 5
"""Letters by which words are compared where a paragraph is chosen."""

_SHORTEST = 200
"""Characters of a memory below which showing its beginning is of no use."""


def as_context(recall: Recall, limit: int = PROMPT_CONTEXT_CHARS) -> str:
    """States the memories as facts for a model that asked; empty where nothing was recalled.

    Every memory is fenced as data: project memory is anyone's who may push, and even a person's own may
    hold text that was pasted from elsewhere.

    Args:
        limit: the result has fewer characters than this; what finds no room is named.
    """
    if not recall.items:
        return ""
    parts = [_opening(len(recall.items))]
    left_out: list[str] = []
    closing = 120 * len(recall.items)  # room to name each one that finds none
    for item in recall.items:
        room = limit - closing - sum(map(len, parts)) - len(parts)
        block = _block(item, item.text)
        if len(block) > room:
            shorter = item.text[: max(0, room - len(_block(item, "")) - 100)]
            block = _block(item, f"{shorter.rstrip()}\n[cut here for length; the whole is in {item.file}]")
            if len(shorter) < _SHORTEST or len(block) > room:
                left_out.append(_place(item))
                continue
        parts.append(block)
    if left_out:
        parts.append(f"Not shown for length: {', '.join(left_out)}\n")
    return "\n".join(parts)


def for_prompt(recall: Recall) -> tuple[str, tuple[RecallItem, ...]]:
    """States what bears on a prompt for a model that did not ask: few texts, and of the rest a line each.

    Returns:
        The text, empty where nothing was recalled, without what finds no room in `PROMPT_RECALL_CHARS`; and
        the memories whose text is in it.
    """
    whole = [item for item in recall.items if not item.amended][:PROMPT_WHOLE]
    parts = [_opening(len(recall.items))]
    told: list[RecallItem] = []
    for item in whole:
        block = _block(item, excerpt(item.text, recall.query, PROMPT_BODY_CHARS))
        if sum(map(len, parts)) + len(block) + len(parts) <= PROMPT_RECALL_CHARS:
            parts.append(block)
            told.append(item)
    lines = [_line(item) for item in recall.items if item not in told]
    while lines:
        block = fence_for_model("\n".join(lines), source=f"more that may bear on it ({OPENS})")
        if sum(map(len, parts)) + len(block) + len(parts) <= PROMPT_RECALL_CHARS:
            parts.append(block)
            break
        lines.pop()
    return ("\n".join(parts), tuple(told)) if len(parts) > 1 else ("", ())


def excerpt(text: str, query: str, chars: int) -> str:
    """Cuts a text to the paragraphs that share most words with a question, in their order.

    Args:
        chars: of the result, at most; but for a line that says what was left out.
    """
    if len(text) <= chars:
        return text
    asked = {word[:_STEM] for word in words(query)}
    blocks = [block.strip() for block in re.split(r"\n\s*\n", text) if block.strip()]
    having = [asked & {word[:_STEM] for word in words(block)} for block in blocks]
    common = Counter(word for some in having for word in some)
    worth = [sum([1 / common[word] for word in sorted(some)]) for some in having]
    chosen: set[int] = set()
    room = chars
    for at in sorted(range(len(blocks)), key=lambda at: (-worth[at], at)):
        if len(blocks[at]) + 6 <= room:
            chosen.add(at)
            room -= len(blocks[at]) + 6
    if not chosen:  # one long paragraph: its beginning
        kept = blocks[0][:chars]
        return f"{kept[: kept.rfind(' ') if kept.rfind(' ') > chars // 2 else chars]} […]\n[{OPENS}]"
    parts = []
    for at in sorted(chosen):
        parts += ["[…]"] if at and at - 1 not in chosen else []
        parts.append(blocks[at])
    return "\n\n".join(parts) + f"\n\n[of {len(blocks)} paragraphs {len(chosen)}; {OPENS}]"


def as_json(recall: Recall) -> dict[str, object]:
    """Gives `{"query", "items": [RecallItem…]}`, ready for `json.dumps`."""
    return {"query": _sound(recall.query), "items": [_plain(item) for item in recall.items]}


def told_by(description: str, text: str) -> bool:
    """Whether a text begins with its description, which is then not worth saying twice."""
    said = " ".join(description.split()).rstrip(" .!…")
    begun = " ".join(text[: 4 * len(description) + 100].split())
    return bool(said) and begun.startswith(said) and not begun[len(said) : len(said) + 1].isalnum()


def _block(item: RecallItem, text: str) -> str:
    place = _place(item)
    facts = [item.type, *item.facts[: item.stale]]
    if item.commit:
        facts.append(f"as of {item.commit[:12]}")
    about = "" if told_by(item.description, item.text) else item.description
    name = "" if item.file == f"{item.name}.md" and not about else item.name  # its place says it
    head = one_line(": ".join(filter(None, (name, about))), 300)
    whole = f"{head}\n\n{text}" if head else text
    block = fence_for_model(whole, source=f"{place} ({one_line('; '.join(facts), 300)})")
    # What is said beside the fence is gitmem's own: names in it are cut down to what a name can be.
    known = one_line("; ".join(item.facts[item.stale :]).replace("`", "'"), KNOWN_CHARS)
    return f"{block}Known of it: {known}\n" if known else block


def _opening(count: int) -> str:
    return (
        f"gitmem found {count} recorded {'memory' if count == 1 else 'memories'} that may bear on this.\n"
    )


def _line(item: RecallItem) -> str:
    about = item.description or item.text
    since = f" (amended since by {plain_place(item.amended)})" if item.amended else ""
    return f"- {_place(item)}: {one_line(about, LINE_CHARS)}{since}"


def _place(item: RecallItem) -> str:
    return plain_place(f"{item.scope}/{item.agent}/{item.file}", PLACE_CHARS)


def _plain(item: RecallItem) -> dict[str, object]:
    value: dict[str, object] = {}
    for key, one in asdict(item).items():
        texts = isinstance(one, tuple)
        value[key] = (
            [_sound(each) for each in one] if texts else _sound(one) if isinstance(one, str) else one
        )
    return value


def _sound(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
