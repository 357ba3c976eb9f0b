"""A dream by the claude-code engine with a program that plays the client, and the parts it is made of."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from deploys import DEPLOYS, ENTRY, GONE, OLD
from fake_client import CANARY, NOW, FakeClient, installed

from gitmem.core.account import references
from gitmem.core.errors import EngineError
from gitmem.core.trailers import Usage
from gitmem.dream.proof import prove_plan
from gitmem.engines import claude_guard, claude_process, claude_proof
from gitmem.engines.claude_code import denied, lay_out
from gitmem.engines.claude_process import forget, run, scratch
from gitmem.engines.engine import ConsolidateInput, Consolidation, DreamChange, DreamProgress, Tell, untold
from gitmem.engines.sandbox import Roots
from gitmem.engines.task import Task
from gitmem.engines.tools import Writable
from gitmem.rules.account import errors

GIVEN = ConsolidateInput(
    {"main/deploys.md": DEPLOYS.encode(), ".tombstones": b"{}\n"}, scope="local", now=NOW
)
PATH = "{memory}/local/main/deploys.md"
EDIT = {"tool": "Edit", "input": {"file_path": PATH, "old_string": f"{OLD}\n\n", "new_string": ""}}
SILENT, FULL = json.dumps([ENTRY]), json.dumps([{**ENTRY, "gone": [GONE]}])


@dataclass(frozen=True)
class Ground(FakeClient):
    def dream(
        self,
        *rounds: tuple[list[dict[str, Any]], str],
        tell: Tell = untold,
        given: ConsolidateInput = GIVEN,
    ) -> Consolidation:
        self.plan(rounds=[{"calls": calls, "result": result} for calls, result in rounds])
        try:
            return self.engine(dream_turns=4).consolidate(replace(given, worktree=self.app), tell)
        finally:
            assert list(self.temp.iterdir()) == []


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return installed(Ground(tmp_path.resolve()))


def test_what_is_left_open_is_told_to_the_session_that_left_it(ground: Ground) -> None:
    told: list[DreamProgress] = []
    found = ground.dream(([CANARY, EDIT], SILENT), ([], FULL), tell=told.append)
    (change,) = found.changes
    assert [fate.kind for fate in change.fates] == ["superseded"]
    assert found.usage == Usage(4, 10, 0, 0, 14, 1.0)
    assert ground.meter.told == [("consolidate", "m", found.usage)]
    assert told[-1] == DreamProgress("consolidate", 4, 10, ("main/deploys.md",))
    task, repair = map(json.loads, ground.task.splitlines())
    assert "When deploys go out" in task["message"]["content"]
    assert "Deploys go out on Mondays" in repair["message"]["content"]


PORTS = {
    f"main/{name}.md": f"---\nname: {name}\ndescription: {name}\ntype: project\n---\n\n{said}\n".encode()
    for name, said in (
        ("billing-port", "The billing worker listens on port 8080."),
        ("billing-worker", "The billing worker listens on port 9090."),
    )
}


def test_the_session_judges_pairs_and_what_it_says_is_proved(ground: Ground) -> None:
    """What becomes of other answers is in `test_verdicts.py`."""
    said = {ref: datetime(2026, 11, 1 + 7 * ("worker" in ref), tzinfo=UTC) for ref in references(PORTS)}

    def judge(changes: Sequence[DreamChange]) -> list[str]:
        return [*map(str, errors(prove_plan(PORTS, changes, said=said)))]

    given = replace(GIVEN, files=PORTS, said=said, judge=judge)
    answer = '[{"pair": "P1", "is": "newer", "newer": "B", "reason": "it was moved"}]'
    made = ground.dream(([CANARY], answer), given=given)
    task = json.loads(ground.task.splitlines()[0])
    assert "port 8080" in task["message"]["content"] and "P1 (" in task["message"]["content"]
    assert [one.kind for one in made.changes] == ["supersede"] and not made.apart


def test_what_stays_open_is_refused(ground: Ground) -> None:
    with pytest.raises(EngineError, match="does not account"):
        ground.dream(([CANARY, EDIT], SILENT), ([], SILENT))
    assert len(ground.meter.told) == 1


@pytest.mark.parametrize("calls", [[{**EDIT, "hook": False}], [EDIT], [{**CANARY, "obey": False}, EDIT]])
def test_a_dream_that_its_hook_does_not_hold_is_refused(ground: Ground, calls: list[Any]) -> None:
    """A call passed it by, it was never seen to refuse one, or the client did not heed it."""
    with pytest.raises(EngineError, match="not held by its hook"):
        ground.dream((calls, FULL))


def test_a_session_that_goes_on_beyond_its_turns_is_ended(ground: Ground) -> None:
    read = {"tool": "Read", "input": {"file_path": PATH}}
    with pytest.raises(EngineError, match="within 4 turns"):
        ground.dream(([CANARY, *[read] * 5], "[]"))


def test_a_scope_without_memories_asks_nobody(ground: Ground) -> None:
    done = ground.engine().consolidate(replace(GIVEN, files={}))
    assert done == Consolidation() and ground.meter.told == []


def test_what_several_answers_cost_is_counted_once() -> None:
    """Tokens are told for each message of the person's, dollars for all until then."""
    account = claude_proof.StreamAccount()
    for at, dollars in enumerate((0.5, 0.8)):
        answer = {"id": f"m{at}", "model": "m", "content": [], "usage": {"input_tokens": 9}}
        account.add(json.dumps({"type": "assistant", "message": answer}).encode())
        end = {"type": "result", "usage": {"input_tokens": 10}, "total_cost_usd": dollars}
        account.add(json.dumps(end).encode())
    assert account.usage() == Usage(2, 20, 0, 0, 0, 0.8)
    answer = {"id": "m2", "model": "m", "content": [], "usage": {"input_tokens": 7}}
    account.add(json.dumps({"type": "assistant", "message": answer}).encode())
    assert account.usage() == Usage(3, 27, 0, 0, 0, None)


def test_a_session_of_its_own_takes_nothing_along_from_the_repository() -> None:
    words = claude_process.dream_words("/claude", "t", "{}", 7)
    assert "--model" not in words and "--resume" not in words
    assert words[words.index("--setting-sources") + 1] == "user"
    assert {"--no-session-persistence", "--strict-mcp-config", "--disable-slash-commands"} < set(words)
    assert words[words.index("--max-turns") + 1] == "7"
    assert json.loads(claude_process.message("Hi\n")) == {
        "type": "user",
        "message": {"role": "user", "content": "Hi\n"},
    }


def test_the_work_trees_own_rules_against_reading_hold(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    rules = {"permissions": {"deny": ["Read(./mine)", "Bash", 7]}}
    (tmp_path / ".claude/settings.json").write_text(json.dumps(rules))
    (tmp_path / ".claude/settings.local.json").write_text('{"permissions": {"deny": "Read"}}')
    unread = claude_process.unread(Path("/app"), denied(tmp_path))
    assert unread[-1] == "Read(./mine)"
    assert "Read(//app/**/.env*)" in unread and "Bash" not in unread


def test_a_dream_is_shown_memory_and_sessions_without_credentials() -> None:
    key = "sk-ant-api03-" + "Ab1" * 31 + "AA"
    files = {
        "main/a.md": b"one\n",
        "main/secret.md": f"the key is {key}\n".encode(),
        "main/blank.md": b"\n",
        "main/MEMORY.md": b"- [a](a.md)\n",
        "../up.md": b"x\n",
        "main/notes.txt": b"x\n",
    }
    sessions = {"s-1": f"person: {key}\n", "../s-2": "x", "s-3": "plain\n"}
    tree = {f"local/{path}": data for path, data in files.items()}
    may = Writable(("main",), ("local",))
    task = Task("consolidate", "The dream", tree, may, Roots(sessions=sessions), "x", lambda _: "")
    found = lay_out(task)
    assert set(found.files) == {"local/main/a.md", "local/main/MEMORY.md"}
    assert set(found.hidden) == set(tree) - set(found.files)
    assert set(found.sessions) == {"s-1", "s-3"} and key not in found.sessions["s-1"]
    assert len(found.log) == 2 and not any(key in line for line in found.log)


def test_only_memories_of_the_scope_and_its_agents_may_be_written(tmp_path: Path) -> None:
    tree = {"local/main/a.md": b"a\n", "local/main/archive/ab/old.md": b"old\n", "local/other/b.md": b"b\n"}
    fixed = ("local/main/archive/ab/old.md", "local/other/b.md")
    may = Writable(("main",), ("local",))
    with scratch(tmp_path.resolve(), tree, may, fixed=fixed, sessions={"s-1": "said\n"}) as copy:
        rules = json.loads(copy.rules.read_text())

        def refusal(tool: str, path: str) -> str:
            given = {"file_path": f"{copy.folder}/{path}", "content": "x\n"}
            return claude_guard.decide(rules, {"tool_name": tool, "tool_input": given, "cwd": "/"})

        for path in ("memory/local/main/a.md", "memory/local/main/new.md"):
            assert refusal("Write", path) == ""
        for path in (*fixed, "local/other/new.md", "project/main/new.md", "local/main/MEMORY.md"):
            assert refusal("Write", f"memory/{path}") != ""
        assert refusal("Write", "sessions/s-1") != "" and refusal("Write", "sessions/new.md") != ""
        assert refusal("Read", "sessions/s-1") == "" and refusal("Read", "memory/local/other/b.md") == ""
        assert refusal("Read", "rules.json") != ""


def test_what_the_client_leaves_of_a_run_is_taken_away_and_nothing_else(tmp_path: Path) -> None:
    mine, other = "0b0e7b0e-0000-4000-8000-000000000001", "0b0e7b0e-0000-4000-8000-000000000002"
    for session, folder in ((mine, "-app"), (mine, "-gone"), (other, "-app")):
        (tmp_path / "projects" / folder / session / "tool-results").mkdir(parents=True)
    (tmp_path / "projects/-kept" / mine).mkdir(parents=True)
    (tmp_path / "projects/-kept" / f"{mine}.jsonl").touch()
    (tmp_path / "projects/-srv-app").mkdir()
    (tmp_path / "sessions").mkdir()
    for name in ("1.0a1b.key", "2.0a1b.key"):
        (tmp_path / "sessions" / name).touch()
    for name, text in (
        ("1", f'{{"sessionId": "{mine}"}}'),
        ("2", f'{{"sessionId": "{other}"}}'),
        ("3", "["),
    ):
        (tmp_path / f"sessions/{name}.json").write_text(text)
    forget(tmp_path, mine, Path("/srv/app"))
    assert sorted(path.name for path in tmp_path.glob("sessions/*")) == ["2.0a1b.key", "2.json", "3.json"]
    assert sorted(path.name for path in tmp_path.glob("projects/*")) == ["-app", "-kept"]
    assert [path.name for path in tmp_path.glob("projects/-app/*")] == [other]
    assert (tmp_path / "projects/-kept" / mine).is_dir()


ECHO = """
import sys
for line in iter(sys.stdin.readline, ""):
    print(len(line), flush=True)
print("end", flush=True)
"""


def test_a_long_message_does_not_wait_for_output_that_nobody_reads(tmp_path: Path) -> None:
    """Each side may be blocked by the other where one writes without reading."""
    heard: list[bytes] = []

    def next_one(line: bytes) -> str | None:
        heard.append(line)
        return {1: "x" * 300_000 + "\n", 2: ""}.get(len(heard))

    words = [sys.executable, "-IS", "-c", ECHO]
    given = {"cwd": tmp_path, "environ": {}, "folder": tmp_path, "timeout": 30, "what": "It"}
    assert run(words, given="y" * 500_000 + "\n", line=next_one, talks=True, **given) == (0, "")  # type: ignore[arg-type]
    assert heard == [b"500001", b"300001", b"end"]
    deaf = [sys.executable, "-IS", "-c", "import os; os.close(0); print('hi')"]
    assert run(deaf, given="y" * 500_000, line=lambda line: None, **given) == (0, "")  # type: ignore[arg-type]
