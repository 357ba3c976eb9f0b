"""What an engine made of a planted corpus: found of planted by kind, and what is wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from dream_corpus import Corpus, Planted

from gitmem.core.account import account, references
from gitmem.engines.engine import ConsolidateInput, Consolidation
from gitmem.engines.offline import OfflineEngine

_DAY = re.compile(r"\((\d{4}-\d{2}-\d{2})\)")


@dataclass(frozen=True)
class Score:
    """What an engine made of a corpus.

    Attributes:
        found: kind (`duplicate equal`, `date day`, `link slip`, `contradiction number`) to how many of how
            many; what a person has to decide stands under `open date`, `open link`.
        false: merges, dates and links that are wrong, for a person.
        settled: contradictions of which one side went.
    """

    found: Mapping[str, tuple[int, int]]
    false: tuple[str, ...]
    settled: tuple[str, ...]

    def share(self, sort: str) -> float:
        """Share found of one sort: `duplicate`, `date`, `contradiction`, `link` or `open`."""
        counts = [pair for kind, pair in self.found.items() if kind.split()[0] == sort]
        return sum(found for found, _ in counts) / max(1, sum(planted for _, planted in counts))


def made_of(files: Mapping[str, bytes], **more: object) -> tuple[Consolidation, dict[str, bytes]]:
    """What the offline engine offers of a tree, with every claim accounted for, and the tree afterwards.

    What it asks is accounted for as well, and left out.
    """
    made = OfflineEngine().consolidate(ConsolidateInput(files, **({"most": 500} | more)))  # type: ignore[arg-type]
    left = dict(files)
    states = [dict(files)]
    for change in made.changes:
        change.apply_to(left)
        states.append(dict(left))
    fates = [fate for change in made.changes for fate in change.fates]
    assert account(files, left, fates).unaccounted == ()
    told = offers(made)
    return told, states[len(told.changes)]


def offers(made: Consolidation) -> Consolidation:
    """What is proposed, without what is asked, which comes last."""
    return replace(made, changes=tuple(one for one in made.changes if one.kind != "question"))


def score(planted: Corpus, made: Consolidation) -> Score:
    """Tells what an engine found of what was planted, from its changes and notes."""
    counts: dict[str, tuple[int, int]] = {}
    asked = [one for one in made.changes if one.kind == "question"]
    made = offers(made)

    def count(kind: str, found: bool) -> None:
        before = counts.get(kind, (0, 0))
        counts[kind] = (before[0] + found, before[1] + 1)

    went, false = _followed(planted, made)
    texts = {name: claim.text for name, claim in references(_after(planted, made)).items()}

    def text(one: Planted) -> str:
        return texts.get(_end(one.claims[0], went), "")

    for one in planted.duplicates:
        count(f"duplicate {one.kind}", len({_end(claim, went) for claim in one.claims}) == 1)
    for one in planted.dates:
        days = _DAY.findall(text(one))
        if one.provable:
            count("date day", days == [one.meant] and f"{one.text} ({one.meant})" in text(one))
        else:
            count("open date", any(f"“{one.text}”" in note for note in made.notes))
        if [day for day in days if day != one.meant]:
            false.append(f"date: {text(one)}")
    for one in planted.links:
        count(f"link {one.kind}" if one.provable else "open link", _settled(one, text(one), made.notes))
        if one.kind == "never" and one.text not in text(one):
            false.append(f"link: {text(one)}")
    listed = [" ".join((one.fates[0].source, one.fates[0].target)) for one in asked]
    for one in planted.contradictions:
        count(f"contradiction {one.kind}", any(_names(ends, one) for ends in listed))
    return Score(
        dict(sorted(counts.items())),
        tuple(false),
        tuple(" ".join(one.claims) for one in planted.contradictions if not _apart(one, went, texts)),
    )


def _followed(planted: Corpus, made: Consolidation) -> tuple[dict[str, str], list[str]]:
    """Where each claim went, and the merges in which the target does not state what the source does."""
    meanings = dict(planted.meanings)
    went: dict[str, str] = {}
    false: list[str] = []
    for change in made.changes:
        for fate in change.fates:
            target = fate.target or fate.source
            mine = meanings.get(fate.source, frozenset({fate.source}))
            if fate.kind == "dropped" or (target in meanings and not mine <= meanings[target]):
                false.append(f"{fate.line()} ({change.subject})")
            meanings.setdefault(target, mine)
            if target != fate.source:
                went[fate.source] = target
    return went, false


def _after(planted: Corpus, made: Consolidation) -> dict[str, bytes]:
    after: dict[str, bytes | None] = dict(planted.files)
    for change in made.changes:
        after |= change.edits
    return {path: data for path, data in after.items() if data is not None}


def _end(claim: str, went: Mapping[str, str]) -> str:
    seen = {claim}
    while claim in went and went[claim] not in seen:
        claim = went[claim]
        seen.add(claim)
    return claim


def _settled(one: Planted, text: str, notes: tuple[str, ...]) -> bool:
    if one.kind == "never":
        return any(one.text in note for note in notes)
    if "markdown" in one.kind:
        led = f"({one.meant}.md)" in text and one.text not in text.replace(f"[{one.text}]", "")
        return led if one.meant else one.text in text and f"({one.text}.md)" not in text
    return f"[[{one.meant}]]" in text if one.meant else one.text in text and f"[[{one.text}]]" not in text


def _names(ends: str, one: Planted) -> bool:
    return all(claim in ends for claim in one.claims)


def _apart(one: Planted, went: Mapping[str, str], texts: Mapping[str, str]) -> bool:
    ends = [_end(claim, went) for claim in one.claims]
    return len(set(ends)) == len(ends) and all(end in texts for end in ends)
