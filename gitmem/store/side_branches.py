"""Branches beside the memory branch (dreams, inboxes): the base merged in, and its index left as it is."""

from __future__ import annotations

from dataclasses import replace

from gitmem.core import attributes
from gitmem.core.index import INDEX
from gitmem.core.names import FORMAT_FILE, FORMAT_TEXT
from gitmem.core.trailers import Provenance, format_message
from gitmem.store.commits import ROOT_SIGNATURE
from gitmem.store.landing import merge_side
from gitmem.store.merging import SUBJECT, merge_commits
from gitmem.store.repository import BLOB, EXECUTABLE, TREE, Repository
from gitmem.store.trees import write_tree

_OWN = {FORMAT_FILE: FORMAT_TEXT, attributes.FILE: attributes.BRANCH_TEXT.encode()}


def with_base(repo: Repository, side: str, base: str) -> str:
    """Merges the memory branch into a side branch, so that a host has nothing to merge; no ref is moved.

    The result has the base's index in every folder: what is asked for never changes `MEMORY.md`, in which
    hosts without a merge driver would find a conflict (design.md section 6). Like every merge it depends
    on the two commits alone. The side branch is the first parent, so a dream's own commits stay its line.

    Args:
        side, base: names of commits.

    Returns:
        A commit that holds both; `side` where there is nothing to do, `base` where that holds all of it.

    Raises:
        MissingObject: history is incomplete.
        RepositoryError: a tree holds a path that no memory tree may hold, or the two cannot be merged.
    """
    if repo.is_ancestor(side, base):
        return base
    merged = merge_side(repo, base, side).tree
    one, other = repo.commit(side), repo.commit(base)
    tree = _with_index_of(repo, merged, other.tree)
    behind = not repo.is_ancestor(base, side)
    if not behind and tree == one.tree:
        return side
    who = replace(ROOT_SIGNATURE, time=max(one.committer.time, other.committer.time))
    message = format_message(SUBJECT, Provenance(op="merge", writer="sync"))
    with repo.together():
        return repo.add_commit(tree, (side, base) if behind else (side,), who, who, message)


def adds_nothing(repo: Repository, side: str, base: str) -> bool:
    """Whether the memory branch has all that a side branch would bring, however it got there.

    What gitmem itself puts at the root of every memory tree is nothing that anybody would be asked for.

    Args:
        side, base: names of commits.
    """
    if repo.is_ancestor(side, base):
        return True
    tree = repo.commit(base).tree
    merged = _with_index_of(repo, merge_commits(repo, side, base).tree, tree)
    return merged == tree or _without_own(repo, merged, tree) == tree


def _without_own(repo: Repository, tree: str, base: str) -> str:
    """A tree without the root files as gitmem writes them that another one does not have."""
    here, there = repo.tree(tree), repo.tree(base)
    edits: dict[str, bytes | None] = {
        name: None
        for name, text in _OWN.items()
        if name in here and name not in there and repo.blob(here[name].oid) == text
    }
    with repo.together():
        return write_tree(repo, tree, edits) if edits else tree


def _with_index_of(repo: Repository, tree: str, base: str) -> str:
    """A tree with the indexes of another one."""
    edits: dict[str, bytes | None] = {}
    here, there = _indexes(repo, tree), _indexes(repo, base)
    for folder in sorted({*here, *there}):
        if here.get(folder) != (oid := there.get(folder)):
            edits[f"{folder}/{INDEX}"] = repo.blob(oid) if oid else None
    with repo.together():
        return write_tree(repo, tree, edits) if edits else tree


def _indexes(repo: Repository, tree: str) -> dict[str, str]:
    """Agents' folders of a tree and the blob of each one's index, where it has one."""
    found = {}
    for name, entry in repo.tree(tree).items():
        index = repo.tree(entry.oid).get(INDEX) if entry.mode == TREE else None
        if index is not None and index.mode in (BLOB, EXECUTABLE):
            found[name] = index.oid
    return found
