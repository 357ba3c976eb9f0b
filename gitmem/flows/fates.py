"""Rules about what became of claims in a request: what people dropped, what a merge took away."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gitmem.core.account import account, claims_at, is_memory, path_of, paths_named, references
from gitmem.core.trailers import Fate, Provenance, parse
from gitmem.rules.rule import Finding, quoted
from gitmem.store.repository import Commit, Repository
from gitmem.store.trees import changed_files, read_paths


@dataclass(frozen=True)
class _Loss:
    """A claim that a commit took away.

    Attributes:
        hidden: whether no commit but a merge did, which says nothing of claims.
    """

    source: str
    text: str
    problem: str
    line: int
    commit: Commit
    hidden: bool


def judge_fates(repo: Repository, base: str, tip: str, *, proved: bool = False) -> tuple[Finding, ...]:
    """Lists what the commits of a request took away without a word.

    A claim that stands again at the tip was not lost.

    Args:
        base: the common ancestor of the request and what it is asked to be merged into.
        tip: the request.
        proved: whether commits that answer for claims, and the whole, are judged elsewhere.
    """
    declared: list[Fate] = []
    losses: list[_Loss] = []
    for step in repo.steps(tip, without=(base,)):
        said = parse(step.commit.message)
        declared += said.claims
        if len(step.commit.parents) == 1 and not _answers(said):
            losses += _losses(repo, step.commit.parents[0], step.commit)
    whole = [] if proved else _whole(repo, repo.commit(base), repo.commit(tip), declared)
    standing = _standing(repo, repo.commit(tip).tree, losses)
    found: dict[tuple[str, str], Finding] = {}
    for loss in losses:
        if loss.text not in standing.get(loss.source, ()):
            found[_key(loss.source, loss.text)] = _told(loss)
    for loss in whole:
        # Only a merge can take a claim away that no other commit did.
        found.setdefault(_key(loss.source, loss.text), _told(loss))
    return tuple(sorted(set(found.values())))


def _answers(said: Provenance) -> bool:
    """Whether a commit has to account for every claim that it touches."""
    return said.op == "dream" or said.writer == "dream" or bool(said.claims)


def _losses(repo: Repository, parent: str, commit: Commit) -> Iterator[_Loss]:
    before = repo.commit(parent).tree
    paths = {path for path in changed_files(repo, before, commit.tree) if is_memory(path)}
    old = read_paths(repo, before, paths)
    for lost in account(old, read_paths(repo, commit.tree, paths), ()).unaccounted:
        yield _Loss(lost.source, lost.text, lost.problem, _line(old, lost.source), commit, False)


def _whole(repo: Repository, base: Commit, tip: Commit, declared: Sequence[Fate]) -> Iterator[_Loss]:
    paths = changed_files(repo, base.tree, tip.tree)
    paths |= paths_named(declared)
    paths = {path for path in paths if is_memory(path)}
    old = read_paths(repo, base.tree, paths)
    for lost in account(old, read_paths(repo, tip.tree, paths), declared).unaccounted:
        yield _Loss(lost.source, lost.text, lost.problem, _line(old, lost.source), tip, True)


def _standing(repo: Repository, tree: str, losses: Sequence[_Loss]) -> dict[str, frozenset[str]]:
    """Reference of a claim that was lost on the way to the claims that its file has in the end."""
    paths = {path_of(loss.source) for loss in losses}
    files = read_paths(repo, tree, paths)
    texts = {path: frozenset(claim.text for claim in claims_at(path, data)) for path, data in files.items()}
    return {loss.source: texts.get(path_of(loss.source), frozenset()) for loss in losses}


def _line(files: dict[str, bytes], source: str) -> int:
    path = path_of(source)
    data = files.get(path)
    claim = references({path: data}).get(source) if data is not None else None
    if data is None or claim is None:
        return 1
    first = claim.text.split("\n", 1)[0].encode("utf-8", "surrogateescape")
    return data.count(b"\n", 0, max(0, data.find(first))) + 1


def _told(loss: _Loss) -> Finding:
    path = path_of(loss.source)
    if loss.hidden:
        what = f"{loss.problem}: {quoted(loss.text)} ({loss.commit.oid[:12]})"
        return Finding(path, loss.line, "account", what)
    what = (
        f"claim dropped by {quoted(loss.commit.author.name)}: {quoted(loss.text)} ({loss.commit.oid[:12]})"
    )
    return Finding(path, loss.line, "dropped", what, "notice")


def _key(source: str, text: str) -> tuple[str, str]:
    return source.rpartition("#")[2], text
