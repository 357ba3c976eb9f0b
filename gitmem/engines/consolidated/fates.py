"""What became of the claims that a model took out or reworded, worked out from the trees.

A model cannot hash claims, and its word alone is not taken: that a claim is merged must be seen in the
text, and what is superseded or dropped must be named by its first words, with a reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from gitmem.core.account import path_of, proposals, references
from gitmem.core.claim import Claim
from gitmem.core.facts import akin, lacking, stem
from gitmem.core.merge import Files, agent_folder, only
from gitmem.core.text import one_line
from gitmem.core.trailers import Fate
from gitmem.engines.consolidated.answer import Told
from gitmem.engines.offline.consolidating.same import holds

SILENTLY = 0.8
"""Share of a claim's words that a new claim must have, to hold it without the model saying so."""

REWORDED = 0.5
"""The same for the claim that stands in its place."""

SAID = 0.34
"""The same where the model says so: a paraphrase shares few words, but never none."""

QUOTE_CHARS = 8
"""Letters that a claim's first words need to name it; a shorter claim is quoted whole."""

REASON_CHARS = 10
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
class Settled:
    """What became of claims.

    Attributes:
        fates: claim that is no longer where it was to its fate.
        problems: what cannot be told, a line each for the model.
        fresh: claims that no memory of their agent had before.
        copies: claims that stand elsewhere, too, and that none went into.
        told: the claims that the model speaks of itself.
    """

    fates: Mapping[str, Fate]
    problems: tuple[str, ...]
    fresh: Mapping[str, Claim]
    copies: Mapping[str, Claim]
    told: frozenset[str]


def settle(
    before: Files, after: Files, changed: Sequence[str], told: Sequence[Told], find: Callable[[str], str]
) -> Settled:
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
    return Settled(fates, tuple(problems), work.fresh, copies, frozenset(work.told))


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
        self.told: dict[str, Told] = {}
        self._standing: dict[str, dict[str, list[str]]] = {}
        self.problems: list[str] = []

    def hear(self, told: Sequence[Told]) -> None:
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

    def _by_word(self, ref: str, claim: Claim, told: Told | None, target: str) -> Fate:
        """The fate that only the model's word and reason can give."""
        if told is not None and told.fate == "merged":
            raise _Untold(
                "is said to be merged, and nothing that is left says it: name the claim that does"
            )
        if told is None or told.fate not in ("superseded", "dropped"):
            why = f"was reworded, and {self._why_not(target, claim)}" if target else ""
            raise _Untold(why or "is gone, and nothing says where")
        if len("".join(told.reason.split())) < REASON_CHARS:
            raise _Untold(f"is {told.fate} without a reason")
        if told.fate == "superseded" and not target:
            raise _Untold("is superseded by nothing that is there: name the claim, or call it dropped")
        return Fate(told.fate, ref, target if told.fate == "superseded" else "", told.reason)  # type: ignore[arg-type]

    def _says(self, target: str, claim: Claim, least: float) -> bool:
        there = self._new[target].key
        same = akin(claim.key, there) and share(claim.key, there) >= least
        return same and not lacking(claim.key, there)

    def _why_not(self, target: str, claim: Claim) -> str:
        missing = lacking(claim.key, self._new[target].key)
        what = f"lacks {', '.join(missing[:5])}" if missing else "has hardly a word of it"
        return f"{quoted(self._new[target])} {what}"

    def _target(self, told: Told, claim: Claim, agent: str) -> str:
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
