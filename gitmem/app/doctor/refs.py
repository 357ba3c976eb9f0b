"""Memory refs that are gone or point at something else: put back where they were."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from gitmem.app.doctor.evidence import Evidence, Standing, evidence, stand
from gitmem.app.doctor.finding import Finding, Patient
from gitmem.app.doctor.walk import Walk
from gitmem.core.errors import RepositoryError
from gitmem.core.text import counted
from gitmem.git.refs import move_ref
from gitmem.git.repository import MissingObject, Repository
from gitmem.ledger.foreign_commits import RESCUED, is_usable, rescue, rescue_name
from gitmem.ledger.land import is_memory, root_name
from gitmem.ledger.workspace import Scope

IN_THE_WAY = "refs/heads/gitmem"
TRIED = 40
"""Commits that are looked at for one that is whole: each may mean reading all of a history."""

MESSAGE = "gitmem doctor: brought back"


@dataclass(frozen=True)
class Choice:
    """What a ref is brought back to.

    Attributes:
        whole: whether all that it reaches can be read.
        apart: other commits that were there, which it does not hold.
    """

    best: Evidence
    whole: bool
    apart: tuple[str, ...] = ()


def check_refs(patient: Patient) -> list[Finding]:
    """Looks at the ref of each scope."""
    found = [finding for scope in patient.scopes for finding in _check(patient, scope)]
    if patient.workspace.code.ref(IN_THE_WAY) is not None:
        what = "a branch named gitmem is in the way of the branch gitmem/project"
        found.append(Finding("branch-in-the-way", what, "rename it: git branch -m gitmem gitmem-old"))
    return found


def _check(patient: Patient, scope: Scope) -> Iterator[Finding]:
    repo = scope.repo
    standing = stand(patient.workspace, scope)
    if standing.state == "memory":
        return
    shown = tuple(evidence(patient.workspace, scope))
    gone, damaged = standing.state == "gone", standing.state == "damaged"
    if damaged and standing.oid:
        shown += tuple(_before(repo, standing.oid))
    if gone and not shown:
        return
    what = f"{scope.ref} {standing.why}"
    if gone:
        what = f"{scope.ref} is missing, but {shown[0].source} shows it at {shown[0].oid[:12]}"
    choice = _choose(repo, shown)

    def to(chosen: Choice) -> str:
        kept = "" if gone else f"; what was there is {_displace(patient, scope, standing)}"
        _keep(patient, repo, chosen.apart)
        move_ref(repo, scope.ref, chosen.best.oid, None if gone else repo.ref(scope.ref), MESSAGE)
        return f"{scope.ref} is at {chosen.best.oid[:12]} again{kept}"

    kind = "missing-ref" if gone else "damaged-ref" if damaged else "odd-ref"
    if choice is None and gone:
        mend = (
            "no sound commit of it is left here; fetch one from a backup or clone, or begin anew from what"
        )
        yield Finding(kind, what, f"{mend} stands in live directories: git mem save")
        return
    if choice is None:

        def begin_anew() -> str:
            if stand(patient.workspace, scope).state == "memory":
                return f"{scope.ref} can be read again"
            if now := _choose(repo, shown):
                return to(now)
            kept = _displace(patient, scope, standing)
            move_ref(repo, scope.ref, None, repo.ref(scope.ref), MESSAGE)
            return f"{scope.ref} begins anew with the next save; what was there is {kept}"

        mend = "no sound commit of it is left here: put it aside, so that the next save begins it anew from"
        mend += " what stands in live directories (a backup or clone may have more)"
        yield Finding(kind, what, mend, begin_anew, asks=True)
        return
    mend = f"bring back {choice.best.oid[:12]} ({repo.commit(choice.best.oid).subject})"
    mend += f", from {choice.best.source}"
    mend += "" if choice.whole else "; not all of it can be read"
    if choice.apart:
        mend += f", and keep {counted(len(choice.apart), 'other commit')} under {RESCUED}"
    if not gone:
        mend += f", and keep what is there under {RESCUED}"

    def put_back() -> str:
        if damaged and stand(patient.workspace, scope).state == "memory":
            return f"{scope.ref} can be read again"
        # What was mended meanwhile may have made a newer one whole.
        return to(_choose(repo, shown) or choice)

    # Git deletes a log with its ref: where the log still is, nobody meant to delete the ref.
    asks = gone and not (repo.git_dir / "logs" / scope.ref).is_file()
    yield Finding(kind, what, mend, put_back, asks or damaged)


def _choose(repo: Repository, shown: Sequence[Evidence]) -> Choice | None:
    """The newest commit that exists whole; one that exists in part where none does.

    The log's word comes first: what the ref was moved away from is not brought back. Other refs count
    only where nothing of this clone's own is left.
    """
    logged = frozenset(one.oid for one in shown if one.rank == 0)
    own = [one for one in shown if one.rank == 0 or (one.rank == 1 and one.oid not in logged)]
    for candidates in (own, [one for one in shown if one.rank == 2]):
        sound = _sound(repo, candidates)
        heads = [one for one in sound if not any(_holds(repo, other, one) for other in sound)]
        heads.sort(key=lambda one: (-one.rank, repo.commit(one.oid).committer.time), reverse=True)
        if heads:
            return Choice(heads[0], True, tuple(one.oid for one in heads[1:]))
    for one in shown:
        if is_usable(repo, one.oid) and is_memory(repo, one.oid):
            return Choice(one, False)
    return None


def _sound(repo: Repository, candidates: Sequence[Evidence]) -> list[Evidence]:
    """Those that are whole; of the log's only the newest."""
    sound: list[Evidence] = []
    known: set[str] = set()
    tried: set[str] = set()
    for one in candidates:
        enough = one.rank == 0 and any(other.rank == 0 for other in sound)
        if enough or one.oid in known | tried or len(tried) == TRIED:
            continue
        tried.add(one.oid)
        walk = Walk(repo, known)
        walk.reach(one.oid)
        if not walk.broken and is_memory(repo, one.oid):
            known |= walk.seen
            sound.append(one)
    return sound


def _holds(repo: Repository, newer: Evidence, older: Evidence) -> bool:
    return newer.oid != older.oid and repo.is_ancestor(older.oid, newer.oid)


def _displace(patient: Patient, scope: Scope, standing: Standing) -> str:
    """Takes away what cannot be moved as a ref; returns how it is kept."""
    repo, git = scope.repo, patient.workspace.git
    linked = git.run(["symbolic-ref", "-q", scope.ref], git_dir=repo.git_dir, check=False).text
    if linked:
        git.run(["symbolic-ref", "--delete", scope.ref], git_dir=repo.git_dir)
        return f"left where it is: it was a link to {linked}"
    if standing.oid is None:
        aside = scope.state / "rescued" / f"{_stamp(patient)}-{quote(scope.ref, safe='')}"
        aside.parent.mkdir(parents=True, exist_ok=True)
        os.replace(repo.git_dir / scope.ref, aside)
        return f"kept in {aside}"
    if standing.state == "damaged":
        # By the name that a save gives to what its folder showed.
        rescue(repo, standing.oid)
        return f"kept as {rescue_name(standing.oid)}"
    try:
        return f"kept as {_keep(patient, repo, (standing.oid,))[0]}"
    except RepositoryError:
        return f"not there any more: {standing.oid} (its log: {_keep_log(patient, scope)})"


def _keep_log(patient: Patient, scope: Scope) -> Path:
    """Copies a ref's log, which git deletes along with the ref."""
    aside = scope.state / "rescued" / f"{_stamp(patient)}-{quote(scope.ref, safe='')}.log"
    aside.parent.mkdir(parents=True, exist_ok=True)
    log = (f"{one.old} {one.new} {one.message}\n" for one in scope.repo.reflog(scope.ref))
    aside.write_text("".join(log), errors="surrogateescape")
    return aside


def _before(repo: Repository, oid: str) -> Iterator[Evidence]:
    """The commits before one, newest first, as far as they can be read."""
    with suppress(MissingObject):
        for _ in range(TRIED):
            parents = repo.commit(oid).parents
            # The empty commit that all begins with is nothing to go back to.
            if not parents or parents[0] == root_name(repo):
                return
            oid = parents[0]
            yield Evidence(oid, "its own history", 2)


def _keep(patient: Patient, repo: Repository, oids: Sequence[str]) -> list[str]:
    """Names objects under `refs/gitmem/rescued`; returns the refs."""
    made = []
    for oid in oids:
        stem, number = f"{RESCUED}{_stamp(patient)}", 1
        name = stem
        while repo.ref(name) is not None:
            number += 1
            name = f"{stem}-{number}"
        move_ref(repo, name, oid, None, "gitmem doctor: kept")
        made.append(name)
    return made


def _stamp(patient: Patient) -> str:
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(patient.edges.now))
