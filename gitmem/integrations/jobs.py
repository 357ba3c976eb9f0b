"""What the worker does for a job: follow the code, save, extract, take notes, dream, keep house."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gitmem.app.context import real_edges
from gitmem.app.spool import SELECT, Job, coalesce
from gitmem.core import frontmatter
from gitmem.core.errors import EngineError, GitmemError, UsageError
from gitmem.core.names import agent_name, unsafe_segment
from gitmem.core.text import decode, one_line
from gitmem.flows.context import Edges, workspace_at
from gitmem.flows.extract.changeset import ChangeSet
from gitmem.flows.extract.run import Outcome, Step, Watch, extract_sessions, park_untold, quietly
from gitmem.flows.extract.sessions import Source
from gitmem.flows.memory_trees import is_memory_tree
from gitmem.flows.notices import NAME_CHARS, leave
from gitmem.flows.pause import paused
from gitmem.flows.place import DISABLE, find_repository, is_on
from gitmem.flows.sessions import present_session, sessions_here
from gitmem.flows.switches import switched_off
from gitmem.git.command import GitCommand, worktrees
from gitmem.ledger.files import linked, log, read_regular
from gitmem.ledger.job_record import Tally, recorded
from gitmem.ledger.land import Written
from gitmem.ledger.rewrites import keep_rewrites
from gitmem.ledger.workspace import MAIN, SCOPES, ScopeName, Workspace
from gitmem.transcripts.claude_code import NAME as CLAUDE_CODE
from gitmem.transcripts.discover import is_transcript, subagents
from gitmem.transcripts.model import SessionFile

FOLLOWS_CODE = frozenset({"checkout", "merge"})

GOING_ON = 3_600.0
"""Seconds since its last record within which a session of which no end was heard counts as going on."""

PRESSING = frozenset({"session-end", "pre-compact"})
"""Events after which a session is looked at however little was said in it."""

AGENTS = "agents"
DEFINITION_BYTES = 262_144
"""Of a definition: the frontmatter stands at its beginning."""

STALE = 600.0
"""Seconds after which a prompt is no longer chosen for: the conversation has gone on."""


def run(common_dir: Path, job: Job, environ: Mapping[str, str], step: Step = quietly) -> None:
    """Carries a united job out, and leaves a line on what was done.

    Args:
        common_dir: the common git directory.
        job: what hooks saw; its texts are hostile.
        environ: without git's variables of the moment.
        step: is told before each step of an extraction.

    Raises:
        GitmemError: something could not be done; the job can be run again at no loss.
    """
    common = common_dir.resolve()
    tally = Tally(job.events, len(job.all))
    with recorded(common / "gitmem", tally, real_edges(common).now, time.monotonic):
        _run(common, job, environ, Watch(step, tally=tally))


def _run(common: Path, job: Job, environ: Mapping[str, str], watch: Watch) -> None:
    if is_on(environ.get(DISABLE)):
        watch.tally.skip("all of it", f"{DISABLE} is set")
        return
    edges = edges_of(common, job, environ)
    if edges is None:
        log(common, f"{job.event}: no work tree of this repository is there")
        watch.tally.skip("all of it", "no work tree of this repository is there")
        return
    edges = replace(edges, say=watch.tally.log.append)
    workspace = workspace_at(edges)
    if not workspace.initialised:
        watch.tally.skip("all of it", "gitmem is not set up here")
        return
    asked, rest = prompts_of(job)
    if asked:
        choose_for_prompts(workspace, edges, asked, watch.tally)
    if rest is None:
        return
    job = rest
    if job.rewritten or any(part.rewritten for part in job.all):
        keep_rewrites(workspace.state, [pair for part in job.all for pair in part.rewritten])
    events = frozenset(job.events)
    if events & FOLLOWS_CODE:
        from gitmem.app.checkout import after_checkout

        for place, new in _checked_out(common, job, edges):
            after_checkout(workspace_at(place), place, new=new)
    if "merge" in events:
        from gitmem.flows.exchange import after_merge

        try:
            for line in after_merge(workspace, edges):
                log(common, line)
        except GitmemError as error:
            # A sync says the same to a person; trying again would not help.
            log(common, f"what was fetched of shared memory is left alone: {error}")
    _follow_rules(common, job, edges)
    failed: EngineError | None = None
    if events - FOLLOWS_CODE:
        try:
            learn(workspace, edges, environ, job=job, watch=watch)
        except EngineError as error:
            failed = error
    _keep_documents(common, job, edges, watch.tally)
    from gitmem.flows.dreams.dreaming import maybe_dream

    try:
        maybe_dream(workspace, edges, _present(job, environ), watch.tally)
    except (GitmemError, OSError) as error:
        # The job itself is done, and a dream has gates of its own.
        log(common, f"dream: {error}")
    from gitmem.integrations.upkeep import keep_house

    for trouble in keep_house(workspace, edges):
        log(common, f"upkeep: {trouble}")
    if failed is not None:
        raise failed


def _follow_rules(common: Path, job: Job, edges: Edges) -> None:
    """Moves memories that became rules of the code, or are rules no more."""
    from gitmem.flows.promotion.following import EVENTS, follow_rules

    parts = [part for part in job.all if part.event in EVENTS]
    if not parts:
        return
    places = [(edges_of(common, part, edges.environ) or edges).cwd for part in parts]
    pairs = [pair for part in parts for pair in part.rewritten]
    for line in follow_rules(edges, places, pairs):
        log(common, line)


def _keep_documents(common: Path, job: Job, edges: Edges, tally: Tally) -> None:
    """Proposes what makes living documents true again, of each work tree that got new commits."""
    from gitmem.flows.documents.after_commits import EVENTS, keep_documents

    parts = [part for part in job.all if part.event in EVENTS]
    for cwd in dict.fromkeys((edges_of(common, part, edges.environ) or edges).cwd for part in parts):
        place = replace(edges, cwd=cwd)
        keep_documents(workspace_at(place), place, tally)


def _present(job: Job, environ: Mapping[str, str]) -> frozenset[str]:
    """The sessions that are going on, as far as a job tells; one that ended counts towards a dream."""
    ended = {part.session_id for part in job.all if part.event == "session-end"}
    told = {part.session_id for part in job.all} | present_session(environ)
    return frozenset(told - ended - {""})


def _checked_out(common: Path, job: Job, edges: Edges) -> list[tuple[Edges, bool]]:
    """The work trees of a job in which code was checked out, each with whether it was just made."""
    found: dict[Path, bool] = {}
    for part in job.all:
        if part.event in FOLLOWS_CODE:
            there = edges_of(common, part, edges.environ) or edges
            # Git gives the hook a null name for what stood there before.
            new = part.event == "checkout" and bool(part.args) and not part.args[0].strip("0")
            found[there.cwd] = found.get(there.cwd, False) or new
    return [(replace(edges, cwd=cwd), new) for cwd, new in found.items()]


def learn(
    workspace: Workspace,
    edges: Edges,
    environ: Mapping[str, str],
    *,
    job: Job | None = None,
    watch: Watch | None = None,
) -> tuple[Outcome, ...]:
    """Saves what agents and people wrote, extracts from the repository's sessions, and takes notes of them.

    Raises:
        EngineError: the engine failed; what it was to look at waits for the next job.
    """
    on = watch or Watch()

    from gitmem.flows.save import save_all

    def save(recordings: Sequence[Path]) -> object:
        return save_all(workspace, edges, recordings, everywhere=True)

    from gitmem.flows.extraction import commits_learned, context_of

    asked = commits_learned(workspace, edges)
    on.tally.stored += len(asked.stored)
    on.tally.forgotten += len(asked.forgotten)
    on.tally.suggested += len(asked.suggested)
    on.tally.refused += len(asked.refused)
    on.tally.log += [*asked.notes, *(f"not stored: {one.text}: {one.reason}" for one in asked.refused)]
    why = _off(workspace, edges, environ)
    if why:
        on.tally.skip("extraction", why)
        save(())
        return ()

    def landed(changes: ChangeSet, commits: Sequence[Written | None]) -> None:
        made = [placed for placed, one in zip(changes.stored, commits, strict=True) if one is not None]
        names = [
            f"{one_line(one.change.name, NAME_CHARS)}{' (forgotten)' if one.change.op == 'delete' else ''}"
            for one in made or changes.stored
        ]
        leave(workspace.state, changes.session, changes.job, names, len(changes.suggested))

    from gitmem.flows.engines import engine_for

    files = sessions_here(workspace, edges)
    sources = [*_sources(files, job, edges.now), *_subagents(workspace, edges, job, files, on.tally)]
    engine = engine_for(workspace, edges)
    context = context_of(workspace, edges)
    failed: EngineError | None = None
    done: tuple[Outcome, ...] = ()
    try:
        done = extract_sessions(context, engine, sources, before=save, watch=replace(on, landed=landed))
    except EngineError as error:
        # Before a compaction notes are taken without the engine, too.
        failed = error
    for session, number in park_untold(context, _over(job)):
        leave(workspace.state, session, "untold", (), number)
        on.tally.suggested += number
    from gitmem.flows.session_notes.taking import take_notes

    try:
        take_notes(workspace, edges, engine, files, job.named if job else {}, on.tally)
    except EngineError as error:
        failed = failed or error
    if failed is not None:
        raise failed
    return done


def _off(workspace: Workspace, edges: Edges, environ: Mapping[str, str]) -> str:
    """Why nothing is extracted here now; empty where it is."""
    if workspace.settings.get("extract") == "off":
        return "gitmem.extract is off"
    if paused(workspace.state, edges.now):
        return "paused: git mem unpause"
    why = switched_off(environ, edges.config, workspace.layout.worktree)
    return f"switched off by {why}" if why else ""


def _sources(files: Sequence[SessionFile], job: Job | None, now: float) -> Iterator[Source]:
    """Sessions of `main`: those that ended are looked at now, and at a start all that others left."""
    parts = job.all if job else ()
    ended = {part.session_id for part in parts if part.event in PRESSING}
    begun = [part.session_id for part in parts if part.event == "session-start"]
    over = _over(job)
    for file in files:
        pressing = file.id in ended or "" in ended or any(file.id != id for id in begun)
        # Its hooks tell a session of Claude Code something with the next prompt, if there is one.
        recent = file.client == CLAUDE_CODE and now - file.mtime_ns / 1e9 < GOING_ON
        yield Source(file.path, pressing=pressing, attended=recent and file.id not in over)


def _over(job: Job | None) -> tuple[str, ...]:
    """Sessions that ended, as far as a job tells."""
    return tuple(part.session_id for part in (job.all if job else ()) if part.event == "session-end")


def _subagents(
    workspace: Workspace, edges: Edges, job: Job | None, files: Sequence[SessionFile], tally: Tally
) -> Iterator[Source]:
    """Sessions of subagents that ended and have a memory; at a start also those of which no hook told."""
    tops = [tree.path.resolve() for tree in workspace.worktrees]
    parts = job.all if job else ()
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
            yield Source(Path(part.session_path), agent, scope)
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
                yield Source(path, agent, scope)


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


def session_files(workspace: Workspace, edges: Edges) -> list[Path]:
    """The same, as paths."""
    return [file.path for file in sessions_here(workspace, edges)]


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


def prompts_of(job: Job) -> tuple[tuple[Job, ...], Job | None]:
    """Parts a united job.

    Returns:
        Of each session the newest prompt, oldest first; and the rest, None where there is none.
    """
    if SELECT not in job.events:
        return (), job
    asked = {part.session_id: part for part in job.all if part.event == SELECT and part.args}
    rest = [part for part in job.all if part.event != SELECT]
    return tuple(sorted(asked.values(), key=lambda part: part.time)), coalesce(rest) if rest else None


def choose_for_prompts(workspace: Workspace, edges: Edges, asked: tuple[Job, ...], tally: Tally) -> None:
    """Asks the model about prompts and keeps each choice for its session's next one.

    What goes wrong is noted and not tried again: the next prompt asks anew.
    """
    from gitmem.app import prompt_choice as picked
    from gitmem.flows.recall import MODELS, choose_ahead, configured
    from gitmem.ledger import per_session

    engine, _ = configured(workspace)
    for job in asked:
        session = per_session.plain(job.session_id)
        if engine not in MODELS or edges.now - job.time > STALE:
            continue
        shown = frozenset(per_session.seen(workspace.state, session))
        try:
            selection, tally.engine = choose_ahead(workspace, edges, engine, job.args[0], shown)
        except GitmemError as error:
            tally.skip("a choice of memories for a prompt", error.message)
            continue
        picked.keep(workspace.private_state, session, selection.chosen)
