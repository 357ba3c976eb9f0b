"""All that a dream may know before an engine is asked: from the tree, from history, and from outside.

What the memories alone show (limits, index lines, claims that are alike) the engine sees for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path, PurePosixPath

from gitmem.core.account import claims_at, is_memory, line_key, path_of, reference
from gitmem.core.claim import Claim, with_dispute
from gitmem.core.daily_log import LogLine
from gitmem.core.memory import parse
from gitmem.core.merge import agent_folder, kind
from gitmem.core.pointer import is_promoted
from gitmem.core.text import counted, decode, one_line
from gitmem.dream.budget import allowance
from gitmem.dream.history import Past, Spoken, Taught, claims_to_date, look_back, moment, said_when
from gitmem.dream.log_facts import Sayings, Waiting, unsettled
from gitmem.engines.engine import ConsolidateInput, Observation
from gitmem.engines.offline.links import inline_links, links, slug, spoken
from gitmem.ledger.dreams import DreamCommit, dreams_of
from gitmem.ledger.land import Tip
from gitmem.ledger.workspace import Scope
from gitmem.rules.account import unknown
from gitmem.rules.findable import Recalled

CodeFacts = Callable[[Mapping[str, str]], Sequence[Observation]]
"""Tells which claims (`<file>#<12 hex>` to text) name files, symbols or flags that HEAD does not have."""


def nothing_known(claims: Mapping[str, str]) -> tuple[Observation, ...]:  # noqa: ARG001 - the type's
    """Knows of no code."""
    return ()


@dataclass(frozen=True)
class Sources:
    """What a dream may know besides the memory itself.

    Attributes:
        now: epoch seconds.
        since: when the last dream was, epoch seconds; 0 for never.
        agents: folder names of those whose memories to consolidate; empty for all.
        code: compares claims with the code.
        head: the commit of it that they are compared with; empty where there is none.
        sessions: id of a session since the last dream to what was said there, private parts left out.
        worktree: top of the code's work tree; None where there is none.
        file: gives a file of the code at HEAD, by its path; None where there is none.
        allow: fingerprints of secrets that the person accepted.
        asked: the last recalls that showed memories of the scope; none where nobody keeps them, as in CI.
        anew: whether to look also where the last dream found nothing.
    """

    now: float
    since: float = 0.0
    agents: tuple[str, ...] = ()
    code: CodeFacts = nothing_known
    head: str = ""
    sessions: Mapping[str, str] = field(default_factory=dict)
    worktree: Path | None = None
    file: Callable[[str], str | None] = unknown
    allow: frozenset[str] = frozenset()
    asked: Sequence[Recalled] = ()
    anew: bool = False


def keys_of(changes: Iterable[DreamCommit]) -> frozenset[str]:
    """Under which changes that wait are known, so that none is proposed twice."""
    return frozenset(key for change in changes for key in change.keys)


def gather(scope: Scope, tip: Tip, files: Mapping[str, bytes], sources: Sources) -> ConsolidateInput:
    """Finds out what an engine may know; nothing is written.

    Args:
        tip: where the memory ref stands.
        files: its tree: path to content.
        sources: what may be known besides.
    """
    agents = sources.agents
    # What became a rule is looked at by nobody but those who follow links to it.
    open_ones = {path: data for path, data in files.items() if not is_promoted(path, data)}
    claims, links, marks = (
        claims_to_date(open_ones, agents),
        dangling(files, agents),
        disputed(open_ones, agents),
    )
    past = look_back(scope.repo, tip.commit, files, (*claims.values(), *sides(marks)), links)
    proposed = [change for dream in dreams_of(scope) for change in dream.open]
    waiting = undecided(unsettled(scope.repo, tip.commit, files, now=sources.now, agents=agents), proposed)
    return ConsolidateInput(
        files=files,
        said=said_when(claims, past, files, scope.repo),
        authors={
            ref: one_line(past.brought[said].author.name, 40)
            for ref, said in claims.items()
            if said in past.brought
        },
        agents=agents,
        waiting=keys_of(proposed),
        pending=frozenset(
            fate.source for change in proposed for fate in change.fates if fate.kind != "kept"
        ),
        scope=scope.name,
        observed=(
            *disputes(marks, past),
            *against_code(open_ones, sources.code, agents),
            *logs(files, sources.since, agents),
            *left_out(waiting),
        ),
        renamed=renamed(links, past, files),
        sessions=sources.sessions,
        worktree=sources.worktree,
        code=sources.file,
        allowance=allowance(scope.repo, tip.commit, sources.now, files),
        now=sources.now,
        taught=Taught(scope, tip.commit, files),
        lines=proposable(waiting),
    )


Dangling = dict[str, set[str]]
"""Slug of a name that no memory has to the ways in which links write it."""


def dangling(files: Mapping[str, bytes], agents: Collection[str] = ()) -> Dangling:
    """Links of some agents' memories to names that no memory of the scope has.

    Args:
        agents: folder names; empty for all.
    """
    known: set[str] = set()
    linking: dict[str, tuple[str, ...]] = {}
    for path, data in files.items():
        if not is_memory(path):
            continue
        known |= {slug(PurePosixPath(path).stem), slug(parse(path, data).name)}
        if (b"[[" in data or b".md" in data) and (not agents or agent_folder(path) in agents):
            texts = [claim.text for claim in claims_at(path, data)]
            linking[path] = tuple(link for text in texts for link in (*links(text), *inline_links(text)))
    found: Dangling = {}
    for link in {link for some in linking.values() for link in some}:
        if slug(link) not in known:
            found.setdefault(slug(link), set()).add(link)
    return found


def renamed(asked: Dangling, past: Past, files: Mapping[str, bytes]) -> dict[str, str]:
    """Each name that a link uses and a memory once had, to the name that a link says now.

    Returns:
        An empty name where the memory is gone; nothing of names that no memory ever had.
    """
    return {
        link: spoken(parse(path, files[path])) if path else ""
        for slug, path in past.became.items()
        for link in asked[slug]
    }


MOST_LINES = 100
"""Facts of one dream, the oldest: as many as a person looks through one by one. The next one goes on."""

_SHOWN = 100


def undecided(waiting: Waiting, changes: Sequence[DreamCommit]) -> Waiting:
    """The facts that wait without the lasting ones that a person is asked about already.

    Args:
        changes: what dreams that wait propose: it may be made of a line, or say the same.
    """
    keys = frozenset(key for change in changes for key in change.keys)
    made = [change.files for change in changes if any(story.line for story in change.claims)]
    files = {path: new for pairs in made for path, (_, new) in pairs.items() if new is not None}
    said = Sayings.of(files, frozenset(map(agent_folder, files)))
    lasting = {
        ref: line
        for ref, line in waiting.lasting.items()
        if line_key(ref) not in keys and not said.hold(agent_folder(path_of(ref)), line.text)
    }
    return replace(waiting, lasting=lasting)


def proposable(waiting: Waiting) -> dict[str, LogLine]:
    """The facts that an engine is given."""
    return dict(islice(waiting.lasting.items(), MOST_LINES))


def left_out(waiting: Waiting) -> Iterator[Observation]:
    """What is told of the facts that no memory is made of, this time or at all."""
    more = len(waiting.lasting) - MOST_LINES
    if more > 0:
        yield Observation("log", f"{counted(more, 'more fact')} of daily logs wait for another dream")
    for ref, line in waiting.passing.items():
        yield Observation("log", f"it only mattered on its day: “{one_line(line.text, _SHOWN)}”", (ref,))


MOST_LOGS = 30
"""Logs that are told of, the newest."""

SHOWN = 100
"""Characters of a claim or a log line that are shown."""

Disputed = dict[tuple[str, str], list[Claim]]
"""Path and mark to the claims that stand there against one another."""


def logs(files: Mapping[str, bytes], since: float, agents: Collection[str] = ()) -> list[Observation]:
    """The logs of days since the last dream, with their size and how they begin.

    Args:
        since: epoch seconds; 0 for never.
        agents: folder names; empty for all.
    """
    # A log is named for a day of whoever wrote it, who may have been a day behind.
    first = (datetime.fromtimestamp(since, UTC) - timedelta(days=1)).date().isoformat() if since else ""
    found = []
    for path in sorted(files, key=lambda path: (path.rpartition("/")[2], path), reverse=True):
        day = path.rpartition("/")[2].removesuffix(".md")
        if kind(path) != "log" or day < first or not _asked(path, agents):
            continue
        lines = [line for line in decode(files[path]).splitlines() if line.strip()]
        size = f"{counted(len(lines), 'line')}, {len(files[path]):,} bytes"
        begins = one_line(" / ".join(lines[:3]), SHOWN) if lines else ""
        found.append(Observation("log", f"{_plain(path)}: {size}" + (f": {begins}" if begins else "")))
        if len(found) == MOST_LOGS:
            break
    return found


def disputed(files: Mapping[str, bytes], agents: Collection[str] = ()) -> Disputed:
    """Claims that stand twice because two writers changed one differently."""
    found: Disputed = {}
    for path, data in files.items():
        if b"*(disputed " in data and is_memory(path) and _asked(path, agents):
            for claim in claims_at(path, data):
                if claim.dispute:
                    found.setdefault((path, claim.dispute), []).append(claim)
    return found


def sides(asked: Disputed) -> Iterator[Spoken]:
    """The disputed claims, to ask history about."""
    for (path, _), claims in asked.items():
        yield from ((agent_folder(path), claim.key) for claim in claims)


def disputes(asked: Disputed, past: Past) -> list[Observation]:
    """Each dispute with its sides, and who said what and when."""
    found = []
    for (path, mark), claims in sorted(asked.items()):
        said = [_side(path, claim, past) for claim in claims]
        text = f"{_plain(path)}: {' against '.join(said)} (disputed {mark})"
        found.append(Observation("dispute", text, tuple(reference(path, claim) for claim in claims)))
    return found


def against_code(
    files: Mapping[str, bytes], code: CodeFacts, agents: Collection[str] = ()
) -> list[Observation]:
    """What the code says otherwise than memories do; those that agents see are asked about first."""
    paths = [path for path in files if is_memory(path) and _asked(path, agents)]
    paths.sort(key=lambda path: (path.count("/"), path))
    claims = {
        reference(path, claim): claim.text for path in paths for claim in claims_at(path, files[path])
    }
    return list(code(claims)) if claims else []


def _side(path: str, claim: Claim, past: Past) -> str:
    text = f"“{one_line(with_dispute(claim.text, ''), SHOWN)}”"
    commit = past.brought.get((agent_folder(path), claim.key))
    if commit is None:
        return text
    who = one_line(commit.author.name, 40)
    return f"{text} ({who}, {moment(commit.author).date().isoformat()})"


def _asked(path: str, agents: Collection[str]) -> bool:
    return not agents or agent_folder(path) in agents


def _plain(path: str) -> str:
    return one_line(path, 200)
