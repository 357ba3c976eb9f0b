"""Every way in which a Messages API can fail ends as one plain error that says what to do."""

from __future__ import annotations

import socket

import pytest
from messages_api import Answer, Broken, Cut, Failure, Hang, MessagesApi, Raw, Step
from talk import KEY, NOW, Counting, person

from gitmem.core.change import Header
from gitmem.core.errors import EngineError
from gitmem.engines.anthropic import AnthropicEngine
from gitmem.engines.engine import ExtractInput
from gitmem.engines.messages import ApiSettings

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
        (
            Raw(b'event: message_start\ndata: {"type": "message_start"}\n\n', EVENTS),
            "engine-bad-answer",
        ),
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


def test_an_address_that_is_none_is_an_error_of_the_engine() -> None:
    with pytest.raises(EngineError):
        AnthropicEngine(ApiSettings(KEY, "http://[::", retries=0), Counting()).extract(GIVEN)


def test_without_a_key_nothing_is_asked_of_anthropic() -> None:
    for url in ("", "https://api.anthropic.com", "https://api.anthropic.com/"):
        with pytest.raises(EngineError) as failed:
            AnthropicEngine(ApiSettings(base_url=url), Counting()).extract(GIVEN)
        assert failed.value.kind == "engine-no-key"
        assert "ANTHROPIC_API_KEY" in failed.value.hint


def test_a_server_of_one_s_own_needs_no_key() -> None:
    with MessagesApi([Answer("nothing")]) as api:
        AnthropicEngine(ApiSettings(base_url=api.url), Counting()).extract(GIVEN)
    assert len(api.requests) == 1


def test_what_the_environment_says_of_addresses_and_keys_is_not_followed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A repository can set a variable; the SDK alone would follow it."""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "of-somebody-else")
    with MessagesApi([Answer("nothing")]) as api:
        AnthropicEngine(ApiSettings(KEY, api.url), Counting()).extract(GIVEN)
    assert "of-somebody-else" not in str(api.requests[0].headers)
