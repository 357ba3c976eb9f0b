"""History that never left this machine, kept here where a memory ref was rebuilt without it.

What is pushed for the first time is rebuilt without what does not stand any more (`share.unpushed`). What
was there before stays under `refs/gitmem/unshared/<number>`, which no push of gitmem sends: a commit on top
of the old one whose message lists what became of which commit, so that undo and restore still find it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gitmem.core.trailers import Provenance, format_message
from gitmem.store.repository import Commit, MissingObject, RefMoved, Repository

UNSHARED = "refs/gitmem/unshared/"

SUBJECT = "Keep what was here before it was shared"

_PAIR = re.compile(r"^([0-9a-f]{40,64}) ([0-9a-f]{40,64})$", re.MULTILINE)


def keep(repo: Repository, old: str, pairs: Mapping[str, str]) -> str:
    """Keeps a commit that a memory ref is about to leave; returns the ref that holds it.

    Args:
        pairs: commit in the rebuilt history to the one that it was made of.
    """
    commit = repo.commit(old)
    listed = "\n".join(f"{new} {was}" for new, was in pairs.items())
    message = format_message(SUBJECT, Provenance(op="sync", writer="sync")) + f"\n{listed}\n"
    made = repo.add_commit(commit.tree, (old,), commit.committer, commit.committer, message)
    while True:
        ref = f"{UNSHARED}{max(_numbered(repo), default=0) + 1}"
        try:
            repo.move_ref(ref, made, None, "gitmem: before it was shared")
        except RefMoved:
            continue
        return ref


def kept(repo: Repository) -> tuple[str, ...]:
    """Commits that keep what was not shared, the newest first."""
    return tuple(oid for _, oid in sorted(_numbered(repo).items(), reverse=True))


def is_kept(repo: Repository, oid: str) -> bool:
    """Whether a commit is in history that was kept here."""
    return any(repo.is_ancestor(oid, tip) for tip in kept(repo))


def as_it_was(repo: Repository, commit: Commit) -> Commit:
    """The commit that a rebuilt one was made of; itself where it was not rebuilt, or that is gone."""
    for made, was in _pairs(repo):
        if made == commit.oid:
            try:
                return as_it_was(repo, repo.commit(was))
            except MissingObject:
                return commit
    return commit


def _numbered(repo: Repository) -> dict[int, str]:
    names = ((ref.removeprefix(UNSHARED), oid) for ref, oid in repo.refs(UNSHARED).items())
    return {int(name): oid for name, oid in names if name.isdecimal()}


def _pairs(repo: Repository) -> Iterator[tuple[str, str]]:
    for tip in kept(repo):
        yield from _PAIR.findall(repo.commit(tip).message)
