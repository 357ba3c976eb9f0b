"""What can go wrong between gitmem and a model's server, each as one plain sentence with the next step."""

from __future__ import annotations

from gitmem.core.errors import EngineError
from gitmem.core.text import one_line
from gitmem.engines.anthropic_api.settings import ApiSettings
from gitmem.engines.prompts import clean

_SAID_CHARS = 300
_OF_INPUT = ("engine-declined", "engine-answer-too-long", "engine-too-much", "engine-request")


class ApiError(EngineError):
    """A request failed.

    Args:
        kind: which failure, `engine-` and a word, e.g. `engine-rate-limit`.
        message: what is wrong; never holds a key.
        hint: what to do next.
        passing: whether the same request may succeed later.
    """

    def __init__(self, kind: str, message: str, hint: str, *, passing: bool = False) -> None:
        super().__init__(message, hint)
        self.kind = kind
        self.of_input = kind in _OF_INPUT
        self.passing = passing


def no_key() -> ApiError:
    """There is no key, and Anthropic's server takes no request without one."""
    return ApiError(
        "engine-no-key",
        "the engine `anthropic` has no API key",
        "set ANTHROPIC_API_KEY where you start your agent and git, or: git mem engine set offline",
    )


def no_certificates(settings: ApiSettings, problem: OSError) -> ApiError:
    """The person's own certificates cannot be used."""
    return ApiError(
        "engine-certificates",
        f"{one_line(settings.ca_file, 200)}: no certificates can be read from it: {problem.strerror}",
        "mend it, or take it out: git config --global --unset gitmem.caFile",
    )


def bad_answer(settings: ApiSettings, what: str) -> ApiError:
    """The server answered with something that is no answer."""
    return ApiError(
        "engine-bad-answer",
        f"{_server(settings)} sent an answer that cannot be used: {_safe(what, settings)}",
        "it is tried again; if it stays so, choose another model: git config --global gitmem.model NAME",
        passing=True,
    )


def cut_off(settings: ApiSettings) -> ApiError:
    """The answer's stream ended before the answer did."""
    return ApiError(
        "engine-cut-off",
        f"the connection to {_server(settings)} broke off in the middle of an answer",
        "nothing was stored; it is tried again",
        passing=True,
    )


def too_long_answer(settings: ApiSettings) -> ApiError:
    """The model was stopped at `max_tokens`, so its work is not complete."""
    return ApiError(
        "engine-answer-too-long",
        f"{settings.model} did not finish within {settings.max_tokens:,} output tokens",
        "nothing was stored; if it stays so, choose another: git config --global gitmem.model NAME",
        passing=True,
    )


def too_long(settings: ApiSettings, what: str, seconds: float) -> ApiError:
    """All requests of one task together took too long."""
    return ApiError(
        "engine-timeout",
        f"{what} did not come to an end within {seconds / 60:g} minutes ({settings.model})",
        "nothing was taken; it is tried again later",
        passing=True,
    )


def no_tool(settings: ApiSettings, what: str) -> ApiError:
    """A model answered twice without calling a tool, so its answer says nothing about the memory."""
    return ApiError(
        "engine-no-tool",
        f"{what} came to nothing: the model called no tool ({settings.model})",
        "ask it one short question a sentence instead: git config --global gitmem.protocol questions; or "
        "choose a model that works with tools: git config --global gitmem.model NAME",
    )


def declined(settings: ApiSettings) -> ApiError:
    """The provider's safety checks declined the request."""
    return ApiError(
        "engine-declined",
        f"{settings.model} declined to work on these messages",
        "git mem engine set offline handles them without a model",
    )


def translated(problem: Exception, settings: ApiSettings) -> ApiError:
    """Turns what the SDK raised into an error that a person can act on.

    Args:
        problem: an error of the SDK or of its transport.
        settings: names the server and model; its key is kept out of every text.
    """
    import anthropic
    import httpx2

    server = _server(settings)
    if isinstance(problem, (anthropic.APITimeoutError, httpx2.TimeoutException)):
        return ApiError(
            "engine-timeout",
            f"{server} did not answer within {settings.timeout:g} seconds, or not wholly within "
            f"{settings.patience:g}",
            "it is tried again; see whether the server is well, or is a local one still loading its model?",
            passing=True,
        )
    if isinstance(problem, httpx2.RemoteProtocolError | httpx2.ReadError):
        return cut_off(settings)
    if isinstance(problem, anthropic.APIConnectionError | httpx2.TransportError):
        return ApiError(
            "engine-connection",
            f"{server} cannot be reached: {_cause(problem, settings)}",
            "it is tried again; check the network, and the address and proxy in `git mem engine`",
            passing=True,
        )
    if isinstance(problem, anthropic.APIStatusError):
        return _status(problem.status_code, problem.type or "", _said(problem, settings), settings)
    return bad_answer(settings, str(problem) or type(problem).__name__)


def _status(code: int, type_: str, said: str, settings: ApiSettings) -> ApiError:
    server = _server(settings)
    if code == 401 or type_ == "authentication_error":
        return ApiError(
            "engine-auth",
            f"{server} does not accept the API key{said}",
            "check ANTHROPIC_API_KEY where you start your agent and git",
        )
    if code == 402 or type_ == "billing_error":
        return ApiError(
            "engine-credit", f"{server} wants payment first{said}", "see your account's billing page"
        )
    if code == 403 or type_ == "permission_error":
        return ApiError(
            "engine-forbidden",
            f"the API key may not use {settings.model} at {server}{said}",
            "choose another model (git config --global gitmem.model NAME), or another key",
        )
    if code == 404 or type_ == "not_found_error":
        return ApiError(
            "engine-no-model",
            f"{server} does not know {settings.model}, or the address is wrong{said}",
            "see git mem engine; choose another: git config --global gitmem.model NAME",
        )
    if code == 429 or type_ == "rate_limit_error":
        return ApiError(
            "engine-rate-limit",
            f"{server} limits how much may be asked{said}",
            "it is tried again later; `git config gitmem.extractEvery` asks less often",
            passing=True,
        )
    if code == 529 or type_ == "overloaded_error":
        return ApiError(
            "engine-overloaded",
            f"{server} is overloaded{said}",
            "it is tried again later",
            passing=True,
        )
    if code == 413 or type_ == "request_too_large":
        return ApiError(
            "engine-too-much",
            f"the request is too large for {server}{said}",
            "choose a model with a longer context: git config --global gitmem.model NAME",
        )
    if code in (408, 504) or type_ == "timeout_error":
        return ApiError(
            "engine-timeout", f"{server} took too long{said}", "it is tried again later", passing=True
        )
    if code >= 500 or type_ == "api_error":
        return ApiError(
            "engine-server", f"{server} failed ({code}){said}", "it is tried again later", passing=True
        )
    return ApiError(
        "engine-request",
        f"{server} refused the request ({code}){said}",
        "the server or model may not know what gitmem asks for; choose another: git mem engine",
    )


def _said(problem: Exception, settings: ApiSettings) -> str:
    words = getattr(problem, "api_message", None)
    return f": {_safe(words, settings)}" if isinstance(words, str) and words.strip() else ""


def _cause(problem: BaseException, settings: ApiSettings) -> str:
    while problem.__cause__ is not None:
        problem = problem.__cause__
    return _safe(str(problem) or type(problem).__name__, settings)


def _safe(words: str, settings: ApiSettings) -> str:
    """A server's words on one line, without the key or anything else that looks like one."""
    if settings.api_key:
        words = words.replace(settings.api_key, "[key]")
    return one_line(clean([words[:4_000]])[0], _SAID_CHARS)


def _server(settings: ApiSettings) -> str:
    """Host and port alone: an address can carry a password."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(settings.url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "the server in gitmem.baseUrl"
    return one_line(f"{host}:{port}" if port else host, 100) or "the server in gitmem.baseUrl"
