"""What a request is: the commit that is judged, and the one that it left; both fetched as far as missing.

A CI checkout is shallow, detached, and has one branch. History is deepened step by step until the two meet;
no ref is moved, and nothing is asked of the remote where everything is here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gitmem.core.errors import MissingObject, RepositoryError, UsageError
from gitmem.git.command import Configuration, GitCommand, Layout, failure
from gitmem.git.remote import Remote
from gitmem.git.repository import Repository, short_name
from gitmem.ledger.remotes import memory_remote, remote_name
from gitmem.ledger.workspace import PRIVATE_REF, SHARED_REF

DEEPER = (1, 15, 120, 1_000)
"""Commits by which a shallow history is deepened, one after the other; then all of it is fetched."""

_FULL_NAME = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True)
class CheckRepository:
    """The repository in which a check runs; `init` need not have run, and there may be no work tree."""

    git: GitCommand
    layout: Layout
    repo: Repository
    config: Configuration

    @property
    def remote(self) -> Remote | None:
        """The remote that memory is shared with, where there is one."""
        try:
            return memory_remote(self.git, self.layout, remote_name(self.config))
        except RepositoryError:
            return None

    @property
    def shallow(self) -> bool:
        """Whether history ends somewhere."""
        return (self.layout.common_dir / "shallow").is_file()


def find_head(ground: CheckRepository, ref: str) -> str | None:
    """The commit that is judged; None on a branch without a commit.

    Args:
        ref: a revision, or a branch of the remote; empty for HEAD.

    Raises:
        UsageError: nothing has this name.
    """
    if not ref:
        return ground.repo.resolve("HEAD")
    return _found(ground, ref)


def find_bases(ground: CheckRepository, base: str, *, memory: bool) -> tuple[str, ...]:
    """What a request may be asked to be merged into.

    Args:
        base: a revision, or a branch of the remote; empty for the memory or the default branch.
        memory: whether the request is one on memory; matters where no base is given.

    Returns:
        Commits; none where nothing is known to compare with.

    Raises:
        UsageError: nothing has the name that was given.
        RepositoryError: the remote that should know it cannot be reached.
    """
    if base:
        return (_found(ground, base),)
    return _memory_bases(ground) if memory else _code_bases(ground)


def meeting_point(ground: CheckRepository, base: str, head: str) -> str | None:
    """The commit at which a request left its base; None where they share no history.

    Deepens a shallow history until they meet and each commit of the request has its parents.

    Raises:
        RepositoryError: history is shallow and the remote cannot be reached.
    """
    for step in (0, *DEEPER, None):
        if step != 0:
            if not ground.shallow:
                break
            _deepen(ground, base, head, step)
        met = _met(ground, base, head)
        if met is not None and not _cut_off(ground, met, head):
            return met
    return _met(ground, base, head)


def _met(ground: CheckRepository, base: str, head: str) -> str | None:
    try:
        bases = ground.repo.merge_bases(base, head)
    except MissingObject:
        return None
    return bases[0] if bases else None


def _cut_off(ground: CheckRepository, met: str, head: str) -> bool:
    """Whether history ends in one of the commits that the request consists of."""
    if not ground.shallow:
        return False
    ends = set((ground.layout.common_dir / "shallow").read_text(encoding="ascii").split())
    words = ["rev-list", head, f"^{met}", "--"]
    return not ends.isdisjoint(ground.git.run(words, git_dir=ground.layout.git_dir).text.split())


def _deepen(ground: CheckRepository, base: str, head: str, step: int | None) -> None:
    remote = ground.remote
    if remote is None:
        raise RepositoryError("History is cut off here, and there is no remote to fetch more from")
    depth = "--unshallow" if step is None else f"--deepen={step}"
    there = remote.listed()
    # By name where the remote has one for it: not every server hands out a commit by its own name.
    names = {oid: name for name, oid in sorted(there.items(), reverse=True)}
    _fetch(ground, remote, [depth], [names.get(oid, oid) for oid in dict.fromkeys((head, base))])


def _fetch(ground: CheckRepository, remote: Remote, options: Sequence[str], wanted: Sequence[str]) -> None:
    words = [
        "fetch",
        "--quiet",
        "--no-tags",
        "--no-write-fetch-head",
        "--no-recurse-submodules",
        "--refmap=",
    ]
    words += [*options, remote.name, *wanted]
    done = ground.git.run(words, git_dir=ground.layout.git_dir, check=False)
    if done.returncode:
        message = failure(done, ground.layout.git_dir).message
        raise RepositoryError(
            f"What the request is compared with cannot be fetched from {remote.name}: {message}",
            "Fetch it before, with --depth=0 or the like, or name what is here: --base REV",
        )


def _found(ground: CheckRepository, name: str) -> str:
    """The commit that a name given by a person stands for."""
    remote = ground.remote
    branch = short_name(name)
    tracked = ground.repo.resolve(f"refs/remotes/{remote.name}/{branch}") if remote else None
    here = ground.repo.resolve(name)
    # In a CI checkout the branch is only at the remote; a person's own branch of that name is meant first.
    if here or tracked:
        return here or tracked or ""
    if remote is not None:
        fetched = _fetched(ground, remote, name, f"refs/heads/{branch}", f"refs/{branch}")
        if fetched:
            return fetched
    raise UsageError(f"{name!r} names no commit here, nor a branch of the remote")


def _fetched(ground: CheckRepository, remote: Remote, *names: str) -> str | None:
    """Fetches the first of these that the remote has; without its history where that is cut here anyway."""
    there = remote.listed()
    wanted = next((name for name in names if name in there or _FULL_NAME.fullmatch(name)), None)
    if wanted is None:
        return None
    _fetch(ground, remote, ["--depth=1"] if ground.shallow else [], [wanted])
    return ground.repo.resolve(there.get(wanted, wanted))


def _memory_bases(ground: CheckRepository) -> tuple[str, ...]:
    """The memory branch, as the remote had it and as it is here; fetched where it is neither."""
    remote = ground.remote
    refs = [remote.tracking(SHARED_REF)] if remote is not None else []
    known = [oid for ref in (*refs, SHARED_REF, PRIVATE_REF) if (oid := ground.repo.ref(ref))]
    if not known and remote is not None and (oid := _fetched(ground, remote, SHARED_REF)):
        known = [oid]
    return tuple(dict.fromkeys(known))


def _code_bases(ground: CheckRepository) -> tuple[str, ...]:
    remote = ground.remote
    if remote is None:
        return ()
    branch = remote.default_branch()
    oid = ground.repo.resolve(branch[1]) if branch else None
    if oid is None:
        words = ["ls-remote", "--symref", "--", remote.name, "HEAD"]
        done = ground.git.run(words, git_dir=ground.layout.git_dir, check=False)
        found = re.search(r"^ref: (refs/heads/\S+)\tHEAD$", done.text, re.MULTILINE)
        oid = _fetched(ground, remote, found[1]) if found else None
    return (oid,) if oid else ()
