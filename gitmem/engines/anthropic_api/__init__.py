"""The engine `anthropic`: the Messages API through its SDK, which is imported when a request is made."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from gitmem.core.change import Header
from gitmem.engines.anthropic_api.settings import DEFAULT_MODEL, ApiSettings
from gitmem.engines.budget import Meter
from gitmem.engines.task import ModelEngine, Outcome, Task

__all__ = ["DEFAULT_MODEL", "AnthropicEngine", "ApiSettings"]


class AnthropicEngine(ModelEngine):
    """Asks a model over the Messages API: Anthropic's, or any server that speaks it.

    Args:
        settings: where, as whom and which model.
        meter: is asked before and told after each request.
        clock: seconds that only grow.
    """

    reads_history = True

    def __init__(
        self, settings: ApiSettings, meter: Meter, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings, self._meter, self._clock = settings, meter, clock

    @property
    def name(self) -> str:
        """Gives `anthropic:<model>`."""
        return f"anthropic:{self._settings.model}"

    def run(self, task: Task) -> Outcome:
        """Lets the model read and edit a copy of the tree, or asks a small one in short questions.

        See `anthropic_api.run.run` and `anthropic_api.questions.run`.
        """
        if self._settings.questions and task.job == "extract" and task.session is not None:
            from gitmem.engines.anthropic_api import questions

            return questions.run(self._settings, self._meter, task, task.session)
        from gitmem.engines.anthropic_api.run import run

        return run(self._settings, self._meter, task, self._clock)

    def select(self, query: str, headers: Sequence[Header], limit: int) -> tuple[int, ...]:
        """Asks which memories are certainly useful; see `gitmem.engines.anthropic_api.questions.select`."""
        if limit < 1 or not headers:
            return ()
        from gitmem.engines.anthropic_api.client import Client
        from gitmem.engines.anthropic_api.questions import select

        with Client(self._settings, self._meter, "select") as client:
            return select(client, self._settings, query, headers, limit)
