"""A Gemini API on loopback with scripted answers, for driving the real Gemini CLI without a model."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

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


class ScriptedGeneration:
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

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: object) -> None:
                """Says nothing."""

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
                if "streamGenerateContent" in self.path:
                    owner.requests.append(body)
                    self._send("text/event-stream", b"data: " + owner.answer() + b"\n\n")
                elif "countTokens" in self.path:
                    self._send("application/json", b'{"totalTokens": 1}')
                else:
                    self._send("application/json", answer_of([text(SUMMARY)]))

            def _send(self, kind: str, data: bytes) -> None:
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> ScriptedGeneration:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self) -> bytes:
        return answer_of(self.answers.pop(0) if self.answers else [text("Noted.")])
