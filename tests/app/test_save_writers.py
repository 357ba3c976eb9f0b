"""Who wrote what: sessions and subagents that write at once are told apart, file by file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from transcripts import Transcript
from workspaces import begun

from gitmem.app import steps
from gitmem.app.context import real_edges
from gitmem.app.spool import Job
from gitmem.core.trailers import Provenance
from gitmem.core.trailers import parse as parse_trailers
from gitmem.flows.context import Edges
from gitmem.flows.save import save_all
from gitmem.git.trees import read_files
from gitmem.ledger import working_copy
from gitmem.ledger.land import land
from gitmem.ledger.workspace import Workspace
from gitmem.transcripts.claude_home import slug

ONE = "00000001-0000-4000-8000-000000000000"
TWO = "00000002-0000-4000-8000-000000000000"
THREE = "00000003-0000-4000-8000-000000000000"
PORTS = "---\nname: ports\ndescription: Which ports\nmetadata:\n  type: project\n---\n\nThe port is 8080.\n"


@pytest.fixture
def edges(repo: Path, monkeypatch: pytest.MonkeyPatch) -> Edges:
    monkeypatch.setenv("GITMEM_NOW", "1795000000")
    return real_edges(repo)


@pytest.fixture
def workspace(edges: Edges, home: Path) -> Workspace:
    (home / ".claude").mkdir()
    return begun(edges)


@pytest.fixture
def memory(home: Path, repo: Path, workspace: Workspace, edges: Edges) -> Path:
    """The agent's folder, as a client and gitmem know it."""
    folder = home / ".claude/projects" / slug(repo) / "memory"
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text("# Memory\n")
    save_all(workspace, edges)
    return folder


class Agent:
    """A session, or a subagent of one, that writes into memory as its recording shows."""

    def __init__(self, folder: Path, repo: Path, session: str, subagent: str = "") -> None:
        self.talk = Transcript(session, str(repo))
        folder_of, _, name = subagent.rpartition("/")
        below = f"{session}/subagents/{folder_of}/agent-{name}.jsonl" if subagent else f"{session}.jsonl"
        self.path = folder.parent / below
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.aside: dict[str, Any] = {"isSidechain": True, "agentId": name} if subagent else {}
        self.folder = folder
        self.talk.user("Do it.", **self.aside)

    def does(self, name: str, **given: str) -> None:
        id = f"t{len(self.talk.lines)}"
        self.talk.agent({"type": "tool_use", "id": id, "name": name, "input": given}, **self.aside)
        self.talk.user([{"type": "tool_result", "tool_use_id": id, "content": "ok"}], **self.aside)
        lines = [
            line.replace("-0000-4000-8000-000000000000", self.path.stem[-8:]) for line in self.talk.lines
        ]
        # Records' ids are their own, the session's is not.
        lines = [json.dumps({**json.loads(line), "sessionId": self.talk.session}) + "\n" for line in lines]
        self.path.write_text("".join(lines))

    def writes(self, file: str, text: str) -> None:
        (self.folder / file).write_text(text)
        self.does("Write", file_path=str(self.folder / file), content=text)

    def edits(self, file: str, old: str, new: str) -> None:
        text = (self.folder / file).read_text()
        (self.folder / file).write_text(text.replace(old, new))
        self.does("Edit", file_path=str(self.folder / file), old_string=old, new_string=new)


Agents = Callable[..., Agent]


@pytest.fixture
def agent(memory: Path, repo: Path) -> Agents:
    return lambda session, subagent="": Agent(memory, repo, session, subagent)


def taught(workspace: Workspace) -> list[tuple[Provenance, set[str]]]:
    """The commits of local memory, oldest first, and the files each changed."""
    scope = workspace.scope("local")
    tip = scope.repo.ref(scope.ref)
    assert tip is not None
    made = list(scope.repo.history(tip))[::-1]
    trees = [read_files(scope.repo, scope.repo.commit(one.oid).tree, "main") for one in made]
    found = []
    for before, one, after in zip(trees, made[1:], trees[1:], strict=False):
        changed = {
            name.removeprefix("main/") for name in {*before, *after} if before.get(name) != after.get(name)
        }
        found.append((parse_trailers(one.message), changed))
    return found


def memory_at(workspace: Workspace, back: int) -> str:
    """The index so many commits before the tip."""
    scope = workspace.scope("local")
    tip = scope.repo.ref(scope.ref)
    assert tip is not None
    one = list(scope.repo.history(tip))[back]
    return read_files(scope.repo, scope.repo.commit(one.oid).tree, "main")["main/MEMORY.md"].decode()


def test_two_sessions_a_background_subagent_and_a_person_are_four_writers(
    workspace: Workspace, edges: Edges, agent: Agents, memory: Path
) -> None:
    one, two, aside = agent(ONE), agent(TWO), agent(THREE, "a1b2")
    agent(THREE).does("Agent", prompt="Run the tests.")
    one.writes("ports.md", PORTS)
    two.writes("deploy.md", "We deploy on Mondays.\n")
    (memory / "mine.md").write_text("I like tabs.\n")
    aside.writes("tests.md", "Tests run with make.\n")
    one.edits("MEMORY.md", "# Memory\n", "# Memory\n- [Ports](ports.md) — which ports\n")
    two.edits("MEMORY.md", "ports\n", "ports\n- [Deploy](deploy.md) — when\n")
    before = len(taught(workspace))
    saved = save_all(workspace, edges)
    told = sorted(path for one in saved for path in one.plan.edits)
    assert told == [f"main/{name}.md" for name in ("MEMORY", "deploy", "mine", "ports", "tests")]
    made = taught(workspace)[before:]
    assert {(told.writer, told.session): files - {"MEMORY.md"} for told, files in made} == {
        ("agent", ONE): {"ports.md"},
        ("agent", TWO): {"deploy.md"},
        ("agent", THREE): {"tests.md"},
        ("human", ""): {"mine.md"},
    }
    assert made[-1][0].writer == "human"
    assert all(told.messages for told, _ in made[:-1])
    assert sorted(path.name for path in memory.iterdir() if path.suffix == ".md") == [
        "MEMORY.md", "deploy.md", "mine.md", "ports.md", "tests.md",
    ]  # fmt: skip
    save_all(workspace, edges)
    assert len(taught(workspace)) == before + 4


def test_each_commit_has_the_index_lines_of_its_own_memories(workspace, edges: Edges, agent) -> None:
    one, two = agent(ONE), agent(TWO)
    one.writes("ports.md", PORTS)
    one.edits("MEMORY.md", "# Memory\n", "# Memory\n- [Ports](ports.md) — which ports\n")
    two.does("Bash", command="true")
    two.writes("deploy.md", "We deploy on Mondays.\n")
    two.edits("MEMORY.md", "ports\n", "ports\n- [Deploy](deploy.md) — when\n")
    save_all(workspace, edges)
    assert [told.session for told, _ in taught(workspace)[-2:]] == [ONE, TWO]
    assert memory_at(workspace, 1) == "# Memory\n- [Ports](ports.md) — which ports\n"
    assert memory_at(workspace, 0).splitlines()[1:] == [
        "- [Ports](ports.md) — which ports",
        "- [Deploy](deploy.md) — when",
    ]


@pytest.mark.parametrize("name", ["a1b2", "workflows/wf_1/a1b2"])
def test_a_subagent_that_goes_on_after_the_turn_is_found(workspace, edges: Edges, agent, name: str) -> None:
    """Stop fires before it ends, and more sessions are written to meanwhile."""
    agent(ONE).does("Agent", prompt="Run the tests.")
    aside = agent(ONE, name)
    aside.writes("tests.md", "Tests run with make.\n")
    for number in range(10, 16):
        agent(f"000000{number}-0000-4000-8000-000000000000").does("Bash", command="ls")
    save_all(workspace, edges)
    told, files = taught(workspace)[-1]
    assert (told.writer, told.session, "tests.md" in files) == ("agent", ONE, True)


@pytest.mark.parametrize("to", ["9090", "80"])
def test_of_two_that_wrote_one_file_the_newest_has_it(workspace, edges: Edges, agent, to: str) -> None:
    one, two = agent(ONE), agent(TWO)
    one.writes("ports.md", PORTS)
    for _ in range(5):
        two.does("Bash", command="ls")
    two.edits("ports.md", "8080", to)
    save_all(workspace, edges)
    assert [told.session for told, files in taught(workspace) if "ports.md" in files] == [TWO]


def test_what_a_person_changes_in_an_agents_file_is_theirs(workspace, edges, agent, memory: Path) -> None:
    agent(ONE).writes("ports.md", PORTS)
    save_all(workspace, edges)
    (memory / "ports.md").write_text(PORTS + "\nAnd 9090 in tests.\n")
    save_all(workspace, edges)
    assert [told.writer for told, files in taught(workspace) if "ports.md" in files] == ["agent", "human"]


def test_a_call_that_failed_wrote_nothing(workspace, edges: Edges, agent: Agents, memory: Path) -> None:
    one = agent(ONE)
    (memory / "ports.md").write_text(PORTS)
    id = "t9"
    path = str(memory / "ports.md")
    one.talk.agent(
        {"type": "tool_use", "id": id, "name": "Write", "input": {"file_path": path, "content": PORTS}}
    )
    block = {"type": "tool_result", "tool_use_id": id, "content": "no", "is_error": True}
    one.talk.user([block])
    one.talk.write(one.path)
    save_all(workspace, edges)
    assert taught(workspace)[-1][0].writer == "human"


def test_what_an_agent_took_away_is_its_own(workspace, edges: Edges, agent: Agents, memory: Path) -> None:
    one, two = agent(ONE), agent(TWO)
    one.writes("ports.md", PORTS)
    one.writes("deploy.md", "We deploy on Mondays.\n")
    save_all(workspace, edges)
    (memory / "deploy.md").unlink()
    for _ in range(5):
        two.does("Bash", command="ls")
    two.does("Bash", command=f"rm {memory}/deploy.md")
    save_all(workspace, edges)
    told, files = taught(workspace)[-1]
    assert (told.op, told.writer, told.session, "deploy.md" in files) == ("delete", "agent", TWO, True)


@pytest.mark.parametrize("by_hand", [True, False])
def test_a_line_that_went_is_of_whoever_took_it_out(workspace, edges, agent, memory, by_hand: bool) -> None:
    """The session that wrote a file is not the one that deletes a line of it later."""
    one = agent(ONE)
    one.writes("ports.md", f"{PORTS}\nAsk Ben first.\n")
    save_all(workspace, edges)
    if by_hand:
        (memory / "ports.md").write_text(PORTS)
    else:
        one.edits("ports.md", "\nAsk Ben first.\n", "")
    save_all(workspace, edges)
    told, files = taught(workspace)[-1]
    assert "ports.md" in files and told.writer == ("human" if by_hand else "agent")


def test_a_command_of_the_person_signs_no_agents_work(workspace, edges: Edges, agent, gitmem) -> None:
    """`remember` saves what stands there first; that is not what the person said."""
    agent(ONE).writes("ports.md", PORTS)
    gitmem("remember", "Releases are tagged by hand.")
    assert [(told.writer, told.session) for told, files in taught(workspace) if "ports.md" in files] == [
        ("agent", ONE)
    ]


def test_what_was_said_before_a_kill_is_read_at_the_next_start(workspace, repo: Path, memory: Path) -> None:
    """A killed client fires neither Stop nor SessionEnd, and may leave half a line."""
    talk = Transcript(ONE, str(repo))
    talk.user("Remember that we deploy from the release branch only.")
    path = talk.write(memory.parent / f"{ONE}.jsonl")
    path.write_text(path.read_text() + '{"type":"assistant","uuid":"half')
    job = Job("session-start", str(repo), session_id=TWO, session_path=str(memory.parent / f"{TWO}.jsonl"))
    steps.run(repo / ".git", job, dict(os.environ))
    told, files = taught(workspace)[-1]
    assert (told.writer, told.session) == ("extract", ONE)
    assert any("deploy" in file for file in files)


def test_a_save_that_is_killed_between_two_writers_goes_on_with_the_second(
    workspace: Workspace, edges: Edges, agent: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = agent(ONE), agent(TWO)
    one.writes("ports.md", PORTS)
    two.does("Bash", command="true")
    two.writes("deploy.md", "We deploy on Mondays.\n")
    calls: list[object] = []

    def killed(*given: Any) -> Any:
        calls.append(given)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return land(*given)

    with monkeypatch.context() as patched:
        patched.setattr(working_copy, "land", killed)
        with pytest.raises(KeyboardInterrupt):
            save_all(workspace, edges)
    assert [told.session for told, _ in taught(workspace)[-1:]] == [ONE]
    save_all(workspace, edges)
    assert [(told.session, files) for told, files in taught(workspace)[-2:]] == [
        (ONE, {"ports.md", "MEMORY.md"}),
        (TWO, {"deploy.md", "MEMORY.md"}),
    ]
