"""Whether a purged text is gone: a look at every object of a repository, and at every file of ours."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gitmem.core.purge import Purge
from gitmem.share.purge_plan import Left, lives
from gitmem.store.erasing import existing
from gitmem.store.git import GitCommand
from gitmem.store.old_epochs import erase_old
from gitmem.store.repository import Repository
from gitmem.store.rewriting_objects import objects_with
from gitmem.store.scrubbing import files_with
from gitmem.store.workspace import DOCS_REF, Workspace

PROPOSED = (
    "a change to a document that waits in review has it: git branch -D gitmem/docs, and purge it once more"
)

MOST_LEFT = 20
"""Places where a text still is that are listed."""


@dataclass(frozen=True)
class Proof:
    """What a look at every object came to.

    Attributes:
        scanned: objects that were looked at.
        erased: objects that held it, and that nothing referred to.
        left: where it still is.
    """

    scanned: int
    erased: int
    left: tuple[Left, ...]


def look_at_objects(
    repo: Repository,
    git: GitCommand,
    purge: Purge,
    gone: Collection[str],
    states: Iterable[Path],
    name: str,
) -> Proof:
    """Looks at every object of a repository, and erases what holds it and dangles.

    Args:
        gone: contents of memories that went as a whole.
        states: as for `erase_old`.
        name: what a person calls the repository.

    Raises:
        RepositoryError: it cannot be told what is still used, or a pack cannot be written.
    """
    looked = objects_with(git, repo.git_dir, repo.hex_length, purge.holds)
    hits, erased = {*looked.found, *existing(git, repo.git_dir, gone)}, 0
    if hits:
        erased = erase_old(repo, git, states, hits).count
        hits = set(existing(git, repo.git_dir, hits))
    proposed = _proposed(repo, git) if hits else frozenset()
    left = tuple(
        Left(f"{path or oid[:12]} in {name}", PROPOSED if oid in proposed else _why(repo.git_dir, oid))
        for oid, path in _located(git, repo.git_dir, hits).items()
    )
    return Proof(looked.number, erased, left)


def look_at_files(workspace: Workspace, texts: Purge) -> list[Left]:
    """Files of gitmem's state and of live directories that hold a text."""
    if not texts:
        return []
    places = (workspace.state, workspace.around.data, *(live.path for live in lives(workspace)))
    found = [path for place in places for path in files_with(place, texts, [workspace.private_path])]
    return [Left(str(path), "it cannot be written") for path in dict.fromkeys(found)]


def _located(git: GitCommand, git_dir: Path, oids: set[str]) -> dict[str, str]:
    """Where objects are in history: name to a path, empty where that is not known."""
    found = dict.fromkeys(sorted(oids), "")
    if not oids:
        return {}
    words = ["rev-list", "--objects", "--missing=allow-any", "--all", "--reflog", "--indexed-objects"]
    for line in git.run(words, git_dir=git_dir, check=False).text.split("\n"):
        oid, _, path = line.partition(" ")
        if oid in found:
            found[oid] = path
    return dict(list(found.items())[:MOST_LEFT])


def _proposed(repo: Repository, git: GitCommand) -> frozenset[str]:
    """Objects that are nowhere but in changes to documents that wait."""
    if repo.ref(DOCS_REF) is None:
        return frozenset()
    words = ["rev-list", "--objects", "--missing=allow-any", DOCS_REF, "--not"]
    words += [f"--exclude={DOCS_REF}", "--all"]
    listed = git.run(words, git_dir=repo.git_dir, check=False).text.split("\n")
    return frozenset(line.partition(" ")[0] for line in listed)


def _why(git_dir: Path, oid: str) -> str:
    borrowed = git_dir / "objects" / "info" / "alternates"
    if borrowed.exists() and not (git_dir / "objects" / oid[:2] / oid[2:]).exists():
        with suppress(OSError):
            return (
                f"another ref or index refers to it, or it is borrowed from {borrowed.read_text().strip()}"
            )
    return "a ref, index or log that is not gitmem's refers to it"
