"""A clock that was set back: nothing breaks or is lost, and nothing waits for its old time to come."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from gitmem.app.spool import Job, coalesce, put, take
from gitmem.core.trailers import Provenance
from gitmem.entry import main
from gitmem.flows.context import Edges, workspace_at
from gitmem.flows.dream import dream
from gitmem.git.refs import move_ref
from gitmem.git.repository import Signature
from gitmem.ledger.land import Ref, Write, land
from gitmem.ledger.merge import merge_commits
from gitmem.ledger.workspace import Workspace, store_project_id
from gitmem.transcripts.claude_home import slug

NOW = 1_795_000_000
LATER = NOW + 4 * 365 * 86_400
MEMORY = "---\nname: {0}\ndescription: About {0}\nmetadata:\n  type: project\n---\n\n{1}\n"


@pytest.fixture
def workspace(repo: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.chdir(repo)
    made = store_project_id(workspace_at(edges(repo, NOW)))
    made.state.mkdir()
    assert made.private.git_dir.is_dir()
    return workspace_at(edges(repo, NOW))


def edges(repo: Path, now: float) -> Edges:
    return Edges(dict(os.environ), repo, now)


@pytest.fixture
def run(workspace: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Runs a command while the clock shows a time."""

    def do(now: int, *words: str) -> str:
        monkeypatch.setenv("GITMEM_NOW", str(now))
        monkeypatch.setattr(sys, "argv", ["gitmem", *words])
        code = main()
        seen = capsys.readouterr()
        assert code == 0, seen
        return seen.out

    return do


def write(repo: Path, name: str, body: str) -> Path:
    path = repo / f".claude/agent-memory/reviewer/{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(MEMORY.format(name, body))
    return path


def test_saves_go_on_and_keep_every_claim(repo: Path, run, git) -> None:
    path = write(repo, "alpha", "The first fact.")
    run(LATER, "save")
    path.write_text(MEMORY.format("alpha", "The first fact.\n\nThe second fact."))
    write(repo, "beta", "Another fact.")
    run(NOW, "save")
    path.write_text(MEMORY.format("alpha", "The second fact."))
    run(NOW - 60, "save")
    show = git("-C", repo, "show", "refs/gitmem/project:reviewer/alpha.md")
    assert "The second fact." in show
    assert "The first fact." not in show, "a deletion counts, too"
    assert "Another fact." in git("-C", repo, "show", "refs/gitmem/project:reviewer/beta.md")
    assert path.read_text() == show + "\n"
    listed = run(NOW, "list")
    assert "alpha" in listed
    assert "beta" in listed


def test_undo_takes_back_what_was_done_last_not_what_has_the_latest_date(repo: Path, run) -> None:
    path = write(repo, "alpha", "The first fact.")
    run(LATER, "save")
    path.write_text(MEMORY.format("alpha", "The first fact.\n\nThe second fact."))
    run(NOW, "save")
    run(NOW, "undo")
    assert path.read_text() == MEMORY.format("alpha", "The first fact.")


def test_merges_are_the_same_on_either_side(workspace: Workspace) -> None:
    repo, ref = workspace.code, "refs/gitmem/project"

    def learn(name: str, now: int, ref: str = ref) -> str:
        text = MEMORY.format(name, f"About {name}.").encode()
        write = Write({f"main/{name}.md": text}, "Learn", Provenance(op="add"))
        made = land(Ref(repo, ref), lambda _: write, Signature("Ann", "ann@example.com", now))
        assert made
        return made.commit

    base = learn("base", LATER)
    move_ref(repo, "refs/gitmem/other", base, None, "fork")
    ours, theirs = learn("ours", NOW), learn("theirs", NOW - 60, "refs/gitmem/other")
    merged = merge_commits(repo, ours, theirs)
    assert merged.commit == merge_commits(repo, theirs, ours).commit
    assert repo.commit(merged.commit).committer.time >= NOW


def converse(workspace: Workspace, number: int) -> None:
    folder = workspace.around.config / "projects" / slug(workspace.layout.common_dir.parent)
    folder.mkdir(parents=True)
    for at in range(number):
        file = folder / f"session-{at}.jsonl"
        cwd = str(workspace.layout.common_dir.parent)
        file.write_text(json.dumps({"type": "user", "cwd": cwd}) + "\n")
        os.utime(file, (NOW - 60, NOW - 60))


def gate(workspace: Workspace, repo: Path, now: int) -> str:
    held = dream(workspace, edges(repo, now), scope="project").gate
    return held.name if held else ""


def test_a_dream_in_a_time_that_is_yet_to_come_holds_up_no_other(
    workspace: Workspace, repo: Path, run
) -> None:
    write(repo, "alpha", "A fact.")
    run(NOW - 120, "save")
    converse(workspace, 9)
    assert gate(workspace, repo, LATER) == ""
    assert gate(workspace, repo, NOW) == ""
    assert gate(workspace, repo, NOW + 60) == "day", "and from then on the day counts again"


def test_a_dream_accepted_in_a_time_that_is_yet_to_come_holds_up_no_other(
    workspace: Workspace, repo: Path, run
) -> None:
    write(repo, "alpha", "A fact.")
    run(NOW - 120, "save")
    converse(workspace, 9)
    scope = workspace.scope("project")
    told = Provenance(op="dream", writer="dream", reviewed="2030-01-01-0000")
    write_later = Write({"reviewer/beta.md": MEMORY.format("beta", "B.").encode()}, "Accept", told)
    assert land(scope, lambda _: write_later, Signature("Ann", "ann@example.com", LATER))
    assert gate(workspace, repo, NOW) == ""


def test_jobs_are_taken_all_the_same(tmp_path: Path) -> None:
    put(tmp_path, Job("stop", "/r", "/later", "later", "main", LATER))
    put(tmp_path, Job("stop", "/r", "/now", "now", "main", NOW))
    assert {job.session_id for _, job in take(tmp_path)} == {"later", "now"}
    assert len(coalesce(job for _, job in take(tmp_path)).named) == 2
