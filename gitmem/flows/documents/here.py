"""A look at the living documents here: in any clone or CI checkout, with nothing of gitmem set up."""

from __future__ import annotations

import os.path
from collections.abc import Sequence
from pathlib import Path

from gitmem.core.errors import UsageError
from gitmem.docs.check import Checked, check, documents
from gitmem.docs.document import Doc
from gitmem.flows.context import Edges
from gitmem.git.command import GitCommand, layout
from gitmem.search.code_reader import STAGED


def documents_here(edges: Edges, rev: str) -> tuple[Doc, ...]:
    """The living documents of a commit, HEAD's where none is named.

    Raises:
        RepositoryError: there is no repository, or no such revision.
    """
    git, top, _ = _place(edges)
    return documents(git, top, rev or "HEAD")


def checked_here(edges: Edges, rev: str, paths: Sequence[Path], *, staged: bool) -> tuple[Checked, ...]:
    """Holds the living documents of a commit, or those that are staged, against the code there.

    Args:
        paths: only these, from the current folder, or all in a folder; empty for all.

    Raises:
        RepositoryError: there is no repository, or no such revision.
        UsageError: a path is no living document and has none.
    """
    git, top, worktree = _place(edges)
    named = edges.environ.get("GIT_INDEX_FILE", "") if staged else ""
    index = str(Path(edges.cwd, named)) if named else None
    # As a hook of git's it is asked about what is staged, whose index git names.
    which = STAGED if staged else rev or "HEAD"
    docs = documents(git, top, which, index=index)
    for path in paths:
        if not any(_means(edges.cwd, worktree, path, doc) for doc in docs):
            raise UsageError(
                f"{path} is no living document", "Its first line has to be: # MAGIC DOC: <title>"
            )
    chosen = [doc for doc in docs if not paths or any(_means(edges.cwd, worktree, p, doc) for p in paths)]
    return check(git, top, which, chosen, index=index)


def _place(edges: Edges) -> tuple[GitCommand, Path, Path | None]:
    git = GitCommand(edges.environ)
    where = layout(git, edges.cwd)
    return git, where.worktree or where.git_dir, where.worktree


def _means(cwd: Path, worktree: Path | None, path: Path, doc: Doc) -> bool:
    full = (worktree or Path()) / doc.path
    asked = (cwd if worktree else Path()) / path
    # Without `..`, and through no link: the document is a name in a tree.
    asked = Path(os.path.normpath(asked))
    return full == asked or asked in full.parents
