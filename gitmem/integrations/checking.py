"""A check as it is run: in any clone or CI checkout, with nothing of gitmem set up."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from gitmem.integrations.edges import Edges
from gitmem.share.check.finding import Finding
from gitmem.share.check.reading import Reader
from gitmem.share.check.request import Ground, reach_back
from gitmem.share.check.run import Asked, Report, check
from gitmem.share.snapshots import ROOT_FOLDER
from gitmem.store.git import GitCommand, layout
from gitmem.store.git_backend import GitRepository
from gitmem.store.repository import Repository
from gitmem.store.settings import read_settings
from gitmem.store.workspace import SNAPSHOT_FOLDER

__all__ = ["Report", "check_here"]


def check_here(edges: Edges, ref: str, base: str, staged: bool, *, github: bool) -> Report:
    """Judges the request in the repository around `edges.cwd`; only git is needed.

    Args:
        ref, base: what is judged, and what it is to be merged into; empty for the usual.
        staged: judge what is staged; so does a check that git runs as a hook, unless `ref` is given.
        github: whether GitHub Actions runs it, which names the base of a pull request in the environment.

    Raises:
        GitmemError: there is no repository, or what is asked for cannot be found or fetched.
    """
    git = GitCommand(edges.environ)
    where = layout(git, edges.cwd)
    repo = GitRepository(git, where)
    settings = read_settings(git, edges.cwd)
    index = edges.environ.get("GIT_INDEX_FILE", "")
    hooked = bool(index) and not ref and not base and not github
    if github and not base and not ref:
        base = edges.environ.get("GITHUB_BASE_REF", "")
    reader = Reader(git, repo, where.git_dir, str(Path(edges.cwd, index)) if index else None)
    asked = Asked(
        ref,
        base,
        (staged or hooked) and where.worktree is not None,
        (f"{settings.get('claudeDir')}/{SNAPSHOT_FOLDER}", ROOT_FOLDER),
        frozenset(word for value in settings.all("allow") for word in value.split()),
        int(edges.now),
    )
    try:
        ground = Ground(git, where, repo)
        return check(ground, reader, asked, partial(_proof, ground, asked))
    finally:
        repo.close()


def _proof(
    ground: Ground, asked: Asked, repo: Repository, met: str, base: str, head: str
) -> tuple[Finding, ...] | None:
    """What a dream cannot prove, as findings; None where a request is no dream."""
    from gitmem.dream.proof.branch import is_dream, prove_branch
    from gitmem.dream.proof.budget import WINDOW

    if not is_dream(repo, met, head):
        return None
    found = []
    if not reach_back(ground, base, head, asked.now - WINDOW):
        what = "history is cut off here, so what dreams gave up within 30 days is not all counted"
        found.append(Finding(".", 1, "budget", what, "notice"))
    for failure in prove_branch(repo, base, head, now=asked.now, allow=asked.allow):
        # A file in the wrong place is the same in any request.
        rule = "path" if failure.rule == "place" else failure.rule
        what = failure.message + (f" ({failure.commit[:12]})" if failure.commit else "")
        found.append(Finding(failure.path or ".", failure.line, rule, what))
    return tuple(found)
