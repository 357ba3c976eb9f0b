"""What the worker does for a job: one table of steps, and one policy for those that fail.

Steps are done in order, and each whatever became of the others. One that fails is left alone for a while
(`ledger.failures`). Where nothing else would look at what it was to do, the job is tried again; else the
next job makes up for it. Two failures are not the step's: an engine's, for which jobs wait as long as it
takes, and a signal's, which ends the worker.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from gitmem.app.context import real_edges
from gitmem.app.spool import SELECT, Job, coalesce
from gitmem.core import frontmatter
from gitmem.core.errors import EngineError, GitmemError, Resting, UsageError
from gitmem.core.names import agent_name, unsafe_segment
from gitmem.core.text import decode, iso, one_line
from gitmem.flows.context import Edges, workspace_at
from gitmem.flows.extract.run import ChangeSet, ExtractWatch, extract_sessions, park_untold, quietly
from gitmem.flows.extract.run import Step as Killable
from gitmem.flows.extract.sessions import SessionSource
from gitmem.flows.memory_trees import is_memory_tree
from gitmem.flows.notices import NAME_CHARS, leave
from gitmem.flows.pause import is_paused, switched_off
from gitmem.flows.place import DISABLE, find_repository, is_on
from gitmem.flows.sessions import present_session, sessions_here
from gitmem.git.command import GitCommand
from gitmem.git.config import worktrees
from gitmem.ledger import failures
from gitmem.ledger.code_rewrites import keep_rewrites
from gitmem.ledger.files import has_link, log, read_regular
from gitmem.ledger.job_record import RunTally, fit, recorded
from gitmem.ledger.land import Written
from gitmem.ledger.workspace import MAIN, SCOPES, ScopeName, Workspace
from gitmem.transcripts.claude_code import NAME as CLAUDE_CODE
from gitmem.transcripts.discover import is_transcript, subagents
from gitmem.transcripts.model import SessionFile

if TYPE_CHECKING:
    from gitmem.engines.engine import Engine
    from gitmem.transcripts.model import SessionFile

CHOICE_SECONDS = 600.0
"""After which a prompt is no longer chosen for: the conversation has gone on."""


@dataclass(frozen=True)
class RunningJob:
    """A job under way.

    Attributes:
        common: the common git directory.
        job: what hooks saw; its texts are hostile.
        environ: without git's variables of the moment.
        watch: counts what is done, and is told before each step of an extraction.
    """

    common: Path
    job: Job
    workspace: Workspace
    edges: Edges
    environ: Mapping[str, str]
    watch: ExtractWatch

    @cached_property
    def engine(self) -> Engine:
        """Who thinks."""
        from gitmem.flows.engines import engine_for

        return engine_for(self.workspace, self.edges)

    @cached_property
    def files(self) -> Sequence[SessionFile]:
        """The repository's sessions, the oldest change first."""
        return sessions_here(self.workspace, self.edges)

    @cached_property
    def off(self) -> str:
        """Why nothing is learned from sessions here now; empty where it is."""
        if self.workspace.settings.get("extract") == "off":
            return "gitmem.extract is off"
        if is_paused(self.workspace.state, self.edges.now):
            return "paused: git mem unpause"
        why = switched_off(self.environ, self.edges.config, self.workspace.layout.worktree)
        return f"switched off by {why}" if why else ""

    @cached_property
    def news(self) -> Job:
        """The job without prompts, of which nothing is learned before their turn ends."""
        return coalesce(part for part in self.job.all if part.event != SELECT)

    def of(self, events: frozenset[str]) -> list[tuple[Job, Edges]]:
        """The parts of some events, each with the outside world of its work tree."""
        parts = [part for part in self.job.all if part.event in events]
        return [(part, edges_of(self.common, part, self.edges.environ) or self.edges) for part in parts]


@dataclass(frozen=True)
class WorkerStep:
    """One thing that the worker does.

    Attributes:
        name: as status and records say it.
        run: does it, and raises what went wrong.
        on: the events of hooks that call for it; every one where empty.
        besides: events that do not.
        stays: what failed is this job's alone, which is tried again; else any later job makes up for it.
        asks: may ask an engine, within its ceiling of the day (`engines.budget`), and is left out where it
            failed this job already: it would fail, and might cost, again.
    """

    name: str
    run: Callable[[RunningJob], None]
    on: frozenset[str] = frozenset()
    besides: frozenset[str] = frozenset({SELECT})
    stays: bool = False
    asks: bool = False

    def called_by(self, events: frozenset[str]) -> bool:
        """Whether one of some events calls for it."""
        return bool(events & self.on if self.on else events - self.besides)


def run_steps(work: RunningJob, steps: Sequence[WorkerStep] | None = None) -> None:
    """Does what a job calls for.

    Args:
        steps: `STEPS` where None.

    Raises:
        EngineError: an engine failed; the job waits until one answers.
        Resting: a step rests that the job needs; the job waits.
        Exception: what the first such step raised; the job is tried again, at no loss.
    """
    events, tally = frozenset(work.job.events), work.watch.tally
    state, now = work.workspace.state, work.edges.now
    known = failures.of_kind(state, "step")
    waits: list[GitmemError] = []
    broken: list[Exception] = []
    for step in STEPS if steps is None else steps:
        before = known.get(step.name)
        if not step.called_by(events):
            continue
        if step.asks and any(isinstance(one, EngineError) and not one.of_input for one in waits):
            tally.skip(step.name, "the engine failed; it is asked with the next job")
        elif before is not None and before.holds(now):
            why = f"it failed {before.times} times: {before.why}; it rests until {iso(before.until)}"
            tally.skip(step.name, why)
            if step.stays:
                waits.append(Resting(f"{step.name}: {why}", "Try it now: git mem jobs --retry"))
        else:
            try:
                step.run(work)
            except EngineError as error:
                waits.append(error)
            except Exception as error:
                _note(work, step, error)
                broken += [error] if step.stays else []
            else:
                if before is not None:
                    failures.clear(state, "step", step.name)
    for failure in (*broken, *waits):
        raise failure


def _note(work: RunningJob, step: WorkerStep, error: Exception) -> None:
    """Leaves word of a failure; what raised no error of gitmem's own is named by its kind."""
    known = isinstance(error, GitmemError)
    why = fit(error.message if known else f"{type(error).__name__}: {error}")  # type: ignore[attr-defined]
    log(work.common, f"{step.name}: {why}")
    work.watch.tally.skip(step.name, why)
    failures.note_failure(work.workspace.state, "step", step.name, work.edges.now, why=why)


def _choose(work: RunningJob) -> None:
    """Asks the model about prompts, of each session the newest, and keeps each choice for its next one.

    What goes wrong is noted and not tried again: the next prompt asks anew.
    """
    from gitmem.app import prompt_choice as picked
    from gitmem.flows.prompt_recall import MODELS, prompt_engine
    from gitmem.flows.recall import choose_ahead
    from gitmem.ledger import session_files

    workspace, tally = work.workspace, work.watch.tally
    asked = {part.session_id: part for part in work.job.all if part.event == SELECT and part.args}
    engine, _ = prompt_engine(workspace)
    for part in sorted(asked.values(), key=lambda part: part.time):
        session = session_files.plain(part.session_id)
        if engine not in MODELS or work.edges.now - part.time > CHOICE_SECONDS:
            continue
        shown = frozenset(session_files.read_keys(workspace.state, session))
        try:
            selection, tally.engine = choose_ahead(workspace, work.edges, engine, part.args[0], shown)
        except GitmemError as error:
            tally.skip("a choice of memories for a prompt", error.message)
            continue
        picked.keep(workspace.private_state, session, selection.chosen)


def _rewrites(work: RunningJob) -> None:
    if pairs := [pair for part in work.job.all for pair in part.rewritten]:
        keep_rewrites(work.workspace.state, pairs)


def _checkout(work: RunningJob) -> None:
    """Follows what was checked out, in each work tree once."""
    from gitmem.app.client_setup import after_checkout

    found: dict[Path, bool] = {}
    for part, there in work.of(_FOLLOWS_CODE):
        # Git gives the hook a null name for what stood there before.
        new = part.event == "checkout" and bool(part.args) and not part.args[0].strip("0")
        found[there.cwd] = found.get(there.cwd, False) or new
    for cwd, new in found.items():
        place = replace(work.edges, cwd=cwd)
        after_checkout(workspace_at(place), place, new=new)


def _merge(work: RunningJob) -> None:
    """Takes in what git fetched of shared memory; a sync says to a person what cannot be."""
    from gitmem.flows.exchange import after_merge

    for line in after_merge(work.workspace, work.edges):
        log(work.common, line)


def _rules(work: RunningJob) -> None:
    """Moves memories that became rules of the code, or are rules no more."""
    from gitmem.flows.promote import follow_rules

    for line in follow_rules(work.edges, [there.cwd for _, there in work.of(_RULES_CHANGE)]):
        log(work.common, line)


def _commits(work: RunningJob) -> None:
    """Stores what commits of the code plainly ask for."""
    from gitmem.flows.extraction import commits_learned

    tally, asked = work.watch.tally, commits_learned(work.workspace, work.edges)
    tally.stored += len(asked.stored)
    tally.forgotten += len(asked.forgotten)
    tally.suggested += len(asked.suggested)
    tally.refused += len(asked.refused)
    tally.log += [*asked.notes, *(f"not stored: {one.text}: {one.reason}" for one in asked.refused)]


def _sessions(work: RunningJob) -> None:
    """Saves what agents and people wrote, and extracts from the repository's sessions."""
    from gitmem.flows.extraction import context_of
    from gitmem.flows.save import save_all

    workspace, edges, tally = work.workspace, work.edges, work.watch.tally

    def save(recordings: Sequence[Path]) -> object:
        # The client may be newer here than gitmem: only now there is somewhere to lay memory out.
        return save_all(workspace, edges, recordings, everywhere=True, fresh=True)

    if work.off:
        tally.skip("extraction", work.off)
        save(())
        return

    def landed(changes: ChangeSet, commits: Sequence[Written | None]) -> None:
        made = [placed for placed, one in zip(changes.stored, commits, strict=True) if one is not None]
        names = [
            f"{one_line(one.change.name, NAME_CHARS)}{' (forgotten)' if one.change.op == 'delete' else ''}"
            for one in made or changes.stored
        ]
        leave(workspace.state, changes.session, changes.job, names, len(changes.suggested))

    found = [
        *sources(work.files, work.news, edges.now),
        *subagent_sources(workspace, edges, work.news, work.files, tally),
    ]
    context = context_of(workspace, edges)
    failed: EngineError | None = None
    try:
        extract_sessions(context, work.engine, found, before=save, watch=replace(work.watch, landed=landed))
    except EngineError as error:
        # What waits to be told is parked without it.
        failed = error
    for session, number in park_untold(context, ended(work.news)):
        leave(workspace.state, session, "untold", (), number)
        tally.suggested += number
    if failed is not None:
        raise failed


def _notes(work: RunningJob) -> None:
    """Takes notes of sessions; before a compaction without the engine, where that fails."""
    from gitmem.flows.notes import take_notes

    if not work.off:
        early = beginning(work.news)
        files = [file for file in work.files if file.id not in early]
        take_notes(work.workspace, work.edges, work.engine, files, work.news.named, work.watch.tally)


def _documents(work: RunningJob) -> None:
    """Proposes what makes living documents true again, of each work tree that got new commits."""
    from gitmem.flows.documents import keep_documents

    for cwd in dict.fromkeys(there.cwd for _, there in work.of(_COMMITS_COME)):
        place = replace(work.edges, cwd=cwd)
        keep_documents(workspace_at(place), place, work.watch.tally)


def _dream(work: RunningJob) -> None:
    """Consolidates where it is time; a session that ended counts, one that goes on does not."""
    from gitmem.flows.dream import maybe_dream

    told = {part.session_id for part in work.news.all} | present_session(work.environ)
    present = frozenset(told - {*ended(work.news), ""})
    maybe_dream(work.workspace, work.edges, present, work.watch.tally)


def _upkeep(work: RunningJob) -> None:
    """Packs what is due and keeps indexes warm."""
    from gitmem.app.upkeep import keep_house

    for trouble in keep_house(work.workspace, work.edges):
        log(work.common, f"upkeep: {trouble}")


_FOLLOWS_CODE = frozenset({"checkout", "merge"})
_COMMITS_COME = frozenset({"commit", "rewrite", "merge"})
"""Events after which HEAD has commits that nobody has looked at."""
_RULES_CHANGE = _COMMITS_COME | {"session-start"}
"""What may have changed the rules of HEAD; the start of a session catches up where no hook told of it."""
_NO_NEWS = _FOLLOWS_CODE | {SELECT}

STEPS = (
    WorkerStep("choice", _choose, on=frozenset({SELECT})),
    WorkerStep("rewrites", _rewrites, on=frozenset({"rewrite"}), stays=True),
    WorkerStep("checkout", _checkout, on=_FOLLOWS_CODE, stays=True),
    WorkerStep("merge", _merge, on=frozenset({"merge"})),
    WorkerStep("rules", _rules, on=_RULES_CHANGE),
    WorkerStep("commits", _commits, besides=_NO_NEWS, stays=True),
    WorkerStep("sessions", _sessions, besides=_NO_NEWS, stays=True),
    WorkerStep("notes", _notes, besides=_NO_NEWS, stays=True),
    WorkerStep("documents", _documents, on=_COMMITS_COME, asks=True),
    WorkerStep("dream", _dream, asks=True),
    WorkerStep("upkeep", _upkeep),
)
"""In the order in which they are done: what people ask for comes before what gitmem does unasked."""


def run(common_dir: Path, job: Job, environ: Mapping[str, str], step: Killable = quietly) -> None:
    """Carries a united job out, and leaves a line on what was done.

    Args:
        common_dir: the common git directory.
        job: what hooks saw; its texts are hostile.
        environ: without git's variables of the moment.
        step: is told before each step of an extraction.

    Raises:
        EngineError, Resting: the job waits.
        Exception: something could not be done; the job can be run again at no loss.
    """
    common = common_dir.resolve()
    tally = RunTally(job.events, len(job.all))
    with recorded(common / "gitmem", tally, real_edges(common).now, time.monotonic):
        if why := _run(common, job, environ, ExtractWatch(step, tally=tally)):
            tally.skip("all of it", why)


def _run(common: Path, job: Job, environ: Mapping[str, str], watch: ExtractWatch) -> str:
    """Returns why nothing is done at all; empty where it was."""
    if is_on(environ.get(DISABLE)):
        return f"{DISABLE} is set"
    edges = edges_of(common, job, environ)
    if edges is None:
        log(common, f"{job.event}: no work tree of this repository is there")
        return "no work tree of this repository is there"
    edges = replace(edges, say=watch.tally.log.append)
    workspace = workspace_at(edges)
    if not workspace.initialised:
        return "gitmem is not set up here"
    run_steps(RunningJob(common, job, workspace, edges, environ, watch))
    return ""


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
        if has_link(anchor, path):
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
