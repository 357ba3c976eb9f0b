"""Requests go to the person's own endpoint and nowhere else, and none holds the worker for hours."""

from __future__ import annotations

import os
import ssl
import time

import httpx2
import pytest
from messages_api import Answer, Drip, Failure, MessagesApi
from talk import KEY, NOW, Counting, engine, person

from gitmem.core.errors import EngineError
from gitmem.engines.choice import Installed, choose
from gitmem.engines.engine import ExtractInput
from gitmem.engines.transport import _wait_of, transport_of

GIVEN = ExtractInput(messages=(person(1, "Use tabs."),), now=NOW)


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_a_server_on_this_machine_is_asked_through_no_proxy(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proxy would read the key and all that was said: on loopback nothing is encrypted."""
    for other in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(other, raising=False)
    with MessagesApi(lambda _: Answer("nothing")) as proxy, MessagesApi([Answer("nothing")]) as api:
        monkeypatch.setenv(name, proxy.url)
        engine(api, Counting()).extract(GIVEN)
        assert (len(api.requests), len(proxy.requests)) == (1, 0)


def test_the_environment_adds_no_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    """It could name another key, or another account to book what was said on."""
    monkeypatch.setenv(
        "ANTHROPIC_CUSTOM_HEADERS", "X-Api-Key: sk-theirs\nX-Theirs: 1\nAuthorization: Bearer x"
    )
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "theirs")
    with MessagesApi([Answer("nothing")]) as api:
        engine(api, Counting()).extract(GIVEN)
    sent = {key.lower(): value for key, value in api.requests[0].headers.items()}
    assert sent["authorization"] == f"Bearer {KEY}"
    assert "x-theirs" not in sent and "x-api-key" not in sent


@pytest.mark.parametrize("status", [301, 307, 308])
def test_a_redirect_leads_nowhere(status: int) -> None:
    """The SDK would follow it to any host, with the key in its header."""
    with MessagesApi(lambda _: Answer("nothing")) as other:
        moved = Failure(status, headers={"Location": f"{other.url}/v1/messages"})
        with MessagesApi([moved]) as api, pytest.raises(EngineError):
            engine(api, Counting()).extract(GIVEN)
        assert not other.requests


def test_a_server_that_wants_to_be_left_alone_for_hours_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
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
