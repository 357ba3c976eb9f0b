"""A dream by a model, whole: a branch where all is proved; else memory, refs and lock are as they were."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Any

from dream_ground import Ground, notes, planted
from meters import Counting
from scripted_api import Call, ScriptedApi
from scripted_api import Step as Answer

from gitmem.dream.run import keep_apart, known_apart
from gitmem.engines.anthropic import AnthropicEngine
from gitmem.engines.engine import DreamProgress
from gitmem.engines.messages import ApiSettings
from gitmem.flows.dream import DreamOutcome, dream

Git = Callable[..., str]

NEVER = "Integration tests never mock Postgres."
MEMORY = notes(
    mocks=(
        "No mocks of Postgres in integration tests",
        f"{NEVER}\n\n**Why:** a mock hid a broken migration.",
    ),
    real=(
        "Integration tests never mock Postgres",
        "Postgres is never mocked by any integration test here.",
    ),
    deploys=(
        "How deploys go",
        "Deploy from the release branch with `make ship`.\n\nDeploys wait for the night shift.",
    ),
    hosts=("Where staging runs", "The staging host is blue.\n\nProduction runs on the green host."),
)


ground = planted(MEMORY)


def write(path: str, text: str) -> Call:
    return Call("Write", {"file_path": f"memory/project/{path}", "content": text})


def read(*paths: str) -> Answer:
    return Answer(calls=tuple(Call("Read", {"file_path": f"memory/project/{path}"}) for path in paths))


def told(*changes: dict[str, Any]) -> Answer:
    return Answer(f"```json\n{json.dumps(changes)}\n```")


def change(
    *files: str, gone: list[dict[str, str]] | None = None, subject: str = "Tidy up"
) -> dict[str, Any]:
    return {"subject": subject, "reason": "both say the same", "files": files, "gone": gone or []}


def run(
    ground: Ground, *answers: Answer, tell: Callable[[DreamProgress], None] = lambda _: None
) -> DreamOutcome:
    with ScriptedApi(answers) as api:
        thinker = AnthropicEngine(ApiSettings(api_key="k", base_url=api.url, retries=0), Counting())
        return dream(ground.workspace, ground.edges, scope="project", force=True, engine=thinker, tell=tell)


def test_a_model_tidies_memory_on_a_branch(ground: Ground, git: Git) -> None:
    before = ground.tree()
    merged = change(
        "main/real.md",
        "main/mocks.md",
        gone=[
            {"file": "main/real.md", "claim": "Postgres is never", "fate": "merged",
             "into_file": "main/mocks.md", "into_claim": "Integration tests", "reason": "says the same"},
        ],
        subject="Keep one memory on mocks",
    )  # fmt: skip
    outcome = run(ground, read("main/real.md"), Answer(calls=(write("main/real.md", ""),)), told(merged))
    assert outcome.id and outcome.plan is not None and ground.tree() == before
    log = git("-C", ground.repo, "log", "--format=%B", f"refs/gitmem/dream/{outcome.id}")
    assert "Keep one memory on mocks" in log and "Gitmem-Claim: merged main/real.md#" in log
    assert "Gitmem-Engine: anthropic:" in log and "Gitmem-Usage:" in log
    assert not git(
        "-C", ground.repo, "ls-tree", "-r", "--name-only", f"refs/gitmem/dream/{outcome.id}"
    ).count("real.md")


def test_what_a_model_says_is_two_things_it_is_not_asked_again(ground: Ground) -> None:
    """Remembered beside the repository, by the ids of the claims, for that engine alone."""
    ground.put(
        notes(
            port=("Where billing listens", "The billing worker listens on port 8080."),
            worker=("How billing is reached", "The billing worker listens on port 9090."),
        )
    )
    asked: list[str] = []

    def answer(kind: str) -> DreamOutcome:
        said = [{"pair": f"P{n}", "is": kind, "reason": "two workers"} for n in range(1, 9)]
        with ScriptedApi([Answer(json.dumps(said))]) as api:
            thinker = AnthropicEngine(ApiSettings(api_key="k", base_url=api.url, retries=0), Counting())
            made = dream(ground.workspace, ground.edges, scope="project", force=True, engine=thinker)
            asked.append(json.dumps(api.requests[0]["messages"]))
        return made

    first = answer("different")
    kept = kept_apart(ground)
    assert "Pairs of claims to be judged" in asked[0] and "port 9090" in asked[0]
    assert [name.startswith("project anthropic:") for name in kept] == [True]
    assert "9090" not in json.dumps(kept)
    assert first.plan is not None and not any(one.kind == "question" for one in first.plan.changes)
    answer("same")
    assert "Pairs of claims to be judged" not in asked[1]
    ground.put(notes(worker=("How billing is reached", "The billing worker listens on port 9191.")))
    answer("unsure")
    assert "port 9191" in asked[2]


def test_a_dry_run_remembers_nothing(ground: Ground) -> None:
    with ScriptedApi([Answer('[{"pair": "P1", "is": "different"}]')]) as api:
        thinker = AnthropicEngine(ApiSettings(api_key="k", base_url=api.url, retries=0), Counting())
        dream(ground.workspace, ground.edges, scope="project", dry_run=True, engine=thinker)
    assert kept_apart(ground) == {}


def kept_apart(ground: Ground) -> dict[str, str]:
    with closing(sqlite3.connect(ground.workspace.state / "state.db")) as db:
        return dict(db.execute("SELECT key, value FROM kv WHERE space = 'dream apart'").fetchall())


def test_what_one_engine_told_apart_another_is_still_asked(ground: Ground) -> None:
    keep_apart(ground.scope(), "anthropic:some", ["a#1 b#2"])
    keep_apart(ground.scope(), "offline", ["c#3 d#4"])
    keep_apart(ground.scope(), "anthropic:some", ["e#5 f#6"])
    assert known_apart(ground.scope(), "anthropic:some") == {"a#1 b#2", "e#5 f#6"}
    assert known_apart(ground.scope(), "offline") == {"c#3 d#4"}
