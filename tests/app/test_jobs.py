"""What the worker does for a job, from what a hook left to memory in the agent's folder."""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from database import SESSION, Database
from slices import often
from transcripts import Transcript
from workspaces import begun

from gitmem.app import steps, worker
from gitmem.app.context import real_edges
from gitmem.app.job_subjects import edges_of
from gitmem.app.spool import Job, put
from gitmem.core.errors import RepositoryError
from gitmem.core.trailers import parse
from gitmem.ledger import rewrites
from gitmem.ledger.suggestions import open_suggestions
from gitmem.ledger.workspace import Workspace
from gitmem.transcripts.claude_home import slug

ASKED = "Remember that we deploy from the release branch only."
RULE = "We never mock the database in tests, because mocks hid a broken migration."
ID = "00000001-0000-4000-8000-000000000000"

Git = Callable[..., str]


@pytest.fixture
def workspace(repo: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setenv("GITMEM_NOW", "1795000000")
    edges = real_edges(repo)
    (home / ".claude").mkdir()
    return begun(edges)


@pytest.fixture
def flows(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[object]]:
    """Stand-ins for the neighbouring flows; lists what they were called with."""
    called: dict[str, list[object]] = {"app.client_setup": [], "flows.dream": []}

    def stand_in(module: str, name: str) -> None:
        made = types.ModuleType(f"gitmem.{module}")
        setattr(made, name, lambda *given, **_: called[module].append(given))
        monkeypatch.setitem(sys.modules, made.__name__, made)

    stand_in("app.client_setup", "after_checkout")
    stand_in("flows.dream", "maybe_dream")
    return called


def session(home: Path, cwd: Path, *said: str) -> Transcript:
    made = Transcript(ID, str(cwd))
    for text in said:
        made.user(text)
        made.agent("Done.")
    return made


def write(made: Transcript, home: Path) -> Path:
    folder = home / ".claude/projects" / slug(Path(made.cwd))
    folder.mkdir(parents=True, exist_ok=True)
    return made.write(folder / f"{made.session}.jsonl")


def subjects(workspace: Workspace) -> list[str]:
    scope = workspace.scope("local")
    tip = scope.repo.ref(scope.ref)
    return [made.subject for made in scope.repo.history(tip)][:-1] if tip else []


def do(repo: Path, event: str = "commit", **more: Any) -> None:
    steps.run(repo / ".git", Job(event, str(repo), **more), dict(os.environ))


@pytest.mark.parametrize(
    "event",
    often(
        ["commit", "stop", "subagent-stop", "session-end", "session-start", "pre-compact", "unknown"],
        "commit",
        "stop",
        "unknown",
    ),
)
def test_every_event_that_may_bring_news_extracts(
    workspace: Workspace, flows: dict[str, list[object]], home: Path, repo: Path, event: str
) -> None:
    write(session(home, repo, ASKED, RULE), home)
    do(repo, event)
    assert subjects(workspace) == ["We deploy from the release branch only"]
    assert len(open_suggestions(workspace)) == 1
    assert len(flows["flows.dream"]) == 1 and flows["app.client_setup"] == []
    do(repo, event)
    assert len(subjects(workspace)) == 1


def test_a_job_from_the_spool_reaches_the_agents_folder(
    workspace: Workspace, flows: dict[str, list[object]], home: Path, repo: Path
) -> None:
    write(session(home, repo, ASKED), home)
    put(workspace.state / "spool", Job("commit", str(repo), time=1))
    assert worker.work(repo / ".git", dict(os.environ)) == 0
    index = home / ".claude/projects" / slug(repo) / "memory/MEMORY.md"
    assert "deploy-release-branch-only" in index.read_text()
    assert not [file for file in (workspace.state / "spool").iterdir() if file.is_file()]


def test_a_session_in_a_clients_database_is_learned_from_once(
    workspace: Workspace, flows: dict[str, list[object]], home: Path, repo: Path
) -> None:
    base = Database(home / ".local/share/opencode", str(repo))
    base.prompt(ASKED)
    do(repo)
    assert subjects(workspace)[0] == "We deploy from the release branch only"
    count = len(subjects(workspace))
    do(repo)
    assert len(subjects(workspace)) == count
    base.prompt("Remember that releases are tagged by Ann.")
    do(repo)
    assert len(subjects(workspace)) == count + 1
    scope = workspace.scope("local")
    tip = scope.repo.ref(scope.ref)
    assert tip is not None and parse(scope.repo.commit(tip).message).session == SESSION


def test_sessions_of_every_work_tree_count(
    workspace: Workspace, flows: dict[str, list[object]], home: Path, repo: Path, git: Git, tmp_path: Path
) -> None:
    git("-C", repo, "worktree", "add", "-q", tmp_path / "other", "-b", "other")
    write(session(home, tmp_path / "other", ASKED), home)
    do(repo)
    assert len(subjects(workspace)) == 1


def test_another_repositorys_session_does_not_count(
    workspace: Workspace, flows: dict[str, list[object]], home: Path, repo: Path, tmp_path: Path
) -> None:
    write(session(home, tmp_path / "elsewhere", ASKED), home)
    do(repo)
    assert subjects(workspace) == []


def test_what_the_agent_wrote_itself_is_its_own_commit_and_not_extracted_again(
    workspace: Workspace, flows: dict[str, list[object]], home: Path, repo: Path
) -> None:
    folder = home / ".claude/projects" / slug(repo) / "memory"
    folder.mkdir(parents=True)
    path = folder / "deploy.md"
    path.write_text("---\nname: deploy\ndescription: Deploys\ntype: project\n---\n\nFrom release only.\n")
    made = Transcript(ID, str(repo))
    made.user(ASKED)
    made.call("t1", "Write", file_path=str(path), content=path.read_text())
    made.result("t1", "ok")
    write(made, home)
    do(repo, "stop")
    assert subjects(workspace) == ["Add deploy"]
    scope = workspace.scope("local")
    tip = scope.repo.ref(scope.ref)
    assert tip is not None
    told = parse(scope.repo.commit(tip).message)
    assert (told.writer, told.session) == ("agent", ID)


@pytest.mark.parametrize(
    "variable", often(["GITMEM_DISABLE", "CLAUDE_CODE_DISABLE_AUTO_MEMORY"], "GITMEM_DISABLE")
)
def test_switches_of_the_environment_are_respected(
    workspace: Workspace,
    flows: dict[str, list[object]],
    home: Path,
    repo: Path,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
) -> None:
    write(session(home, repo, ASKED), home)
    monkeypatch.setenv(variable, "1")
    do(repo)
    assert subjects(workspace) == []
    monkeypatch.delenv(variable)
    do(repo)
    assert len(subjects(workspace)) == 1


def test_nothing_is_extracted_where_it_is_switched_off_but_edits_are_saved(
    workspace: Workspace, flows: dict[str, list[object]], home: Path, repo: Path, git: Git
) -> None:
    git("-C", repo, "config", "gitmem.extract", "off")
    folder = repo / ".claude/agent-memory-local/reviewer"
    folder.mkdir(parents=True)
    (folder / "mine.md").write_text("---\nname: mine\ndescription: Mine\n---\n\nMy own.\n")
    write(session(home, repo, ASKED), home)
    do(repo)
    assert subjects(workspace) == ["Add mine"]


def test_a_repository_without_init_is_left_alone(home: Path, repo: Path) -> None:
    before = sorted(repo.joinpath(".git").rglob("*"))
    do(repo)
    assert sorted(repo.joinpath(".git").rglob("*")) == before
    assert not (home / ".local").exists()


@pytest.mark.parametrize("event", ["checkout", "merge"])
def test_a_checkout_is_followed_and_not_extracted_from(
    workspace: Workspace, flows: dict[str, list[object]], home: Path, repo: Path, event: str
) -> None:
    write(session(home, repo, ASKED), home)
    do(repo, event)
    assert len(flows["app.client_setup"]) == 1 and subjects(workspace) == []


def test_united_jobs_do_all_of_it_once(
    workspace: Workspace, flows: dict[str, list[object]], home: Path, repo: Path
) -> None:
    write(session(home, repo, ASKED), home)
    parts = (
        Job("checkout", str(repo), time=1),
        Job("commit", str(repo), time=2),
        Job("stop", "/gone", time=3),
    )
    do(repo, "stop", parts=parts)
    assert len(flows["app.client_setup"]) == len(flows["flows.dream"]) == 1
    assert len(subjects(workspace)) == 1


def test_a_work_tree_that_is_gone_or_anothers_is_not_entered(
    workspace: Workspace, flows: dict[str, list[object]], home: Path, repo: Path, git: Git, tmp_path: Path
) -> None:
    git("init", "-q", tmp_path / "other")
    for named in (str(tmp_path / "other"), str(tmp_path / "gone"), "relative", "/x\0y", ""):
        edges = edges_of((repo / ".git").resolve(), Job("commit", named), dict(os.environ))
        assert edges is not None and edges.cwd == repo.resolve()


def test_rewritten_commits_are_noted_and_only_so_many_kept(
    workspace: Workspace, flows: dict[str, list[object]], repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rewrites, "REWRITES_KEPT", 2)
    old, new, newer = ("a" * 40, "b" * 40, "c" * 40)
    do(repo, "rewrite", rewritten=((old, new), ("x; rm", new)))
    do(repo, "rewrite", rewritten=((new, newer), (old, newer), (old, newer)))
    kept = (workspace.state / "rewrites").read_text()
    assert kept == f"{new} {newer}\n{old} {newer}\n"
    assert flows["app.client_setup"] == []


def test_a_dream_that_fails_does_not_fail_the_job(
    workspace: Workspace,
    flows: dict[str, list[object]],
    home: Path,
    repo: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*given: object) -> None:
        raise RepositoryError("no dream today")

    monkeypatch.setattr(sys.modules["gitmem.flows.dream"], "maybe_dream", fail)
    write(session(home, repo, ASKED), home)
    do(repo)
    assert len(subjects(workspace)) == 1
    assert "no dream today" in (workspace.state / "log").read_text()


def test_without_an_identity_the_job_waits(
    workspace: Workspace, flows: dict[str, list[object]], home: Path, repo: Path
) -> None:
    write(session(home, repo, ASKED), home)
    config = (home / ".gitconfig").read_text()
    (home / ".gitconfig").write_text("")
    put(workspace.state / "spool", Job("commit", str(repo), time=1))
    worker.work(repo / ".git", dict(os.environ))
    assert "no email was given" in (workspace.state / "log").read_text()
    (home / ".gitconfig").write_text(config)
    worker.work(repo / ".git", dict(os.environ))
    assert len(subjects(workspace)) == 1
