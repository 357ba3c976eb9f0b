"""A check as it is run: in any clone or CI checkout, with nothing of gitmem set up."""

from __future__ import annotations

from pathlib import Path

from gitmem.integrations.edges import Edges
from gitmem.share.check.reading import Reader
from gitmem.share.check.request import Ground
from gitmem.share.check.run import Asked, Report, check
from gitmem.share.snapshots import ROOT_FOLDER
from gitmem.store.git import GitCommand, layout
from gitmem.store.git_backend import GitRepository
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
        return check(Ground(git, where, repo), reader, asked)
    finally:
        repo.close()
