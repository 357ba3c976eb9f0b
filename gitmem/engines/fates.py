"""What became of the claims that a model took out, reworded or made, worked out from the trees.

A model cannot hash claims, and its word alone is not taken: that a claim is merged must be seen in the
text, and what is superseded or dropped must be named by its first words, with a reason. Its last words on a
dream are one JSON array of changes, read leniently, believed little:

    [{"subject": "Keep one memory on mocks", "reason": "both say it", "files": ["main/a.md", "main/b.md"],
      "gone": [{"file": "main/a.md", "claim": "Mocks hid a", "fate": "merged", "into_file": "main/b.md",
                "into_claim": "Never mock", "reason": "says it in other words"}]},
     {"subject": "Learn how releases are tagged", "reason": "said twice", "files": ["main/tags.md"],
      "lines": ["L2", "L5", {"line": "L1", "fate": "superseded", "reason": "L5 corrects it"}]}]
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from gitmem.core.account import path_of, proposals, reference, references
from gitmem.core.claim import Claim
from gitmem.core.daily_log import LogLine, statements
from gitmem.core.facts import akin, missing_facts, stem
from gitmem.core.memory import parse
from gitmem.core.merge import Files, only
from gitmem.core.names import agent_folder
from gitmem.core.text import one_line
from gitmem.core.trailers import Fate
from gitmem.engines.engine import ConsolidateInput
from gitmem.engines.offline.equivalence import holds
from gitmem.engines.prompts import labels

ANSWER_CHARS = 400_000
"""Of an answer, at most: several times what the output tokens of one answer can hold."""

ENTRIES = 100
"""Changes of one dream: more than a person looks through one by one."""

GONE = 1_000
"""Claims that one answer accounts for."""

REASON_CHARS = 300
_SUBJECT_CHARS = 120
_PATH_CHARS = 400


class Unreadable(ValueError):
    """An answer is not what was asked for; the text says what is wrong, for the model."""


@dataclass(frozen=True)
class ToldFate:
    """What a model says of one claim that goes.

    Attributes:
        file: path as the model wrote it.
        claim: its first words.
        fate: `merged`, `superseded` or `dropped`; anything else says nothing.
        into_file, into_claim: where it went; empty for none.
    """

    file: str
    claim: str
    fate: str
    into_file: str
    into_claim: str
    reason: str


@dataclass(frozen=True)
class LogSource:
    """A line of a daily log that a model names as what a memory was made of.

    Attributes:
        line: as the model was told to call it.
        fate: `superseded` where another line overtook it; anything else means that the memory says it.
    """

    line: str
    fate: str = ""
    reason: str = ""


@dataclass(frozen=True)
class ToldChange:
    """One change as a model tells it.

    Attributes:
        files: paths as the model wrote them; none for a remark to a person.
        lines: lines of daily logs that its claims were made of.
    """

    subject: str
    reason: str
    files: tuple[str, ...]
    gone: tuple[ToldFate, ...]
    lines: tuple[LogSource, ...] = ()

    @property
    def named(self) -> tuple[str, ...]:
        """All paths that it names, where claims go to apart."""
        return tuple(dict.fromkeys([*self.files, *(told.file for told in self.gone if told.file)]))


def objects(answer: str) -> list[Mapping[str, Any]]:
    """The objects of the array that an answer ends with; none where it has none, or is too long."""
    found = next(_arrays(answer), []) if len(answer) <= ANSWER_CHARS else []
    return [one for one in found[:ENTRIES] if isinstance(one, Mapping)]


def entries(answer: str) -> tuple[ToldChange, ...]:
    """Reads an answer.

    Args:
        answer: text with one array in a fence; a lone array or object without one is read, too.

    Raises:
        Unreadable: there is no such array, or it holds too much.
    """
    if len(answer) > ANSWER_CHARS:
        raise Unreadable(f"the answer is longer than {ANSWER_CHARS:,} characters")
    found = next(_arrays(answer), None)
    if found is None:
        raise Unreadable("the answer holds no JSON array of changes")
    if len(found) > ENTRIES:
        raise Unreadable(f"the answer holds {len(found):,} changes; {ENTRIES} are the most")
    read = tuple(_entry(one) for one in found if isinstance(one, Mapping))
    told = sum(len(entry.gone) + len(entry.lines) for entry in read)
    if told > GONE:
        raise Unreadable(f"the answer accounts for {told:,} claims; {GONE:,} are the most")
    return read


def _arrays(answer: str) -> Iterator[list[Any]]:
    """What may be the array, likeliest first: the last fence that holds one."""
    bare = answer[answer.find("[") : answer.rfind("]") + 1]
    for text in (*reversed(_fenced(answer)), answer, bare):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, Mapping):
            value = value["changes"] if isinstance(value.get("changes"), list) else [value]
        if isinstance(value, list):
            yield value


def _fenced(answer: str) -> list[str]:
    """What stands in fences; by lines, since a pattern would take for ever on some answers."""
    found: list[str] = []
    block: list[str] | None = None
    for line in answer.split("\n"):
        bare = line.strip()
        if block is None:
            block = [] if bare.startswith("```") else None
        elif bare.startswith("```"):
            found.append("\n".join(block))
            block = None
        else:
            block.append(line)
    return found


def _entry(given: Mapping[str, Any]) -> ToldChange:
    files = given.get("files")
    named = [files] if isinstance(files, str) else files if isinstance(files, list) else []
    gone = given.get("gone")
    listed = gone[: GONE + 1] if isinstance(gone, list) else []
    return ToldChange(
        _text(given, "subject", _SUBJECT_CHARS),
        _text(given, "reason", REASON_CHARS),
        tuple(path[:_PATH_CHARS] for path in named[:GONE] if isinstance(path, str) and path.strip()),
        tuple(_told(one) for one in listed if isinstance(one, Mapping)),
        tuple(_sources(given.get("lines"))),
    )


def _sources(given: Any) -> Iterator[LogSource]:
    named = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    for one in named[:GONE]:
        if isinstance(one, str) and one.strip():
            yield LogSource(one_line(one, _PATH_CHARS))
        elif isinstance(one, Mapping):
            fate, reason = _text(one, "fate", 20).lower(), _text(one, "reason", REASON_CHARS)
            yield LogSource(_text(one, "line", _PATH_CHARS), fate, reason)


def _told(given: Mapping[str, Any]) -> ToldFate:
    return ToldFate(
        _text(given, "file", _PATH_CHARS),
        _raw(given, "claim"),
        _text(given, "fate", 20).lower(),
        _text(given, "into_file", _PATH_CHARS),
        _raw(given, "into_claim"),
        _text(given, "reason", REASON_CHARS),
    )


def _text(given: Mapping[str, Any], key: str, width: int) -> str:
    return one_line(_raw(given, key), width)


def _raw(given: Mapping[str, Any], key: str) -> str:
    value = given.get(key)
    return value[:4_000] if isinstance(value, str) else ""


SILENTLY = 0.8
"""Share of a claim's words that a new claim must have, to hold it without the model saying so."""

REWORDED = 0.5
"""The same for the claim that stands in its place."""

SAID = 0.34
"""The same where the model says so: a paraphrase shares few words, but never none."""

QUOTE_CHARS = 8
"""Letters that a claim's first words need to name it; a shorter claim is quoted whole."""

REASON_LETTERS = 10
"""Letters of a reason: a word or two at least."""

_SHOWN = 120
_WORD = re.compile(r"[^\W_]+")
_MARKUP = re.compile(r"[*_`#>|\[\]\\-]+")
_SMALL_WORDS = """
    a an the is are was were be been being it its this that these those there here to of in on at by for
    with from and or so as we you i our your they them their also just do does did has have had will would
"""
_SMALL = frozenset(_SMALL_WORDS.split())


@dataclass(frozen=True)
class SettledClaims:
    """What became of claims.

    Attributes:
        fates: claim that is no longer where it was to its fate.
        problems: what cannot be told, a line each for the model.
        copies: claims that stand elsewhere, too, and that none went into.
        told: the claims that the model speaks of itself.
    """

    fates: Mapping[str, Fate]
    problems: tuple[str, ...]
    copies: Mapping[str, Claim]
    told: frozenset[str]


def settle(
    before: Files,
    after: Files,
    changed: Sequence[str],
    told: Sequence[ToldFate],
    find: Callable[[str], str],
) -> SettledClaims:
    """Works out what became of each claim of the files that changed.

    Args:
        before, after: the scope's tree, path from the root to content.
        changed: paths that differ.
        told: what the model says.
        find: gives the path that it means by one; empty where there is none.
    """
    work = _Settling(before, after, changed, find)
    work.hear(told)
    fates, problems = {}, list(work.problems)
    for ref, claim in work.gone.items():
        try:
            fates[ref] = work.fate(ref, claim)
        except _Untold as problem:
            problems.append(f"{path_of(ref)}: {quoted(claim)} {problem}")
    into = {fate.target for fate in fates.values()}
    copies = {ref: claim for ref, claim in work.again.items() if ref not in into}
    return SettledClaims(fates, tuple(problems), copies, frozenset(work.told))


def quoted(claim: Claim) -> str:
    """The beginning of a claim, for a person or a model."""
    return f"“{one_line(claim.text, _SHOWN)}”"


@lru_cache(maxsize=16_384)
def content(text: str) -> frozenset[str]:
    """Stems of the words that say something, numbers too."""
    return frozenset(stem(word) for word in _WORD.findall(text) if word.casefold() not in _SMALL)


def share(source: str, target: str) -> float:
    """Share of one text's words that another has; 1 for a text without any."""
    mine = content(source)
    return len(mine & content(target)) / len(mine) if mine else 1.0


class _Untold(ValueError):
    """The account of a claim is missing or not true; a phrase that follows its beginning."""


class _Settling:
    def __init__(
        self, before: Files, after: Files, changed: Sequence[str], find: Callable[[str], str]
    ) -> None:
        paths = frozenset(changed)
        self._find = find
        self._old, self._new = references(before), references(after)
        self.gone = {
            ref: claim for ref, claim in self._old.items() if ref not in self._new and path_of(ref) in paths
        }
        self._places: dict[tuple[str, str], str] = {}
        # A claim that stood there before is the better place to say that another is kept.
        for ref in sorted(self._new, key=lambda ref: (ref not in self._old, ref)):
            self._places.setdefault((_agent(ref), self._new[ref].key), ref)
        known = {(_agent(ref), claim.key) for ref, claim in self._old.items()}
        new = {ref: claim for ref, claim in self._new.items() if ref not in self._old}
        self.again = {ref: claim for ref, claim in new.items() if (_agent(ref), claim.key) in known}
        self.fresh = {ref: claim for ref, claim in new.items() if ref not in self.again}
        asked = proposals(
            only(before, changed),
            only(after, changed),
        )
        self._pairs = {one.before: one.after for one in asked if one.kind == "changed"}
        self.told: dict[str, ToldFate] = {}
        self._standing: dict[str, dict[str, list[str]]] = {}
        self.problems: list[str] = []

    def hear(self, told: Sequence[ToldFate]) -> None:
        """Finds the claims that the model speaks of; what it says of others is passed over."""
        for one in told:
            path = self._find(one.file)
            found = _named(one.claim, {ref: c for ref, c in self.gone.items() if path_of(ref) == path})
            if len(found) == 1:
                self.told.setdefault(found[0], one)
            elif found:
                quote = one_line(one.claim, _SHOWN)
                self.problems.append(
                    f"{path}: {len(found)} claims begin with “{quote}”: quote more of each"
                )

    def fate(self, ref: str, claim: Claim) -> Fate:
        """What became of one claim.

        Raises:
            _Untold: it cannot be told.
        """
        told = self.told.get(ref)
        reason = told.reason if told else ""
        if place := self._places.get((_agent(ref), claim.key)):
            return Fate("kept", ref, place, reason)
        pair = self._pairs.get(ref, "")
        if pair and self._says(pair, claim, REWORDED):
            return Fate("merged", ref, pair, reason or "says the same in other words")
        if told and (told.into_claim or told.into_file):
            target = self._target(told, claim, _agent(ref))
            if self._says(target, claim, SAID if told.fate == "merged" else REWORDED):
                return Fate("merged", ref, target, reason or "is said there")
            if told.fate == "merged":
                raise _Untold(f"is said to be merged, but {self._why_not(target, claim)}")
            pair = target
        if holder := self._holder(claim, _agent(ref)):
            return Fate("merged", ref, holder, reason or "is said there")
        return self._by_word(ref, claim, told, pair)

    def _by_word(self, ref: str, claim: Claim, told: ToldFate | None, target: str) -> Fate:
        """The fate that only the model's word and reason can give."""
        if told is not None and told.fate == "merged":
            raise _Untold(
                "is said to be merged, and nothing that is left says it: name the claim that does"
            )
        if told is None or told.fate not in ("superseded", "dropped"):
            why = f"was reworded, and {self._why_not(target, claim)}" if target else ""
            raise _Untold(why or "is gone, and nothing says where")
        if len("".join(told.reason.split())) < REASON_LETTERS:
            raise _Untold(f"is {told.fate} without a reason")
        if told.fate == "superseded" and not target:
            raise _Untold("is superseded by nothing that is there: name the claim, or call it dropped")
        return Fate(told.fate, ref, target if told.fate == "superseded" else "", told.reason)  # type: ignore[arg-type]

    def _says(self, target: str, claim: Claim, least: float) -> bool:
        there = self._new[target].key
        same = akin(claim.key, there) and share(claim.key, there) >= least
        return same and not missing_facts(claim.key, there)

    def _why_not(self, target: str, claim: Claim) -> str:
        missing = missing_facts(claim.key, self._new[target].key)
        what = f"lacks {', '.join(missing[:5])}" if missing else "has hardly a word of it"
        return f"{quoted(self._new[target])} {what}"

    def _target(self, told: ToldFate, claim: Claim, agent: str) -> str:
        """The claim that the model says another went into.

        Raises:
            _Untold: there is none, or it cannot be that one.
        """
        file = told.into_file or told.file
        path = self._find(file)
        here = {ref: one for ref, one in self._new.items() if path and path_of(ref) == path}
        if not here:
            raise _Untold(f"is said to be in {one_line(file, _SHOWN)}, which is not there")
        if agent_folder(path) != agent:
            raise _Untold(f"is said to be in {path}, the memory of another agent")
        if told.into_claim:
            found = _named(told.into_claim, here)
            if len(found) != 1:
                quote = one_line(told.into_claim, _SHOWN)
                raise _Untold(f"is said to be in {path}, where {len(found)} claims begin with “{quote}”")
            return found[0]
        best, ref = max((share(claim.key, one.key), ref) for ref, one in here.items())
        if not best:
            raise _Untold(f"is said to be in {path}, where nothing is like it")
        return ref

    def _holder(self, claim: Claim, agent: str) -> str:
        """A claim that says all of this one though the model does not tell of it; empty for none."""
        words = content(claim.key)
        index = self._words_of(agent)
        if not words:
            return ""
        counts: dict[str, int] = {}
        for word in words:
            for ref in index.get(word, ()):
                counts[ref] = counts.get(ref, 0) + 1
        near = sorted((-count, ref) for ref, count in counts.items() if count >= SILENTLY * len(words))
        for _, ref in near[:20]:
            there = self._new[ref]
            if holds(there, claim) or (ref in self.fresh and self._says(ref, claim, SILENTLY)):
                return ref
        return ""

    def _words_of(self, agent: str) -> dict[str, list[str]]:
        if agent not in self._standing:
            index: dict[str, list[str]] = {}
            for ref, claim in self._new.items():
                if _agent(ref) == agent:
                    for word in content(claim.key):
                        index.setdefault(word, []).append(ref)
            self._standing[agent] = index
        return self._standing[agent]


def _agent(ref: str) -> str:
    return agent_folder(path_of(ref))


def _named(quote: str, claims: Mapping[str, Claim]) -> list[str]:
    """The claims that a quotation names: the one that it is, else those that begin with it."""
    wanted = _plain(quote.removesuffix("…").removesuffix("..."))
    texts = {ref: _plain(claim.text) for ref, claim in claims.items()}
    whole = [ref for ref, text in texts.items() if wanted and text == wanted]
    if whole:
        return whole[:1]
    if len(wanted) < QUOTE_CHARS:
        return []
    return [ref for ref, text in texts.items() if text.startswith(wanted)]


def _plain(text: str) -> str:
    """A text without markup and case, as it is compared with a quotation."""
    return " ".join(_MARKUP.sub(" ", text).casefold().split()).rstrip(" .")


_LINE_SHOWN = 100


@dataclass(frozen=True)
class HeardLines:
    """What became of lines.

    Attributes:
        fates: of each line that the answer names truly, in the order of the answer.
        problems: what cannot be told, a line each for the model.
        lines: those that were given, by reference.
    """

    fates: tuple[Fate, ...]
    problems: tuple[str, ...]
    lines: Mapping[str, LogLine]

    def into(self, paths: Iterable[str]) -> tuple[Fate, ...]:
        """The fates of those that went into these memories."""
        wanted = set(paths)
        return tuple(fate for fate in self.fates if path_of(fate.target) in wanted)

    def types(self, fates: Iterable[Fate]) -> set[str]:
        """The types of these lines."""
        return {self.lines[fate.source].type for fate in fates if fate.kind == "merged"}


def hear(
    given: ConsolidateInput,
    after: Files,
    told: Sequence[ToldChange],
    changed: Sequence[str],
    find: Callable[[str], str],
) -> HeardLines:
    """Works out into which claims the lines went that an answer names.

    Args:
        after: the memories as the model left them.
        told: the answer.
        changed: paths that differ.
        find: gives the path that the model means by one.
    """
    known = labels(given.lines)
    fates: dict[Fate, None] = {}
    problems: list[str] = []
    for entry in told:
        paths = [path for path in dict.fromkeys(map(find, entry.named)) if path in after]
        if not set(paths) & set(changed):
            continue
        for source in entry.lines:
            ref = known.get(source.line.upper(), source.line)
            if ref not in given.lines:
                problems.append(f"{one_line(source.line, _LINE_SHOWN)} is no line of a log that was listed")
                continue
            try:
                for fate in _fates(after, paths, ref, given.lines[ref], source):
                    fates[fate] = None
            except _Unheard as problem:
                said = one_line(given.lines[ref].text, _LINE_SHOWN)
                problems.append(f"{one_line(source.line, _LINE_SHOWN)}, “{said}”, {problem}")
    return HeardLines(tuple(fates), tuple(problems), given.lines)


class _Unheard(ValueError):
    """A line is not said where it is said to be; a phrase that follows it."""


def _fates(
    after: Files, paths: Sequence[str], ref: str, line: LogLine, source: LogSource
) -> Iterator[Fate]:
    claims = {
        reference(path, claim): claim
        for path in paths
        if agent_folder(path) == agent_folder(path_of(ref))
        for claim in parse(path, after[path]).parsed.claims
    }
    if source.fate == "superseded":
        if len("".join(source.reason.split())) < REASON_LETTERS:
            raise _Unheard("is superseded without a reason")
        best = _best(claims, line.text, 0.0)
        if not best:
            raise _Unheard("is superseded by nothing in the files of the change")
        yield Fate("superseded", ref, best, source.reason)
        return
    targets = list(
        dict.fromkeys(filter(None, (_best(claims, part, SAID) for part in statements(line.text))))
    )
    held = "\n\n".join(claims[target].key for target in targets)
    unsaid = [part for part in statements(line.text) if not akin(part, held)]
    if not targets or unsaid:
        said = f"of which “{one_line(unsaid[0], _LINE_SHOWN)}” " if targets else ""
        raise _Unheard(f"{said}is said in none of the files of the change")
    missing = missing_facts(line.text, held)
    if missing:
        raise _Unheard(f"went into {quoted(claims[targets[0]])}, which lacks {', '.join(missing[:5])}")
    for target in targets:
        if line.type == "user" and parse(path_of(target), after[path_of(target)]).type != "user":
            raise _Unheard(f"is about a person, and {path_of(target)} is of another type")
        yield Fate("merged", ref, target, source.reason)


def _best(claims: Mapping[str, Claim], text: str, least: float) -> str:
    """The claim that has most of a text's words; empty where none has enough."""
    shares = {ref: share(text, claim.key) for ref, claim in claims.items()}
    best = max(shares, key=shares.__getitem__, default="")  # of equal ones the first
    return best if best and shares[best] > 0 and shares[best] >= least else ""
