"""Setting a memory ref on the history that may leave, with all that hangs on the one before."""

from __future__ import annotations

from contextlib import suppress

from gitmem.core.account import is_memory, path_of
from gitmem.core.names import TURNED_DOWN, homes
from gitmem.core.trailers import parse
from gitmem.share.unpushed import Prepared
from gitmem.store.merging import merge_of_trees
from gitmem.store.repository import Commit, MissingObject, RefMoved, Repository
from gitmem.store.trees import changed_files, read_file, write_tree
from gitmem.store.unshared import keep

MESSAGE = "gitmem sync: without what never left"

SIDES = ("refs/heads/gitmem/dream/", "refs/gitmem/dream/", TURNED_DOWN)
"""Branches of dreams, those that were turned down among them, which hang on the memory ref."""


def depart(repo: Repository, ref: str, old: str, prepared: Prepared) -> None:
    """Moves a memory ref from a commit to what was prepared of it; what it told before is kept here.

    Raises:
        RefMoved: it is elsewhere by now; nothing was done.
    """
    if prepared.local == old:
        return
    kept = keep(repo, old, prepared.made) if prepared.loses else ""
    try:
        repo.move_ref(ref, prepared.local, old, MESSAGE)
    except RefMoved:
        if kept:
            repo.move_ref(kept, None, repo.ref(kept), MESSAGE)
        raise
    for family in SIDES:
        for side, oid in repo.refs(family).items():
            # One that cannot be read, or moved meanwhile, is for a person to look at.
            with suppress(MissingObject, RefMoved):
                made = _carried(repo, oid, old, prepared)
                if made != oid:
                    repo.move_ref(side, made, oid, MESSAGE)


def _carried(repo: Repository, side: str, old: str, prepared: Prepared) -> str:
    """A side branch on what stands for the commits that it left the memory ref at."""
    words = ["rev-list", "--topo-order", "--reverse", side, "--not", old, "--"]
    now = dict(prepared.now)
    for oid in repo.git.run(words, git_dir=repo.git_dir).text.split():
        commit = repo.commit(oid)
        parents = tuple(now.get(parent, parent) for parent in commit.parents)
        if parents != commit.parents:
            now[oid] = _replayed(repo, commit, parents)
    return now.get(side, side)


def _replayed(repo: Repository, commit: Commit, parents: tuple[str, ...]) -> str:
    before, onto = (repo.commit(oid).tree for oid in (commit.parents[0], parents[0]))
    sources = {path_of(fate.source) for fate in parse(commit.message).claims}
    if any(_is_gone(repo, path, before, onto) for path in filter(is_memory, sources)):
        # It is about what others are not to see.
        return parents[0]
    merged = merge_of_trees(repo, before, onto, commit.tree).tree
    gone = [path for path in changed_files(repo, before, commit.tree) if _is_gone(repo, path, before, onto)]
    if gone:
        with repo.together():
            merged = write_tree(repo, merged, dict.fromkeys(gone))
    return repo.add_commit(merged, parents, commit.author, commit.committer, commit.message)


def _is_gone(repo: Repository, path: str, before: str, onto: str) -> bool:
    """Whether a file that was there is in neither of its places in what is shared."""
    stood = read_file(repo, before, path) is not None
    return stood and all(read_file(repo, onto, place) is None for place in homes(path))
