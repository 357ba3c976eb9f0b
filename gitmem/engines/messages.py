"""The one place that talks to a Messages API, counts what it cost and names what went wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from gitmem.core.errors import EngineError
from gitmem.core.text import one_line
from gitmem.core.trailers import Usage
from gitmem.engines.budget import Meter, bare, dollars
from gitmem.engines.choice import DEFAULT_MODEL, OFFICIAL_URL
from gitmem.engines.prompts import clean

if TYPE_CHECKING:
    from anthropic import Anthropic
    from anthropic.types import Message

Lifetime = Literal["5m", "1h"]

_SAID_CHARS = 300

_QUIET: Mapping[str, Mapping[str, Any]] = {
    "claude-haiku-5-5": {"thinking": {"type": "disabled"}},
    "claude-opus-5": {"thinking": {"type": "disabled"}},
    "claude-sonnet-5": {"thinking": {"type": "disabled"}},
    "claude-sonnet-5-5": {"thinking": {"type": "between_tools"}},
}
_ALWAYS_THINKS = ("claude-opus-5-5", "claude-fable-5", "claude-mythos-5")
THINKING_ROOM = 2_048
"""Output tokens added for a model whose thinking cannot be switched off: it counts in `max_tokens`."""


@dataclass(frozen=True)
class ApiSettings:
    """Where to ask, as whom, which model, and how patiently.

    Attributes:
        api_key: the person's key; empty where there is none, which only a server of one's own accepts.
        base_url: address of a server that speaks the Messages API; empty for Anthropic's.
        model: the model's id.
        max_tokens: output tokens an answer may take, thinking included.
        timeout: seconds without a byte from the server until it counts as hanging.
        patience: seconds that one answer may take in all, whatever comes meanwhile.
        must_call: an answer before which no tool was called is not believed: many local models cannot call
            any, and would seem to have found nothing.
        questions: extraction asks one short question a sentence, without tools.
        proxy: what https requests go through; empty for none.
        ca_file: certificates to trust beside the system's; empty for none.
        retries: how often the SDK tries again after a rate limit, an overload or a lost connection.
        ttl: how long the provider keeps the session's prefix after its last use. An hour, since that counts
            from the start of a request: extractions five minutes apart miss a cache of five minutes
            wherever the earlier one took a single request (tests/bench/cache_reads.py has figures).
    """

    api_key: str = field(default="", repr=False)
    base_url: str = ""
    model: str = DEFAULT_MODEL
    max_tokens: int = 8_192
    timeout: float = 120.0
    patience: float = 600.0
    proxy: str = field(default="", repr=False)
    ca_file: str = ""
    retries: int = 2
    ttl: Lifetime = "1h"
    must_call: bool = False
    questions: bool = False

    @property
    def url(self) -> str:
        """Where requests go."""
        return self.base_url or OFFICIAL_URL


def brief(model: str, max_tokens: int) -> dict[str, Any]:
    """Returns the parameters for an answer of at most `max_tokens`, without thinking before it.

    Which model takes which value is documented in the migration guides at platform.claude.com/docs; for
    a model that is not known, a local one above all, nothing is asked for.
    """
    name = bare(model)
    if name.startswith(_ALWAYS_THINKS):
        return {"max_tokens": max_tokens + THINKING_ROOM, "output_config": {"effort": "low"}}
    return {"max_tokens": max_tokens, **_QUIET.get(name, {})}


@dataclass(frozen=True)
class ToolUse:
    """One call that the model asks for."""

    id: str
    name: str
    input: Mapping[str, Any]


@dataclass(frozen=True)
class ModelReply:
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


class MessagesClient:
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
            raise ApiError(
                "engine-no-key",
                "the engine `anthropic` has no API key",
                "set ANTHROPIC_API_KEY where you start your agent and git, or: git mem engine set offline",
            )
        self._settings = settings
        self._meter = meter
        self._job = job
        self._made: Anthropic | None = None
        self.usage = Usage()

    def __enter__(self) -> MessagesClient:
        return self

    def __exit__(self, *_: object) -> None:
        if self._made is not None:
            self._made.close()

    def ask(self, *, stream: bool = False, whole: bool = True, **request: Any) -> ModelReply:
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
            raise ApiError(
                "engine-declined",
                f"{self._settings.model} declined to work on these messages",
                "git mem engine set offline handles them without a model",
            )
        if whole and message.stop_reason in ("max_tokens", "model_context_window_exceeded"):
            raise ApiError(
                "engine-answer-too-long",
                f"{self._settings.model} did not finish within {self._settings.max_tokens:,} output tokens",
                "nothing was stored; if it stays so, choose another: git config --global gitmem.model NAME",
            )
        return reply

    @contextmanager
    def _named(self) -> Iterator[None]:
        import anthropic
        import httpx2

        try:
            yield
        except ApiError:
            raise
        except (anthropic.AnthropicError, httpx2.HTTPError, httpx2.InvalidURL) as problem:
            raise translate_error(problem, self._settings) from None
        except (ValueError, TypeError, KeyError, AttributeError, AssertionError, RuntimeError) as problem:
            # The SDK hands on what it does not check: a body that is no JSON, a message of another shape.
            raise bad_answer(self._settings, type(problem).__name__) from None

    def _sdk(self) -> Anthropic:
        if self._made is None:
            self._made = open_sdk(self._settings)
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
                    raise bad_answer(self._settings, "it is empty, or of another kind")
                if not ended:
                    # A closed connection looks to the SDK like the end of the answer.
                    raise _cut_off(self._settings)
            except BaseException:
                if begun is not None:
                    # An answer that broke off, or that nobody waits for any more, is paid for, too.
                    self._count(self._usage(begun))
                raise
            return events.get_final_message()

    def _count(self, usage: Usage) -> None:
        self.usage += usage
        self._meter.spent(self._job, self._settings.model, usage)

    def _reply(self, message: Message) -> ModelReply:
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
            raise bad_answer(self._settings, "it does not say why it ended")
        return ModelReply(text, calls, blocks, self._usage(message))

    def _usage(self, message: Message) -> Usage:
        told = message.usage
        written = told.cache_creation_input_tokens or 0
        hour = told.cache_creation.ephemeral_1h_input_tokens if told.cache_creation else None
        if hour is None:
            hour = written if self._settings.ttl == "1h" else 0
        usage = Usage(
            requests=1,
            input=told.input_tokens,
            cache_read=told.cache_read_input_tokens or 0,
            cache_write=written,
            output=told.output_tokens,
        )
        return replace(usage, dollars=dollars(self._settings.model, usage, min(hour, written)))


def open_sdk(settings: ApiSettings) -> Anthropic:
    """Makes the SDK's client, which takes neither key nor address nor proxy from the environment.

    Raises:
        EngineError: no certificates can be read, or the key is none that can be sent.
    """
    from anthropic import Anthropic

    from gitmem.engines.transport import http_client

    if any(ord(char) < 0x20 or ord(char) == 0x7F for char in settings.api_key.strip()):
        # The transport would refuse it by quoting it, escaped, so that nothing knows it for the key.
        raise ApiError(
            "engine-auth",
            "the API key holds a line break or another control character, so it cannot be sent",
            "set ANTHROPIC_API_KEY anew where you run this",
        )
    try:
        way = http_client(settings.timeout, settings.patience, settings.proxy, settings.ca_file)
    except OSError as problem:
        raise ApiError(
            "engine-certificates",
            f"{one_line(settings.ca_file, 200)}: no certificates can be read from it: {problem.strerror}",
            "mend it, or take it out: git config --global --unset gitmem.caFile",
        ) from None
    made = Anthropic(
        # Both are always given, so that the SDK looks for neither in the environment.
        api_key=settings.api_key or "none",
        base_url=settings.url,
        timeout=settings.timeout,
        max_retries=settings.retries,
        open_telemetry=False,
        http_client=way,
    )
    # Those of ANTHROPIC_CUSTOM_HEADERS, which no parameter keeps out: another key, say.
    made._custom_headers = {}
    return made


_OF_INPUT = ("engine-declined", "engine-answer-too-long", "engine-too-much", "engine-request")
_OTHER_MODEL = "choose another model: git config --global gitmem.model NAME"
_LATER = "it is tried again later"
_STATUS: tuple[tuple[tuple[int, ...], tuple[str, ...], str, str, str], ...] = (
    (
        (401,),
        ("authentication_error",),
        "engine-auth",
        "{server} does not accept the API key",
        "check ANTHROPIC_API_KEY where you start your agent and git",
    ),
    (
        (402,),
        ("billing_error",),
        "engine-credit",
        "{server} wants payment first",
        "see your account's billing page",
    ),
    (
        (403,),
        ("permission_error",),
        "engine-forbidden",
        "the API key may not use {model} at {server}",
        "choose another model (git config --global gitmem.model NAME), or another key",
    ),
    (
        (404,),
        ("not_found_error",),
        "engine-no-model",
        "{server} does not know {model}, or the address is wrong",
        "see git mem engine; choose another: git config --global gitmem.model NAME",
    ),
    (
        (429,),
        ("rate_limit_error",),
        "engine-rate-limit",
        "{server} limits how much may be asked",
        "it is tried again later; `git config gitmem.extractEvery` asks less often",
    ),
    ((529,), ("overloaded_error",), "engine-overloaded", "{server} is overloaded", _LATER),
    (
        (413,),
        ("request_too_large",),
        "engine-too-much",
        "the request is too large for {server}",
        "choose a model with a longer context: git config --global gitmem.model NAME",
    ),
    ((408, 504), ("timeout_error",), "engine-timeout", "{server} took too long", _LATER),
    (tuple(range(500, 600)), ("api_error",), "engine-server", "{server} failed ({code})", _LATER),
)
"""Status codes and types of error, the first that fits; which failure it is, what is wrong, what to do."""


class ApiError(EngineError):
    """A request failed.

    Args:
        kind: which failure, `engine-` and a word, e.g. `engine-rate-limit`.
        message: what is wrong; never holds a key.
        hint: what to do next.
    """

    def __init__(self, kind: str, message: str, hint: str) -> None:
        super().__init__(message, hint)
        self.kind = kind
        self.of_input = kind in _OF_INPUT


def bad_answer(settings: ApiSettings, what: str) -> ApiError:
    """The server answered with something that is no answer."""
    return ApiError(
        "engine-bad-answer",
        f"{_server(settings)} sent an answer that cannot be used: {safe_words(what, settings)}",
        f"it is tried again; if it stays so, {_OTHER_MODEL}",
    )


def _cut_off(settings: ApiSettings) -> ApiError:
    return ApiError(
        "engine-cut-off",
        f"the connection to {_server(settings)} broke off in the middle of an answer",
        "nothing was stored; it is tried again",
    )


def translate_error(problem: Exception, settings: ApiSettings) -> ApiError:
    """Turns what the SDK or its transport raised into an error that a person can act on."""
    import anthropic
    import httpx2

    server = _server(settings)
    if isinstance(problem, (anthropic.APITimeoutError, httpx2.TimeoutException)):
        return ApiError(
            "engine-timeout",
            f"{server} did not answer within {settings.timeout:g} seconds, or not wholly within "
            f"{settings.patience:g}",
            "it is tried again; see whether the server is well, or is a local one still loading its model? "
            "A slow one gets more time: git config --global gitmem.patience SECONDS",
        )
    if isinstance(problem, httpx2.RemoteProtocolError | httpx2.ReadError):
        return _cut_off(settings)
    if isinstance(problem, anthropic.APIConnectionError | httpx2.TransportError):
        cause: BaseException = problem
        while cause.__cause__ is not None:
            cause = cause.__cause__
        return ApiError(
            "engine-connection",
            f"{server} cannot be reached: {safe_words(str(cause) or type(cause).__name__, settings)}",
            "it is tried again; check the network, and the address and proxy in `git mem engine`",
        )
    if not isinstance(problem, anthropic.APIStatusError):
        return bad_answer(settings, str(problem) or type(problem).__name__)
    told = getattr(problem, "api_message", None)
    said = f": {safe_words(told, settings)}" if isinstance(told, str) and told.strip() else ""
    code, type_ = problem.status_code, problem.type or ""
    for codes, types, kind, what, hint in _STATUS:
        if code in codes or type_ in types:
            return ApiError(kind, what.format(server=server, model=settings.model, code=code) + said, hint)
    return ApiError(
        "engine-request",
        f"{server} refused the request ({code}){said}",
        "the server or model may not know what gitmem asks for; choose another: git mem engine",
    )


def safe_words(words: str, settings: ApiSettings) -> str:
    """A server's words on one line, without the key or anything else that looks like one."""
    if settings.api_key:
        words = words.replace(settings.api_key, "[key]")
    return one_line(clean([words[:4_000]])[0], _SAID_CHARS)


def _server(settings: ApiSettings) -> str:
    """Host and port alone: an address can carry a password."""
    try:
        parts = urlsplit(settings.url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "the server in gitmem.baseUrl"
    return one_line(f"{host}:{port}" if port else host, 100) or "the server in gitmem.baseUrl"
