"""Extraction in this process: what it is given of environment, clock, instruction files and pauses."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from gitmem.core.change import Change
from gitmem.flows.commit_trailers import CommitsLearned, learn_from_commits
from gitmem.flows.context import Edges
from gitmem.flows.extract.plan import judge
from gitmem.flows.extract.rules import rules_of
from gitmem.flows.extract.run import Context
from gitmem.flows.pause import intervals, said_in_pause, unheard
from gitmem.flows.rule_text import spoken
from gitmem.flows.save import copies_of
from gitmem.ledger.apply import Judged
from gitmem.ledger.files import linked, read_regular
from gitmem.ledger.knowledge import known_at
from gitmem.ledger.rule_record import read_state
from gitmem.ledger.workspace import ScopeName, Workspace
from gitmem.transcripts import discover
from gitmem.transcripts.model import Session
from gitmem.transcripts.privacy import ignoring

RULE_FILES = ("CLAUDE.md", "AGENTS.md", "CLAUDE.local.md")
RULE_BYTES = 262_144


def context_of(workspace: Workspace, edges: Edges, *, by_hand: bool = False) -> Context:
    """What an extraction here and now works in.

    Args:
        by_hand: the person asked for it: `gitmem.extract=off` counts as `suggest`.
    """

    def out(session: Session, strict: bool) -> frozenset[str]:
        return left_out(workspace, session, edges.now, strict=strict)

    allow = workspace.allowed
    rules = rules_of(workspace, rule_texts(workspace, edges), allow, by_hand=by_hand)
    return Context(workspace, edges.now, rules, copies_of(workspace, edges), out, by_hand)


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
        if linked(anchor, path):
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
    session = discover.read(path, keep=False)
    ignore = ignoring(workspace.settings.all("ignore"))
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
