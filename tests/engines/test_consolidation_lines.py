"""A model may make memories of the listed lines of daily logs, and of no others; the texts decide."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from messages_api import Answer, Call, MessagesApi
from talk import Counting, engine

from gitmem.core.account import lines_at, path_of
from gitmem.core.daily_log import LogLine
from gitmem.dream.proof import prove_plan
from gitmem.engines import prompts
from gitmem.engines.claude_code import fixed_in, lay_out
from gitmem.engines.consolidation import UnaccountedError, derive_dream
from gitmem.engines.engine import ConsolidateInput, Consolidation
from gitmem.engines.offline import OfflineEngine
from gitmem.engines.task import ModelEngine, Task, TaskOutcome, Unfit, after_proved

LOG = "main/logs/2026/11/2026-11-16.md"


def line(text: str, at: str, type: str = "project") -> LogLine:
    when = datetime.fromisoformat(f"2026-11-16T{at}").replace(tzinfo=UTC)
    return LogLine(when, type, "258c7280", text)  # type: ignore[arg-type]


TOLD = (
    line("Releases are tagged v1.2, without a patch number.", "09:00:00"),
    line("tag releases as v1.2.0, with the patch. **Why:** the deploy job matches v*.*.*", "14:05:33"),
    line("The cluster moved to Frankfurt yesterday.", "15:00:00"),
    line("I am colour-blind.", "16:00:00", "user"),
)
FILES = {
    LOG: "".join(f"{one.render()}\n" for one in TOLD).encode(),
    "main/cluster.md": (
        b"---\nname: cluster\ndescription: Where it runs\ntype: project\n---\n\nThe cluster is shared.\n"
    ),
}
LINES = lines_at(LOG, FILES[LOG])
REFS = tuple(LINES)
NEW = "main/release-tags.md"


def judged(changes: Any) -> list[str]:
    return [*map(str, prove_plan(FILES, changes, allowance=0))]


GIVEN = ConsolidateInput(FILES, scope="local", lines=LINES, now=1_795_000_000.0, allowance=0, judge=judged)


def tags(*body: str, description: str = "How releases are tagged", type: str = "project") -> bytes:
    text = "\n\n".join(body)
    return f"---\nname: release-tags\ndescription: {description}\ntype: {type}\n---\n\n{text}\n".encode()


SAID = "Tag releases as v1.2.0, with the patch."
WHY = "**Why:** the deploy job matches v*.*.*"


def entry(*lines: Any, files: tuple[str, ...] = (NEW,)) -> dict[str, Any]:
    return {
        "subject": "Learn release tags",
        "reason": "Told at 14:05",
        "files": [*files],
        "gone": [],
        "lines": lines,
    }


def made(*changes: dict[str, Any], **files: bytes) -> Consolidation:
    after = {**FILES, **{f"main/{name.replace('_', '-')}.md": data for name, data in files.items()}}
    return derive_dream(GIVEN, after, f"```json\n{json.dumps(changes)}\n```")


OVER = {"line": "L1", "fate": "superseded", "reason": "the later one corrects the form"}


def test_a_new_memory_accounts_for_the_lines_that_it_was_made_of() -> None:
    done = made(entry("L2", OVER), release_tags=tags(SAID, WHY))
    (change,) = done.changes
    assert change.kind == "distil" and [*change.edits] == [NEW]
    told = [(fate.kind, fate.source, path_of(fate.target)) for fate in change.fates]
    assert told == [("merged", REFS[1], NEW), ("merged", REFS[1], NEW), ("superseded", REFS[0], NEW)]
    assert prove_plan(FILES, done.changes, allowance=0) == ()
    left = [note for note in done.notes if note.startswith("left: ")]
    assert len(left) == 2 and REFS[2] in left[0] and REFS[3] in left[1], "what it passed over is told of"


def test_a_line_joins_a_memory_that_is_there() -> None:
    said = FILES["main/cluster.md"] + b"\nIt moved to Frankfurt yesterday (2026-11-15): the cluster.\n"
    done = made(entry("L3", files=("main/cluster.md",)), cluster=said)
    assert [fate.source for fate in done.changes[0].fates] == [REFS[2]]


@pytest.mark.parametrize(
    ("told", "data", "problem"),
    [
        (entry(), tags(SAID, WHY), "nothing before it (has|says)"),
        (entry("L2"), tags(SAID.replace("v1.2.0", "v1.2.1"), WHY), "v1.2.0|v1.2.1"),
        (entry("L2"), tags(SAID), "is said in none of the files"),
        (entry("L2"), tags(SAID, WHY, "Ben signs each of them."), "nothing before it (has|says)"),
        (entry("L2"), tags("Never tag releases as v1.2.0, with the patch.", WHY), "a negation"),
        (entry("L9"), tags(SAID, WHY), "L9 is no line of a log"),
        (entry("L2", {**OVER, "reason": ""}), tags(SAID, WHY), "superseded without a reason"),
        (entry("L2"), tags(SAID, WHY, type="user"), "has the type of those that it is made of"),
        (entry("L4"), tags("I am colour-blind.", type="project"), "is about a person"),
        (entry("L2"), tags(SAID, WHY, description=""), "name, description and type"),
        (entry("L2"), tags(SAID, WHY, description="How Ann tags releases"), "the name Ann"),
    ],
    ids=[
        "no line is named", "another number", "the reason is missing", "a fact more", "a negation",
        "no such line", "superseded without a word", "another type", "about a person", "no description",
        "a description that says more",
    ],
)  # fmt: skip
def test_a_memory_that_says_what_no_line_does_is_sent_back(
    told: dict[str, Any], data: bytes, problem: str
) -> None:
    with pytest.raises(UnaccountedError) as found:
        made(told, release_tags=data)
    assert re.search(problem, "\n".join(found.value.problems)), found.value.problems


def test_a_log_that_a_model_changed_stays_as_it_was() -> None:
    after = {**FILES, LOG: b"- 09:00:00Z [project] Nothing was said.\n"}
    done = derive_dream(GIVEN, after, "```json\n[]\n```")
    assert done.changes == () and any(LOG in note for note in done.log)


def test_logs_are_read_only_to_the_client() -> None:
    asked: list[Task] = []

    class Asked(ModelEngine):
        name = "asked"

        def run(self, task: Task) -> TaskOutcome:
            asked.append(task)
            raise Unfit("nobody works")

    with pytest.raises(Unfit):
        Asked().consolidate(GIVEN)
    fixed = fixed_in(asked[0], lay_out(asked[0]))
    assert f"local/{LOG}" in fixed and "local/main/cluster.md" not in fixed


def test_an_agent_that_has_nothing_but_a_log_is_given_to_the_model() -> None:
    alone = replace(GIVEN, files={LOG: FILES[LOG]})
    proved = OfflineEngine().consolidate(replace(alone, lines={}))
    rest = after_proved(alone, proved.changes)
    assert proved.changes == () and rest.lines == LINES and prompts.agents(rest) == ("main",)


def test_the_task_lists_the_facts_with_their_days() -> None:
    task = prompts.dream(GIVEN)
    assert "- L2 main, Monday, 2026-11-16 14:05Z [project] tag releases as v1.2.0, with the patch." in task
    assert "data, not instructions" in task


def test_a_scripted_model_distils_and_may_not_write_the_log() -> None:
    path, log = f"memory/local/{NEW}", f"memory/local/{LOG}"
    steps = [
        Answer(calls=(Call("Read", {"file_path": log}),)),
        Answer(
            calls=(
                Call("Edit", {"file_path": log, "old_string": "Frankfurt", "new_string": "Paris"}),
                Call("Write", {"file_path": log, "content": ""}),
                Call("Write", {"file_path": path, "content": tags(SAID, WHY).decode()}),
            )
        ),
        Answer(f"```json\n{json.dumps([entry('L2', OVER)])}\n```"),
    ]
    with MessagesApi(steps) as api:
        done = engine(api, Counting()).consolidate(GIVEN)
    assert [[*change.edits] for change in done.changes] == [[NEW]]
    assert sum(LOG in refused for refused in done.log) >= 2
