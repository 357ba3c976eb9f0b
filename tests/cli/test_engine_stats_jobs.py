"""`git mem engine`, `git mem stats` and `git mem jobs`, as a person runs them."""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from ran import Gitmem

from gitmem.app.context import real_edges
from gitmem.core.change import Change
from gitmem.core.errors import EngineError, RepositoryError
from gitmem.core.trailers import Provenance, Usage
from gitmem.engines.budget import Ledger, Spending
from gitmem.engines.engine import ExtractInput
from gitmem.flows.context import initialised_at, workspace_at
from gitmem.flows.engines import claude_program, engine_for, ledger_for, meter_for
from gitmem.git.repository import Signature
from gitmem.ledger.job_record import RunTally, recorded
from gitmem.ledger.land import Write, land
from gitmem.ledger.suggestions import propose, suggest

Git = Callable[..., str]
TOLD = {
    "result": "ready",
    "is_error": False,
    "total_cost_usd": 0.002,
    "modelUsage": {"claude-opus-5": {}},
    "usage": {"input_tokens": 3, "cache_read_input_tokens": 900, "output_tokens": 2},
}


def program(folder: Path, answer: object, code: int = 0) -> Path:
    """A stand-in for `claude` that answers and says what it was given."""
    folder.mkdir(exist_ok=True)
    path = folder / "claude"
    path.write_text(
        "#!/bin/sh\n"
        f'printf "%s\\n" "$GITMEM_DISABLE" "$@" > {folder}/given\n'
        f"cat <<'END'\n{json.dumps(answer)}\nEND\nexit {code}\n"
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_offline_is_what_is_in_force_and_nothing_leaves(gitmem: Gitmem, repo: Path) -> None:
    shown = gitmem("engine").out
    assert "gitmem.engine is not set" in shown and "stays on this machine" in shown
    assert "nothing to test" in gitmem("engine", "test").out
    assert json.loads(gitmem("engine", "--json").out)["ready"] is True


def test_agent_is_in_force_where_gitmems_hooks_are(gitmem, repo, home, monkeypatch) -> None:
    told = gitmem("init", "-y").err
    assert "engine agent: what you say in passing is put to the agent of that session" in told
    shown = gitmem("engine").out
    assert shown.startswith("agent: gitmem.engine is not set")
    assert "nothing that the session has not sent" in shown and "at most 120 tokens" in shown
    assert "no request of its own" in shown and "more " not in shown
    program(home / "bin", TOLD)
    monkeypatch.setenv("PATH", f"{home / 'bin'}:{os.environ['PATH']}")
    (home / ".claude.json").write_text('{"oauthAccount": {"emailAddress": "ann@example.com"}}')
    value = json.loads(gitmem("engine", "--json").out)
    assert value["more"].endswith("git mem engine set claude-code") and "ann" not in str(value)
    assert (value["engine"], value["sends"], value["costs"]) == ("agent", [], "no request of its own")
    assert gitmem("status", "--json").json["engine"] == "agent"
    assert "gitmem.engine = offline" in gitmem("engine", "set", "offline").out
    assert gitmem("status", "--json").json["engine"] == "offline"


def test_choosing_a_model_is_asked_for_and_can_be_taken_back(gitmem, git, home, monkeypatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-hush")
    assert "would send messages of sessions" in gitmem("engine", "set", "anthropic", "-n").out
    asked = gitmem("engine", "set", "anthropic", ok=False)
    assert "will send messages of sessions" in asked.err
    assert asked.code == 1 and git("config", "--global", "gitmem.engine", check=False) == ""
    done = gitmem("engine", "set", "anthropic", "--model", "claude-opus-5", "-y")
    assert "undo: git mem engine set default --model default" in done.err
    shown = gitmem("engine")
    assert "https://api.anthropic.com" in shown.out and str(home / ".gitconfig") in shown.out
    assert "that it asks to read" in shown.out and "sk-hush" not in shown.out
    value = json.loads(gitmem("engine", "--json").out)
    assert (value["key"], value["model"], value["ceilings"]["runs"]) == (True, "claude-opus-5", 200)
    assert "sk-hush" not in json.dumps(value)
    gitmem("engine", "set", "default", "--model", "default")
    assert git("config", "--global", "--get-regexp", "^gitmem", check=False) == ""
    assert "in force already" in gitmem("engine", "set", "default").out


def test_a_repository_chooses_no_engine_no_endpoint_and_no_ceiling(gitmem, git, repo) -> None:
    for key, value in (
        ("engine", "anthropic"),
        ("baseUrl", "https://evil.example.com"),
        ("maxRuns", "9999"),
    ):
        git("-C", repo, "config", f"gitmem.{key}", value)
    value = json.loads(gitmem("engine", "--json").out)
    assert value["engine"] == "offline" and value["ceilings"]["runs"] == 200
    assert [one["counts"] for one in value["settings"]] == [False, False]
    assert "does not count" in gitmem("engine").out


@pytest.mark.parametrize(
    "words", [("fly",), ("set",), ("set", "oracle"), ("show", "x"), ("set", "anthropic", "--base-url", "http://a.example.com")]
)  # fmt: skip
def test_words_that_mean_nothing_exit_2_and_change_nothing(gitmem, git, words: tuple[str, ...]) -> None:
    assert gitmem("engine", *words, "-y", ok=False).code == 2
    assert git("config", "--global", "--get-regexp", "^gitmem", check=False) == ""


def test_an_engine_that_cannot_run_says_so_everywhere(gitmem: Gitmem, git: Git, repo: Path) -> None:
    git("config", "--global", "gitmem.engine", "anthropic")
    assert "cannot run: ANTHROPIC_API_KEY is not set" in gitmem("engine").out
    gitmem("init", "-y")
    assert "anthropic cannot run: ANTHROPIC_API_KEY is not set" in gitmem("status").out
    assert "ANTHROPIC_API_KEY is not set" in gitmem("doctor", ok=False).out
    tested = gitmem("engine", "test", ok=False)
    assert tested.code == 4 and "git mem engine set offline" in tested.err
    edges = real_edges(repo)
    with pytest.raises(EngineError, match="ANTHROPIC_API_KEY"):
        engine_for(workspace_at(edges), edges).extract(ExtractInput(()))


def test_over_the_ceiling_or_where_it_is_no_number_nothing_is_asked(gitmem, git, repo, monkeypatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-hush")
    monkeypatch.setenv("GITMEM_NOW", "1795000000")
    git("config", "--global", "gitmem.engine", "anthropic")
    git("config", "--global", "gitmem.maxTokens", "lots")
    assert "gitmem.maxTokens is 'lots'" in gitmem("engine").out
    assert gitmem("engine", "test", ok=False).code == 4
    git("config", "--global", "gitmem.maxTokens", "1k")
    edges = real_edges(repo)
    meter_for(workspace_at(edges), edges).spent("extract", "haiku", Usage(1, 1024))
    tested = gitmem("engine", "test", ok=False)
    assert tested.code == 4 and "1,024 of 1,024 tokens" in tested.err


def test_a_persons_claude_is_asked_hookless_and_counted(gitmem, git, repo, tmp_path, monkeypatch) -> None:
    git("config", "--global", "gitmem.engine", "claude-code")
    theirs = program(repo / "bin", TOLD)
    mine = program(tmp_path / "bin", TOLD)
    monkeypatch.setenv("PATH", f"bin:{theirs.parent}:{mine.parent}:{os.environ['PATH']}")
    assert str(mine) in gitmem("engine").out
    assert "claude-code:claude-opus-5 answered" in gitmem("engine", "test").out
    assert (tmp_path / "bin/given").read_text().splitlines()[0] == "1"
    assert not (repo / "bin/given").exists()
    assert json.loads(gitmem("engine", "--json").out)["today"]["usage"]["cache_read"] == 900
    program(tmp_path / "bin", {"result": "Please log in\x1b[0m", "is_error": True}, 1)
    failed = gitmem("engine", "test", ok=False)
    assert failed.code == 4 and "Please log in" in failed.err and "\x1b" not in failed.err


def test_a_home_directory_that_is_a_work_tree_may_hold_the_program(home, git, monkeypatch) -> None:
    """Also behind an entry of PATH that cannot be looked into; `status` spoke of disk space then."""
    git("init", "-q", home)
    mine = program(home / "bin", TOLD)
    for before in ("", f"/{'x' * 5000}:"):
        with monkeypatch.context() as patch:
            patch.setenv("PATH", f"{before}{mine.parent}:{os.environ['PATH']}")
            edges = real_edges(home)
            assert claude_program(workspace_at(edges), edges) == str(mine)


def test_stats_count_what_commits_and_the_ledger_tell(gitmem: Gitmem, repo: Path) -> None:
    gitmem("init", "-y")
    edges = real_edges(repo)
    workspace = initialised_at(edges)
    scope = workspace.scope("local")
    text = b"---\nname: a\ndescription: b\ntype: feedback\n---\n\nText.\n"
    used = Usage(2, 10, 90, 0, 5, 0.01)
    told = Provenance("add", "extract", session="s1", engine="anthropic:m\x1b", usage=used)
    now = 1_795_000_000
    for name, when in (("new", now - 60), ("old", now - 40 * 86_400)):
        edits = {f"main/{name}.md": text}
        who = Signature("Ann", "ann@example.com", when)
        assert land(scope, lambda _, e=edits: Write(e, "Learn", told), who)
    ledger = ledger_for(workspace)
    for project, days in ((workspace.project_id, 0), ("other", 1), (workspace.project_id, 50)):
        ledger.add(Spending(now - days * 86_400, "extract", "m", used, True, project))
    assert isinstance(ledger, Ledger)
    value = json.loads(gitmem("stats", "--json").out)
    assert value["stored"]["by_type"] == {"feedback": 1} and value["stored"]["by_scope"] == {"local": 1}
    assert value["sessions"] == 1 and value["usage"]["in_commits"]["cache_read"] == 90
    assert value["usage"]["here"]["requests"] == 2 and value["usage"]["everywhere"]["requests"] == 4
    shown = gitmem("stats").out
    assert "90% of it from cache" in shown and "\x1b" not in shown
    assert "  stored     1 by extraction (add 1), from 1 session\n" in shown
    for stored in (2, 1, 2):  # the second undo takes back the first
        assert gitmem("stats", "--days", "60", "--json").json["stored"]["total"] == stored
        gitmem("undo", workspace.private.ref(scope.ref))


def test_stats_count_a_suggestion_once(gitmem: Gitmem, repo: Path) -> None:
    """The first one makes the queue as well, whose own file is no suggestion."""
    gitmem("init", "-y")
    workspace = initialised_at(real_edges(repo))
    change = Change("add", "tabs", "Use tabs", "feedback", "Use tabs.\n", "said so", 0.6, False)
    one = suggest(change, "local", "2026-11-19T10:00:00Z")
    who = Signature("Ann", "ann@example.com", 1_795_000_000)
    propose(workspace, (one,), who, Provenance("add", "extract", session="s1"))
    value = json.loads(gitmem("stats", "--json").out)
    assert (value["suggested"], value["waiting"]) == (1, 1)


def test_jobs_say_once_why_a_step_failed(gitmem: Gitmem, repo: Path) -> None:
    gitmem("init", "-y")
    tally = RunTally(("commit",), log=["one line", "one line"])
    tally.skip("commits", "git knows no email")
    with suppress(RepositoryError), recorded(repo / ".git/gitmem", tally, 1_795_000_000, time.monotonic):
        raise RepositoryError("git knows no email", "Set one.")
    shown = gitmem("jobs").out
    assert [shown.count(text) for text in ("git knows no email", "Set one.", "one line")] == [1, 1, 1]
