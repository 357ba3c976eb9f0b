"""What takes the newest change of memory back, or one that is named, whole: as a new commit.

Memories are brought back as they were likewise, as a new commit in each scope, or read to be written
elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from gitmem.core.errors import CheckFailed, MissingObject, UsageError
from gitmem.core.names import kind
from gitmem.core.text import counted
from gitmem.core.trailers import BATCH_JOB, parse
from gitmem.flows.context import Edges
from gitmem.flows.json_values import sound
from gitmem.flows.save import copies_of
from gitmem.git.repository import Commit
from gitmem.git.trees import read_files
from gitmem.ledger.epochs import FORMER_DAYS
from gitmem.ledger.holdings import chosen_agent
from gitmem.ledger.land import Copies, read_tip, together
from gitmem.ledger.log import last_known
from gitmem.ledger.lookup import chosen_scopes, find
from gitmem.ledger.moments import is_root, resolve_all, revision
from gitmem.ledger.push_plan import is_kept
from gitmem.ledger.restore import (
    Restored,
    Undoing,
    made_together,
    newest_undoable,
    plan_restore,
    plan_undo,
    replaced_by,
    restore_as_of,
    take_back,
)
from gitmem.ledger.state import Space
from gitmem.ledger.workspace import Scope, Workspace
from gitmem.values import dataclass

if TYPE_CHECKING:
    from gitmem.ledger.dream_branch import Beside


_UNDO = "git mem undo "
_PURGE = re.compile(r"e-([0-9a-f]{8})")


@dataclass(frozen=True)
class Undone:
    """What an undo took back, or would.

    Attributes:
        target: the commit that is undone.
        of: what it stands on where that is no scope's memory: a ref beside it, as a dream's; else empty.
        planned: the whole of it in its scope; None where it stands beside.
        others: what the same command did in other scopes.
        commits: what the undo made; none where nothing was to be done yet, or a ref went back.
        notes: what waits again, a line each.
    """

    target: Commit
    of: str = ""
    planned: Undoing | None = None
    others: tuple[tuple[Scope, Commit], ...] = ()
    commits: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def as_value(self) -> dict[str, object]:
        """The JSON form."""
        subject = sound(self.target.subject)
        if self.planned is None:
            return {"undid": self.target.oid, "subject": subject, "of": self.of, "commit": ""}
        return {
            "scope": self.planned.scope.name,
            "undid": self.target.oid,
            "subject": subject,
            "commit": self.commits[0] if self.commits else "",
            "paths": sorted(map(sound, self.planned.edits)),
            "with": [{"scope": where.name, "undid": target.oid} for where, target in self.others],
        }


def undo(
    workspace: Workspace,
    edges: Edges,
    word: str | None = None,
    scope: str | None = None,
    *,
    dry_run: bool = False,
) -> Undone:
    """Takes a change back, with what the same command changed; what was learned since stays.

    Args:
        word: a commit, or `e-…` of a purge that was agreed to, or `i-…` of a rejected inbox; None for what
            was done last.
        scope: where the newest change is looked for; None for every scope.

    Raises:
        UsageError: it names no commit of the memory.
        CheckFailed: there is nothing to undo, nothing of it is left, or another command takes it back.
    """
    newest = None if word else _newest(workspace, edges, scope)
    named = word or _decided_last(workspace, newest, scope, dry_run=dry_run)
    side = _beside(workspace, named) if named else None
    if side is not None:
        if not dry_run:
            side.take_back()
            forget_decided(workspace.state, f"{_UNDO}{named}")
        return Undone(side.target, side.what)
    # Chosen before live edits are saved: they are newer than what the person has in mind.
    others: tuple[tuple[Scope, Commit], ...] = ()
    if purge := _PURGE.fullmatch(word or ""):
        found = _purge(workspace, purge)
    else:
        found = newest or _named(workspace, named, scope)
        others = made_together(workspace.scopes, found)
    if dry_run:
        return Undone(found.target, planned=found, others=others)
    changes = ((found.scope, found.target), *others)
    with together(copies_of(workspace, edges)) as copies:
        made = _take_back(workspace, edges, changes, copies, found.left)
        if not made:
            raise _nothing_left(found)
        again = _waits_again(workspace, changes)
    return Undone(found.target, "", found, others, tuple(made), tuple(dict.fromkeys(again)))


def _beside(workspace: Workspace, commit: str) -> Beside | None:
    from gitmem.ledger.dream_branch import beside  # what waits is seldom named

    return beside(workspace, commit)


def _take_back(
    workspace: Workspace, edges: Edges, changes: Sequence[tuple[Scope, Commit]], copies: Copies, left: str
) -> list[str]:
    """Takes each back that anything is left of, as commits that can be undone together."""
    who, head = workspace.author(edges.now), workspace.code_head()
    allow = workspace.allowed
    job = f"{BATCH_JOB}{changes[0][1].oid[:8]}-{who.time}" if len(changes) > 1 else ""
    made = []
    for number, (where, target) in enumerate(changes, 1):
        part = f"{job}.{number}" if job else ""
        written = take_back(where, target, who, head, allow, part, left, copies)
        made += [written.commit] if written else []
    return made


def _waits_again(workspace: Workspace, changes: Sequence[tuple[Scope, Commit]]) -> list[str]:
    """Puts back in the queue what was decided by what is undone, or takes it off it again; says so."""
    lines: list[str] = []
    back: list[str] = []
    decided = [(where, target) for where, target in changes if _decision(where, target)[0]]
    if not decided:
        return lines
    from gitmem.ledger.dream_branch import reopen  # most changes decided nothing
    from gitmem.ledger.suggestions import reopen as reopen_suggestions
    from gitmem.ledger.suggestions import settle

    for where, target in decided:
        if line := reopen(where, target):
            lines.append(line)
        words, is_redone = _decision(where, target)
        ids = [word for word in words if word.startswith(("s-", "p-", "im-"))]
        if is_redone:
            settle(workspace, ids, "decided again")
        else:
            back += ids
    again = reopen_suggestions(workspace, back)
    if again:
        listed = ", ".join(again) if len(again) < 4 else counted(len(again), "proposal")
        lines.append(f"{listed} wait{'s' if len(again) == 1 else ''} again: git mem review")
    return lines


def _decision(scope: Scope, target: Commit) -> tuple[list[str], bool]:
    """What a commit decided on, by id, and whether it undid that decision instead."""
    told, is_redone = parse(target.message), False
    with suppress(MissingObject):
        while told.undoes:
            told, is_redone = parse(scope.repo.commit(told.undoes).message), not is_redone
    return told.reviewed.split(), is_redone


def _named(workspace: Workspace, commit: str, scope: str | None) -> Undoing:
    for where in chosen_scopes(workspace, scope):
        oid = revision(where, commit)
        if oid is None:
            continue
        tip = read_tip(where.repo, where.ref)
        if not (where.repo.is_ancestor(oid, tip.commit) or is_kept(where.repo, oid)):
            raise UsageError(f"{commit} is not on {where.ref}", "See what is: git mem log")
        found = plan_undo(where, tip, where.repo.commit(oid))
        if not found.edits:
            raise _nothing_left(found)
        return found
    raise UsageError(f"{commit!r} is no commit of the memory", "See them: git mem log")


def _purge(workspace: Workspace, id: re.Match[str]) -> Undoing:
    """Somebody else's purge that was agreed to, with the history that it replaced."""
    where = workspace.scope("project")
    tip = read_tip(where.repo, where.ref)
    taken = revision(where, id[1])
    if taken is None:
        raise UsageError(f"{id[0]} is no purge that memory here follows", "See what waits: git mem review")
    left = replaced_by(where.repo, where.ref, taken)
    if left is None:
        raise CheckFailed(
            f"Nothing is kept of what {id[0]} took out",
            f"It proved it to be purged, or it was taken more than {FORMER_DAYS} days ago.",
        )
    found = replace(plan_undo(where, tip, where.repo.commit(taken), left), left=left)
    if not found.edits:
        raise _nothing_left(found)
    return found


def _newest(workspace: Workspace, edges: Edges, scope: str | None) -> Undoing | None:
    me = workspace.author(edges.now)

    def mine(where: Scope, change: Commit) -> bool:
        # Shared memory holds what teammates taught: that is not undone by the way. What was taken of their
        # inboxes is theirs by author; who took it is the committer.
        people = (change.author.email, change.committer.email)
        return where.name != "project" or workspace.sharing == "off" or me.email in people

    return newest_undoable(chosen_scopes(workspace, scope), mine)


def _decided_last(workspace: Workspace, newest: Undoing | None, scope: str | None, *, dry_run: bool) -> str:
    """What was decided after the newest change and no commit tells, so that no older one is undone instead.

    Returns:
        Its id; empty where the newest change is what was done last.

    Raises:
        CheckFailed: another command takes it back, which is said once; or there is nothing to undo.
    """
    since = newest.target.committer.time if newest else 0
    while command := None if scope else last_decided(workspace.state, since):
        named = command.removeprefix(_UNDO)
        if named == command:
            if not dry_run:
                forget_decided(workspace.state, command)
            hint = "For the newest change before it, run this again, or name a commit: git mem log"
            raise CheckFailed(f"What was decided last is taken back by: {command}", hint)
        if _beside(workspace, named):
            return named
        # It was sent since, or taken back with a newer one.
        forget_decided(workspace.state, command)
    if newest is None:
        raise CheckFailed("There is nothing to undo", "To undo a certain change: git mem undo COMMIT")
    return ""


def _nothing_left(found: Undoing) -> CheckFailed:
    return CheckFailed(f"Nothing of {found.target.oid[:12]} is left to undo: later changes took its place")


_DECIDED = Space("decided", 20)
"""In a clone's state: commands, and when what they take back was decided, in epoch seconds."""


def note_decided(state: Path, now: float, commands: Iterable[str]) -> None:
    """Notes how decisions are taken back that were made just now."""
    for command in commands:
        _DECIDED.put(state, command, int(now))


def last_decided(state: Path, since: float) -> str | None:
    """The command that takes back what was decided last, where that was not before a moment."""
    command, time = next(reversed(_DECIDED.all(state).items()), ("", 0))
    return command if isinstance(time, int | float) and time >= since and command else None


def forget_decided(state: Path, command: str) -> None:
    """Forgets a decision that was taken back by this command."""
    _DECIDED.delete(state, command)


@dataclass(frozen=True)
class RestorePlan:
    """What is to come back.

    Attributes:
        states: scopes, each with the commit to go back to.
        paths: the files of those trees that count; None for all.
        folder: the agent's folder that counts; empty for every agent's.
        what: it, in words.
        at: as of when, as the person said it; empty for what was last known.
    """

    states: tuple[tuple[Scope, str], ...]
    paths: frozenset[str] | None
    folder: str
    what: str
    at: str = ""


@dataclass(frozen=True)
class Back:
    """What came back in one scope, or would.

    Attributes:
        commit: the one made; empty for none.
    """

    scope: Scope
    then: str
    plan: Restored
    commit: str

    def as_value(self) -> dict[str, object]:
        """The JSON form."""
        return {
            "scope": self.scope.name,
            "as_of": self.then,
            "commit": self.commit,
            "paths": sorted(map(sound, self.plan.edits)),
            "forgotten": [sound(path) for path in self.plan.forgotten],
        }


def choose(
    workspace: Workspace,
    edges: Edges,
    name: str | None,
    at: str | None = None,
    scope: str | None = None,
    agent: str | None = None,
) -> RestorePlan:
    """Finds what a person wants back.

    Args:
        name: a memory, or the date of a daily log; None for all that was there `at` that time.

    Raises:
        UsageError: there is and was no such memory, or nothing was stored then.
    """
    folder = chosen_agent(agent) or ""
    if name is not None:
        if at:
            found = find(workspace, name, scope, agent, at, edges.now, whole=True, logs=True)
        else:
            found = last_known(workspace, name, scope, agent, logs=True)
        state = (workspace.scope(found.scope), found.commit)
        return RestorePlan((state,), frozenset({found.path}), folder, found.memory.name, at or "")
    scopes = chosen_scopes(workspace, scope)
    commits = resolve_all(workspace, scopes, at or "", edges.now)
    states = tuple(
        (where, commits[where.ref])
        for where in scopes
        if where.ref in commits and not is_root(where.repo.commit(commits[where.ref]))
    )
    if not states:
        raise UsageError(f"Nothing was stored as of {at}", "See what there was: git mem log")
    return RestorePlan(states, None, folder, "everything" if not agent else f"all of {agent}", at or "")


def restore(
    workspace: Workspace, edges: Edges, past: RestorePlan, *, dry_run: bool = False
) -> tuple[Back, ...]:
    """Brings it back, a commit in each scope that changes; what is not saved yet is saved first."""
    subject = f"Restore {past.what} as of {past.at}" if past.at else f"Restore {past.what}"
    done = []
    with together(copies_of(workspace, edges)) as copies:
        for where, then in past.states:
            if not dry_run:
                copies(where, [], False)
            plan = plan_restore(where.repo, read_tip(where.repo, where.ref), then, past.paths, past.folder)
            commit = ""
            if plan.edits and not dry_run:
                who, head = workspace.author(edges.now), workspace.code_head()
                allow = workspace.allowed
                written = restore_as_of(
                    where, then, who, subject, past.paths, past.folder, head, allow, copies
                )
                commit = written.commit if written else ""
            done.append(Back(where, then, plan, commit))
    return tuple(done)


def files_of(past: RestorePlan) -> dict[str, bytes]:
    """What is to come back as files: a single one by its own name, others below their scope."""
    files: dict[str, bytes] = {}
    for where, then in past.states:
        for path, data in read_files(where.repo, where.repo.commit(then).tree, past.folder).items():
            if kind(path) not in ("memory", "index", "log") or "/" not in path:
                continue
            if past.paths is None:
                files[f"{where.name}/{path}"] = data
            elif path in past.paths:
                files[PurePosixPath(path).name] = data
    return files
