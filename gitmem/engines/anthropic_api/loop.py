"""A conversation with a model that works with tools: it calls, is answered, and in the end answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gitmem.engines.anthropic_api import request
from gitmem.engines.anthropic_api.client import Client, Reply
from gitmem.engines.anthropic_api.settings import ApiSettings
from gitmem.engines.tools import TOOLS, Result, Sandbox

_LAST_TURN = "This is the last turn: make the changes that are still open in one go, or answer."


@dataclass
class Loop:
    """What was said until now.

    Attributes:
        client: asks the model.
        sandbox: runs its calls; the changes it makes stay there.
        system: name of the system text.
        log: what a person who asks why should know.
    """

    client: Client
    settings: ApiSettings
    sandbox: Sandbox
    system: str = request.SYSTEM
    log: list[str] = field(default_factory=list)
    _messages: list[dict[str, Any]] = field(default_factory=list)

    def run(self, content: list[dict[str, Any]], turns: int) -> str:
        """Says something, and lets the model work until it answers or its turns are used up.

        Args:
            content: blocks that the person says.
            turns: requests that it may take.

        Returns:
            the model's last words.

        Raises:
            EngineError: no whole answer came.
        """
        self._say(content)
        reply: Reply | None = None
        for turn in range(1, turns + 1):
            reply = self.client.ask(
                stream=True,
                max_tokens=self.settings.max_tokens,
                system=request.system(self.settings.ttl, self.system),
                tools=TOOLS,
                messages=request.with_moving_breakpoint(self._messages),
            )
            if reply.blocks:
                self._messages.append({"role": "assistant", "content": list(reply.blocks)})
            if not reply.calls:
                return reply.text
            results = [_result(call.id, self.sandbox.call(call.name, call.input)) for call in reply.calls]
            if turn == turns - 1:
                results.append(request.text(_LAST_TURN))
            self._say(results)
        self.log.append(f"stopped after {turns} turns, without a last answer")
        return reply.text if reply else ""

    def _say(self, content: list[dict[str, Any]]) -> None:
        """Adds to what the person says: two messages of one role in a row are one."""
        if self._messages and self._messages[-1]["role"] == "user":
            last = self._messages[-1]
            self._messages[-1] = {**last, "content": [*last["content"], *content]}
        else:
            self._messages.append({"role": "user", "content": content})


def _result(id: str, result: Result) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": id, "content": result.text}
    return {**block, "is_error": True} if result.is_error else block
