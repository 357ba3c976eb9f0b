"""What a dream made up: claims and facts that nothing before them had."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime

from gitmem.core.account import by_target, is_memory, line_fates, path_of, references
from gitmem.core.claim import Claim
from gitmem.core.daily_log import LogLine
from gitmem.core.dates import relative_dates
from gitmem.core.facts import added, undated, unheard
from gitmem.core.memory import Memory, parse
from gitmem.core.trailers import Fate
from gitmem.dream.proof.claims import agent_of, line_of, quoted
from gitmem.dream.proof.failure import Failure
from gitmem.dream.proof.ground import Step

_OWN = frozenset({"name", "description", "type"})
"""What every memory says of itself in its frontmatter."""


def inventions(step: Step, said: Mapping[str, datetime]) -> Iterator[Failure]:
    """Finds the claims of a step that are neither there before nor made of what was.

    What supersedes a claim may say something else, which is what a person decides on. What others were
    merged into, and what took no claim's place, adds no fact. What was made of lines of a log says what
    they say, and no more.

    Args:
        said: claim to when it was first said: a date that is written behind "yesterday" is then known.
    """
    here, there = references(step.before), references(step.after)
    known = {(agent_of(path_of(ref)), claim.key) for ref, claim in here.items()}
    into: dict[str, list[Fate]] = {}
    for fate in step.fates:
        # A fate of what is still there says nothing of where the new claim comes from.
        if fate.source in here and fate.source not in there:
            into.setdefault(fate.target, []).append(fate)
    flows: dict[str, list[str]] = {}
    for target, fates in into.items():
        flows.setdefault(path_of(target), []).extend(here[fate.source].key for fate in fates)
    around: dict[str, list[str]] = {}
    for ref, claim in here.items():
        around.setdefault(path_of(ref), []).append(claim.key)
    heard: dict[str, dict[str, LogLine]] = {}
    own: dict[str, list[str]] = {}
    for target, lines in by_target(step.lines, line_fates(step.fates, there)).items():
        heard.setdefault(path_of(target), {}).update(lines)
        own[target] = [line.text for line in lines.values()]
    for path, lines in heard.items():
        flows.setdefault(path, []).extend(line.text for line in lines.values())
    for ref, claim in there.items():
        path = path_of(ref)
        if ref in here or (agent_of(path), claim.key) in known:
            continue
        fates = into.get(ref, [])
        if any(fate.kind == "superseded" for fate in fates):
            continue
        sources = [*around.get(path, ()), *flows.get(path, ()), step.listed.get(path, "")]
        text = undated(claim.key, _days(fates, here, said) | _days_of(heard.get(path, {}).values()))
        # Mostly a claim says what its own lines say, and a memory may be made of many.
        if ref in own and not added(text, own[ref]) and not unheard(text, own[ref]):
            continue
        facts = added(text, sources)
        if facts:
            what = f"nothing before it has {', '.join(facts)}"
        elif not fates and unheard(text, sources):
            what = "nothing before it says this"
        else:
            continue
        yield Failure(
            path, "invented", f"{what}: {quoted(claim.text)}", ref, line_of(step.after, path, claim)
        )


def refiled(step: Step) -> Iterator[Failure]:
    """Finds what a step may not do to frontmatter: anything but word the description anew.

    It holds no claims, so whoever decides on the dream would see nothing of it. What a new memory says of
    itself besides its name, description and type was said of one that goes into it.
    """
    personal = {
        path for path, data in step.before.items() if is_memory(path) and parse(path, data).type == "user"
    }
    told = {
        path_of(target)
        for target, lines in by_target(step.lines, line_fates(step.fates, references(step.after))).items()
        if any(line.type == "user" for line in lines.values())
    }
    known = {
        (key, old.front.text(key))
        for path, data in step.before.items()
        if is_memory(path) and (old := parse(path, data)).front
        for key in _keys(old)
    }
    for path in sorted(step.after):
        if not is_memory(path):
            continue
        after = parse(path, step.after[path])
        if path in step.before:
            yield from _front(path, after, parse(path, step.before[path]), set())
        else:
            yield from _front(path, after, None, known)
        if after.type != "user" and (path in told or (personal and path in _fed(step, personal))):
            yield Failure(path, "place", "it takes in what is about a person, and has another type")


def _front(
    path: str, after: Memory, before: Memory | None, known: set[tuple[str, str]]
) -> Iterator[Failure]:
    """What a memory says of itself otherwise than before."""
    if before is not None:
        gone = [key for key in _keys(before) if key not in _keys(after)]
        if gone:
            yield Failure(path, "account", f"its frontmatter loses {quoted(gone[0])}")
    for key in _keys(after):
        said = after.front.text(key) if after.front else ""
        if key == "description" or (key, said) in known:
            continue
        if before is not None and before.front and key in _keys(before):
            if before.front.text(key) != said:
                yield Failure(
                    path, "account", f"its frontmatter says another {quoted(key)}: {quoted(said)}"
                )
        elif key not in _OWN:
            yield Failure(path, "invented", f"nothing before it says {quoted(key)}: {quoted(said)}")


def _keys(memory: Memory) -> list[str]:
    return [field.key for field in memory.front.fields if field.key] if memory.front else []


def _fed(step: Step, personal: set[str]) -> set[str]:
    """Memories that claims of these went to, and these themselves."""
    here = set(references({path: step.before[path] for path in personal}))
    return personal | {path_of(fate.target) for fate in step.fates if fate.source in here and fate.target}


def _days_of(lines: Iterable[LogLine]) -> dict[str, date]:
    """The same of lines of logs, each of which tells when it was said."""
    return {
        phrase.text: phrase.date
        for line in lines
        for phrase in relative_dates(line.text, line.when)
        if phrase.date is not None
    }


def _days(fates: list[Fate], here: Mapping[str, Claim], said: Mapping[str, datetime]) -> dict[str, date]:
    """Relative phrases of the claims that went into one, with the days that they mean."""
    return {
        phrase.text: phrase.date
        for fate in fates
        if fate.source in said
        for phrase in relative_dates(here[fate.source].key, said[fate.source])
        if phrase.date is not None
    }
