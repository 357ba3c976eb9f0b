"""All that a dream may know before an engine is asked: from the tree, from history, and from outside."""

from __future__ import annotations

from collections.abc import Mapping

from gitmem.core.pointer import is_promoted
from gitmem.core.text import one_line
from gitmem.dream.budget import allowance
from gitmem.dream.gathering.ages import Taught
from gitmem.dream.gathering.dates import said_when, spoken
from gitmem.dream.gathering.history import look_back
from gitmem.dream.gathering.lines import left_out, proposable, undecided
from gitmem.dream.gathering.links import dangling, renamed
from gitmem.dream.gathering.observed import against_code, disputed, disputes, logs, sides
from gitmem.dream.settled import unsettled
from gitmem.dream.sources import Sources
from gitmem.engines.engine import ConsolidateInput
from gitmem.ledger.dreams import dreams_of
from gitmem.ledger.land import Tip
from gitmem.ledger.workspace import Scope


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
    claims, links, marks = spoken(open_ones, agents), dangling(files, agents), disputed(open_ones, agents)
    past = look_back(scope.repo, tip.commit, files, (*claims.values(), *sides(marks)), links)
    proposed = [change for dream in dreams_of(scope) for change in dream.open]
    keys = frozenset(key for change in proposed for key in change.keys)
    waiting = undecided(unsettled(scope.repo, tip.commit, files, now=sources.now, agents=agents), proposed)
    return ConsolidateInput(
        files=files,
        said=said_when(claims, past, files),
        authors={
            ref: one_line(past.brought[said].author.name, 40)
            for ref, said in claims.items()
            if said in past.brought
        },
        agents=agents,
        waiting=keys,
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
