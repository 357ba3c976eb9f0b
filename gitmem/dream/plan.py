"""A dream before it is made: the proposals of an engine, judged like the commits that they would be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from gitmem.core.account import is_memory, lines_named, paths_named
from gitmem.core.errors import CheckFailed
from gitmem.core.merge import Files, only
from gitmem.engines.engine import DreamChange
from gitmem.rules.account import Ground, Lookup, Step, crowd, errors, listed, sources_of, unknown
from gitmem.rules.invention import inventions
from gitmem.rules.proof import prove
from gitmem.rules.rule import Finding

if TYPE_CHECKING:
    from gitmem.rules.findable import Recalled

_HINT = "No branch was made and memory is as it was."


def prove_plan(
    files: Files,
    changes: Sequence[DreamChange],
    *,
    allowance: int | None = None,
    said: Mapping[str, datetime] | None = None,
    allow: frozenset[str] = frozenset(),
    asked: Sequence[Recalled] = (),
    sessions: Mapping[str, str] | None = None,
    code: Callable[[str], str | None] = unknown,
) -> tuple[Finding, ...]:
    """Judges what an engine proposes.

    Args:
        files: the tree that it starts from.
        changes: proposals, in the order in which they apply.
        allowance: how many claims may be dropped or superseded; None for any number.
        said: claim (`<file>#<12 hex>`) to when it was first said.
        allow: fingerprints of secrets that a person accepted.
        asked: the last recalls that showed memories of the scope.
        sessions: id to what was said there; read where nothing else taught what a change says.
        code: gives a file of the code, by its path.
    """
    first, steps, state = _steps(files, changes)
    ground = _ground(files, allowance, said, allow, sessions or {}, code)
    steps = [_with_session(step, sessions or {}, ground) for step in steps]
    failures = prove(first, steps, ground)
    if failures or not changes:
        return failures
    from gitmem.dream.search import Search
    from gitmem.rules.findable import lost_to_search

    fates = [fate for change in changes for fate in change.fates]
    return lost_to_search(files, state, fates, asked, search=Search)


def sessions_behind(
    files: Files,
    changes: Sequence[DreamChange],
    sessions: Mapping[str, str],
    *,
    said: Mapping[str, datetime] | None = None,
    code: Callable[[str], str | None] = unknown,
) -> tuple[str, ...]:
    """The session of each change that taught what it says anew; empty where memory or the code did.

    Args: as for `prove_plan`.
    """
    ground = _ground(files, None, said, frozenset(), sessions, code)
    steps = (_with_session(step, sessions, ground) for step in _steps(files, changes)[1])
    return tuple("".join(step.sessions) for step in steps)


def _with_session(step: Step, sessions: Mapping[str, str], ground: Ground) -> Step:
    """A step with the one session that taught all that it says anew, where nothing else did."""
    if not sessions or crowd(step) or not any(inventions(step, ground)):
        return step
    # The last that was said holds.
    for id in reversed(list(sessions)):
        told = replace(step, sessions=(id,))
        if not any(inventions(told, ground)):
            return told
    return step


def _ground(
    files: Files,
    allowance: int | None,
    said: Mapping[str, datetime] | None,
    allow: frozenset[str],
    sessions: Mapping[str, str],
    code: Callable[[str], str | None],
) -> Ground:
    return Ground(
        allowance,
        allow=allow,
        said=said or {},
        standing=frozenset(files),
        sources=lru_cache(partial(sources_of, files)),
        lookup=Lookup(sessions.get, code),
    )


def _steps(files: Mapping[str, bytes], changes: Sequence[DreamChange]) -> tuple[Files, list[Step], Files]:
    """The tree before as far as it is touched, the changes as steps, and the tree after."""
    state = dict(files)
    steps: list[Step] = []
    first: dict[str, bytes] = {}
    for change in changes:
        touched = set(filter(is_memory, {*change.edits, *paths_named(change.fates)}))
        before = only(state, touched)
        change.apply_to(state)
        first |= only(files, touched)
        foreign = tuple(sorted(path for path in change.edits if not is_memory(path)))
        after = only(state, touched)
        told = listed(change.fates, files.get)
        heard = lines_named(change.fates, files.get)
        steps.append(Step(before, after, change.fates, foreign=foreign, listed=told, lines=heard))
    return first, steps, state


def refuse(failures: Sequence[Finding], what: str = "The dream", hint: str = _HINT) -> None:
    """Raises where anything could not be proved.

    Args:
        what: names the dream.

    Raises:
        CheckFailed: it names the first failure and how many more there are.
    """
    failures = errors(failures)
    if failures:
        more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
        raise CheckFailed(f"{what} cannot be proved: {failures[0]}{more}", hint)
