"""The engine that is always there: rules over prose, without key or network, deterministic."""

from __future__ import annotations

from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from gitmem.engines.offline.extract import SaidCandidate


class OfflineEngine:
    """Takes what people plainly ask for, and suggests a few of what they state."""

    name = "offline"
    reads_history = False

    def extract(self, given: ExtractInput) -> Extraction:
        """Proposes memories; see `gitmem.engines.offline.extract.extract`."""
        from gitmem.engines.offline.extract import extract

        return Extraction(extract(given))

    def candidates(self, given: ExtractInput) -> tuple[SaidCandidate, ...]:
        """All that may last, best first; see `gitmem.engines.offline.extract.candidates`."""
        from gitmem.engines.offline.extract import candidates

        return candidates(given)

    def consolidate(self, given: ConsolidateInput, tell: Tell = untold) -> Consolidation:
        """Proposes what can be proved; see `gitmem.engines.offline.consolidate`."""
        from gitmem.engines.offline.consolidate import consolidate

        return consolidate(given, tell)

    def sum_up(self, given: NotesInput) -> Notes:
        """Notes what can be read off a session; see `gitmem.engines.offline.notes`."""
        from gitmem.engines.offline.notes import sum_up

        return sum_up(given)

    def document(self, given: DocumentInput) -> Document:
        """Writes plain renames into a document; see `gitmem.engines.offline.document`."""
        from gitmem.engines.offline.document import document

        return document(given)
