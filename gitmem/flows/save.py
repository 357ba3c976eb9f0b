"""Saves every live directory of a repository, and lays out those that are missing.

A changed file is the edit of the session, or subagent, whose tool calls made it. Two sessions may write at
once, and subagents go on in the background after a turn has ended: each file is looked up by itself, in all
recordings that were written to since it changed.
"""

from __future__ import annotations

import math
import mmap
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gitmem.core.errors import GitmemError, MissingObject, RepositoryError
from gitmem.core.names import hot_path, is_agent_folder, kind
from gitmem.core.text import decode
from gitmem.core.trailers import Provenance
from gitmem.flows.context import Edges
from gitmem.flows.memory_trees import is_memory_tree, keep_up
from gitmem.git.repository import TREE, Signature
from gitmem.git.trees import list_files
from gitmem.ledger.foreign_commits import rescue_name, tidy_ref
from gitmem.ledger.land import Copies, Tip, Written, memory_commit
from gitmem.ledger.layout import (
    LIVE_FOLDERS,
    LayoutRecord,
    LiveDirectory,
    auto_memory,
    blob_name,
    live_directories,
    live_directory,
    read_record,
    records,
)
from gitmem.ledger.paging import known_ages, page
from gitmem.ledger.save_plan import Plan, SaveRequest, Split, WriterPart
from gitmem.ledger.taint import note_tainted
from gitmem.ledger.working_copy import Saved, follow_move, in_history, look, save, scan
from gitmem.ledger.workspace import MAIN, Scope, Workspace
from gitmem.transcripts.model import EDITORS, strings_in

if TYPE_CHECKING:
    from gitmem.transcripts.model import Session, ToolCall

MOST_DAYS = 60
"""Days that are told apart when a folder is adopted; where files are of more, months are."""

ALWAYS = 4
"""Recordings, those written to last, that are looked at whatever their time: clocks are set back."""
MOST = 24
"""Recordings that are looked at for one save."""
SLACK = 2.0
"""Seconds by which a file may seem newer than the recording of the call that wrote it."""

CALLS = frozenset({*EDITORS, "Bash", "memory"})
_PIECE = 4
"""Characters of a line by which a call is known to have written it, where it wrote as many."""


def save_all(
    workspace: Workspace,
    edges: Edges,
    recordings: Iterable[Path] = (),
    *,
    delete: bool = False,
    everywhere: bool = False,
    fresh: bool = False,
    asked: bool = False,
    allowed: bool = False,
) -> tuple[Saved, ...]:
    """Brings live directories and refs together.

    Args:
        recordings: where it is looked up what agents wrote, besides the repository's own sessions.
        delete: whether files that vanished are deletions, however many.
        everywhere: in all work trees, not just the present one.
        fresh: also lay out agents' memory where its folder never was.
        asked: a person's own command: what only may be a secret does not wait for them in a private scope.
        allowed: nor in the project's.

    Returns:
        One result for each directory; a directory that had nothing to do has neither commits nor files.
    """
    # What a stale work tree took out has to be back before it goes from live directories, too.
    keep_up(workspace, edges)
    tidied = [scope for scope in workspace.scopes if _tidy(scope)]
    lives = directories(workspace, everywhere=everywhere, fresh=fresh)
    writers = cache(lambda: Writers(workspace, edges, recordings))
    done: list[Saved] = []
    failed: RepositoryError | None = None
    for live in lives:
        try:
            done.append(_save_one(workspace, edges, live, writers, delete, _holds(live, asked, allowed)))
        except RepositoryError as error:
            # One that is damaged keeps no other from being saved.
            failed = failed or error
    paged = _page_all(workspace)
    for number, saved in enumerate(done):
        if made := paged.get((saved.live.scope.name, saved.live.agent)):
            hold = _holds(saved.live, asked, allowed)
            again = _save_one(workspace, edges, saved.live, writers, delete, hold)
            done[number] = _joined(saved, made, again)
    if tidied or paged or any(saved.written for saved in done):
        keep_up(workspace, edges)
    _look_at_arrivals(workspace, edges)
    if failed is not None:
        raise failed
    return tuple(done)


def _holds(live: LiveDirectory, asked: bool, allowed: bool) -> bool:
    """Whether what only may be a secret waits for a person: the team's memory takes none unless told to."""
    return not allowed and (not asked or live.scope.name == "project")


def _look_at_arrivals(workspace: Workspace, edges: Edges) -> None:
    """Hides what came into shared memory with a secret, by whichever way it came."""
    if workspace.sharing == "off":
        return
    with suppress(RepositoryError):
        for one in note_tainted(workspace.scope("project"), workspace.allowed):
            edges.say(f"{one.path} came from others, {one.message} and is hidden: it should be revoked")


def adopt_folder(workspace: Workspace, edges: Edges, live: LiveDirectory) -> Saved:
    """Takes a folder in as it is, then pages out what is too much of it: the files left alone longest.

    Files say when they were written to last, and where the code tracks them its commits do: each day of
    them is a commit of its own with that author time, so that no old fact counts as learned today.
    """
    hold = _holds(live, asked=True, allowed=False)
    request = request_for(workspace, live, edges, adopt=True, hold=hold)
    seen = scan(live)
    touched = {**seen.times, **_committed(workspace, request, seen.files)}
    saved = save(replace(request, split=partial(by_time, request, touched)))
    adopted = {path for made in saved.written for path in made.edits}
    known = known_ages(live.scope)

    def ages(tip: Tip, hot: Mapping[str, str]) -> Mapping[str, float]:
        # Those of one commit are told apart by what their files say.
        files = {path: touched.get(path.partition("/")[2], 0.0) for path in hot if path in adopted}
        return {**known(tip, hot), **files}

    made = page(live.scope, live.agent, ages)
    return _joined(saved, made, save(request_for(workspace, live, edges, hold=hold))) if made else saved


def _committed(workspace: Workspace, request: SaveRequest, files: Mapping[str, bytes]) -> dict[str, float]:
    """When files that the code tracks were last committed: a clone has them all of one moment.

    Args:
        files: what stands there now; what differs from the commit was written since.
    """
    repo = workspace.code
    tracked = {
        name
        for name, data in files.items()
        if request.code_files.get(name) == blob_name(data, repo.hex_length)
    }
    if not tracked:
        return {}
    under = request.live.path.relative_to(request.live.anchor).as_posix()
    found: dict[str, float] = {}
    with suppress(MissingObject):
        for touch in repo.touching(request.code_head, [under]):
            names = {path.removeprefix(f"{under}/") for path in touch.paths} & (tracked - found.keys())
            if names:
                found |= dict.fromkeys(names, float(repo.commit(touch.commit).author.time))
            if len(found) == len(tracked):
                break
    return found


def by_time(
    request: SaveRequest,
    touched: Mapping[str, float],
    edits: Mapping[str, bytes | None],
    _before: Mapping[str, bytes],
) -> list[WriterPart]:
    """Cuts what is adopted into days, the first of them first; what has no time in the past comes last."""
    times = {path: touched.get(path.removeprefix(f"{request.live.agent}/"), 0.0) for path in edits}
    moments = _moments(times.values(), request.now)
    found: dict[float, set[str]] = {}
    for path, time in times.items():
        at = bisect_left(moments, time) if time > 0 else len(moments)
        found.setdefault(moments[at] if at < len(moments) else math.inf, set()).add(path)
    return [
        WriterPart(
            frozenset(paths),
            request.provenance,
            replace(request.author, time=int(moment)) if moment < math.inf else None,
        )
        for moment, paths in sorted(found.items())
    ]


def _moments(times: Iterable[float], now: float) -> list[float]:
    """The last moment of each day, or of each month where these are many, that a file was written on."""
    past = sorted(time for time in times if 0 < time <= now)
    for length in (len("2026-11-20"), len("2026-11")):
        found = {datetime.fromtimestamp(time, UTC).isoformat()[:length]: time for time in past}
        if len(found) <= MOST_DAYS:
            break
    return [*found.values()]


def copies_of(workspace: Workspace, edges: Edges) -> Copies:
    """What brings working copies up to date around a change that lands, in every work tree that has one."""

    def sync(scope: Scope, agents: Collection[str], lay_out: bool, /) -> None:
        keep_up(workspace, edges)
        top = code_tree(workspace)
        trees = [tree.path for tree in workspace.worktrees if not is_memory_tree(tree.path)]
        tops = [*dict.fromkeys([top, *trees] if top else trees)]
        if not agents:
            found = (live for tree in tops for live in live_directories(workspace, tree))
            agents = sorted({live.agent for live in found if live.scope.name == scope.name})
        writers = cache(lambda: Writers(workspace, edges))

        def save_each(agent: str) -> bool:
            shown = [live_directory(workspace, scope.name, agent, tree) for tree in tops]
            lives = {one.path: one for one in shown if one is not None}
            here = shown[0] if lay_out and top else None
            wrote = False
            for live in lives.values():
                wanted = here is not None and live.path == here.path and _agent_is_used(workspace, live)
                if live.path.is_dir() or wanted:
                    follow_move(live)
                    request = request_for(workspace, live, edges)
                    saved = _saved(edges, replace(request, split=_by_writer(writers, live)))
                    wrote = bool(saved.written) or wrote
            return wrote

        _tidy(scope)
        wrote = False
        for agent in agents:
            # Paged first, what was just written lays out once; what is saved now may be too much again.
            _page(scope, agent)
            if save_each(agent):
                wrote = True
                if _page(scope, agent):
                    save_each(agent)
        if wrote:
            keep_up(workspace, edges)

    return sync


def look_all(
    workspace: Workspace,
    edges: Edges,
    *,
    delete: bool = False,
    asked: bool = False,
    allowed: bool = False,
) -> tuple[Saved, ...]:
    """What `save_all` would do in the present work tree, without writing; arguments as there."""
    nobody = Signature("", "", int(edges.now))
    return tuple(
        _look(workspace, live, edges, nobody, delete, _holds(live, asked, allowed))
        for live in directories(workspace)
    )


def _look(
    workspace: Workspace, live: LiveDirectory, edges: Edges, who: Signature, delete: bool, hold: bool
) -> Saved:
    try:
        return look(request_for(workspace, live, edges, delete=delete, hold=hold, who=who))
    except RepositoryError as error:
        return Saved(live, Plan({}, {}, {}, {}), problems={live.path.name: error.message})


def directories(
    workspace: Workspace, *, everywhere: bool = False, fresh: bool = False
) -> tuple[LiveDirectory, ...]:
    """Live directories that are, or should be, there: laid out once, or (`fresh`) of an agent in use."""
    here = code_tree(workspace)
    trees = [tree.path for tree in workspace.worktrees] if everywhere else [here] if here else []
    tops = [tree for tree in trees if not is_memory_tree(tree)]
    found: dict[Path, LiveDirectory] = {}
    for top in tops:
        for live in live_directories(workspace, top):
            found.setdefault(live.path, live)
        for live in _remembered(workspace, top):
            record = read_record(live.scope.state, live.key)
            if live.path in found or (record and record.code_head):
                # What the code branch tracked goes and comes with it: laid out, it would block a checkout.
                continue
            if record or (fresh and _agent_is_used(workspace, live)):
                found[live.path] = live
    return tuple(found.values())


def code_tree(workspace: Workspace) -> Path | None:
    """The present work tree; where that shows a memory branch, the first that shows code."""
    here = workspace.layout.worktree
    if here is None or not is_memory_tree(here):
        return here
    return next((tree.path for tree in workspace.worktrees if not is_memory_tree(tree.path)), None)


def historic_times(live: LiveDirectory) -> dict[str, float]:
    """Modification times for files that gitmem creates: the author time of their last change."""
    tip = live.scope.repo.ref(live.scope.ref)
    if tip is None or (live.path.is_dir() and any(live.path.iterdir())):
        return {}
    from gitmem.ledger.holdings import taught

    return {name: float(time) for name, time in taught(live.scope, tip, live.agent).items()}


def request_for(
    workspace: Workspace,
    live: LiveDirectory,
    edges: Edges,
    *,
    delete: bool = False,
    adopt: bool = False,
    hold: bool = True,
    who: Signature | None = None,
) -> SaveRequest:
    """What is to be saved of one directory, with all that the core must not look up itself.

    Args:
        hold: whether what only may be a secret waits for a person.
        who: named in the commit; the person where None, which needs an identity.
    """
    head, files = _code_state(workspace, live) if live.tracked else ("", {})
    return SaveRequest(
        live,
        edges.now,
        who or workspace.author(edges.now),
        allow=workspace.allowed,
        hold=hold,
        delete=delete,
        adopt=adopt,
        code_head=head,
        code_files=files,
        times=historic_times(live),
    )


def _save_one(
    workspace: Workspace,
    edges: Edges,
    live: LiveDirectory,
    writers: Callable[[], Writers],
    delete: bool,
    hold: bool,
) -> Saved:
    follow_move(live)
    request = request_for(workspace, live, edges, delete=delete, hold=hold)
    return _saved(edges, replace(request, split=_by_writer(writers, live)))


def _by_writer(writers: Callable[[], Writers], live: LiveDirectory) -> Split:
    """Cuts a directory's edits by whose they are; nobody looks for writers where nothing was edited."""
    return lambda edits, before: writers().parts(live, edits, before)


def _saved(edges: Edges, request: SaveRequest) -> Saved:
    """Saves one directory; says so where its ref had lost what stood there."""
    saved = save(request)
    if saved.lost:
        scope, name = saved.live.scope, rescue_name(saved.lost)
        kept = f"is kept as {name} in {scope.repo.git_dir}" if scope.repo.ref(name) else "cannot be found"
        edges.say(
            f"{scope.ref} was lost and began anew; what stands in {saved.live.path} is in it again, "
            f"what else it held {kept}"
        )
    return saved


def _joined(first: Saved, paged: Written, second: Saved) -> Saved:
    """Two saves of one directory with a page commit in between, as one."""
    return replace(
        second,
        plan=first.plan,
        written=(*first.written, *second.written),
        laid_out=tuple(dict.fromkeys((*first.laid_out, *second.laid_out))),
        paged=paged,
    )


def _page_all(workspace: Workspace) -> dict[tuple[str, str], Written]:
    """Pages every agent of every scope, also where it has no live directory."""
    done: dict[tuple[str, str], Written] = {}
    for scope in workspace.scopes:
        for agent in _folders(scope):
            if is_agent_folder(agent) and (made := _page(scope, agent)):
                done[scope.name, agent] = made
    return done


def _folders(scope: Scope) -> list[str]:
    """Agents' folders that a ref holds; none where it cannot be read, which those who save there say."""
    with suppress(RepositoryError):
        tip = memory_commit(scope.repo, scope.ref)
        tree = scope.repo.tree(scope.repo.commit(tip).tree) if tip else {}
        return [name for name, entry in tree.items() if entry.mode == TREE]
    return []


def _page(scope: Scope, agent: str) -> Written | None:
    """Pages one agent; what cannot be done now is left to the next writer, since nothing is lost by it."""
    with suppress(GitmemError):
        return page(scope, agent)
    return None


def _tidy(scope: Scope) -> bool:
    """Tidies after a merge that gitmem did not make; what cannot be done now is left to the next writer."""
    with suppress(GitmemError):
        return tidy_ref(scope.repo, scope.ref, scope.state) is not None
    return False


def _remembered(workspace: Workspace, top: Path) -> Iterator[LiveDirectory]:
    """Where the agents that the refs hold would be laid out in a work tree."""
    for scope in workspace.scopes:
        for name in _folders(scope):
            live = live_directory(workspace, scope.name, name, top)
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


def settle_old_places(workspace: Workspace, edges: Edges) -> None:
    """Saves other folders that show this project's memory of `main`, and lays nothing out there.

    The client names the folder for the repository's path. Once the repository has moved, nobody looks at
    the old one any more; and where another repository moved in, its folder may hold what belongs to the
    one before, which is saved to that.
    """
    auto = auto_memory(workspace)
    for _, record in records(workspace.private_state):
        path = Path(record.path)
        if path.parent.name in LIVE_FOLDERS.values() or not path.is_dir():
            continue
        owner = _owner(workspace, record)
        mine = owner is not None and owner.ref == workspace.scope("local").ref
        if owner is not None and mine != (path == auto):
            live = LiveDirectory(owner, MAIN, path, path.parent)
            save(replace(request_for(workspace, live, edges), lay_out=False))


def _owner(workspace: Workspace, record: LayoutRecord) -> Scope | None:
    """The local scope in whose history a record's base is, the present project's first."""
    repo, local = workspace.private, workspace.scope("local")
    for ref, tip in sorted(repo.refs("refs/heads/local/").items(), key=lambda item: item[0] != local.ref):
        if in_history(repo, tip, record.base):
            return replace(local, ref=ref)
    return None


class _Call(NamedTuple):
    """One tool call that may have written memory, and where it stands."""

    time: float
    message: str
    session: str
    cwd: str
    call: ToolCall


class Writers:
    """Who wrote what, for one save of any number of directories.

    Args:
        also: recordings that are looked at besides those of the repository's own sessions.
    """

    def __init__(self, workspace: Workspace, edges: Edges, also: Iterable[Path] = ()) -> None:
        self._workspace = workspace
        self._edges = edges
        self._also = tuple(also)
        self._read: dict[Path, tuple[_Call, ...]] = {}

    def parts(
        self, live: LiveDirectory, edits: Mapping[str, bytes | None], before: Mapping[str, bytes]
    ) -> tuple[WriterPart, ...]:
        """Cuts the edits of one directory into what each writer made, the first to write first.

        Args:
            edits: path in the tree to new content.
            before: path to the content that it replaces, where there was any.

        Returns:
            What nobody's calls made is the person's, and last.
        """
        # A file that moves between the folder and the archive is two paths and one file.
        files: dict[str, dict[str, bytes | None]] = {}
        wanted = {kind(path) for path in edits} & {"memory", "log"} or {"index"}
        for path, data in edits.items():
            if kind(path) in wanted:
                files.setdefault(hot_path(path) or path, {})[path] = data
        places = {hot: live.path / hot.removeprefix(f"{live.agent}/") for hot in files}
        calls = self._calls(set(places.values()))
        made: dict[str, list[tuple[_Call, str]]] = {}
        for hot, place in places.items():
            old = b"\n".join(before.get(path, b"") for path in files[hot])
            new = next((data for data in files[hot].values() if data is not None), None)
            if (by := _writer(calls, place, old, new)) is not None:
                made.setdefault(by.session, []).append((by, hot))
        parts = []
        for session, found in sorted(made.items(), key=lambda one: max(call.time for call, _ in one[1])):
            told = sorted((call.time, call.message) for call, _ in found)
            messages = told[0][1], told[-1][1]
            told_by = Provenance("", "agent", session, messages, code_commit=self._code)
            parts.append(WriterPart(frozenset(path for _, hot in found for path in files[hot]), told_by))
        left = frozenset(edits).difference(*(part.paths for part in parts))
        if not parts or any(path in left for group in files.values() for path in group):
            return (*parts, WriterPart(left, Provenance(writer="human", code_commit=self._code)))
        return (*parts[:-1], WriterPart(parts[-1].paths | left, parts[-1].provenance))

    @cached_property
    def _code(self) -> str:
        return self._workspace.code_head()

    @cached_property
    def _recordings(self) -> tuple[tuple[Path, float], ...]:
        """Recordings of sessions and of their subagents, and when each was written to; newest first."""
        from gitmem.flows.sessions import sessions_here
        from gitmem.transcripts.claude_code import SUBAGENTS

        sessions = sessions_here(self._workspace, self._edges)
        found = {file.path: file.mtime_ns / 1e9 for file in sessions}
        for file in sessions:
            if file.client == "claude-code":
                beside = file.path.with_suffix("") / SUBAGENTS
                found |= dict.fromkeys(beside.rglob("agent-*.jsonl"), 0.0)
        for path in [*self._also, *(path for path, time in found.items() if not time)]:
            with suppress(OSError):
                found[path] = path.lstat().st_mtime
        return tuple(sorted(found.items(), key=lambda one: (-one[1], one[0])))

    def _calls(self, places: Collection[Path]) -> list[_Call]:
        """Calls that may have written these files, the newest first."""
        changed = min((_changed(place) for place in places), default=0.0) - SLACK
        calls: list[_Call] = []
        for number, (path, time) in enumerate(self._recordings[:MOST]):
            if number >= ALWAYS and time < changed:
                break
            if path not in self._read and _names(path, places):
                self._read[path] = ()
                with suppress(GitmemError):
                    self._read[path] = tuple(_writing(_session(path), time))
            calls += self._read.get(path, ())
        return sorted(calls, key=lambda one: -one.time)


def _changed(place: Path) -> float:
    """When a file was changed last; where it is gone, its folder."""
    for path in (place, place.parent):
        with suppress(OSError):
            return path.lstat().st_mtime
    return 0.0


def _names(path: Path, places: Collection[Path]) -> bool:
    """Whether a recording holds the name of one of some files at all: most do not, and are not parsed."""
    names = [place.name.encode() for place in places]
    if path.suffix != ".jsonl" or not all(name.isascii() for name in names):
        return True
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            return any(text.find(name) >= 0 for name in names)
    except (OSError, ValueError):
        return False


def _session(path: Path) -> Session:
    from gitmem.transcripts import discover
    from gitmem.transcripts.claude_code import is_subagents, read_subagent

    return read_subagent(path) if is_subagents(path) else discover.read(path)


def _writing(session: Session, time: float) -> Iterator[_Call]:
    """Calls of tools that can write a file; the time of one that has none is its recording's."""
    for message in session.messages:
        when = message.time.timestamp() if message.time else time
        for call in message.tools:
            if call.name in CALLS:
                yield _Call(when, message.uuid, session.id, session.cwd, call)


def _writer(calls: Iterable[_Call], place: Path, old: bytes, new: bytes | None) -> _Call | None:
    """The newest call that wrote this change to a file; None where nobody's did."""
    from gitmem.transcripts.writes import wrote  # most saves find nothing that was edited

    was, lines = _lines(old), _lines(new or b"")
    added = [line for line in lines if line not in was]
    gone = [line for line in was if line not in lines]
    made = (call for call in calls if wrote(call.call, place, call.cwd))
    return next((call for call in made if _is_in(call.call, added, gone, lines)), None)


def _lines(data: bytes) -> dict[str, None]:
    return dict.fromkeys(line for text in decode(data).splitlines() if (line := text.strip()))


def _is_in(call: ToolCall, added: Collection[str], gone: Collection[str], left: Collection[str]) -> bool:
    """Whether an editor's call wrote lines that came, or took out those that went; any shell's may have."""
    if call.name not in EDITORS or not (added or gone):
        return True
    from gitmem.transcripts.writes import given_by

    given = "\n".join(given_by(call))
    if not added:
        named = "\n".join(strings_in(call.input))
        rewrote = bool(left) and all(line in given for line in left)
        return not any(line in given for line in gone) and (rewrote or any(line in named for line in gone))
    # A patch has a sign before each line, and an edit may be a part of one.
    pieces = [piece for line in given.splitlines() if (piece := line.strip().lstrip("+ "))]
    pieces = [piece for piece in pieces if len(piece) >= _PIECE] or pieces
    return any(line in given or any(piece in line for piece in pieces) for line in added)
