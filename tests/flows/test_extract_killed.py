"""Whatever ends an extraction, and wherever: nothing is lost, and nothing is done twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from extract_ground import Killed, history, kill_at, put, refs, tree, workspace
from memory_files import files_at, proposed
from once import home_folder, once, place, tmp_path
from partial_engine import PartialEngine
from transcripts import Transcript

from gitmem.app.context import real_edges
from gitmem.core.change import Edited
from gitmem.core.errors import EngineError
from gitmem.core.trailers import Usage
from gitmem.core.trailers import parse as parse_trailers
from gitmem.engines.engine import ExtractInput, Extraction
from gitmem.flows.context import Edges, initialised_at
from gitmem.flows.extract.run import ExtractWatch, extract_sessions
from gitmem.flows.extract.sessions import SessionSource
from gitmem.flows.extraction import context_of
from gitmem.ledger.suggestions import open_suggestions
from gitmem.ledger.workspace import Workspace
from gitmem.transcripts.claude_home import slug

__all__ = ["home_folder", "once", "place", "tmp_path", "workspace"]
ROOT = Path(__file__).parents[2]
BEFORE = b"---\nname: ports\ndescription: Which ports\ntype: project\n---\n\nAPI is 80.\n\nAsk Ann.\n"
AFTER = BEFORE.replace(b"Ask Ann.", b"Queues are 70.")
STEPS = (
    "write the changeset", "store 1", "store 2", "park", "save what was handled", "save the cursor",
    "lay out", "remove the changeset",
)  # fmt: skip


@pytest.fixture
def edges(repo: Path, monkeypatch: pytest.MonkeyPatch) -> Edges:
    monkeypatch.setenv("GITMEM_NOW", "1795200000")
    return real_edges(repo)


@pytest.fixture
def ready(workspace: Workspace) -> Workspace:
    """Memory of either agent."""
    for agent in ("main", "reviewer"):
        put(workspace, {f"{agent}/ports.md": BEFORE.decode()})
    return workspace


def transcript(home: Path, repo: Path, number: int, *said: str, subagent: bool = False) -> Path:
    made = Transcript(f"{number:08d}-0000-4000-8000-000000000000", str(repo))
    for text in said:
        made.user(text, isSidechain=subagent)
        made.agent("Done.", isSidechain=subagent)
    if not subagent:
        return made.record(home)
    folder = home / ".claude/projects" / slug(repo) / made.session / "subagents"
    folder.mkdir(parents=True)
    return made.write(folder / f"agent-{number}.jsonl")


class Editor(PartialEngine):
    """Edits a file, adds one, and finds one that waits; it may fail at first."""

    name = "scripted"
    reads_history = True

    def __init__(self, fails: int = 0) -> None:
        self.asked, self.fails = 0, fails

    def extract(self, given: ExtractInput) -> Extraction:
        self.asked += 1
        if self.asked <= self.fails:
            raise EngineError("no model today")
        add = proposed("ship", description="Shipping days", body="We ship on Fridays.", asked=True)
        edit = replace(
            add,
            op="update",
            name="ports",
            description="Which ports",
            body="Queues are 70.",
            file="ports.md",
            edited=Edited(BEFORE, AFTER),
        )
        waits = replace(
            add, name="tests", description="Test rules", body="Tests need no network.", asked=False
        )
        return Extraction((edit, add, waits), Usage(requests=1, input=5))


@pytest.mark.parametrize(
    ("at", "agent"),
    [*((at, "main") for at in STEPS), ("store 1", "reviewer"), ("save the cursor", "reviewer")],
)
def test_killed_at_any_step_an_edit_is_made_once_and_its_account_with_it(
    ready: Workspace, edges: Edges, home: Path, repo: Path, at: str, agent: str
) -> None:
    """A session of a subagent is found again by what the changeset or the cursor says of it."""
    path = transcript(home, repo, 1, "One.", subagent=agent != "main")
    source = SessionSource(path, agent, None if agent == "main" else "local")
    engine, told = Editor(), list[str]()
    with pytest.raises(Killed):
        extract_sessions(context_of(ready, edges), engine, [source], watch=kill_at(at))
    watch = ExtractWatch(landed=lambda changes, _: told.append(changes.job))
    extract_sessions(context_of(ready, edges), engine, [source], watch=watch)
    made = [parse_trailers(message) for message in history(ready)]
    assert sorted(one.job[-2:] for one in made if one.writer == "extract") == [".1", ".2"]
    (edited,) = [one for one in made if one.op == "update"]
    assert [fate.kind for fate in edited.claims] == ["superseded"]
    assert edited.claims[0].source.startswith(f"{agent}/ports.md#")
    assert [one.usage for one in made if one.usage] == [Usage(requests=1, input=5)]
    files = tree(ready)
    assert files[f"{agent}/ports.md"] == AFTER.decode() and f"{agent}/ship.md" in files
    assert files[f"{agent}/MEMORY.md"].count("](ship.md)") == 1
    other = "reviewer" if agent == "main" else "main"
    assert files[f"{other}/ports.md"] == BEFORE.decode() and f"{other}/ship.md" not in files
    assert [one.change.name for one in open_suggestions(ready)] == ["tests"]
    assert engine.asked == (2 if at == "write the changeset" else 1) and len(set(told)) == 1
    assert not list((ready.state / "spool/changesets").glob("*.json"))
    if agent == "main":
        shown = home / ".claude/projects" / slug(repo) / "memory"
        assert {file.name for file in shown.iterdir()} == {"MEMORY.md", "ports.md", "ship.md"}
    before = refs(ready)
    assert extract_sessions(context_of(ready, edges), engine, [source]) == () and refs(ready) == before


def test_an_engine_that_fails_again_and_again_loses_and_doubles_nothing(ready, edges, home, repo) -> None:
    path, engine = transcript(home, repo, 1, "One."), Editor(fails=3)
    for _ in range(3):
        with pytest.raises(EngineError):
            extract_sessions(context_of(ready, edges), engine, [path])
    before = len(history(ready))
    assert not list((ready.state / "spool/changesets").glob("*")) and open_suggestions(ready) == ()
    extract_sessions(context_of(ready, edges), engine, [path])
    assert len(history(ready)) == before + 2 and len(open_suggestions(ready)) == 1


def run(repo: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "gitmem", *words],
        cwd=repo,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
def test_workers_killed_at_any_moment_lose_and_double_nothing(home, repo, git, monkeypatch) -> None:
    """The real worker, a real SIGKILL, at moments spread over all that it does."""
    monkeypatch.delenv("GITMEM_DISABLE")
    (home / ".claude").mkdir()
    run(repo, "init", "-y")
    monkeypatch.setenv("GITMEM_NOW", "1795200000")
    rounds, rng = 25, random.Random(5)
    facts = [f"Remember that service number{n} listens on port {4000 + n}." for n in range(rounds)]
    spool = repo / ".git/gitmem/spool"
    worker = [sys.executable, "-P", "-m", "gitmem", "worker", "--git-dir", str(repo / ".git")]
    for number, fact in enumerate(facts, 1):
        transcript(home, repo, number, fact)
        spool.mkdir(exist_ok=True)
        (spool / f"{number}-commit").write_text(f"gitmem-job 1\nevent=commit\nargs=\nworktree={repo}\n")
        process = subprocess.Popen(
            worker, env={**os.environ, "PYTHONPATH": str(ROOT)}, start_new_session=True
        )
        try:
            process.wait(timeout=rng.uniform(0.1, 1.6))
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
    (spool / "last-commit").write_text(f"gitmem-job 1\nevent=commit\nargs=\nworktree={repo}\n")
    # A lock that a killed git left on a ref is taken away once it is old enough to be nobody's.
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        subprocess.run(
            worker, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False, start_new_session=True
        )
        if not any(file.is_file() for file in spool.iterdir()):
            break
        for lock in (home / ".local/share/gitmem/private.git").rglob("*.lock"):
            lock.unlink()
        (spool / "again-commit").write_text(f"gitmem-job 1\nevent=commit\nargs=\nworktree={repo}\n")
    workspace = initialised_at(real_edges(repo))
    scope = workspace.scope("local")
    files = files_at(scope).items()
    text = "\n".join(text for path, text in files if not path.endswith("MEMORY.md"))
    waiting = "\n".join(one.change.body for one in open_suggestions(workspace))
    jobs = [parse_trailers(message).job for message in history(workspace)]
    assert [
        number for number in range(rounds) if f"{text}{waiting}".count(f"port {4000 + number}.") != 1
    ] == []
    assert len(set(filter(None, jobs))) == len([job for job in jobs if job])
    git(f"--git-dir={scope.repo.git_dir}", "fsck", "--strict", "--no-dangling")
