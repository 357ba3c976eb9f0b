"""A Responses API on loopback with scripted answers, for driving the real Codex client without a model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from loopback import Answering, Loopback

USAGE = {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1, "output_tokens_details": None}


def text(words: str) -> dict[str, Any]:
    """An answer in prose."""
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": words}]}


class ScriptedResponses(Loopback):
    """Answers each request with the next item, and with "Noted." when they have run out.

    Attributes:
        url: base address for a provider of the client's configuration.
        requests: bodies of all requests for an answer.
    """

    def __init__(self, items: Sequence[Mapping[str, Any]] = ()) -> None:
        self.items = list(items)
        self.requests: list[dict[str, Any]] = []
        owner = self

        class Handler(Answering):
            def respond(self) -> None:
                if self.command == "GET":
                    self.send("application/json", b'{"data": [], "models": []}')
                    return
                owner.requests.append(json.loads(self.body()))
                self.send("text/event-stream", owner.answer())

        super().__init__(Handler)
        self.url += "/v1"

    def answer(self) -> bytes:
        number = len(self.requests)
        item = self.items.pop(0) if self.items else text("Noted.")
        response = {"id": f"resp_{number}"}
        events: list[dict[str, object]] = [
            {"type": "response.created", "response": response},
            {"type": "response.output_item.done", "output_index": 0, "item": {"id": f"i_{number}", **item}},
            {"type": "response.completed", "response": {**response, "usage": {**USAGE, "total_tokens": 2}}},
        ]
        return "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events).encode()
