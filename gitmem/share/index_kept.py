"""Index lines of one's own, kept when one's memories come back from review without them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gitmem.core import index
from gitmem.core.merge import kind
from gitmem.core.names import is_agent_folder
from gitmem.core.text import decode, encode
from gitmem.core.trailers import Provenance
from gitmem.store.commits import ROOT_SIGNATURE, Tip, Write, commit
from gitmem.store.repository import TREE, Repository
from gitmem.store.trees import read_paths


def keep_index(repo: Repository, ref: str, before: str, published: str | None) -> str | None:
    """Puts lines back that a merge took from an index although their memories are there.

    A side branch leaves the index as it is on the memory branch (`store.side_branches`), and this clone's
    own commits are among its ancestors: where it lands, git takes their index lines for withdrawn.

    Args:
        ref: the memory ref, after the merge.
        before: its commit before the merge.
        published: the memory branch as this clone knew it before: the base of the indexes.

    Returns:
        The commit that was made, or None where no line was lost.
    """
    ours = repo.commit(before).tree
    base = repo.commit(published).tree if published else None

    def plan(tip: Tip) -> Write | None:
        edits = _edits(repo, base, ours, tip.tree)
        return Write(edits, "Keep index lines", Provenance(op="sync", writer="sync")) if edits else None

    known = repo.ref(ref)
    if known is None:
        return None
    # As with every merge, clones that do the same make the same commit.
    who = replace(ROOT_SIGNATURE, time=repo.commit(known).committer.time)
    done = commit(repo, ref, plan, who)
    return done.commit if done else None


def _edits(repo: Repository, base: str | None, ours: str, now: str) -> dict[str, bytes | None]:
    edits: dict[str, bytes | None] = {}
    for agent, entry in repo.tree(now).items():
        if entry.mode != TREE or not is_agent_folder(agent):
            continue
        path = f"{agent}/{index.INDEX}"
        mine, theirs = (_text(repo, tree, path) for tree in (ours, now))
        if mine == theirs or not mine:
            continue
        files = repo.tree(entry.oid)
        gone = frozenset(index.targets(theirs))
        if not any(file in files and file not in gone for file in index.targets(mine)):
            continue
        merged = index.merge(_text(repo, base, path), mine, theirs)
        dangling = {
            file: _data(repo, ours, f"{agent}/{file}")
            for file in index.targets(merged)
            if _is_dangling(agent, file, files) and file not in gone
        }
        merged = index.reconciled(merged, dangling, {})
        if merged != theirs:
            edits[path] = encode(merged)
    return edits


def _is_dangling(agent: str, file: str, files: Mapping[str, object]) -> bool:
    return file not in files and kind(f"{agent}/{file}") == "memory"


def _text(repo: Repository, tree: str | None, path: str) -> str:
    return decode(_data(repo, tree, path)) if tree else ""


def _data(repo: Repository, tree: str, path: str) -> bytes:
    return read_paths(repo, tree, {path}).get(path, b"")
