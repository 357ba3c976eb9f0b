"""Changes to documents that wait for a person: read off the branch, and cheap where there is none."""

from __future__ import annotations

from gitmem.flows.documents.branch import Change, Standing, read_branch
from gitmem.flows.documents.state import read_kept
from gitmem.git.repository import short_name
from gitmem.ledger.workspace import DOCS_REF, Workspace
from gitmem.values import dataclass

NAME = short_name(DOCS_REF)


@dataclass(frozen=True)
class Waiting:
    """A change to a document that waits.

    Attributes:
        commit: that makes it.
        standing: the whole branch.
    """

    commit: str
    change: Change
    standing: Standing

    @property
    def id(self) -> str:
        """What review calls it."""
        return self.change.id

    @property
    def take(self) -> tuple[str, ...]:
        """Commands that take it: alone, and with all that waits."""
        one = f"git cherry-pick {self.commit[:12]}"
        return (
            (one, f"git merge {NAME}") if len(self.standing.proposals) > 1 else (f"git merge {NAME}", one)
        )


def waiting_documents(workspace: Workspace) -> tuple[Waiting, ...]:
    """Changes to documents that neither HEAD nor the branch they are for has."""
    repo = workspace.code
    tip = repo.ref(DOCS_REF)
    if tip is None:
        return ()
    kept = read_kept(workspace.state)
    found = workspace.git.run(
        ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], cwd=workspace.top, check=False
    )
    heads = [oid for oid in (found.text, repo.ref(kept.branch) if kept.branch else None) if oid]
    standing = read_branch(repo, workspace.git, tip, heads, lambda: workspace.person.email, kept.tip)
    tree = repo.commit(heads[0]).tree if heads else None
    waits = []
    for one in standing.proposals:
        entry = repo.entry(tree, one.change.path) if tree else None
        if entry is None or entry.oid != one.change.after:
            waits.append(Waiting(one.commit, one.change, standing))
    return tuple(waits)
