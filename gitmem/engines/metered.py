"""An engine held to a day's ceilings: each piece of work for a flow is one run."""

from __future__ import annotations

from collections.abc import Sequence

from gitmem.core.change import Header
from gitmem.engines.engine import (
    ConsolidateInput,
    Consolidation,
    Engine,
    ExtractInput,
    Extraction,
    Tell,
    untold,
)
from gitmem.engines.ledger import LedgerMeter
from gitmem.engines.writing import Document, DocumentInput, Notes, NotesInput


class MeteredEngine:
    """Lets another engine work; its requests are counted by the meter that it was made with."""

    def __init__(self, engine: Engine, meter: LedgerMeter) -> None:
        self._engine, self._meter = engine, meter

    @property
    def name(self) -> str:
        """The engine's own."""
        return self._engine.name

    @property
    def reads_history(self) -> bool:
        """The engine's own."""
        return self._engine.reads_history

    def extract(self, given: ExtractInput) -> Extraction:
        """One run; raises `EngineError` beyond the day's ceiling."""
        self._meter.begin()
        return self._engine.extract(given)

    def select(self, query: str, headers: Sequence[Header], limit: int) -> tuple[int, ...]:
        """No run of its own, but its tokens count."""
        return self._engine.select(query, headers, limit)

    def consolidate(self, given: ConsolidateInput, tell: Tell = untold) -> Consolidation:
        """One run; raises `EngineError` beyond the day's ceiling."""
        self._meter.begin()
        return self._engine.consolidate(given, tell)

    def sum_up(self, given: NotesInput) -> Notes:
        """One run; raises `EngineError` beyond the day's ceiling."""
        self._meter.begin()
        return self._engine.sum_up(given)

    def document(self, given: DocumentInput) -> Document:
        """One run; raises `EngineError` beyond the day's ceiling."""
        self._meter.begin()
        return self._engine.document(given)
