"""`git mem review --open` for documents: the branch goes where the code goes, and a request is opened."""

from __future__ import annotations

from dataclasses import replace

from gitmem.core.errors import CheckFailed, RepositoryError
from gitmem.core.text import counted, one_line
from gitmem.flows.context import Edges
from gitmem.flows.documents.state import Kept, change_kept, read_kept
from gitmem.flows.documents.waiting import NAME, Waiting, waiting_documents
from gitmem.flows.pull_request import Request, opened
from gitmem.flows.pull_request_body import code
from gitmem.git.command import config_get
from gitmem.git.remote import Remote
from gitmem.git.repository import short_name
from gitmem.ledger.remotes import SEPARATE
from gitmem.ledger.workspace import DOCS_REF, Workspace

DOCUMENTS = "docs"
"""What `review --open` calls the branch that proposes changes to documents."""

WIDTH = 200
MOST_LINES = 200


def open_documents(workspace: Workspace, edges: Edges, id: str, *, dry_run: bool = False) -> Request:
    """Pushes the branch and opens a request for it, or updates the open one.

    Args:
        id: what the person called it.
        dry_run: nothing is pushed and nobody asked.

    Raises:
        CheckFailed: nothing waits, somebody else's commits are in the way, or more than this would leave.
        RepositoryError: there is no remote for the code, or it refuses.
    """
    waits = waiting_documents(workspace)
    if not waits:
        raise CheckFailed("No change to a document waits", "See what does: git mem review")
    kept, standing = read_kept(workspace.state), waits[0].standing
    branch = kept.branch or _branch(workspace)
    remote, base = _remote(workspace, branch)
    _refuse_more(workspace, remote, base, standing.base)
    what = waits[0].change.path if len(waits) == 1 else counted(len(waits), "document")
    made = Request(id or NAME, remote.name, NAME, base, f"Keep {one_line(what, 100)} true", _body(waits))
    if dry_run:
        return made
    there = remote.listed(DOCS_REF).get(DOCS_REF)
    if there != standing.tip:
        ours = there is None or there == kept.pushed.get(remote.name)
        if not ours and not _holds(workspace, there or "", standing.tip):
            raise CheckFailed(
                f"{NAME} at {remote.name} holds commits that are not in yours",
                f"Look at them: git fetch {remote.name} {NAME}; where they are done with: "
                f"git push {remote.name} --delete {NAME}",
            )
        pushed = remote.push(standing.tip, DOCS_REF, there)
        if pushed.outcome != "pushed":
            raise RepositoryError(f"{remote.name} refused {NAME}: {pushed.words}", "Nothing was opened.")
        remote.note(workspace.code, DOCS_REF, standing.tip)

        def note(known: Kept) -> Kept:
            return replace(known, pushed={**known.pushed, remote.name: standing.tip})

        change_kept(workspace.state, note)
    return opened(workspace, edges, remote, made)


def _branch(workspace: Workspace) -> str:
    done = workspace.git.run(["symbolic-ref", "--quiet", "HEAD"], cwd=workspace.top, check=False)
    return done.text


def _remote(workspace: Workspace, branch: str) -> tuple[Remote, str]:
    """Where a branch of the code is sent to, and what it is called there."""
    git, top, name = workspace.git, workspace.top, short_name(branch)
    known = [one for one in git.run(["remote"], cwd=top).text.split() if one != SEPARATE]
    upstream = config_get(git, top, f"branch.{name}.remote") if name else None
    merge = config_get(git, top, f"branch.{name}.merge") if name else None
    if upstream in known and merge:
        return Remote(git, top, upstream, families=(DOCS_REF,), without=DOCS_REF), short_name(merge)
    chosen = "origin" if "origin" in known else known[0] if len(known) == 1 else ""
    if not chosen or not name:
        raise RepositoryError(
            "It is not clear where the code is sent to", "Say it: git push -u REMOTE BRANCH"
        )
    return Remote(git, top, chosen, families=(DOCS_REF,), without=DOCS_REF), name


def _refuse_more(workspace: Workspace, remote: Remote, base: str, commit: str) -> None:
    """Raises where the push would send commits of the code that the remote does not have."""
    words = ["rev-list", "--count", commit, "--not", f"--glob=refs/remotes/{remote.name}/*", "--"]
    count = workspace.git.run(words, git_dir=workspace.code.git_dir).text
    if count != "0":
        raise CheckFailed(
            f"{NAME} builds on {counted(int(count), 'commit')} that {remote.name} does not have",
            f"Send these first: git push {remote.name} {base}",
        )


def _holds(workspace: Workspace, there: str, tip: str) -> bool:
    repo = workspace.code
    return repo.resolve(there) == there and repo.is_ancestor(there, tip)


def _body(waits: tuple[Waiting, ...]) -> str:
    """The text of a request. What a document says stands in code spans, where hosts obey nothing."""
    lines = ["Living documents said of the code what no longer holds. A commit for each of them:", ""]
    for one in waits:
        lines += [f"- {code(one.change.path, WIDTH)}, by {code(one.change.engine, WIDTH)}"]
        lines += [
            f"  - {code(line.removeprefix('- '), WIDTH)}"
            for line in one.change.body.splitlines()
            if line.strip()
        ]
    if len(lines) > MOST_LINES:
        lines = [*lines[:MOST_LINES], "- …"]
    take = f"`git mem review show {waits[0].id}` shows one in a clone."
    return "\n".join([*lines, "", f"Merge it as any change of the code; {take}", ""])


def means_documents(workspace: Workspace, id: str) -> bool:
    """Whether what a person named is a document or all of them; or nothing, and there is nothing else."""
    only = workspace.sharing == "off" and workspace.code.ref(DOCS_REF) is not None
    return id == DOCUMENTS or id.startswith("m-") or (not id and only)
