"""A memory ref whose commits say who taught what, and in which order."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from gitmem.core.account import claims_at, reference
from gitmem.core.trailers import Provenance, format_message
from gitmem.git.command import GitCommand
from gitmem.git.open import open_repository
from gitmem.git.repository import Repository, Signature
from gitmem.git.trees import write_tree
from gitmem.ledger.blame import Blamed, ClaimOrigin, blame_memory, origins_of

START = 1_790_000_000
HOUR = 3600
HEAD = "---\nname: {0}\ndescription: About {0}\ntype: project\n---\n\n"
PORTS = "main/ports.md"


def memory(name: str, *claims: str) -> str:
    return HEAD.format(name) + "\n\n".join(claims) + "\n"


class History:
    """A memory ref's commits, made an hour apart by whoever taught them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store: Repository = open_repository(path, GitCommand(dict(os.environ)))
        self.time = START

    def learn(
        self,
        files: Mapping[str, str | None],
        *parents: str,
        who: str = "Ann",
        subject: str = "Learn",
        message: str = "",
        **told: object,
    ) -> str:
        """Commits the first parent's tree with these files in it."""
        self.time += HOUR
        tree = self.store.commit(parents[0]).tree if parents else None
        edits = {path: None if text is None else text.encode() for path, text in files.items()}
        author = Signature(who, f"{who.lower()}@example.com", self.time)
        provenance = Provenance(**({"op": "update", "writer": "agent"} | told))  # type: ignore[arg-type]
        text = message or format_message(subject, provenance)
        return self.store.add_commit(write_tree(self.store, tree, edits), parents, author, author, text)

    def blame(self, tip: str, path: str = PORTS) -> dict[str, Blamed]:
        return {one.claim.text: one for one in blame_memory(self.store, tip, path)}

    def origin(self, tip: str, text: str, path: str = PORTS) -> ClaimOrigin:
        (found,) = self.blame(tip, path)[text].origins
        return found

    def commit_of(self, tip: str, text: str, path: str = PORTS) -> str:
        return self.origin(tip, text, path).commit

    def git(self, *words: str, **env: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.path), *words],
            check=True,
            capture_output=True,
            text=True,
            env=os.environ | env,
        )
        return done.stdout.strip()

    def claim(self, tip: str, path: str, text: str) -> str:
        """A claim's name as dreams write it."""
        entry = self.store.entry(self.store.commit(tip).tree, path)
        assert entry is not None
        (named,) = [c for c in claims_at(path, self.store.blob(entry.oid)) if c.text == text]
        return reference(path, named)


def assert_together_as_alone(repo: Repository, tip: str, paths: Iterable[str]) -> None:
    """Many memories blamed in one walk get the origins that each gets alone."""
    alone = {path: {one.claim.id: one.origins for one in blame_memory(repo, tip, path)} for path in paths}
    assert origins_of(repo, tip, {path: set(found) for path, found in alone.items()}) == {
        (path, id): origins for path, found in alone.items() for id, origins in found.items()
    }
