"""Memories brought back as they were: as a new commit in each scope, or read to be written elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

from gitmem.core.errors import UsageError
from gitmem.core.names import kind
from gitmem.flows.context import Edges
from gitmem.flows.save import copies_of
from gitmem.flows.values import sound
from gitmem.git.trees import read_files
from gitmem.ledger.holdings import chosen_agent
from gitmem.ledger.land import read_tip, together
from gitmem.ledger.log import last_known
from gitmem.ledger.lookup import chosen_scopes, find
from gitmem.ledger.moments import is_root, resolve_all
from gitmem.ledger.restore import Restored, plan_restore, restore_as_of
from gitmem.ledger.workspace import Scope, Workspace


@dataclass(frozen=True)
class Past:
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
) -> Past:
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
        return Past((state,), frozenset({found.path}), folder, found.memory.name, at or "")
    scopes = chosen_scopes(workspace, scope)
    commits = resolve_all(workspace, scopes, at or "", edges.now)
    states = tuple(
        (where, commits[where.ref])
        for where in scopes
        if where.ref in commits and not is_root(where.repo.commit(commits[where.ref]))
    )
    if not states:
        raise UsageError(f"Nothing was stored as of {at}", "See what there was: git mem log")
    return Past(states, None, folder, "everything" if not agent else f"all of {agent}", at or "")


def restore(workspace: Workspace, edges: Edges, past: Past, *, dry_run: bool = False) -> tuple[Back, ...]:
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


def files_of(past: Past) -> dict[str, bytes]:
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
