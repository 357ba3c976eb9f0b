"""The engine `anthropic`: the Messages API through its SDK, which is imported when a request is made."""

from __future__ import annotations

from collections.abc import Sequence

from gitmem.core.change import Header
from gitmem.engines.anthropic_api.settings import DEFAULT_MODEL, ApiSettings
from gitmem.engines.engine import ConsolidateInput, Consolidation, ExtractInput, Extraction, Tell, untold
from gitmem.engines.usage import Meter
from gitmem.engines.writing import Document, DocumentInput, Notes, NotesInput

__all__ = ["DEFAULT_MODEL", "AnthropicEngine", "ApiSettings"]


class AnthropicEngine:
    """Asks a model over the Messages API: Anthropic's, or any server that speaks it.

    Args:
        settings: where, as whom and which model.
        meter: is asked before and told after each request.
    """

    reads_history = True

    def __init__(self, settings: ApiSettings, meter: Meter) -> None:
        self._settings = settings
        self._meter = meter

    @property
    def name(self) -> str:
        """Gives `anthropic:<model>`."""
        return f"anthropic:{self._settings.model}"

    def extract(self, given: ExtractInput) -> Extraction:
        """Lets the model read and edit a copy of the memory; see `gitmem.engines.anthropic_api.extract`."""
        from gitmem.engines.anthropic_api.propose import extract

        return extract(self._settings, self._meter, given)

    def select(self, query: str, headers: Sequence[Header], limit: int) -> tuple[int, ...]:
        """Asks which memories are certainly useful; see `gitmem.engines.anthropic_api.select.select`."""
        if limit < 1 or not headers:
            return ()
        from gitmem.engines.anthropic_api.client import Client
        from gitmem.engines.anthropic_api.select import select

        with Client(self._settings, self._meter, "select") as client:
            return select(client, self._settings, query, headers, limit)

    def consolidate(self, given: ConsolidateInput, tell: Tell = untold) -> Consolidation:
        """Proves what can be proved, then lets the model work; see `anthropic_api.consolidate`."""
        from gitmem.engines.anthropic_api.consolidate import consolidate

        return consolidate(self._settings, self._meter, given, tell)

    def sum_up(self, given: NotesInput) -> Notes:
        """Lets the model write a session's notes on; see `anthropic_api.notes`."""
        from gitmem.engines.anthropic_api.notes import sum_up

        return sum_up(self._settings, self._meter, given)

    def document(self, given: DocumentInput) -> Document:
        """Lets the model edit a copy of a document; see `anthropic_api.document`."""
        from gitmem.engines.anthropic_api.document import document

        return document(self._settings, self._meter, given)
