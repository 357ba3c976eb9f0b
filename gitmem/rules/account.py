"""The account of a change, proved: no claim lost, none falsely merged, whatever its commits say of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime

from gitmem.core import index
from gitmem.core.account import (
    account,
    claims_at,
    is_memory,
    line_fates,
    lines_at,
    path_of,
    reference,
    references,
)
from gitmem.core.claim import Claim
from gitmem.core.daily_log import LogLine, statements
from gitmem.core.facts import LINK, about, added, akin, misplaced_facts, missing_facts, without_dates
from gitmem.core.merge import Files
from gitmem.core.names import agent_folder, homes, is_log
from gitmem.core.references import only_renamed
from gitmem.core.text import decode, line_at, one_line
from gitmem.core.trailers import Fate
from gitmem.rules.rule import QUOTED, Finding
from gitmem.rules.source import Source
from gitmem.values import dataclass

Mark = tuple[str, str]
"""A claim that was given up: the agent's folder, and the claim's normal form."""


@dataclass(frozen=True)
class ReplayedCommit:
    """One commit of a dream.

    Attributes:
        before, after: memories that it changes, and those that its fates name: path from the root of the
            memory tree to content.
        fates: what it says of claims.
        person: whether it was made by hand, or by whoever learns: what it adds and rewords is theirs; what
            it takes away is judged only where it says something of claims.
        foreign: paths of what is no memory and is changed.
        commit: its name; empty before there is one.
        listed: path of a memory to its line in the index, where a fate says that a claim comes from there.
        lines: facts of daily logs of the tree, by reference, where a fate says that claims come from there.
        sessions: ids of those that it says to have learned from.
        squashed: whether a host squashed it with commits of who learns: what is new may be theirs.
        named: claims that others went into by a dream's account, which are the dream's.
    """

    before: Files
    after: Files
    fates: tuple[Fate, ...]
    person: bool = False
    foreign: tuple[str, ...] = ()
    commit: str = ""
    listed: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[str, LogLine] = field(default_factory=dict)
    sessions: tuple[str, ...] = ()
    squashed: bool = False
    named: frozenset[str] = frozenset()


FLOOR = 3
"""Claims that may always go, as in a live directory."""

SHARE = 10
"""One in so many claims may go."""


def allowance(files: Files) -> int:
    """How many claims of a tree a dream may drop or supersede."""
    number = sum(len(claims_at(path, data)) for path, data in files.items() if is_memory(path))
    return max(FLOOR, number // SHARE)


def unknown(_id: str) -> None:
    """Knows of nothing."""


def no_names(_ref: str, _text: str) -> Mapping[str, str]:
    """Knows of no name that changed."""
    return {}


@dataclass(frozen=True)
class Lookup:
    """What can be looked up outside of memory.

    Attributes:
        session: gives what was said in a session, a paragraph a message, by its id; None where it is not
            here.
        code: gives a file of the code, by its path; None where there is none, or no code is here.
        names: gives, of a claim (`<file>#<12 hex>`) and its text, the names in it that the code's history
            says are called otherwise now.
    """

    session: Callable[[str], str | None] = unknown
    code: Callable[[str], str | None] = unknown
    names: Callable[[str, str], Mapping[str, str]] = no_names


NOWHERE = Lookup()


def nothing_said(_agent: str) -> Sequence[Source]:
    """Knows of no claim."""
    return ()


@dataclass(frozen=True)
class DreamGround:
    """What is known besides the steps.

    Attributes:
        limit: how many claims it may give up; None for any number.
        allow: fingerprints of secrets that a person accepted.
        said: claim (`<file>#<12 hex>`) to when it was first said, for claims of which that is known.
        standing: all paths of the tree before; empty where nobody looked.
        odd: path to what is there at the end and is no plain file, as a phrase.
        end: what the steps together come to, where merges stand between them: the files that differ from
            the tree before, and those that fates name; None where it follows from the steps.
        sources: gives the claims and log lines of an agent's folder, as they stood before the dream.
        lookup: what can be looked up outside of memory.
    """

    limit: int | None = None
    allow: frozenset[str] = frozenset()
    said: Mapping[str, datetime] = field(default_factory=dict)
    standing: frozenset[str] = frozenset()
    odd: Mapping[str, str] = field(default_factory=dict)
    end: Files | None = None
    sources: Callable[[str], Sequence[Source]] = nothing_said
    lookup: Lookup = NOWHERE


def sources_of(files: Files, agent: str) -> tuple[Source, ...]:
    """What an agent's folder says: the claims of its memories, and the lines of its daily logs."""
    mine = {path: data for path, data in files.items() if agent_of(path) == agent}
    claims = (Source(ref, claim.key) for ref, claim in references(mine).items())
    lines = (lines_at(path, mine[path]) for path in sorted(filter(is_log, mine)))
    return (*claims, *(Source(ref, line.text) for found in lines for ref, line in found.items()))


def agent_of(path: str) -> str:
    """Folder of the agent that a path belongs to."""
    return path.partition("/")[0]


def quote_claim(text: str) -> str:
    """A claim for a message: on one line, cut, nothing invisible."""
    return f"“{one_line(text, QUOTED)}”"


def line_of(files: Files, path: str, claim: Claim | None) -> int:
    """The line on which a claim begins in its file; 1 where it is not found."""
    data = files.get(path)
    if data is None or claim is None:
        return 1
    first = claim.text.partition("\n")[0]
    text = decode(data)
    return line_at(text, text.find(first))


def by_agent(before: Files, after: Files) -> Iterator[tuple[Files, Files]]:
    """Both states of each agent's memories: what one agent knows is not kept by another."""
    for agent in sorted({agent_of(path) for path in (*before, *after) if is_memory(path)}):
        yield _of(agent, before), _of(agent, after)


def losses(before: Files, after: Files, fates: Sequence[Fate], *, related: bool) -> Iterator[Finding]:
    """Finds the claims that went without a true account.

    Args:
        before, after: as for `account.account`.
        related: whether what is merged must also speak of the same thing as its target.
    """
    for old, new in by_agent(before, after):
        done = account(old, new, fates)
        here = references(old)
        for lost in done.unaccounted:
            rule = "merged" if lost.false_merge else "account"
            yield _failure(old, lost.source, here, rule, lost.problem)
        there = references(new)
        for fate in done.fates if related else ():
            if fate.kind == "merged" and not akin(here[fate.source].key, there[fate.target].key):
                what = f"it is said to be merged into {fate.target}, which says something else"
                yield _failure(old, fate.source, here, "merged", what)


def fewer(before: Files, after: Files, fates: Iterable[Fate]) -> Iterator[Finding]:
    """Finds claims that stood several times and go in one of the places without a word.

    That the same words stand elsewhere is no account: "runs on port 8080" is said of two services.
    """
    fates = tuple(fates)
    for old, new in by_agent(before, after):
        here, there = references(old), references(new)
        left = Counter(claim.key for claim in there.values())
        gone = Counter(claim.key for claim in here.values())
        told = Counter(here[source].key for source in {fate.source for fate in fates} if source in here)
        for key in [key for key, number in gone.items() if left[key] and number - left[key] > told[key]]:
            source = next(ref for ref, claim in here.items() if claim.key == key and ref not in there)
            what = "it stood more than once, and nothing says why it goes here"
            yield _failure(old, source, here, "account", what)


def given_up(before: Files, after: Files, fates: Sequence[Fate], *, lost: bool = False) -> dict[Mark, str]:
    """The claims that were dropped, or went into what says something else, whatever that is called.

    A claim is not given up whose words stand elsewhere, or in whose place stands one with all of its facts;
    where links lead is none of them.

    Args:
        lost: count what went without an account as well.

    Returns:
        Each to its name, `<file>#<12 hex>`.
    """
    found: dict[Mark, str] = {}
    for old, new in by_agent(before, after):
        done = account(old, new, fates)
        here, there = references(old), references(new)
        sources = _changed(done.fates, here, there)
        sources += [one.source for one in done.unaccounted] if lost else []
        found |= {(agent_of(path_of(source)), here[source].key): source for source in sources}
    return found


def _changed(fates: Sequence[Fate], here: Mapping[str, Claim], there: Mapping[str, Claim]) -> list[str]:
    """Those claims whose fate is not, whatever it is called, that all they say is said."""
    standing = {claim.key for claim in there.values()}
    around: dict[str, list[str]] = {}
    for ref, claim in here.items():
        around.setdefault(path_of(ref), []).append(claim.key)
    into: dict[str, list[str]] = {}
    for fate in fates:
        into.setdefault(fate.target, []).append(here[fate.source].key)
    found = []
    for fate in fates:
        claim, target = here[fate.source], there.get(fate.target)
        sources = [*into.get(fate.target, ()), *around.get(path_of(fate.target), ())]
        if claim.key not in standing and not (target and _says(fate, claim.key, target.key, sources)):
            found.append(fate.source)
    return found


def _says(fate: Fate, old: str, new: str, sources: Sequence[str]) -> bool:
    """Whether what a claim went into says all that it said, of the same thing, and none of it otherwise.

    Args:
        sources: what went into the new one, and what stood around it.
    """
    said, says = LINK.sub(" ", old), LINK.sub(" ", without_dates(new))
    swapped = about(said) - about(says) and about(says) - about("\n\n".join(sources))
    if only_renamed(old, new, fate.reason):
        return True
    return (
        akin(said, says)
        and not missing_facts(said, new)
        and not swapped
        and not misplaced_facts(says, sources)
        and (fate.kind == "merged" or not added(says, sources))
    )


def _failure(files: Files, source: str, here: Mapping[str, Claim], rule: str, what: str) -> Finding:
    path, claim = path_of(source), here[source]
    what = f"{what}: {quote_claim(claim.text)}"
    return Finding(path, line_of(files, path, claim), rule, what, claim=source)


def _of(agent: str, files: Files) -> dict[str, bytes]:
    return {path: data for path, data in files.items() if agent_of(path) == agent and is_memory(path)}


MOST_LINES = 1_000
"""Lines that one change may be made of: ten times as many as a dream is given, so that it can be judged."""


def crowd(step: ReplayedCommit) -> tuple[Finding, ...]:
    """Says that a change is made of more lines than anyone can judge."""
    sources = dict.fromkeys(fate.source for fate in step.fates if is_log(path_of(fate.source)))
    if len(sources) <= MOST_LINES:
        return ()
    what = f"it is one of {len(sources):,} lines that one change is made of: {MOST_LINES:,} are the most"
    first = next(iter(sources))
    return (_of_line(first, what),)


def misheard(step: ReplayedCommit) -> Iterator[Finding]:
    """Finds the accounts of log lines that are not true.

    A line stands in a log of the tree; the claims of its agent that it is merged into hold all its facts,
    together where there are several. What another claim overtook is told with a reason.
    """
    there = references(step.after)
    for source, fates in line_fates(step.fates, there).items():
        line = step.lines.get(source)
        if line is None:
            what = "a claim is said to come from it, and it is no fact of a log there"
            yield _of_line(source, what)
        else:
            yield from _untrue(step, source, line, fates, there)
    for fate in step.fates:
        if is_log(path_of(fate.source)) and fate.kind not in ("merged", "superseded"):
            what = f"a line of a log stays where it is: it cannot be {fate.kind}"
            yield _of_line(fate.source, what)


def _untrue(
    step: ReplayedCommit, source: str, line: LogLine, fates: tuple[Fate, ...], there: Mapping[str, Claim]
) -> Iterator[Finding]:
    agent = agent_of(path_of(source))
    merged: list[str] = []
    for fate in fates:
        # What somebody took out by hand afterwards went with a reason of its own.
        if fate.kind == "dropped":
            continue
        path = path_of(fate.target)
        if fate.target not in there:
            what = f"it is said to have become {fate.target or 'nothing'}, which is not there"
            yield _of_line(source, what)
        elif agent_of(path) != agent:
            what = f"it is said to come from {source}, a log of another agent"
            yield _at(step, "account", what, fate.target, there)
        elif fate.kind == "merged":
            merged.append(fate.target)
        elif not fate.reason.strip():
            what = f"it is said to supersede {source}, and nothing says why"
            yield _at(step, "account", what, fate.target, there)
    if not merged:
        return
    held = "\n\n".join(there[ref].key for ref in merged)
    missing = missing_facts(line.text, held)
    if missing or not all(akin(part, held) for part in statements(line.text)):
        what = f"which lacks {', '.join(missing)}" if missing else "which says something else"
        said = f"{source} is said to be merged into it, {what}: {quote_claim(line.text)}"
        yield _at(step, "invented", said, merged[0], there)


def _of_line(source: str, what: str) -> Finding:
    return Finding(path_of(source), 1, "account", what, claim=source)


def _at(step: ReplayedCommit, rule: str, what: str, target: str, there: Mapping[str, Claim]) -> Finding:
    path = path_of(target)
    # It is about what was written, which a person may put right.
    return Finding(path, line_of(step.after, path, there[target]), rule, what, claim=target)


def errors(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Those that stop a change."""
    return tuple(one for one in findings if one.level == "error")


def listed(fates: Iterable[Fate], read: Callable[[str], bytes | None]) -> dict[str, str]:
    """The lines of indexes that fates name as where a claim comes from.

    Args:
        read: gives the content of a path of the tree; None where there is no such file.

    Returns:
        Path of a memory to its lines, which may be several.
    """
    found: dict[str, str] = {}
    for path in {path_of(fate.source) for fate in fates}:
        if path.count("/") != 1 or not path.endswith(f"/{index.INDEX}"):
            continue
        for unit in index.parse(decode(read(path) or b"")):
            if unit.target:
                memory = f"{agent_folder(path)}/{unit.target}"
                found[memory] = found.get(memory, "") + unit.text
    return found


def where_they_stand(fates: Iterable[Fate], before: Files, after: Files) -> tuple[Fate, ...]:
    """Fates that name claims where they are; what stands in neither of a memory's places stays as it is.

    Args:
        before, after: the trees from which and to which they tell.
    """
    return tuple(
        replace(fate, source=_there(fate.source, before), target=_there(fate.target, after))
        for fate in fates
    )


def _there(ref: str, files: Files) -> str:
    path, mark = path_of(ref), ref.rpartition("#")[2]
    if not ref or path in files:
        return ref
    for home in homes(path):
        for claim in claims_at(home, files[home]) if home in files else ():
            if claim.short == mark:
                return reference(home, claim)
    return ref
