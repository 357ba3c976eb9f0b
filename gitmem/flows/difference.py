"""What changed between two states of a memory tree, file by file and claim by claim."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gitmem.core.merge import kind
from gitmem.flows.values import sound
from gitmem.git.trees import changed_files, read_paths
from gitmem.ledger.log import ClaimChange, claim_diff
from gitmem.ledger.workspace import Scope


@dataclass(frozen=True)
class FileDiff:
    """What changed in one file; `state` is `added`, `deleted` or `changed`."""

    scope: str
    path: str
    state: str
    changes: tuple[ClaimChange, ...]

    def as_value(self) -> dict[str, object]:
        """The JSON form."""
        return {
            "scope": self.scope,
            "path": sound(self.path),
            "state": self.state,
            "changes": [{"sign": change.sign, "text": sound(change.text)} for change in self.changes],
        }


def between(scope: Scope, old: str | None, new: str, folder: str | None = None) -> Iterator[FileDiff]:
    """Compares two commits of a scope; the index is left out, since it follows the memories.

    Args:
        old: None for nothing at all.
        folder: the agent's that counts; None for all.
    """
    repo = scope.repo
    one, other = repo.commit(old).tree if old else None, repo.commit(new).tree
    paths = {
        path for path in changed_files(repo, one, other) if folder is None or path.startswith(f"{folder}/")
    }
    before, after = (read_paths(repo, tree, paths) if tree else {} for tree in (one, other))
    for path in sorted(paths):
        yield from of_file(scope, path, before.get(path), after.get(path))


def of_file(scope: Scope, path: str, before: bytes | None, after: bytes | None) -> Iterator[FileDiff]:
    """Compares two states of a memory or a daily log; gives nothing where both are equal.

    Args:
        before, after: content; None where there is no file.
    """
    if kind(path) in ("memory", "log") and before != after:
        state = "added" if before is None else "deleted" if after is None else "changed"
        yield FileDiff(scope.name, path, state, claim_diff(path, before, after))
