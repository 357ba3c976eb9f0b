"""Live directories: edits by agents, people, worktrees and gitmem meet by three-way merge.

A save reads the folder, plans (`save_plan`), commits what was written there, and lays out what is new in
the ref (`layout`). Agents empty a file and then fill it, in several writes: what is read in between would
pass for a deletion of all that is missing. So additions are taken at once; a large loss has to lie still.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path

from gitmem.core.errors import CheckFailed, MissingObject, RepositoryError
from gitmem.core.limits import MEMORY_BYTES, OTHER_BYTES
from gitmem.core.names import ARCHIVE, TEAM, is_memory_file, kind, unfit
from gitmem.core.text import counted
from gitmem.git.locks import writer_lock
from gitmem.git.repository import Repository
from gitmem.git.trees import blob_or_none, list_files, read_paths
from gitmem.ledger.files import has_link, read_regular
from gitmem.ledger.foreign_commits import rescue
from gitmem.ledger.holdings import taught
from gitmem.ledger.land import Tip, Write, Written, land, read_tip
from gitmem.ledger.layout import (
    ASIDE,
    LIVE_FOLDERS,
    Displaced,
    LayoutRecord,
    LiveDirectory,
    blob_name,
    displaced_files,
    is_laid_out,
    label,
    names_below,
    read_record,
    record_path,
    records,
    replace_file,
    write_record,
)
from gitmem.ledger.save_plan import (
    STALE_SECONDS,
    VANISHED,
    VERSIONS,
    Plan,
    SaveRequest,
    Scan,
    describe,
    in_part,
    plan_save,
)
from gitmem.values import dataclass

_FRESH = re.compile(r"\.gitmem-[0-9a-f]{16}\.tmp")


QUIET_SECONDS = 1.0
"""How long a file that looks half-written must lie still: its writer may be waiting for the processor."""

POLL_SECONDS = 0.05

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


def scan(live: LiveDirectory) -> Scan:
    """Reads a live directory; links, dot files and foreign files are left alone and never followed."""
    if has_link(live.anchor, live.path):
        return Scan(False, {}, {live.path.name: "is a symbolic link, or behind one"})
    if not live.path.is_dir():
        return Scan(False, {})
    files: dict[str, bytes] = {}
    times: dict[str, float] = {}
    # What lies under `team` in the client's own folder is another live directory.
    names, problems = names_below(live.path, {TEAM} if live.home else ())
    for name in names:
        if not is_laid_out(name):
            if name.endswith(".md"):
                problems[name] = unfit(name) or "is no memory"
            continue
        path = live.path / name
        limit = MEMORY_BYTES if is_memory_file(name) else OTHER_BYTES
        try:
            # A link at the path itself is not followed by the reader.
            found = None if "/" in name and has_link(live.path, path) else read_regular(path, limit)
            if found is None:
                problems[name] = _not_regular(path.lstat().st_mode)
        except FileNotFoundError:
            continue
        except OSError:
            problems[name] = "cannot be read"
            continue
        if found and len(found[0]) > limit:
            problems[name] = f"is larger than {limit:,} bytes"
        elif found:
            files[name], times[name] = found
    return Scan(True, files, problems, times)


def _not_regular(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "is a symbolic link"
    if stat.S_ISDIR(mode):
        return "is a folder"
    return "cannot be read" if stat.S_ISREG(mode) else "is no regular file"


def look(request: SaveRequest) -> Saved:
    """What a save would do, without writing anything."""
    live = request.live
    seen = scan(live)
    if has_link(live.anchor, live.path):
        return Saved(live, Plan({}, {}, {}, {}), problems=seen.problems)
    record = read_record(live.scope.state, live.key)
    tip = read_tip(live.scope.repo, live.scope.ref)
    plan = plan_save(request, record, seen, displaced_files(*_asides(live)), tip)
    return Saved(live, plan, problems=seen.problems)


def save(request: SaveRequest) -> Saved:
    """Brings a live directory and its ref together: commits what changed there, lays out what is new here.

    Raises:
        RepositoryError: the ref or the folder cannot be written; what was not written is as it was.
    """
    live = request.live
    if has_link(live.anchor, live.path):
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
            request = replace(request, adopt=False, split=None if request.adopt else request.split)
            if calm:
                break
        return replace(done, written=tuple(written), laid_out=tuple(dict.fromkeys(laid_out)), lost=lost)


def _round(request: SaveRequest) -> tuple[Saved, bool]:
    """One look, commit and layout; whether nobody wrote in between."""
    live = request.live
    repo = live.scope.repo
    record = read_record(live.scope.state, live.key)
    _sweep(live.path)
    seen, read = read_quiet(live, record.files if record else {}, _asides(live))
    # What is told is all that was to be saved; what is laid out is the last, which knows every commit.
    plans: list[tuple[Plan, Tip]] = []
    whole: list[Plan] = []
    made: list[Written] = []
    left = False

    def plan(tip: Tip) -> Write | None:
        nonlocal left
        if made and tip.commit == made[-1].commit:
            # Nobody wrote since: what is left of the plan holds, however many parts it comes in.
            planned = plans[-1][0]
            rest = {path: data for path, data in planned.edits.items() if not _is_done(path, data, made)}
        else:
            planned = plan_save(request, record, seen, read, tip)
            rest = dict(planned.edits)
        plans.append((planned, tip))
        if not made:
            whole[:] = [planned]
        if not rest:
            return None
        before = read_paths(repo, tip.tree, set(rest))
        edits, told, left, author = rest, request.provenance, False, None
        if request.split is not None and (request.adopt or len(made) < WRITERS):
            part, *others = request.split(rest, before)
            edits = {p: rest[p] for p in part.paths} if request.adopt else in_part(part, rest, before)
            told, author, left = part.provenance, part.author, bool(others)
        op, subject = describe(edits, before)
        provenance = replace(told, op="adopt" if request.adopt else op)
        if request.adopt:
            count = sum(kind(path) == "memory" for path in edits)
            subject = f"Adopt {counted(count, 'memory') if count else 'the index'} of {live.agent}"
        # What the code tracks was put there by whoever pushes code.
        pushed = any(path.removeprefix(f"{live.agent}/") in request.code_files for path in edits)
        return Write(edits, subject, provenance, author=author, signed=not pushed)

    while written := land(live.scope, plan, request.author):
        made.append(written)
        if not left:
            break
    planned, known = plans[-1]
    pinned = record.pinned if record else ""
    up_to_date = record and planned.settled and record.base == known.commit and not record.afresh
    if record and not planned.edits and not made and (up_to_date or live.tracked or pinned):
        return Saved(live, planned, problems=seen.problems), True
    lost = record.base if record and planned.lost else ""
    if lost:
        rescue(repo, lost)
    tip = written.commit if written else known.commit
    done = tuple(made)
    if live.tracked or pinned or not request.lay_out:
        # What stands there is the base of the next edit, not what the ref made of it.
        with repo.together():
            shown = {name: repo.add_blob(data) for name, data in planned.taken.items() if is_laid_out(name)}
        kept = LayoutRecord(
            str(live.path), tip, shown, pinned=pinned, code_head=request.code_head, home=live.home
        )
        _settle(live, read, request.now)
        write_record(live.scope.state, live.key, kept)
        return Saved(live, whole[0], done, problems=seen.problems, lost=lost), True
    stood = _stored_before(live, planned, seen, record.files if record else {})
    laid_out = _lay_out(live, planned.target, seen, request.times)
    before = {name: oid for name, oid in stood.items() if name not in laid_out.problems}
    oids = {name: blob_name(data, repo.hex_length) for name, data in planned.stored.items()}
    for name in {*laid_out.left, *(name for name in oids if seen.problem(name))}:
        # What stands there is no edit of what the ref holds: its base stays what it was.
        oids.pop(name, None)
        if record and name in record.files:
            oids[name] = record.files[name]
    # Either way: the clock may have been set back since.
    recent = record is not None and abs(request.now - record.laid_out) < STALE_SECONDS
    older = dict(record.before) if record and recent else {}
    for name, oid in before.items():
        read_before = dict.fromkeys([oid, *older.get(name, "").split()])
        older[name] = " ".join(list(read_before)[:VERSIONS])
    unread = {*record.afresh} & seen.problems.keys() if record else set()
    fresh = LayoutRecord(
        str(live.path),
        tip,
        oids,
        before=older,
        afresh=tuple(sorted({*laid_out.left} | unread)),
        laid_out=request.now if before else (record.laid_out if record else 0.0),
        code_head=request.code_head,
        home=live.home,
    )
    write_record(live.scope.state, live.key, fresh)
    _settle(live, read, request.now)
    problems = {**seen.problems, **laid_out.problems}
    saved = Saved(live, whole[0], done, laid_out.files, problems, lost=lost)
    return saved, laid_out.calm


def _is_done(path: str, data: bytes | None, made: Sequence[Written]) -> bool:
    """Whether the last of some commits in a row that touched a path left there what was planned."""
    return next((one.edits[path] == data for one in reversed(made) if path in one.edits), False)


@dataclass(frozen=True)
class _LaidOut:
    """A layout.

    Attributes:
        files: files that were replaced, made or deleted.
        left: files that could not be put there, as someone else made them meanwhile.
        problems: file to why it was left alone.
        calm: whether nobody wrote in between.
    """

    files: tuple[str, ...]
    left: tuple[str, ...]
    problems: Mapping[str, str]
    calm: bool


def _behind(target: Mapping[str, bytes], seen: Scan) -> list[str]:
    """Files that do not hold what they should, and can be replaced."""
    names = sorted({*target, *seen.files})
    return [name for name in names if target.get(name) != seen.files.get(name) and not seen.problem(name)]


def _stored_before(
    live: LiveDirectory, plan: Plan, seen: Scan, recorded: Mapping[str, str]
) -> dict[str, str]:
    """Stores what is about to be replaced, for a writer that has read it: file to blob.

    Args:
        recorded: file to the blob that the last save found or stored of it.
    """
    repo = live.scope.repo
    refused = {refusal.path.removeprefix(f"{live.agent}/") for refusal in plan.refusals}
    stood: dict[str, str] = {}
    # All of them before the first file is touched, and together: each alone would be a process.
    with repo.together():
        for name in _behind(plan.target, seen):
            if name not in seen.files or name not in plan.taken:
                continue
            # What was refused is in the file, and must not become an object.
            data = plan.taken[name] if name in refused else seen.files[name]
            oid = blob_name(data, repo.hex_length)
            is_known = name not in refused and recorded.get(name) == oid
            stood[name] = oid if is_known else repo.add_blob(data)
    return stood


def _lay_out(
    live: LiveDirectory, target: Mapping[str, bytes], seen: Scan, times: Mapping[str, float]
) -> _LaidOut:
    """Writes what a directory should hold over what was seen there."""
    done: list[str] = []
    left: list[str] = []
    problems: dict[str, str] = {}
    calm = True
    for name in _behind(target, seen):
        if reason := _no_way_to(live, name):
            problems[name] = reason
            left.append(name)
            continue
        old = seen.files.get(name)
        named = label(name, blob_name(old, live.scope.repo.hex_length) if old is not None else "")
        aside, mtime = _asides(live)[0], times.get(name)
        replaced = replace_file(live.path / name, target.get(name), aside, named, mtime, live.path)
        calm = calm and replaced.done and replaced.found == old
        (done if replaced.done else left).append(name)
    return _LaidOut(tuple(done), tuple(left), problems, calm)


def _no_way_to(live: LiveDirectory, name: str) -> str | None:
    """Why a file cannot be put where it belongs, or None where nothing is in the way."""
    path = live.path / name
    if has_link(live.anchor, path.parent):
        return "is behind a symbolic link"
    for folder in path.parents:
        if folder == live.path:
            return None
        if os.path.lexists(folder) and not folder.is_dir():
            return f"{folder.name} is a file there, and a folder in memory"
    return None


def unsaved(live: LiveDirectory, seen: Scan | None = None) -> tuple[str, ...]:
    """Files of a live directory that hold something the ref does not: after a save, what was refused.

    Args:
        seen: what stands there; it is read unless given.
    """
    record = read_record(live.scope.state, live.key)
    known, length = record.files if record else {}, live.scope.repo.hex_length
    files = (seen or scan(live)).files
    return tuple(name for name, data in sorted(files.items()) if blob_name(data, length) != known.get(name))


def check_out(live: LiveDirectory, then: str, pinned: str, now: float) -> tuple[str, ...]:
    """Lays a past state of an agent's memory out in its live directory, which must have been saved.

    From then on an edit there is a change of that past state, and a save merges it onto the tip.

    Args:
        then: the commit.
        pinned: how the person named it.
        now: seconds since the epoch.

    Returns:
        The files that were replaced.

    Raises:
        CheckFailed: a file changed since it was saved; nothing was replaced.
        RepositoryError: a file cannot be put in its place.
    """
    repo = live.scope.repo
    with writer_lock(live.scope.state / "live", live.key, timeout=30.0):
        if has_link(live.anchor, live.path):
            raise CheckFailed(
                f"{live.path} is a symbolic link, or behind one, and is not followed",
                "Replace the link by a folder and run it again.",
            )
        seen = scan(live)
        if refused := unsaved(live, seen):
            raise CheckFailed(
                f"{live.path / refused[0]} holds something that is not saved",
                "See what and why: git mem status; settle it, then run this again.",
            )
        stood = {name: blob_name(data, repo.hex_length) for name, data in seen.files.items()}
        listed = list_files(repo, repo.commit(then).tree, live.agent, frozenset({ARCHIVE}))
        inside = {path.removeprefix(f"{live.agent}/"): oid for path, oid in listed.items()}
        oids = {name: oid for name, oid in inside.items() if is_laid_out(name)}
        record = LayoutRecord(
            str(live.path), then, oids, before=stood, laid_out=now, pinned=pinned, home=live.home
        )
        # Written first: who dies in between leaves a directory whose next save holds on to what it finds.
        write_record(live.scope.state, live.key, record)
        target = {
            name: seen.files[name] if stood.get(name) == oid else repo.blob(oid)
            for name, oid in oids.items()
        }
        done = _lay_out(live, target, seen, taught(live.scope, then, live.agent))
        for name, why in done.problems.items():
            raise RepositoryError(f"{live.path / name} {why}", "Put a folder in its place.")
        return done.files


def unpin(live: LiveDirectory) -> bool:
    """Lets a live directory follow the tip again from its next save on; whether it had been pinned."""
    with writer_lock(live.scope.state / "live", live.key, timeout=30.0):
        record = read_record(live.scope.state, live.key)
        if record is None or not record.pinned:
            return False
        write_record(live.scope.state, live.key, replace(record, pinned=""))
        return True


def _settle(live: LiveDirectory, read: Sequence[Displaced], now: float) -> None:
    """Deletes displaced files that were taken in and that nobody can still be writing to."""
    for entry in read:
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


def read_quiet(
    live: LiveDirectory, known: Mapping[str, str], asides: tuple[Path, ...]
) -> tuple[Scan, tuple[Displaced, ...]]:
    """Reads a directory, and again for a second at most while something in it looks half-written.

    Args:
        known: file to the blob name of what stood there at the last save.
        asides: folders of displaced files.

    Returns:
        What is there, where a file that is just being written is among its problems; and those files that
        layouts moved aside to which nobody is writing.
    """
    repo = live.scope.repo
    waited = 0.0
    while True:
        seen, displaced = scan(live), displaced_files(*asides)
        now = time.time()
        busy = [
            name
            for name, data in seen.files.items()
            if 0 <= now - seen.times[name] < QUIET_SECONDS and _looks_cut(repo, data, known.get(name))
        ]
        later = [
            entry
            for entry in displaced
            if 0 <= now - entry.since < QUIET_SECONDS and _looks_cut(repo, entry.content, entry.expected)
        ]
        if waited >= QUIET_SECONDS or not (busy or later):
            break
        time.sleep(POLL_SECONDS)
        waited += POLL_SECONDS
    problems = {**seen.problems, **dict.fromkeys(busy, "is being written right now")}
    files = {name: data for name, data in seen.files.items() if name not in busy}
    read = tuple(entry for entry in displaced if entry not in later)
    return replace(seen, files=files, problems=problems), read


def _looks_cut(repo: Repository, data: bytes, known: str | None) -> bool:
    """Whether content may be a part of something longer: it ends in mid-line, or much is gone."""
    if known == blob_name(data, repo.hex_length):
        return False
    before = blob_or_none(repo, known) if known else None
    if before is None:
        return not data
    if before.startswith(data) or (before.endswith(b"\n") and not data.endswith(b"\n")):
        return True
    lines = before.splitlines()
    here = frozenset(data.splitlines())
    return sum(line not in here for line in lines) > max(VANISHED, len(lines) // 10)


def moved_record(live: LiveDirectory) -> tuple[str, LayoutRecord] | None:
    """Finds the record of a directory that moved here with its work tree, and the key it is filed under.

    It is the one record for the same agent and memory whose directory is gone, and most of its files must
    be here: a folder made from scratch in a new work tree has deleted nothing.
    """
    state = live.scope.state
    if live.path.parent.name not in LIVE_FOLDERS.values() or read_record(state, live.key) is not None:
        return None
    here = scan(live).files.keys()
    gone = [
        (key, record)
        for key, record in records(state)
        if Path(record.path).parts[-3:] == live.path.parts[-3:]
        and not os.path.lexists(record.path)
        and 2 * len(record.files.keys() & here) > len(record.files)
    ]
    # Opening the private repository makes it where it is missing: not for a mere look.
    tip = live.scope.repo.ref(live.scope.ref) if gone else None
    found = [one for one in gone if tip and in_history(live.scope.repo, tip, one[1].base)]
    return found[0] if len(found) == 1 else None


def follow_move(live: LiveDirectory) -> None:
    """Files the record of a directory that moved under its new place.

    Without it an unsaved edit would be united with what it replaces, and a deletion taken back.
    """
    if found := moved_record(live):
        key, record = found
        write_record(live.scope.state, live.key, replace(record, path=str(live.path)))
        record_path(live.scope.state, key).unlink(missing_ok=True)


def in_history(repo: Repository, tip: str, base: str) -> bool:
    """Whether a record's base is a commit of this ref; the empty root, which all refs share, is of none."""
    try:
        return bool(base and repo.commit(base).parents) and repo.is_ancestor(base, tip)
    except MissingObject:
        return False


def _sweep(folder: Path) -> None:
    """Deletes new files that a process left behind when it died; only for who holds the folder's lock."""
    for path in folder.glob(".gitmem-*.tmp"):
        if _FRESH.fullmatch(path.name):
            with contextlib.suppress(OSError):
                path.unlink()
