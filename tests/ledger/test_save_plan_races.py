"""A file under an agent's racing edits: saves, layouts and other writers meet them, and none is lost."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gitmem.core.trailers import Provenance
from gitmem.git.command import GitCommand
from gitmem.git.repository import Signature
from gitmem.git.trees import read_files
from gitmem.ledger.land import Tip, Write, land
from gitmem.ledger.layout import live_directory
from gitmem.ledger.save_plan import SaveRequest
from gitmem.ledger.working_copy import save
from gitmem.ledger.workspace import Surroundings, open_workspace, store_project_id
from gitmem.search.catalog import Catalog

ANN = Signature("Ann", "ann@example.com", 1_800_000_000)
BEN = Signature("Ben", "ben@example.com", 1_800_000_000)
HEAD = "---\nname: log\ndescription: What happened\ntype: project\n---\n\n- begun\n"

AGENT = r"""
import os, sys, time

path, count, style = sys.argv[1], int(sys.argv[2]), sys.argv[3]
for number in range(count):
    if style == "append":
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"- edit {number} by the agent\n")
        time.sleep(0.001)
        continue
    while True:
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
            break
        except FileNotFoundError:
            continue
    text += f"- edit {number} by the agent\n"
    if style == "rename" or (style == "both" and number % 2):
        with open(path + ".agent", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(path + ".agent", path)
    else:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
"""


@pytest.mark.parametrize("style", ["in place", "rename", "both", "append"])
@pytest.mark.parametrize("edits", [200, pytest.param(3000, marks=pytest.mark.long)])
def test_no_edit_of_a_racing_agent_is_lost(repo, home, tmp_path: Path, style: str, edits: int) -> None:
    """The agent reads, appends and writes as fast as it can, with no lock, as agents do."""
    around = Surroundings(
        GitCommand(dict(os.environ)), home, home / ".local/share/gitmem", home / ".claude", Catalog.open
    )
    workspace = store_project_id(open_workspace(around, repo))
    folder = repo / ".claude/agent-memory/reviewer"
    folder.mkdir(parents=True)
    live = live_directory(workspace, "project", "reviewer")
    assert live is not None
    (folder / "log.md").write_text(HEAD)
    moment = (folder / "log.md").stat().st_mtime
    save(SaveRequest(live, moment, ANN))

    added = 0
    stop = threading.Event()
    failures: list[BaseException] = []

    def teammate() -> None:
        """Adds claims to the ref through a repository handle of its own, as another process would."""
        nonlocal added
        scope = open_workspace(around, repo).scope("project")

        def plan(tip: Tip) -> Write:
            text = read_files(scope.repo, tip.tree)["reviewer/log.md"].decode()
            lines = text.splitlines()
            lines.insert(lines.index("- begun") + 1, f"- fact {added} by a teammate")
            content = ("\n".join(lines) + "\n").encode()
            return Write(
                {"reviewer/log.md": content}, "Add a fact", Provenance(op="update", writer="human")
            )

        try:
            while not stop.wait(0.3):
                land(scope, plan, BEN)
                added += 1
        except BaseException as error:
            failures.append(error)

    script = tmp_path / "agent.py"
    script.write_text(AGENT)
    other = threading.Thread(target=teammate)
    agent = subprocess.Popen([sys.executable, script, folder / "log.md", str(edits), style])
    other.start()
    try:
        while agent.poll() is None:
            save(
                SaveRequest(
                    live,
                    (folder / "log.md").stat().st_mtime if (folder / "log.md").exists() else moment,
                    ANN,
                )
            )
    finally:
        agent.kill()
        stop.set()
        other.join()
    assert (agent.returncode, failures) == (0, [])
    save(SaveRequest(live, moment + 1e6, ANN))
    tip = live.scope.repo.ref(live.scope.ref)
    assert tip is not None
    stored = read_files(live.scope.repo, live.scope.repo.commit(tip).tree)["reviewer/log.md"].decode()
    shown = (folder / "log.md").read_text()
    wanted = {"- begun"} | {f"- edit {number} by the agent" for number in range(edits)}
    wanted |= {f"- fact {number} by a teammate" for number in range(added)}
    lost = {"ref": wanted - set(stored.splitlines()), "file": wanted - set(shown.splitlines())}
    print(added, {k: len(v) for k, v in lost.items()})
    assert lost == {"ref": set(), "file": set()}
    assert stored == shown
