"""What the worker does for a job, from what a hook left to memory in the agent's folder."""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import background_ground
import pytest
from background_ground import ASKED, ID
from database import SESSION, Database
from transcripts import Transcript
from workspaces import begun

from gitmem.app import steps, worker
from gitmem.app.context import real_edges
from gitmem.app.spool import Job, put
from gitmem.app.steps import edges_of
from gitmem.core.trailers import Provenance, parse
from gitmem.ledger import code_rewrites
from gitmem.ledger.suggestions import open_suggestions
from gitmem.transcripts.claude_home import slug

RULE = "We never mock the database in tests, because mocks hid a broken migration."

Git = Callable[..., str]
Flows = dict[str, list[object]]


@dataclass(frozen=True)
class Ground(background_ground.Ground):
    """A repository with memory in it; `flows` lists what neighbouring flows were called with."""

    flows: Flows = field(default_factory=dict)

    @property
    def subjects(self) -> list[str]:
        scope = self.workspace.scope("local")
        tip = scope.repo.ref(scope.ref)
        return [made.subject for made in scope.repo.history(tip)][:-1] if tip else []

    @property
    def told(self) -> Provenance:
        """What the newest commit of local memory says of itself."""
        scope = self.workspace.scope("local")
        return parse(scope.repo.commit(scope.repo.ref(scope.ref) or "").message)


@pytest.fixture
def ground(repo: Path, home: Path, flows: Flows, monkeypatch: pytest.MonkeyPatch) -> Ground:
    monkeypatch.setenv("GITMEM_NOW", "1795000000")
    (home / ".claude").mkdir()
    return Ground(repo, home, begun(real_edges(repo)), monkeypatch, flows)


@pytest.fixture
def flows(monkeypatch: pytest.MonkeyPatch) -> Flows:
    """Stand-ins for the neighbouring flows; lists what they were called with."""
    called: Flows = {"app.client_setup": [], "flows.dream": []}

    def stand_in(module: str, name: str) -> None:
        made = types.ModuleType(f"gitmem.{module}")
        setattr(made, name, lambda *given, **_: called[module].append(given))
        monkeypatch.setitem(sys.modules, made.__name__, made)

    stand_in("app.client_setup", "after_checkout")
    stand_in("flows.dream", "maybe_dream")
    return called


def do(repo: Path, event: str = "commit", **more: Any) -> None:
    steps.run(repo / ".git", Job(event, str(repo), **more), dict(os.environ))


def test_a_job_extracts_once_what_was_said(ground: Ground) -> None:
    """Which events call for it is in `test_worker_steps.py`."""
    ground.write(ASKED, RULE)
    for event in ("checkout", "merge"):
        ground.do(event)
    assert ground.subjects == [] and len(ground.flows["app.client_setup"]) == 2
    ground.flows["flows.dream"].clear()
    ground.do("commit")
    assert ground.subjects == ["We deploy from the release branch only"]
    assert len(open_suggestions(ground.workspace)) == 1
    assert len(ground.flows["flows.dream"]) == 1 and len(ground.flows["app.client_setup"]) == 2
    ground.do("stop")
    assert len(ground.subjects) == 1


def test_a_job_from_the_spool_reaches_the_agents_folder(ground: Ground) -> None:
    ground.write(ASKED)
    put(ground.workspace.state / "spool", Job("commit", str(ground.repo), time=1))
    assert worker.work(ground.repo / ".git", dict(os.environ)) == 0
    index = ground.home / ".claude/projects" / slug(ground.repo) / "memory/MEMORY.md"
    assert "deploy-release-branch-only" in index.read_text()
    assert not [file for file in (ground.workspace.state / "spool").iterdir() if file.is_file()]


def test_a_session_in_a_clients_database_is_learned_from_once(ground: Ground) -> None:
    base = Database(ground.home / ".local/share/opencode", str(ground.repo))
    base.prompt(ASKED)
    ground.do("commit")
    assert ground.subjects[0] == "We deploy from the release branch only"
    count = len(ground.subjects)
    ground.do("commit")
    assert len(ground.subjects) == count
    base.prompt("Remember that releases are tagged by Ann.")
    ground.do("commit")
    assert len(ground.subjects) == count + 1
    assert ground.told.session == SESSION


def test_sessions_of_every_work_tree_count_and_of_no_other_repository(ground, git: Git, tmp_path) -> None:
    git("-C", ground.repo, "worktree", "add", "-q", tmp_path / "other", "-b", "other")
    ground.write(ASKED, cwd=tmp_path / "elsewhere")
    ground.do("commit")
    assert ground.subjects == []
    ground.write(ASKED, cwd=tmp_path / "other")
    ground.do("commit")
    assert len(ground.subjects) == 1


def test_what_the_agent_wrote_itself_is_its_own_commit_and_not_extracted_again(ground: Ground) -> None:
    folder = ground.home / ".claude/projects" / slug(ground.repo) / "memory"
    folder.mkdir(parents=True)
    path = folder / "deploy.md"
    path.write_text("---\nname: deploy\ndescription: Deploys\ntype: project\n---\n\nFrom release only.\n")
    made = Transcript(ID, str(ground.repo))
    made.user(ASKED)
    made.call("t1", "Write", file_path=str(path), content=path.read_text())
    made.result("t1", "ok")
    made.record(ground.home)
    ground.do("stop")
    assert ground.subjects == ["Add deploy"]
    assert (ground.told.writer, ground.told.session) == ("agent", ID)


def test_switches_of_the_environment_are_respected(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    ground.write(ASKED)
    for variable in ("GITMEM_DISABLE", "CLAUDE_CODE_DISABLE_AUTO_MEMORY"):
        monkeypatch.setenv(variable, "1")
        ground.do("commit")
        assert ground.subjects == []
        monkeypatch.delenv(variable)
    ground.do("commit")
    assert len(ground.subjects) == 1


def test_nothing_is_extracted_where_it_is_switched_off_but_edits_are_saved(ground: Ground, git) -> None:
    git("-C", ground.repo, "config", "gitmem.extract", "off")
    folder = ground.repo / ".claude/agent-memory-local/reviewer"
    folder.mkdir(parents=True)
    (folder / "mine.md").write_text("---\nname: mine\ndescription: Mine\n---\n\nMy own.\n")
    ground.write(ASKED)
    ground.do("commit")
    assert ground.subjects == ["Add mine"]


def test_a_repository_without_init_is_left_alone(home: Path, repo: Path) -> None:
    before = sorted(repo.joinpath(".git").rglob("*"))
    do(repo)
    assert sorted(repo.joinpath(".git").rglob("*")) == before
    assert not (home / ".local").exists()


def test_united_jobs_do_all_of_it_once(ground: Ground) -> None:
    ground.write(ASKED)
    parts = (
        Job("checkout", str(ground.repo), time=1),
        Job("commit", str(ground.repo), time=2),
        Job("stop", "/gone", time=3),
    )
    ground.do("stop", parts=parts)
    assert len(ground.flows["app.client_setup"]) == len(ground.flows["flows.dream"]) == 1
    assert len(ground.subjects) == 1


def test_a_work_tree_that_is_gone_or_anothers_is_not_entered(ground: Ground, git: Git, tmp_path) -> None:
    git("init", "-q", tmp_path / "other")
    for named in (str(tmp_path / "other"), str(tmp_path / "gone"), "relative", "/x\0y", ""):
        edges = edges_of((ground.repo / ".git").resolve(), Job("commit", named), dict(os.environ))
        assert edges is not None and edges.cwd == ground.repo.resolve()


def test_rewritten_commits_are_noted_and_only_so_many_kept(ground: Ground, monkeypatch) -> None:
    monkeypatch.setattr(code_rewrites, "REWRITES_KEPT", 2)
    old, new, newer = ("a" * 40, "b" * 40, "c" * 40)
    ground.do("rewrite", rewritten=((old, new), ("x; rm", new)))
    ground.do("rewrite", rewritten=((new, newer), (old, newer), (old, newer)))
    kept = (ground.workspace.state / "rewrites").read_text()
    assert kept == f"{new} {newer}\n{old} {newer}\n"
    assert ground.flows["app.client_setup"] == []


def test_without_an_identity_the_job_waits(ground: Ground) -> None:
    ground.write(ASKED)
    config = (ground.home / ".gitconfig").read_text()
    (ground.home / ".gitconfig").write_text("")
    put(ground.workspace.state / "spool", Job("commit", str(ground.repo), time=1))
    worker.work(ground.repo / ".git", dict(os.environ))
    assert "no email was given" in (ground.workspace.state / "log").read_text()
    (ground.home / ".gitconfig").write_text(config)
    worker.work(ground.repo / ".git", dict(os.environ))
    assert len(ground.subjects) == 1
