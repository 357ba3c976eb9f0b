"""Index lines of one's own, kept when one's memories come back from review without them."""

from __future__ import annotations

from dataclasses import replace

from gitmem.core import index
from gitmem.core.merge import kind
from gitmem.core.names import is_agent_folder
from gitmem.core.text import decode, encode
from gitmem.core.trailers import Provenance
from gitmem.store.commits import ROOT_SIGNATURE, Tip, Write, commit
from gitmem.store.indexes import hot
from gitmem.store.repository import TREE, Repository
from gitmem.store.trees import read_paths


def keep_index(repo: Repository, ref: str, before: str, published: str | None) -> str | None:
    """Puts lines back that a merge took from an index although nobody took them out.

    A side branch leaves the index as it is on the memory branch (`store.side_branches`), and this clone's
    own commits are among its ancestors: where it lands, git takes their index lines for withdrawn. Whoever
    accepted it gave its memories lines of gitmem's own; none of these stands beside what was written here.

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
        unnamed = any(file in files and file not in gone for file in index.targets(mine))
        known = _text(repo, base, path)
        if not unnamed and not _unsaid(repo, agent, (ours, mine), (now, theirs), (base, known)):
            continue
        here = {file for file in index.named(mine) if file in files and _is_memory(agent, file)}
        versions = {
            file: {_data(repo, tree, f"{agent}/{file}") for tree in (ours, now)} for file in sorted(here)
        }
        merged = index.merge(known, mine, index.aligned(theirs, versions, {}))
        dangling = {
            file: _data(repo, ours, f"{agent}/{file}")
            for file in index.targets(merged)
            if file not in files and _is_memory(agent, file) and file not in gone
        }
        merged = index.reconciled(merged, dangling, {})
        if merged != theirs:
            edits[path] = encode(merged)
    return edits


def _unsaid(
    repo: Repository, agent: str, ours: tuple[str, str], now: tuple[str, str], base: tuple[str | None, str]
) -> bool:
    """Whether something that was written here by hand, and was never published, is in the index no more.

    Args:
        ours, now, base: a tree, and the index of the agent in it.
    """
    mine, theirs, known = (
        index.spoken(text, hot(repo, tree, agent)).keys() if tree else set[str]()
        for tree, text in (ours, now, base)
    )
    return bool(mine - theirs - known)


def _is_memory(agent: str, file: str) -> bool:
    return kind(f"{agent}/{file}") == "memory"


def _text(repo: Repository, tree: str | None, path: str) -> str:
    return decode(_data(repo, tree, path)) if tree else ""


def _data(repo: Repository, tree: str, path: str) -> bytes:
    return read_paths(repo, tree, {path}).get(path, b"")
