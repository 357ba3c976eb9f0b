"""What a job of the spool is about: its work trees, and the conversations that are to be learned from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gitmem.app.context import real_edges
from gitmem.app.spool import Job
from gitmem.core import frontmatter
from gitmem.core.errors import UsageError
from gitmem.core.names import agent_name, unsafe_segment
from gitmem.core.text import decode
from gitmem.flows.context import Edges
from gitmem.flows.extract.sessions import SessionSource
from gitmem.flows.memory_trees import is_memory_tree
from gitmem.flows.place import find_repository
from gitmem.git.command import GitCommand
from gitmem.git.config import worktrees
from gitmem.ledger.files import linked, read_regular
from gitmem.ledger.job_record import RunTally
from gitmem.ledger.workspace import MAIN, SCOPES, ScopeName, Workspace
from gitmem.transcripts.claude_code import NAME as CLAUDE_CODE
from gitmem.transcripts.discover import is_transcript, subagents
from gitmem.transcripts.model import SessionFile

GOING_ON = 3_600.0
"""Seconds since its last record within which a session of which no end was heard counts as going on."""

PRESSING = frozenset({"session-end", "pre-compact"})
"""Events after which a session is looked at however little was said in it."""

AGENTS = "agents"
DEFINITION_BYTES = 262_144
"""Of a definition: the frontmatter stands at its beginning."""


def edges_of(common: Path, job: Job, environ: Mapping[str, str]) -> Edges | None:
    """The outside world of a job: its newest work tree that shows this repository's code, else any such."""
    for named in reversed(job.worktrees):
        place = find_repository(Path(named)) if named.startswith("/") and "\0" not in named else None
        here = place is not None and place[1] == common and place[0].is_dir()
        if place is not None and here and not is_memory_tree(place[0]):
            return replace(real_edges(place[0]), environ=dict(environ))
    for tree in worktrees(GitCommand(environ), None, git_dir=common):
        usable = not tree.bare and not tree.prunable and tree.path.is_dir()
        if usable and not is_memory_tree(tree.path):
            return replace(real_edges(tree.path), environ=dict(environ))
    return None


def sources(files: Sequence[SessionFile], job: Job, now: float) -> Iterator[SessionSource]:
    """Sessions of `main`: those that ended are looked at now, and at a start all that others left."""
    parts = job.all
    urgent = {part.session_id for part in parts if part.event in PRESSING}
    begun = [part.session_id for part in parts if part.event == "session-start"]
    over, early = ended(job), beginning(job)
    for file in files:
        if file.id in early:
            continue
        pressing = file.id in urgent or "" in urgent or any(file.id != id for id in begun)
        # Its hooks tell a session of Claude Code something with the next prompt, if there is one.
        recent = file.client == CLAUDE_CODE and now - file.mtime_ns / 1e9 < GOING_ON
        yield SessionSource(file.path, pressing=pressing, attended=recent and file.id not in over)


def beginning(job: Job) -> frozenset[str]:
    """Sessions of which is heard only that they began: they are in their first turn, or about to be."""
    # Events of git name no session: they are about all.
    heard_of = {part.session_id for part in job.all if part.event != "session-start"}
    return frozenset(() if "" in heard_of else {part.session_id for part in job.all} - heard_of)


def ended(job: Job) -> tuple[str, ...]:
    """Sessions that ended, as far as a job tells."""
    return tuple(part.session_id for part in job.all if part.event == "session-end")


def subagent_sources(
    workspace: Workspace, edges: Edges, job: Job, files: Sequence[SessionFile], tally: RunTally
) -> Iterator[SessionSource]:
    """Sessions of subagents that ended and have a memory; at a start also those of which no hook told."""
    tops = [tree.path.resolve() for tree in workspace.worktrees]
    parts = job.all
    told: set[Path] = set()
    for part in dict.fromkeys(part for part in parts if part.event == "subagent-stop"):
        where = edges_of(workspace.layout.common_dir.resolve(), part, edges.environ) or edges
        agent, label = agent_folder(part.agent), f"agent {part.agent}"
        scope = memory_scope(part.agent, where.cwd, workspace.claude_folder, edges.config)
        if agent is None or scope is None:
            tally.skip(label, "its definition names no memory")
        elif not is_transcript(Path(part.session_path), edges.config, tops):
            tally.skip(label, "its transcript does not lie where the client keeps them")
        else:
            told.add(Path(part.session_path))
            yield SessionSource(Path(part.session_path), agent, scope)
    if any(part.event == "session-start" for part in parts):
        # Where a person interrupts, no SubagentStop comes.
        scopes: dict[str, ScopeName | None] = {}
        for path, name in subagents(files):
            if name not in scopes:
                scopes[name] = memory_scope(name, edges.cwd, workspace.claude_folder, edges.config)
            agent, scope = agent_folder(name), scopes[name]
            if path in told or agent is None or scope is None:
                continue
            if is_transcript(path, edges.config, tops):
                yield SessionSource(path, agent, scope)


def memory_scope(name: str, worktree: Path | None, claude_folder: str, config: Path) -> ScopeName | None:
    """The scope that a subagent's definition names; None where it has no memory.

    The work tree's definition wins over the person's own, as it does for the client. It is a repository's,
    and hostile: of all that it says, one of three words counts.

    Args:
        name: the agent's name, as a hook said it.
        worktree: top of the work tree.
        claude_folder: name of the client's folder in it.
        config: the client's folder of the person.
    """
    if agent_folder(name) is None or unsafe_segment(f"{name}.md") is not None:
        return None
    places = [(worktree, worktree / claude_folder / AGENTS)] if worktree is not None else []
    for anchor, where in [*places, (config, config / AGENTS)]:
        path = where / f"{name}.md"
        if linked(anchor, path):
            continue
        try:
            found = read_regular(path, DEFINITION_BYTES)
        except OSError:
            continue
        if found is None:
            continue
        front, _ = frontmatter.split(decode(found[0][:DEFINITION_BYTES]))
        said = front.text("memory").strip().lower() if front else ""
        return next((scope for scope in SCOPES if scope == said), None)
    return None


def agent_folder(name: str) -> str | None:
    """The agent's folder in a memory tree; None where no subagent can be called so."""
    try:
        made = agent_name(name)
    except UsageError:
        return None
    return made if made != MAIN and Path(name).name == name else None
