"""A Responses API on loopback with scripted answers, for driving the real Codex client without a model."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

USAGE = {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1, "output_tokens_details": None}


def text(words: str) -> dict[str, Any]:
    """An answer in prose."""
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": words}]}


class ScriptedResponses:
    """Answers each request with the next item, and with "Noted." when they have run out.

    Attributes:
        url: base address for a provider of the client's configuration.
        requests: bodies of all requests for an answer.
    """

    def __init__(self, items: Sequence[Mapping[str, Any]] = ()) -> None:
        self.items = list(items)
        self.requests: list[dict[str, Any]] = []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: object) -> None:
                """Says nothing."""

            def do_GET(self) -> None:
                self._send("application/json", b'{"data": [], "models": []}')

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                owner.requests.append(json.loads(body))
                self._send("text/event-stream", owner.answer())

            def _send(self, kind: str, data: bytes) -> None:
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> ScriptedResponses:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self) -> bytes:
        number = len(self.requests)
        item = self.items.pop(0) if self.items else text("Noted.")
        response = {"id": f"resp_{number}"}
        events = [
            {"type": "response.created", "response": response},
            {"type": "response.output_item.done", "output_index": 0, "item": {"id": f"i_{number}", **item}},
            {"type": "response.completed", "response": {**response, "usage": {**USAGE, "total_tokens": 2}}},
        ]
        return "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events).encode()
