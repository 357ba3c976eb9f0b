"""An engine that can do nothing: doubles do what their test is for, and fail where more is asked."""

from __future__ import annotations

from gitmem.engines.engine import (
    ConsolidateInput,
    Consolidation,
    Document,
    DocumentInput,
    ExtractInput,
    Extraction,
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

    def consolidate(self, given: ConsolidateInput, tell: Tell = untold) -> Consolidation:
        raise NotImplementedError

    def sum_up(self, given: NotesInput) -> Notes:
        raise NotImplementedError

    def document(self, given: DocumentInput) -> Document:
        raise NotImplementedError
