"""What became of the claims of one step, or of all of them: lost, falsely merged, given up."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gitmem.core.account import account, is_memory, path_of, references
from gitmem.core.claim import Claim
from gitmem.core.facts import added, akin, lacking, undated
from gitmem.core.merge import Files
from gitmem.core.text import decode, one_line
from gitmem.core.trailers import Fate
from gitmem.dream.proof.failure import Failure
from gitmem.dream.proof.ground import Mark

QUOTED = 80
"""Terminal cells of a claim that a message quotes."""

_LINK = re.compile(r"\[\[[^\[\]\n]*\]\]")


def agent_of(path: str) -> str:
    """Folder of the agent that a path belongs to."""
    return path.split("/", 1)[0]


def quoted(text: str) -> str:
    """A claim for a message: on one line, cut, nothing invisible."""
    return f"“{one_line(text, QUOTED)}”"


def line_of(files: Files, path: str, claim: Claim | None) -> int:
    """The line on which a claim begins in its file; 1 where it is not found."""
    data = files.get(path)
    if data is None or claim is None:
        return 1
    first = claim.text.split("\n", 1)[0]
    text = decode(data)
    return text.count("\n", 0, max(0, text.find(first))) + 1


def by_agent(before: Files, after: Files) -> Iterator[tuple[Files, Files]]:
    """Both states of each agent's memories: what one agent knows is not kept by another."""
    for agent in sorted({agent_of(path) for path in (*before, *after) if is_memory(path)}):
        yield _of(agent, before), _of(agent, after)


def losses(before: Files, after: Files, fates: Sequence[Fate], *, related: bool) -> Iterator[Failure]:
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


def fewer(before: Files, after: Files, fates: Iterable[Fate]) -> Iterator[Failure]:
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
            source = next((ref for ref, claim in here.items() if claim.key == key and ref not in there), "")
            if source:
                what = "it stood more than once, and nothing says why it goes here"
                yield _failure(old, source, here, "account", what)


def given_up(before: Files, after: Files, fates: Sequence[Fate], *, lost: bool = False) -> dict[Mark, str]:
    """The claims that were dropped, or superseded by what says something else.

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
        if fate.kind == "superseded" and target is not None:
            said, says = _LINK.sub(" ", claim.key), _LINK.sub(" ", undated(target.key))
            sources = [*into[fate.target], *around.get(path_of(fate.target), ())]
            same = akin(said, says) and not lacking(said, target.key) and not added(says, sources)
        else:
            same = fate.kind in ("kept", "merged") or claim.key in standing
        if not same:
            found.append(fate.source)
    return found


def _failure(files: Files, source: str, here: Mapping[str, Claim], rule: str, what: str) -> Failure:
    path, claim = path_of(source), here[source]
    return Failure(
        path, "merged" if rule == "merged" else "account", f"{what}: {quoted(claim.text)}", source,
        line_of(files, path, claim),
    )  # fmt: skip


def _of(agent: str, files: Files) -> dict[str, bytes]:
    return {path: data for path, data in files.items() if agent_of(path) == agent and is_memory(path)}
