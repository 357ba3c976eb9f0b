"""Values of an update of documents: what is asked, what was found, and what is to be done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from gitmem.core.trailers import Usage
from gitmem.engines.engine import Stale
from gitmem.flows.documents.branch import Change, Standing
from gitmem.flows.documents.code_branch import Place
from gitmem.values import dataclass

Outcome = Literal["proposed", "unchanged", "deleted", "nothing", "left"]
Result = Literal["proposed", "kept", "true", "open", "rejected", "refused", "failed"]


@dataclass(frozen=True)
class Request:
    """What is to be looked at.

    Attributes:
        paths: these documents, also where what was proposed for them was turned down; None for those that
            new commits may have made untrue.
        all: every document.
    """

    paths: tuple[str, ...] | None = None
    all: bool = False

    @property
    def asked(self) -> bool:
        """Whether a person asks."""
        return self.all or self.paths is not None


@dataclass(frozen=True)
class Told:
    """What came of one document.

    Attributes:
        result: `kept` where what was proposed before still stands, `open` where something does not hold
            and nothing is proposed.
        id: of the proposal; empty where there is none.
        why: for `refused` and `failed`.
        stale: what does not hold.
        before, after: the document, and what is proposed; equal where nothing is.
    """

    path: str
    result: Result
    id: str = ""
    why: str = ""
    stale: tuple[Stale, ...] = ()
    notes: tuple[str, ...] = ()
    before: str = ""
    after: str = ""


@dataclass(frozen=True)
class Plan:
    """What would be done.

    Attributes:
        standing: the branch as it was read; None where there is none.
        changes: what the branch is to hold.
        left: why it stays as it is, whatever was found; empty where it need not.
        branch: the branch of the code that it is for.
        due: branch of the code to documents that its next commit has to look at.
        seen: whether all that new commits touched was looked at.
    """

    place: Place
    standing: Standing | None
    changes: tuple[Change, ...]
    told: tuple[Told, ...]
    engine: str = ""
    left: str = ""
    branch: str = ""
    due: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    seen: bool = False

    @property
    def outcome(self) -> Outcome:
        """What carrying it out comes to."""
        now, wanted = self.standing, self.changes
        if self.left:
            return "left"
        if not wanted:
            return "deleted" if now else "nothing"
        have = tuple((one.change.path, one.change.after) for one in now.proposals) if now else ()
        same = now is not None and now.base == self.place.head and not now.whose
        return "unchanged" if same and have == tuple((c.path, c.after) for c in wanted) else "proposed"


@dataclass(frozen=True)
class Updated:
    """What was done.

    Attributes:
        tip: where the branch is now; empty where it is not.
        before: where it was.
        usage: what engines used.
        log: what they tried and were refused.
    """

    plan: Plan
    tip: str = ""
    before: str = ""
    usage: tuple[Usage, ...] = ()
    log: tuple[str, ...] = ()
