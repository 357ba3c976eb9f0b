"""A Messages API on loopback that answers from a script, for driving a real client without a model.

    with ScriptedApi([Step(text="Done.")]) as api:
        ...  # a client with ANTHROPIC_BASE_URL=api.url

Requests that carry tools belong to a conversation (the main one or a subagent's) and take the next
fitting step; all others (titles, summaries, token counts) get a short fixed answer.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from loopback import Answering, Loopback

DEFAULT_TEXT = "Done."


@dataclass(frozen=True)
class Call:
    """A tool call that the scripted agent makes."""

    name: str
    input: Mapping[str, Any]


@dataclass(frozen=True)
class Step:
    """One answer of the scripted agent.

    Attributes:
        text: what it says; may be empty when it calls tools.
        calls: the tools it calls; the client answers with their results in its next request.
        when: a string that must stand (as JSON) in what the request adds since the agent's last answer;
            empty fits any. Steps of a subagent need one, since its requests come in between.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    when: str = ""


@dataclass
class _State:
    steps: list[Step]
    requests: list[dict[str, Any]] = field(default_factory=list)
    served: int = 0
    token: str = field(default_factory=lambda: secrets.token_hex(4))
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, request: dict[str, Any]) -> tuple[Step, str]:
        with self.lock:
            self.requests.append(request)
            self.served += 1
            # Unique beyond this server: a session can be resumed against the next one.
            number = f"{self.token}{self.served:04d}"
            if not request.get("tools"):
                return Step(DEFAULT_TEXT), number
            last = json.dumps(_news(request["messages"]), ensure_ascii=False)
            for index, step in enumerate(self.steps):
                if step.when in last:
                    return self.steps.pop(index), number
            return Step(DEFAULT_TEXT), number


def _news(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    answers = [index for index, message in enumerate(messages) if message["role"] == "assistant"]
    return messages[answers[-1] + 1 :] if answers else messages


def _blocks(step: Step, number: str) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": step.text}] if step.text else []
    blocks += [
        {"type": "tool_use", "id": f"toolu_{number}{index:02d}", "name": call.name, "input": call.input}
        for index, call in enumerate(step.calls)
    ]
    return blocks


def _message(step: Step, number: str, model: str) -> dict[str, Any]:
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": _blocks(step, number),
        "stop_reason": "tool_use" if step.calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 10},
    }


def stream_events(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Splits a whole answer into the events in which the API streams it."""
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        elif block["type"] == "thinking":
            # Signed and without text, as models send it by default.
            empty = {**block, "thinking": "", "signature": ""}
            delta = {"type": "signature_delta", "signature": block["signature"]}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    output = message["usage"]["output_tokens"]
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": output}}
    yield {"type": "message_stop"}


def _handler(state: _State) -> type[Answering]:
    class Handler(Answering):
        protocol_version = "HTTP/1.1"

        def respond(self) -> None:
            request = json.loads(self.body() or b"{}")
            path = self.path.split("?", 1)[0]
            asked = path if self.command == "POST" else ""
            if asked == "/v1/messages/count_tokens":
                self._send({"input_tokens": 100})
            elif asked == "/v1/messages":
                step, number = state.answer(request)
                message = _message(step, number, str(request.get("model", "scripted")))
                if request.get("stream"):
                    self._stream(message)
                else:
                    self._send(message)
            else:
                self._send({"type": "error", "error": {"type": "not_found_error", "message": path}}, 404)

        def _send(self, body: dict[str, Any], status: int = 200) -> None:
            self.send("application/json", json.dumps(body).encode(), status)

        def _stream(self, message: dict[str, Any]) -> None:
            lines = (f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in stream_events(message))
            self.send("text/event-stream", "".join(lines).encode())

    return Handler


class ScriptedApi(Loopback):
    """The running server; use it as a context manager.

    Attributes:
        requests: bodies of all `POST /v1/messages`, in order of arrival.
        left: steps that nobody asked for yet; empty after a script that ran to its end.
    """

    def __init__(self, steps: Sequence[Step] = ()) -> None:
        self._state = _State(list(steps))
        super().__init__(_handler(self._state))

    @property
    def requests(self) -> list[dict[str, Any]]:
        return list(self._state.requests)

    @property
    def left(self) -> tuple[Step, ...]:
        return tuple(self._state.steps)

    def add(self, *steps: Step) -> None:
        """Appends steps, for a script whose later answers depend on what happened before."""
        with self._state.lock:
            self._state.steps.extend(steps)
