"""What an agent is told with a prompt: what bears on it, and what it may have to keep.

Everything is stated as fact and fenced as data: memory is never an instruction. A hook waits for this, so
it reads git through a few commands and never fails for ordinary trouble: then nothing is said.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gitmem.app.context import real_edges
from gitmem.core.errors import GitmemError
from gitmem.flows.context import Edges, by_command, initialised_at
from gitmem.flows.pause import is_paused
from gitmem.flows.place import find_initialised
from gitmem.flows.prompt_recall import MODELS, TELLING, prompt_engine, recall_for_prompt
from gitmem.ledger import session_files
from gitmem.ledger.files import COMMITS, log
from gitmem.ledger.workspace import Workspace

if TYPE_CHECKING:
    from gitmem.app.spool import Job
    from gitmem.search.query import Candidate
    from gitmem.search.recall import Recall

LONGEST_PROMPT = 4_000
"""Characters of a prompt that a model is asked about: what is pasted into a longer one stays here."""

ASKED_CHARS = 10_000
"""Of a longer prompt its beginning and its end are searched with: a whole log may be pasted into it."""

FEWEST_WORDS = 3
"""Of a prompt that a model is asked about: "yes, do that" says nothing of what is needed."""

# More than `transcripts.privacy` cuts out: a tag that is cut off in its midst keeps the prompt here, too.
_PRIVATE = re.compile(r"<\s*/?\s*private\b", re.IGNORECASE)
ORDINARY = (GitmemError, OSError, sqlite3.Error, ValueError, LookupError)


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
        workspace, edges = here(payload)
        session = session_files.session_of(payload)
        seen = session_files.read_keys(workspace.state, session)
        recalls = "prompt" in workspace.settings.words("recallAt")
        text = ""
        if recalls:
            asked = (
                prompt
                if len(prompt) <= 2 * ASKED_CHARS
                else f"{prompt[:ASKED_CHARS]}\n{prompt[-ASKED_CHARS:]}"
            )
            answer = recall_for_prompt(
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
    except ORDINARY as error:
        return nothing(payload, "prompt", error)


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
    return name in ("", TELLING) and not is_paused(workspace.state, edges.now)


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
    engine, _ = prompt_engine(workspace)
    return (
        engine in MODELS
        and not payload.get("agent_id")
        and len(prompt) <= LONGEST_PROMPT
        and len(prompt.split()) >= FEWEST_WORDS
        and not _PRIVATE.search(prompt)
        and not is_paused(workspace.state, edges.now)
    )


def here(payload: Mapping[str, Any]) -> tuple[Workspace, Edges]:
    """The memory that a hook is about, read through git alone, and the surroundings."""
    given = payload.get("cwd")
    edges = real_edges(Path(given) if isinstance(given, str) and given else None)
    return by_command(initialised_at(edges, shows=False), fetches=False), edges


def nothing(payload: Mapping[str, Any], what: str, error: Exception) -> str:
    """The empty answer, with a line in the repository's log that says why."""
    with suppress(OSError, ValueError):
        place = find_initialised(Path(str(payload.get("cwd") or "")))
        if place is not None:
            log(place[1], f"{what}: {type(error).__name__}: {error}")
    return ""
