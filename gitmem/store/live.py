"""Live directories: edits by agents, people, worktrees and gitmem meet by three-way merge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path

from gitmem.core.merge import kind
from gitmem.core.text import counted
from gitmem.store.begun_anew import rescue
from gitmem.store.commits import Tip, Write, Written, commit, read_tip
from gitmem.store.files import linked
from gitmem.store.live_plan import (
    Plan,
    Request,
    describe,
    in_part,
    plan_save,
)
from gitmem.store.locks import writer_lock
from gitmem.store.races import STALE_SECONDS, VERSIONS, Quiet, read_quiet
from gitmem.store.record import Record, read_record, write_record
from gitmem.store.replace import ASIDE, replace_file, sweep
from gitmem.store.scan import Scan, blob_name, displaced_files, is_laid_out, label, scan
from gitmem.store.trees import read_paths
from gitmem.store.workspace import LiveDirectory
from gitmem.values import dataclass

SECOND_LOOK_SECONDS = 60.0
"""How long a displaced file is kept for one who still holds it open."""

WRITERS = 32
"""Writers whose edits are commits of their own in one save; those of the others go in one together."""

ROUNDS = 8
"""Layouts in a row that an agent's edits may overtake before the next save goes on with it."""


@dataclass(frozen=True)
class Saved:
    """What a save did.

    Attributes:
        written: the commits made, oldest first.
        laid_out: files that were brought up to the ref.
        problems: name to why it was left alone.
        paged: the commit that took its oldest memories to the archive, where there were too many.
        lost: the base of what stood there, where the ref had lost that and begun anew.
    """

    live: LiveDirectory
    plan: Plan
    written: tuple[Written, ...] = ()
    laid_out: tuple[str, ...] = ()
    problems: Mapping[str, str] = field(default_factory=dict)
    paged: Written | None = None
    lost: str = ""


def look(request: Request) -> Saved:
    """What a save would do, without writing anything."""
    live = request.live
    seen = scan(live)
    if linked(live.anchor, live.path):
        return Saved(live, Plan({}, {}, {}, {}), problems=seen.problems)
    record = read_record(live.scope.state, live.key)
    tip = read_tip(live.scope.repo, live.scope.ref)
    plan = plan_save(request, record, seen, displaced_files(*_asides(live)), tip)
    return Saved(live, plan, problems=seen.problems)


def save(request: Request) -> Saved:
    """Brings a live directory and its ref together: commits what changed there, lays out what is new here.

    Raises:
        RepositoryError: the ref or the folder cannot be written; what was not written is as it was.
    """
    live = request.live
    if linked(live.anchor, live.path):
        return look(request)
    with writer_lock(live.scope.state / "live", live.key, timeout=30.0):
        written: list[Written] = []
        laid_out: list[str] = []
        lost = ""
        for _ in range(ROUNDS):
            done, calm = _round(request)
            written += done.written
            laid_out += done.laid_out
            lost = lost or done.lost
            request = replace(request, adopt=False)
            if calm:
                break
        return replace(done, written=tuple(written), laid_out=tuple(dict.fromkeys(laid_out)), lost=lost)


def _round(request: Request) -> tuple[Saved, bool]:
    """One look, commit and layout; whether nobody wrote in between."""
    live = request.live
    repo = live.scope.repo
    record = read_record(live.scope.state, live.key)
    sweep(live.path)
    quiet = read_quiet(live, record.files if record else {}, _asides(live))
    seen, read = quiet.seen.until(request.until), quiet.read
    # What is told is all that was to be saved; what is laid out is the last, which knows every commit.
    plans: list[tuple[Plan, Tip]] = []
    whole: list[Plan] = []
    made: list[Written] = []
    left = False

    def plan(tip: Tip) -> Write | None:
        nonlocal left
        planned = plan_save(request, record, seen, read, tip)
        plans.append((planned, tip))
        if not made:
            whole[:] = [planned]
        if not planned.edits:
            return None
        before = read_paths(repo, tip.tree, set(planned.edits))
        edits, told, left = planned.edits, request.provenance, False
        if request.split is not None and len(made) < WRITERS:
            part, *others = request.split(planned.edits, before)
            edits, told = in_part(part, planned.edits, before), part.provenance
            left = bool(others)
        op, subject = describe(edits, before)
        provenance = replace(told, op="adopt" if request.adopt else op)
        if request.adopt:
            count = sum(kind(path) == "memory" for path in planned.edits)
            subject = f"Adopt {counted(count, 'memory') if count else 'the index'} of {live.agent}"
        return Write(edits, subject, provenance)

    while written := commit(repo, live.scope.ref, plan, request.author, request.committer):
        made.append(written)
        if not left:
            break
    planned, known = plans[-1]
    lost = record.base if record and planned.lost else ""
    if lost:
        rescue(repo, lost)
    tip = written.commit if written else known.commit
    done = tuple(made)
    pinned = record.pinned if record else ""
    if live.tracked or pinned or not request.lay_out:
        # What stands there is the base of the next edit, not what the ref made of it.
        shown = {name: repo.add_blob(data) for name, data in planned.taken.items() if is_laid_out(name)}
        kept = Record(
            str(live.path), tip, shown, pinned=pinned, code_head=request.code_head, home=live.home
        )
        _settle(live, quiet, request.now)
        write_record(live.scope.state, live.key, kept)
        return Saved(live, whole[0], done, problems=seen.problems, lost=lost), True
    laid_out = _lay_out(request, planned, seen)
    oids = {name: blob_name(data, repo.hex_length) for name, data in planned.stored.items()}
    for name in {*laid_out.left, *seen.problems}:
        # What stands there is no edit of what the ref holds: its base stays what it was.
        oids.pop(name, None)
        if record and name in record.files:
            oids[name] = record.files[name]
    # Either way: the clock may have been set back since.
    recent = record is not None and abs(request.now - record.laid_out) < STALE_SECONDS
    older = dict(record.before) if record and recent else {}
    for name, oid in laid_out.before.items():
        read_before = dict.fromkeys([oid, *older.get(name, "").split()])
        older[name] = " ".join(list(read_before)[:VERSIONS])
    unread = {*record.afresh} & seen.problems.keys() if record else set()
    fresh = Record(
        str(live.path),
        tip,
        oids,
        before=older,
        afresh=tuple(sorted({*laid_out.left} | unread)),
        laid_out=request.now if laid_out.before else (record.laid_out if record else 0.0),
        code_head=request.code_head,
        home=live.home,
    )
    write_record(live.scope.state, live.key, fresh)
    _settle(live, quiet, request.now)
    problems = {**seen.problems, **laid_out.problems}
    saved = Saved(live, whole[0], done, laid_out.files, problems, lost=lost)
    return saved, laid_out.calm


@dataclass(frozen=True)
class _LaidOut:
    """A layout.

    Attributes:
        files: files that were replaced, made or deleted.
        before: file to blob name of what was replaced.
        left: files that could not be put there, as someone else made them meanwhile.
        problems: file to why it was left alone.
        calm: whether nobody wrote in between.
    """

    files: tuple[str, ...]
    before: Mapping[str, str]
    left: tuple[str, ...]
    problems: Mapping[str, str]
    calm: bool


def _lay_out(request: Request, plan: Plan, seen: Scan) -> _LaidOut:
    """Writes the target."""
    live = request.live
    repo = live.scope.repo
    done: list[str] = []
    left: list[str] = []
    problems: dict[str, str] = {}
    before: dict[str, str] = {}
    calm = True
    refused = {refusal.path.removeprefix(f"{live.agent}/") for refusal in plan.refusals}
    for name in sorted({*plan.target, *seen.files}):
        new, old = plan.target.get(name), seen.files.get(name)
        if new == old or name in seen.problems:
            continue
        path = live.path / name
        if linked(live.anchor, path.parent):
            problems[name] = "is behind a symbolic link"
            left.append(name)
            continue
        expected = blob_name(old, repo.hex_length) if old is not None else ""
        if old is not None and name in plan.taken:
            # What was refused is in the file, and must not become an object.
            before[name] = repo.add_blob(plan.taken[name] if name in refused else old)
        replaced = replace_file(path, new, _asides(live)[0], label(name, expected), request.times.get(name))
        calm = calm and replaced.done and replaced.found == old
        (done if replaced.done else left).append(name)
    return _LaidOut(tuple(done), before, tuple(left), problems, calm)


def _settle(live: LiveDirectory, quiet: Quiet, now: float) -> None:
    """Deletes displaced files that were taken in and that nobody can still be writing to."""
    for entry in quiet.read:
        current = blob_name(entry.content, live.scope.repo.hex_length)
        folder = entry.at.parent
        if now - entry.since > SECOND_LOOK_SECONDS:
            entry.at.unlink(missing_ok=True)
            folder.rmdir()
        elif current != entry.expected:
            token = folder.name.split(".", 1)[0]
            folder.rename(folder.with_name(f"{token}.{current}"))


def _asides(live: LiveDirectory) -> tuple[Path, Path]:
    """Where displaced files are: beside the record, or in the directory if that is another file system."""
    return live.scope.state / "displaced" / live.key, live.path / ASIDE
