"""Extraction in this process: what it is given of environment, clock, instruction files and pauses.

Sessions that were recorded before gitmem was set up are looked through once, when the person says so, the
newest first, and by the offline rules whatever engine is in force: nothing of them is sent anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from gitmem.core.change import Change
from gitmem.core.errors import RepositoryError
from gitmem.engines.offline import OfflineEngine
from gitmem.flows.commit_trailers import CommitsLearned, learn_from_commits
from gitmem.flows.context import Edges
from gitmem.flows.extract.plan import judge, rules_of
from gitmem.flows.extract.run import ExtractContext, ExtractOutcome, extract_sessions
from gitmem.flows.extract.sessions import news
from gitmem.flows.pause import intervals, said_in_pause, unheard
from gitmem.flows.rule_text import spoken
from gitmem.flows.save import copies_of
from gitmem.ledger.apply import Judged
from gitmem.ledger.files import has_link, read_regular
from gitmem.ledger.knowledge import known_at
from gitmem.ledger.rule_record import read_state
from gitmem.ledger.suggestions import Suggestion, digest, open_suggestions
from gitmem.ledger.workspace import ScopeName, Workspace
from gitmem.transcripts import discover
from gitmem.transcripts import reader as cursors
from gitmem.transcripts.model import Session, SessionFile
from gitmem.transcripts.privacy import compile_ignore
from gitmem.transcripts.reader import PASSED_OVER, Cursor, cursor_name

RULE_FILES = ("CLAUDE.md", "AGENTS.md", "CLAUDE.local.md")
RULE_BYTES = 262_144


def context_of(workspace: Workspace, edges: Edges, *, by_hand: bool = False) -> ExtractContext:
    """What an extraction here and now works in.

    Args:
        by_hand: the person asked for it: `gitmem.extract=off` counts as `suggest`.
    """

    def out(session: Session, strict: bool) -> frozenset[str]:
        return left_out(workspace, session, edges.now, strict=strict)

    allow = workspace.allowed
    rules = rules_of(workspace, rule_texts(workspace, edges), allow, by_hand=by_hand)
    return ExtractContext(workspace, edges.now, rules, copies_of(workspace, edges), out, by_hand)


def commits_learned(workspace: Workspace, edges: Edges) -> CommitsLearned:
    """Does what commits ask for; see `learn_from_commits`."""

    def judged(change: Change, scope: ScopeName | None) -> Judged:
        rules = replace(context_of(workspace, edges).rules, mode="suggest", scope=scope)
        return judge(change, known_at(workspace), rules)

    return learn_from_commits(workspace, edges.now, judged, copies_of(workspace, edges))


def rule_texts(workspace: Workspace, edges: Edges) -> tuple[str, ...]:
    """Instruction files of the repository and of the person; links are not followed."""
    top = workspace.layout.worktree
    places = [(edges.config, edges.config / "CLAUDE.md")]
    if top is not None:
        names = (*RULE_FILES, f"{workspace.claude_folder}/CLAUDE.md")
        # A rule that was a memory may stand in any file.
        became = sorted(read_state(workspace.state).files)
        places += [(top, top / name) for name in dict.fromkeys((*names, *became))]
    texts = []
    for anchor, path in places:
        if has_link(anchor, path):
            continue
        with suppress(OSError):
            if found := read_regular(path, RULE_BYTES):
                texts.append(spoken(found[0][:RULE_BYTES].decode("utf-8", "replace")))
    return tuple(texts)


def withholds(workspace: Workspace, path: Path, now: float) -> bool:
    """Whether a session of `main` holds what is not to be learned from, by `gitmem.ignore` or by its time.

    Raises:
        RepositoryError: it cannot be read.
    """
    session = discover.read(path)
    ignore = compile_ignore(workspace.settings.all("ignore"))
    return any(map(ignore.hides, session.messages)) or bool(left_out(workspace, session, now))


def left_out(workspace: Workspace, session: Session, now: float, *, strict: bool = False) -> frozenset[str]:
    """Uuids of messages that were said in a pause, or while extraction was off.

    Args:
        strict: where there was any such time, what was said at an unknown one counts as said in it; else it
            counts as said now.
    """
    pauses = (*intervals(workspace.state), *unheard(workspace.state, session.id))
    return frozenset(
        message.uuid
        for message in (session.messages if pauses else ())
        if (strict and message.time is None)
        or said_in_pause(pauses, message.time.timestamp() if message.time else None, now)
    )


PATIENCE = 60.0
"""Seconds after which no further session is begun: somebody waits."""

SHOWN = 5
"""Finds that are shown at once, the best ones; the others wait in review."""


@dataclass(frozen=True)
class Lookback:
    """What came of it.

    Attributes:
        looked: sessions that were looked through, of all that there are.
        stored: descriptions of what was plainly asked to be remembered, and is stored.
        best: finds that wait, the likeliest first, at most `SHOWN`.
        more: how many others wait.
    """

    looked: int
    stored: tuple[str, ...] = ()
    best: tuple[Suggestion, ...] = ()
    more: int = 0


def unread(
    workspace: Workspace, recorded: Sequence[SessionFile], since: float = 0.0
) -> tuple[SessionFile, ...]:
    """Picks out recorded sessions with something that was never looked at, newest first.

    Args:
        recorded: the sessions of the repository, oldest change first.
        since: sessions whose last change is older are left out; epoch seconds.
    """
    files = [file for file in recorded if file.mtime_ns / 1e9 >= since]
    fresh = {one.source.path for one in news(workspace, [file.path for file in files])}
    return tuple(file for file in reversed(files) if file.path in fresh)


def look_back(
    context: ExtractContext,
    files: Sequence[SessionFile],
    tell: Callable[[str], None],
    clock: Callable[[], float],
) -> Lookback:
    """Looks through sessions until all are done, time is up, or the person interrupts; it can go on later.

    Args:
        context: by hand.
        files: as `unread` lists them.
        tell: is told of each session before it is looked at.
        clock: gives seconds that only grow.

    Raises:
        RepositoryError: a ref cannot be written; what was found until then is kept.
        Locked: another extraction is under way.
    """
    end = clock() + PATIENCE
    done: list[ExtractOutcome] = []
    looked = 0
    try:
        for file in files:
            if clock() >= end:
                break
            tell(f"looking through session {looked + 1} of {len(files)} (Ctrl-C ends it)")
            done += extract_sessions(context, OfflineEngine(), [file.path])
            looked += 1
    except KeyboardInterrupt:
        # Each session is whole or untouched: what the others brought is shown.
        pass
    found = {digest(one.change) for outcome in done for one in outcome.parked}
    waiting = [one for one in open_suggestions(context.workspace) if digest(one.change) in found]
    waiting.sort(key=lambda one: -one.change.confidence)
    return Lookback(
        looked,
        tuple(placed.change.description for outcome in done for placed, _, _ in outcome.stored),
        tuple(waiting[:SHOWN]),
        len(waiting[SHOWN:]),
    )


def pass_over(workspace: Workspace, files: Sequence[SessionFile]) -> None:
    """Leaves sessions alone for good, as far as they were recorded: the person does not want them read."""
    for file in files:
        with suppress(RepositoryError):
            end = discover.size_of(file.path)
            cursors.save(cursors.folder(workspace.state), Cursor(cursor_name(file.path), end, PASSED_OVER))
