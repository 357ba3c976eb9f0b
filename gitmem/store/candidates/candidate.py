"""A memory, or a line of a daily log, that may answer a question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from gitmem.values import dataclass


@dataclass(frozen=True)
class Candidate:
    """A memory that shares terms with a question, or a fact of a daily log that no memory has yet.

    Attributes:
        path: in the tree of the ref, beginning with the agent's folder; of a log's line `<path>#<12 hex>`.
        blob: object name of its content; of a log's line, the name that git would give the line.
        score: the higher the better; comparable between catalogs only roughly.
        parts: what made the score: `text` (bm25), `rarity` (sum over matched terms), `covered` (0 to 1,
            share of the question's rarity that the memory matches), `matched` (number of terms),
            `headed` (of these, in the name or description), `asked` (terms in the question). Of terms
            that tell what it is about (`words.tells`): `telling` (in the question), `told` (matched),
            `decisive` (in the name or description).
        time: author time of the last taught change, epoch seconds; 0 where unknown.
        why: what each strategy contributed to `score`.
        commit: the commit it was read at, for a search as of then; empty for the tip.
    """

    ref: str
    agent: str
    path: str
    blob: str
    score: float
    parts: Mapping[str, float]
    name: str
    description: str
    type: str
    archived: bool
    time: int
    commit: str = ""
    why: Mapping[str, float] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """`memory`, or `log` for a line of a daily log."""
        return "memory" if self.path.endswith(".md") else "log"

    @property
    def file(self) -> str:
        """Path of the file inside the agent's folder."""
        file = self.path.partition("/")[2]
        return file if file.endswith(".md") else file.rpartition("#")[0]
