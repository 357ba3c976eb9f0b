"""The one place that talks to a Messages API, counts what it cost and names what went wrong.

Requests travel to the endpoint that was set and nowhere else, and none for hours: left alone, the SDK
takes proxies and certificates from the environment, follows redirects with the key in its header, waits as
long as `Retry-After` says, and reads a stream of pings for ever.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx2

from gitmem.core.trailers import Usage
from gitmem.engines.anthropic_api import errors
from gitmem.engines.anthropic_api.settings import OFFICIAL_URL, ApiSettings, Spent, dollars
from gitmem.engines.budget import Meter

if TYPE_CHECKING:
    from anthropic import Anthropic
    from anthropic.types import Message


LONGEST_WAIT = 30.0
"""Seconds between two tries; told to wait longer, the engine fails, and the work waits for the next job."""


@dataclass(frozen=True)
class ToolUse:
    """One call that the model asks for."""

    id: str
    name: str
    input: Mapping[str, Any]


@dataclass(frozen=True)
class Reply:
    """One answer.

    Attributes:
        text: what the model wrote, blocks joined; without its thinking.
        calls: tools it wants to have run.
        blocks: the content as it came, to be sent back unchanged.
        usage: what the request cost.
    """

    text: str
    calls: tuple[ToolUse, ...]
    blocks: tuple[dict[str, Any], ...]
    usage: Usage


class Client:
    """Asks a model, one request at a time.

    Args:
        settings: where and as whom.
        meter: is asked before each request, and told after it what it cost.
        job: what the requests are for, in the meter's words.

    Raises:
        EngineError: there is no key where one is needed.
    """

    def __init__(self, settings: ApiSettings, meter: Meter, job: str) -> None:
        if not settings.api_key and settings.url.rstrip("/") == OFFICIAL_URL:
            raise errors.no_key()
        self._settings = settings
        self._meter = meter
        self._job = job
        self._made: Anthropic | None = None
        self.usage = Usage()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        if self._made is not None:
            self._made.close()

    def ask(self, *, stream: bool = False, whole: bool = True, **request: Any) -> Reply:
        """Sends one request and waits for the whole answer.

        Args:
            stream: have the answer sent as it is written, so that a hanging server is noticed.
            whole: refuse an answer that was stopped at its limit of tokens.
            request: parameters of `messages.create`, without the model.

        Returns:
            the answer; its cost is in `usage`, too.

        Raises:
            EngineError: the day's ceiling is reached, or no whole answer came.
        """
        self._meter.allow()
        with self._named():
            message = self._stream(request) if stream else self._create(request)
            reply = self._reply(message)
        self._count(reply.usage)
        if message.stop_reason == "refusal":
            raise errors.declined(self._settings)
        if whole and message.stop_reason in ("max_tokens", "model_context_window_exceeded"):
            raise errors.too_long_answer(self._settings)
        return reply

    @contextmanager
    def _named(self) -> Iterator[None]:
        import anthropic

        try:
            yield
        except errors.ApiError:
            raise
        except (anthropic.AnthropicError, httpx2.HTTPError, httpx2.InvalidURL) as problem:
            raise errors.translated(problem, self._settings) from None
        except (ValueError, TypeError, KeyError, AttributeError, AssertionError, RuntimeError) as problem:
            # The SDK hands on what it does not check: a body that is no JSON, a message of another shape.
            raise errors.bad_answer(self._settings, type(problem).__name__) from None

    def _sdk(self) -> Anthropic:
        if self._made is None:
            from anthropic import Anthropic

            try:
                way = http_client(self._settings)
            except OSError as problem:
                raise errors.no_certificates(self._settings, problem) from None
            made = Anthropic(
                # Both are always given, so that the SDK looks for neither in the environment.
                api_key=self._settings.api_key or "none",
                base_url=self._settings.url,
                timeout=self._settings.timeout,
                max_retries=self._settings.retries,
                open_telemetry=False,
                http_client=way,
            )
            # Those of ANTHROPIC_CUSTOM_HEADERS, which no parameter keeps out: another key, say.
            made._custom_headers = {}
            self._made = made
        return self._made

    def _create(self, request: Mapping[str, Any]) -> Message:
        message: Message = self._sdk().messages.create(model=self._settings.model, **request)
        return message

    def _stream(self, request: Mapping[str, Any]) -> Message:
        with self._sdk().messages.stream(model=self._settings.model, **request) as events:
            begun: Message | None = None
            ended = False
            try:
                for event in events:
                    if event.type == "message_start":
                        begun = event.message
                    ended = event.type == "message_stop"
                if begun is None:
                    raise errors.bad_answer(self._settings, "it is empty, or of another kind")
                if not ended:
                    # A closed connection looks to the SDK like the end of the answer.
                    raise errors.cut_off(self._settings)
            except BaseException:
                if begun is not None:
                    # An answer that broke off, or that nobody waits for any more, is paid for, too.
                    self._count(self._usage(begun))
                raise
            return events.get_final_message()

    def _count(self, usage: Usage) -> None:
        self.usage += usage
        self._meter.spent(self._job, self._settings.model, usage)

    def _reply(self, message: Message) -> Reply:
        blocks = tuple(
            block.to_dict() for block in message.content if block.type != "text" or block.text.strip()
        )
        calls = tuple(
            ToolUse(block.id, block.name, dict(block.input))
            for block in message.content
            if block.type == "tool_use"
        )
        text = "\n".join(block.text for block in message.content if block.type == "text")
        if message.stop_reason is None:
            raise errors.bad_answer(self._settings, "it does not say why it ended")
        return Reply(text, calls, blocks, self._usage(message))

    def _usage(self, message: Message) -> Usage:
        told = message.usage
        written = told.cache_creation_input_tokens or 0
        hour = told.cache_creation.ephemeral_1h_input_tokens if told.cache_creation else None
        if hour is None:
            hour = written if self._settings.ttl == "1h" else 0
        spent = Spent(
            input=told.input_tokens,
            output=told.output_tokens,
            write_5m=max(0, written - hour),
            write_1h=hour,
            read=told.cache_read_input_tokens or 0,
        )
        return Usage(
            requests=1,
            input=spent.input,
            cache_read=spent.read,
            cache_write=written,
            output=spent.output,
            dollars=dollars(self._settings.model, spent),
        )


def http_client(settings: ApiSettings) -> httpx2.Client:
    """Makes the client that the SDK sends through."""
    return httpx2.Client(
        transport=transport_of(settings), timeout=settings.timeout, follow_redirects=False, trust_env=False
    )


def transport_of(settings: ApiSettings) -> httpx2.BaseTransport:
    """Makes its transport.

    Certificates are the system's, and those in the person's own `gitmem.caFile`: who could set a proxy and
    a certificate both would read everything.

    Raises:
        OSError: that file cannot be read, or holds no certificates.
    """
    verify = ssl.create_default_context(cafile=settings.ca_file) if settings.ca_file else True
    inner = httpx2.HTTPTransport(verify=verify, trust_env=False, proxy=settings.proxy or None)
    return _Bounded(inner, settings.patience)


class _Bounded(httpx2.BaseTransport):
    """Ends what takes too long in all, however often a byte comes."""

    def __init__(self, inner: httpx2.BaseTransport, seconds: float) -> None:
        self._inner, self._seconds = inner, seconds

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        end = time.monotonic() + self._seconds
        response = self._inner.handle_request(request)
        if _wait_of(response) > LONGEST_WAIT:
            response.headers["x-should-retry"] = "false"
        if isinstance(response.stream, httpx2.SyncByteStream):
            response.stream = _Stream(response.stream, end)
        return response

    def close(self) -> None:
        self._inner.close()


class _Stream(httpx2.SyncByteStream):
    def __init__(self, inner: httpx2.SyncByteStream, end: float) -> None:
        self._inner, self._end = inner, end

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._inner:
            if time.monotonic() > self._end:
                raise httpx2.ReadTimeout("the answer took too long in all")
            yield chunk

    def close(self) -> None:
        self._inner.close()


def _wait_of(response: httpx2.Response) -> float:
    """Seconds that a server wants to be left alone; without end where it names a date."""
    for name, unit in (("retry-after-ms", 1_000), ("retry-after", 1)):
        told = response.headers.get(name)
        if told is not None:
            try:
                return float(told) / unit
            except ValueError:
                return float("inf")
    return 0.0
