"""A host's merge and a web edit, tidied by the next sync and sent back by it."""

from __future__ import annotations

from pathlib import Path

import pytest
from machines import MEMORY, Machine

BRANCH = "refs/heads/gitmem/project"


def test_sync_tidies_what_a_host_merged_and_sends_it(
    repo: Path, tmp_path: Path, git, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    team = tmp_path / "team.git"
    git("clone", "-q", "--bare", repo, team)
    ann = Machine(tmp_path / "ann", monkeypatch, capsys)
    ann.enter()
    git("clone", "-q", team, ann.code)
    ann.run("init", "-y")
    ann.run("remember", "The port is 80.", "--scope", "project", "--name", "port")
    ann.run("share", "--mode", "direct", "-y")
    ann.run("sync", "-y")
    host = tmp_path / "host"
    git("clone", "-q", "-b", "gitmem/project", team, host)
    for branch, name in (("gitmem/project", "one"), ("edit", "two")):
        git("-C", host, "checkout", "-q", "-B", branch, "origin/gitmem/project")
        (host / f"main/{name}.md").write_text(MEMORY.format(name, f"Fact {name}."))
        git("-C", host, "add", "-A")
        git("-C", host, "commit", "-qm", f"Add {name} on the web")
    git("-C", host, "checkout", "-q", "gitmem/project")
    git("-C", host, "merge", "-q", "--no-edit", "edit")
    git("-C", host, "push", "-q", "origin", "gitmem/project")
    ann.run("sync", "-y")
    assert git("-C", team, "log", "-1", "--format=%s", BRANCH) == "Tidy memory after a merge"
    listed = git("-C", team, "show", f"{BRANCH}:main/MEMORY.md")
    assert all(f"({name}.md)" in listed for name in ("port", "one", "two"))
    before = git("-C", team, "rev-parse", BRANCH)
    ann.run("sync", "-y")
    assert git("-C", team, "rev-parse", BRANCH) == before, "tidying again changes nothing"
