"""Upkeep by the worker: due once a day or after many commits, and careful in the person's repository."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from slices import often

sys.path.insert(0, str(Path(__file__).parent.parent / "cli"))
from cli_ground import Ground, ground, memory

from gitmem.app import steps, upkeep
from gitmem.app.spool import Job
from gitmem.git.command import GitCommand, GitResult
from gitmem.ledger.layout import blob_name
from gitmem.search.index import Catalog

__all__ = ["ground"]

Git = Callable[..., str]
DAY = 86_400


def grow(folder: Path, ref: str, count: int, start: int = 0) -> str:
    """Puts commits on a ref, quickly; returns the tip."""
    lines: list[str] = []
    known = subprocess.run(
        ["git", "-C", str(folder), "rev-parse", "-q", "--verify", ref], capture_output=True
    )
    for number in range(start, start + count):
        text = f"fact {number}\n"
        lines += [
            f"commit {ref}",
            f"committer Ann <ann@example.com> {1_790_000_000 + number} +0000",
            "data 6\nLearn\n",
            f"from {ref}^0" if number == start and not known.returncode else "",
            f"M 100644 inline reviewer/f{number % 20}.md",
            f"data {len(text)}\n{text}",
            "M 100644 inline .gitmem",
            "data 11\nformat = 1\n",
        ]
    lines = [line for line in lines if line]
    subprocess.run(
        ["git", "-C", str(folder), "fast-import", "--quiet"],
        input="\n".join(lines).encode(),
        check=True,
    )
    made = subprocess.run(["git", "-C", str(folder), "rev-parse", ref], capture_output=True, check=True)
    return made.stdout.decode().strip()


def graphs(git_dir: Path) -> list[str]:
    folder = git_dir / "objects/info/commit-graphs"
    return sorted(path.name for path in folder.glob("*.graph")) if folder.is_dir() else []


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


def test_or_after_many_commits(ground: Ground, ran: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "MANY", 3)
    keep(ground)
    ran.clear()
    for name in ("one", "two"):
        ground.learn({f"reviewer/{name}.md": memory(name)}, scope="local")
    keep(ground)
    assert ran == []
    ground.learn({"reviewer/three.md": memory("three")}, scope="local")
    keep(ground)
    assert ran == ["commit-graph private.git", "maintenance private.git"]


def test_a_clock_that_was_put_back_does_not_stop_it(ground: Ground, ran: list[str]) -> None:
    keep(ground)
    ran.clear()
    ground.tick(-30 * DAY)
    keep(ground)
    assert ran


def test_the_gate_starts_no_process(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(ground)
    workspace, edges = ground.workspace, ground.edges
    monkeypatch.setattr(upkeep, "_warm", lambda *_: [])
    assert workspace.scopes

    def refuse(*given: object, **named: object) -> None:
        raise AssertionError(f"a process was started: {given}")

    monkeypatch.setattr(GitCommand, "run", refuse)
    assert upkeep.keep_house(workspace, edges) == ()


@pytest.mark.parametrize("setting", ["maintenance.auto=false", "gc.auto=0"])
def test_the_persons_settings_count_in_the_code_repository(
    ground: Ground, git: Git, ran: list[str], setting: str
) -> None:
    git("-C", ground.repo, "config", *setting.split("="))
    assert keep(ground) == ()
    assert ran == ["commit-graph private.git", "maintenance private.git"]


@pytest.mark.parametrize("file", ["gc.pid", "objects/maintenance.lock"])
def test_a_repository_in_which_git_is_busy_waits(
    ground: Ground, ran: list[str], monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    busy = ground.repo / ".git" / file
    busy.write_text("1 host\n")
    os.utime(busy, (ground.now, ground.now))
    keep(ground)
    assert ran == ["commit-graph private.git", "maintenance private.git"]
    ran.clear()
    ground.tick(13 * 3600)
    keep(ground)
    assert ran == ["maintenance .git"], "it did not wait for another day"


def test_memory_in_the_code_repository_gets_a_layer_of_its_own(ground: Ground, git: Git) -> None:
    """Code commits are graphed when git itself does so, and not by gitmem."""
    tip = grow(ground.repo, "refs/gitmem/project", 600)
    assert keep(ground) == ()
    common = ground.repo / ".git"
    [layer] = graphs(common)
    assert git("-C", ground.repo, "commit-graph", "verify") == ""
    size = (common / "objects/info/commit-graphs" / layer).read_bytes()
    assert bytes.fromhex(tip) in size
    assert bytes.fromhex(git("-C", ground.repo, "rev-parse", "HEAD")) not in size
    assert b"BIDX" in size, "no changed paths were written"
    assert git("-C", ground.repo, "log", "--oneline", tip, "--", "reviewer/f3.md").count("\n") == 29


@pytest.mark.parametrize("split", often([False, True], True))
def test_the_persons_own_graph_stays_as_it_is(ground: Ground, git: Git, split: bool) -> None:
    code = grow(ground.repo, "refs/heads/main", 50)
    extra = ["--split"] if split else []
    git("-C", ground.repo, "commit-graph", "write", "--reachable", *extra)
    info = ground.repo / ".git/objects/info"
    before = next(info.glob("**/*.graph")) if split else info / "commit-graph"
    data = before.read_bytes()
    assert bytes.fromhex(code) in data
    grow(ground.repo, "refs/gitmem/project", 600)
    assert keep(ground) == ()
    kept = [path.read_bytes() for path in info.glob("**/*.graph")]
    assert len(kept) == 2 and data in kept
    git("-C", ground.repo, "commit-graph", "verify")
    assert git("-C", ground.repo, "fsck") == ""


@pytest.mark.long
def test_layers_stay_few(ground: Ground, git: Git) -> None:
    grow(ground.repo, "refs/gitmem/project", 600)
    keep(ground)
    for day in range(1, 6):
        grow(ground.repo, "refs/gitmem/project", 110, 600 + 110 * (day - 1))
        ground.tick(DAY)
        assert keep(ground) == ()
    assert len(graphs(ground.repo / ".git")) == 2
    git("-C", ground.repo, "commit-graph", "verify")


@pytest.mark.parametrize(
    "kind",
    often(["shallow", "partial", "replaced", "grafted", "switched off", "large"], "replaced", "large"),
)
def test_no_graph_where_git_would_not_use_it_or_it_costs_too_much(
    ground: Ground, git: Git, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tip = grow(ground.repo, "refs/gitmem/project", 600)
    common = ground.repo / ".git"
    if kind == "shallow":
        (common / "shallow").write_text(f"{git('-C', ground.repo, 'rev-parse', 'HEAD')}\n")
    elif kind == "partial":
        git("-C", ground.repo, "config", "remote.origin.promisor", "true")
    elif kind == "replaced":
        other = git("-C", ground.repo, "commit-tree", "-m", "other", f"{tip}^{{tree}}")
        git("-C", ground.repo, "replace", tip, other)
    elif kind == "grafted":
        (common / "info/grafts").write_text(f"{tip}\n")
    elif kind == "switched off":
        git("-C", ground.repo, "config", "core.commitGraph", "false")
    else:
        monkeypatch.setattr(upkeep, "LARGE_BYTES", 100)
        git("-C", ground.repo, "repack", "-q", "-d")
    assert keep(ground) == ()
    assert graphs(common) == []


def test_private_memory_is_graphed_whole(ground: Ground, git: Git) -> None:
    ground.learn({"reviewer/one.md": memory("one")}, scope="local")
    tip = ground.learn({"main/two.md": memory("two")}, scope="user")
    assert keep(ground) == ()
    private = ground.workspace.private_path
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


def test_a_failure_is_logged_and_the_job_is_done(ground: Ground) -> None:
    (ground.repo / ".git/objects/info/commit-graphs").write_text("in the way")
    grow(ground.repo, "refs/gitmem/project", 600)
    steps.run(ground.repo / ".git", Job("checkout", str(ground.repo)), dict(os.environ))
    [line] = [
        line for line in (ground.workspace.state / "log").read_text().splitlines() if "upkeep" in line
    ]
    assert "git commit-graph in" in line


def test_nothing_is_logged_where_all_is_well(ground: Ground) -> None:
    steps.run(ground.repo / ".git", Job("checkout", str(ground.repo)), dict(os.environ))
    assert not (ground.workspace.state / "log").exists()


def test_when_it_was_done_last_is_taken_over_from_the_file_of_an_older_version(
    ground: Ground, ran: list[str]
) -> None:
    keep(ground)
    ran.clear()
    for state in (ground.workspace.state, ground.workspace.private_state):
        (state / "state.db").unlink()
        note = state / "upkeep.json"
        note.write_text('{"logs": {}, "graphed": 7}\n')
        os.utime(note, (ground.now - 60, ground.now - 60))
    keep(ground)
    assert ran == [] and not note.exists()
