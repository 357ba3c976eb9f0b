"""Every way in which a Messages API can fail ends as one plain error that says what to do."""

from __future__ import annotations

import os
import socket
import ssl
import time

import httpx2
import pytest
from messages_api import Answer, Broken, Cut, Drip, Failure, Hang, MessagesApi, Raw, Step
from talk import KEY, NOW, Counting, engine, person

from gitmem.core.change import Header
from gitmem.core.errors import EngineError
from gitmem.engines.anthropic import AnthropicEngine
from gitmem.engines.choice import Installed, choose
from gitmem.engines.engine import ExtractInput
from gitmem.engines.messages import ApiSettings
from gitmem.engines.transport import _wait_of, transport_of

GIVEN = ExtractInput(messages=(person(1, "Use tabs."),), now=NOW)
HEADERS = (Header("local", "main", "a.md", "a", "a", "project"),)
EVENTS = "text/event-stream"


def failing(
    step: Step, *, job: str = "extract", timeout: float = 20.0, meter: Counting | None = None
) -> EngineError:
    meter = meter or Counting()
    with MessagesApi([step]) as api:
        engine = AnthropicEngine(ApiSettings(KEY, api.url, timeout=timeout, retries=0), meter)
        with pytest.raises(EngineError) as failed:
            engine.extract(GIVEN) if job == "extract" else engine.choose("q", HEADERS, 1)
    assert len(api.requests) == 1
    return failed.value


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (Failure(400, "invalid_request_error"), "engine-request"),
        (Failure(401, "authentication_error", f"invalid key {KEY}"), "engine-auth"),
        (Failure(402, "billing_error"), "engine-credit"),
        (Failure(403, "permission_error"), "engine-forbidden"),
        (Failure(404, "not_found_error"), "engine-no-model"),
        (Failure(408), "engine-timeout"),
        (Failure(413, "request_too_large"), "engine-too-much"),
        (Failure(429, "rate_limit_error"), "engine-rate-limit"),
        (Failure(500), "engine-server"),
        (Failure(504, "timeout_error"), "engine-timeout"),
        (Failure(529, "overloaded_error"), "engine-overloaded"),
        (Broken("overloaded_error"), "engine-overloaded"),
        (Cut(1), "engine-cut-off"),
        (Cut(3), "engine-cut-off"),
        (Cut(5), "engine-cut-off"),
        (Cut(3, clean=False), "engine-cut-off"),
        (Raw(b"data: {", EVENTS), "engine-bad-answer"),
        (Raw(b"event: message_start\ndata: {not json}\n\n", EVENTS), "engine-bad-answer"),
        (Raw(b'event: message_start\ndata: {"type": "message_start"}\n\n', EVENTS), "engine-bad-answer"),
        (Raw(b"<html>a proxy's login page</html>", "text/html"), "engine-bad-answer"),
        (Raw(b""), "engine-bad-answer"),
        (Answer("half of", stop="max_tokens"), "engine-answer-too-long"),
        (Answer("I cannot", stop="refusal"), "engine-declined"),
    ],
)
def test_a_failed_extraction_says_what_happened_and_what_to_do(step: Step, kind: str) -> None:
    error = failing(step)
    assert error.kind == kind
    assert error.hint
    assert error.exit_code == 4
    assert KEY not in f"{error.message} {error.hint} {error.__cause__!r} {error!r}"


def test_an_answer_that_broke_off_is_counted_and_one_that_never_began_is_not() -> None:
    meter = Counting()
    failing(Cut(3), meter=meter)
    failing(Failure(500), meter=meter)
    assert [(job, usage.input > 100) for job, _, usage in meter.told] == [("extract", True)]


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (Raw(b"no json"), "engine-bad-answer"),
        (Raw(b"[]"), "engine-bad-answer"),
        (Raw(b"{}"), "engine-bad-answer"),
        (Raw(b'{"content": 5, "usage": null}'), "engine-bad-answer"),
        (
            Raw(b'{"content": [{"type": "text"}], "stop_reason": "end_turn", "usage": {}}'),
            "engine-bad-answer",
        ),
        (Raw(b"<html>", "text/html"), "engine-bad-answer"),
        (Failure(529, "overloaded_error"), "engine-overloaded"),
    ],
)
def test_a_failed_choice_says_so_likewise(step: Step, kind: str) -> None:
    assert failing(step, job="select").kind == kind


@pytest.mark.parametrize("job", ["extract", "select"])
def test_a_server_that_hangs_is_given_up(job: str) -> None:
    error = failing(Hang(), job=job, timeout=0.1)
    assert error.kind == "engine-timeout"
    assert "0.1 seconds" in error.message


def test_a_server_that_is_not_there_is_named_without_its_password() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://ann:hunter2@127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(EngineError) as failed:
            AnthropicEngine(ApiSettings(KEY, url, retries=0), Counting()).extract(GIVEN)
    assert failed.value.kind == "engine-connection"
    assert "127.0.0.1" in failed.value.message
    assert "hunter2" not in failed.value.message


def test_anthropic_alone_needs_a_key_and_any_server_an_address() -> None:
    for url in ("", "https://api.anthropic.com", "https://api.anthropic.com/"):
        with pytest.raises(EngineError) as failed:
            AnthropicEngine(ApiSettings(base_url=url), Counting()).extract(GIVEN)
        assert failed.value.kind == "engine-no-key"
        assert "ANTHROPIC_API_KEY" in failed.value.hint
    with MessagesApi([Answer("nothing")]) as api:
        AnthropicEngine(ApiSettings(base_url=api.url), Counting()).extract(GIVEN)
    assert len(api.requests) == 1
    with pytest.raises(EngineError):
        AnthropicEngine(ApiSettings(KEY, "http://[::", retries=0), Counting()).extract(GIVEN)


# Requests go to the person's own endpoint and nowhere else, and none holds the worker for hours.


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_a_server_on_this_machine_is_asked_through_no_proxy(name: str, monkeypatch) -> None:
    """The proxy would read the key and all that was said: on loopback nothing is encrypted."""
    for other in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(other, raising=False)
    with MessagesApi(lambda _: Answer("nothing")) as proxy, MessagesApi([Answer("nothing")]) as api:
        monkeypatch.setenv(name, proxy.url)
        engine(api, Counting()).extract(GIVEN)
        assert (len(api.requests), len(proxy.requests)) == (1, 0)


def test_the_environment_names_no_address_and_adds_no_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository can set a variable: another key, or another account to book what was said on."""
    monkeypatch.setenv(
        "ANTHROPIC_CUSTOM_HEADERS", "X-Api-Key: sk-theirs\nX-Theirs: 1\nAuthorization: Bearer x"
    )
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "theirs")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    with MessagesApi([Answer("nothing")]) as api:
        engine(api, Counting()).extract(GIVEN)
    sent = {key.lower(): value for key, value in api.requests[0].headers.items()}
    assert sent["authorization"] == f"Bearer {KEY}"
    assert "x-theirs" not in sent and "x-api-key" not in sent and "theirs" not in sent.values()


@pytest.mark.parametrize("status", [301, 307, 308])
def test_a_redirect_leads_nowhere(status: int) -> None:
    """The SDK would follow it to any host, with the key in its header."""
    with MessagesApi(lambda _: Answer("nothing")) as other:
        moved = Failure(status, headers={"Location": f"{other.url}/v1/messages"})
        with MessagesApi([moved]) as api, pytest.raises(EngineError):
            engine(api, Counting()).extract(GIVEN)
        assert not other.requests


def test_a_server_that_wants_to_be_left_alone_for_hours_is_not_waited_for(monkeypatch) -> None:
    """The SDK sleeps as long as it is told to, and the worker with it."""
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    limited = Failure(429, "rate_limit_error", headers={"Retry-After": "86400"})
    with MessagesApi([limited]) as api, pytest.raises(EngineError, match="limits how much"):
        engine(api, Counting(), retries=2).extract(GIVEN)
    assert len(api.requests) == 1 and sum(slept) < 60


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 0.0),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"Retry-After": "3"}, 3.0),
        ({"Retry-After": "Wed, 25 Nov 2026 10:00:00 GMT"}, float("inf")),
    ],
)
def test_how_long_a_server_is_left_alone(headers: dict[str, str], seconds: float) -> None:
    assert _wait_of(httpx2.Response(429, headers=headers)) == seconds


def test_a_stream_of_nothing_but_signs_of_life_ends() -> None:
    """A busy server sends pings: no read ever times out."""
    with MessagesApi([Drip()]) as api, pytest.raises(EngineError) as failed:
        engine(api, Counting(), patience=0.2).extract(GIVEN)
    assert failed.value.kind == "engine-timeout"


def test_certificates_are_the_systems_or_the_persons(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a proxy and a certificate of its own, an environment could have all of it read on the way."""
    asked: list[object] = []
    real = ssl.create_default_context
    monkeypatch.setattr(ssl, "create_default_context", lambda **more: asked.append(more) or real())
    monkeypatch.setenv("SSL_CERT_FILE", os.devnull)
    transport_of(1.0, "", "").close()
    assert not asked


@pytest.mark.parametrize(
    ("environ", "url", "proxy"),
    [
        ({}, "", ""),
        ({"HTTPS_PROXY": "http://p.example.com:3128"}, "", "http://p.example.com:3128"),
        ({"https_proxy": "p.example.com:3128"}, "", "http://p.example.com:3128"),
        ({"ALL_PROXY": "http://p.example.com"}, "", "http://p.example.com"),
        ({"HTTPS_PROXY": "http://p.example.com", "NO_PROXY": "anthropic.com"}, "", ""),
        ({"HTTPS_PROXY": "http://p.example.com", "no_proxy": "*"}, "", ""),
        ({"HTTP_PROXY": "http://p.example.com"}, "", ""),
        ({"ALL_PROXY": "http://p.example.com"}, "http://127.0.0.1:8080", ""),
        ({"HTTPS_PROXY": "http://p.example.com"}, "https://localhost:8080", ""),
    ],
)
def test_a_proxy_only_carries_what_is_encrypted(environ: dict[str, str], url: str, proxy: str) -> None:
    one = choose(Installed({"engine": "anthropic", "baseurl": url}, {"ANTHROPIC_API_KEY": "k", **environ}))
    assert one.proxy == proxy
    assert any("p.example.com" in note for note in one.notes) == bool(proxy)


def test_a_proxy_of_another_kind_is_refused() -> None:
    one = choose(
        Installed({"engine": "anthropic"}, {"ANTHROPIC_API_KEY": "k", "ALL_PROXY": "socks5://a:1"})
    )
    assert [lack.what for lack in one.missing] == ["the proxy socks5://a:1 is none of http or https"]
