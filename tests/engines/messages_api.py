"""A scripted Messages API on loopback that refuses what the real one would refuse.

    with MessagesApi([Answer(calls=(Call("Read", {...}),)), Answer("nothing")]) as api:
        ...  # a client of the SDK with base_url=api.url

Every request body is checked against the parameter types of the SDK that is installed, unknown keys
included, and against rules of the API that types cannot hold; one that breaks any gets a 400 and fails the
test on exit.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler
from types import TracebackType
from typing import Any

from loopback import Loopback
from prompt_cache import MOST_BREAKPOINTS, PromptCache, tokens
from scripted_api import Call, stream_events


@dataclass(frozen=True)
class Answer:
    """What the scripted model says.

    Attributes:
        text: empty for none.
        calls: tools it wants to have run.
        thinking: precedes all else, signed.
        stop: why it ended; by default `tool_use` with calls and `end_turn` without.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    thinking: str = ""
    stop: str = ""


@dataclass(frozen=True)
class Failure:
    """An answer with an error's status, in the API's form."""

    status: int
    type: str = "api_error"
    message: str = "scripted"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Raw:
    """A body as it is, whatever it is; 200."""

    body: bytes
    kind: str = "application/json"


@dataclass(frozen=True)
class Cut:
    """A stream that ends after so many events; `clean` says whether as if it were complete."""

    events: int
    clean: bool = True


@dataclass(frozen=True)
class Broken:
    """A stream with an error in its midst."""

    type: str = "overloaded_error"


class Hang:
    """No answer until the server ends."""


class Drip:
    """A stream that begins and then only shows signs of life, until the server or the client ends."""


Step = Answer | Failure | Raw | Cut | Broken | Hang | Drip
Decide = Callable[[dict[str, Any]], Step]


@dataclass(frozen=True)
class Recorded:
    """One request as it came."""

    raw: bytes
    body: dict[str, Any]
    headers: Mapping[str, str]


class MessagesApi(Loopback):
    """The running server; use it as a context manager.

    Args:
        steps: one for each request, retries included; or what decides on each.
        cache: what `usage` is counted by; without one nothing is cached.
    """

    def __init__(self, steps: Sequence[Step] | Decide = (), cache: PromptCache | None = None) -> None:
        self.requests: list[Recorded] = []
        self.problems: list[str] = []
        self.cache = cache
        self._decide = steps if callable(steps) else _in_turn(list(steps))
        self._ended = threading.Event()
        super().__init__(_handler(self))

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """Request bodies, in order of arrival."""
        return [recorded.body for recorded in self.requests]

    def step(self, recorded: Recorded) -> Step:
        """Takes a request in and says how to answer it."""
        self.requests.append(recorded)
        wrong = problems(recorded.body)
        if wrong:
            self.problems += wrong
            return Failure(400, "invalid_request_error", "; ".join(wrong))
        return self._decide(recorded.body)

    def message(self, answer: Answer, body: Mapping[str, Any]) -> dict[str, Any]:
        """The whole answer."""
        number = len(self.requests)
        content: list[dict[str, Any]] = []
        if answer.thinking:
            content.append({"type": "thinking", "thinking": answer.thinking, "signature": f"sig{number}"})
        if answer.text:
            content.append({"type": "text", "text": answer.text})
        content += [
            {
                "type": "tool_use",
                "id": f"toolu_{number:04d}{at:02d}",
                "name": call.name,
                "input": dict(call.input),
            }
            for at, call in enumerate(answer.calls)
        ]
        counted = self.cache.usage(body) if self.cache else {"input_tokens": tokens(json.dumps(body))}
        return {
            "id": f"msg_{number:04d}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": content,
            "stop_reason": answer.stop or ("tool_use" if answer.calls else "end_turn"),
            "stop_sequence": None,
            "usage": {**counted, "output_tokens": tokens(json.dumps(content))},
        }

    def wait_for_end(self, seconds: float | None = None) -> bool:
        """Returns when the test is over, or so many seconds have passed; says whether it is over."""
        return self._ended.wait(seconds)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        super().__exit__(kind, error, trace)
        if kind is None:
            assert not self.problems, self.problems


def problems(body: Mapping[str, Any]) -> list[str]:
    """What is wrong with a request; empty where nothing is."""
    return [*_type_problems(body), *_rule_problems(body)]


@cache
def _adapter(streaming: bool) -> Any:
    from anthropic.types import message_create_params as params
    from pydantic import TypeAdapter

    return TypeAdapter(
        params.MessageCreateParamsStreaming if streaming else params.MessageCreateParamsNonStreaming
    )


def _type_problems(body: Mapping[str, Any]) -> list[str]:
    from pydantic import ValidationError

    try:
        known = _plain(_adapter(bool(body.get("stream"))).validate_python(body, strict=False))
    except ValidationError as problem:
        return [str(problem)]
    # What the types do not know is dropped while validating.
    return [] if known == body else [f"unknown keys: {json.dumps(body)[:2_000]}"]


def _plain(value: Any) -> Any:
    """Validated values, with what is checked only while it is gone through made lists."""
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return [_plain(entry) for entry in value]


def _rule_problems(body: Mapping[str, Any]) -> list[str]:
    found = []
    messages = body.get("messages") or [{}]
    if messages[0].get("role") != "user" or messages[-1].get("role") != "user":
        found.append("messages do not begin and end with the user's")
    if str(body).count("'cache_control'") > MOST_BREAKPOINTS:
        found.append("more than four cache breakpoints")
    called: set[str] = set()
    for message in messages:
        content = message.get("content")
        blocks = content if isinstance(content, list) else []
        if not content:
            found.append("a message has no content")
        if any(block["type"] == "text" and not block["text"].strip() for block in blocks):
            found.append("a text block is empty")
        answered = {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
        if answered != called:
            found.append(f"tool calls {called} are answered by {answered}")
        called = {block["id"] for block in blocks if block["type"] == "tool_use"}
    if called:
        found.append("a tool call is not answered")
    return found


def _in_turn(steps: list[Step]) -> Decide:
    lock = threading.Lock()

    def decide(_: dict[str, Any]) -> Step:
        with lock:
            return steps.pop(0) if steps else Failure(400, "invalid_request_error", "the script has ended")

    return decide


def _handler(api: MessagesApi) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            body = json.loads(raw)
            step = api.step(Recorded(raw, body, dict(self.headers)))
            if self.path.split("?", 1)[0] != "/v1/messages":
                step = Failure(404, "not_found_error", self.path)
            self._answer(step, body)

        def _answer(self, step: Step, body: dict[str, Any]) -> None:
            if isinstance(step, Hang):
                api.wait_for_end()
                self.close_connection = True
            elif isinstance(step, Drip):
                self._drip(body)
            elif isinstance(step, Failure):
                error = {"type": "error", "error": {"type": step.type, "message": step.message}}
                self._write("application/json", json.dumps(error).encode(), step.status, step.headers)
            elif isinstance(step, Raw):
                self._write(step.kind, step.body)
            elif isinstance(step, Cut):
                events = list(stream_events(api.message(Answer("a" * 40), body)))[: step.events]
                self._write("text/event-stream", _lines(events), more=0 if step.clean else 100)
            elif isinstance(step, Broken):
                events = [*list(stream_events(api.message(Answer("half"), body)))[:2]]
                error = {"type": "error", "error": {"type": step.type, "message": "scripted"}}
                self._write("text/event-stream", _lines([*events, error]))
            elif body.get("stream"):
                self._write("text/event-stream", _lines(stream_events(api.message(step, body))))
            else:
                self._write("application/json", json.dumps(api.message(step, body)).encode())

        def _drip(self, body: dict[str, Any]) -> None:
            self.close_connection = True
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(_lines(list(stream_events(api.message(Answer("half"), body)))[:1]))
                while not api.wait_for_end(0.02):
                    self.wfile.write(_lines([{"type": "ping"}]))

        def _write(
            self,
            kind: str,
            body: bytes,
            status: int = 200,
            headers: Mapping[str, str] | None = None,
            more: int = 0,
        ) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body) + more))
            for key, value in (headers or {}).items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(body)
            self.close_connection = bool(more)

        def log_message(self, format: str, *args: Any) -> None:
            """Keeps the test output quiet."""

    return Handler


def _lines(events: Any) -> bytes:
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()
