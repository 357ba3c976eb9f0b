"""Where the page reads and writes: one look at the memory of a repository."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

from gitmem.flows.context import Edges
from gitmem.flows.last_recalls import record_of
from gitmem.ledger.lookup import Listed
from gitmem.ledger.workspace import SCOPES, Workspace

FAMILIES = ("refs/gitmem/", "refs/heads/gitmem/", "refs/remotes/")


@dataclass(frozen=True)
class Place:
    """One look at memory.

    Attributes:
        at: the moment at which the page opens; empty for the present.
        scopes: what may be shown.
        lists: lists of memories that were read before, by the state and the moment that they are of.
    """

    workspace: Workspace
    edges: Edges
    at: str = ""
    scopes: tuple[str, ...] = SCOPES
    lists: dict[tuple[str, str | None], list[Listed]] = field(default_factory=dict, compare=False)

    @cached_property
    def tag(self) -> str:
        """Names the state of refs, recalls and settings; folders of agents are not looked at."""
        space = self.workspace
        refs = [*(space.code.refs(family) for family in FAMILIES), space.private.refs("refs/")]
        parts = [refs, space.code_head(), self.at]
        files = [record_of(scope) for scope in space.scopes]
        files += [space.layout.common_dir / "config", space.layout.git_dir / "HEAD"]
        times = []
        for file in files:
            with suppress(OSError):
                times.append((file.name, file.stat().st_mtime_ns))
        return hashlib.sha256(repr([parts, times]).encode()).hexdigest()[:24]
