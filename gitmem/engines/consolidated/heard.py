"""Which claims a model made of which lines of daily logs, worked out from the texts.

The model only names the lines of a change; that a claim says one, all of it, must be seen in the tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gitmem.core.account import path_of, reference
from gitmem.core.claim import Claim
from gitmem.core.daily_log import LogLine, statements
from gitmem.core.dates import relative_dates
from gitmem.core.facts import akin, lacking
from gitmem.core.memory import parse
from gitmem.core.merge import Files, agent_folder
from gitmem.core.text import one_line
from gitmem.core.trailers import Fate
from gitmem.engines.consolidated.answer import Entry, Source
from gitmem.engines.consolidated.fates import REASON_CHARS, SAID, quoted, share
from gitmem.engines.engine import ConsolidateInput

_SHOWN = 100


@dataclass(frozen=True)
class Heard:
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

    def texts(self, fates: Iterable[Fate]) -> list[str]:
        """What the lines of these fates say, and the days that they speak of."""
        found: list[str] = []
        for source in dict.fromkeys(fate.source for fate in fates if fate.kind == "merged"):
            line = self.lines[source]
            found.append(line.text)
            days = (phrase.date for phrase in relative_dates(line.text, line.when))
            found += (day.isoformat() for day in days if day)
        return found

    def types(self, fates: Iterable[Fate]) -> set[str]:
        """The types of these lines."""
        return {self.lines[fate.source].type for fate in fates if fate.kind == "merged"}


def labels(lines: Mapping[str, LogLine]) -> dict[str, str]:
    """What a model calls each line (`L1`, …) to the line's reference."""
    return {f"L{number}": ref for number, ref in enumerate(lines, 1)}


def hear(
    given: ConsolidateInput,
    after: Files,
    told: Sequence[Entry],
    changed: Sequence[str],
    find: Callable[[str], str],
) -> Heard:
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
                problems.append(f"{one_line(source.line, _SHOWN)} is no line of a log that was listed")
                continue
            try:
                for fate in _fates(after, paths, ref, given.lines[ref], source):
                    fates[fate] = None
            except _Unheard as problem:
                said = one_line(given.lines[ref].text, _SHOWN)
                problems.append(f"{one_line(source.line, _SHOWN)}, “{said}”, {problem}")
    return Heard(tuple(fates), tuple(problems), given.lines)


class _Unheard(ValueError):
    """A line is not said where it is said to be; a phrase that follows it."""


def _fates(after: Files, paths: Sequence[str], ref: str, line: LogLine, source: Source) -> Iterator[Fate]:
    claims = {
        reference(path, claim): claim
        for path in paths
        if agent_folder(path) == agent_folder(path_of(ref))
        for claim in parse(path, after[path]).parsed.claims
    }
    if source.fate == "superseded":
        if len("".join(source.reason.split())) < REASON_CHARS:
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
        said = f"of which “{one_line(unsaid[0], _SHOWN)}” " if targets else ""
        raise _Unheard(f"{said}is said in none of the files of the change")
    missing = lacking(line.text, held)
    if missing:
        raise _Unheard(f"went into {quoted(claims[targets[0]])}, which lacks {', '.join(missing[:5])}")
    for target in targets:
        if line.type == "user" and parse(path_of(target), after[path_of(target)]).type != "user":
            raise _Unheard(f"is about a person, and {path_of(target)} is of another type")
        yield Fate("merged", ref, target, source.reason)


def _best(claims: Mapping[str, Claim], text: str, least: float) -> str:
    """The claim that has most of a text's words; empty where none has enough."""
    scored = [(share(text, claim.key), -number, ref) for number, (ref, claim) in enumerate(claims.items())]
    best = max(scored, default=(0.0, 0, ""))
    return best[2] if best[0] > 0 and best[0] >= least else ""
