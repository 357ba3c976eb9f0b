"""A Gemini API on loopback with scripted answers, for driving the real Gemini CLI without a model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from loopback import Answering, Loopback

USAGE = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
SUMMARY = "<state_snapshot>The person always wants spaces.</state_snapshot>"


def text(words: str) -> dict[str, Any]:
    """A part of an answer: prose."""
    return {"text": words}


def call(name: str, **args: Any) -> dict[str, Any]:
    """A part of an answer: a call of a tool."""
    return {"functionCall": {"name": name, "args": args}}


def answer_of(parts: Sequence[Mapping[str, Any]]) -> bytes:
    """An answer whole, as the API gives it."""
    content = {"role": "model", "parts": list(parts)}
    candidate = {"content": content, "finishReason": "STOP", "index": 0}
    return json.dumps({"candidates": [candidate], "usageMetadata": USAGE}).encode()


class ScriptedGeneration(Loopback):
    """Answers each request with the next list of parts, and with "Noted." when they have run out.

    What the client asks for by the way, such as a summary for a compaction, is answered with `SUMMARY`.

    Attributes:
        url: base address, for `GOOGLE_GEMINI_BASE_URL`.
        requests: bodies of all requests for an answer.
    """

    def __init__(self, answers: Sequence[Sequence[Mapping[str, Any]]] = ()) -> None:
        self.answers = list(answers)
        self.requests: list[dict[str, Any]] = []
        owner = self

        class Handler(Answering):
            def respond(self) -> None:
                body = json.loads(self.body())
                if "streamGenerateContent" in self.path:
                    owner.requests.append(body)
                    self.send("text/event-stream", b"data: " + owner.answer() + b"\n\n")
                elif "countTokens" in self.path:
                    self.send("application/json", b'{"totalTokens": 1}')
                else:
                    self.send("application/json", answer_of([text(SUMMARY)]))

        super().__init__(Handler)

    def answer(self) -> bytes:
        return answer_of(self.answers.pop(0) if self.answers else [text("Noted.")])
