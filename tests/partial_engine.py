"""An engine that can do nothing: doubles do what their test is for, and fail where more is asked."""

from __future__ import annotations

from collections.abc import Sequence

from gitmem.engines.engine import (
    ConsolidateInput,
    Consolidation,
    Document,
    DocumentInput,
    ExtractInput,
    Extraction,
    Header,
    Notes,
    NotesInput,
    Tell,
    untold,
)


class PartialEngine:
    """Each method raises; a double overrides those that its test needs."""

    name: str = "scripted"
    reads_history: bool = False

    def extract(self, given: ExtractInput) -> Extraction:
        raise NotImplementedError

    def choose(self, query: str, headers: Sequence[Header], limit: int) -> tuple[int, ...]:
        raise NotImplementedError

    def consolidate(self, given: ConsolidateInput, tell: Tell = untold) -> Consolidation:
        raise NotImplementedError

    def sum_up(self, given: NotesInput) -> Notes:
        raise NotImplementedError

    def document(self, given: DocumentInput) -> Document:
        raise NotImplementedError
