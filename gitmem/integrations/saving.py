"""Saves every live directory of a repository, and lays out those that are missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from gitmem.integrations.edges import Edges, allowed_fingerprints, author
from gitmem.memory.merge import kind
from gitmem.memory.trailers import Provenance
from gitmem.sessions.claude_code import read_session
from gitmem.sessions.discover import sessions_of
from gitmem.sessions.session import Session
from gitmem.store.history import author_times
from gitmem.store.live import Saved, look, save
from gitmem.store.live_plan import Request
from gitmem.store.record import read_record
from gitmem.store.repository import TREE, Signature
from gitmem.store.trees import list_files
from gitmem.store.workspace import MAIN, LiveDirectory, ScopeName, Workspace

WRITING_TOOLS = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})

RECENT_SESSIONS = 4
"""Sessions that are read to tell an agent's edit from a person's: those written to last."""


def save_all(
    workspace: Workspace,
    edges: Edges,
    sessions: Sequence[Session] = (),
    *,
    delete: bool = False,
    everywhere: bool = False,
    fresh: bool = False,
) -> tuple[Saved, ...]:
    """Brings live directories and refs together.

    Args:
        sessions: recordings whose tool calls show what an agent wrote; found where none are given.
        delete: whether files that vanished are deletions, however many.
        everywhere: in all work trees, not just the present one.
        fresh: also lay out agents' memory where its folder never was.

    Returns:
        One result for each directory; a directory that had nothing to do has neither commits nor files.
    """
    done = []
    for live in directories(workspace, everywhere=everywhere, fresh=fresh):
        request = request_for(workspace, live, edges, delete=delete)
        peek = look(request)
        if not peek.plan.edits and not _differs(peek) and _known(live):
            done.append(peek)
            continue
        provenance = _provenance(workspace, edges, peek, sessions) if peek.plan.edits else Provenance()
        done.append(save(replace(request, provenance=provenance)))
    return tuple(done)


def sync_live(
    workspace: Workspace, edges: Edges, scope: ScopeName, agent: str, *, lay_out: bool = False
) -> None:
    """Saves one agent's live directories of a scope, in every work tree that has one.

    Args:
        agent: folder name in the tree.
        lay_out: make the folder of the present work tree where the agent is used but has none yet.
    """
    here = workspace.live_directory(scope, agent)
    shown = [workspace.live_directory(scope, agent, tree.path) for tree in workspace.worktrees]
    for live in {one.path: one for one in [here, *shown] if one is not None}.values():
        wanted = lay_out and live == here and _agent_is_used(workspace, live)
        if live.path.is_dir() or wanted:
            save(request_for(workspace, live, edges))


def look_all(workspace: Workspace, edges: Edges) -> tuple[Saved, ...]:
    """What `save_all` would do in the present work tree, without writing."""
    nobody = Signature("", "", int(edges.now))
    return tuple(look(request_for(workspace, live, edges, who=nobody)) for live in directories(workspace))


def directories(
    workspace: Workspace, *, everywhere: bool = False, fresh: bool = False
) -> tuple[LiveDirectory, ...]:
    """Live directories that are, or should be, there: laid out once, or (`fresh`) of an agent in use."""
    here = workspace.layout.worktree
    tops = [tree.path for tree in workspace.worktrees] if everywhere else [here] if here else []
    found: dict[Path, LiveDirectory] = {}
    for top in tops:
        for live in workspace.live_directories(top):
            found.setdefault(live.path, live)
        for live in _remembered(workspace, top):
            record = read_record(live.scope.state, live.key)
            if live.path in found or (record and record.code_head):
                # What the code branch tracked goes and comes with it: laid out, it would block a checkout.
                continue
            if record or (fresh and _agent_is_used(workspace, live)):
                found[live.path] = live
    return tuple(found.values())


def historic_times(live: LiveDirectory) -> dict[str, float]:
    """Modification times for files that gitmem creates: the author time of their last change."""
    tip = live.scope.repo.ref(live.scope.ref)
    if tip is None or (live.path.is_dir() and any(live.path.iterdir())):
        return {}
    return {name: float(time) for name, time in author_times(live.scope.repo, tip, live.agent).items()}


def request_for(
    workspace: Workspace,
    live: LiveDirectory,
    edges: Edges,
    *,
    delete: bool = False,
    adopt: bool = False,
    who: Signature | None = None,
) -> Request:
    """What is to be saved of one directory, with all that the core must not look up itself.

    Args:
        who: named in the commit; the person where None, which needs an identity.
    """
    head, files = _code_state(workspace, live) if live.tracked else ("", {})
    return Request(
        live,
        edges.now,
        who or author(workspace, edges),
        allow=allowed_fingerprints(workspace),
        delete=delete,
        adopt=adopt,
        code_head=head,
        code_files=files,
        times=historic_times(live),
    )


def _known(live: LiveDirectory) -> bool:
    return read_record(live.scope.state, live.key) is not None


def _differs(saved: Saved) -> bool:
    """Whether the directory shows something else than it should."""
    record = read_record(saved.live.scope.state, saved.live.key)
    if saved.live.tracked or (record is not None and record.pinned):
        return False
    from gitmem.store.scan import scan

    return dict(scan(saved.live).files) != dict(saved.plan.target)


def _remembered(workspace: Workspace, top: Path) -> Iterator[LiveDirectory]:
    """Where the agents that the refs hold would be laid out in a work tree."""
    for scope in workspace.scopes:
        tip = scope.repo.ref(scope.ref)
        if tip is None:
            continue
        for name, entry in scope.repo.tree(scope.repo.commit(tip).tree).items():
            if entry.mode == TREE:
                live = workspace.live_directory(scope.name, name, top)
                if live is not None:
                    yield live


def _agent_is_used(workspace: Workspace, live: LiveDirectory) -> bool:
    """Whether a folder may be made: the client is there, and for subagents of everyone, too."""
    if live.agent == MAIN or live.scope.name == "user":
        return workspace.around.config.is_dir()
    return True


def _code_state(workspace: Workspace, live: LiveDirectory) -> tuple[str, dict[str, str]]:
    """The code commit a work tree stands on, and the blobs it has in a tracked live directory."""
    head = workspace.git.run(["rev-parse", "--verify", "-q", "HEAD"], cwd=live.anchor, check=False).text
    if not head:
        return "", {}
    under = live.path.relative_to(live.anchor).as_posix()
    files = list_files(workspace.code, workspace.code.commit(head).tree, under)
    return head, {path.removeprefix(f"{under}/"): oid for path, oid in files.items()}


def _provenance(workspace: Workspace, edges: Edges, peek: Saved, sessions: Sequence[Session]) -> Provenance:
    """Whose edit this is: the agent's where a recording shows the tool call for every file."""
    live = peek.live
    changed = {
        str(live.path / path.removeprefix(f"{live.agent}/"))
        for path in peek.plan.edits
        if kind(path) == "memory"
    }
    code = code_head(workspace)
    for session in sessions or _recent(workspace, edges):
        written: dict[str, str] = {}
        for message in session.messages:
            for call in message.tools:
                target = call.input.get("file_path")
                if call.name in WRITING_TOOLS and isinstance(target, str) and not call.is_error:
                    written[str(Path(target))] = message.uuid
        if changed and changed <= written.keys():
            uuids = [message.uuid for message in session.messages if message.uuid in written.values()]
            return Provenance(
                writer="agent", session=session.id, messages=(uuids[0], uuids[-1]), code_commit=code
            )
    return Provenance(writer="human", code_commit=code)


def code_head(workspace: Workspace) -> str:
    """The code commit that the present work tree stands on; empty on an unborn branch."""
    top = workspace.layout.worktree
    return workspace.git.run(["rev-parse", "--verify", "-q", "HEAD"], cwd=top, check=False).text


def _recent(workspace: Workspace, edges: Edges) -> list[Session]:
    trees = [tree.path for tree in workspace.worktrees]
    files = sessions_of(edges.config, trees)[-RECENT_SESSIONS:]
    return [read_session(file.path) for file in reversed(files)]
