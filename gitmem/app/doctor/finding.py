"""What the doctor finds, and what every check is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from gitmem.flows.context import Edges
from gitmem.git.repository import Repository
from gitmem.ledger.workspace import Scope, Workspace


@dataclass(frozen=True)
class Finding:
    """One thing that is not as it should be.

    Attributes:
        kind: which of the doctor's checks found it, e.g. `missing-ref`; stable.
        what: what is wrong, in one line, naming file or ref; may hold hostile text.
        mend: what would be done, or advice where only a person can.
        act: does it and says what was done; None where only a person can.
        asks: whether a person has to agree first.
    """

    kind: str
    what: str
    mend: str
    act: Callable[[], str] | None = field(default=None, repr=False, compare=False)
    asks: bool = False


@dataclass(frozen=True)
class Patient:
    """A repository and its memory, in whatever state.

    Attributes:
        workspace: with settings that can be used, whatever the configuration says.
        private: whether the private repository is there.
    """

    workspace: Workspace
    edges: Edges
    private: bool

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """Those whose repository is there."""
        return tuple(scope for scope in self.workspace.scopes if scope.name == "project" or self.private)

    @property
    def repositories(self) -> tuple[tuple[Repository, Path], ...]:
        """Each repository that is there, with its state folder."""
        found = [(self.workspace.code, self.workspace.state)]
        if self.private:
            found.append((self.workspace.private, self.workspace.private_state))
        return tuple(found)
