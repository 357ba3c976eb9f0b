"""Which code repository a project id stands for: `refs/heads/projects` in the private repository.

The tree is a set, so that any two merge without a conflict:

    <project id>/root/<first commit of the code>
    <project id>/url/<12 hexadecimal digits of its SHA-256>     (content: the normalised URL of `origin`)

It can be lost at no loss of memory. With it, `init` finds memory again after a repository's URL has
changed, and does not lay private memory out where only the URL is the same.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from gitmem.core.errors import UsageError
from gitmem.core.text import decode, encode
from gitmem.core.trailers import Provenance
from gitmem.git.repository import RefMoved, Repository, Signature
from gitmem.git.trees import list_files, read_files
from gitmem.ledger.land import Ref, Tip, Write, land, land_commit, root_commit
from gitmem.ledger.merge import merge_commits
from gitmem.ledger.proposals import unite
from gitmem.ledger.workspace import PROJECT_ID, Workspace, make_project_id

PROJECTS_REF = "refs/heads/projects"

PER_PROJECT = ("refs/heads/local/", "refs/heads/sessions/")
"""Beginnings of the private refs that end in a project id."""


@dataclass(frozen=True)
class Project:
    """What is noted about one project.

    Attributes:
        roots: first commits of its code, in any clone that was seen.
        urls: normalised URLs that its `origin` had.
    """

    id: str
    roots: frozenset[str] = frozenset()
    urls: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ProjectChoice:
    """The project that a code repository is taken for.

    Attributes:
        id: the one to use unless the person says otherwise.
        others: ids that they may mean; what is kept for these is not laid out unasked.
        why: what speaks for, or against, those.
    """

    id: str
    others: tuple[str, ...] = ()
    why: str = ""


def choose_project(workspace: Workspace, wanted: str = "") -> ProjectChoice:
    """Finds which project's private memory belongs to a code repository; nothing is written.

    Args:
        wanted: the id that the person insists on; empty to find it.

    Raises:
        UsageError: there is no private memory under that id.
    """
    known = _known(workspace)
    if wanted:
        if wanted not in known:
            raise UsageError(
                f"You keep no memory for a project {wanted!r}", f"There are: {', '.join(known) or 'none'}."
            )
        return ProjectChoice(wanted)
    configured = workspace.settings.get("projectId")
    if workspace.initialised:
        return ProjectChoice(configured)
    usual = configured if PROJECT_ID.fullmatch(configured) else make_project_id(workspace)
    if not known:
        return ProjectChoice(usual)
    roots, url = workspace.roots, workspace.origin
    same = [one for one in known.values() if one.roots & roots]
    if usual in known and known[usual].roots and known[usual] not in same:
        apart = make_project_id(workspace, besides=min(roots, default=str(workspace.layout.common_dir)))
        why = "begins with another commit" if roots else "begins with a commit that is not here"
        return ProjectChoice(apart, (usual,), f"the history that it was learned in {why}")
    if usual in known or not same:
        return ProjectChoice(usual)
    for one in same:
        if url in one.urls:
            return ProjectChoice(one.id)
    return ProjectChoice(usual, tuple(one.id for one in same), "its history begins with the same commit")


def note_project(workspace: Workspace, author: Signature) -> None:
    """Notes the first commits and the URL that the present repository has, where they are not noted yet."""
    id, url, repo = workspace.project_id, workspace.origin, workspace.private
    facts = {f"{id}/root/{oid}": encode(f"{oid}\n") for oid in workspace.roots}
    if url:
        facts[f"{id}/url/{hashlib.sha256(encode(url)).hexdigest()[:12]}"] = encode(f"{url}\n")

    def plan(tip: Tip) -> Write | None:
        fresh = {path: data for path, data in facts.items() if path not in list_files(repo, tip.tree, id)}
        return Write(fresh, f"Note where {id} is", Provenance(op="sync", writer="sync")) if fresh else None

    land(Ref(repo, PROJECTS_REF), plan, author)


def unite_projects(repo: Repository, source: str, target: str) -> None:
    """Brings what is kept for one project into another; the first stays as it is."""
    unite(repo, source, target)
    for prefix in PER_PROJECT:
        while (here := repo.ref(prefix + source)) is not None:
            there = repo.ref(prefix + target)
            merged = merge_commits(repo, there or root_commit(repo), here).commit
            if merged == there:
                break
            try:
                land_commit(repo, prefix + target, merged, there, f"gitmem init: take in {source}")
            except RefMoved:
                continue


def _known(workspace: Workspace) -> dict[str, Project]:
    """All projects that the private repository has memory or a note of, by id; it is not made for that."""
    if not workspace.private_path.is_dir():
        return {}
    repo = workspace.private
    ids = (ref.removeprefix("refs/heads/local/") for ref in repo.refs("refs/heads/local/"))
    found = {id: Project(id) for id in ids}
    tip = repo.ref(PROJECTS_REF)
    for path, data in read_files(repo, repo.commit(tip).tree).items() if tip else ():
        id, _, rest = path.partition("/")
        fact, _, value = rest.partition("/")
        one = found.get(id, Project(id))
        if fact == "root":
            found[id] = Project(id, one.roots | {value}, one.urls)
        elif fact == "url":
            found[id] = Project(id, one.roots, one.urls | {decode(data).strip()})
    return dict(sorted((id, one) for id, one in found.items() if PROJECT_ID.fullmatch(id)))
