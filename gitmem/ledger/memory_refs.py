"""Which refs of a repository hold memory, which of them are one line of it, and moving many at once."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from gitmem.core.errors import MissingObject
from gitmem.git.command import GitCommand
from gitmem.git.repository import Repository
from gitmem.ledger.files import write_atomically
from gitmem.ledger.land import is_memory, root_name
from gitmem.ledger.workspace import PRIVATE_REF, SHARED_REF
from gitmem.values import dataclass

CODE_FAMILIES = ("refs/gitmem/", "refs/heads/gitmem/")
PRIVATE_FAMILIES = ("refs/heads/", "refs/gitmem/")
PRIVATE_SIDES = ("refs/heads/dream/", "refs/gitmem/")
TRACKING = "refs/remotes/"

_LINE = re.compile(rb"^([0-9a-f]{40,64}) ([0-9a-f]{40,64}) ")


@dataclass(frozen=True)
class MemoryRefs:
    """The refs of one repository that hold memory.

    Attributes:
        private: whether it is the private repository.
        own: full name to commit, of the refs that writers here move.
        tracking: the same of what remotes had.
    """

    private: bool
    own: Mapping[str, str]
    tracking: Mapping[str, str]

    @property
    def all(self) -> dict[str, str]:
        """Both."""
        return {**self.own, **self.tracking}

    def is_main(self, ref: str) -> bool:
        """Whether a ref is what a scope stands on, or is added to in place, and no side branch."""
        if self.private:
            return not ref.startswith((*PRIVATE_SIDES, TRACKING))
        return ref in (PRIVATE_REF, SHARED_REF)


def memory_refs(repo: Repository, *, private: bool) -> MemoryRefs:
    """Finds them; a ref that only looks like one, and holds no memory, is left out."""
    families = PRIVATE_FAMILIES if private else CODE_FAMILIES
    own = {ref: oid for family in families for ref, oid in repo.refs(family).items()}
    tracking = repo.refs(TRACKING)
    if not private:
        tracking = {
            ref: oid for ref, oid in tracking.items() if ref.split("/", 3)[3:][0].startswith("gitmem/")
        }
    return MemoryRefs(private, _memories(repo, own), _memories(repo, tracking))


def lines(repo: Repository, refs: MemoryRefs) -> list[frozenset[str]]:
    """The refs in groups that are merged with one another: those with a common history.

    In a code repository that is all of them; a private one holds many scopes.
    """
    if not refs.private:
        return [frozenset(refs.all)] if refs.all else []
    root = root_name(repo)
    groups = {ref: {ref} for ref in refs.all if refs.is_main(ref)}
    for ref, oid in refs.all.items():
        if ref in groups:
            continue
        # `refs/remotes/backup/local/x` is what another machine has of `refs/heads/local/x`.
        twin = f"refs/heads/{ref.split('/', 3)[3]}" if ref.startswith(TRACKING) else ""
        home = next(
            (
                main
                for main in groups
                if main == twin or (refs.is_main(main) and _related(repo, refs.all[main], oid, root))
            ),
            ref,
        )
        groups.setdefault(home, set()).add(ref)
    return [frozenset(group) for group in groups.values()]


def reflog_commits(repo: Repository, refs: Collection[str]) -> set[str]:
    """Commits that the logs of these refs name."""
    return {oid for ref in refs for entry in repo.reflog(ref) for oid in (entry.old, entry.new) if oid}


def clear_logs(git: GitCommand, git_dir: Path, refs: Collection[str], old: Collection[str]) -> None:
    """Empties the logs of refs, and takes what names old commits out of the logs of HEADs."""
    for ref in refs:
        words = ["reflog", "expire", "--expire=all", "--expire-unreachable=all", ref]
        git.run(words, git_dir=git_dir, check=False)
    names = frozenset(one.encode() for one in old)
    for path in (git_dir / "logs" / "HEAD", *git_dir.glob("worktrees/*/logs/HEAD")):
        with suppress(OSError):
            if path.is_symlink():
                continue
            data = path.read_bytes()
            kept = b"".join(line for line in data.splitlines(keepends=True) if not _names(line, names))
            if kept != data:
                mode = path.stat().st_mode & 0o777
                write_atomically(path, kept)
                path.chmod(mode)


def _names(line: bytes, names: frozenset[bytes]) -> bool:
    found = _LINE.match(line)
    return found is not None and not names.isdisjoint(found.groups())


def _memories(repo: Repository, refs: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for ref, oid in refs.items():
        with suppress(MissingObject):
            if is_memory(repo, oid):
                found[ref] = oid
    return found


def _related(repo: Repository, one: str, other: str, root: str) -> bool:
    with suppress(MissingObject):
        return bool(set(repo.merge_bases(one, other)) - {root})
    return False
