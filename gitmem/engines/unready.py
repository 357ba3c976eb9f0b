"""An engine that was chosen and cannot run: it says what it lacks when it is asked to work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from gitmem.core.change import Header
from gitmem.core.errors import EngineError
from gitmem.engines.choose import Choice
from gitmem.engines.task import ModelEngine, Outcome, Task


class UnreadyEngine(ModelEngine):
    """Stands in for the chosen engine; another one must not take over unasked, nor must hooks break."""

    def __init__(self, choice: Choice) -> None:
        self._choice = choice

    @property
    def name(self) -> str:
        """The name of the engine that was chosen, and its model."""
        return ":".join(filter(None, (self._choice.engine, self._choice.model)))

    def begin(self) -> None:
        """Raises `EngineError`, before anything is looked at."""
        self.refuse()

    def run(self, task: Task) -> Outcome:  # noqa: ARG002 - every engine is given one
        """Raises `EngineError`."""
        self.refuse()

    def select(self, query: str, headers: Sequence[Header], limit: int) -> tuple[int, ...]:  # noqa: ARG002
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
