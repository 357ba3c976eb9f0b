"""What a save of a live directory would do: three-way merge of its files against the record, as a value.

To a daily log lines are added, and none that stands there is changed: only a tombstone takes one out
(`git mem forget --claim`), and the merge sees to that.

A late write is by someone who read a file before a layout replaced it, or who still had it open: it is put
onto what they had read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import NamedTuple

from gitmem.core import index, tombstone
from gitmem.core.daily_log import line_keys, lost_lines, split, with_every_line, without_lines
from gitmem.core.errors import MissingObject
from gitmem.core.limits import OTHER_BYTES
from gitmem.core.memory import parse
from gitmem.core.merge import merge_trees, renames, without
from gitmem.core.names import LOGS, archived_path, hot_path, kind
from gitmem.core.text import counted, decode, encode
from gitmem.core.tombstone import FILE as TOMBSTONES
from gitmem.core.trailers import Op, Provenance
from gitmem.git.repository import Repository, Signature
from gitmem.git.trees import blob_or_none, hot_files, list_files, read_paths, subtree
from gitmem.ledger.epochs import epoch_of
from gitmem.ledger.foreign_commits import LOCAL, is_usable
from gitmem.ledger.land import Tip, root_name
from gitmem.ledger.layout import Displaced, LayoutRecord, LiveDirectory, blob_name, is_laid_out
from gitmem.ledger.paging import archive_contents
from gitmem.ledger.push_plan import is_kept
from gitmem.rules.paths import misfits
from gitmem.rules.rule import Finding
from gitmem.rules.screen import screen
from gitmem.values import dataclass

FORGOTTEN = "holds what was forgotten; to keep it after all, tell gitmem to remember it"

ABSENT = "vanished"
"""What is said of files whose deletion may be an accident: a save writes them again."""

VANISHED = 3
"""So many things, or a tenth of them, may vanish at once and count as deleted."""

NAMED = 3
"""Memories that a subject names; of more it says how many."""

STALE_SECONDS = 10.0
"""How long after a layout a write may still come from someone who read the file before it."""

VERSIONS = 8
"""Versions of a file before its last layouts that a writer may have read."""


class WriterPart(NamedTuple):
    """What one writer changed of a directory: paths in the tree, who it was, and when if not now."""

    paths: frozenset[str]
    provenance: Provenance
    author: Signature | None = None


Split = Callable[[Mapping[str, bytes | None], Mapping[str, bytes]], Sequence[WriterPart]]
"""Cuts edits (and what they replace) into parts, each a commit of its own; every path is in one of them."""


@dataclass(frozen=True)
class Scan:
    """A live directory as read.

    Attributes:
        exists: whether the folder is there at all.
        files: file (relative to the folder) to content.
        problems: name to why it was left alone, for names that look like memory, and for folders.
        times: file to modification time, seconds since the epoch.
    """

    exists: bool
    files: Mapping[str, bytes]
    problems: Mapping[str, str] = field(default_factory=dict)
    times: Mapping[str, float] = field(default_factory=dict)

    def problem(self, name: str) -> str | None:
        """Why a file was left alone, by itself or with a folder that it lies in; None where it was not."""
        while name:
            if name in self.problems:
                return self.problems[name]
            name = name.rpartition("/")[0]
        return None


@dataclass(frozen=True)
class SaveRequest:
    """What a save is to do.

    Attributes:
        live: the directory.
        now: seconds since the epoch.
        author: who is named in the commit.
        provenance: writer, session and so on; the op is found from what changed.
        allow: fingerprints of accepted secrets.
        hold: whether what only may be a secret waits for a person, as what is one does.
        delete: whether files that vanished are deletions, however many.
        adopt: take what is there as it is: no index line is added.
        code_head: commit that the code work tree stands on, for tracked directories.
        code_files: file to blob name in that commit, for tracked directories.
        times: file to historic modification time, for files that gitmem creates.
        lay_out: whether the directory is brought up to the ref; false for a look.
        split: tells whose edits they are; `provenance` is everybody's where None.
    """

    live: LiveDirectory
    now: float
    author: Signature
    provenance: Provenance = field(default_factory=Provenance)
    allow: frozenset[str] = frozenset()
    hold: bool = True
    delete: bool = False
    adopt: bool = False
    code_head: str = ""
    code_files: Mapping[str, str] = field(default_factory=dict)
    times: Mapping[str, float] = field(default_factory=dict)
    lay_out: bool = True
    split: Split | None = None


@dataclass(frozen=True)
class Plan:
    """What a save would do, before anything is written.

    Attributes:
        edits: path in the tree to new content, None to delete.
        target: file (relative to the folder) to what it should hold afterwards.
        stored: file to what the ref holds of it: the next base.
        taken: file to what of it was taken in, where the directory is not laid out.
        held: file to why its change is not taken in.
        refusals: claims that are not stored.
        buried: texts that a tombstone took.
        split: paths that had to move aside.
        settled: whether the directory holds its target already.
        lost: whether the ref began anew, and what stood here is no base any more.
        warnings: what may be a credential and is stored.
    """

    edits: Mapping[str, bytes | None]
    target: Mapping[str, bytes]
    stored: Mapping[str, bytes]
    taken: Mapping[str, bytes]
    held: Mapping[str, str] = field(default_factory=dict)
    refusals: tuple[Finding, ...] = ()
    buried: tuple[tuple[str, str], ...] = ()
    split: tuple[str, ...] = ()
    settled: bool = False
    lost: bool = False
    warnings: tuple[Finding, ...] = ()


def plan_save(
    request: SaveRequest,
    record: LayoutRecord | None,
    seen: Scan,
    displaced: tuple[Displaced, ...],
    tip: Tip,
) -> Plan:
    """Decides what a save does.

    Args:
        record: what gitmem last saw; None for a directory that is new to it.
        seen: what is there now.
        displaced: files that earlier layouts moved aside.
        tip: where the ref stands.
    """
    live = request.live
    repo = live.scope.repo
    names = {name: blob_name(data, repo.hex_length) for name, data in seen.files.items()}
    late = any(blob_name(entry.content, repo.hex_length) != entry.expected for entry in displaced)
    if record and record.base == tip.commit and names == record.files and not (late or record.afresh):
        there = _listed(repo, live.agent, tip)
        if {name: oid for name, oid in there.items() if name != TOMBSTONES} == names:
            # Neither side moved since the last save, which is so most of the time.
            return Plan({}, seen.files, seen.files, seen.files, settled=True)
    lost = _is_lost(repo, record, tip.commit)
    known = LayoutRecord(str(live.path)) if record is None or lost else record
    # Most of what is in the ref stands in the directory as it is: what was read once is not read again.
    read = {names[name]: data for name, data in seen.files.items()}
    base = _base(repo, live, known, read)
    older = read_before(repo, known, seen, displaced)
    here = on_base(dict(seen.files), base, older, made_afresh(known, displaced))
    here = with_displaced(repo, known, base, here, displaced, older)
    _follow_code(request, known, base, here)
    held = _hold_absent(request, known, seen, base, here)
    held |= _keep_lines(live.agent, base, here)
    theirs = agent_files(repo, live.agent, tip, read)
    paged = _paged_out(live, tip, known, base, here, theirs)
    # What stands as it was laid out was stored then, also where the tip has less of it by now.
    untouched = {file: data for file, data in here.items() if base.get(file) == data}
    screened = screen(
        rooted(live.agent, paged | base | theirs | untouched),
        rooted(live.agent, here),
        request.allow,
        hold=request.hold,
    )
    kept = _unrooted(live.agent, screened.files)
    held |= _hold_forgotten(base, kept, decode(theirs.get(TOMBSTONES, b"")))
    stones = _stones_then(repo, live.agent, known.base)
    cold = {archived_path(path) or path: data for path, data in rooted(live.agent, paged).items()}
    theirs |= _unrooted(live.agent, cold)
    merged = merge_trees(*(rooted(live.agent, side) for side in (base | stones, kept | stones, theirs)))
    files = _unrooted(live.agent, merged.files)
    if not request.adopt:
        _reconcile_index(files, theirs)
    edits = _edits(live.agent, theirs, files)
    stored = {name: data for name, data in files.items() if is_laid_out(name)}
    target = _target(here, kept, stored)
    settled = target == seen.files
    left = (screened.refusals, merged.buried, merged.split)
    return Plan(edits, target, stored, kept, held, *left, settled, lost, screened.warnings)


def _is_lost(repo: Repository, record: LayoutRecord | None, tip: str) -> bool:
    """Whether a ref holds nothing of the history that a record's folder showed, beyond the common root.

    A ref that was merely moved back, or a commit that was amended, still shares a history with it.

    Args:
        tip: where the ref is now, or the root commit where there is none.
    """
    if record is None or record.base in ("", tip):
        return False
    try:
        if record.base in repo.commit(tip).parents or repo.is_ancestor(record.base, tip):
            return False
        if epoch_of(repo, record.base) != epoch_of(repo, tip):
            # A purge wrote that history anew; what it showed must not be brought back.
            return False
        if is_kept(repo, record.base):
            return False
        if set(repo.merge_bases(record.base, tip)) - {root_name(repo)}:
            # What was moved away from because it is damaged was not taken back.
            return not is_usable(repo, record.base)
        # A folder that another project's memory was laid out in is not of this ref.
        return not any(repo.is_ancestor(record.base, other) for other in repo.refs(LOCAL).values())
    except MissingObject:
        return True


def in_part(
    part: WriterPart, edits: Mapping[str, bytes | None], before: Mapping[str, bytes]
) -> dict[str, bytes | None]:
    """The edits of one writer, with an index that has no line yet of what the others are still to add."""
    kept = {path: data for path, data in edits.items() if path in part.paths}
    if all(data is not None and path in before for path, data in kept.items()):
        return kept
    for path, data in edits.items():
        if kind(path) == "index" and path not in kept and data is not None:
            folder = path.removesuffix(index.INDEX)
            new = {other for other in edits if other not in kept and other not in before}
            text = index.without_files(decode(data), {other.removeprefix(folder) for other in new})
            if encode(text) != before.get(path):
                kept[path] = encode(text)
    return kept


def describe(edits: Mapping[str, bytes | None], before: Mapping[str, bytes]) -> tuple[Op, str]:
    """The op and subject of a commit, from its edits.

    Args:
        edits: path to new content.
        before: path to the content that it replaces, where there was any.
    """
    added: list[str] = []
    changed: list[str] = []
    gone: list[str] = []
    for path, data in sorted(edits.items()):
        other = hot_path(path) or archived_path(path)
        if kind(path) != "memory" or (data is None and edits.get(other or "") is not None):
            # What only changed places is told where it stands now.
            continue
        known = path in before or other in edits
        (gone if data is None else changed if known else added).append(path)

    new = {path: data for path in added if (data := edits[path]) is not None}
    moved = renames({path: before.get(path, b"") for path in gone}, new)
    came = set(moved.values())
    added = [path for path in added if path not in came]
    gone = [path for path in gone if path not in moved]

    def name(path: str) -> str:
        if path in moved:
            return " to ".join(one.partition("/")[2] for one in (path, moved[path]))
        return parse(path, edits[path] or before.get(path, b"")).name

    verbs = {"add": added, "rename": list(moved), "update": changed, "delete": gone}
    parts = [
        f"{verb} {', '.join(map(name, paths)) if len(paths) <= NAMED else f'{len(paths)} memories'}"
        for verb, paths in verbs.items()
        if paths
    ]
    op: Op = "add" if added else "update" if changed or moved or not gone else "delete"
    logged = any(kind(path) == "log" for path in edits)
    subject = ", ".join(parts) or ("update the log" if logged else "update the index")
    return op, subject[0].upper() + subject[1:]


def agent_files(
    repo: Repository, agent: str, tip: Tip, known: Mapping[str, bytes] = MappingProxyType({})
) -> dict[str, bytes]:
    """An agent's hot memories, index, logs and tombstones: file (relative to its folder) to content.

    Args:
        known: blobs that were read already.

    Returns:
        Without what is set aside in the tree (`merge.set_aside`): names that read as one, and large files.
    """
    wanted = _listed(repo, agent, tip)
    odd, unread = misfits(wanted), sorted({*wanted.values()} - known.keys())
    large = {oid for oid, size in repo.sizes(unread).items() if size > OTHER_BYTES} if unread else set()
    return {
        name: known[oid] if oid in known else repo.blob(oid)
        for name, oid in wanted.items()
        if name not in odd and oid not in large
    }


def _listed(repo: Repository, agent: str, tip: Tip) -> dict[str, str]:
    """An agent's hot memories, index, logs and tombstones: file (relative to its folder) to blob."""
    names = hot_files(repo, tip.tree, agent)
    folder = subtree(repo, tip.tree, agent)
    names |= list_files(repo, folder, LOGS) if folder else {}
    return {name: oid for name, oid in names.items() if is_laid_out(name) or name == TOMBSTONES}


def rooted(agent: str, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Paths from the root of the tree for files of one agent."""
    return {f"{agent}/{name}": data for name, data in files.items()}


def _unrooted(agent: str, files: Mapping[str, bytes]) -> dict[str, bytes]:
    return {path.removeprefix(f"{agent}/"): data for path, data in files.items()}


def _base(
    repo: Repository, live: LiveDirectory, record: LayoutRecord, known: Mapping[str, bytes]
) -> dict[str, bytes]:
    """What stood there at the last save; a blob that was collected is read from the base commit."""
    base: dict[str, bytes] = {}
    fallback: dict[str, str] | None = None
    for name, oid in record.files.items():
        try:
            data: bytes | None = known[oid] if oid in known else repo.blob(oid)
        except MissingObject:
            if fallback is None:
                fallback = _files_then(repo, live.agent, record.base)
            other = fallback.get(f"{live.agent}/{name}")
            data = blob_or_none(repo, other) if other else None
        if data is not None:
            base[name] = data
    return base


def _files_then(repo: Repository, agent: str, base: str) -> dict[str, str]:
    try:
        return list_files(repo, repo.commit(base).tree, agent) if base else {}
    except MissingObject:
        return {}


def _follow_code(
    request: SaveRequest, record: LayoutRecord, base: dict[str, bytes], here: dict[str, bytes]
) -> None:
    """In a tracked directory, what merely follows the code branch is no edit."""
    if not request.live.tracked or not record.base or request.code_head == record.code_head:
        return
    for name in {*base, *here}:
        current = blob_name(here[name], request.live.scope.repo.hex_length) if name in here else None
        if current == request.code_files.get(name):
            if name in here:
                base[name] = here[name]
            else:
                base.pop(name, None)


def _hold_absent(
    request: SaveRequest,
    record: LayoutRecord,
    seen: Scan,
    base: Mapping[str, bytes],
    here: dict[str, bytes],
) -> dict[str, str]:
    """Finds deletions that may be an accident, and takes them back."""
    absent = [name for name in base if name not in here]
    held = {name: why for name in absent if (why := seen.problem(name)) is not None}
    gone = [name for name in absent if name not in held]
    if gone == [index.INDEX] and not base[index.INDEX].strip():
        # All that an agent had was deleted before: an index that says nothing goes with its folder.
        gone = []
    if gone and not request.delete:
        if not seen.exists:
            held |= dict.fromkeys(gone, f"the whole folder {ABSENT}")
        elif index.INDEX in gone:
            held |= dict.fromkeys(gone, f"{index.INDEX} {ABSENT} with it")
        elif len(gone) > (most := max(VANISHED, len(record.files) // 10)):
            # What stands under another name has not vanished.
            agent = request.live.agent
            sides = ({f"{agent}/{name}": data for name, data in one.items()} for one in (base, here))
            moved = renames(*sides)
            lost = [name for name in gone if f"{agent}/{name}" not in moved]
            held |= dict.fromkeys(lost if len(lost) > most else (), f"{len(lost)} files {ABSENT} at once")
    for name in held:
        here[name] = base[name]
    return held


def _hold_forgotten(base: Mapping[str, bytes], kept: dict[str, bytes], stones: str) -> dict[str, str]:
    """Takes out of `kept` what was forgotten and is written again: only a person lifts a tombstone."""
    if not stones:
        return {}
    is_buried = tombstone.finder(tombstone.parse(stones), "forgot")
    known = {key for name, data in base.items() if kind(name) == "memory" for key in keys(name, data)}
    held: dict[str, str] = {}
    for name in [name for name, data in kept.items() if base.get(name) != data]:
        if kind(name) == "log":
            left = _lines_left(base.get(name, b""), kept[name], is_buried)
        elif kind(name) == "memory":
            left = _claims_left(name, kept[name], lambda key: key not in known and is_buried(key))
        else:
            continue
        if left == kept[name]:
            continue
        held[name] = FORGOTTEN
        if left.strip() or name in base:
            kept[name] = left or base[name]
        else:
            del kept[name]
    return held


def _claims_left(name: str, data: bytes, is_gone: Callable[[str], bool]) -> bytes:
    """A memory without some of its claims; empty where none is left."""
    memory = parse(name, data)
    gone = frozenset(claim.id for claim in memory.parsed.claims if is_gone(claim.key))
    if not gone:
        return data
    return without(memory, gone).render() if len(gone) < len(memory.parsed.claims) else b""


def _lines_left(before: bytes, now: bytes, is_buried: Callable[[str], bool]) -> bytes:
    """A log without those of its new lines that were forgotten."""
    there, text = set(split(decode(before))), decode(now)
    gone = [line for line in split(text) if line not in there and any(map(is_buried, line_keys(line)))]
    return encode(without_lines(text, gone)) if gone else now


def _paged_out(
    live: LiveDirectory,
    tip: Tip,
    record: LayoutRecord,
    base: Mapping[str, bytes],
    here: dict[str, bytes],
    theirs: Mapping[str, bytes],
) -> dict[str, bytes]:
    """What the archive holds of files that were written or deleted here: file to content.

    In a folder that no record knows, a file that the archive has just so is no news, and leaves `here`.
    """
    changed = [name for name in {*base, *here} - theirs.keys() if base.get(name) != here.get(name)]
    found = archive_contents(live.scope.repo, tip.tree, [f"{live.agent}/{name}" for name in changed])
    paged = _unrooted(live.agent, found)
    for name in [name for name, data in paged.items() if not record.base and here.get(name) == data]:
        del paged[name], here[name]
    return paged


def _stones_then(repo: Repository, agent: str, base: str) -> dict[str, bytes]:
    """The tombstones that the directory's last state knew of: later ones take what they bury out of it."""
    try:
        found = read_paths(repo, repo.commit(base).tree, {f"{agent}/{TOMBSTONES}"}) if base else {}
    except MissingObject:
        return {}
    return _unrooted(agent, found)


def _reconcile_index(files: dict[str, bytes], theirs: Mapping[str, bytes]) -> None:
    """Brings the index in line with the memories; where there is none, one is made for a new memory."""
    before, after = (
        {n: data for n, data in side.items() if kind(n) == "memory" and is_laid_out(n)}
        for side in (theirs, files)
    )
    if index.INDEX not in files and after.keys() <= before.keys():
        return
    text = decode(files.get(index.INDEX, b""))
    shown = index.reconcile(text, before, after)
    if shown != text:
        files[index.INDEX] = encode(shown)


def _edits(agent: str, theirs: Mapping[str, bytes], files: Mapping[str, bytes]) -> dict[str, bytes | None]:
    names = {name for name in {*theirs, *files} if files.get(name) != theirs.get(name)}
    return {f"{agent}/{name}": files.get(name) for name in sorted(names)}


def _target(
    here: Mapping[str, bytes], kept: Mapping[str, bytes], stored: Mapping[str, bytes]
) -> dict[str, bytes]:
    """What the directory should hold: what is stored, and what was refused where it stands."""
    target = dict(stored)
    for name, data in here.items():
        if kept.get(name) == data:
            continue
        if name not in kept or name not in stored:
            target[name] = data
        else:
            target |= merge_trees({name: kept[name]}, {name: data}, {name: stored[name]}).files
    return target


def _keep_lines(agent: str, base: Mapping[str, bytes], here: dict[str, bytes]) -> dict[str, str]:
    """Puts lines that were changed or removed back into the logs of `here`.

    Args:
        base: file to what stood there at the last save.

    Returns:
        File to what a person should know of it.
    """
    logs = {name: data for name, data in base.items() if kind(name) == "log" and here.get(name) != data}
    if not logs:
        return {}
    now = {name: here[name] for name in logs.keys() & here.keys()}
    whole = _unrooted(agent, with_every_line(rooted(agent, logs), rooted(agent, now), {}))
    told: dict[str, str] = {}
    for name in [name for name in logs if whole.get(name, b"") != now.get(name, b"")]:
        lost = lost_lines(decode(logs[name]), decode(now.get(name, b"")))
        here[name] = whole[name] if now.get(name, b"").strip() else logs[name]
        told[name] = (
            f"is a log, which is only added to: {counted(len(lost), 'line')} that went or changed "
            "stands there again; to take one out: git mem forget --claim TEXT"
        )
    return told


def read_before(
    repo: Repository, record: LayoutRecord, seen: Scan, displaced: tuple[Displaced, ...]
) -> dict[str, list[bytes]]:
    """What stood in files before the last layouts, newest first, where someone wrote soon after one."""
    recent = {name for name, time in seen.times.items() if time - record.laid_out < STALE_SECONDS}
    recent |= {entry.file for entry in displaced if entry.since - record.laid_out < STALE_SECONDS}
    older: dict[str, list[bytes]] = {}
    for name in recent & ({*record.before} | {entry.file for entry in displaced}):
        # What the layouts saw, and what stood there in the end.
        found = [entry.content for entry in reversed(displaced) if entry.file == name][:VERSIONS]
        stored = [blob_or_none(repo, oid) for oid in record.before.get(name, "").split()]
        older[name] = list(dict.fromkeys([*found, *(data for data in stored if data is not None)]))
    return older


def made_afresh(record: LayoutRecord, displaced: tuple[Displaced, ...]) -> frozenset[str]:
    """Files that may have been made while a layout, or one that died, had the old one moved away."""
    later = [entry.file for entry in displaced if entry.since >= record.written]
    return frozenset((*record.afresh, *later))


def on_base(
    here: dict[str, bytes],
    base: Mapping[str, bytes],
    older: Mapping[str, list[bytes]],
    afresh: frozenset[str],
) -> dict[str, bytes]:
    """Puts what was written by someone who had read an older version, or none, onto the last one."""
    for name in afresh & here.keys() & base.keys():
        if not keys(name, base[name]) & keys(name, here[name]):
            here |= merge_trees({}, {name: here[name]}, {name: base[name]}).files
    for name in older.keys() & here.keys() & base.keys():
        read = _version_read(name, older[name], base[name], here[name])
        if read != base[name]:
            here |= merge_trees({name: read}, {name: here[name]}, {name: base[name]}).files
    return here


def with_displaced(
    repo: Repository,
    record: LayoutRecord,
    base: Mapping[str, bytes],
    here: dict[str, bytes],
    displaced: tuple[Displaced, ...],
    older: Mapping[str, list[bytes]],
) -> dict[str, bytes]:
    """Takes in what was found in files that a layout moved aside."""
    for entry in displaced:
        if blob_name(entry.content, repo.hex_length) != entry.expected:
            before = blob_or_none(repo, entry.expected) if entry.expected else None
            if before is not None:
                # Nobody had read what they were yet to write, nor what came after it.
                later = {
                    one.content for one in displaced if one.file == entry.file and one.since >= entry.since
                }
                known = [data for data in older.get(entry.file, []) if data not in later]
                before = _version_read(entry.file, known, before, entry.content)
            sides = [{entry.file: data} if data is not None else {} for data in (before, entry.content)]
            # A file that is away or being written right now is as it was: what was displaced may be older.
            standing = here.get(entry.file, base.get(entry.file))
            current = {entry.file: standing} if standing is not None else {}
            rest = {name: data for name, data in here.items() if name != entry.file}
            here = merge_trees(*(rest | side for side in (*sides, current))).files
        elif entry.file not in here and entry.file in record.files and entry.since >= record.written:
            # The process died between moving the old file away and linking the new one.
            here[entry.file] = entry.content
    return here


def _version_read(name: str, older: Sequence[bytes], base: bytes, here: bytes) -> bytes:
    """What the writer of a file had read: the last layout, or what stood there before one of the last.

    It was an older one if nothing of what arrived since is in what was written; of several, the one of
    which the least is missing there, the newest first.
    """
    if here == base or not older:
        return base
    now, written = keys(name, base), keys(name, here)
    best, missing = base, len(now - written)
    for data in older:
        then = keys(name, data)
        arrived = now - then
        if arrived and not arrived & written and len(then - written) < missing:
            best, missing = data, len(then - written)
    return best


def keys(name: str, data: bytes) -> frozenset[str]:
    if kind(name) == "memory":
        return frozenset(claim.key for claim in parse(name, data).claims)
    return frozenset(line.strip() for line in decode(data).splitlines())
