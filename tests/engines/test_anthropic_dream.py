"""The engine `anthropic` consolidates: a model works on a copy, and what it takes away has an account."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from messages_api import Answer, Call, Cut, Drip, MessagesApi, Step
from prompt_cache import PromptCache
from talk import KEY, Counting, engine

from gitmem.core.account import references
from gitmem.core.errors import EngineError
from gitmem.dream.proof import prove_plan
from gitmem.engines import task as tasks
from gitmem.engines.anthropic import TURN_CALLS, AnthropicEngine
from gitmem.engines.engine import ConsolidateInput, Consolidation, Observation
from gitmem.engines.engine import DreamProgress as Told
from gitmem.engines.messages import ApiSettings
from gitmem.rules.account import errors


def memory(name: str, said: str, *body: str) -> bytes:
    text = "\n\n".join(body)
    return f"---\nname: {name}\ndescription: {said}\ntype: project\n---\n\n{text}\n".encode()


MOCKS, REAL, CI, HOST = "main/mocks.md", "main/real.md", "main/ci.md", "main/host.md"
MARK = "*(disputed 0123abcd)*"
FILES = {
    MOCKS: memory(
        "mocks", "No mocks of Postgres in integration tests", "Integration tests never mock Postgres."
    ),
    REAL: memory("real", "Use the real database", "Postgres is never mocked by any integration test here."),
    CI: memory(
        "ci", "What CI runs on", f"CI runs on Python 3.11. {MARK}", f"CI runs on Python 3.12. {MARK}"
    ),
    HOST: memory("host", "The staging host", "The staging host is blue.", "It was moved yesterday."),
    "main/MEMORY.md": b"- [mocks](mocks.md) \xe2\x80\x94 No mocks\n",
    "main/logs/2026/11/2026-11-04.md": b"- CI is on 3.12 since November\n",
    "main/.tombstones": b"",
    "reviewer/style.md": memory("style", "Style", "Prefer early returns."),
}
NOW = datetime(2026, 11, 22, 4, tzinfo=UTC)
YESTERDAY = next(ref for ref, claim in references(FILES).items() if claim.text == "It was moved yesterday.")
GIVEN = ConsolidateInput(
    FILES,
    said={YESTERDAY: datetime(2026, 11, 21, 9, tzinfo=UTC)},
    agents=("main",),
    scope="project",
    observed=(
        Observation("dispute", "Ann said 3.11, Ben said 3.12 later"),
        Observation("date", "moved", (YESTERDAY,)),
    ),
    renamed={"old-ci": "ci", "gone": ""},
    sessions={"s-1": "person: CI is on 3.12 now, remember that\n"},
    allowance=5,
    judge=lambda changes: [*map(str, errors(prove_plan(FILES, changes, allowance=5)))],
    now=NOW.timestamp(),
    taught={CI: NOW.timestamp()},
)


def at(path: str) -> str:
    return f"memory/project/{path}"


def read(*paths: str) -> Answer:
    return Answer(calls=tuple(Call("Read", {"file_path": at(path)}) for path in paths))


def write(path: str, data: bytes | str) -> Call:
    content = data if isinstance(data, str) else data.decode()
    return Call("Write", {"file_path": at(path), "content": content})


def told(*changes: dict[str, Any]) -> Answer:
    return Answer(f"Done.\n\n```json\n{json.dumps(changes)}\n```")


def change(*files: str, gone: tuple[dict[str, str], ...] = (), **more: str) -> dict[str, Any]:
    return {"subject": "Tidy up", "reason": "said twice", **more, "files": list(files), "gone": list(gone)}


def gone(
    file: str, claim: str, fate: str, reason: str = "it no longer holds", **into: str
) -> dict[str, str]:
    return {"file": file, "claim": claim, "fate": fate, "reason": reason, **into}


SETTLED = memory("ci", "What CI runs on", "CI runs on Python 3.12.")
SETTLES = change(
    CI, subject="Settle what CI runs on", reason="the log and a session say 3.12",
    gone=(gone(CI, "CI runs on Python 3.11", "superseded", "it is 3.12 since November",
               into_file=CI, into_claim="CI runs on Python 3.12"),),
)  # fmt: skip
HOOK = "No mocks of Postgres in integration tests: use the real database"
UNITED = memory("mocks", HOOK, "Integration tests never mock Postgres.")
MERGES = change(
    REAL, MOCKS, subject="Keep one memory on mocks",
    gone=(gone(REAL, "Postgres is never", "merged", into_file=MOCKS, into_claim="Integration tests never"),
          gone(REAL, "Use the real", "merged", into_file=MOCKS, into_claim=HOOK)),
)  # fmt: skip


def dream(*steps: Step, given: ConsolidateInput = GIVEN, **settings: Any) -> Consolidation:
    with MessagesApi(list(steps)) as api:
        return engine(api, Counting(), **settings).consolidate(given)


def refused(*steps: Step, given: ConsolidateInput = GIVEN, **settings: Any) -> EngineError:
    with MessagesApi(list(steps)) as api, pytest.raises(EngineError) as failed:
        engine(api, Counting(), **settings).consolidate(given)
    return failed.value


def proved(made: Consolidation, given: ConsolidateInput = GIVEN) -> dict[str, bytes]:
    """The flow's own proof holds; returns the tree in the end."""
    assert not prove_plan(given.files, made.changes, allowance=given.allowance, said=given.said)
    now: dict[str, bytes | None] = dict(given.files)
    for one in made.changes:
        now |= one.edits
    return {path: data for path, data in now.items() if data is not None}


def offered(made: Consolidation) -> list[str]:
    """Kinds of what is proposed; what a person is asked besides is left out."""
    return [one.kind for one in made.changes if one.kind != "question"]


def last(api: MessagesApi) -> str:
    return str(api.bodies[-1]["messages"][-1])


def test_a_dream_proves_then_reads_then_edits_then_accounts() -> None:
    steps = [
        read(REAL, MOCKS, CI, "main/logs/2026/11/2026-11-04.md"),
        Answer(calls=(Call("Grep", {"pattern": "3.12", "path": "sessions", "output_mode": "content"}),)),
        Answer(calls=(write(REAL, ""), write(CI, SETTLED), write(MOCKS, UNITED))),
        told(SETTLES, MERGES),
    ]
    meter, seen = Counting(), list[Told]()
    with MessagesApi(steps, PromptCache()) as api:
        made = engine(api, meter).consolidate(GIVEN, seen.append)
        bodies = api.bodies
    assert [one.kind for one in made.changes] == ["date", "dispute", "merge"]
    assert made.changes[1].subject == "Settle what CI runs on"
    tree = proved(made)
    assert tree[CI] == SETTLED and REAL not in tree and b"yesterday (2026-11-20)" in tree[HOST]
    assert [job for job, *_ in meter.told] == ["consolidate"] * 4
    assert made.usage is not None and made.usage.requests == 4
    # What was sent before is read from the cache; only what a turn adds is new.
    assert made.usage.cache_read > made.usage.input + made.usage.cache_write
    turns = [(one.turn, one.files) for one in seen if one.turn]
    assert turns == [(1, ()), (2, ()), (3, ()), (4, (CI, MOCKS, REAL))]
    assert all(one.turns == tasks.MOST_DREAM_TURNS for one in seen if one.turn)
    asked = bodies[0]["messages"][0]["content"][0]["text"]
    parts = (
        "[mocks](mocks.md)|Ann said 3.11|[[old-ci]] are now [[ci]]|sessions/s-1|At most 5 claims|2026-11-22"
    )
    for part in (*parts.split("|"), at(MOCKS), at("main/logs/2026/11/2026-11-04.md")):
        assert part in asked, part
    assert "reviewer" not in asked
    assert "CI is on 3.12 now" in str(bodies[2]["messages"][-1])
    assert all(
        body["system"] == bodies[0]["system"] and body["tools"] == bodies[0]["tools"] for body in bodies
    )


def test_a_model_that_finds_memory_in_order_costs_one_request() -> None:
    made = dream(told())
    assert offered(made) == ["date"]
    assert made.usage and made.usage.requests == 1


def test_what_the_flow_would_refuse_is_told_while_it_can_be_mended() -> None:
    judged: list[list[str]] = []

    def judge(changes: Any) -> list[str]:
        kinds = [one.kind for one in changes]
        if "dispute" not in kinds:  # the offline engine asks, too
            return []
        judged.append(kinds)
        return ["main/ci.md: it is no longer found"] if len(judged) == 1 else []

    with MessagesApi([read(CI), Answer(calls=(write(CI, SETTLED),)), told(SETTLES), told(SETTLES)]) as api:
        engine(api, Counting()).consolidate(replace(GIVEN, judge=judge))
        assert "it is no longer found" in last(api)
    assert judged == [["date", "dispute"]] * 2


def test_a_model_that_only_calls_tools_comes_to_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def decide(body: dict[str, Any]) -> Step:
        return Answer(calls=(write(f"main/new-{len(body['messages'])}.md", FILES[MOCKS]),))

    repairs = tasks.MOST_DREAM_TURNS - tasks.DREAM_TURNS
    monkeypatch.setattr(tasks, "DREAM_TURNS", 3)
    with MessagesApi(decide) as api, pytest.raises(EngineError, match="does not account"):
        engine(api, Counting()).consolidate(GIVEN)
    assert len(api.requests) == 3 + repairs
    with MessagesApi(lambda _: read(MOCKS)) as api:
        made = engine(api, Counting()).consolidate(GIVEN)
        assert len(api.requests) == 3 and offered(made) == ["date"]
    assert any("stopped after 3 turns" in line for line in made.log)


def test_a_turn_of_hundreds_of_calls_is_cut() -> None:
    many = Answer(calls=tuple(Call("Read", {"file_path": at(MOCKS)}) for _ in range(300)))
    with MessagesApi([many, told()]) as api:
        engine(api, Counting()).consolidate(GIVEN)
        answers = api.bodies[-1]["messages"][-1]["content"]
    assert sum(bool(one.get("is_error")) for one in answers) == 300 - TURN_CALLS


def test_a_dream_that_takes_for_ever_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each answer is quick enough, and there are too many of them: the lock would be taken over."""
    now = [0.0]

    def clock() -> float:
        now[0] += 600.0
        return now[0]

    with MessagesApi(lambda _: read(MOCKS)) as api:
        settings = ApiSettings(api_key=KEY, base_url=api.url, retries=0)
        with pytest.raises(EngineError, match="within 30 minutes"):
            AnthropicEngine(settings, Counting(), clock).consolidate(GIVEN)
        assert len(api.requests) < 5


@pytest.mark.parametrize(
    ("step", "kind", "settings"),
    [
        (Drip(), "engine-timeout", {"patience": 0.2}),
        (Cut(3, clean=False), "engine-cut-off", {}),
        (Answer("no", stop="refusal"), "engine-declined", {}),
    ],
    ids=["drips", "dies", "declines"],
)
def test_a_server_that_fails_in_the_middle_leaves_nothing(
    step: Step, kind: str, settings: dict[str, Any]
) -> None:
    """Not even what was proved: a dream is one piece, and is tried again."""
    assert refused(read(CI), Answer(calls=(write(CI, SETTLED),)), step, **settings).kind == kind


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, EngineError])
def test_whoever_waits_may_stop_the_work(stop: type[BaseException], monkeypatch) -> None:
    closed: list[bool] = []
    from gitmem.engines.messages import MessagesClient

    end: Callable[..., None] = MessagesClient.__exit__
    monkeypatch.setattr(
        MessagesClient, "__exit__", lambda self, *about: (closed.append(True), end(self, *about))[1]
    )

    def tell(step: Told) -> None:
        if step.turn == 2:
            raise stop("enough")

    with MessagesApi([read(CI), read(REAL), told()]) as api:
        with pytest.raises(stop):
            engine(api, Counting()).consolidate(GIVEN, tell)
        assert len(api.requests) == 1
    assert closed == [True]


def test_an_interrupted_answer_is_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """`dream kill` must not get around the day's ceiling."""
    from anthropic.lib.streaming import MessageStream

    real = MessageStream.__iter__

    def interrupted(self: Any) -> Any:
        yield next(real(self))
        raise KeyboardInterrupt

    monkeypatch.setattr(MessageStream, "__iter__", interrupted)
    meter = Counting()
    with MessagesApi([told()]) as api, pytest.raises(KeyboardInterrupt):
        engine(api, meter).consolidate(GIVEN)
    assert [job for job, *_ in meter.told] == ["consolidate"]


def test_a_secret_in_memory_does_not_leave() -> None:
    secret = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1cD3eF5"
    files = {**FILES, HOST: memory("host", f"Token {secret}", f"The token is {secret}.", "Blue.")}
    files["main/MEMORY.md"] = f"- [host](host.md) {secret}\n".encode()
    given = replace(GIVEN, files=files, said={}, observed=(Observation("code", f"says {secret}"),))
    steps = [
        read(HOST),
        Answer(calls=(write(HOST, ""),)),
        told(change(HOST)),
        told(change(HOST)),
        told(change(HOST)),
    ]
    with MessagesApi(steps) as api, pytest.raises(EngineError):
        engine(api, Counting()).consolidate(given)
    assert len(api.requests) == 5
    assert not any(secret.encode() in one.raw for one in api.requests)
