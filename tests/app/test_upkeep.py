"""Upkeep by the worker: due once a day, and careful in the person's repository."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from cli_ground import Ground, memory

from gitmem.app import steps, upkeep
from gitmem.app.spool import Job
from gitmem.git.command import GitCommand, GitResult
from gitmem.ledger.layout import blob_name
from gitmem.search.catalog import Catalog

Git = Callable[..., str]
DAY = 86_400


def graphs(git_dir: Path) -> list[str]:
    folder = git_dir / "objects/info/commit-graphs"
    return sorted(path.name for path in folder.glob("*.graph")) if folder.is_dir() else []


@pytest.fixture(autouse=True)
def housekeeping(home: Path) -> None:
    """Git tidies up, which it is told not to where tests have nothing to tidy."""
    with (home / ".gitconfig").open("a") as config:
        config.write("[gc]\n\tauto = 6700\n\tautoDetach = false\n[maintenance]\n\tauto = true\n")


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Maintenance and graph commands that were run, as `command folder`."""
    seen: list[str] = []
    real = GitCommand.run

    def run(self: GitCommand, args, **named) -> GitResult:
        if args[0] in ("maintenance", "commit-graph"):
            seen.append(f"{args[0]} {Path(named['git_dir']).name}")
        return real(self, args, **named)

    monkeypatch.setattr(GitCommand, "run", run)
    yield seen


def keep(ground: Ground) -> tuple[str, ...]:
    return upkeep.keep_house(ground.workspace, ground.edges)


def test_it_is_done_once_a_day(ground: Ground, ran: list[str]) -> None:
    ground.learn({"reviewer/one.md": memory("one")}, scope="local")
    assert keep(ground) == ()
    assert ran == ["maintenance .git", "commit-graph private.git", "maintenance private.git"]
    ran.clear()
    ground.tick(DAY - 60)
    keep(ground)
    assert ran == []
    ground.tick(60)
    keep(ground)
    assert len(ran) == 3
    ran.clear()
    ground.tick(-30 * DAY)
    keep(ground)
    assert ran, "a clock that was put back does not stop it"


def test_the_gate_starts_no_process(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(ground)
    workspace, edges = ground.workspace, ground.edges
    monkeypatch.setattr(upkeep, "_warm", lambda *_: [])
    assert workspace.scopes

    def refuse(*given: object, **named: object) -> None:
        raise AssertionError(f"a process was started: {given}")

    monkeypatch.setattr(GitCommand, "run", refuse)
    assert upkeep.keep_house(workspace, edges) == ()


def test_the_persons_settings_count_in_the_code_repository(ground: Ground, git, ran: list[str]) -> None:
    for name, value in (("maintenance.auto", "false"), ("gc.auto", "0")):
        git("-C", ground.repo, "config", name, value)
        assert keep(ground) == ()
        assert ran == ["commit-graph private.git", "maintenance private.git"], name
        git("-C", ground.repo, "config", "--unset", name)
        ran.clear()
        ground.tick(DAY)


def test_private_memory_is_graphed_whole_but_where_the_person_wants_none(ground: Ground, git: Git) -> None:
    ground.learn({"reviewer/one.md": memory("one")}, scope="local")
    tip = ground.learn({"main/two.md": memory("two")}, scope="user")
    private = ground.workspace.private_path
    git("config", "--global", "core.commitGraph", "false")
    assert keep(ground) == () and graphs(private) == []
    git("config", "--global", "--unset", "core.commitGraph")
    ground.tick(DAY)
    assert keep(ground) == ()
    [layer] = graphs(private)
    data = (private / "objects/info/commit-graphs" / layer).read_bytes()
    assert bytes.fromhex(tip) in data and bytes.fromhex(ground.tip("local")) in data and b"BIDX" in data
    assert git(f"--git-dir={private}", "commit-graph", "verify") == ""


def test_many_loose_objects_are_packed(ground: Ground, git: Git) -> None:
    private = ground.workspace.private_path
    git(f"--git-dir={private}", "config", "gc.auto", "20")
    git(f"--git-dir={private}", "config", "gc.autoDetach", "false")
    # Git guesses their number from one of the 256 folders.
    texts = [f"{number}\n" for number in range(3000)]
    chosen = [text for text in texts if blob_name(text.encode(), 40).startswith("17")][:5]
    for text in chosen:
        git(f"--git-dir={private}", "hash-object", "-w", "--stdin", input=text)
    ground.learn({"reviewer/one.md": memory("one")}, scope="local")
    tip = ground.tip("local")
    assert keep(ground) == ()
    assert list((private / "objects/pack").glob("*.pack"))
    assert git(f"--git-dir={private}", "cat-file", "-t", tip) == "commit"


def test_the_catalog_is_warm_after_a_job(ground: Ground) -> None:
    tip = ground.learn({"reviewer/one.md": memory("one")})
    steps.run(ground.repo / ".git", Job("checkout", str(ground.repo)), dict(os.environ))
    with closing(Catalog.open(ground.workspace.state)) as catalog:
        assert catalog.tip("refs/gitmem/project") == tip
        assert [place.path for place in catalog.places("refs/gitmem/project")] == ["reviewer/one.md"]
    assert not (ground.workspace.state / "log").exists(), "nothing is logged where all is well"


def test_a_failure_is_logged_and_the_job_is_done(ground: Ground) -> None:
    ground.learn({"reviewer/one.md": memory("one")}, scope="local")
    (ground.workspace.private_path / "objects/info/commit-graphs").write_text("in the way")
    steps.run(ground.repo / ".git", Job("checkout", str(ground.repo)), dict(os.environ))
    [line] = [
        line for line in (ground.workspace.state / "log").read_text().splitlines() if "upkeep" in line
    ]
    assert "git commit-graph in" in line
