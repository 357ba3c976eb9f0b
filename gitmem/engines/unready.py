"""An engine that was chosen and cannot run: it says what it lacks when it is asked to work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from gitmem.core.change import Header
from gitmem.core.errors import EngineError
from gitmem.engines.choose import Choice
from gitmem.engines.engine import ConsolidateInput, Consolidation, ExtractInput, Extraction, Tell, untold
from gitmem.engines.writing import Document, DocumentInput, Notes, NotesInput


class UnreadyEngine:
    """Stands in for the chosen engine; another one must not take over unasked, nor must hooks break."""

    reads_history = False

    def __init__(self, choice: Choice) -> None:
        self.name = f"{choice.engine}:{choice.model}" if choice.model else choice.engine
        self._choice = choice

    def extract(self, given: ExtractInput) -> Extraction:  # noqa: ARG002 - the protocol's
        """Raises `EngineError`."""
        self.refuse()

    def select(self, query: str, headers: Sequence[Header], limit: int) -> tuple[int, ...]:  # noqa: ARG002
        """Raises `EngineError`."""
        self.refuse()

    def consolidate(self, given: ConsolidateInput, tell: Tell = untold) -> Consolidation:  # noqa: ARG002
        """Raises `EngineError`."""
        self.refuse()

    def sum_up(self, given: NotesInput) -> Notes:  # noqa: ARG002 - the protocol's
        """Raises `EngineError`."""
        self.refuse()

    def document(self, given: DocumentInput) -> Document:  # noqa: ARG002 - the protocol's
        """Raises `EngineError`."""
        self.refuse()

    def refuse(self) -> NoReturn:
        """Says what is missing, and what to do about it."""
        lacks = "; ".join(one.what for one in self._choice.missing)
        hints = [one.remedy.rstrip(".") for one in self._choice.missing]
        raise EngineError(
            f"The engine {self._choice.engine} cannot run: {lacks}",
            f"{'; '.join(hints)}. Or: git mem engine set offline",
        )
