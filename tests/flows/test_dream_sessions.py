"""What only a session taught is looked up where the session is; elsewhere a person answers for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from dream_ground import ANN, Ground, make_ground, notes
from dream_parked import DREAM_ID, Made, park, ref_of

from gitmem.core.errors import CheckFailed
from gitmem.core.trailers import Fate
from gitmem.dream.branch import Dream
from gitmem.dream.plan import prove_plan, sessions_behind
from gitmem.dream.proving import failures_of
from gitmem.dream.review import accept
from gitmem.engines.engine import DreamChange
from gitmem.rules.account import Lookup

OLD, NEW = "The build takes nine minutes.", "The build takes four minutes."
PATH = "main/build.md"
FACTS = notes(
    build=("How long the build takes", OLD), deploys=("How deploys go", "Deploy with `make ship`.")
)
TALK = "2026-11-20T10:00Z user: How long is the build?\n\n2026-11-20T10:01Z user: {}"


def made(session: str, new: str = NEW) -> Made:
    text, after = FACTS[PATH], FACTS[PATH].replace(OLD, new)
    fate = Fate("superseded", ref_of(PATH, text, OLD), ref_of(PATH, after, new), "Said so.")
    return Made({PATH: after}, [fate], "Say how long the build takes", session=session)


@pytest.fixture
def ground(repo: Path) -> Ground:
    ground = make_ground(repo)
    ground.put(FACTS)
    return ground


def rules(dream: Dream, said: dict[str, str], now: float) -> list[str]:
    return [one.rule for one in failures_of(dream, now, lookup=Lookup(said.get))]


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        ({"s-1": TALK.format("It takes four minutes now.")}, []),
        ({"s-1": TALK.format("Lunch takes four minutes.")}, []),
        ({"s-1": TALK.format("It takes five minutes now.")}, ["invented"]),
        ({"s-1": "2026-11-20T10:00Z user: Wait four seconds."}, ["invented"]),
        ({"s-1": ""}, ["invented"]),
        ({"s-2": TALK.format("It takes four minutes now.")}, ["unseen"]),
        ({}, ["unseen"]),
    ],
)
def test_a_session_is_looked_up(ground: Ground, said: dict[str, str], rule: list[str]) -> None:
    assert rules(park(ground, [made("s-1")]), said, ground.now) == rule


def test_a_session_that_the_change_does_not_name_teaches_nothing(ground: Ground) -> None:
    dream = park(ground, [made("")])
    assert rules(dream, {"s-1": TALK.format(NEW)}, ground.now) == ["invented"]


def test_a_person_answers_for_a_session_that_is_not_here(ground: Ground, gitmem) -> None:  # type: ignore[no-untyped-def]
    park(ground, [made("s-1")])
    out = gitmem("review", "show", DREAM_ID).out
    assert "not proved" in out and "session s-1" in out.replace("“", "").replace("”", "")
    refused = gitmem("review", "accept", DREAM_ID, ok=False)
    assert refused.code == 1 and "s-1" in refused.err and OLD in ground.tree()[PATH]
    gitmem("review", "accept", DREAM_ID, "-y")
    assert NEW in ground.tree()[PATH]


def test_no_answer_is_asked_for_where_something_else_is_wrong(ground: Ground) -> None:
    """A person answers for what was said, not for what was lost."""
    park(ground, [made("s-1"), Made({"main/deploys.md": None}, [])])
    asked: list[str] = []
    with pytest.raises(CheckFailed, match="deploys"):
        accept(ground.workspace, DREAM_ID, None, ANN, ground.now, ask=asked.append)
    assert len(asked) == 1


def test_a_dream_names_the_session_that_taught_it() -> None:
    before = {path: text.encode() for path, text in FACTS.items()}
    one = made("")
    edits = {path: text.encode() for path, text in one.edits.items() if text is not None}
    change = DreamChange("merge", edits, tuple(one.fates), "Said so.", "Say it")
    sessions = {"s-1": TALK.format("I do not know."), "s-2": TALK.format("Four minutes."), "s-3": ""}
    assert [found.rule for found in prove_plan(before, [change])] == ["invented"]
    assert prove_plan(before, [change], sessions=sessions) == ()
    assert sessions_behind(before, [change], sessions) == ("s-2",)
    log = {"main/logs/2026/11/2026-11-16.md": f"- 10:00:00Z [project 0123abcd] {NEW}\n".encode()}
    assert sessions_behind({**before, **log}, [change], sessions) == ("",)


def test_a_file_of_the_code_that_the_reason_names_is_looked_up() -> None:
    before = {path: text.encode() for path, text in FACTS.items()}
    one = made("")
    edits = {path: text.encode() for path, text in one.edits.items() if text is not None}
    (fate,) = one.fates
    code = {"docs/build.md": "# Build\n\nThe build takes four minutes.\n"}
    for reason, rule in (("docs/build.md says so.", []), ("docs/other.md says so.", ["invented"])):
        told = Fate(fate.kind, fate.source, fate.target, reason)
        change = DreamChange("merge", edits, (told,), reason, "Say it")
        assert [found.rule for found in prove_plan(before, [change], code=code.get)] == rule
