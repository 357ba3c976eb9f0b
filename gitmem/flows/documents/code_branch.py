"""Where the code of a work tree stands: whether documents can be held against it now."""

from __future__ import annotations

from pathlib import Path

from gitmem.git.command import GitCommand, worktrees
from gitmem.git.repository import short_name
from gitmem.ledger.workspace import DOCS_REF, Workspace
from gitmem.values import dataclass

MEMORY = "refs/heads/gitmem/"
UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisect",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
}
"""Files of a git directory that show what is under way there."""


@dataclass(frozen=True)
class Place:
    """A branch of the code, as a work tree has it.

    Attributes:
        top: of the work tree.
        branch: full ref name.
        head: its commit.
    """

    top: Path
    branch: str
    head: str


def place_of(workspace: Workspace) -> Place | str:
    """Where the code stands; in its place, why nothing is to be built on that."""
    top, git_dir = workspace.layout.worktree, workspace.layout.git_dir
    if top is None or workspace.layout.bare:
        return "there is no work tree"
    for name, what in UNDER_WAY.items():
        if (git_dir / name).exists():
            return f"{what} is under way"
    git = workspace.git
    branch = git.run(["symbolic-ref", "--quiet", "HEAD"], cwd=top, check=False).text
    if not branch:
        return "HEAD is detached"
    if branch.startswith(MEMORY):
        return f"{short_name(branch)} is checked out"
    head = git.run(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], cwd=top, check=False).text
    return Place(top, branch, head) if head else f"{short_name(branch)} has no commit yet"


def checked_out(git: GitCommand, common: Path) -> Path | None:
    """The work tree that has the branch of proposals checked out, or is rebasing it; None without any."""
    for tree in worktrees(git, None, git_dir=common):
        if tree.branch == DOCS_REF and not tree.bare and not tree.prunable:
            return tree.path
    for git_dir in (common, *sorted(common.glob("worktrees/*"))):
        for name in ("rebase-merge", "rebase-apply"):
            try:
                with (git_dir / name / "head-name").open("rb") as file:
                    if file.read(4096).strip() == DOCS_REF.encode():
                        return git_dir
            except OSError:
                continue
    return None


def changed_between(git: GitCommand, top: Path, old: str, new: str) -> frozenset[str] | None:
    """Paths in which two commits differ, of a rename both; None where one of them is gone."""
    words = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", old, new, "--"]
    done = git.run(words, cwd=top, check=False)
    if done.returncode:
        return None
    return frozenset(done.stdout.decode("utf-8", "surrogateescape").split("\0")) - {""}
