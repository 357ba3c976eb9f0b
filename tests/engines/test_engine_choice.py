"""Which engine is in force: only the person's own word counts, and nothing is sent in clear."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitmem.core.errors import EngineError
from gitmem.engines.choice import (
    EngineChoice,
    Installed,
    choose,
    endpoint_problem,
    on_this_machine,
    shown_address,
)
from gitmem.engines.engine import ConsolidateInput, ExtractInput
from gitmem.engines.task import UnreadyEngine

KEY = {"ANTHROPIC_API_KEY": "sk-test"}


def pick(
    environ: dict[str, str] | None = None, program: str = "", sdk: bool = True, **values: str
) -> EngineChoice:
    return choose(Installed(values, KEY if environ is None else environ, sdk, program))


def test_unset_is_offline_and_sends_nothing() -> None:
    one = pick()
    assert (one.engine, one.sends, one.missing, one.endpoint) == ("offline", (), (), "")
    assert one.summary == "nothing leaves this machine"
    assert not one.tells and one.costs == "no request of its own" and "hooks" in one.why


@pytest.mark.parametrize("values", [{}, {"engine": "agent"}])
def test_unset_is_agent_where_a_client_carries_it(values: dict[str, str]) -> None:
    one = choose(Installed(values, {}, carried=True))
    assert (one.engine, one.sends, one.missing, one.endpoint) == ("agent", (), (), "")
    assert one.tells and "120 tokens" in one.adds and one.costs == "no request of its own"


def test_agent_tells_nobody_where_no_client_carries_it() -> None:
    one = pick(engine="agent")
    assert one.engine == "agent" and not one.tells and one.adds == ""
    assert any("git mem init" in note for note in one.notes)


@pytest.mark.parametrize("name", ["", "agent", "offline"])
def test_what_would_learn_more_is_named_and_never_chosen(name: str) -> None:
    """What makes requests of its own is a person's choice."""

    def found(**more: object) -> EngineChoice:
        return choose(Installed({"engine": name} if name else {}, **{"environ": {}, **more}))  # type: ignore[arg-type]

    assert found().more == "" and found(program="/bin/claude").more == ""
    signed_in = found(program="/bin/claude", signed_in=True, environ=KEY)
    assert signed_in.more.endswith("git mem engine set claude-code") and signed_in.sends == ()
    assert found(environ=KEY).more.endswith("git mem engine set anthropic")
    assert found(environ=KEY, sdk=False).more == ""


def test_what_each_engine_learns_is_said_with_the_figures_that_docs_give() -> None:
    """Nothing is promised that was not measured."""
    docs = Path(__file__).parents[2] / "docs/guide"
    told = " ".join(page.read_text("utf-8") for page in (docs / "trust.md", docs / "engines.md"))
    readme = " ".join(told.split())
    offline, agent = pick(), choose(Installed({}, {}, carried=True))
    for one, figures in ((offline, ("16 of 22", "21 of 41")), (agent, ("35 of 41", "some ten"))):
        assert all(figure in one.learns and figure in readme for figure in figures), one.learns
        assert "12 sessions that others labelled" in one.learns
    assert pick(engine="agent").learns == offline.learns
    for name in ("anthropic", "claude-code"):
        asks = pick(engine=name, program="/bin/claude")
        assert "not measured" in asks.learns and f"--engine {name}" in asks.learns
        assert any("living document" in line for line in asks.sends)


def test_anthropic_with_a_key_is_ready_and_never_shows_it() -> None:
    one = pick(engine="anthropic")
    assert one.missing == () and one.model == "claude-haiku-5-5"
    assert one.endpoint == "https://api.anthropic.com" and one.key == "sk-test"
    assert "sk-test" not in repr(one) + one.summary + str(one.notes)


def test_the_environment_names_no_endpoint() -> None:
    """A repository's env file could set it, and have the key sent there."""
    one = pick({**KEY, "ANTHROPIC_BASE_URL": "https://evil.example.com/x"}, engine="anthropic")
    assert one.base_url == "https://api.anthropic.com" and one.missing == ()
    assert any("https://evil.example.com/x" in note and "not followed" in note for note in one.notes)
    url = "https://models.example.com"
    assert pick({**KEY, "ANTHROPIC_BASE_URL": url}, engine="anthropic", baseurl=url).notes == ()


def test_what_is_missing_comes_with_a_remedy() -> None:
    one = pick({}, sdk=False, engine="anthropic", baseurl="http://models.example.com")
    assert [lack.what.split()[0] for lack in one.missing] == [
        "models.example.com",
        "ANTHROPIC_API_KEY",
        "the",
    ]
    assert all(lack.remedy for lack in one.missing)
    (lack,) = pick(engine="claude-code").missing
    assert "claude" in lack.what and "Install" in lack.remedy
    (lack,) = pick(engine="oracle").missing
    assert "oracle" in lack.what


def test_a_server_on_this_machine_needs_no_key() -> None:
    one = pick({}, engine="anthropic", baseurl="http://127.0.0.1:8080", model="small")
    assert one.missing == () and one.key == "" and one.model == "small"


def test_a_fork_follows_no_endpoint_that_a_repository_may_have_set() -> None:
    evil = {"ANTHROPIC_BASE_URL": "https://evil.example.com"}
    (lack,) = pick(evil, program="/usr/bin/claude", engine="claude-code").missing
    assert "evil.example.com" in lack.what
    other = {"CLAUDE_CODE_USE_BEDROCK": "1", "ANTHROPIC_BEDROCK_BASE_URL": "https://evil.example.com"}
    assert pick(other, program="/usr/bin/claude", engine="claude-code").missing
    mine = pick(evil, program="/c", engine="claude-code", baseurl="https://evil.example.com/")
    assert mine.missing == () and mine.endpoint == "https://evil.example.com"
    local = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:99"}
    assert pick(local, program="/c", engine="claude-code").missing == ()


@pytest.mark.parametrize(
    "url",
    [
        "http://models.example.com", "http://10.0.0.5:8080", "ftp://a.example.com", "a.example.com",
        "https://", "https://user:pass@models.example.com", "http://127.0.0.1@models.example.com",
        "http://localhost.example.com", "http://127.1", "http://[::1", "http://127.0.0.1:99999",
        "https://models.example.com/ x", "https://models.example.com\n", "file:///etc/passwd",
    ],
)  # fmt: skip
def test_an_address_that_would_tell_too_much_is_refused(url: str) -> None:
    problem = endpoint_problem(url)
    assert problem is not None and problem.remedy
    assert "pass@" not in shown_address(url)


@pytest.mark.parametrize(
    "url", ["https://models.example.com/v", "http://localhost:1", "http://127.8.9.1", "http://[::1]:8080/"]
)
def test_an_address_that_is_encrypted_or_on_this_machine_is_taken(url: str) -> None:
    assert endpoint_problem(url) is None
    assert on_this_machine(url) == url.startswith("http:")


def test_an_engine_that_lacks_something_says_so_whatever_it_is_asked() -> None:
    engine = UnreadyEngine(pick({}, engine="anthropic"))
    assert engine.name == "anthropic:claude-haiku-5-5"
    for work in (
        lambda: engine.extract(ExtractInput(())),
        lambda: engine.choose("x", (), 1),
        lambda: engine.consolidate(ConsolidateInput({})),
    ):
        with pytest.raises(EngineError, match="ANTHROPIC_API_KEY is not set") as caught:
            work()
        assert "git mem engine set offline" in caught.value.hint
