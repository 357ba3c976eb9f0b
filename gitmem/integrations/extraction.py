"""Extraction carried out: plan a session, keep the plan on disk, commit, park, move the cursor, lay out."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from gitmem.core.change import Change
from gitmem.core.claim import parse_body
from gitmem.core.errors import EngineError
from gitmem.core.merge import kind
from gitmem.core.text import counted
from gitmem.core.trailers import Provenance
from gitmem.engines.engine import Engine, ExtractInput, Extraction
from gitmem.engines.offline import OfflineEngine
from gitmem.extract.changeset import ChangeSet, job_id, to_json
from gitmem.extract.known import Known
from gitmem.extract.near import says
from gitmem.extract.plan import ExtractionPlan, Placed, Rules, plan_extraction
from gitmem.extract.telling import NOTHING, Told
from gitmem.extract.turns import goes_on_to_write
from gitmem.integrations import reminders, stuck
from gitmem.integrations.carrying_out import Step, Watch, carry_out, changesets_folder, quietly, recover
from gitmem.integrations.edges import Edges, author
from gitmem.integrations.extraction_rules import rules_for, rules_of, throttled
from gitmem.integrations.job_record import Tally, fit
from gitmem.integrations.recordings import (
    MOST,
    MOST_FOR_MODEL,
    News,
    Source,
    cursor_name,
    cursors_folder,
    handled,
    label,
    news,
    read,
    reporter,
)
from gitmem.integrations.saying import leave
from gitmem.integrations.session_record import told
from gitmem.store.commits import Written
from gitmem.store.locks import writer_lock
from gitmem.store.parked import Suggestion, park, parked, suggest, suggestion_from_json, to_bytes
from gitmem.store.record import write_atomically
from gitmem.store.repository import Signature
from gitmem.store.trees import read_files
from gitmem.store.workspace import SCOPES, Workspace
from gitmem.transcripts import cursor as cursors
from gitmem.transcripts.cursor import Handled, answered
from gitmem.transcripts.model import Session

FAILURES_BORNE = 2
"""Sessions that an engine may fail at before the rest waits, where it does not say that they are why."""


@dataclass(frozen=True)
class Outcome:
    """What became of one session.

    Attributes:
        commits: what was stored, in order; None in place of what was there already.
        parked: suggestions that wait now (some may have waited before).
    """

    path: Path
    plan: ExtractionPlan
    commits: tuple[Written | None, ...] = ()
    parked: tuple[Suggestion, ...] = ()

    @property
    def stored(self) -> Iterator[tuple[Placed, Written | None, str]]:
        """What was or would be stored, its commit, and its path in the tree."""
        commits = self.commits or (None,) * len(self.plan.stored)
        for placed, made in zip(self.plan.stored, commits, strict=True):
            asked = f"{placed.agent}/{placed.file}"
            edits = made.edits if made else {}
            written = [path for path, data in edits.items() if kind(path) == "memory" and data is not None]
            yield placed, made, asked if asked in edits or not written else written[0]


def extract_sessions(
    workspace: Workspace,
    edges: Edges,
    engine: Engine,
    paths: Sequence[Path | Source],
    *,
    by_hand: bool = False,
    step: Step = quietly,
    before: Callable[[Sequence[Path]], object] | None = None,
    watch: Watch | None = None,
) -> tuple[Outcome, ...]:
    """Extracts from sessions, after what an earlier, interrupted run left.

    Args:
        paths: transcripts, oldest first; a bare path is one of `main` that is looked at now.
        by_hand: the person asked for it: `gitmem.extract=off` counts as `suggest`, and a pause
            keeps back only what was said in it.
        step: is told before each step.
        before: is called with the recordings that hold something new before anything is planned: to save
            what agents wrote.
        watch: looks on; it wins over `step`.

    Returns:
        One outcome for each session with something new in it.

    Raises:
        EngineError: the engine failed; what it was to look at waits, the rest is done, and what people
            plainly asked for is stored all the same.
        RepositoryError: no identity, or a ref cannot be written; nothing is lost, run it again.
        Locked: another extraction is under way.
    """
    on = watch or Watch(step)
    who = author(workspace, edges)
    rules = rules_of(workspace, edges, by_hand)
    done: list[Outcome] = []
    failures: list[EngineError] = []
    # A fork's name has the model of its last session in it.
    asked = engine.name
    with writer_lock(workspace.state, "extract", timeout=60.0):
        recover(workspace, edges, who, on)
        fresh = news(workspace, paths)
        if before is not None:
            before([one.source.path for one in fresh])
        most = MOST_FOR_MODEL if engine.reads_history else MOST
        for one, session in read(workspace, fresh, most=most) if rules.mode != "off" else ():
            mine = rules_for(workspace, rules, one.source, session, edges.now)
            if sum(not error.of_input for error in failures) == FAILURES_BORNE:
                on.tally.skip(label(session), "the engine failed at others")
                _store_asked(workspace, edges, one, mine, who, on)
                continue
            name = cursor_name(session.path)
            if not by_hand and (one_held := stuck.held(workspace.state, name, asked, edges.now)):
                on.tally.skip(label(session), _left_alone(asked, one_held))
                _store_asked(workspace, edges, one, mine, who, on)
                continue
            if too_few := throttled(workspace, one.source, session, mine):
                on.tally.skip(label(session), too_few)
                continue
            try:
                plan = _plan(workspace, edges, engine, one, session, mine)
            except EngineError as error:
                failures.append(error)
                on.tally.skip(label(session), f"{engine.name} failed; it waits")
                if error.of_input:
                    stuck.failed(workspace.state, name, asked, edges.now)
                _store_asked(workspace, edges, one, mine, who, on)
                continue
            stuck.worked(workspace.state, name)
            done.append(_do(workspace, edges, engine, one, session, plan, mine.folders, who, on))
    if failures:
        raise failures[0]
    return tuple(done)


class _AskedOnly(OfflineEngine):
    """The offline rules, as far as they find what was plainly asked for and is not answered yet."""

    def extract(self, given: ExtractInput) -> Extraction:
        found = super().extract(given).changes
        return Extraction(tuple(c for c in found if c.asked and c.origin.first not in given.answered))


def _store_asked(
    workspace: Workspace, edges: Edges, one: News, rules: Rules, who: Signature, on: Watch
) -> None:
    """Stores what a person plainly asked for in a session that another engine is to look at later.

    The cursor stays, so that the engine is still shown all of it.
    """
    engine = _AskedOnly()
    for part, session in read(workspace, [one], keep=False, follow=True):
        plan = _plan(workspace, edges, engine, part, session, rules)
        found = (*(p.change for p in (*plan.stored, *plan.suggested)), *plan.known)
        marks = tuple(dict.fromkeys(answered(change.origin.first) for change in found))
        if not marks:
            continue
        changes = replace(
            _changeset(workspace, edges, engine, session, part.start, plan),
            job=job_id(f"{session.id} asked", part.start, session.end, edges.now),
            handled=marks,
            cursor=("", 0),
        )
        _count(workspace, on.tally, engine, session, plan, len(changes.suggested))
        _carry_out(workspace, edges, changes, who, on)


def _left_alone(engine: str, held: stuck.Stuck) -> str:
    """Why a session is not looked at now."""
    return f"{engine} failed at it {held.tries} times; it is asked again after {_iso(held.until)}"


def _plan(
    workspace: Workspace, edges: Edges, engine: Engine, one: News, session: Session, rules: Rules
) -> ExtractionPlan:
    return plan_extraction(
        session,
        handled(workspace),
        known_at(workspace).of(rules.agent),
        engine,
        rules,
        _told(workspace, edges, engine, one, session),
        worktree=workspace.layout.worktree,
        now=edges.now,
    )


def _told(workspace: Workspace, edges: Edges, engine: Engine, one: News, session: Session) -> Told:
    return told(workspace, one.source, session, edges.now) if engine.reads_history else NOTHING


def _do(
    workspace: Workspace,
    edges: Edges,
    engine: Engine,
    one: News,
    session: Session,
    plan: ExtractionPlan,
    folders: Collection[Path],
    who: Signature,
    on: Watch,
) -> Outcome:
    """Carries one session's plan out, once it is on disk."""
    changes = _changeset(workspace, edges, engine, session, one.start, plan)
    if goes_on_to_write(session.messages, folders, session.cwd):
        # A commit had it read to the middle of a turn; what was said in that is the agent's.
        last = cursors.load(cursors_folder(workspace), cursor_name(session.path)).last
        reminders.settle(_reminders(workspace), session.id, last)
    if plan.tell is not None and one.source.attended:
        changes = _put_to_agent(workspace, session, plan.tell, changes, on.tally)
    _count(workspace, on.tally, engine, session, plan, len(changes.suggested))
    commits = _carry_out(workspace, edges, changes, who, on)
    return Outcome(session.path, plan, commits, changes.suggested)


def _carry_out(
    workspace: Workspace, edges: Edges, changes: ChangeSet, who: Signature, on: Watch
) -> tuple[Written | None, ...]:
    """Carries a changeset out that is on disk before its first commit."""
    on.step("write the changeset")
    path = changesets_folder(workspace) / f"{changes.job}.json"
    if changes.stored or changes.suggested:
        write_atomically(path, to_json(changes))
    commits = carry_out(workspace, edges, changes, who, on)
    path.unlink(missing_ok=True)
    return commits


def _reminders(workspace: Workspace) -> Path:
    return reminders.state_of(workspace.private_state, workspace.project_id)


def _put_to_agent(
    workspace: Workspace, session: Session, tell: Sequence[Change], changes: ChangeSet, tally: Tally
) -> ChangeSet:
    """Leaves what may last to the session's agent; finds that would be parked wait for what it decides.

    What gives up something that memory holds is parked at once: an agent that leaves it would leave memory
    beside its opposite. It is done before anything of the changeset: done once more after a crash, it
    changes nothing.
    """
    parked_now = tuple(one for one in changes.suggested if one.change.gives_up)
    said = [reminders.sentence(one.body, one.origin.last, one.confidence) for one in tell]
    held = [
        {"message": one.change.origin.last, "find": json.loads(to_bytes(one))}
        for one in changes.suggested
        if not one.change.gives_up
    ]
    place = reminders.place_of(workspace.auto_memory, workspace.around.home)
    waiting = reminders.leave(_reminders(workspace), session.id, said, held, place)
    if waiting is None:
        # Parked after all: nothing may be lost where nothing can be left.
        return changes
    if waiting:
        tally.log.append(f"{counted(waiting, 'statement')} put to the agent with the next prompt")
    return replace(changes, suggested=parked_now)


def park_untold(workspace: Workspace, edges: Edges, sessions: Sequence[str], tally: Tally) -> None:
    """Parks the finds that waited for an agent which is told nothing any more, since its session has ended.

    Args:
        sessions: ids of sessions that ended now.
    """
    state = _reminders(workspace)
    for name, rows in list(reminders.ended(state, sessions, edges.now)):
        known = known_at(workspace)
        found = [one for row in rows if (one := suggestion_from_json(row.get("find"))) is not None]
        fresh = [one for one in found if not _stands(known, one.change)]
        if fresh:
            session = fresh[0].change.origin.session
            told = Provenance("add", "extract", session=session, engine=fresh[0].engine)
            park(workspace, fresh, author(workspace, edges), told)
            leave(workspace.state, session, "untold", (), len(fresh))
            tally.suggested += len(fresh)
        reminders.close(state, name)


def _stands(known: Known, change: Change) -> bool:
    """Whether the agent wrote it down by itself meanwhile, in whichever words."""
    if all(known.find(change.agent, claim.key) for claim in parse_body(change.body).claims):
        return True
    return says(change.description, [header.description for header in known.manifest])


def _count(
    workspace: Workspace, tally: Tally, engine: Engine, session: Session, plan: ExtractionPlan, parked: int
) -> None:
    tally.sessions += 1
    tally.stored += len(plan.stored)
    tally.suggested += parked
    tally.refused += len(plan.refused)
    tally.spent(plan.usage)
    if plan.given.messages:
        tally.engine = engine.name
    else:
        tally.skip(label(session), "nothing new was said in it that may be learned")
    tally.log += plan.log
    for text in plan.log:
        reporter(workspace)(f"{engine.name}: {fit(text)}")


def foresee(
    workspace: Workspace, edges: Edges, engine: Engine, paths: Sequence[Path], *, anew: bool = False
) -> tuple[Outcome, ...]:
    """What `extract_sessions` by hand would do; writes nothing, not even a cursor.

    Args:
        anew: as if nothing of the sessions had been looked at before. What was learned of them stands among
            what is known.
    """
    rules = rules_of(workspace, edges, True)
    done = Handled() if anew else handled(workspace)
    known = known_at(workspace)
    fresh = [News(0, Source(path, pressing=True)) for path in paths] if anew else news(workspace, paths)
    found = []
    for one, session in read(workspace, fresh, keep=False, follow=True):
        mine = rules_for(workspace, rules, one.source, session, edges.now)
        plan = plan_extraction(
            session,
            done,
            known.of(mine.agent),
            engine,
            mine,
            _told(workspace, edges, engine, one, session),
            worktree=workspace.layout.worktree,
            now=edges.now,
        )
        done = done.plus(plan.handled)
        suggested = tuple(suggest(p.change, p.scope, _iso(edges.now), engine.name) for p in plan.suggested)
        found.append(Outcome(session.path, plan, (), suggested))
    return tuple(found)


def known_at(workspace: Workspace) -> Known:
    """Memories of all scopes as their refs hold them, and what waits in review; writes nothing."""
    files: dict[str, dict[str, bytes]] = {}
    for name in SCOPES:
        scope = workspace.scope(name)
        tip = scope.repo.ref(scope.ref)
        files[name] = read_files(scope.repo, scope.repo.commit(tip).tree) if tip else {}
    return Known(files, parked(workspace))


def _changeset(
    workspace: Workspace, edges: Edges, engine: Engine, session: Session, start: int, plan: ExtractionPlan
) -> ChangeSet:
    top = workspace.layout.worktree
    heads = [tree.head for tree in workspace.worktrees if tree.path == top]
    created = _iso(edges.now)
    return ChangeSet(
        job=job_id(session.id, start, session.end, edges.now),
        session=session.id,
        engine=engine.name,
        code_commit=(heads[0] if heads else None) or "",
        bases={name: workspace.scope(name).repo.ref(workspace.scope(name).ref) or "" for name in SCOPES},
        stored=plan.stored,
        suggested=tuple(suggest(p.change, p.scope, created, engine.name) for p in plan.suggested),
        handled=plan.handled,
        cursor=(cursor_name(session.path), session.end),
        usage=plan.usage.line() if plan.usage else "",
    )


def _iso(now: float) -> str:
    return datetime.fromtimestamp(int(now), UTC).isoformat().replace("+00:00", "Z")
