"""`snapshot create --all` in a plain checkout: no init, no private repository, no HOME, no identity."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from once import Once
from ran import Command, Ran
from snapshot_ground import MEMORY, NOW, USUAL

from gitmem.core.trailers import Provenance
from gitmem.flows.context import Edges, workspace_at
from gitmem.git.repository import Signature
from gitmem.ledger.land import Ref, Write, land
from gitmem.ledger.workspace import SHARED_REF

Git = Callable[..., str]
ROOT = Path(__file__).parents[2]
ANN = Signature("Ann", "ann@example.com", NOW - 1_000)


class Host:
    """A bare repository on a host, with code on `main` and memory on its branch."""

    def __init__(self, folder: Path, git: Git) -> None:
        self.folder, self.git = folder, git
        self.bare, self.writer = folder / "host.git", folder / "writer"

    def begin(self, code: Path) -> None:
        self.git("clone", "-q", "--bare", code, self.bare)
        self.git("clone", "-q", self.bare, self.writer)

    def learn(self, agent: str, name: str, text: str, to: str = "origin") -> None:
        repo = workspace_at(Edges(dict(os.environ), self.writer, NOW)).code
        edits = {f"{agent}/{name}.md": MEMORY.format(name, "project", text).encode()}
        land(Ref(repo, SHARED_REF), lambda _: Write(edits, f"Learn {name}", Provenance()), ANN)
        self.git("-C", self.writer, "push", "-q", to, SHARED_REF)

    def checkout(self, name: str = "ci", *options: str) -> Path:
        """A clone as a CI job has it: one commit of one branch, unless told otherwise."""
        how = options or ("--depth=1", "--single-branch")
        self.git("clone", "-q", *how, self.bare.as_uri(), self.folder / name)
        return self.folder / name


@pytest.fixture
def host(tmp_path: Path, git: Git, repo: Path, once: Once[None]) -> Host:
    """One whose memory says where ports are."""
    made = Host(tmp_path, git)
    once("bare", lambda: made.begin(repo))
    once("ports", lambda: made.learn("main", "ports", "Eighty."))
    return made


@pytest.fixture
def bare(tmp_path: Path, git: Git, repo: Path, once: Once[None]) -> Host:
    """One without memory."""
    made = Host(tmp_path, git)
    once("bare", lambda: made.begin(repo))
    return made


Run = Callable[..., Ran]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs gitmem with next to nothing around it."""

    def go(where: Path, *words: str, now: int = NOW) -> Ran:
        with monkeypatch.context() as patch:
            for name in [name for name in os.environ if name != "PATH"]:
                patch.delenv(name)
            command = Command(where, patch, capsys)
            command.now = now - 60
            return command(*words, ok=False)

    return go


def process(where: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The same as a process of its own."""
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "GITMEM_NOW": str(NOW)}
    return subprocess.run(
        [sys.executable, "-P", "-m", "gitmem", *words],
        cwd=where,
        env=environ,
        capture_output=True,
        text=True,
    )


def files(where: Path) -> dict[str, bytes]:
    return {str(p.relative_to(where)): p.read_bytes() for p in (where / USUAL).rglob("*") if p.is_file()}


def test_a_shallow_checkout_of_code_alone_gets_the_teams_memory(host: Host, git: Git) -> None:
    host.learn("reviewer", "style", "Short.")
    place = host.checkout()
    done = process(place, "snapshot", "create", "--all")
    assert (done.returncode, done.stdout) == (
        0,
        f"wrote 1 memory of main in {USUAL}/main\nwrote 1 memory of reviewer in {USUAL}/reviewer\n",
    ), done.stderr
    assert b"Eighty." in (place / USUAL / "main/ports.md").read_bytes()
    assert (place / USUAL / ".gitattributes").is_file()
    assert git("-C", place, "for-each-ref", "--format=%(refname)", "refs/heads", "refs/gitmem") == (
        "refs/heads/main"
    )
    assert not (place / ".git/gitmem").exists()
    assert git("-C", place, "status", "--porcelain", "--untracked-files=no") == ""


def test_it_is_the_same_whenever_it_runs_until_memory_changes(host: Host, run: Run, git: Git) -> None:
    place = host.checkout("one", "--no-local")
    run(place, "snapshot", "create", "--all")
    before = files(place)
    done = run(place, "snapshot", "create", "--all", "--json", now=NOW + 86_400)
    assert [(row["changed"], row["written"]) for row in json.loads(done.out)] == [(False, False)]
    assert files(place) == before
    assert run(place, "snapshot", "create", "--all", now=NOW + 90_000).out.startswith("unchanged: 1 ")
    host.learn("main", "hosts", "Two.")
    git("-C", place, "fetch", "-q")
    dry = run(place, "snapshot", "create", "--all", "-n", now=NOW + 90_000)
    assert (dry.out, files(place)) == (f"would write 2 memories of main in {USUAL}/main\n", before)
    assert run(place, "snapshot", "create", "main", now=NOW + 90_000).code == 0
    assert files(place) != before


def test_a_branch_of_the_clones_own_counts_where_it_is_ahead(host: Host, run: Run) -> None:
    host.git("-C", host.writer, "fetch", "-q")
    repo = workspace_at(Edges(dict(os.environ), host.writer, NOW)).code
    edits = {"main/hosts.md": MEMORY.format("hosts", "project", "Two.").encode()}
    land(Ref(repo, SHARED_REF), lambda _: Write(edits, "Learn hosts", Provenance()), ANN)
    assert run(host.writer, "snapshot", "create").out == f"wrote 2 memories of main in {USUAL}/main\n"


def test_a_repository_for_memory_alone_is_read_where_there_is_one(bare: Host, run: Run, git: Git) -> None:
    git("init", "-q", "--bare", bare.folder / "memory.git")
    git("-C", bare.writer, "remote", "add", "memory", bare.folder / "memory.git")
    bare.learn("main", "ports", "Eighty.", to="memory")
    place = bare.checkout()
    git("-C", place, "remote", "add", "gitmem", bare.folder / "memory.git")
    done = run(place, "snapshot", "create", "--all")
    assert done.out == f"wrote 1 memory of main in {USUAL}/main\n", done.err


def test_without_memory_there_is_nothing_to_write(bare: Host, run: Run) -> None:
    place = bare.checkout()
    done = run(place, "snapshot", "create", "--all")
    assert (done.code, done.out) == (0, "no agent has project memory\n")
    done = run(place, "snapshot", "create")
    assert (done.code, done.out) == (2, "")
    assert "main has no project memory" in done.err
    assert "Store some: git mem remember TEXT --scope project" in done.err


def test_a_remote_out_of_reach_is_an_error_and_not_an_empty_snapshot(host: Host, run: Run) -> None:
    place = host.checkout()
    run(place, "snapshot", "create", "--all")
    other = host.checkout("other")
    host.bare.rename(host.folder / "gone.git")
    done = run(other, "snapshot", "create", "--all")
    assert (done.code, done.out) == (3, "")
    assert "origin cannot be used" in done.err
    # What was fetched before is enough.
    assert run(place, "snapshot", "create", "--all").code == 0


def test_what_pretends_to_be_the_memory_branch_is_refused(bare: Host, run: Run, git: Git) -> None:
    git("-C", bare.writer, "push", "-q", "origin", "main:gitmem/project")
    done = run(bare.checkout(), "snapshot", "create", "--all")
    assert done.code == 3 and "is no memory" in done.err


def test_all_and_a_name_do_not_go_together(bare: Host, run: Run) -> None:
    assert run(bare.checkout(), "snapshot", "create", "main", "--all").code == 2


def test_status_tells_what_waits_for_init(host: Host, run: Run) -> None:
    place = host.checkout()
    run(place, "snapshot", "create", "--all")
    done = run(place, "snapshot", "status")
    assert (done.code, done.out) == (
        0,
        f"main: initialize (there is no memory here yet; work tree, {USUAL}/main, 2026-11-18T11:06:40Z)\n",
    )
    assert "git mem init" in done.err
    assert not (place / ".git/gitmem").exists()


def test_folders_that_are_no_agents_are_left_out(host: Host, run: Run) -> None:
    host.learn("Not An Agent", "style", "Short.")
    host.learn("^046^046", "style", "Short.")
    done = run(host.checkout(), "snapshot", "create", "--all")
    assert done.out == f"wrote 1 memory of main in {USUAL}/main\n", done.err
