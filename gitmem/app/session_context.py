"""What an agent is told: indexes that no client shows, at the start; what bears on a prompt, with it.

Everything is stated as fact and fenced as data: memory is never an instruction. A hook waits for this, so
it reads git through a few commands and never fails for ordinary trouble: then nothing is said.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gitmem.app.context import real_edges
from gitmem.core.errors import GitmemError
from gitmem.core.limits import PROMPT_CONTEXT_CHARS
from gitmem.flows.context import Edges, by_command, initialised_at
from gitmem.flows.pause import paused
from gitmem.flows.place import find_initialised
from gitmem.flows.recall import MODELS, TELLING, configured, prompted
from gitmem.ledger import session_files
from gitmem.ledger.files import COMMITS, log
from gitmem.ledger.workspace import MAIN, Scope, Workspace

if TYPE_CHECKING:
    from gitmem.app.spool import Job
    from gitmem.search.query import Candidate
    from gitmem.search.recall import Recall

FORGETFUL = frozenset({"startup", "clear", "compact"})
"""Starts (`source`) after which the model no longer has what it was shown."""

GOES_ON = frozenset({"compact", "resume"})
"""Starts of a session that has a past."""

NOTES_CHARS = 5_000
"""Characters that a session's notes have at least; more where the indexes leave more."""

LONGEST_PROMPT = 4_000
"""Characters of a prompt that a model is asked about: what is pasted into a longer one stays here."""

ASKED_CHARS = 10_000
"""Of a longer prompt its beginning and its end are searched with: a whole log may be pasted into it."""

FEWEST_WORDS = 3
"""Of a prompt that a model is asked about: "yes, do that" says nothing of what is needed."""

# More than `sessions.private` cuts out: a tag that is cut off in its midst keeps the prompt here, too.
_PRIVATE = re.compile(r"<\s*/?\s*private\b", re.IGNORECASE)
_ORDINARY = (GitmemError, OSError, sqlite3.Error, ValueError, LookupError)


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

        workspace, _ = _here(payload)
        if payload.get("source") in FORGETFUL:
            session = session_files.session_of(payload)
            session_files.forget(workspace.state, session)
            prompt_choice.drop(workspace.private_state, session)
        return _start(workspace, payload, loaded)
    except _ORDINARY as error:
        return _nothing(payload, "session start", error)


def user_prompt(payload: Mapping[str, Any], leave: Callable[[Job], None] | None = None) -> str:
    """What bears on a prompt: at most two memories that this session has not seen, and more in a line each.

    Before them comes what a model chose for the prompt before; for this one it is asked in the background.
    After them comes, once, what the person said in this session that may last and is in no memory.

    Args:
        payload: the client's JSON for UserPromptSubmit.
        leave: leaves a job for the worker; None where no model may be asked.

    Returns:
        Text of fewer than 10,000 characters; empty where nothing fits, or trouble.
    """
    try:
        prompt = payload.get("prompt")
        if not isinstance(prompt, str) or not prompt.strip():
            return ""
        workspace, edges = _here(payload)
        session = session_files.session_of(payload)
        seen = session_files.seen(workspace.state, session)
        recalls = "prompt" in workspace.settings.words("recallAt")
        text = ""
        if recalls:
            asked = (
                prompt
                if len(prompt) <= 2 * ASKED_CHARS
                else f"{prompt[:ASKED_CHARS]}\n{prompt[-ASKED_CHARS:]}"
            )
            answer = prompted(
                workspace,
                edges,
                asked,
                shown=frozenset(seen),
                first=_chosen_before(workspace, session),
                tools=partial(_tools, payload),
                prefer=_agent(payload),
            )
            memories, named = _memories(answer) if answer else ("", [])
            commits, more = _commits(workspace, asked, seen)
            if memories or commits:
                shown = [*named, *more]
                session_files.remember(workspace.state, session, [*seen, *shown])
            if answer and memories and leave is not None:
                from gitmem.flows import last_recalls

                last_recalls.keep(workspace, edges, answer)
            text = "\n".join(filter(None, (memories, commits)))
        if recalls and leave is not None and _may_ask(workspace, edges, payload, prompt):
            from gitmem.app.spool import SELECT, Job

            leave(
                Job(
                    event=SELECT,
                    worktree=str(edges.cwd),
                    session_id=session,
                    time=edges.now,
                    args=(prompt,),
                )
            )
        waiting = workspace.private_state / session_files.REMINDERS
        if leave is not None and waiting.is_dir() and _tells(workspace, edges):
            from gitmem.ledger import reminders

            state = reminders.state_of(workspace.private_state, workspace.project_id)
            text = "\n".join(filter(None, (text, reminders.take(state, session))))
        return text
    except _ORDINARY as error:
        return _nothing(payload, "prompt", error)


def _chosen_before(workspace: Workspace, session: str) -> Sequence[Candidate]:
    """What a model chose for the prompt before this one."""
    if not (workspace.private_state / session_files.CHOSEN / session).is_file():
        return ()
    from gitmem.app import prompt_choice  # few let a model choose

    return prompt_choice.take(workspace.private_state, session)


def _memories(answer: Recall) -> tuple[str, list[str]]:
    """What was recalled, in words, and the contents whose text is in it."""
    from gitmem.search.recall import for_prompt  # most prompts call nothing up

    memories, told = for_prompt(answer)
    return memories, [item.blob for item in told]


def _commits(workspace: Workspace, prompt: str, seen: Collection[str]) -> tuple[str, list[str]]:
    """What the code's own history says to a prompt, and the names of its commits; nothing is made."""
    if not (workspace.state / COMMITS).is_file() or not workspace.settings.flag("recallCommits"):
        return "", []
    from gitmem.flows import code_commits  # a new clone has no index of its commits yet
    from gitmem.rules.redaction import suspects

    found = code_commits.find_commits(
        workspace, prompt, suspects, unasked=True, seen=seen, seconds=code_commits.PROMPT_SECONDS
    )
    return code_commits.as_context(found), [one.commit for one in found]


def _tells(workspace: Workspace, edges: Edges) -> bool:
    """Whether the engine in force tells agents of what may last."""
    name = workspace.settings.values.get("engine", "").rsplit("\n", 1)[-1]
    return name in ("", TELLING) and not paused(workspace.state, edges.now)


def _tools(payload: Mapping[str, Any]) -> frozenset[str]:
    from gitmem.app.tools_in_use import tools_in_use  # most prompts call up no reference

    return tools_in_use(payload.get("transcript_path"))


def _agent(payload: Mapping[str, Any]) -> str:
    """The folder of the subagent that a hook fires in; empty for the assistant itself."""
    name = payload.get("agent_type")
    if not payload.get("agent_id") or not isinstance(name, str):
        return ""
    from gitmem.ledger.holdings import chosen_agent

    with suppress(GitmemError):
        return chosen_agent(name) or ""
    return ""


def _may_ask(workspace: Workspace, edges: Edges, payload: Mapping[str, Any], prompt: str) -> bool:
    """Whether a model is to be asked what bears on a prompt; the worker looks for secrets."""
    engine, _ = configured(workspace)
    return (
        engine in MODELS
        and not payload.get("agent_id")
        and len(prompt) <= LONGEST_PROMPT
        and len(prompt.split()) >= FEWEST_WORDS
        and not _PRIVATE.search(prompt)
        and not paused(workspace.state, edges.now)
    )


def _here(payload: Mapping[str, Any]) -> tuple[Workspace, Edges]:
    given = payload.get("cwd")
    edges = real_edges(Path(given) if isinstance(given, str) and given else None)
    return by_command(initialised_at(edges), fetches=False), edges


def _nothing(payload: Mapping[str, Any], what: str, error: Exception) -> str:
    """The empty answer, with a line in the repository's log that says why."""
    with suppress(OSError, ValueError):
        place = find_initialised(Path(str(payload.get("cwd") or "")))
        if place is not None:
            log(place[1], f"{what}: {type(error).__name__}: {error}")
    return ""


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
    team = workspace.auto_memory / "team" if workspace.auto_memory is not None else None
    if team is None or not team.is_dir():
        yield workspace.scope("project")


def _index(workspace: Workspace, scope: Scope) -> Iterator[str]:
    """The index of a scope's `main` as a client would load it; none where it is empty."""
    from gitmem.core import index
    from gitmem.core.text import decode
    from gitmem.git.repository import MissingObject
    from gitmem.git.trees import read_file
    from gitmem.ledger.holdings import index_as_loaded
    from gitmem.ledger.taint import told

    repo = scope.repo
    tip = repo.ref(scope.ref)
    path = f"{MAIN}/{index.INDEX}"
    data = (read_file(repo, repo.commit(tip).tree, path) if tip else None) or b""
    if tip is None or not data.strip():
        return
    if scope.name == "project":
        try:
            data = told(workspace, path, data)
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
    from gitmem.flows.code_reach import unmerged
    from gitmem.ledger.lookup import headers  # a prompt shows no index

    listed = headers(workspace, "project", MAIN, missed={})
    away = {one.file for one in unmerged(workspace, listed, PROMPT_SECONDS)}
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
