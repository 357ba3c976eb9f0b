"""Turning sharing on and off: the project scope as a branch that can be pushed, or as a ref that cannot.

Memory is shared with a configured remote, or with a repository for memory alone that a person names. What
would leave this machine for the first time, and nobody has agreed to yet, is told here, too.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal

from gitmem.core import attributes
from gitmem.core.errors import RepositoryError, UsageError
from gitmem.core.text import decode, encode
from gitmem.core.trailers import Provenance
from gitmem.git.config import config_get, config_set, config_unset
from gitmem.git.refs import move_ref
from gitmem.git.remote import Remote, checked_address, same_place, without_credentials
from gitmem.git.repository import RefMoved, Repository, Signature, short_name
from gitmem.git.trees import read_file
from gitmem.ledger.arrival import check_arrival
from gitmem.ledger.departure import Prepared, depart, prepare
from gitmem.ledger.inbox import writer_branch
from gitmem.ledger.land import (
    Ref,
    Tip,
    Write,
    is_commit,
    land,
    land_commit,
    memory_commit,
    root_commit,
)
from gitmem.ledger.merge import merge_commits
from gitmem.ledger.push_plan import Leaving, first_departures
from gitmem.ledger.remotes import ONLY_MEMORY, SEPARATE, find_remote, memory_remote
from gitmem.ledger.side_branches import asked, forget_asked
from gitmem.ledger.workspace import BRANCHES, PRIVATE_REF, SHARED_REF, Workspace, read_settings
from gitmem.values import dataclass

Mode = Literal["review", "direct"]

AGREED = "gitmem.agreed"
"""Where the clone's configuration keeps the commit whose memories the person agreed to share."""

_IN_THE_WAY = "refs/heads/gitmem"

REACH_SECONDS = 60.0
"""How long a host may take to list its branches."""


@dataclass(frozen=True)
class SharePlan:
    """What `share` would do.

    Attributes:
        mode: `review` or `direct`.
        before: `off`, or the mode that is on already.
        leaves: memories that leave with the next sync for the first time.
        personal: memories about a person (type `user`), which stay here.
        url: address of a repository for memory alone, whose remote is yet to be made; else empty.
        branches: branches of that repository that are no memory.
        old_remote: name of the remote that memory is shared with already; empty where none is.
    """

    remote: Remote
    mode: Mode
    before: str
    leaves: tuple[Leaving, ...]
    personal: tuple[Leaving, ...] = ()
    url: str = ""
    branches: tuple[str, ...] = ()
    old_remote: str = ""


def plan_share(
    workspace: Workspace, mode: Mode | None = None, remote: str = "", cwd: Path | None = None
) -> SharePlan:
    """Finds what turning sharing on means; nothing is written.

    Args:
        mode: None keeps the mode that is on, else `review`.
        remote: name of a configured remote, or the address of a repository for memory; empty for the
            usual remote.
        cwd: what a relative path is relative to; the work tree's top without it.

    Raises:
        RepositoryError: no such remote, a branch `gitmem` is in the way, or `gitmem/project` is no memory.
        UsageError: an address that may not be used.
    """
    found, url, branches = _find_place(workspace, remote, cwd or workspace.top)
    repo = workspace.code
    if repo.ref(_IN_THE_WAY) is not None:
        raise RepositoryError(
            "A branch named gitmem is in the way of the branch gitmem/project",
            "Rename it: git branch -m gitmem gitmem-old",
        )
    before = workspace.sharing
    chosen: Mode = mode or ("direct" if before == "direct" else "review")
    tips = [tip for ref in (PRIVATE_REF, SHARED_REF) if (tip := memory_commit(repo, ref)) is not None]
    known = repo.ref(found.tracking(SHARED_REF))
    held = dict.fromkeys(
        one for tip in tips for one in first_departures(repo, tip, [known] if known else [])
    )
    personal = tuple(memory for memory in held if memory.type == "user")
    leaves = tuple(memory for memory in held if memory.type != "user")
    old = workspace.settings.get("remote") if before != "off" else ""
    fresh = leaves if before == "off" or old != found.name else ()
    return SharePlan(found, chosen, before, fresh, personal, url, branches, old)


def turn_on(workspace: Workspace, plan: SharePlan, author: Signature) -> None:
    """Makes the project scope a branch; the old ref goes only when the branch holds all of it.

    A branch is what an ordinary push may send, so it never holds history that is not to leave. Where this
    process dies, the ref that the settings name is there.

    Raises:
        RepositoryError: a ref cannot be written; memory is where it was.
    """
    repo = workspace.code
    if plan.url:
        _make_remote(workspace, plan.url)
    made = _depart(repo, PRIVATE_REF, plan.remote, author) if repo.ref(PRIVATE_REF) else None
    _join(repo, PRIVATE_REF, SHARED_REF)
    set_mode(workspace, plan.mode, plan.remote.name)
    move_memory(repo, PRIVATE_REF, SHARED_REF)
    if plan.old_remote == plan.remote.name:
        # It is a branch already, and nothing was named: what is new is asked for by the next sync.
        _with_attributes(repo, SHARED_REF, author)
        return
    if made is None or repo.ref(SHARED_REF) != made.local:
        made = _depart(repo, SHARED_REF, plan.remote, author)
    agree(workspace, made.tip)


def _depart(repo: Repository, ref: str, remote: Remote, author: Signature) -> Prepared:
    """Sets a memory ref on the history that may leave for a remote."""
    while True:
        prepared = prepare(repo, remote, tip := _with_attributes(repo, ref, author))
        with suppress(RefMoved):
            depart(repo, ref, tip, prepared)
            return prepared


def turn_off(workspace: Workspace) -> bool:
    """Makes the project scope a ref that no ordinary push sends. What was pushed stays where it is.

    Returns:
        Whether sharing was on.

    Raises:
        RepositoryError: the branch is checked out, or a ref cannot be written.
    """
    if workspace.sharing == "off":
        return False
    for tree in workspace.worktrees:
        if tree.branch == SHARED_REF:
            raise RepositoryError(
                f"{tree.path} has gitmem/project checked out", "Check another branch out there first."
            )
    _join(workspace.code, SHARED_REF, PRIVATE_REF)
    set_mode(workspace, "off")
    move_memory(workspace.code, SHARED_REF, PRIVATE_REF)
    return True


def start_from_remote(workspace: Workspace, *, dry_run: bool = False) -> bool:
    """Begins the project scope of a fresh clone from the remote's memory branch, where one was fetched.

    What this clone learns for the team then goes to review. Memory that stands here already is never mixed
    with it unasked; `workspace` sees the new settings at once.

    Returns:
        Whether there is one.

    Raises:
        RepositoryError: it is in a newer format.
    """
    repo = workspace.code
    if workspace.sharing != "off" or repo.ref(PRIVATE_REF) is not None or repo.ref(_IN_THE_WAY) is not None:
        return False
    if not workspace.settings.config.remotes:
        return False
    try:
        remote = find_remote(workspace)
    except RepositoryError:
        return False
    theirs = repo.ref(remote.tracking(SHARED_REF))
    if theirs is None:
        return False
    check_arrival(repo, theirs, SHARED_REF)
    if dry_run:
        return True
    ours = memory_commit(repo, SHARED_REF)
    if ours is None:
        land_commit(repo, SHARED_REF, theirs, None, "gitmem share: start from the remote")
    set_mode(workspace, "review", remote.name)
    return True


def move_memory(repo: Repository, source: str, target: str) -> None:
    """Brings what a memory ref holds, where there is one, into another one, and removes it."""
    while True:
        with suppress(RefMoved):
            if (here := _join(repo, source, target)) is None:
                return
            move_ref(repo, source, None, here, "gitmem share")


def _join(repo: Repository, source: str, target: str) -> str | None:
    """Merges a memory ref into another one; gives where it is, None where there is none."""
    here, there = memory_commit(repo, source), memory_commit(repo, target)
    merged = merge_commits(repo, there, here).commit if here and there else here
    if merged and merged != there:
        land_commit(repo, target, merged, there, "gitmem share")
    return here


def _agreed(workspace: Workspace) -> str | None:
    """The commit whose memories the person agreed to share, where it is still here."""
    oid = config_get(workspace.git, None, AGREED, scope="local", git_dir=workspace.layout.common_dir)
    return oid if oid and is_commit(workspace.code, oid) else None


def agree(workspace: Workspace, oid: str) -> None:
    """Notes that the person agreed to share the memories of a commit."""
    config_set(workspace.git, None, AGREED, oid, git_dir=workspace.layout.common_dir)


def _with_attributes(repo: Repository, ref: str, author: Signature) -> str:
    """Sees to it that a memory ref exists and tells hosts how to merge it; gives its commit."""
    if repo.ref(ref) is None:
        land_commit(repo, ref, root_commit(repo), None, "gitmem share")

    def plan(tip: Tip) -> Write | None:
        text = decode(read_file(repo, tip.tree, attributes.FILE) or b"")
        whole = attributes.complete(text, attributes.BRANCH)
        if whole == text:
            return None
        return Write(
            {attributes.FILE: encode(whole)},
            "Tell git how to merge memory",
            Provenance(op="sync", writer="sync"),
        )

    land(Ref(repo, ref, shared=True), plan, author)
    return repo.ref(ref) or root_commit(repo)


def set_mode(workspace: Workspace, mode: str, remote: str = "") -> None:
    """Notes how memory is shared from here on; `workspace` sees it at once.

    Args:
        mode: `off`, `review` or `direct`.
        remote: name of the one that it is shared with; empty for the same as before.
    """
    git, where = workspace.git, workspace.layout.common_dir
    if remote:
        # What was asked for at another remote is neither merged nor closed at this one.
        for one in asked(workspace.code) if remote != workspace.settings.get("remote") else ():
            forget_asked(workspace.code, one.branch)
        config_set(git, None, "gitmem.remote", remote, git_dir=where)
    if mode == "off":
        config_unset(git, None, "gitmem.share", git_dir=where)
        config_unset(git, None, AGREED, git_dir=where)
    else:
        config_set(git, None, "gitmem.share", mode, git_dir=where)
    workspace.settings = read_settings(git, workspace.top)


def _find_place(workspace: Workspace, named: str, cwd: Path) -> tuple[Remote, str, tuple[str, ...]]:
    """Finds the remote that a person means; a new address is asked for its branches. Nothing is written.

    Args:
        named: name of a configured remote, else the address of a repository; empty for the usual remote.
        cwd: what a relative path is relative to.

    Returns:
        The remote; its address where it is yet to be made, as `gitmem`, else empty; and the branches there
        that are no memory: it is shared with something else.

    Raises:
        UsageError: it is no address, holds credentials, or is this repository itself.
        RepositoryError: there is no such remote, or it cannot be reached.
    """
    common, top, config = workspace.layout.common_dir, workspace.top, workspace.settings.config
    remotes = {name: config.get(f"remote.{name}.url") for name in config.remotes}
    if not named or named in remotes or not _is_address(named, cwd):
        return find_remote(workspace, named, anew=True), "", ()
    url = checked_address(named, cwd)
    if without_credentials(url) != url:
        raise UsageError(
            "An address with a user or password in it would be kept in a file that others can read",
            f"Give it as {without_credentials(url)}; git keeps them apart (git help credentials).",
        )
    own = [str(common), *(str(tree.path) for tree in workspace.worktrees), str(workspace.private_path)]
    if any(same_place(url, place, top) for place in own):
        raise UsageError(f"{url} is this repository, or your private one", "Name another repository.")
    for name, known in remotes.items():
        if known and same_place(url, known, top):
            return find_remote(workspace, name), "", ()
    if SEPARATE in remotes:
        raise RepositoryError(
            f"There is a remote named {SEPARATE} already, at {without_credentials(remotes[SEPARATE])}",
            f"To move it: git remote set-url {SEPARATE} {url}",
        )
    found = memory_remote(workspace.git, workspace.layout, SEPARATE, url)
    listed = replace(found, name=url).listed("refs/heads/*", timeout=REACH_SECONDS)
    foreign = tuple(sorted(short_name(ref) for ref in listed if not ref.startswith(BRANCHES)))
    return memory_remote(workspace.git, workspace.layout, SEPARATE), url, foreign


def _make_remote(workspace: Workspace, url: str) -> None:
    """Makes the remote `gitmem`, which fetches memory and nothing else; other remotes are left alone."""
    git, where = workspace.git, workspace.layout.common_dir
    for key, value in (("url", url), ("fetch", ONLY_MEMORY), ("tagOpt", "--no-tags")):
        config_set(git, None, f"remote.{SEPARATE}.{key}", value, git_dir=where)


def _is_address(named: str, cwd: Path) -> bool:
    """Whether a word is meant as an address, and not as the name of a remote that is not there."""
    return any(sign in named for sign in "/:\\") or (cwd / named).exists()


@dataclass(frozen=True)
class HeldBack:
    """What the next sync would ask about.

    Attributes:
        id: `l-` and six digits of the commit.
        commit: of the memory here.
        personal: memories about a person, which no sync sends.
    """

    id: str
    remote: str
    commit: str
    leaves: tuple[Leaving, ...]
    personal: tuple[Leaving, ...] = ()


def held_back(workspace: Workspace) -> HeldBack | None:
    """The memories that would leave for the first time, by what was fetched last; None where none would."""
    if workspace.sharing == "off":
        return None
    repo = workspace.code
    try:
        tip = repo.ref(SHARED_REF)
        if tip is None:
            return None
        remote = find_remote(workspace)
        fresh = leaving_first(workspace, remote, tip)
    except RepositoryError:
        return None
    leaves = tuple(memory for memory in fresh if memory.type != "user")
    personal = tuple(memory for memory in fresh if memory.type == "user")
    return HeldBack(f"l-{tip[:6]}", remote.name, tip, leaves, personal) if fresh else None


def leaving_first(workspace: Workspace, remote: Remote, oid: str) -> tuple[Leaving, ...]:
    """The memories of a commit that the remote never had, and that the person has not agreed to share."""
    repo = workspace.code
    branches = (SHARED_REF, writer_branch(workspace))
    known = [tip for branch in branches if (tip := repo.ref(remote.tracking(branch)))]
    if not first_departures(repo, oid, known):
        return ()
    # What was agreed to is asked of git at this moment: sharing may have been turned off meanwhile.
    known += filter(None, [_agreed(workspace)])
    there = remote.fetched(repo).values()  # a teammate's inbox too, of which a person takes what they like
    return first_departures(repo, oid, known, there)


def agree_to(workspace: Workspace, held: HeldBack) -> None:
    """Notes that the person agreed to all but what is about a person."""
    remote = find_remote(workspace)
    agree(workspace, prepare(workspace.code, remote, held.commit).tip)
