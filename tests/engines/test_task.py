"""An engine that only runs Tasks has all four jobs; what it leaves is held against what was asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from talk import NOW, agent, memory, person

from gitmem.core.errors import EngineError
from gitmem.core.session_notes import TEMPLATE
from gitmem.core.trailers import Usage
from gitmem.engines import engine
from gitmem.engines.prompts import text
from gitmem.engines.task import ModelEngine, Task, TaskOutcome, TaskView, Unfit

Edit = Callable[[dict[str, bytes]], str]
GUIDE = "_What is in hand at this moment, what is still open, and the very next step._"
MOCKS = memory("mocks", "Integration tests never mock Postgres.")
SAID = (person(1, "Remember: port 4000 is for the docs."), agent(2, "I will."))
SESSION = engine.ExtractInput(SAID, memory={"local/main/mocks.md": MOCKS}, session="s1", now=NOW)
NOTES = engine.NotesInput("s1", SAID, 0, TEMPLATE, now=NOW)
SCOPE = engine.ConsolidateInput(
    {"main/mocks.md": MOCKS + b"\nThey take three minutes.\n", "main/.tombstones": b""},
    scope="local",
    now=NOW,
)
DOCUMENT = engine.DocumentInput(
    "docs/layers.md",
    "# MAGIC DOC: Layers\n\nThe store (`src/store.py`) holds it.\nPorts begin at 4000.\n",
    "Layers",
    "",
    "",
    (engine.Stale(3, "src/store.py", "file", "src/base.py", "git saw it renamed"),),
    now=NOW,
)


@dataclass
class Scripted(ModelEngine):
    """Makes one edit after another, the next where the judge finds something wrong."""

    edits: Sequence[Edit]
    name: str = "scripted:model"
    tasks: list[Task] = field(default_factory=list)
    reads_history = True

    def run(self, task: Task) -> TaskOutcome:
        """Edits a copy."""
        self.tasks.append(task)
        files, answers = dict(task.tree), []
        wrong: tuple[str, ...] = ()
        for edit in self.edits[: 1 + task.repairs]:
            answers.append(edit(files))
            task.tell(len(answers), task.most_turns, tuple(files))
            wrong = tuple(task.judge(files, answers))
            if not wrong:
                break
            assert task.repair(wrong, "memory")
        return TaskOutcome(files, tuple(answers), wrong, Usage(requests=len(answers)), ("scripted",))


def put(path: str, old: str, new: str, answer: str = "done") -> Edit:
    def edit(files: dict[str, bytes]) -> str:
        files[path] = files.get(path, b"").replace(old.encode(), new.encode()) if old else new.encode()
        return answer

    return edit


def test_an_extraction_is_a_task_about_the_session() -> None:
    new = memory("deploys", "We deploy on Fridays.").decode()
    done = Scripted([put("local/main/deploys.md", "", new, "memory/local/main/deploys.md: 1: said")])
    made = done.extract(SESSION)
    assert [one.asked for one in made.changes if one.name == "deploys"] == [False]
    assert any(one.asked and "4000" in one.body for one in made.changes)
    assert made.usage == Usage(requests=1) and made.log == ("scripted",)
    (task,) = done.tasks
    assert task.session is SESSION and task.tree == SESSION.memory and task.may.agents == ("main",)


def test_a_fork_is_told_what_stands_before_the_record_elsewhere(tmp_path: Path) -> None:
    """The system text and the instruction files; and what the person said, with its numbers."""
    done = Scripted([lambda _: "nothing"])
    done.extract(SESSION)
    prompt = done.tasks[0].prompt
    here = prompt(TaskView(SESSION.memory, {}, part=SESSION))
    there = prompt(TaskView(SESSION.memory, {}, str(tmp_path), part=SESSION, forked=True))
    assert text("extract-system") not in here and "port 4000" not in here
    assert text("extract-system") in there and "[1] Remember: port 4000" in there
    assert f"{tmp_path}/local/main" in there and "memory/local/main" in here


def test_notes_are_repaired_once_and_else_refused() -> None:
    file = "local/main/session-notes.md"
    bad = put(file, "# Worklog", "# Work log")
    good = put(file, "# Work log", "# Worklog")
    state = put(file, GUIDE, f"{GUIDE}\nThe docs are next.")
    assert "The docs are next." in Scripted([state]).sum_up(NOTES).text
    assert Scripted([bad, good]).sum_up(NOTES).text == TEMPLATE
    with pytest.raises(EngineError, match="cannot be taken"):
        Scripted([bad, lambda _: "done"]).sum_up(NOTES)


def test_a_dream_accounts_for_what_it_takes_out() -> None:
    steps: list[engine.DreamProgress] = []
    path = "local/main/mocks.md"
    old = "They take three minutes."
    cut = put(path, old, "They take an hour.", "[]")
    gone = {"file": "main/mocks.md", "claim": "They take", "fate": "dropped", "reason": "not true any more"}
    answer = json.dumps([{"subject": "x", "reason": "y", "files": ["main/mocks.md"], "gone": [gone]}])
    with pytest.raises(EngineError, match="does not account"):
        Scripted([cut] * 3).consolidate(SCOPE)
    drop = put(path, old, "", answer)
    back = put(path, "They take an hour.", old, "[]")
    made = Scripted([cut, back]).consolidate(SCOPE, steps.append)
    assert made.changes == () and steps[-1].phase == "consolidate" and "main/mocks.md" in steps[-1].files
    made = Scripted([drop]).consolidate(SCOPE)
    assert [[fate.kind for fate in one.fates] for one in made.changes] == [["dropped"]]


class Shy(ModelEngine):
    """May show its model nothing."""

    name = "shy"

    def run(self, task: Task) -> TaskOutcome:
        """Refuses."""
        raise Unfit("it is private")


def test_what_a_model_must_not_see_is_done_offline_and_said() -> None:
    found = Shy().extract(SESSION)
    assert any(one.asked for one in found.changes) and found.log == ("it is private: looked at offline",)
    assert Shy().sum_up(NOTES).log == ("it is private: noted offline",)
    made = Shy().document(DOCUMENT)
    assert made.log == ("it is private",) and "`src/base.py`" in made.text


def test_notes_that_hold_all_that_was_said_are_no_task() -> None:
    idle = Scripted([])
    assert idle.sum_up(engine.NotesInput("s1", SAID, 2, TEMPLATE)).text == TEMPLATE and idle.tasks == []
