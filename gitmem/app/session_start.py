"""What an agent is told when a session starts: indexes that no client shows, and what waits.

Everything is stated as fact and fenced as data: memory is never an instruction. A hook waits for this.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from gitmem.app.session_context import ORDINARY, here, nothing
from gitmem.core.errors import GitmemError
from gitmem.core.limits import PROMPT_CONTEXT_CHARS
from gitmem.ledger import session_files
from gitmem.ledger.workspace import MAIN, Scope, Workspace

FORGETFUL = frozenset({"startup", "clear", "compact"})
"""Starts (`source`) after which the model no longer has what it was shown."""

GOES_ON = frozenset({"compact", "resume"})
"""Starts of a session that has a past."""

NOTES_CHARS = 5_000
"""Characters that a session's notes have at least; more where the indexes leave more."""


def session_start(payload: Mapping[str, Any], *, loaded: bool = True) -> str:
    """What an agent is told when a session starts.

    Args:
        payload: the client's JSON for SessionStart.
        loaded: whether the client shows its agent the memory folder itself.

    Returns:
        The indexes of `main` that the client does not load itself, how much waits for review, and after a
        compaction or at a resumption the session's notes; empty where there is nothing to say, or trouble.
    """
    try:
        from gitmem.app import prompt_choice

        workspace, _ = here(payload)
        if payload.get("source") in FORGETFUL:
            session = session_files.session_of(payload)
            session_files.forget(workspace.state, session)
            prompt_choice.drop(workspace.private_state, session)
        return _start(workspace, payload, loaded)
    except ORDINARY as error:
        return nothing(payload, "session start", error)


def _start(workspace: Workspace, payload: Mapping[str, Any], loaded: bool) -> str:
    from gitmem.core import index  # a prompt shows none
    from gitmem.core.text import fence_for_model

    parts = []
    indexes = [
        (scope, text) for scope in _unseen_scopes(workspace, loaded) for text in _index(workspace, scope)
    ]
    notes = _notes(workspace, payload, sum(len(text) + 400 for _, text in indexes))
    mode = _mode(workspace)
    left = PROMPT_CONTEXT_CHARS - (len(notes) + 300 if notes else 0) - len(mode)
    room = left // max(1, len(indexes)) - 400
    for scope, text in indexes:
        block = fence_for_model(_cut(text, room), source=f"{scope.name}/{MAIN}/{index.INDEX}")
        if len(block) < room + 300:  # a fence is as long as the longest run of backticks in what it holds
            parts.append(block)
    if parts:
        parts.insert(
            0,
            "gitmem keeps what was learned earlier. These are indexes of recorded memories, one line each; "
            "`git mem show NAME` prints one.\n",
        )
    parts += [mode] if mode else []
    parts += _team_knowledge(workspace)
    # What is held back in live directories is left out: to find it, each would be read and screened.
    from gitmem.flows.review import waiting_in_refs

    # The agent waits for this: what would have to be read and screened first is left out.
    count = waiting_in_refs(workspace)
    if count:
        what = "item waits" if count == 1 else "items wait"
        parts.append(f"{count} {what} for the person in `git mem review`.\n")
    return "\n".join([*parts, *([notes] if notes else [])])


def _notes(workspace: Workspace, payload: Mapping[str, Any], others: int) -> str:
    """A session's own notes, where it goes on after a compaction or is resumed.

    Args:
        others: characters that the rest would take.
    """
    if payload.get("source") not in GOES_ON:
        return ""
    from gitmem.flows.resume import notes_at_start  # most starts have none

    return notes_at_start(workspace, payload, max(NOTES_CHARS, PROMPT_CONTEXT_CHARS - others - 900))


def _mode(workspace: Workspace) -> str:
    """A line on daily logs where sessions are logged; a pattern, for a date would end a cached prompt."""
    with suppress(GitmemError):  # a setting that means nothing is told elsewhere
        if workspace.settings.get("mode") == "log":
            from gitmem.core.daily_log import PATTERN

            return (
                "gitmem.mode is log: what is learned in a session is appended, a line a fact, to "
                f"`{PATTERN}` (UTC) in the memory folder, and dreams make memories of it. "
                "The lines of the last days are recalled like memories.\n"
            )
    return ""


def _team_knowledge(workspace: Workspace) -> Iterator[str]:
    """A line on snapshots that hold what memory here does not; names are a repository's, and hostile."""
    from gitmem.flows.review import noted_snapshots

    waiting = noted_snapshots(workspace)
    named = sorted(agent for agent, _ in waiting if re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,39}", agent))
    if waiting:
        whose = f" of {', '.join(named[:5])}" if named else ""
        yield (
            f"A newer snapshot{whose} holds team knowledge that memory here does not. Nothing was "
            "overwritten; it waits for the person in `git mem review`.\n"
        )


def _unseen_scopes(workspace: Workspace, loaded: bool) -> Iterator[Scope]:
    """Scopes whose `main` a client does not show; of the project only where it is not laid out in `team/`.

    Args:
        loaded: whether it loads the memory folder, which has what is local, and `team/`.
    """
    yield workspace.scope("user")
    if not loaded:
        yield from (workspace.scope("local"), workspace.scope("project"))
        return
    from gitmem.ledger.layout import auto_memory

    auto = auto_memory(workspace)
    if auto is None or not (auto / "team").is_dir():
        yield workspace.scope("project")


def _index(workspace: Workspace, scope: Scope) -> Iterator[str]:
    """The index of a scope's `main` as a client would load it; none where it is empty."""
    from gitmem.core import index
    from gitmem.core.errors import MissingObject
    from gitmem.core.text import decode
    from gitmem.git.trees import read_file
    from gitmem.ledger.holdings import index_as_loaded
    from gitmem.ledger.taint import safe_content

    repo = scope.repo
    tip = repo.ref(scope.ref)
    path = f"{MAIN}/{index.INDEX}"
    data = (read_file(repo, repo.commit(tip).tree, path) if tip else None) or b""
    if tip is None or not data.strip():
        return
    if scope.name == "project":
        try:
            data = safe_content(workspace, path, data)
        except MissingObject:
            return
        data = _without_unmerged(workspace, data)
    text = decode(data)
    if not text.strip():
        return
    if scope.name == "user":
        from gitmem.ledger.rule_record import ruled_files  # a prompt shows no index

        # What is a rule here stays in the index of all projects, and only there.
        text = index.without_files(text, ruled_files(workspace.state, scope.name, MAIN), alone=True)
    yield index_as_loaded(scope, tip, MAIN, text)


def _without_unmerged(workspace: Workspace, data: bytes) -> bytes:
    """An index of the project without memories that were taught on code which is not here."""
    from gitmem.core import index
    from gitmem.core.limits import PROMPT_SECONDS
    from gitmem.core.text import decode, encode
    from gitmem.flows.code_reach import unmerged_memories
    from gitmem.ledger.lookup import headers  # a prompt shows no index

    listed = headers(workspace, "project", MAIN, missed={})
    away = {one.file for one in unmerged_memories(workspace, listed, PROMPT_SECONDS)}
    return encode(index.without_files(decode(data), away, alone=True)) if away else data


def _cut(whole: str, room: int) -> str:
    from gitmem.core import index
    from gitmem.core.text import printable

    text = printable(whole)
    if len(text) <= room:
        return text
    notice = f"[cut here: {len(index.targets(whole))} entries in all; `git mem list` names them]"
    kept = text[: room - len(notice) - 1]
    return f"{kept[: kept.rfind(chr(10)) + 1] or kept}{notice}"
