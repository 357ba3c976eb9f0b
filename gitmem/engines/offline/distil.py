"""Memories made of the facts of daily logs, as extraction would have made them; nothing is added to a fact.

Facts that say the same become one. What a memory says in part is completed there; all else is a new memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from gitmem.core.account import path_of, reference
from gitmem.core.claim import Claim, normal_form, parse_body, repetition
from gitmem.core.daily_log import LogLine, statements
from gitmem.core.dates import annotate, unclear
from gitmem.core.facts import added, without_dates
from gitmem.core.memory import Memory, create, reword, with_after
from gitmem.core.names import agent_folder, file_name, skeleton
from gitmem.core.text import counted, one_line
from gitmem.core.trailers import Fate
from gitmem.engines.offline import wording
from gitmem.engines.offline.equivalence import heading, holds, is_tagged, led_in, said
from gitmem.engines.offline.work import ConsolidationWork
from gitmem.rules.instructions import find_instructions
from gitmem.rules.secrets import scan

_SHOWN = 100
_BLOCK = re.compile(r"[#>|<=~]|```|[-+*] |\d{1,9}[.)] |\[[^\]]*\]:")


@dataclass
class _Draft:
    """A memory to be, or what one is to hold besides, and the lines that say it.

    Attributes:
        plain: what it states as it was told, without the dates that are added.
        said: what it states, then each Why and How to apply.
        lines: reference of each line to the claims that it went into.
    """

    type: str
    plain: str
    said: list[str]
    lines: dict[str, LogLine] = field(default_factory=dict)
    into: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def take(self, ref: str, line: LogLine, texts: tuple[str, ...]) -> None:
        """Adds a line that says the same, with what gives its reasons."""
        if holds(_claim(texts[0]), _claim(self.said[0])):
            # The longer of two, or of two that say the same the later.
            self.said[0], self.plain = texts[0], statements(line.text)[0]
        tags = []
        for text in texts[1:]:
            near = next((one for one in self.said[1:] if _same(one, text)), "")
            if not near:
                self.said.append(text)
            tags.append(near or text)
        self.lines[ref], self.into[ref] = line, tuple(tags)


def paragraphs(line: LogLine) -> Iterator[str]:
    """The claims of a memory that a line makes, dated against when it was said; the statement first."""
    for text in statements(annotate(line.text, line.when)):
        yield text if text.rstrip().endswith("?") else wording.statement(text)


def distil(work: ConsolidationWork, agent: str, lines: Mapping[str, LogLine], scope: str = "") -> None:
    """Proposes a change for each memory that facts of an agent's logs make, or complete.

    Args:
        lines: facts of daily logs by reference, oldest first; those of other agents are passed over.
        scope: its name; no memory about a person is made for a project.
    """
    mine = {ref: line for ref, line in lines.items() if agent_folder(path_of(ref)) == agent}
    if not mine:
        return
    drafts = list(_drafts(work, agent, mine, scope))
    places = _Places(work, agent)
    joined: dict[str, list[_Draft]] = {}
    for draft in drafts:
        joined.setdefault(places.home(draft), []).append(draft)
    for path, some in joined.items():
        if path:
            _complete(work, path, some)
    taken = _Taken(work, agent)
    for draft in joined.get("", ()):
        _create(work, agent, draft, taken)


def _drafts(
    work: ConsolidationWork, agent: str, lines: Mapping[str, LogLine], scope: str
) -> Iterator[_Draft]:
    """What the lines say, each thing once, in the order in which it was first said."""
    secrets = scan([line.text for line in lines.values()])
    known: dict[object, list[_Draft]] = {}
    found: list[_Draft] = []
    for (ref, line), hidden in zip(lines.items(), secrets, strict=True):
        texts = tuple(paragraphs(line))
        why = "it may hold a credential" if hidden else _unfit(line, texts, scope)
        if why:
            quote = "" if hidden else f": “{one_line(line.text, _SHOWN)}”"
            work.notes.append(f"left: {ref}: {why}{quote}")
            continue
        if work.is_settled(agent, (Fate("merged", ref),)):
            continue
        work.notes += (
            f"date: “{one_line(phrase.text, _SHOWN)}” in {ref} is unclear"
            for phrase in unclear(line.text, line.when)
        )
        new = _claim(texts[0])
        heads = _heads(new)
        near = (draft for head in heads for draft in known.get(head, ()))
        draft = next(
            (one for one in near if _together(one.type, line.type) and _alike(_claim(one.said[0]), new)),
            None,
        )
        if draft is None:
            draft = _Draft(line.type, statements(line.text)[0], [texts[0]])
            found.append(draft)
            for head in heads:
                known.setdefault(head, []).append(draft)
        draft.take(ref, line, texts)
    yield from found


def _unfit(line: LogLine, texts: tuple[str, ...], scope: str) -> str:
    """Why a line is for a person to word; empty where a memory can be made of it."""
    if line.type == "user" and scope == "project":
        return "it is about a person, and not for the project"
    if any(found.level == "error" for found in find_instructions(line.text)):
        return "it speaks to the model as its master would"
    claims = parse_body("\n\n".join(texts)).claims
    whole = [claim.key for claim in claims] == [normal_form(text, item=False) for text in texts]
    if not whole or _BLOCK.match(texts[0]) or is_tagged(_claim(texts[0])) or "\0" in line.text:
        return "it is no plain sentence"
    return ""


class _Places:
    """Where the memories of an agent say something, by how it begins."""

    def __init__(self, work: ConsolidationWork, agent: str) -> None:
        self._work = work
        self._known: dict[object, dict[str, None]] = {}
        for memory in work.hot(agent):
            for claim in memory.parsed.claims:
                for head in _heads(claim):
                    self._known.setdefault(head, {})[memory.path] = None

    def home(self, draft: _Draft) -> str:
        """Path of the memory that is plainly about the same; empty where there is none."""
        paths = dict.fromkeys(
            path for head in _heads(_claim(draft.said[0])) for path in self._known.get(head, ())
        )
        memories = (self._work.memories[path] for path in sorted(paths))
        return next(
            (one.path for one in memories if _together(one.type, draft.type) and _place(one, draft) >= 0),
            "",
        )


def _place(memory: Memory, draft: _Draft) -> int:
    """Position of the claim that says what a draft does, or that the draft says all of; -1 for none."""
    claims, new = memory.parsed.claims, _claim(draft.said[0])
    for number, claim in enumerate(claims):
        if claim.dispute or heading(claims, number) or led_in(claims, number):
            continue
        if _alike(claim, new):
            return number
    return -1


def _complete(work: ConsolidationWork, path: str, drafts: Iterable[_Draft]) -> None:
    """One change for all that an existing memory is to hold besides."""
    memory = work.memories[path]
    kept: list[_Draft] = []
    fates: list[Fate] = []
    for draft in drafts:
        done = _with(memory, draft)
        if done is None:
            for ref in draft.lines:
                work.notes.append(f"left: {ref}: it cannot be put into {memory.name} as it is")
            continue
        memory, more = done
        fates += more
        kept.append(draft)
    if memory is work.memories[path]:
        for draft in kept:
            work.notes += (f"log: {ref} is said already in {memory.name}" for ref in draft.lines)
        return
    # What one of them reworded, another may have reworded again.
    lines = {ref: line for draft in kept for ref, line in draft.lines.items()}
    for draft in kept:
        fates += _fates(memory, draft)
    work.propose(
        "distil",
        {path: memory},
        tuple(dict.fromkeys(fates)),
        f"Complete {memory.name} from the log",
        _reason(lines),
    )


def _with(memory: Memory, draft: _Draft) -> tuple[Memory, list[Fate]] | None:
    """A memory that says all of a draft, and what became of the claim that it reworded."""
    at = _place(memory, draft)
    if at < 0:
        return None
    fates: list[Fate] = []
    claim, new = memory.parsed.claims[at], _claim(draft.said[0])
    if not (repetition(claim.key) == repetition(new.key) or holds(claim, new)):
        longer = reword(memory, {at: f"{_marker(claim)}{draft.said[0]}"})
        if longer is None:
            return None
        source, target = (reference(memory.path, one.parsed.claims[at]) for one in (memory, longer))
        fates.append(Fate("merged", source, target, "the log says all of it and more"))
        memory = longer
    claims = memory.parsed.claims
    missing = [text for text in draft.said[1:] if not any(_same(one.text, text) for one in claims)]
    if not missing:
        return memory, fates
    # Behind one item of a list, a reason would stand between it and the next.
    while at + 1 < len(claims) and is_tagged(claims[at + 1]):
        at += 1
    changed = None if claim.item else with_after(memory, at, [_claim(text) for text in missing])
    return (changed, fates) if changed else None


def _create(work: ConsolidationWork, agent: str, draft: _Draft, taken: _Taken) -> None:
    """One change for a new memory."""
    slug = taken.free(without_dates(draft.plain))
    path = f"{agent}/{file_name(slug)}"
    body = "\n\n".join(draft.said)
    memory = create(slug, _description(draft), draft.type, body, path)
    fates = tuple(_fates(memory, draft))
    if work.propose("distil", {path: memory}, fates, f"Learn {slug} from the log", _reason(draft.lines)):
        taken.add(path)
    else:
        work.notes += (f"left: {ref}: this dream proposes enough" for ref in draft.lines)


def _fates(memory: Memory, draft: _Draft) -> Iterator[Fate]:
    """Each line of a draft with the claims that it went into."""
    first = memory.parsed.claims[max(0, _place(memory, draft))]
    for ref, tags in draft.into.items():
        yield Fate("merged", ref, reference(memory.path, first))
        for text in tags:
            for claim in memory.parsed.claims:
                if _same(claim.text, text):
                    yield Fate("merged", ref, reference(memory.path, claim))
                    break


def _description(draft: _Draft) -> str:
    """A line that finds the memory; where it is cut, it must not turn what the lines say around."""
    sources = [line.text for line in draft.lines.values()]
    first = re.split(r"(?<=[.!?])\s", draft.said[0], maxsplit=1)[0]
    tried = [wording.description(text) for text in (draft.said[0], first)]
    whole = " ".join(draft.said[0].split())
    return next((one for one in tried if not added(without_dates(one), sources)), whole)


def _reason(lines: Mapping[str, LogLine]) -> str:
    times = [line.when for line in lines.values()]
    days = list(dict.fromkeys(f"{time:%Y-%m-%d}" for time in (min(times), max(times))))
    if len(lines) == 1:
        return f"The log of {days[0]} says it."
    return f"{counted(len(lines), 'line')} of the log say it, {' to '.join(days)}."


class _Taken:
    """Names that a new memory may not have: those of others, and what a reader would take for one."""

    def __init__(self, work: ConsolidationWork, agent: str) -> None:
        self._paths = {skeleton(path) for path in work.files}
        self._agent = agent
        self._names: set[str] = set()
        for path, memory in work.memories.items():
            self.add(path)
            if agent_folder(path) == agent:
                self._names |= {memory.name, path.rpartition("/")[2].removesuffix(".md")}

    def add(self, path: str) -> None:
        self._paths.add(skeleton(path))
        if agent_folder(path) == self._agent:
            self._names.add(path.rpartition("/")[2].removesuffix(".md"))

    def free(self, text: str) -> str:
        """A name for a statement."""
        while (
            skeleton(f"{self._agent}/{file_name(slug := wording.slug(text, frozenset(self._names)))}")
            in self._paths
        ):
            self._names.add(slug)
        return slug


def _claim(text: str) -> Claim:
    return Claim(text, "", normal_form(text, item=False))


def _together(one: str, other: str) -> bool:
    """Whether facts of two types may go into one memory: what is about a person stays by itself."""
    return (one == "user") == (other == "user")


def _alike(one: Claim, other: Claim) -> bool:
    return repetition(one.key) == repetition(other.key) or holds(one, other) or holds(other, one)


def _same(one: str, other: str) -> bool:
    return repetition(normal_form(one, item=False)) == repetition(normal_form(other, item=False))


def _heads(claim: Claim) -> tuple[object, ...]:
    return tuple(dict.fromkeys((repetition(claim.key), *said(claim.text).sentences[:1])))


def _marker(claim: Claim) -> str:
    found = re.match(r" {0,3}(?:[-+*]|\d{1,9}[.)])[ \t]+", claim.text) if claim.item else None
    return found[0] if found else ""
