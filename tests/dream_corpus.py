"""A seeded memory of a software team with planted duplicates, dates, contradictions and dangling links.

`corpus(seed)` gives a tree and what was planted in it; `dream_score.score` tells what an engine made of it.
The same arguments give the same bytes. Two seeds with other `tag`s share no path and no name.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from dream_sentences import (
    ASPECTS,
    DATED,
    DIFFERENCES,
    ENVIRONMENTS,
    HOW,
    PEOPLE,
    SYSTEMS,
    UNCLEAR,
    WHY,
    Aspect,
)

from gitmem.core.account import reference
from gitmem.core.index import entry
from gitmem.core.memory import parse
from gitmem.engines.engine import ConsolidateInput

START = datetime(2026, 11, 16, 9, tzinfo=UTC)
DUPLICATE_KINDS = ("equal", "contained", "reordered", "reworded", "repeated", "copy")
LINK_KINDS = (
    "slip", "renamed", "gone", "renamed", "slip", "gone", "markdown", "gone-markdown", "never", "slip",
)  # fmt: skip
_SMALL = {"2": "two", "3": "three", "4": "four", "5": "five"}


@dataclass(frozen=True)
class Planted:
    """One thing that was planted.

    Attributes:
        kind: which of its sort: `equal`, `number`, `slip`, …
        claims: those that it is about, as `<file>#<12 hex>`: of a duplicate both, the one that says less
            first; of a contradiction both, the older first.
        text: a date's phrase, or what a link leads to.
        meant: a date's day, or the name that a link must get; empty where a person has to decide, and for a
            link that has to lose its brackets.
        provable: whether an engine without a model is meant to find it; a note is enough where not.
    """

    kind: str
    claims: tuple[str, ...]
    text: str = ""
    meant: str = ""
    provable: bool = True


@dataclass(frozen=True)
class Corpus:
    """A tree of one agent, `main`, with its index, and what is in it.

    Attributes:
        files: path from the root to content.
        said: claim to when it was first said; left out for dates of unknown time.
        renamed: name that links use to the one that the memory has now; empty where it is gone.
        meanings: claim to the facts that it states: one may be merged into another that states them all.
        duplicates, dates, contradictions, links: what was planted; contradictions are near-duplicates that
            must never be merged as well.
    """

    files: Mapping[str, bytes]
    said: Mapping[str, datetime]
    renamed: Mapping[str, str]
    meanings: Mapping[str, frozenset[str]] = field(repr=False)
    duplicates: tuple[Planted, ...] = ()
    dates: tuple[Planted, ...] = ()
    contradictions: tuple[Planted, ...] = ()
    links: tuple[Planted, ...] = ()

    def given(self, **more: object) -> ConsolidateInput:
        """What an engine is given of it."""
        return ConsolidateInput(self.files, self.said, renamed=self.renamed, **({"most": 500} | more))  # type: ignore[arg-type]


def corpus(
    seed: int,
    memories: int = 300,
    duplicates: int = 60,
    dates: int = 40,
    contradictions: int = 30,
    links: int = 20,
    tag: str = "",
) -> Corpus:
    """Makes a corpus.

    Args:
        memories: files in all; those of planted pairs among them.
        duplicates: pairs that say the same; a sixth of them each of `DUPLICATE_KINDS`.
        dates: claims with a relative date; of each ten, one is unclear and one of unknown time.
        contradictions: pairs that differ in one thing.
        links: that lead nowhere, of `LINK_KINDS` in turn.
        tag: end of all names, so that trees of several seeds can be laid over one another.

    Raises:
        ValueError: there is no room for what is to be planted.
    """
    return _Maker(seed, tag).make(memories, duplicates, dates, contradictions, links)


@dataclass
class _Draft:
    """A memory in the making."""

    path: str
    name: str
    system: str
    description: str
    type: str
    nested: bool
    bullets: bool
    body: list[tuple[str, frozenset[str]]]
    day: datetime


class _Maker:
    def __init__(self, seed: int, tag: str) -> None:
        self._random = random.Random(f"{seed} {tag}")
        self._tag = f"-{tag}" if tag else ""
        self._drafts: list[_Draft] = []
        self._topics = self._shuffled()
        self._unknown: set[tuple[str, int]] = set()
        self._renamed: dict[str, str] = {}

    def make(self, memories: int, duplicates: int, dates: int, contradictions: int, links: int) -> Corpus:
        pairs = [self._duplicate(DUPLICATE_KINDS[n % len(DUPLICATE_KINDS)]) for n in range(duplicates)]
        kinds = list(DIFFERENCES)
        against = [self._contradiction(kinds[n % len(kinds)], n) for n in range(contradictions)]
        planted = len(self._drafts)
        while len(self._drafts) < memories:
            self._add(*next(self._topics))
        if len(self._drafts) != memories:
            raise ValueError(f"{planted} memories are needed for what is planted, {memories} are wanted")
        # Dates and links go where nothing else was planted, so that each finding is about one thing.
        free = self._drafts[planted:] or self._drafts
        days = [self._date(free[n % len(free)], n) for n in range(dates)]
        dangling = [self._link(free[-1 - n % len(free)], n) for n in range(links)]
        files = {draft.path: _rendered(draft) for draft in self._drafts}
        return self._finished(files, pairs, against, days, dangling)

    def _shuffled(self) -> Iterator[tuple[str, Aspect]]:
        # Systems alone are not enough for thousands of memories: then there are regions of them.
        for region in range(1_000):
            names = [name if not region else f"{name}-{_region(region)}" for name in SYSTEMS]
            topics = [(name, aspect) for name in names for aspect in ASPECTS]
            self._random.shuffle(topics)
            yield from topics

    def _add(self, system: str, aspect: Aspect, other: bool = False, claims: int = 0) -> _Draft:
        """A memory on a topic; `other` for a second one on it."""
        pick = self._random
        name = f"{system}-{aspect.slug}"
        if other:
            told = re.sub(r"\W+", "-", aspect.described[1].format(svc=system).lower())
            name = pick.choice((told, f"{aspect.slug}-of-{system}"))
        name += self._tag
        kind = "feedback" if claims == 0 and pick.random() < 0.3 else pick.choice(("project", "reference"))
        path = f"main/{name}.md"
        description = self._filled(aspect.described[other], system)
        draft = _Draft(
            path, name, system, description, kind, pick.random() < 0.5, pick.random() < 0.4, [], START
        )
        draft.day = START + timedelta(days=pick.randrange(60), hours=pick.randrange(8))
        for template in pick.sample(aspect.says, claims or pick.randint(1, len(aspect.says))):
            self._say(draft, self._filled(template, system))
        if kind == "feedback":
            draft.bullets = False
            for templates in (WHY, HOW):
                self._say(draft, self._filled(pick.choice(templates), system))
        self._drafts.append(draft)
        return draft

    def _say(self, draft: _Draft, text: str, facts: frozenset[str] = frozenset()) -> int:
        """Adds a claim that states what it says, unless it states known facts; gives its place."""
        draft.body.append((text, facts or frozenset({text})))
        return len(draft.body) - 1

    def _filled(self, template: str, system: str, m: int = 0) -> str:
        pick = self._random
        n = pick.randrange(6, 60)
        text = template.format(
            svc=system,
            id=re.sub(r"\W", "_", system),
            n=n,
            m=m or n + pick.randrange(1, 9),
            few=pick.choice(list(_SMALL)),
            who=pick.choice(PEOPLE),
            env=pick.choice(ENVIRONMENTS),
            port=pick.randrange(4_000, 9_000),
        )
        return text[0].upper() + text[1:] if not text.startswith("`") else text

    def _twin(self, first: _Draft, system: str, aspect: Aspect) -> _Draft:
        """An empty memory on the same topic."""
        twin = self._add(system, aspect, other=True)
        twin.body.clear()
        twin.type, twin.day = first.type, first.day + timedelta(days=self._random.randrange(1, 9))
        return twin

    def _duplicate(self, kind: str) -> tuple[str, list[tuple[_Draft, int]]]:
        system, aspect = next(self._topics)
        if kind == "copy":
            first = self._add(system, aspect)
            name = f"{first.name}-2" if self._random.random() < 0.5 else f"{first.name}-copy"
            twin = _Draft(
                f"main/{name}.md",
                first.name if self._random.random() < 0.5 else name,
                system,
                first.description,
                first.type,
                first.nested,
                first.bullets,
                list(first.body),
                first.day + timedelta(days=1),
            )
            self._drafts.append(twin)
            return kind, [(twin, 0), (first, 0)]
        first = self._add(system, aspect, claims=2)
        twin = self._twin(first, system, aspect)
        text, facts = first.body[0]
        if kind == "reordered":
            values = self._random.getstate()
            one = self._filled(aspect.reordered[0], system)
            self._random.setstate(values)
            first.body[0] = (one, facts)
            twin.body.append((self._filled_as(aspect.reordered, one, system, values), facts))
        elif kind == "reworded":
            twin.body.append((self._reworded(text), facts))
        elif kind == "contained":
            extra = self._filled("The rest is up to whoever is on call for {svc} in week {n}.", system)
            joined = (f"{text} {extra}", facts | {extra})
            twin.body.append((text, facts))
            first.body[0] = joined
        else:
            twin.body.append((text, facts))
        if kind == "repeated":
            rest = [one for one in aspect.says if not any(_alike(one, said) for said, _ in first.body)]
            more = rest[0] if rest else "The wiki page on {svc} was last read in week {n}."
            self._say(twin, self._filled(more, system))
        return kind, [(twin, 0), (first, 0)]

    def _filled_as(self, templates: tuple[str, str], one: str, system: str, values: object) -> str:
        after = self._random.getstate()
        self._random.setstate(values)  # type: ignore[arg-type]
        text = self._filled(templates[1], system)
        self._random.setstate(after)
        return text

    def _reworded(self, text: str) -> str:
        """The same sentence without articles, with other contractions, number words or letter case."""
        changes: list[tuple[str, str | Callable[[re.Match[str]], str]]] = [
            (r"\bDo not\b", "Don't"),
            (r"\bDon't\b", "Do not"),
            (r"\bNever\b", "Do not"),
            (r"\b(?:The|A) (\w)", lambda m: m[1].upper()),
            (r"(?<=[a-z]) (?:the|a) (?=[a-z])", " "),
            (r"\b([2-5])(?= times)", lambda m: _SMALL[m[1]]),
            (r"\.$", "!"),
            (r"^[A-Z](?=[a-z]+ )", lambda m: m[0].lower()),
        ]
        fitting = [(old, new) for old, new in changes if re.search(old, text)]
        if text.split()[0] in PEOPLE:
            fitting = [pair for pair in fitting if not pair[0].startswith("^")]
        for old, new in self._random.sample(fitting, min(len(fitting), 2)):
            text = re.sub(old, new, text, count=1)
        return text

    def _contradiction(self, kind: str, number: int) -> tuple[str, list[tuple[_Draft, int]]]:
        system, aspect = next(self._topics)
        first = self._add(system, aspect, claims=1)
        templates = DIFFERENCES[kind][number // len(DIFFERENCES) % len(DIFFERENCES[kind])]
        values = self._random.getstate()
        one = self._filled(templates[0], system)
        other = self._filled_as(templates, one, system, values)
        # A few stand in one memory, as where an agent wrote the news below what it did not read.
        twin = first if number % 6 == 5 else self._twin(first, system, aspect)
        return kind, [(first, self._say(first, one)), (twin, self._say(twin, other))]

    def _date(self, draft: _Draft, number: int) -> tuple[_Draft, int, str, str]:
        system = draft.system
        if number % 10 == 8:
            template, phrase = UNCLEAR[number // 10 % len(UNCLEAR)]
            return draft, self._say(draft, self._filled(template, system)), phrase, ""
        template, phrase, days = DATED[number % len(DATED)]
        text = self._filled(template, system)
        place = self._say(draft, text)
        if number % 10 == 9:
            self._unknown.add((draft.path, place))
            return draft, place, phrase, ""
        return draft, place, phrase, (draft.day + timedelta(days=days)).date().isoformat()

    def _link(self, draft: _Draft, number: int) -> tuple[str, _Draft, int, str, str]:
        kind = LINK_KINDS[number % len(LINK_KINDS)]
        others = [other for other in self._drafts[-len(SYSTEMS) :] if other is not draft]
        meant = self._random.choice(others).name
        if kind == "slip":
            word = max(meant.removesuffix(self._tag).split("-"), key=len)
            link = meant.replace(word, word[:3] + word[4:], 1)
        elif kind in ("renamed", "markdown"):
            link = f"old-notes-{number}{self._tag}"
            self._renamed[link] = meant
        else:
            link, meant = f"vanished-{number}{self._tag}", ""
            if kind != "never":
                self._renamed[link] = ""
        shown = f"[{link}]({link}.md)" if "markdown" in kind else f"[[{link}]]"
        return (
            kind,
            draft,
            self._say(draft, f"More on this stands in {shown} since week {number}."),
            link,
            meant,
        )

    def _finished(
        self,
        files: dict[str, bytes],
        pairs: Sequence[tuple[str, list[tuple[_Draft, int]]]],
        against: Sequence[tuple[str, list[tuple[_Draft, int]]]],
        days: Sequence[tuple[_Draft, int, str, str]],
        dangling: Sequence[tuple[str, _Draft, int, str, str]],
    ) -> Corpus:
        said: dict[str, datetime] = {}
        meanings: dict[str, frozenset[str]] = {}
        names: dict[tuple[str, int], str] = {}
        for draft in self._drafts:
            memory = parse(draft.path, files[draft.path])
            assert len(memory.parsed.claims) == len(draft.body), draft.path
            for number, (claim, (_, facts)) in enumerate(
                zip(memory.parsed.claims, draft.body, strict=True)
            ):
                name = names[draft.path, number] = reference(draft.path, claim)
                meanings[name] = facts
                if (draft.path, number) not in self._unknown:
                    said[name] = draft.day + timedelta(minutes=number)
            described = reference(draft.path, memory.claims[-1])
            meanings.setdefault(described, frozenset({f"described {draft.description}"}))
            said.setdefault(described, draft.day)
        lines = [entry(d.name, d.path.removeprefix("main/"), d.description) for d in self._drafts]
        tree = {"main/MEMORY.md": "".join(sorted(lines)).encode(), **files}

        def of(places: Sequence[tuple[_Draft, int]]) -> tuple[str, ...]:
            return tuple(names[draft.path, number] for draft, number in places)

        return Corpus(
            dict(sorted(tree.items())),
            said,
            dict(self._renamed),
            meanings,
            tuple(Planted(kind, of(places)) for kind, places in pairs),
            tuple(
                Planted("day" if day else "open", of([(draft, number)]), phrase, day, bool(day))
                for draft, number, phrase, day in days
            ),
            tuple(Planted(kind, of(places), provable=False) for kind, places in against),
            tuple(
                Planted(kind, of([(draft, number)]), link, meant, kind != "never")
                for kind, draft, number, link, meant in dangling
            ),
        )


def _rendered(draft: _Draft) -> bytes:
    parts = [f"- {text}" if draft.bullets else text for text, _ in draft.body]
    body = ("\n" if draft.bullets else "\n\n").join(parts)
    place = f"metadata:\n  type: {draft.type}" if draft.nested else f"type: {draft.type}"
    return f"---\nname: {draft.name}\ndescription: {draft.description}\n{place}\n---\n\n{body}\n".encode()


def _region(number: int) -> str:
    return "".join(chr(ord("a") + int(digit)) for digit in f"{number:03}") + "-region"


def _alike(template: str, text: str) -> bool:
    words = re.sub(r"\{\w+\}", " ", template).split()
    return sum(word in text for word in words) > len(words) / 2
