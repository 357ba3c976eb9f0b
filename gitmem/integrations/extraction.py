"""Extraction carried out: plan a session, keep the plan on disk, commit, park, move the cursor, lay out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from gitmem.engines.engine import Engine
from gitmem.errors import GitmemError, RepositoryError
from gitmem.extract.changeset import ChangeSet, from_json, job_id, to_json
from gitmem.extract.commit import store_change
from gitmem.extract.known import Known
from gitmem.extract.plan import ExtractionPlan, Placed, Rules, folders_of, plan_extraction
from gitmem.integrations.edges import Edges, allowed_fingerprints, author
from gitmem.integrations.place import log, read_regular
from gitmem.integrations.saving import sync_live
from gitmem.memory.merge import kind
from gitmem.memory.trailers import Provenance
from gitmem.memory.trailers import parse as parse_trailers
from gitmem.sessions import cursor as cursors
from gitmem.sessions.claude_code import read_session
from gitmem.sessions.cursor import Cursor
from gitmem.sessions.session import Session
from gitmem.store.commits import Written
from gitmem.store.locks import writer_lock
from gitmem.store.parked import Suggestion, digest, park, parked, suggest, unpark
from gitmem.store.record import write_atomically
from gitmem.store.repository import Signature
from gitmem.store.trees import read_files
from gitmem.store.workspace import LIVE_FOLDERS, MAIN, SCOPES, ScopeName, Workspace

SAVED_FROM = 4
"""Sessions, those written to last, that tell an agent's edit from a person's before an extraction."""

RULE_FILES = ("CLAUDE.md", "AGENTS.md", "CLAUDE.local.md")
RULE_BYTES = 262_144
CHANGESET_BYTES = 64 * 1024 * 1024

_CLIENT_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

Step = Callable[[str], None]
"""Is told before each step, e.g. `store 1`; what it raises ends the work there, as a crash would."""


def quietly(_: str) -> None:
    """Lets every step pass."""


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
    paths: Sequence[Path],
    *,
    by_hand: bool = False,
    step: Step = quietly,
    before: Callable[[Sequence[Session]], object] | None = None,
) -> tuple[Outcome, ...]:
    """Extracts from sessions, after what an earlier, interrupted run left.

    Args:
        paths: transcripts, oldest first.
        by_hand: the person asked for it: `gitmem.extract=off` counts as `suggest`.
        before: is called with the newest sessions before anything is planned: to save what agents wrote.

    Returns:
        One outcome for each session with something new in it.

    Raises:
        RepositoryError: no identity, or a ref cannot be written; nothing is lost, run it again.
        Locked: another extraction is under way.
    """
    who = author(workspace, edges)
    rules = _rules(workspace, edges, by_hand)
    done: list[Outcome] = []
    with writer_lock(workspace.state, "extract", timeout=60.0):
        recover(workspace, edges, who, step)
        news = _news(workspace, paths)
        if before is not None:
            before([session for _, session in _read(workspace, news[-SAVED_FROM:])])
        for start, session in _read(workspace, news) if rules.mode != "off" else ():
            handled = _handled(workspace)
            plan = plan_extraction(session, handled, known_at(workspace), engine, rules)
            changes = _changeset(workspace, edges, engine, session, start, plan)
            step("write the changeset")
            path = _changesets(workspace) / f"{changes.job}.json"
            if changes.stored or changes.suggested:
                write_atomically(path, to_json(changes))
            commits = _carry_out(workspace, edges, changes, who, step)
            path.unlink(missing_ok=True)
            done.append(Outcome(session.path, plan, commits, changes.suggested))
    return tuple(done)


def foresee(
    workspace: Workspace, edges: Edges, engine: Engine, paths: Sequence[Path]
) -> tuple[Outcome, ...]:
    """What `extract_sessions` by hand would do; writes nothing, not even a cursor."""
    rules = _rules(workspace, edges, True)
    handled = _handled(workspace)
    known = known_at(workspace)
    found = []
    for _, session in _read(workspace, _news(workspace, paths)):
        plan = plan_extraction(session, handled, known, engine, rules)
        handled = handled.plus(plan.handled)
        suggested = tuple(suggest(p.change, p.scope, _iso(edges.now)) for p in plan.suggested)
        found.append(Outcome(session.path, plan, (), suggested))
    return tuple(found)


def recover(workspace: Workspace, edges: Edges, who: Signature, step: Step = quietly) -> None:
    """Ends what an interrupted extraction began; the engine is not asked again."""
    folder = _changesets(workspace)
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        found = read_regular(path, CHANGESET_BYTES)
        changes = from_json(found[0]) if found else None
        if changes is None:
            # Its messages are still to be looked at: the cursor has not moved.
            with suppress(OSError):
                path.rename(path.with_suffix(".damaged"))
            log(workspace.layout.common_dir, f"extraction: {path.name} is damaged and was put aside")
            continue
        _carry_out(workspace, edges, changes, who, step)
        path.unlink(missing_ok=True)


def known_at(workspace: Workspace) -> Known:
    """Memories of all scopes as their refs hold them, and what waits in review; writes nothing."""
    files: dict[str, dict[str, bytes]] = {}
    for name in SCOPES:
        scope = workspace.scope(name)
        tip = scope.repo.ref(scope.ref)
        files[name] = read_files(scope.repo, scope.repo.commit(tip).tree) if tip else {}
    return Known(files, parked(workspace))


def bring_up_to_date(workspace: Workspace, edges: Edges, scope: ScopeName, agent: str) -> None:
    """Lays an agent's memory of a scope out in every work tree; makes the client's own folder if need be.

    Best effort: what cannot be laid out now is by the next save.
    """
    try:
        sync_live(workspace, edges, scope, agent, lay_out=scope == "local" and agent == MAIN)
    except (GitmemError, OSError) as error:
        log(workspace.layout.common_dir, f"extraction: {scope}/{agent} is not laid out: {error}")


def _news(workspace: Workspace, paths: Iterable[Path]) -> list[tuple[int, Path]]:
    """Transcripts with something after their cursor, and where that begins."""
    found = []
    for path in paths:
        start = cursors.load(_cursors(workspace), _cursor_name(path), _reporter(workspace)).offset
        try:
            size = path.stat().st_size
        except OSError as error:
            _reporter(workspace)(f"{path}: {error.strerror}")
            continue
        if size != start:
            found.append((start if start < size else 0, path))
    return found


def _read(workspace: Workspace, news: Iterable[tuple[int, Path]]) -> Iterator[tuple[int, Session]]:
    """Opens them one by one: all of a year's sessions would not fit in memory."""
    for start, path in news:
        try:
            yield start, read_session(path, start)
        except RepositoryError as error:
            _reporter(workspace)(f"{path}: {error}")


def _handled(workspace: Workspace) -> cursors.Handled:
    """Messages that were extracted from; where that record is gone, as the memory's own history tells it.

    The working state may be deleted at any time, and nothing may be learned twice for that.
    """
    known = cursors.load_handled(_cursors(workspace), _reporter(workspace))
    if known.keys:
        return known
    told: list[str] = []
    for scope in workspace.scopes:
        tip = scope.repo.ref(scope.ref)
        for made in scope.repo.history(tip) if tip else ():
            provenance = parse_trailers(made.message)
            if provenance.writer == "extract" and provenance.messages:
                told += provenance.messages
    for one in parked(workspace):
        told += [one.change.origin.first, one.change.origin.last]
    return known.plus(filter(None, told))


def _cursor_name(path: Path) -> str:
    """The client names a file for its session; any other file is known by its place."""
    return path.stem if _CLIENT_ID.fullmatch(path.stem) else f"file:{path.resolve()}"


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
        suggested=tuple(suggest(p.change, p.scope, created) for p in plan.suggested),
        handled=plan.handled,
        cursor=(_cursor_name(session.path), session.end),
    )


def _carry_out(
    workspace: Workspace, edges: Edges, changes: ChangeSet, who: Signature, step: Step
) -> tuple[Written | None, ...]:
    commits = []
    for number, placed in enumerate(changes.stored, 1):
        step(f"store {number}")
        origin = placed.change.origin
        provenance = Provenance(
            op="add",
            writer="extract",
            session=changes.session,
            messages=(origin.first, origin.last) if origin.first else None,
            job=f"{changes.job}.{number}",
            code_commit=changes.code_commit,
            engine=changes.engine,
        )
        scope = workspace.scope(placed.scope)
        commits.append(
            store_change(scope, placed, who, provenance, base=changes.bases.get(placed.scope, ""))
        )
    step("park")
    told = Provenance("add", "extract", session=changes.session, job=changes.job, engine=changes.engine)
    park(workspace, changes.suggested, who, told)
    if changes.stored:
        said = {digest(placed.change) for placed in changes.stored}
        settled = [one.id for one in parked(workspace) if digest(one.change) in said]
        unpark(workspace, settled, who, "Settle what was asked for since", replace(told, op="delete"))
    folder = _cursors(workspace)
    step("save what was handled")
    if changes.handled:
        cursors.save_handled(folder, _handled(workspace).plus(changes.handled))
    step("save the cursor")
    name, offset = changes.cursor
    if name:
        cursors.save(folder, Cursor(name, offset, changes.handled[-1] if changes.handled else ""))
    step("lay out")
    for scope_name, agent in sorted({(placed.scope, placed.agent) for placed in changes.stored}):
        bring_up_to_date(workspace, edges, scope_name, agent)
    step("remove the changeset")
    return tuple(commits)


def _rules(workspace: Workspace, edges: Edges, by_hand: bool) -> Rules:
    mode = workspace.settings.get("extract")
    return Rules(
        mode="suggest" if by_hand and mode == "off" else mode,  # type: ignore[arg-type]
        sharing=workspace.sharing,  # type: ignore[arg-type]
        texts=_rule_texts(workspace, edges),
        folders=folders_of(_live_folders(workspace)),
        allow=allowed_fingerprints(workspace),
    )


def _rule_texts(workspace: Workspace, edges: Edges) -> tuple[str, ...]:
    """Instruction files of the repository and of the person; links are not followed."""
    top = workspace.layout.worktree
    places = [edges.config / "CLAUDE.md"]
    if top is not None:
        places += [top / name for name in RULE_FILES] + [top / workspace.claude_folder / "CLAUDE.md"]
    texts = []
    for path in places:
        with suppress(OSError):
            if found := read_regular(path, RULE_BYTES):
                texts.append(found[0][:RULE_BYTES].decode("utf-8", "replace"))
    return tuple(texts)


def _live_folders(workspace: Workspace) -> list[Path]:
    """Folders in which a file is a memory, whether or not they exist."""
    tops = [tree.path / workspace.claude_folder for tree in workspace.worktrees]
    folders = [top / folder for top in tops for folder in LIVE_FOLDERS.values()]
    auto = [workspace.auto_memory] if workspace.auto_memory is not None else []
    return [*folders, *auto, workspace.around.config / "agent-memory"]


def _cursors(workspace: Workspace) -> Path:
    return workspace.state / "cursors"


def _changesets(workspace: Workspace) -> Path:
    return workspace.state / "spool" / "changesets"


def _reporter(workspace: Workspace) -> Callable[[str], None]:
    return lambda text: log(workspace.layout.common_dir, f"extraction: {text}")


def _iso(now: float) -> str:
    return datetime.fromtimestamp(int(now), UTC).isoformat().replace("+00:00", "Z")
