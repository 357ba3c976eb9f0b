"""One change onto the tip of a memory ref: the files that it makes, and one commit, made once.

A change makes a new memory, joins new claims to one, edits it, deletes it, or adds lines to a daily log,
with the index line. It is committed once, whatever interrupts it, and never against a tombstone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Literal

from gitmem.core import tombstone
from gitmem.core.change import Change
from gitmem.core.claim import Claim, normal_form, parse_body
from gitmem.core.daily_log import line_keys, split, with_lines
from gitmem.core.errors import GitmemError, MissingObject, RepositoryError
from gitmem.core.limits import MEMORY_BYTES
from gitmem.core.memory import Memory, create, parse
from gitmem.core.merge import merge_memory
from gitmem.core.names import ARCHIVE, archive_path, file_name, hot_file, log_path, numbered_names
from gitmem.core.text import decode, encode
from gitmem.core.trailers import Fate, Provenance
from gitmem.core.trailers import parse as parse_trailers
from gitmem.git.repository import Repository, Signature
from gitmem.git.trees import list_files, read_file
from gitmem.ledger.edits import claim_keys, fates, log_lines, moment, sides
from gitmem.ledger.files import log
from gitmem.ledger.indexes import with_indexes
from gitmem.ledger.land import Copies, Tip, Write, Written, land
from gitmem.ledger.workspace import MAIN, Scope, ScopeName, Workspace
from gitmem.rules.screen import refuse_secrets

LOOKED_BACK = 200
"""Commits in which a job is looked for where the tip that it was planned on is no longer there."""

Read = Callable[[str], bytes | None]
"""Content of a file of the agent's folder, None where there is none."""


@dataclass(frozen=True)
class Placed:
    """A change and where it goes."""

    scope: ScopeName
    change: Change

    @property
    def agent(self) -> str:
        """Folder of the agent."""
        return self.change.agent

    @property
    def file(self) -> str:
        """File inside the agent's folder; for an add the one it asks for."""
        return self.change.file or file_name(self.change.name)


@dataclass(frozen=True)
class RefusedChange:
    """A change that is not kept.

    Attributes:
        text: its description on one line; secrets redacted.
        reason: why, for a person.
        kind: `secret`, `excluded`, `tombstone` or `form`.
        message: uuid of the message that it stems from.
    """

    text: str
    reason: str
    kind: str
    message: str


@dataclass(frozen=True)
class Judged:
    """What rules and what is known made of changes, in the order in which they were proposed.

    Attributes:
        stored: what is to be landed.
        suggested: what waits for a person.
        refused: what is not kept, with reasons.
        known: changes that say nothing new.
    """

    stored: tuple[Placed, ...] = ()
    suggested: tuple[Placed, ...] = ()
    refused: tuple[RefusedChange, ...] = ()
    known: tuple[Change, ...] = ()


@dataclass(frozen=True)
class Applied:
    """A change applied to one state of an agent's folder.

    Attributes:
        op: what it came to: an update of a memory that is gone is an add.
        file: where the memory stands, relative to the agent's folder.
        edits: path relative to the agent's folder to new content, None to delete; without the index.
        fates: what became of each claim that an edit took out.
    """

    op: Literal["add", "update", "delete"]
    file: str
    edits: Mapping[str, bytes | None]
    fates: tuple[Fate, ...] = ()


def apply(change: Change, names: Collection[str], read: Read) -> Applied | None:
    """Applies a change, without writing anything.

    Args:
        change: an update's body holds what is new; it is joined to what is there, description kept. An
            edit of the whole file is merged into what is there. What is made for a log (`as_logged`)
            adds lines to it, those that it has not, and touches nothing else.
        names: files of the agent's folder, archive included.
        read: reads one of them.

    Returns:
        The edits; None where nothing is left to do.
    """
    if _is_logged(change):
        return _logged(change, read)
    # Between plan and commit it may have been paged out, or brought back.
    stands = _standing(change.file, names)
    if change.op == "noop" or (change.op == "delete" and stands is None):
        return None
    if change.op == "delete" and stands is not None:
        return Applied("delete", stands, {stands: None})
    if change.op == "update" and stands is not None:
        memory = parse(stands, read(stands) or b"")
        changed = _merged(change, memory)
        if changed is not None:
            if changed.render() == memory.render():
                return None
            done = _updated(changed, names)
            after = replace(changed, path=done.file)
            return replace(done, fates=fates(memory, after, agent=change.agent, reason=change.reason))
        missing = _missing(change, memory)
        if not missing:
            return None
        joined = _joined(memory, missing)
        if joined is not None:
            return _updated(joined, names)
    return _added(change, names)


def _logged(change: Change, read: Read) -> Applied | None:
    log = decode(read(change.file) or b"")
    lines = _missing_lines(change, (log, decode(read(f"{ARCHIVE}/{change.file}") or b"")))
    return Applied("add", change.file, {change.file: encode(with_lines(log, lines))}) if lines else None


def _added(change: Change, names: Collection[str]) -> Applied:
    name, file = _free(change.name, names)
    memory = create(name, change.description, change.type, change.body, file)
    return Applied("add", file, {file: memory.render()})


def _standing(file: str, names: Collection[str]) -> str | None:
    """The file itself, or where it stands hot, or in the archive."""
    hot = hot_file(file)
    return next((place for place in (file, hot, archive_path(hot)) if place in names), None)


def _updated(joined: Memory, names: Collection[str]) -> Applied:
    file = hot_file(joined.path)
    edits: dict[str, bytes | None] = {}
    if file == joined.path or file in names:
        file = joined.path
    else:
        # What was paged out and is spoken of again belongs where the agent sees it.
        edits[joined.path] = None
    edits[file] = joined.render()
    return Applied("update", file, edits)


def _missing(change: Change, memory: Memory) -> tuple[Claim, ...]:
    there = {claim.key for claim in memory.claims}
    return tuple(claim for claim in parse_body(change.body).claims if claim.key not in there)


def _joined(memory: Memory, claims: tuple[Claim, ...]) -> Memory | None:
    """The memory with more claims at its end; None where they would not be claims of their own there."""
    newline = "\r\n" if "\r\n" in memory.body else "\n"
    body = memory.body.rstrip("\r\n")
    for claim in claims:
        text = newline.join(claim.text.splitlines())
        body += (newline * 2 if body.strip() else newline) + text
    joined = replace(memory, body=body + newline)
    before = [claim.key for claim in memory.parsed.claims]
    # An open fence or HTML block at the end would swallow them.
    whole = [claim.key for claim in joined.parsed.claims] == [*before, *(claim.key for claim in claims)]
    return joined if whole and len(joined.render()) <= MEMORY_BYTES else None


def _free(name: str, names: Collection[str]) -> tuple[str, str]:
    """A name and its file that no other memory has, also where case is ignored, and in the archive."""
    taken = {PurePosixPath(known).name.casefold() for known in names}
    free = (one for one in numbered_names(name) if file_name(one).casefold() not in taken)
    chosen = next(free)
    return chosen, file_name(chosen)


def land_change(
    scope: Scope,
    placed: Placed,
    author: Signature,
    provenance: Provenance,
    *,
    base: str = "",
    lift: bool = False,
    allow: frozenset[str] | None = None,
    hold: bool = False,
    copies: Copies | None = None,
) -> Written | None:
    """Lands one change with its index line; the op of the commit is what the change came to.

    Args:
        provenance: its job, where it has one, is not stored twice.
        base: tip that the change was planned on.
        lift: a person decided: what was forgotten or rejected comes back.
        allow: fingerprints of accepted secrets; None where the plan was judged just now.
        hold: whether what only may be a secret is refused as well.
        copies: brings working copies up to date; None where the caller does, after several changes.

    Returns:
        The commit, or None where it was made before or nothing is left to do.

    Raises:
        CheckFailed: it holds a secret, or may hold one and `hold` is set.
    """
    change = placed.change

    def plan(tip: Tip) -> Write | None:
        if provenance.job and provenance.job in _jobs(scope.repo, tip.commit, base):
            return None
        paths = list_files(scope.repo, tip.tree, placed.agent)
        names = {path.removeprefix(f"{placed.agent}/") for path in paths}

        def read(name: str) -> bytes | None:
            path = f"{placed.agent}/{name}"
            return read_file(scope.repo, tip.tree, path) if path in paths else None

        buried = decode(read(tombstone.FILE) or b"")
        keys = claim_keys(change)
        if not lift and any(tombstone.matches(tombstone.parse(buried), key) for key in keys):
            return None
        applied = apply(change, names, read)
        if applied is None:
            return None
        edits = {f"{placed.agent}/{path}": data for path, data in applied.edits.items()}
        edits = with_indexes(scope.repo, tip.tree, edits)
        lifted = tombstone.without_keys(buried, keys) if lift and applied.op != "delete" else buried
        if lifted != buried:
            edits[f"{placed.agent}/{tombstone.FILE}"] = encode(lifted) or None
        if allow is not None:
            known = {path: read(path.partition("/")[2]) for path in edits}
            before = {path: data for path, data in known.items() if data is not None}
            refuse_secrets(before, edits, allow, hold=hold)
        subject = f"Forget {change.name}" if applied.op == "delete" else change.description or change.name
        told = replace(provenance, op=applied.op, claims=applied.fates)
        return Write(edits, subject, told, author=as_said(author, change.origin.time))

    return land(scope, plan, author, copies, placed.agent)


def as_said(author: Signature, said: datetime | None) -> Signature:
    """An author at the time when they said it, which may be long before it is stored: never later.

    Args:
        said: None where nobody knows.
    """
    return replace(author, time=min(author.time, int(moment(said, author.time).timestamp())))


def _jobs(repo: Repository, tip: str, base: str) -> frozenset[str]:
    """Jobs that a ref holds since a commit, or among its newest commits where it does not hold that."""
    limit = LOOKED_BACK
    with suppress(MissingObject, RepositoryError):
        if base and repo.is_ancestor(base, tip):
            limit = -1
    found = set()
    try:
        for number, made in enumerate(repo.history(tip)):
            if made.oid == base or number == limit:
                break
            found.add(parse_trailers(made.message).job)
    except MissingObject:
        pass
    return frozenset(found)


def bring_up_to_date(workspace: Workspace, copies: Copies, scope: ScopeName, agent: str) -> None:
    """Lays an agent's memory of a scope out in every work tree; makes the client's own folder if need be.

    Best effort: what cannot be laid out now is by the next save.
    """
    try:
        copies(workspace.scope(scope), [agent], scope == "local" and agent == MAIN)
    except (GitmemError, OSError) as error:
        log(workspace.layout.common_dir, f"extraction: {scope}/{agent} is not laid out: {error}")


def _merged(change: Change, current: Memory) -> Memory | None:
    """What stands by now with the edit in it.

    Nothing that was written meanwhile is lost: what both changed differently stays twice, as disputed.

    Returns:
        The memory; None where the change is no edit, or the two cannot be put into one file.
    """
    both = sides(change)
    if both is None:
        return None
    memory = merge_memory(both[0], current, both[1], current.path).memory
    return memory if memory is not None and len(memory.render()) <= MEMORY_BYTES else None


def _is_logged(change: Change) -> bool:
    """Whether a change is one that `as_logged` made."""
    time = change.origin.time
    return time is not None and change.op == "add" and change.file == log_path(time.astimezone(UTC).date())


def _missing_lines(change: Change, logs: Iterable[str]) -> list[str]:
    """The lines of a change whose facts none of these logs has."""
    there = {key for text in logs for line in split(text) for key in line_keys(line)}
    found = (line for line in log_lines(change) if normal_form(line.text, item=False) not in there)
    return [line.render() for line in found]
