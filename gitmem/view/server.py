"""The page's server: loopback alone, the token in every path, writes by POST from the page itself.

Who may not ask learns nothing: whatever is wrong with a request, the answer is the same 403, before any
memory is read.
"""

from __future__ import annotations

import hmac
import json
import secrets
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from email.message import Message
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qsl

from gitmem.app.context import real_edges
from gitmem.core.errors import CheckFailed, GitmemError, RepositoryError, UsageError
from gitmem.flows.context import by_command, initialised_at
from gitmem.flows.redaction import value
from gitmem.ledger.lookup import ListedMemory
from gitmem.view import data, write
from gitmem.view.graph import MemoryView

LOOPBACK = "127.0.0.1"

ASSETS = Path(__file__).parent / "assets"

TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

MODULES = ("source.js", "dom.js", "card.js", "now.js", "review.js", "time.js", "map.js", "app.js")
"""The page's scripts, each after those that it imports."""

FILES = ("index.html", "style.css", "icon.svg", *MODULES)
"""All that is served of the package: what is not named here is not there."""

BODY = 1 << 20
"""Bytes of a request: ten times what a memory may have."""

SECONDS = 30
"""For which a connection may say nothing."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

STATUS: Mapping[type[GitmemError], HTTPStatus] = {
    UsageError: HTTPStatus.BAD_REQUEST,
    CheckFailed: HTTPStatus.CONFLICT,
}


class ViewServer(ThreadingHTTPServer):
    """Serves one repository's memory.

    Attributes:
        folder: in the repository.
        at: the moment at which the page opens; empty for the present.
        token: names whoever was given the address.
        writing: held while something is written.
    """

    daemon_threads = True

    def __init__(self, folder: Path, at: str = "", port: int = 0) -> None:
        """Listens; nobody is answered before `serve_forever`.

        Args:
            port: 0 for any that is free.

        Raises:
            RepositoryError: another program listens there.
        """
        try:
            super().__init__((LOOPBACK, port), Handler)
        except (OSError, OverflowError) as error:
            raise RepositoryError(f"Port {port} cannot be used: {error}", "Leave --port out.") from error
        self.folder, self.at = folder, at
        self.token = secrets.token_urlsafe(24)
        self._once = secrets.token_urlsafe(24)
        self.writing = threading.Lock()
        self._lists: dict[tuple[str, str | None], list[ListedMemory]] = {}

    @property
    def url(self) -> str:
        """The page's address, which is for the person alone."""
        return f"http://{LOOPBACK}:{self.server_port}/{self.token}/"

    @property
    def link(self) -> str:
        """An address that leads there once: others of this machine see what a browser is started with."""
        return f"http://{LOOPBACK}:{self.server_port}/open/{self._once}"

    def opened(self, word: str) -> bool:
        """Whether a word is that of the link, which is used up by it."""
        once, fits = self._once, hmac.compare_digest(word.encode(), self._once.encode())
        self._once = secrets.token_urlsafe(24) if fits else once
        return fits

    def stop(self) -> None:
        """Waits for what is being written, and closes."""
        with self.writing:
            self.server_close()

    @contextmanager
    def place(self) -> Iterator[MemoryView]:
        """The memory as it is now, and the present."""
        edges = real_edges(self.folder)
        workspace = by_command(initialised_at(edges))
        try:
            yield MemoryView(workspace, edges, self.at, lists=self._lists)
        finally:
            workspace.close()

    def answer(self, asked: str, given: Mapping[str, str], known: str) -> tuple[str, bytes | None]:
        """Reads what is asked for, and its tag; None where that is known already.

        Raises:
            GitmemError: it cannot be read.
        """
        with self.place() as place:
            tag = f'"{place.tag}"'
            return tag, None if known == tag else encoded(data.READS[asked](place, given))

    def change(self, asked: str, given: Mapping[str, Any]) -> bytes:
        """Does what is asked for, one at a time; raises as `answer`."""
        with self.writing, self.place() as place:
            return encoded(write.WRITES[asked](place, given))

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing of a browser that went away, and of a bug only where it is."""
        error = sys.exception()
        if error is not None and not isinstance(error, OSError):
            at = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(at.filename).name}:{at.lineno}"
            sys.stderr.write(f"gitmem: a bug: {type(error).__name__} at {where}\n")


def encoded(given: Any) -> bytes:
    """A value as JSON, by the one exit of text."""
    return json.dumps(value(given), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def may_ask(method: str, headers: Message | Mapping[str, str], port: int) -> bool:
    """Whether a request comes from the page, or from a person who typed its address.

    A name that was made to lead here (DNS rebinding) is no name of ours, and another site's script has
    another origin, which it cannot hide.
    """
    hosts = (f"{LOOPBACK}:{port}", f"localhost:{port}")
    host, origin = headers.get("Host", ""), headers.get("Origin")
    if host not in hosts or headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
        return False
    if method == "POST":
        plain = headers.get("Content-Type", "").partition(";")[0].strip() == "application/json"
        return plain and origin == f"http://{host}"
    return origin in (None, f"http://{host}")


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"
    timeout = SECONDS

    @property
    def page(self) -> ViewServer:
        """The server."""
        return cast(ViewServer, self.server)

    def do_GET(self) -> None:
        """Gives the page, or a value for it."""
        self._guarded("GET", self._get)

    def do_POST(self) -> None:
        """Does what the person decided."""
        self._guarded("POST", self._post)

    def _guarded(self, method: str, go: Callable[[str, str], None]) -> None:
        path, _, query = self.path.partition("?")
        first, slash, rest = path.removeprefix("/").partition("/")
        if not may_ask(method, self.headers, self.page.server_port):
            self._refuse(HTTPStatus.FORBIDDEN)
        elif method == "GET" and first == "open":
            self._open(rest)
        elif not hmac.compare_digest(first.encode(), self.page.token.encode()):
            self._refuse(HTTPStatus.FORBIDDEN)
        elif not slash:
            self._refuse(HTTPStatus.NOT_FOUND)
        else:
            try:
                go(rest, query)
            except OSError:
                raise
            except Exception:
                # The page is told that there is one; the next request is answered as if it had not been.
                self.page.handle_error(None, None)
                self._fail(GitmemError("gitmem has a bug there", "It is told where git mem view runs."))

    def _open(self, word: str) -> None:
        if not self.page.opened(word):
            self._refuse(HTTPStatus.FORBIDDEN)
            return
        self._send(HTTPStatus.SEE_OTHER, "text/plain", b"", {"Location": f"/{self.page.token}/"})

    def _get(self, name: str, query: str) -> None:
        if not name.startswith("api/"):
            self._give(name or "index.html")
            return
        if name.removeprefix("api/") not in data.READS:
            self._refuse(HTTPStatus.NOT_FOUND)
            return
        try:
            given = dict(parse_qsl(query, keep_blank_values=True, max_num_fields=20))
            known = self.headers.get("If-None-Match", "")
            tag, body = self.page.answer(name.removeprefix("api/"), given, known)
        except (GitmemError, ValueError) as error:
            self._fail(error)
        else:
            status = HTTPStatus.NOT_MODIFIED if body is None else HTTPStatus.OK
            self._send(status, "application/json", body or b"", {"ETag": tag})

    def _give(self, name: str) -> None:
        if name not in FILES:
            self._refuse(HTTPStatus.NOT_FOUND)
            return
        path = ASSETS / name
        self._send(HTTPStatus.OK, TYPES[path.suffix], path.read_bytes())

    def _post(self, name: str, _: str) -> None:
        if name.removeprefix("api/") not in write.WRITES or not name.startswith("api/"):
            self._refuse(HTTPStatus.NOT_FOUND)
            return
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdecimal() and len(length) < 9 and int(length) <= BODY):
            self.close_connection = True
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return
        try:
            given = json.loads(self.rfile.read(int(length)))
            if not isinstance(given, dict):
                raise UsageError("That is no request of the page's")
            body = self.page.change(name.removeprefix("api/"), given)
        except (GitmemError, ValueError, RecursionError) as error:
            self._fail(error)
        else:
            self._send(HTTPStatus.OK, "application/json", body)

    def _fail(self, error: Exception) -> None:
        known = error if isinstance(error, GitmemError) else UsageError("That is no request of the page's")
        said = {"kind": known.kind, "message": known.message, "hint": known.hint}
        status = next((code for kind, code in STATUS.items() if isinstance(known, kind)), None)
        self._send(status or HTTPStatus.INTERNAL_SERVER_ERROR, "application/json", encoded({"error": said}))

    def _refuse(self, status: HTTPStatus) -> None:
        self.close_connection = True
        self._send(status, "text/plain", status.phrase.encode())

    def _send(
        self, status: HTTPStatus, kind: str, body: bytes, more: Mapping[str, str] | None = None
    ) -> None:
        self.send_response(status)
        text = "; charset=utf-8" if kind.startswith("text/") else ""
        for name, said in {**HEADERS, "Content-Type": kind + text, **(more or {})}.items():
            self.send_header(name, said)
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def version_string(self) -> str:
        """Tells nobody which Python this is."""
        return "gitmem"

    def log_message(self, format: str, *args: Any) -> None:
        """Keeps no log: it would hold the token."""
